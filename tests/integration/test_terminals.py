"""What is looked for on the host for ``!continue``, and who gets it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.terminals import Terminals
from core.engines.process import Writers
from core.engines.rehearsal import Rehearsal
from core.model import (
    Author,
    ChatEvent,
    ConversationKey,
    EngineConfig,
    Participant,
    Project,
    Reply,
    TerminalSession,
)
from core.records import messages, sessions
from core.records.sessions import SessionKey
from core.records.tables import EngineSessionRow, OutboxRow
from core.records.thread import Records
from core.turns.asking import Sitting
from tests.integration.test_intake import POLICY

KIM = Author("U1", "Kim", grants=("slack:U1",))
LEE = Author("U2", "*Lee*", grants=("slack:U2",))
GUS = Author("U3", "Gus", grants=("slack:U3",), trusted=False)
EVE = Author("U9", "Eve", grants=("slack:U9",))


class Desk(Rehearsal):
    """An engine of one's own whose sessions stand in a list; it may take its time to tell them."""

    def __init__(self, kept: Sequence[TerminalSession] = (), name: str = "desk") -> None:
        super().__init__(EngineConfig())
        self.name = name
        self.kept = list(kept)
        self.go = threading.Event()
        self.go.set()
        self.fails: Exception | None = None
        self.asked: list[str] = []

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        self.asked.append(cwd)
        assert self.go.wait(20)
        if self.fails:
            raise self.fails
        return self.kept


class Room:
    """An intake with these engines and two threads of a project's channel."""

    def __init__(self, records: Records, folder: Path, engines: Mapping[str, Any]) -> None:
        self.records = records
        self.writers = Writers(folder / "locks")
        self.project = Project("acme", str(folder))
        terminals = Terminals(engines, self.writers, lambda _: self.project)
        self.count = 0
        self.intake = Intake(
            records,
            Door(("slack:U1", "slack:U2", "slack:U3")),
            replace(
                POLICY,
                terminals=terminals,
                default_seat=Participant("desk"),
                names=replace(POLICY.names, engines=frozenset(engines)),
            ),
            lambda _chat, text: (text,),
            on_turn=lambda: None,
            on_post=lambda: None,
            on_stop=lambda _: None,
            on_skip=lambda _turn, _steps: None,
        )

    async def act(
        self, kind: Any, text: str, who: Author = KIM, *, root: str = "1", channel: str = "C"
    ) -> Reply | None:
        self.count += 1
        event = ChatEvent(
            key=ConversationKey("slack", "T", channel, root), event_id=f"e{self.count}",
            message_id=f"m{self.count}", author=who, text=text, kind=kind, sent_at=time.time(),
            command="moot" if kind == "command" else "", mentions_us=True, in_thread=True,
        )  # fmt: skip
        return await self.intake.accept(event)

    async def told(self, kind: Any, text: str, who: Author = KIM, **where: Any) -> Reply:
        reply = await self.act(kind, text, who, **where)
        assert reply is not None
        return reply

    async def listed(self, **where: Any) -> Reply:
        return await self.told("command", "continue", **where)

    async def posts(self) -> list[str]:
        return await self.records.do(lambda: [row.text for row in OutboxRow.select()])

    async def sessions(self) -> list[EngineSessionRow]:
        return await self.records.do(lambda: list(EngineSessionRow.select()))


def kept(name: str, age_s: float = 3_600, about: str = "words") -> TerminalSession:
    return TerminalSession(name, time.time() - age_s, about)


async def room(records: Records, folder: Path, **engines: Any) -> Room:
    made = Room(records, folder, engines)
    for root in ("1", "2"):
        key = ConversationKey("slack", "T", "C", root)
        await records.do(
            messages.open_conversation, key, direct=False, in_thread=True, now=time.time()
        )
    return made


async def test_the_newest_come_first_and_words_of_others_are_literal(
    records: Records, tmp_path: Path
) -> None:
    wild = "# **bold** <!channel>\n\x1b[31m`rm -rf`\u202e [x](http://a.test)" + "y" * 400
    desk = Desk([kept("old", 9_000, ""), kept("new", 60, wild)])
    here = await room(records, tmp_path, desk=desk)
    reply = await here.listed()
    first, second = [line for line in reply.text.split("\n") if line[:2] in ("1.", "2.")]
    assert "1 minute ago (perhaps still open" in first
    assert "2 hours ago" in second
    assert "\\# \\*\\*bold\\*\\* \\<\\!channel\\>" in first
    assert "\x1b" not in reply.text
    assert "\u202e" not in reply.text
    assert len(first) < 400
    assert [b.action for b in reply.buttons] == ["pick:1:desk:new", "pick:1:desk:old"]
    assert desk.asked == [str(tmp_path)]
    assert await here.posts() == []


async def test_one_that_is_late_is_named_and_found_by_the_next_look(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.terminals.LOOK_S", 0.1)
    slow, quick = Desk([kept("s")], "slow"), Desk([kept("q")])
    slow.go.clear()
    here = await room(records, tmp_path, desk=quick, slow=slow)
    reply = await here.listed()
    assert "slow did not tell its sessions in time" in reply.text
    assert [b.action for b in reply.buttons] == ["pick:1:desk:q"]
    monkeypatch.setattr("bridge.terminals.LOOK_S", 10)
    slow.go.set()
    reply = await here.listed()
    assert sorted(b.action for b in reply.buttons) == ["pick:1:desk:q", "pick:1:slow:s"]
    assert len(slow.asked) == 1  # it was the same look


async def test_one_that_fails_shows_none_and_breaks_nothing(
    records: Records, tmp_path: Path
) -> None:
    broken = Desk(name="broken")
    broken.fails = PermissionError("no")
    here = await room(records, tmp_path, desk=Desk([kept("q")]), broken=broken)
    assert len((await here.listed()).buttons) == 1


async def test_what_any_moot_has_used_is_left_out(records: Records, tmp_path: Path) -> None:
    names = ("row", "parent", "other", "free")
    here = await room(records, tmp_path, desk=Desk([kept(name) for name in names]))
    key = SessionKey(1, Participant("desk"), str(tmp_path), "plan")

    def ours() -> None:
        row = sessions.begin(key, "", sessions.Known(), time.time())
        sessions.named(row, "parent")
        sessions.named(row, "row")

    await records.do(ours)
    hold = here.writers.hold("desk", "a run of another Moot")
    await hold.take("other", asyncio.Event(), lambda _: None)
    hold.release()
    assert [b.action for b in (await here.listed()).buttons] == ["pick:1:desk:free"]


async def test_two_names_for_one_cli_tell_its_sessions_once(
    records: Records, tmp_path: Path
) -> None:
    one, two = Desk([kept("a")]), Desk([kept("a")])
    here = await room(records, tmp_path, desk=one, second=two)
    assert [b.action for b in (await here.listed()).buttons] == ["pick:1:desk:a"]


async def test_two_threads_that_pick_the_same_one_get_it_once(
    records: Records, tmp_path: Path
) -> None:
    here = await room(records, tmp_path, desk=Desk([kept("a")]))
    replies = await asyncio.gather(
        here.told("button", "pick:1:desk:a"),
        here.told("button", "pick:2:desk:a", LEE, root="2"),
    )
    texts = [reply.text for reply in replies]
    assert sum("Taken in" in text for text in texts) == 1
    assert sum("already" in text for text in texts) == 1
    [row] = await here.sessions()
    assert (row.session, row.origin, row.wide, row.permission) == ("a", "terminal", True, "")
    [post] = await here.posts()
    assert "1 hour ago" in post
    assert "words" not in post
    assert "*Lee*" not in post  # a name is no markup


@pytest.mark.parametrize(
    ("action", "who", "where", "why"),
    [
        ("pick:1:desk:other", KIM, {}, "not there any more"),
        ("pick:1:nonesuch:a", KIM, {}, "not there any more"),
        ("pick:1:desk:a", KIM, {"channel": "D"}, "another channel"),
        ("pick:99:desk:a", KIM, {}, "another channel"),
        ("pick:x:desk:a", KIM, {}, "another version"),
        ("pick:" + "9" * 40 + ":desk:a", KIM, {}, "another version"),
        ("pick:1:desk:a", GUS, {}, "for members"),
        ("continue:1", GUS, {}, "for members"),
        ("resume:1", GUS, {}, "for members"),
        ("pick:1:desk:a", EVE, {}, "may not use Moot"),
        ("resume:1", EVE, {}, "may not use Moot"),
    ],
)
async def test_a_buttons_value_alone_is_no_authority(
    records: Records, tmp_path: Path, action: str, who: Author, where: dict[str, str], why: str
) -> None:
    here = await room(records, tmp_path, desk=Desk([kept("a")]))
    assert why in (await here.told("button", action, who, **where)).text
    assert await here.sessions() == []
    assert await here.posts() == []


async def test_a_number_means_what_that_person_was_shown(records: Records, tmp_path: Path) -> None:
    desk = Desk([kept("first", 7_200), kept("second", 9_000)])
    here = await room(records, tmp_path, desk=desk)
    # Nothing was shown yet, so nothing can be meant.
    assert await here.act("message", "!continue 1") is None
    assert "shown to you alone" in (await here.posts())[-1]
    await here.listed()
    desk.kept.insert(0, kept("newer", 10))
    assert await here.act("message", "!continue 1", LEE) is None  # nothing was shown to Lee
    assert "shown to you alone" in (await here.posts())[-1]
    assert await here.sessions() == []
    assert await here.act("message", "!continue 2") is None
    [row] = await here.sessions()
    assert row.session == "second"
    assert "continues a session of desk" in (await here.posts())[-1]
    # And one that is gone meanwhile is told as such.
    desk.kept.clear()
    desk.kept.append(kept("third"))
    await here.act("message", "!continue 1")
    assert "not there any more" in (await here.posts())[-1]
    await here.act("message", "!continue 7")  # there never were so many
    assert "not there any more" in (await here.posts())[-1]
    desk.kept.clear()
    await here.act("message", "!continue 7")
    assert "No terminal on this host has a session" in (await here.posts())[-1]


async def test_it_says_how_the_session_is_asked_when_the_thread_asks_another(
    records: Records, tmp_path: Path
) -> None:
    here = await room(records, tmp_path, desk=Desk([kept("a")]), pad=Desk([kept("b")], "pad"))
    await here.act("message", "why? --engine pad")
    await here.told("button", "pick:1:desk:a")
    assert "the next question with `--engine desk` goes on in it" in (await here.posts())[-1]
    await here.told("button", "pick:1:pad:b")
    assert "the next question goes on in it" in (await here.posts())[-1]


async def test_the_first_question_gives_it_its_permission_and_ends_the_one_before(
    records: Records, tmp_path: Path
) -> None:
    here = await room(records, tmp_path, desk=Desk([kept("a")]))
    key = SessionKey(1, Participant("desk"), str(tmp_path), "edit")
    now = time.time()

    def before() -> None:
        sessions.named(sessions.begin(key, "", sessions.Known(), now), "before")
        plan = replace(key, permission="plan")
        sessions.named(sessions.begin(plan, "", sessions.Known(), now), "reading")

    await records.do(before)
    await here.told("button", "pick:1:desk:a")

    def ask() -> None:
        found = sessions.find(key)
        assert found is not None
        assert found.session == "a"
        # A guest's question goes to no session that a terminal began, and does not end it.
        guest = Sitting(key, found, trusted=False)
        assert guest.found is None
        sessions.begin(key, "", sessions.Known(), now)
        assert sessions.find(key) is not None
        sessions.go_on(found.id, key, sessions.Known(), now)
        again = sessions.find(key)
        assert again is not None
        assert again.session == "a"
        other = sessions.find(replace(key, permission="plan"))
        assert other is not None
        assert other.session == "reading"

    await records.do(ask)
    states = {row.session: (row.state, row.permission) for row in await here.sessions()}
    assert states["a"] == ("live", "edit")
    assert states["before"] == ("ended", "edit")
    assert states["reading"] == ("live", "plan")


async def test_a_line_is_shown_only_for_what_goes_on_in_this_folder(
    records: Records, tmp_path: Path
) -> None:
    here = await room(records, tmp_path, desk=Desk())
    assert "ask first" in (await here.told("command", "resume")).text

    def begun() -> None:
        for seat, cwd in (("desk", "/elsewhere"), ("unknown", str(tmp_path))):
            key = SessionKey(1, Participant(seat), cwd, "plan")
            sessions.named(sessions.begin(key, "", sessions.Known(), time.time()), f"{seat}-id")

    await records.do(begun)
    assert "ask first" in (await here.told("command", "resume")).text
    key = SessionKey(1, Participant("desk", "critic"), str(tmp_path), "edit")
    await records.do(
        lambda: sessions.named(sessions.begin(key, "", sessions.Known(), time.time()), "mine")
    )
    text = (await here.told("command", "resume")).text
    assert "critic (desk)" in text
    assert "may change files here" in text
    assert text.count("--resume") == 1
    assert "--resume mine" in text
