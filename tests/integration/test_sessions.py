"""Engine sessions from turn to turn: what each question tells, and what ends a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.context.terms import EngineTerms, HouseTerms
from core.model import Participant, Project
from core.records import runs as run_rows
from core.records.tables import UsageRow
from tests.integration.parlour import Parlour, parlour

ONLY_RESUMED = 'when="What is new"'  # stands in a delta, and in no full pack


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


def sent(here: Parlour, n: int) -> str:
    return here.actor.asked[n].context


async def test_the_second_question_tells_only_what_is_new(here: Parlour) -> None:
    await here.say("Our code word is Quetzal-7.")
    await here.ask("do you see it?")
    await here.say("By the way, it is Friday.", "Lee")
    await here.ask("and now?")
    first, second = await here.runs()
    assert (first["resumed"], first["delta"]) == (False, False)
    assert (second["resumed"], second["delta"]) == (True, True)
    assert here.actor.asked[1].resume == first["session"] == second["session"] != ""
    assert "Quetzal-7" in sent(here, 0)
    assert "# Platform rules" in sent(here, 0)
    assert "Quetzal-7" not in sent(here, 1)
    assert "# Platform rules" not in sent(here, 1)
    assert "By the way" in sent(here, 1)
    assert "do you see it?" not in sent(here, 1)  # its question then
    assert "the rehearsal engine" not in sent(here, 1)  # its own answer
    assert len(second["known_messages"]) == 3
    assert second["messages"] == [4]
    [session] = await here.sessions()
    assert (session.state, session.failures) == ("live", 0)


async def test_a_session_that_is_gone_gets_everything_anew_and_the_thread_one_line(
    here: Parlour,
) -> None:
    await here.ask("one")
    await here.ask(f"two @@rehearse {ONLY_RESUMED} fail=session-lost@@")
    await here.ask("three")
    tasks = here.actor.asked
    assert [bool(task.resume) for task in tasks] == [False, True, False, True]
    assert "# Platform rules" in sent(here, 2)
    one, two, three = await here.runs()
    assert (two["resumed"], two["delta"]) == (False, False)
    assert tasks[3].resume == two["session"] != one["session"]
    assert three["delta"]
    told = [text for text in await here.notices() if "session" in text]
    assert told == [
        "The engine's own session was gone: it was started afresh with the full context."
    ]
    first, second = await here.sessions()
    assert (first.state, first.why) == ("ended", "session-lost")
    assert (second.state, second.parent) == ("live", one["session"])


async def test_a_session_that_is_full_is_rotated_once_and_never_in_a_loop(here: Parlour) -> None:
    await here.ask("one")
    await here.ask(f"two @@rehearse {ONLY_RESUMED} fail=context-too-long@@")
    assert "was full" in (await here.notices())[0]
    assert len(here.actor.asked) == 3
    # Too long for a new session as well: it fails, and the next question starts anew.
    assert await here.ask("three @@rehearse fail=context-too-long@@") == "failed"
    assert len(here.actor.asked) == 5
    await here.ask("four")
    assert [bool(task.resume) for task in here.actor.asked] == [
        False,
        True,
        False,
        True,
        False,
        False,
    ]
    assert [row.state for row in await here.sessions()] == ["ended", "ended", "ended", "live"]


async def test_what_a_failed_run_was_told_is_told_again_in_the_same_session(here: Parlour) -> None:
    await here.ask("one")
    await here.say("A fact.")
    await here.ask("two @@rehearse fail=rate@@")
    await here.ask("three")
    assert "A fact." in sent(here, 1)
    assert "A fact." in sent(here, 2)
    assert "# Platform rules" not in sent(here, 2)
    assert here.actor.asked[2].resume == here.actor.asked[1].resume != ""


async def test_a_first_run_that_said_nothing_leaves_no_session(here: Parlour) -> None:
    await here.ask("one @@rehearse fail=auth@@")
    await here.ask("two")
    assert [task.resume for task in here.actor.asked] == ["", ""]
    assert [row.why for row in await here.sessions()] == ["never answered", ""]


async def test_a_session_that_only_breaks_is_given_up(here: Parlour) -> None:
    here.set(retries=0)
    await here.ask("one")
    for _ in range(2):
        await here.ask("again @@rehearse fail=crash@@")
    await here.ask("four")
    assert [bool(task.resume) for task in here.actor.asked] == [False, True, True, False]
    assert (await here.sessions())[0].why == "failing"
    await here.ask("five")
    told = [text for text in await here.notices() if "afresh" in text]
    assert len(told) == 1
    assert "broke off twice in a row" in told[0]


# Before its first word (an engine without deltas mostly is), and amid its words.
@pytest.mark.parametrize("work", ["sleep=600", "hang"])
async def test_c114_a_first_run_that_is_stopped_is_gone_on_with(here: Parlour, work: str) -> None:
    asking = asyncio.create_task(here.ask(f"one @@rehearse {work}@@"))
    while not [row for row in await here.sessions() if row.session]:
        await asyncio.sleep(0.01)
    here.stops.stop()
    await asking
    await here.ask("go on")
    [row] = await here.sessions()
    assert [task.resume for task in here.actor.asked] == ["", row.session]
    assert "# Platform rules" in sent(here, 1)  # nothing was noted as known


async def test_c116_every_new_id_is_followed_and_the_one_before_is_kept(here: Parlour) -> None:
    await here.ask("one")
    first = (await here.sessions())[0].session
    await here.ask("two @@rehearse becomes=second@@")
    await here.ask("three @@rehearse becomes=third tool=compact@@")
    await here.ask("four")
    assert [task.resume for task in here.actor.asked] == ["", first, "second", "third"]
    assert [run["session"] for run in await here.runs()] == [first, "second", "third", "third"]
    [row] = await here.sessions()
    assert (row.session, row.parent, row.state) == ("third", "second", "live")
    assert "# Platform rules" in here.actor.asked[3].context  # the third was compacted
    assert await here.notices() == []


async def test_c116_an_id_that_changes_before_a_failure_is_followed_too(here: Parlour) -> None:
    here.set(retries=0)
    await here.ask("one")
    await here.ask("two @@rehearse becomes=second fail=rate@@")
    await here.ask("three")
    assert here.actor.asked[2].resume == "second"


async def test_c116_a_follow_up_goes_to_the_id_that_its_question_ended_with(here: Parlour) -> None:
    await here.ask('one @@rehearse becomes=other pull="messages: last 3"@@')
    assert [task.resume for task in here.actor.asked] == ["", "other"]
    [row] = await here.sessions()
    assert row.session == "other"


async def test_an_engine_that_says_that_a_session_is_in_use_is_believed(here: Parlour) -> None:
    await here.ask("one")
    await here.ask(f"two @@rehearse {ONLY_RESUMED} fail=in-use@@")
    await here.ask("three")
    one, two, three = await here.runs()
    assert one["session"] == three["session"] != two["session"]
    assert [run["outcome"] for run in (one, two, three)] == ["answered"] * 3
    assert "open in a terminal" in (await here.notices())[0]
    [row] = await here.sessions()
    assert (row.state, row.failures) == ("live", 0)


@pytest.mark.parametrize(
    "kind",
    ["auth", "quota", "rate", "overloaded", "bad-model", "bad-config", "missing-binary", "refused"],
)
async def test_c113_no_other_failure_is_taken_for_a_lost_session(here: Parlour, kind: str) -> None:
    here.set(retries=0)
    await here.ask("one")
    assert await here.ask(f"two @@rehearse {ONLY_RESUMED} fail={kind}@@") == "failed"
    await here.ask("three")
    assert [bool(task.resume) for task in here.actor.asked] == [False, True, True]
    assert not any("afresh" in text for text in await here.notices())
    [row] = await here.sessions()
    assert row.state == "live"


async def test_c118_going_on_three_times_with_a_full_session_never_loops(here: Parlour) -> None:
    await here.ask("one")
    # Full for everything that goes on; a new one takes the whole pack.
    for _ in range(3):
        await here.ask(f"continue @@rehearse {ONLY_RESUMED} fail=context-too-long@@")
    tasks = here.actor.asked
    assert [bool(task.resume) for task in tasks] == [False, *(True, False) * 3]
    told = [text for text in await here.notices() if "was full" in text]
    assert len(told) == 3
    ended = [(row.state, row.why) for row in await here.sessions()]
    assert ended == [*[("ended", "context-too-long")] * 3, ("live", "")]


@pytest.mark.parametrize(
    "sentence",
    [
        "Prompt is too long",
        "API Error: 400 prompt is too long: 213462 tokens > 200000 maximum",
    ],
)
async def test_c118_the_sentence_that_comes_as_an_answer_is_no_answer(
    here: Parlour, sentence: str
) -> None:
    await here.ask("one")
    await here.ask(f'continue @@rehearse {ONLY_RESUMED} text="{sentence}"@@')
    assert [bool(task.resume) for task in here.actor.asked] == [False, True, False]
    assert (await here.runs())[-1]["outcome"] == "answered"
    assert "was full" in (await here.notices())[0]
    # One that is asked about it says so as part of an answer: that stays one.
    await here.ask(f'what does it mean? @@rehearse text="It says {sentence}, so trim it."@@')
    assert len(here.actor.asked) == 4


async def test_after_a_crash_more_is_told_and_never_less(here: Parlour) -> None:
    await here.ask("one")
    await here.say("A fact.")
    asking = asyncio.create_task(here.ask("two @@rehearse hang@@"))
    while len(here.actor.asked) < 2 or "perhaps" not in (await here.sessions())[0].known:
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await here.records.do(_release)
    await here.ask("three")
    assert "A fact." in sent(here, 2)
    assert "two @@rehearse" in sent(here, 2)
    assert here.actor.asked[2].resume == here.actor.asked[1].resume


def _release() -> None:
    from core.records.tables import TurnRow

    TurnRow.update(state="failed").where(TurnRow.state == "running").execute()


async def test_erasing_a_message_ends_the_sessions_that_were_told_it(here: Parlour) -> None:
    other = await here.opened("2.0")
    secret = await here.say("The password is swordfish.")
    await here.ask("one")
    await other.ask("elsewhere")
    await here.remove(secret)
    await here.ask("two")
    await other.ask("elsewhere again")
    assert [bool(task.resume) for task in here.actor.asked] == [False, False, False, True]
    assert "# Platform rules" in sent(here, 2)
    assert "swordfish" not in sent(here, 2)
    erased = (await here.sessions())[0]
    assert (erased.state, erased.why, erased.known) == ("ended", "erased", "{}")


async def test_erasing_ends_sessions_elsewhere_that_pulled_from_other_conversations(
    here: Parlour,
) -> None:
    other = await here.opened("2.0")
    secret = await here.say("The password is swordfish.")
    await other.ask('what was it? @@rehearse pull="memory: password"@@')
    await here.remove(secret)
    await other.ask("again")
    assert here.actor.asked[-1].resume == ""


async def test_a_message_erased_while_it_is_being_told_ends_that_session_too(here: Parlour) -> None:
    secret = await here.say("The password is swordfish.")
    asking = asyncio.create_task(here.ask("one @@rehearse sleep=1@@"))
    while not await here.sessions():
        await asyncio.sleep(0.01)
    await here.remove(secret)
    await asking
    await here.ask("two")
    assert [task.resume for task in here.actor.asked] == ["", ""]


async def test_a_session_that_was_compacted_is_told_everything_next(here: Parlour) -> None:
    await here.say("A fact.")
    await here.ask("one")
    await here.ask("two @@rehearse tool=compact@@")
    await here.ask("three")
    await here.ask("four")
    assert "# Platform rules" not in sent(here, 1)
    assert "# Platform rules" in sent(here, 2)
    assert "A fact." in sent(here, 2)
    assert "# Platform rules" not in sent(here, 3)
    assert {task.resume for task in here.actor.asked[1:]} == {here.actor.asked[1].resume}
    assert [run["delta"] for run in await here.runs()] == [False, True, False, True]


async def test_a_session_that_changes_its_name_is_followed(here: Parlour) -> None:
    await here.ask("one")
    here.actor.rename = "renamed"
    await here.ask("two")
    await here.ask("three")
    first = here.actor.asked[1].resume
    assert here.actor.asked[2].resume == "renamed"
    [row] = await here.sessions()
    assert (row.session, row.parent) == ("renamed", first)


async def test_another_permission_folder_or_model_is_another_session(
    here: Parlour, tmp_path: Path
) -> None:
    await here.ask("one")
    home = here.house.project_of(here.conversation.key)
    here.house = replace(here.house, project_of=lambda _: replace(home, permission="edit"))
    await here.ask("two")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here.house = replace(here.house, project_of=lambda _: Project("acme", str(elsewhere)))
    await here.ask("three")
    here.house = replace(here.house, project_of=lambda _: home)
    await here.ask("four", [Participant("rehearsal", model="big")])
    here.house = replace(here.house, project_of=lambda _: replace(home, permission="ask"))
    await here.ask("five")
    # What who asks may do at most counts as much as what the channel allows.
    await here.ask("six", permission="plan")
    await here.ask("seven")
    resumed = [task.resume for task in here.actor.asked]
    assert resumed[:5] == ["", "", "", "", ""]
    sessions = [run["session"] for run in await here.runs()]
    assert resumed[5:] == [sessions[0], sessions[4]]
    assert [task.permission for task in here.actor.asked[4:]] == ["ask", "plan", "ask"]


async def test_without_sessions_every_turn_gets_everything_and_follow_ups_go_on(
    here: Parlour,
) -> None:
    here.set(sessions=False)
    await here.ask("one")
    await here.ask('two @@rehearse pull="messages: last 3"@@')
    first, second, follow_up = here.actor.asked[:3]
    assert (first.resume, second.resume) == ("", "")
    assert "# Platform rules" in second.context
    assert follow_up.resume == (await here.runs())[1]["session"]
    assert await here.sessions() == []


async def test_a_follow_up_keeps_what_the_session_knows(here: Parlour) -> None:
    await here.ask('one @@rehearse text="Let me look." pull="messages: last 3"@@')
    await here.ask("two")
    tasks = here.actor.asked
    assert [bool(task.resume) for task in tasks] == [False, True, True]
    assert "Let me look." not in tasks[-1].context
    assert "# Platform rules" not in tasks[-1].context
    assert (await here.runs())[-1]["delta"]


async def test_the_second_round_of_a_table_is_a_delta_for_everybody(here: Parlour) -> None:
    seats = [Participant("rehearsal", "architect"), Participant("codex", "critic")]
    await here.ask("SQL or files?", seats, rounds=2)
    runs = await here.runs()
    assert [run["delta"] for run in runs] == [False, False, True, True]
    assert len({run["session"] for run in runs}) == 2
    for n in (2, 3):
        assert "# Platform rules" not in sent(here, n)
        assert "The topic" not in sent(here, n)
        assert sent(here, n).count("[#") == 1 + sent(here, n).count("[#12]")  # the other's answer


async def test_two_seats_that_are_the_same_participant_share_no_session(here: Parlour) -> None:
    await here.ask("SQL or files?", [Participant("rehearsal")] * 2, rounds=2)
    assert [task.resume for task in here.actor.asked] == [""] * 4
    assert await here.sessions() == []


async def test_c125_a_local_model_that_holds_too_little_is_asked_again_with_less(
    here: Parlour,
) -> None:
    local = HouseTerms(engines={"rehearsal": EngineTerms(local=True)}, light_budget_chars=8_000)
    here.set(terms=local)
    await here.say("OLDWORD " * 300)
    await here.say("newer " * 100)
    await here.ask('one @@rehearse when="OLDWORD" fail=context-too-long@@')
    first, second = here.actor.asked
    assert "OLDWORD" in first.context
    assert "OLDWORD" not in second.context
    assert "newer" in second.context
    assert "half of the context" in (await here.notices())[0]
    [run] = await here.runs()
    assert (run["budget"], run["budget_from"], run["outcome"]) == (4_000, "reduced", "answered")
    sizes = [len(task.context) + len(task.prompt) for task in (first, second)]
    assert (run["before"][0]["chars"], run["chars"]) == tuple(sizes)
    assert (await here.records.do(run_rows.runs_of, 1))[0].chars == sum(sizes)
    # It never goes on without end.
    assert await here.ask("two @@rehearse fail=context-too-long@@") == "failed"
    assert len(here.actor.asked) <= 2 + 3


async def test_estimates_are_corrected_by_what_the_engine_reports(here: Parlour) -> None:
    for n in range(5):
        other = await here.opened(f"{n + 2}.0")
        await other.say("word " * 300 * n)
        await other.ask("one @@rehearse dense@@")  # the rule says four characters a token
    runs = await here.runs()
    assert runs[0]["token_factor"] == 1.0
    last = runs[-1]
    assert last["token_factor"] > 2.5
    raw = sum(section["used"] for section in last["sections"]) / 4
    assert last["estimated_tokens"] > 2.4 * raw


async def costs(here: Parlour) -> list[float]:
    return [round(run["usd"], 4) for run in await here.runs()]


async def test_a_run_costs_what_it_alone_cost(here: Parlour) -> None:
    """Claude Code tells what its session came to; each run of it is noted by itself."""
    here.actor.usd = 0.25
    await here.ask("one")
    here.actor.usd = 0.5
    await here.ask("two @@rehearse pull=memory:x@@")  # with a follow-up in the same session
    here.actor.usd = 0.125
    await here.ask(f"three @@rehearse {ONLY_RESUMED} fail=session-lost@@")  # anew
    await here.ask("four")
    assert await costs(here) == [0.25, 0.5, 0.5, 0.125, 0.125]
    first, second = await here.sessions()
    assert (first.cost_usd, second.cost_usd) == (1.25, 0.25)
    used = await here.records.do(lambda: [row.cost_usd for row in UsageRow.select()])
    assert sorted(used) == [0.125, 0.125, 0.25, 0.5, 0.5]


async def test_a_session_that_follows_another_name_costs_no_more_for_it(here: Parlour) -> None:
    here.actor.usd = 0.25
    await here.ask("one")
    here.actor.rename = "another"
    here.actor.spent["another"] = 0.0
    await here.ask("two")
    here.actor.rename = ""
    await here.ask("three")
    assert await costs(here) == [0.25, 0.25, 0.25]


async def test_what_cannot_be_told_apart_costs_nothing(here: Parlour) -> None:
    """A session from before costs were noted: the first run after is not charged with it all."""
    await here.ask("one")
    (session,) = await here.sessions()
    here.actor.spent[session.session] = 3.0
    here.actor.usd = 0.25
    await here.ask("two")
    await here.ask("three")
    assert await costs(here) == [0.0, 0.0, 0.25]
