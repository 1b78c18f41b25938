"""Every way in passes the door: listed from the code, so that a new one fails here until it does.

A stranger gets nothing done by any of them, and a viewer only views. That the same acts do
something for an admin proves that each of them could have.
"""

from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from peewee import Model

from bridge.access import Door
from bridge.commands import COMMANDS, Intention, parse, typed_command
from bridge.duties import NEEDS, ONLY_VIEWS, Role, verb_of
from bridge.intake import Intake
from bridge.languages import Languages
from core.errors import BadInput
from core.model import (
    AskedQuestion,
    Author,
    ChatEvent,
    ConversationKey,
    EngineRequest,
    Participant,
    Reply,
    Said,
    Step,
)
from core.model.places import EventKind
from core.records import asked, messages, runs, turns
from core.records.tables import ALL_TABLES, EngineSessionRow, GrantRow, MessageIndex, TurnRow
from core.records.thread import Records
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import KIM, POLICY, House

ROOT = Path(__file__).parents[2]
ADA = Author("UAda", "Ada", grants=("slack:UAda",))
VERA = Author("UVera", "Vera", grants=("slack:UVera",))
# Nobody: a member who is on no list, a guest, somebody of another company, a bot.
NOBODIES = (
    Author("UEve", "Eve", grants=("slack:UEve",)),
    Author("UGus", "Gus", grants=("slack:UGus",), trusted=False),
    Author("BCi", "ci", kind="bot", grants=("slack:BCi",), trusted=False),
)
SECRET = "Zebra"
RUN, TABLE_RUN = "a" * 16, "b" * 16

# One of each, typed in the thread "1". Those that do nothing in this small world are told below.
TYPED = {
    "ask": "!ask what is next?",
    "roundtable": "!rt which one?",
    "stop": "!stop",
    "next": "!next",
    "status": "!status",
    "context": "!context none",
    "mode": "!mode",
    "mode set": "!mode full",
    "permission": "!permission",
    "help": "!help",
    "language": "!language",
    "language set": "!language ko",
    "plan": "!plan",
    "plan new": "!plan new ship it",
    "plan show": "!plan show 1",
    "plan approve": "!plan approve 1",
    "plan reject": "!plan reject 1",
    "plan done": "!plan done 1.1",
    "plan start": "!plan start 1.1",
    "finding": "!finding",
    "finding add": "!finding add it leaks",
    "finding show": "!finding show 1",
    "finding close": "!finding close 1",
    "finding reopen": "!finding reopen 2",
    "artifact": "!artifact",
    "artifact add": "!artifact add notes\ntext",
    "artifact show": "!artifact show 1",
    "decisions": "!decisions",
    "decisions show": "!decisions show 1",
    "link": "!link",
    "link add": "!link 2",
    "unlink": "!unlink 3",
    "branch": "!branch #1 aside",
    "branch adopt": "!branch adopt",
    "branch discard": "!branch discard",
    "allow": "!allow 1",
    "deny": "!deny 1",
    "answer": "!answer 2 yes",
    "requests": "!requests",
    "revoke": "!revoke 1",
    "resume": "!resume",
    "continue": "!continue",
    "usage": "!usage",
    "budgets": "!usage budgets",
    "recall": f"!recall {SECRET}",
    "mark": "!mark 1 wrong",
    "unmark": "!unmark 1",
    "forget": "!forget #1",
    "resend": "!resend",
    "home": "!home",
    "audit": "!audit",
}
PRESSED = {
    "stop": "stop:1",
    "retry": "retry:3",
    "anyway": "anyway:3",
    "other": "other:3:codex",
    "go": "go:4",
    "next": "next:2:0:0",
    "form": "form:--rounds 2",
    "req": "req:1:once",
    "resume": "resume:1",
    "continue": "continue:1",
    "pick": "pick:1:claude:x",
    "recall": "recall:1:1",
    "more": "more:0123456789ab:5",
    "mark": "mark:1:1:wrong",
    "forget": "forget:message:1",
    "resend": "resend:3",
    "onward": f"onward:{RUN}",
    "branch": f"branch:{RUN}",
    "also": f"also:{RUN}:codex",
    "context": "context:" + "c" * 16,
    "home": "home:refresh",
    "audit": "audit:1",
}
FORMS = {
    "roundtable": {
        "topic": ("which one?",),
        "participants": ("architect:claude", "critic:codex"),
    },
    "answer": {"text0": ("yes",)},
    "about": {"question": ("why?",)},
}
SHORTCUTS = ("ask", "branch")

# What changes no row here even for an admin: it looks outside, answers in private, or its own
# tests need more of a world (a terminal's session, an answer that was not posted, a mark).
QUIET = {
    *ONLY_VIEWS,
    *("resume", "continue", "unmark", "resend", "home", "audit", "branch adopt", "branch discard"),
    *("unlink", "next", "button next", "button audit"),
    *("button resume", "button continue", "button pick", "button form", "button resend"),
    *("button onward", "button branch", "button also", "shortcut ask", "form about"),
}


# --- the lists -----------------------------------------------------------------------------------


def test_every_word_and_every_intention_has_its_line():
    meant = {
        verb: parse(*(typed_command(text) or ("", "")), POLICY.names)
        for verb, text in TYPED.items()
        if not _only_there(verb)
    }
    for verb, intention in meant.items():
        assert verb_of(intention) == verb
    assert {type(one) for one in meant.values()} >= set(get_args(Intention)), (
        "a new intention: add what is typed for it to TYPED, and its line to bridge/duties.py"
    )
    commands = {(typed_command(text) or ("", ""))[0] for text in TYPED.values()}
    assert commands == set(COMMANDS.values())
    assert set(NEEDS) == (
        set(TYPED)
        | {f"button {verb}" for verb in PRESSED}
        | {f"form {name}" for name in FORMS}
        | {f"shortcut {name}" for name in SHORTCUTS}
    ), "NEEDS and what this test does are not the same any more"
    assert set(QUIET) <= set(NEEDS)


def _only_there(verb: str) -> bool:
    """Not typed, as far as the grammar goes."""
    try:
        parse(*(typed_command(TYPED[verb]) or ("", "")), POLICY.names)
    except BadInput:
        return True
    return False


def test_every_button_has_its_line():
    """Buttons are made all over the code; their action begins with a word that the table knows."""
    found = {word for path in _sources() for word in _actions(path.read_text("utf-8"))}
    assert found, "no button was found: this test looks for them in the wrong way"
    assert {word for word in found if f"button {word}" not in NEEDS} == set()


def _sources() -> list[Path]:
    return [p for top in ("bridge", "core") for p in (ROOT / top).rglob("*.py")]


def _actions(source: str) -> set[str]:
    """The words before the colon in the first argument of each ``Button(…)``, where one stands."""
    words: set[str] = set()
    if "Button(" not in source:
        return words
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        named = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Button"
        if not named or not node.args:
            continue
        first = node.args[0]
        if isinstance(first, ast.JoinedStr):
            first = first.values[0]
        if isinstance(first, ast.FormattedValue) and isinstance(first.value, ast.Name):
            words.add(constants.get(first.value.id, ""))
        elif isinstance(first, ast.Constant) and isinstance(first.value, str):
            words.add(first.value.partition(":")[0])
    return words - {""}


def test_what_the_table_does_not_know_nobody_may_do():
    door = Door((), (), admins=("slack:UAda",))
    key = ConversationKey("slack", "T", "C", "1")
    with pytest.raises(Exception, match="no rule for “button new”"):
        door.check(ADA, key, "button new")


def test_every_kind_of_event_is_driven_here():
    """Those that people act by, and those that only tell what happened."""
    acts = {"message", "command", "button", "form", "shortcut", "home"}
    tells = {"edit", "delete", "channel", "complete"}
    assert set(get_args(EventKind)) == acts | tells


# --- a small world -------------------------------------------------------------------------------


def key(root: str = "1") -> ConversationKey:
    return ConversationKey("slack", "T", "C", root)


async def _made(house: House) -> None:
    """Something for each act: a question at work that asks, a table, one that failed, records."""
    await house.say(f"the {SECRET} plan?", at="1", mention=True)
    await house.records.do(claim_oldest, (), 1.0)
    await house.say("!rt SQL or files?", at="2", mention=True)
    await house.say("and this?", at="3", mention=True)
    await house.say("!rt a dear one?", at="4", mention=True)
    await house.records.do(_at_work)
    for at, text in enumerate(
        (
            "!plan new ship it\n- one\n- two",
            "!finding add it leaks",
            "!finding add it is slow",
            "!finding close 2",
            "!artifact add notes\nwords",
        ),
        11,
    ):
        await house.say(text, at=str(at), root="1")


def _at_work() -> None:
    turn = turns.get_turn(1)
    assert turn is not None
    seat = Participant("claude")
    runs.open_run(RUN, turn, Step(0, 0), seat, can_write=False, receipt={}, status=None, now=1.0)
    session = EngineSessionRow.create(
        conversation=1, engine="claude", cwd="/", permission="ask", opened_at=1.0, used_at=1.0
    )
    leave = EngineRequest("e1", "permission", "Bash", "touch x", scope="k", scope_label="touch")
    asked.ask(RUN, 0, leave, 1.0)
    asked.ask(
        RUN,
        0,
        EngineRequest(
            "e2", "question", questions=(AskedQuestion("Which?", (("yes", ""), ("no", ""))),)
        ),
        1.0,
    )
    GrantRow.create(
        conversation=1,
        session=session.id,
        engine="claude",
        scope="k",
        label="touch",
        request=1,
        by_key="slack:U1",
        by_name="Kim",
        created_at=1.0,
    )
    TurnRow.update(state="failed", ended_at=2.0).where(TurnRow.id == 3).execute()
    TurnRow.update(state="held").where(TurnRow.id == 4).execute()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of that world, made once."""
    import asyncio

    path = tmp_path_factory.mktemp("world") / "moot.sqlite"

    async def make() -> None:
        records = Records(path)
        await records.open()
        await _made(House(records))
        await records.close()

    asyncio.run(make())
    return path


class Watched(House):
    """A house in which somebody acts, and everything that may change is looked at."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.woken_all: list[str] = []
        self.intake = Intake(
            records,
            Door(("slack:U1",), viewers=("slack:UVera",), admins=("slack:UAda",)),
            replace(POLICY, languages=Languages()),  # one chooses another
            lambda _chat, text: (text,),
            on_turn=lambda: self.woken_all.append("turn"),
            on_post=lambda: None,
            on_stop=lambda _turns: self.woken_all.append("stop"),
            on_skip=lambda *_: self.woken_all.append("skip"),
            on_ruled=lambda *_: self.woken_all.append("ruled"),
        )

    async def rows(self, *apart: str) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that stands in the tables, but for those."""
        return await self.records.do(_rows, apart)


# An event is remembered by its id, and a refusal is written down: that is meant to be so.
NOTED = ("event", "deed", "meta")
# What somebody says in a thread is kept as said by whoever may not command, and the refusal is a
# post; an index follows.
SAID = ("message", "outbox", "message_fts", "index_job", "scope")


def _rows(apart: tuple[str, ...]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in ALL_TABLES:
        name = table._meta.table_name  # type: ignore[attr-defined]
        if table is not MessageIndex and name not in apart:
            found[name] = _all(table)
    return found


def _all(table: type[Model]) -> list[tuple[Any, ...]]:
    return sorted(table.select().tuples(), key=repr)


@pytest.fixture
async def house(world: Path, tmp_path: Path):
    path = tmp_path / "moot.sqlite"
    shutil.copy(world, path)
    records = Records(path)
    await records.open()
    yield Watched(records)
    await records.close()


def event(kind: EventKind, who: Author, at: int, text: str = "", **more: Any) -> ChatEvent:
    made = ChatEvent(key(), f"e-{kind}-{who.id}-{at}", "", who, text, kind, 50.0 + at)
    return replace(made, **{"in_thread": True, "mentions_us": True, **more})


def everything(who: Author) -> list[tuple[str, ChatEvent]]:
    """One event for each line of the table, and each typed one both ways."""
    made: list[tuple[str, ChatEvent]] = []
    for at, (verb, text) in enumerate(TYPED.items()):
        made.append((verb, event("message", who, at, text, message_id=f"9{who.id}{at}")))
        words = text.removeprefix("!")
        made.append((verb, event("command", who, 100 + at, words, command="moot")))
    for at, (verb, action) in enumerate(PRESSED.items()):
        made.append((f"button {verb}", event("button", who, at, action, message_id="77")))
    for at, (name, values) in enumerate(FORMS.items()):
        given = event("form", who, at, "2" if name == "answer" else "", command=name)
        made.append((f"form {name}", replace(given, values=values)))
    said = Said("1", KIM, f"the {SECRET} plan?", 1.0)
    for at, name in enumerate(SHORTCUTS):
        used = event("shortcut", who, at, command=name, target=said)
        made.append((f"shortcut {name}", used))
    own = replace(key(""), channel="D1")
    made.append(("home", event("home", who, 0, key=own, direct=True)))
    return made


def tells(reply: Reply | None) -> str:
    return "" if reply is None else f"{reply.text} {reply.buttons} {reply.form}"


# --- what comes of it ----------------------------------------------------------------------------


async def _all_of_it(house: Watched, who: Author) -> dict[str, str]:
    """Everything is tried by somebody, and no row changes by it; what they were told, by act."""
    before, told = await house.rows(*NOTED), dict[str, str]()
    tried = everything(who)
    for verb, happens in (one for one in tried if one[1].kind != "message"):
        told[f"{verb} by {happens.kind}"] = tells(await house.intake.accept(happens))
    assert await house.rows(*NOTED) == before
    for _, happens in (one for one in tried if one[1].kind == "message"):
        await house.intake.accept(happens)
    now = await house.rows(*NOTED, *SAID)
    assert now == {name: before[name] for name in now}
    assert house.woken_all == []
    first = await house.records.do(messages.get_message, 1, 1)
    assert first is not None
    assert SECRET in first.text
    return told


@pytest.mark.parametrize("who", NOBODIES, ids=lambda who: who.name)
async def test_a_stranger_gets_nothing_done_and_learns_nothing(house: Watched, who: Author):
    told = await _all_of_it(house, who)
    assert {act: text for act, text in told.items() if SECRET in text} == {}
    assert len(told) >= len(NEEDS)


async def test_a_viewer_is_not_offered_the_form_of_a_roundtable(house: Watched):
    await house.intake.accept(event("message", VERA, 3, "!rt", message_id="93"))
    assert "needs the role runner" in (await house.posts())[-1][1]
    for happens in (
        event("command", VERA, 1, "rt", command="moot"),
        event("command", VERA, 2, command="roundtable"),
    ):
        reply = await house.intake.accept(happens)
        assert reply is not None
        assert reply.form is None
        assert "needs the role runner" in reply.text


async def test_a_viewer_only_views(house: Watched):
    told = await _all_of_it(house, VERA)
    for act, text in told.items():
        more = NEEDS[act.partition(" by ")[0]] > Role.VIEWER
        assert ("needs the role" in text) is more, (act, text)


@pytest.mark.parametrize("verb", sorted(set(NEEDS) - QUIET))
async def test_for_an_admin_the_same_does_something(house: Watched, verb: str):
    apart = (*NOTED, "message", "index_job")
    # Not as a message: a post would be change enough.
    happens = next(one for name, one in everything(ADA) if name == verb and one.kind != "message")
    before = await house.rows(*apart)
    reply = await house.intake.accept(happens)
    assert await house.rows(*apart) != before, tells(reply)
    deeds = (await house.rows())["deed"]
    assert [row for row in deeds if "slack:UAda" in row and "done" in row], "not in the audit log"
