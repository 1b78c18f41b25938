"""The rehearsal engine plays its parts, through the supervisor, as a real process."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path

import pytest

from core.engines.process import run
from core.engines.process.tree import marked
from core.engines.rehearsal import ENGINE
from core.model import EngineConfig, EngineEvent, EngineTask, Limits, Outcome
from core.pull import split_markers


class Room:
    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, list[EngineEvent]()
        self.cancel = asyncio.Event()

    async def ask(self, prompt: str, *, limits: Limits | None = None, **rest: object) -> Outcome:
        self.run_id = str(uuid.uuid4())
        fields = {"context": "", **rest}
        task = EngineTask(
            self.run_id, prompt=prompt, cwd=str(self.folder), scratch=str(self.folder), **fields
        )

        async def on_spawn(pid: int, started: float) -> None:
            assert pid

        outcome = await run(
            ENGINE(EngineConfig()), task, on_event=self.events.append, on_spawn=on_spawn,
            limits=limits or Limits(30, 60), cancel=self.cancel,
        )  # fmt: skip
        assert marked(self.run_id) == []
        return outcome


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_says_what_it_is_and_quotes_the_question(room: Room) -> None:
    question = "왜 JWT를 썼나요?\n\n- one  \n- `two`"
    outcome = await room.ask(question, context="c" * 321)
    assert outcome.kind == "answered"
    assert "no model behind it" in outcome.text
    for line in question.splitlines():
        assert f"> {line}".rstrip() in outcome.text
    assert "321 characters" in outcome.text
    deltas = "".join(e.text for e in room.events if e.kind == "delta")
    assert deltas.strip() == outcome.text


async def test_answers_quickly(room: Room) -> None:
    await room.ask("hi")
    before = time.monotonic()
    await room.ask("hi")
    assert time.monotonic() - before < 2


async def test_sessions_are_kept(room: Room) -> None:
    first = await room.ask("hi")
    second = await room.ask("hi", resume=first.session)
    third = await room.ask("hi")
    assert first.session == second.session != third.session


async def test_a_pull_is_a_real_marker(room: Room) -> None:
    outcome = await room.ask('why? @@rehearse pull="memory: jwt"@@')
    text, pulls = split_markers(outcome.text)
    assert [(p.kind, p.query) for p in pulls] == [("memory", "jwt")]
    assert "why?" in text


async def test_directives_come_from_the_prompt_only(room: Room) -> None:
    outcome = await room.ask("hi", context="@@rehearse fail=quota@@")
    assert outcome.kind == "answered"
    outcome = await room.ask('@@rehearse when="You are Ann" text="I am Ann"@@ hi', context="no")
    assert "I am Ann" not in outcome.text
    outcome = await room.ask(
        '@@rehearse when="You are Ann" text="I am\\nAnn"@@ hi', context="You are Ann."
    )
    assert outcome.text == "I am\nAnn"


@pytest.mark.parametrize(
    "kind", ["quota", "auth", "rate", "overloaded", "context-too-long", "session-lost", "refused"]
)
async def test_fails_as_told(room: Room, kind: str) -> None:
    outcome = await room.ask(f"@@rehearse fail={kind}@@")
    assert (outcome.kind, outcome.text) == (kind, "")
    assert outcome.detail
    assert bool(outcome.reset_at) == (kind == "quota")


async def test_crash_silence_and_posing(room: Room) -> None:
    assert (await room.ask("@@rehearse fail=crash@@")).detail.startswith("rehearsed crash")
    assert (await room.ask("@@rehearse silent@@")).kind == "empty"
    posing = await room.ask('@@rehearse text="usage limit reached|1760000400"@@')
    assert (posing.kind, posing.text) == ("quota", "")


async def test_writes_only_where_it_may(room: Room) -> None:
    await room.ask("@@rehearse write=notes.txt@@", permission="plan")
    assert not (room.folder / "notes.txt").exists()
    await room.ask("@@rehearse write=../out.txt@@", permission="full")
    assert not (room.folder.parent / "out.txt").exists()
    await room.ask("@@rehearse write=notes.txt@@", permission="edit")
    assert (room.folder / "notes.txt").exists()


async def test_long_answers_and_tools(room: Room) -> None:
    outcome = await room.ask('@@rehearse lines=500 tool="git log" show=context@@', context="CTX")
    assert "line 500" in outcome.text
    assert outcome.text.endswith("CTX")
    assert [e.text for e in room.events if e.kind == "tool_start"] == ["git log"]


async def test_hang_is_stopped(room: Room) -> None:
    asking = asyncio.ensure_future(room.ask("@@rehearse hang child=600 setsid=600@@"))
    async with asyncio.timeout(30):
        while not any(e.kind == "delta" for e in room.events):
            await asyncio.sleep(0.01)
    room.cancel.set()
    outcome = await asking
    assert outcome.kind == "cancelled"


async def test_children_left_behind_are_ended(room: Room) -> None:
    outcome = await room.ask("@@rehearse child=600 setsid=600@@ hi")
    assert outcome.kind == "answered"


async def test_does_not_import_from_the_folder_it_works_in(room: Room) -> None:
    (room.folder / "json.py").write_text("raise SystemExit('imported from the project')\n")
    assert (await room.ask("hi")).kind == "answered"
