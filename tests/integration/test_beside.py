"""Shortcuts, a person's page, what is offered while typing, and reactions: rows in a real file."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.reactions import Reactions
from bridge.shortcuts import Targets
from core.errors import ChatBusy, ChatRefused
from core.model import Attachment, Author, ChatEvent, ConversationKey, Outcome, Said, Step
from core.records import messages, places, reactions, runs, turns
from core.records.tables import (
    AttachmentRow,
    BranchRow,
    ConversationRow,
    MessageRow,
    OutboxRow,
    ReactionRow,
    TurnRow,
)
from core.records.thread import Records
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import EVE, KIM, LEE, POLICY, House

FILE = Attachment("F1", "log.txt", "text/plain", 3, "https://files.test/1")
SAID = Said("77.1", LEE, "the cache is never emptied", 77.1, (FILE,))
CHANNEL = ConversationKey("slack", "T", "C", "77.1")


@pytest.fixture
async def house(tmp_path: Path):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records, replace(POLICY, reactions=True, targets=Targets()))
    await records.close()


async def use(house: House, command: str, *, who: Author = KIM, ident: str = "s1", **more):
    event = ChatEvent(
        key=CHANNEL,
        event_id=ident,
        message_id="77.1",
        author=who,
        text="",
        kind="shortcut",
        sent_at=time.time(),
        command=command,
        target=SAID,
    )
    return await house.intake.accept(replace(event, **more))


async def send_form(house: House, question: str, *, engine: str = "", ident: str = "f1", **more):
    values = {"question": (question,)} | ({"engine": (engine,)} if engine else {})
    event = ChatEvent(
        key=CHANNEL,
        event_id=ident,
        message_id="",
        author=KIM,
        text="77.1",
        kind="form",
        sent_at=time.time(),
        command="about",
        values=values,
    )
    return await house.intake.accept(replace(event, **more))


async def count(house: House, table) -> int:
    return await house.records.do(lambda: table.select().count())


async def test_asking_about_a_message_keeps_it_only_once_somebody_asks(house) -> None:
    reply = await use(house, "ask")
    assert [field.name for field in reply.form.fields] == ["question", "engine"]
    assert len(f"form:about:{'9' * 20}:{reply.form.context}") <= 100  # Discord's custom id
    assert await count(house, MessageRow) == 0
    assert "question" in (await send_form(house, "  ")).errors
    assert "engine" in (await send_form(house, "why?", engine="gone")).errors
    assert await count(house, MessageRow) == 0
    await send_form(house, "why is that?", engine="codex")
    await send_form(house, "why is that?", engine="codex")  # sent twice

    (turn,) = await house.records.do(lambda: list(TurnRow.select()))
    about = await house.records.do(messages.get_message, turn.about, turn.conversation_id)
    assert (about.text, about.author_name, about.platform_id) == (SAID.text, "Lee", "77.1")
    assert await count(house, AttachmentRow) == 1
    assert '"codex"' in turn.seats
    place = await house.records.do(messages.get_conversation, turn.conversation_id)
    assert place.key == CHANNEL
    assert not place.caught_up  # the rest of the thread is read before the first answer


async def test_after_a_restart_the_thread_is_read_instead(house) -> None:
    await use(house, "ask")
    again = House(house.records, replace(POLICY, targets=Targets()))
    await send_form(again, "why is that?")
    (turn,) = await again.records.do(lambda: list(TurnRow.select()))
    assert turn.about == 0
    place = await again.records.do(messages.get_conversation, turn.conversation_id)
    assert (place.key, place.caught_up) == (CHANNEL, False)


async def test_files_of_somebody_who_may_not_use_moot_are_not_fetched(house) -> None:
    await use(house, "ask", target=replace(SAID, author=EVE))
    await send_form(house, "why is that?")
    assert await count(house, AttachmentRow) == 0


@pytest.mark.parametrize("command", ["ask", "branch"])
async def test_strangers_and_places_where_moot_is_not(house, command) -> None:
    told = await use(house, command, who=EVE)
    assert "may not use Moot" in told.text
    assert told.form is None
    told = await use(house, command, ident="s2", outside=True)
    assert "Invite me" in told.text
    assert told.form is None
    assert await count(house, ConversationRow) == 0
    assert await count(house, BranchRow) == 0


async def test_branching_from_a_message(house) -> None:
    await use(house, "branch")
    await use(house, "branch")  # delivered twice
    (branch,) = await house.records.do(lambda: list(BranchRow.select()))
    at = await house.records.do(MessageRow.get_by_id, branch.message)
    assert at.text == SAID.text
    told = await use(house, "branch", ident="s2", direct=True, key=replace(CHANNEL, root=""))
    assert "direct message" in told.text


# --- a person's page -------------------------------------------------------------------------


async def ask_in(house: House, channel: str, at: str, text: str, who: Author, *, public: bool):
    key = ConversationKey("slack", "T", channel, at)
    await house.say(text, at=at, who=who, mention=True, key=key, event_id=at)
    await house.records.do(places.set_public, key, public=public)


async def home(house: House, who: Author = KIM, action: str = "", ident: str = "h1"):
    return await house.intake.accept(
        ChatEvent(
            key=ConversationKey("slack", "T", "D1", ""),
            event_id=ident,
            message_id="",
            author=who,
            text=action,
            kind="home",
            sent_at=time.time(),
            direct=True,
        )
    )


async def test_a_page_shows_ones_own_and_what_is_public(house) -> None:
    await ask_in(house, "C1", "1", "lee in public", LEE, public=True)
    await ask_in(house, "C2", "2", "lee in private", LEE, public=False)
    await ask_in(house, "C2", "3", "kim in private", KIM, public=False)
    page = (await home(house)).text
    assert "kim in private" in page
    assert "lee in public" in page
    assert "lee in private" not in page
    assert page.index("kim in private") < page.index("lee in public")
    guest = replace(KIM, trusted=False)
    assert "lee in public" not in (await home(house, guest)).text


async def test_strangers_read_one_line(house) -> None:
    reply = await home(house, EVE)
    assert reply.buttons == ()
    assert len(reply.text.splitlines()) == 1
    assert "claude" not in reply.text


async def test_stop_on_a_page_is_for_what_one_may_see_and_counts_once(house) -> None:
    await ask_in(house, "C2", "1", "lee in private", LEE, public=False)
    await ask_in(house, "C2", "2", "kim in private", KIM, public=False)
    theirs, mine = [row.id for row in await house.records.do(lambda: list(TurnRow.select()))]
    assert "That one is over" in (await home(house, action=f"home:stop:{theirs}", ident="p1")).text
    assert house.stopped == []
    page = await home(house, action=f"home:stop:{mine}", ident="p2")
    assert house.stopped == [mine]
    assert "kim in private" not in page.text
    page = await home(house, action=f"home:stop:{mine}", ident="p2")  # delivered twice
    assert "That one" not in page.text
    assert "another version" in (await home(house, action="home:else:1", ident="p3")).text


async def test_a_page_is_not_posted_for_everybody(house) -> None:
    await house.say("!home", mention=True)
    (post,) = await house.records.do(_notices)
    assert "eyes alone" in post
    private = await house.act("command", "home", command="moot")
    assert "Running and waiting" in private.text


def _notices() -> list[str]:
    return [row.text for row in OutboxRow.select()]


# --- what is offered -------------------------------------------------------------------------


async def offered(house: House, option: str, typed: str = "", who: Author = KIM, root: str = ""):
    reply = await house.act(
        "complete", typed, command="ask", values={"option": (option,)}, who=who, root=root
    )
    return [value for value, _ in reply.options] if reply else None


@pytest.mark.parametrize(
    ("option", "typed", "found"),
    [
        ("engine", "", ["claude", "codex"]),
        ("engine", "OD", ["codex"]),
        ("persona", "cri", ["critic"]),
        ("preset", "", ["duel"]),
        ("synthesizer", "non", ["none"]),
        ("which", "cl", ["claude"]),
        ("run", "", []),
        ("question", "what", []),
    ],
)
async def test_what_is_offered(house, option, typed, found) -> None:
    assert await offered(house, option, typed) == found


async def test_a_table_is_offered_seat_by_seat_and_strangers_nothing(house) -> None:
    found = await offered(house, "participants", "critic:claude,arch")
    assert "critic:claude,architect:codex" in found
    assert await offered(house, "engine", who=EVE) is None
    assert await count(house, ConversationRow) == 0


# --- reactions -------------------------------------------------------------------------------


class Board:
    """A chat that only keeps reactions; ``faults`` come first, one a call."""

    name = "slack"

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.there: dict[str, set[str]] = {}
        self.calls = 0

    async def react(self, key, message_id, name, *, on=True):
        self.calls += 1
        if self.faults:
            raise self.faults.pop(0)
        shown = self.there.setdefault(message_id, set())
        (shown.add if on else shown.discard)(name)


async def settled(house: House, board: Board, holds) -> None:
    """Let reactions be put until ``holds()``."""
    work = asyncio.create_task(Reactions(house.records, {"slack": board}).run())
    try:
        async with asyncio.timeout(20):
            while not await house.records.do(holds):
                await asyncio.sleep(0.01)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def all_settled() -> bool:
    return not reactions.unsettled()


async def test_a_question_shows_how_it_stands_and_only_that(house) -> None:
    await house.say("why?", mention=True)
    (turn,) = await house.records.do(lambda: list(TurnRow.select()))
    board = Board()
    await settled(house, board, lambda: board.there.get("1") == {"seen"})
    await house.records.do(lambda: TurnRow.change(turn.id, state="running"))
    await settled(house, board, lambda: board.there.get("1") == {"working"})
    await house.records.do(turns.end_turn, turn.id, "done", "", 9.0)
    await settled(house, board, all_settled)
    assert board.there["1"] == {"done"}


@pytest.mark.parametrize("there", [{"seen"}, {"seen", "working"}])
async def test_after_a_crash_nothing_stays_at_work(house, there) -> None:
    """The row is written before the act: what may stand there is known, and is taken away."""
    await house.say("why?", mention=True)
    (turn,) = await house.records.do(lambda: list(TurnRow.select()))
    board = Board()
    board.there["1"] = set(there)  # the second one was put, or not, and then came the crash
    mark = turn.prompt_message
    await house.records.do(reactions.set_shown, mark, ("seen",), ("working",))
    await house.records.do(turns.end_turn, turn.id, "failed", "", 9.0)
    await settled(house, board, all_settled)
    assert board.there["1"] == {"failed"}


async def test_a_stopped_question_has_none_and_one_asked_again_has_its_own(house) -> None:
    await house.say("why?", mention=True)
    board = Board()
    await settled(house, board, lambda: board.there.get("1") == {"seen"})
    (turn,) = await house.records.do(lambda: list(TurnRow.select()))
    await house.act("button", f"stop:{turn.id}", root="1")
    await settled(house, board, all_settled)
    assert board.there["1"] == set()
    await house.act("button", f"retry:{turn.id}", root="1", event_id="e2")
    await settled(house, board, lambda: board.there.get("1") == {"seen"})


async def test_a_busy_platform_is_waited_for_and_a_refusal_gives_up(house) -> None:
    await house.say("why?", mention=True)
    board = Board(ChatBusy(0.01))
    await settled(house, board, lambda: board.there.get("1") == {"seen"})
    await house.say("and?", at="2", mention=True)
    board = Board(ChatRefused("message is gone", "message_not_found"))
    await settled(house, board, lambda: ReactionRow.get_by_id(_of("2")).settled)
    assert board.there.get("2") is None


def _of(platform_id: str) -> int:
    return MessageRow.get(MessageRow.platform_id == platform_id).id


async def test_a_fault_of_a_platforms_library_ends_nothing(house) -> None:
    await house.say("why?", mention=True)
    board = Board(ValueError("a surprise"))
    await settled(house, board, lambda: board.there.get("1") == {"seen"})


async def test_nothing_stands_under_commands_bots_and_what_was_deleted(house) -> None:
    await house.act("command", "why?", command="ask")
    assert await count(house, ReactionRow) == 0
    await house.say("why?", mention=True)
    await house.say("", kind="delete", event_id="d1")
    board = Board()
    await settled(house, board, all_settled)
    assert board.calls == 0


# --- controls below an answer ----------------------------------------------------------------


async def answered(house: House, run: str = "0123456789abcdef") -> str:
    """A question that was answered by ``run``, in the thread 1."""
    await house.say("why?", mention=True)

    def write() -> None:
        turn = claim_oldest((), 6.0)
        runs.open_run(
            run, turn, Step(0, 0), turn.seats[0], can_write=False, receipt={}, status=None, now=6.0
        )
        runs.settle_run(run, "answered", Outcome("answered", "so"), answer="so", pulls=(), now=7.0)
        turns.end_turn(turn.id, "done", "", 7.0)

    await house.records.do(write)
    return run


async def test_controls_are_pressed_where_their_run_is(house) -> None:
    run = await answered(house)
    assert "over" in (await house.act("button", "onward:ffffffffffffffff", root="1")).text
    assert "over" in (await house.act("button", "onward:' OR 1", root="1", event_id="e2")).text
    elsewhere = ConversationKey("slack", "T", "OTHER", "1")
    for number, verb in enumerate(("onward", "branch", "context", "also")):
        told = await house.act("button", f"{verb}:{run}", event_id=f"x{number}", key=elsewhere)
        assert "another channel" in told.text
    assert await count(house, TurnRow) == 1


async def test_continue_is_asked_once_whoever_presses(house) -> None:
    run = await answered(house)
    assert "On it" in (await house.act("button", f"onward:{run}", root="1")).text
    told = await house.act("button", f"onward:{run}", root="1", event_id="e2", who=LEE)
    assert "worked on already" in told.text
    assert (await house.turns())[1:] == [("Go on.", "queued")]
    assert ("header", "**Kim** asks to go on.") in await house.posts()


async def test_another_engine_is_asked_once_and_only_one_that_exists(house) -> None:
    run = await answered(house)
    assert "no engine" in (await house.act("button", f"also:{run}:gone", root="1")).text
    told = await house.act("button", f"also:{run}:codex", root="1", event_id="e2")
    assert "codex" in told.text
    told = await house.act("button", f"also:{run}:codex", root="1", event_id="e3", who=LEE)
    assert "worked on already" in told.text
    assert [prompt for prompt, _ in await house.turns()] == ["why?", "why?"]


async def test_strangers_press_in_vain(house) -> None:
    run = await answered(house)
    for number, verb in enumerate(("onward", "branch", "context", "also")):
        told = await house.act("button", f"{verb}:{run}", root="1", event_id=f"x{number}", who=EVE)
        assert "may not use Moot" in told.text
    assert await count(house, TurnRow) == 1
    assert await count(house, BranchRow) == 0
