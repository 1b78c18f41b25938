"""Files brought into a run: what hangs, what is stopped, what is over the limits, what is told."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.context.pack import build_context_pack
from core.engines.claude import ENGINE as CLAUDE
from core.engines.process import probe
from core.errors import ChatBusy
from core.model import Attachment, Author, ChatEvent, ConversationKey, EngineConfig, Turn
from core.records import files, messages
from core.turns.files import FOLDER, LATE, Files
from core.turns.house import FileTerms
from tests.integration.parlour import Parlour, parlour
from tests.unit.packs import a_request, human, some_facts


class Store:
    """A platform's store: each file is served as its name says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.at_work = asyncio.Event()

    async def __call__(self, chat: str, attachment: Attachment, limit_bytes: int) -> bytes:
        assert (chat, limit_bytes) == ("slack", 1_000)
        self.asked.append(attachment.name)
        self.at_work.set()
        if attachment.name.startswith("hang"):
            await asyncio.sleep(3600)
        if attachment.name.startswith("busy") and self.asked.count(attachment.name) == 1:
            raise ChatBusy(0.01)
        return b"x" * 400


class Bench:
    """A question with files, and what becomes of them."""

    def __init__(self, here: Parlour, folder: Path, *names: str, **terms: Any) -> None:
        self.store, self.folder = Store(), folder
        limits = FileTerms(max_file_bytes=1_000, **terms)
        self.house = replace(
            here.house, download=self.store, policy=replace(here.house.policy, files=limits)
        )
        self.here, self.names, self.cancel = here, names, asyncio.Event()

    async def bring(self, **how: Any):
        house, conversation = self.house, self.here.conversation
        sent = tuple(Attachment(f"F{n}", name) for n, name in enumerate(self.names))
        event = ChatEvent(
            conversation.key,
            "e1",
            "2.0",
            Author("U1", "Ann"),
            "look",
            "message",
            2.0,
            attachments=sent,
        )
        message, _ = await house.records.do(
            lambda: messages.add_event(conversation.id, event, addressed=True)
        )
        there = await house.records.do(files.of_conversation, conversation.id)
        turn = Turn(1, conversation.id, "ask", "look", message, "Ann", (), 1, "running")
        self.files = Files(house, turn, conversation)
        pack = build_context_pack(a_request(), some_facts(human(message, "look")))
        given = {"reads": True, "budget_chars": 9_000, **how}
        return await self.files.bring(there, pack, self.folder / "run", self.cancel, **given)


@pytest.fixture
async def here(tmp_path: Path):
    async with parlour(tmp_path) as made:
        yield made


async def test_one_that_hangs_costs_its_patience_and_no_other_file(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "hang.bin", "good.txt", "busy.txt", patience_s=0.3)
    hung, good, busy = await bench.bring()
    assert (hung.file, hung.why) == ("", LATE)
    assert (good.file, busy.file) == ("2-good.txt", "3-busy.txt")
    place = tmp_path / "run" / FOLDER
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}
    await bench.files.close()
    assert [p.name for p in here.house.policy.scratch.iterdir()] == []


async def test_a_stop_ends_the_waiting_at_once(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "hang.bin")
    bringing = asyncio.create_task(bench.bring())
    await bench.store.at_work.wait()
    bench.cancel.set()
    async with asyncio.timeout(5):
        assert await bringing == ()
    await bench.files.close()


async def test_the_limits_hold_for_what_really_came(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "a", "b", "c", "d", max_files=3, max_total_bytes=1_000)
    brought = await bench.bring()
    assert [one.file for one in brought] == ["1-a", "2-b", "", ""]
    assert "larger than 1.0 KB together" in brought[2].why
    assert "only 3 files" in brought[3].why
    await bench.files.close()


async def test_nothing_is_asked_for_where_files_are_switched_off(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "a", enabled=False)
    (one,) = await bench.bring()
    assert "[attachments] enabled" in one.why
    assert bench.store.asked == []


async def test_an_engine_without_tools_is_told_the_text_within_its_budget(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "a.txt", "b.txt")
    first, second = await bench.bring(reads=False, budget_chars=1_500)
    assert (len(first.text), first.left_chars) == (400, 0)
    assert (len(second.text), second.left_chars) == (100, 300)
    await bench.files.close()


async def test_a_deleted_message_takes_its_files_along(here, tmp_path) -> None:
    bench = Bench(here, tmp_path, "a.txt")
    await bench.bring()
    key: ConversationKey = here.conversation.key
    await here.house.records.do(messages.remove, key, "2.0", 9.0)
    assert await here.house.records.do(files.of_conversation, here.conversation.id) == ()
    await bench.files.close()


async def test_the_probe_tells_a_program_no_token(tmp_path) -> None:
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\necho 1.2.3\n")
    program.chmod(0o755)
    environ = {
        "PATH": "/usr/bin:/bin",
        "MOOT__SLACK__BOT_TOKEN": "xoxb-never-tell-0000",
        "ANTHROPIC_COPY": "xoxb-never-tell-0000",
        "GEMINI_API_KEY": "somebody-elses",
        "ANTHROPIC_API_KEY": "its-own",
    }
    info = await probe(CLAUDE(EngineConfig(path=str(program))), environ)
    assert info.version == "1.2.3"
    seen = (tmp_path / "seen").read_text()
    assert "its-own" in seen
    assert "never-tell" not in seen
    assert "somebody-elses" not in seen
