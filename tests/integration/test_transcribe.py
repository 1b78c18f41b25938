"""Who writes down what is said: a program and a server, well, late, broken and stopped."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import web

from core.control import Stops
from core.model import Attachment, Author, ChatEvent
from core.records import files, messages, turns, voices
from core.records.tables import AttachmentRow, MessageRow
from core.turns.transcribe import NotHeard, TranscribeTerms, transcribe
from core.turns.voice import hear
from tests.integration.parlour import Parlour, parlour

WAITS = "import sys, time; open(sys.argv[-1] + '.begun', 'w').close(); time.sleep(600)"
SOUND = "[attached file: voice.ogg]"


def program(code: str, **more: Any) -> TranscribeTerms:
    return TranscribeTerms((sys.executable, "-c", code), **more)


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "1-voice.ogg"
    path.write_bytes(b"OggS")
    return path


async def test_a_program_is_given_the_file_and_what_it_prints_is_what_was_said(sound) -> None:
    code = "import sys; print(' said of ', open(sys.argv[-1]).read())"
    assert await transcribe(sound, program(code)) == "said of  OggS"


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        (program("import sys; sys.exit('model not found')"), "exit status 1): model not found"),
        (program("import time; time.sleep(600)", within_s=0.3), "no answer in time"),
        (TranscribeTerms(("no-such-program",)), "no-such-program was not found"),
    ],
)
async def test_why_a_program_wrote_nothing_is_told(sound, terms, why: str) -> None:
    with pytest.raises(NotHeard) as told:
        await transcribe(sound, terms)
    assert why in str(told.value)


async def test_stopping_ends_the_program(sound) -> None:
    work = asyncio.create_task(transcribe(sound, program(WAITS)))
    begun = sound.with_name("1-voice.ogg.begun")
    async with asyncio.timeout(20):
        while not begun.exists():
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    mine = psutil.Process().children(recursive=True)
    assert not [child for child in mine if str(sound) in child.cmdline()]


@asynccontextmanager
async def server(answer: Any) -> AsyncIterator[str]:
    site = web.Application()
    site.router.add_post("/v1/audio/transcriptions", answer)
    runner = web.AppRunner(site, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def test_a_server_is_asked_as_openai_is(sound) -> None:
    heard: dict[str, Any] = {}

    async def answer(request: web.Request) -> web.Response:
        form = await request.post()
        heard.update(key=request.headers["Authorization"], model=form["model"])
        file: Any = form["file"]
        heard.update(name=file.filename, data=file.file.read())
        return web.json_response({"text": " hello "})

    async with server(answer) as url:
        terms = TranscribeTerms(url=url, model="whisper-large", key="k-1")
        assert await transcribe(sound, terms) == "hello"
    assert heard == {
        "key": "Bearer k-1",
        "model": "whisper-large",
        "name": "1-voice.ogg",
        "data": b"OggS",
    }


async def test_why_a_server_wrote_nothing_is_told(sound) -> None:
    answers = {
        "answered 500": lambda: web.Response(status=500),
        "answered 302": lambda: web.Response(status=302, headers={"Location": "http://x.test"}),
        "something else": lambda: web.json_response([]),
    }
    for why, make in answers.items():

        async def answer(_: web.Request, make: Any = make) -> web.Response:
            return make()

        async with server(answer) as url:
            with pytest.raises(NotHeard, match=why):
                await transcribe(sound, TranscribeTerms(url=url))
    with pytest.raises(NotHeard, match="does not answer"):
        await transcribe(sound, TranscribeTerms(url="http://127.0.0.1:1/v1"))


async def asked(here: Parlour, text: str = SOUND) -> Any:
    """A turn whose question is a voice message."""
    sent = (Attachment("F1", "voice.ogg", "audio/ogg", 4, voice=True),)
    author = Author("U1", "Ann")
    event = ChatEvent(
        here.conversation.key, "e1", "2.0", author, text, "message", 2.0, attachments=sent
    )

    def write() -> Any:
        message, _ = messages.add_event(here.conversation.id, event, addressed=True)
        turn = turns.queue_turn(
            here.conversation.id,
            kind="ask",
            prompt=text,
            prompt_message_id=message,
            asker="Ann",
            asker_key="slack:U1",
            seats=(),
            rounds=1,
            mode="",
            now=2.0,
        )
        return turns.get_turn(turn)

    return await here.house.records.do(write)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async def download(_chat: str, _file: Attachment, _limit: int) -> bytes:
        return b"OggS"

    said = program("print('Delete it? token=ghp_" + "a1B2" * 9 + "')")
    async with parlour(tmp_path, transcribe=said) as made:
        yield replace(made, house=replace(made.house, download=download))


async def test_what_was_heard_is_written_once_without_secrets(here) -> None:
    turn = await asked(here, f"listen\n{SOUND}")
    heard = await hear(turn, here.conversation, here.house, Stops())
    assert heard.prompt.startswith("listen\n[voice message] Delete it? token=")
    assert "ghp_" not in heard.prompt
    records = here.house.records
    assert (await records.do(MessageRow.get_by_id, turn.prompt_message_id)).text == heard.prompt
    (kept,) = await records.do(files.of_conversation, here.conversation.id)
    assert kept.heard
    # Begun again after a crash: what was heard is a row, and is not heard again.
    assert await hear(heard, here.conversation, here.house, Stops()) == heard
    assert len(await here.notices()) == 1


async def test_a_stop_ends_the_listening_and_a_deleted_message_is_not_written(here) -> None:
    turn = await asked(here)
    stops = Stops()
    stops.stop()
    assert await hear(turn, here.conversation, here.house, stops) == turn

    def gone() -> bool:
        messages.erase(turn.prompt_message_id, 3.0)
        sound = AttachmentRow.get_or_none()
        return voices.note_heard(turn.id, turn.prompt_message_id, sound.id if sound else 1, "x")

    assert await here.house.records.do(gone) is False
