"""Words in a thread that goes on: who is asked, what still waits, and what is decided by a word."""

from pathlib import Path

import pytest

from core.model import AskedQuestion, EngineRequest, Participant, Ruling, Step
from core.records import asked as rows
from core.records import outbox, runs, sessions, turns
from core.records.tables import GrantRow, OutboxRow, RequestRow, TurnRow
from core.records.thread import Records
from core.turns import asked as posts
from core.words import anyway_button, other_buttons, retry_button, stop_button
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import LEE, House

LEAVE = EngineRequest("r", tool="shell", about="touch a")
QUESTION = EngineRequest(
    "q", "question", questions=(AskedQuestion("Which?", options=(("SQL", ""), ("Files", ""))),)
)


@pytest.fixture
async def house(tmp_path: Path):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records)
    await records.close()


async def ask(house, *requests, at="1", root=None):
    """A question that is worked on, and asks people for these."""

    def put():
        turn = claim_oldest()
        seat = turn.seats[0]
        run = f"run{turn.id}"
        runs.open_run(
            run, turn, Step(0, 0), seat, can_write=False, receipt={}, status=None, now=1.0
        )
        voice = house.intake.render
        for request in requests:
            posts.post(rows.ask(run, 0, request, 1.0), lambda chat, t, _: voice(chat, t), 1.0)

    await house.say("do it", at=at, root=root, mention=True)
    await house.records.do(put)


async def states(house):
    found = await house.records.do(lambda: list(RequestRow.select().order_by(RequestRow.id)))
    return [row.state for row in found]


async def told(house):
    """The last thing that was said in the thread."""
    return (await house.posts())[-1][1]


async def seats(house):
    found = await house.records.do(lambda: list(TurnRow.select().order_by(TurnRow.id)))
    return [(await house.records.do(turns.get_turn, row.id)).seats[0] for row in found]


# --- who is asked ------------------------------------------------------------------------------


async def test_a_thread_goes_on_with_whom_it_asked_last(house):
    for at, text in enumerate(
        (
            "a? --engine codex --model o9",
            "b?",
            "!ask c? --as critic",
            "d?",
            "e? --engine claude",
            "f?",
            "g? --model m",
        ),
        1,
    ):
        await house.say(text, at=str(at), root="1" if at > 1 else None, mention=True)
        await house.records.do(turns.end_turn, at, "done", "", 1.0)
    assert await seats(house) == [
        Participant("codex", model="o9"),
        Participant("codex", model="o9"),
        Participant("codex", "critic", "o9"),
        Participant("codex", "critic", "o9"),
        Participant("claude"),
        Participant("claude"),
        Participant("claude", model="m"),
    ]


async def test_after_a_roundtable_and_elsewhere_it_is_the_default(house):
    await house.say("a? --engine codex", at="1", mention=True)
    await house.say("b?", at="2", mention=True)
    await house.records.do(turns.end_turn, 1, "done", "", 1.0)
    await house.say("!rt c? --preset duel", at="3", root="1")
    await house.records.do(turns.end_turn, 3, "done", "", 1.0)
    await house.say("d?", at="4", root="1")
    assert [seat.engine for seat in await seats(house)] == ["codex", "claude", "codex", "claude"]


async def test_an_engine_or_persona_that_is_gone_is_not_asked(house):
    gone = ('[{"engine": "old", "persona": ""}]', '[{"engine": "codex", "persona": "old"}]')
    for at, stored in enumerate(gone, 1):
        await house.say("a?", at=f"{at}0", mention=True)
        await house.records.do(
            lambda stored=stored: TurnRow.update(seats=stored, state="done").execute()
        )
        await house.say("b?", at=f"{at}1", root=f"{at}0")
    assert (await seats(house))[-1] == Participant("claude")


# --- what waits --------------------------------------------------------------------------------


async def test_a_few_words_are_asked_later_and_the_thread_is_told_once_how_to_decide(house):
    await ask(house, LEAVE)
    await house.say("is it safe?", at="2", root="1")
    assert [kind for kind, _ in await house.posts()] == ["request"]
    await house.say("yes", at="4", root="1", who=LEE)
    reminder = await told(house)
    assert "#1** still waits: `!allow 1`, `!deny 1 …`; what you wrote is asked after it" in reminder
    before = len(await house.posts())
    await house.say("allow it", at="5", root="1")
    assert len(await house.posts()) == before
    assert await states(house) == ["waiting"]
    assert ("yes", "queued") in await house.turns()


async def test_a_question_says_how_it_is_answered_and_nothing_waiting_says_nothing(house):
    await house.say("start", mention=True)
    await house.say("go on", at="2", root="1")
    assert await house.posts() == []
    await ask(house, QUESTION, at="9")
    await house.say("Files", at="10", root="9")
    assert "`!answer 1 …`" in await told(house)


async def test_at_a_roundtable_the_words_are_for_who_speaks_next(house):
    await house.say("!rt tabs?", at="1", mention=True)

    def put():
        turn = turns.get_turn(1)
        runs.open_run("r1", turn, Step(0, 0), turn.seats[0], can_write=False, receipt={},
                      status=None, now=1.0)  # fmt: skip
        rows.ask("r1", 0, LEAVE, 1.0)

    await house.records.do(put)
    await house.say("yes", at="2", root="1")
    assert "what you wrote is for who speaks next" in await told(house)


@pytest.mark.parametrize(
    ("typed", "state"),
    [
        ("!approve 1", "once"),
        ("!yes", "once"),
        ("!ok!", "once"),
        ("!allow it", "once"),
        ("!reject 1", "deny"),
        ("!no", "deny"),
        ("!deny not on this branch", "deny"),
    ],
)
async def test_one_that_waits_alone_needs_no_number(house, typed, state):
    await ask(house, LEAVE)
    await house.say(typed, at="2", root="1")
    assert await states(house) == [state]
    assert len(await house.turns()) == 1


@pytest.mark.parametrize("typed", ["!answer files", "!answer 2", "!answer 1 2"])
async def test_an_answer_needs_no_number_either(house, typed):
    await ask(house, QUESTION)
    await house.say(typed, at="2", root="1")
    found = await house.records.do(rows.find, 1)
    assert (found.state, found.answers) == ("answer", (("Files",),))


async def test_where_several_or_none_wait_the_answer_names_them(house):
    await ask(house, LEAVE, EngineRequest("r2", tool="shell", about="touch b"))
    await house.say("!yes", at="2", root="1")
    said = await told(house)
    assert "for example `!allow 1`" in said
    assert "**#1** claude: touch a" in said
    assert "**#2** claude: touch b" in said
    assert await states(house) == ["waiting", "waiting"]
    await house.say("!no 2", at="3", root="1")
    await house.say("!no", at="4", root="1")
    assert await states(house) == ["deny", "deny"]
    await house.say("!ok", at="5", root="1")
    assert await told(house) == "Nothing waits here for a decision."


@pytest.mark.parametrize("typed", ["!answer 1 3", "!allow 1", "!deny 1", "!allow 1 session"])
async def test_one_that_was_decided_says_by_whom(house, typed):
    await ask(house, LEAVE)
    ruling = Ruling("once", "slack:U2", "Lee")
    await house.records.do(rows.rule, 1, ruling, 2.0)
    await house.say(typed, at="2", root="1")
    assert await told(house) == "#1 does not wait any more. ✅ Allowed once by Lee."


async def test_a_number_no_option_has_decides_nothing(house):
    await ask(house, QUESTION)
    await house.say("!answer 1 5", at="2", root="1")
    assert "There is no option 5. There are: 1 = SQL, 2 = Files." in await told(house)
    await house.say("!answer 1", at="3", root="1")
    assert "type `!answer 1 …`" in await told(house)
    assert await states(house) == ["waiting"]


async def test_typed_at_channel_level_the_list_is_of_the_whole_channel(house):
    await ask(house, LEAVE)
    await house.say("!requests", at="2", mention=True)
    assert "**#1** claude: touch a ([its thread](https://chat.test/C/1/))" in await told(house)


async def test_the_only_thing_that_is_allowed_is_revoked_without_its_number(house):
    def grant(number):
        GrantRow.create(
            conversation=1, session=1, engine="claude", scope=f"s{number}", label="npm", request=1,
            by_key="slack:U1", by_name="Kim", created_at=1.0,
        )  # fmt: skip

    await house.say("start", mention=True)
    await house.say("!revoke", at="2", root="1")
    assert await told(house) == "Nothing is allowed for a session here."
    await house.records.do(sessions.adopt, 1, Participant("claude"), "/p", "s", 1.0)
    await house.records.do(grant, 1)
    await house.say("!revoke", at="3", root="1")
    assert "Revoked by Kim: npm" in await told(house)
    await house.records.do(grant, 2)
    await house.records.do(grant, 3)
    await house.say("!revoke", at="4", root="1")
    assert "for example `!revoke 2`" in await told(house)


# --- buttons that were used --------------------------------------------------------------------


@pytest.mark.parametrize("action", ["retry:1", "anyway:1", "other:1:codex"])
async def test_the_buttons_that_put_a_question_again_go_once_it_is_put(house, action):
    offers = (*other_buttons(1, ["codex"]), anyway_button(1), retry_button(1))

    def fail():
        turns.end_turn(1, "failed", "x", 1.0)
        for n, buttons in enumerate((offers, (stop_button(1),), other_buttons(11, ["codex"]))):
            post = outbox.add_post(
                1, "notice", (f"failed {n}",), buttons=buttons, turn_id=1, now=1.0
            )
            outbox.mark_sent(post, f"m{n}", None, 2.0)

    def edits():
        found = OutboxRow.select().where(OutboxRow.op == "edit")
        return [(row.text, row.buttons) for row in found]

    await house.say("why?", at="1", mention=True)
    await house.records.do(fail)
    refused = await house.act("button", "other:1:none", event_id="b0")
    assert "There is no engine" in refused.text
    assert await house.records.do(edits) == []
    await house.act("button", action, event_id="b1")
    assert await house.records.do(edits) == [("failed 0", "[]")]
    await house.records.do(turns.end_turn, 2, "failed", "x", 1.0)
    await house.act("button", "retry:1", event_id="b2")  # from a client that still shows it
    assert len(await house.records.do(edits)) == 1
