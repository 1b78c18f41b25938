"""What a platform will not take: kept or given up, and said where it can be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from core.errors import ChatRefused, MootError
from core.model import Button, ConversationKey, Outgoing
from core.ports import Chat
from core.records import closed, links, live, messages, outbox, runs, turns
from core.records.thread import Records
from core.tongue import say
from core.words import literal

log = structlog.get_logger()

CALL_DEADLINE_S = 60.0
VERB = "resend"


class Refusals:
    """What becomes of posts that were refused; part of ``Delivery``.

    Where the place is closed (``ChatRefused.closed``), what is owed there stays owed until it opens
    (``core.records.closed``) and whoever asked is told alone, once a turn, with a button that
    brings it to them. Anything else is given up with the reason, and the thread is told; where
    that is refused as well, whoever asked.
    """

    def __init__(
        self,
        records: Records,
        chats: Mapping[str, Chat],
        render: Callable[[str, str], tuple[str, ...]],
        on_opened: Callable[[int, str, float], object],
    ) -> None:
        self._records = records
        self._chats = chats
        self._render = render
        self._on_opened = on_opened

    async def settle(self, item: Outgoing, refused: ChatRefused) -> bool:
        """Write down what becomes of ``item``; whether the conversation's next may follow."""
        shut = refused.closed and await self._records.do(_is_kept, item)
        told = item.kind == "notice" and bool(item.run_id)  # the notice that the answer was refused
        alone = None
        if item.op == "post" and not item.conversation.direct and (shut or told):
            alone = await self._asker_alone(item)

        def write() -> None:
            if shut:
                closed.close(item.conversation.id, str(refused), time.time())
                outbox.mark_busy(item.id, 0.0, item.tried_at)
            else:
                self._give_up(item, refused)
            if alone is not None:
                self._owe_note(*alone, refused, kept=shut)

        await self._records.do(write)
        return not shut

    def _give_up(self, item: Outgoing, refused: ChatRefused) -> None:
        place = item.conversation
        live.post_anew(item, time.time())
        outbox.mark_dead(item.id, f"{refused.code} {refused}".strip())
        if item.kind == "answer" and item.op == "post":
            text = say(
                "⚠️ A part of the answer could not be posted here: {why} `!resend` tries once more.",
                why=str(refused),
            )
            texts = self._render(place.key.chat, text)
            if not outbox.says_already(place.id, texts[0], item.run_id):
                outbox.add_post(
                    place.id, "notice", texts, run_id=item.run_id or None, now=time.time()
                )
        if item.kind == "header" and not place.opened:
            self._on_opened(place.id, str(refused), time.time())

    async def _asker_alone(self, item: Outgoing) -> tuple[ConversationKey, int, str] | None:
        """Where whoever asked can be told alone, with the turn and what was asked."""
        asked = await self._records.do(_asked_by, item)
        if asked is None:
            return None
        turn_id, asker, prompt = asked
        chat, _, person = asker.partition(":")
        try:
            async with asyncio.timeout(CALL_DEADLINE_S):
                key = await self._chats[chat].direct(person)
        except (MootError, TimeoutError) as error:
            log.warning("asker.not_told", turn=turn_id, why=str(error) or "no answer in time")
            return None
        return None if key is None else (key, turn_id, prompt)

    def _owe_note(
        self, key: ConversationKey, turn_id: int, prompt: str, refused: ChatRefused, *, kept: bool
    ) -> None:
        """Say to whoever asked that nothing can be posted where they asked; once a turn."""
        now = time.time()
        alone = messages.open_conversation(key, direct=True, in_thread=False, now=now)
        if outbox.told_of(alone.id, turn_id):
            return
        what = f"“{literal(prompt)}”" if prompt else say("something that was deleted")
        text = say(
            "⚠️ You asked me {what}, and nothing can be posted there: {why}",
            what=what,
            why=str(refused),
        )
        buttons: tuple[Button, ...] = ()
        if kept:
            text += "\n\n" + say(
                "What I have to say there is kept, and posted as soon as the place takes it again."
            )
            buttons = (Button(f"{VERB}:{turn_id}", say("Send it here")),)
        texts = self._render(key.chat, text)
        outbox.add_post(alone.id, "notice", texts, buttons=buttons, turn_id=turn_id, now=now)


def _is_kept(item: Outgoing) -> bool:
    """Whether it is still worth something when the place opens again.

    A status is not; a branch whose thread never began is told to its parent instead.
    """
    if item.op == "post" and item.kind in live.SHOWING:
        return False
    return item.kind != "header" or links.branch_of(item.conversation.id) is None


def _asked_by(item: Outgoing) -> tuple[int, str, str] | None:
    """The turn that a post belongs to, who asked, and what."""
    if item.run_id:
        return runs.asked_in(item.run_id)
    turn = turns.latest(item.conversation.id)
    return None if turn is None else (turn.id, turn.asker_key, turn.prompt)
