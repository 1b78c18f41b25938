"""Voice messages: what is said in one becomes what its speaker said, before it is answered."""

from __future__ import annotations

import asyncio
import shutil
import time
from dataclasses import dataclass

import structlog

from core.context.attached import nothing_else, safe_name, size_text
from core.control import Stops
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.markup.measure import well_formed
from core.model import Conversation, Turn
from core.records import files as rows
from core.records import outbox, turns, voices
from core.records.files import Kept
from core.redact import redact
from core.tongue import say
from core.turns.house import House
from core.turns.made import write_private
from core.turns.transcribe import NotHeard, transcribe
from core.words import literal, retry_button

log = structlog.get_logger()

MOST = 5  # of one message
MAX_CHARS = 20_000  # of what is heard in one
SHOWN_CHARS = 300
FETCH_S = 60.0
SET_UP = "docs/how-to/files.md"


@dataclass(frozen=True, slots=True)
class _Heard:
    """What came of one: ``text``, or ``why`` there is none; ``own``: the platform shows it."""

    kept: Kept
    text: str = ""
    why: str = ""
    own: bool = False


async def hear(turn: Turn, conversation: Conversation, house: House, stops: Stops) -> Turn | None:
    """The turn with what is said in the voice messages of its question.

    ``None``: there is nothing else in the question, and nobody could tell what is said: the thread
    knows why, and the turn is over. Safe to call again after a crash: what was heard is a row.
    """
    if "[attached file: " not in turn.prompt:
        return turn
    alone = nothing_else(turn.prompt)
    spoken = await house.records.do(_spoken, turn, alone)
    if not spoken or not house.policy.files.enabled:
        return turn
    listening = asyncio.ensure_future(_all(spoken, turn, conversation, house))
    stopped = asyncio.ensure_future(stops.wait())
    try:
        await asyncio.wait((listening, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not listening.done():
            return turn  # it was stopped: what follows sees that
    finally:
        for task in (listening, stopped):
            task.cancel()
        await asyncio.wait((listening, stopped))
    heard = listening.result()
    told = await house.records.do(_write, turn, conversation, heard, house)
    house.wake_delivery()
    log.info("voice.heard", turn=turn.id, files=len(heard), texts=sum(bool(h.text) for h in heard))
    if alone and not any(one.text for one in heard) and len(spoken) == len(turn.prompt.split("\n")):
        return None
    return told


def _spoken(turn: Turn, alone: bool) -> tuple[Kept, ...]:  # noqa: FBT001 - of one caller
    """The voice messages of the question that nobody has heard yet.

    Any sound is one where the message holds nothing else.
    """
    there = [k for k in rows.of_conversation(turn.conversation_id) if not k.heard]
    mine = [k for k in there if k.message_id == turn.prompt_message_id]
    return tuple(
        k
        for k in sorted(mine, key=lambda k: k.id)
        if k.attachment.voice or (alone and k.attachment.mime.startswith("audio/"))
    )[:MOST]


async def _all(
    spoken: tuple[Kept, ...], turn: Turn, conversation: Conversation, house: House
) -> list[_Heard]:
    return [await _one(kept, turn, conversation, house) for kept in spoken]


async def _one(kept: Kept, turn: Turn, conversation: Conversation, house: House) -> _Heard:
    terms, chat = house.policy.transcribe, conversation.key.chat
    if not terms.on:
        text = await house.heard(chat, kept.attachment)
        return _Heard(kept, _clean(text), own=True)
    limit = house.policy.files.max_file_bytes
    if kept.attachment.size > limit:
        return _Heard(kept, why=say("it is larger than {size}", size=size_text(limit)))
    folder = house.policy.scratch / f"voice-{turn.id}-{kept.id}"
    try:
        async with asyncio.timeout(FETCH_S):
            data = await house.download(chat, kept.attachment, limit)
        if not data:
            return _Heard(kept, why=say("it is empty"))
        path = folder / safe_name(kept.attachment.name, 1)
        await asyncio.to_thread(write_private, path, data)
        return _Heard(kept, _clean(await transcribe(path, terms)))
    except TimeoutError:
        return _Heard(kept, why=say("it did not come in time"))
    except (ChatBusy, ChatRefused, ChatUnsure, NotHeard) as error:
        return _Heard(kept, why=str(error).rstrip("."))
    except OSError as error:
        why = say("it could not be kept ({why})", why=error.strerror)
        return _Heard(kept, why=why)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _clean(text: str) -> str:
    """One paragraph, without secrets, bounded: what was said, as anybody's words."""
    line = " ".join(redact(well_formed(text)).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"


def _write(turn: Turn, conversation: Conversation, heard: list[_Heard], house: House) -> Turn:
    """What was heard into the rows, and to the thread; one transaction."""
    before = voices.told_of_voices(conversation.id)
    lines: list[str] = []
    again = False
    for one in heard:
        if one.text:
            new = voices.note_heard(turn.id, turn.prompt_message_id, one.kept.id, one.text)
            if new and not one.own:
                lines.append(say("🎙 Heard: “{text}”", text=literal(one.text, SHOWN_CHARS)))
            continue
        voices.note_unheard(one.kept.id)
        if one.own:  # there is nobody to ask
            if not before and not any("transcribe" in line for line in lines):
                lines.append(_set_up())
        else:
            why = one.why or say("nothing was heard in it")
            again = True
            name = literal(one.kept.attachment.name, 60)
            lines.append(say("🎙 I could not listen to {name}: {why}.", name=name, why=literal(why)))
    if lines:
        texts = house.voice(conversation.key.chat, "\n".join(lines), "")
        buttons = (retry_button(turn.id),) if again and nothing_else(turn.prompt) else ()
        now = time.time()
        outbox.add_post(conversation.id, "notice", texts, buttons=buttons, turn_id=turn.id, now=now)
    return turns.get_turn(turn.id) or turn


def _set_up() -> str:
    return say(
        "🎙 I cannot listen to voice messages here: nobody writes down what is said in them. "
        "Whoever runs Moot can set `[attachments] transcribe` (a program such as whisper.cpp) or "
        "`transcribe_url` in moot.toml; see {page}. Until then, please write.",
        page=f"`{SET_UP}`",
    )
