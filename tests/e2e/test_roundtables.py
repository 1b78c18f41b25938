"""Roundtables, by the whole product: orders, ends, people who step in, and what it all costs."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.sides import DiscordSide, Shown, Side, SlackSide
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import BOT, LoopbackSlack

pytestmark = pytest.mark.peers
on_both = pytest.mark.parametrize("table", ["slack", "discord"], indirect=True)
# Where no platform differs.
on_slack = pytest.mark.parametrize("table", ["slack"], indirect=True)
on_discord = pytest.mark.parametrize("table", ["discord"], indirect=True)

TWO = "--with architect:rehearsal,critic:rehearsal"
THREE = "--with architect:rehearsal,critic:rehearsal,developer:rehearsal"
ARCHITECT, CRITIC, DEVELOPER = (f"You are {name} " for name in ("architect", "critic", "developer"))
SUMS_UP = "This roundtable is over"
WITHIN_S = 40.0


def act(when: str, **order: str) -> str:
    """A directive for whoever is told ``when``."""
    words = " ".join(f"{name}='{value}'" if value else name for name, value in order.items())
    return f'@@rehearse when="{when}" {words}@@'


def stands(stance: str, **more: str) -> str:
    """The block of a position."""
    extra = "".join(f', "{name}": {value}' for name, value in more.items())
    return f'position {{"stance": "{stance}"{extra}}}'


@dataclass
class Table:
    """A product on one platform, and the threads in it."""

    side: Side
    product: Product

    async def rt(self, topic: str) -> str:
        """Ask for a roundtable at channel level; its thread."""
        root, _ = await self.side.mention(f"!rt {topic}")
        return root

    async def shown(self, root: str, fits: Callable[[list[Shown]], bool], what: str) -> list[Shown]:
        """Moot's posts of a thread, once they fit."""
        posts: list[Shown] = []
        try:
            async with asyncio.timeout(WITHIN_S):
                while not (posts and fits(posts)):
                    await asyncio.sleep(0.03)
                    posts = await self.side.shown(root)
        except TimeoutError:
            texts = "\n---\n".join(post.text for post in posts)
            raise AssertionError(f"waited for {what}; there is:\n{texts}") from None
        return posts

    async def over(self, root: str, state: str) -> list[Shown]:
        """The thread of a roundtable that has ended so, with nothing left standing."""

        def fits(posts: list[Shown]) -> bool:
            texts = [post.text for post in posts]
            return f"· {state} ·" in texts[0] and not any("⏳" in text for text in texts)

        return await self.shown(root, fits, f"a roundtable that is {state}")

    async def says(self, root: str, pattern: str) -> Shown:
        """The first post of a thread that has this pattern."""

        def fits(posts: list[Shown]) -> bool:
            return any(re.search(pattern, post.text) for post in posts)

        posts = await self.shown(root, fits, pattern)
        return next(post for post in posts if re.search(pattern, post.text))

    async def press(self, root: str, label: str) -> None:
        def fits(posts: list[Shown]) -> bool:
            verb = {"Go on": "go", "Next": "next", "Stop": "stop"}[label]
            return any(button.startswith(f"{verb}:") for post in posts for button in post.buttons)

        await self.shown(root, fits, f"a button {label}")
        await self.side.press(root, label)

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.product.folder / "data" / "moot.sqlite")) as database:
            return database.execute(query).fetchall()


@asynccontextmanager
async def at_a_table(platform: str, folder: Path, **settings: Any) -> AsyncIterator[Table]:
    async with LoopbackSlack() if platform == "slack" else LoopbackDiscord() as peer:
        side = SlackSide(peer) if isinstance(peer, LoopbackSlack) else DiscordSide(peer)
        (folder / "project").mkdir()
        base = {"engines": {"default": "rehearsal"}, "runs": {"at_once": 4}}
        whole = {**base, **side.settings(folder / "project"), **settings}
        async with Product(folder, whole, side.env()) as product:
            await product.start(platform)
            yield Table(side, product)


@pytest.fixture
async def table(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Table]:
    async with at_a_table(getattr(request, "param", "slack"), tmp_path) as found:
        yield found


def speakers(posts: list[Shown]) -> list[str]:
    """Who spoke in which round, in the order of the posts."""
    heads = [re.match(r"\W*(\w+) \(rehearsal\) · (round \d|synthesis)", p.text) for p in posts]
    said = [f"{head[1]} {head[2].removeprefix('round ')}" for head in heads if head]
    return list(dict.fromkeys(said))  # a long answer is several posts


def answer_of(posts: list[Shown], who: str, where: str) -> str:
    found = [p.text for p in posts if re.match(rf"\W*{who} \(rehearsal\) · {where}", p.text)]
    assert found, f"no post of {who} in {where}"
    return "\n".join(found)


# --- orders ------------------------------------------------------------------------------


@on_both
@pytest.mark.parametrize("order", ["sequential", "parallel"])
async def test_answers_stand_in_the_order_of_the_seats(table, order):
    slow = act(ARCHITECT, sleep="1.2")
    root = await table.rt(f"tabs? {slow} {THREE} --rounds 2 --mode {order}")
    posts = await table.over(root, "complete")
    seats = [f"{who} {n}" for n in (1, 2) for who in ("architect", "critic", "developer")]
    assert speakers(posts) == [*seats, "synthesizer synthesis"]
    log = [(e["event"], e.get("seat")) for e in table.product.events if "run." in e["event"]]
    first = [name for name, _ in log if name in ("run.opened", "run.closed")][:3]
    at_once = ["run.opened"] * 3
    assert (first == at_once) is (order == "parallel")
    said = table.rows("SELECT persona FROM message WHERE author_kind = 'agent' ORDER BY id")
    assert [f"{who} 1" for (who,) in said][:3] == [f"{s.split()[0]} 1" for s in seats[:3]]


@pytest.mark.parametrize(
    ("order", "reads"),
    [("sequential", True), ("parallel", False), ("blind", False)],
)
async def test_who_reads_whom_in_the_first_round(table, order, reads):
    speaks = act(ARCHITECT, text="The zebra is mine.")
    shows = act(CRITIC, show="context")
    root = await table.rt(f"x? {speaks} {shows} {TWO} --rounds 2 --mode {order}")
    posts = await table.over(root, "complete")
    first = answer_of(posts, "critic", "round 1")
    assert ("The zebra is mine." in first) is reads
    assert "The zebra is mine." in answer_of(posts, "critic", "round 2")
    told = "Nobody reads anyone in this round" if order == "blind" else "Take a position"
    told = "All speak at once" if order == "parallel" else told
    assert told in first


async def test_nobody_pulls_what_others_say_in_the_same_round(table):
    speaks = act(ARCHITECT, text="The zebra is mine.")
    pulls = act(CRITIC, text="Let me look.", sleep="1", pull="messages: last 20")
    root = await table.rt(f"x? {speaks} {pulls} {TWO} --rounds 2 --mode blind --early-stop off")
    posts = await table.over(root, "complete")
    assert "You asked" in answer_of(posts, "critic", "round 1")  # what was found, and no zebra
    assert "The zebra is mine." not in answer_of(posts, "critic", "round 1")
    closed = [e["run"] for e in table.product.logged("run.closed")]
    first = table.rows("SELECT id FROM run WHERE round = 0 AND seat = 0")[0][0]
    asked = table.rows("SELECT id FROM run WHERE round = 0 AND seat = 1 AND hop = 0")[0][0]
    assert closed.index(first) < closed.index(asked)
    assert "The zebra is mine." in answer_of(posts, "critic", "round 2")


async def test_one_slot_on_the_host_is_one_run_at_a_time(tmp_path):
    async with at_a_table("slack", tmp_path, runs={"at_once": 1}) as table:
        root = await table.rt(f"x? {act('You are', sleep='0.2')} {THREE} --rounds 1 --mode blind")
        await table.over(root, "complete")
        log = [e["event"] for e in table.product.events]
        steps = [name for name in log if name in ("run.opened", "run.closed")]
        assert steps == ["run.opened", "run.closed"] * 4


async def test_a_pull_in_a_round_at_once_stays_with_its_seat(table):
    pulls = act(CRITIC, text="Let me look.", pull="memory: zebra")
    slow = act(ARCHITECT, sleep="1.5")
    root = await table.rt(f"zebra? {slow} {pulls} {TWO} --rounds 1 --mode parallel --synth none")
    posts = await table.over(root, "complete")
    texts = [post.text for post in posts[1:]]
    assert "architect" in texts[0]
    assert "Let me look." in texts[1]
    assert "🔎" in texts[2]
    assert "critic" in texts[3]


# --- early end, positions, blocks ---------------------------------------------------------


@on_discord
async def test_the_rest_is_left_out_when_all_agree(table):
    topic = f"tabs? {act('You are', text='Tabs it is.', block=stands('agree', confidence='0.9'))}"
    root = await table.rt(f"{topic} {TWO} --rounds 3")
    posts = await table.over(root, "complete")
    assert speakers(posts) == ["architect 1", "critic 1", "synthesizer synthesis"]
    assert posts[0].text.count("left out, all agreed") == 2
    assert "stance" not in "".join(post.text for post in posts[1:])
    assert re.search(r"architect.*agrees.*90%", posts[-1].text, re.DOTALL)
    assert "2 agree, 0 disagree, 0 abstain." in posts[-1].text
    kept = table.rows("SELECT text FROM message WHERE author_kind = 'agent'")
    assert not any("stance" in text for (text,) in kept)


async def test_all_rounds_are_held_when_that_is_wished(table):
    topic = f"tabs? {act('You are', text='Yes.', block=stands('agree'))}"
    root = await table.rt(f"{topic} {TWO} --rounds 2 --early-stop off --synth none")
    posts = await table.over(root, "complete")
    assert len(speakers(posts)) == 4
    assert len(posts) == 5


async def test_a_block_that_does_not_parse_is_told_back_once(table):
    bad = act(ARCHITECT, text="So there.", block='position {"stance": "maybe"}')
    root = await table.rt(f"tabs? {bad} {TWO} --rounds 1 --synth none")
    await table.over(root, "complete")
    runs = table.rows("SELECT seat, hop, faults FROM run ORDER BY opened_at")
    assert [(seat, hop) for seat, hop, _ in runs] == [(0, 0), (0, 1), (1, 0)]
    assert "stance" in runs[0][2]
    assert runs[1][2] == "[]"


# --- the end -----------------------------------------------------------------------------


@on_both
async def test_synthesis_our_own_count_and_the_ledger(table):
    one = act(ARCHITECT, text="SQL.", block=stands("agree", summary='"SQL is enough"'))
    other = act(CRITIC, text="Files.", block=stands("disagree", summary='"*files* are simpler"'))
    settled = 'consensus {"decisions": [{"axis": "storage", "decision": "SQL it is"}]}'
    end = act(SUMS_UP, text="We take SQL; critic dissents.", block=settled)
    root = await table.rt(f"SQL or files? {one} {other} {end} {TWO} --rounds 1")
    posts = await table.over(root, "complete")
    assert "We take SQL; critic dissents." in answer_of(posts, "synthesizer", "synthesis")
    votes = posts[-1].text
    assert re.search(r"architect \(rehearsal\).*agrees.*SQL is enough", votes, re.DOTALL)
    assert re.search(r"critic \(rehearsal\).*disagrees.*files", votes, re.DOTALL)
    assert "1 agree, 1 disagree, 0 abstain." in votes
    (message_id,) = table.rows("SELECT id FROM message WHERE persona = 'synthesizer'")[0]
    assert f"message #{message_id}" in posts[0].text
    (begins,) = [p for p in posts if "We take SQL; critic dissents." in p.text]
    address = begins.id.replace(".", "")  # as Slack writes it in links

    def leads_there(shown: list[Shown]) -> bool:
        return re.search(rf"/p?{address}\b", shown[0].text) is not None

    await table.shown(root, leads_there, "a header that leads to the synthesis")
    assert any("Settled" in post.text and "SQL it is" in post.text for post in posts)
    again = await table.rt(f"and now? {act(ARCHITECT, show='context')} {TWO} --rounds 1")
    await table.over(again, "complete")
    context = "\n".join(post.text for post in await table.side.shown(again))
    assert "SQL it is" in context


async def test_a_synthesis_that_fails_is_stood_in_for(table):
    speaks = act(ARCHITECT, text="SQL, because of the audit.", block=stands("agree"))
    root = await table.rt(f"x? {speaks} {act(SUMS_UP, fail='overloaded')} {TWO} --rounds 1")
    posts = await table.over(root, "partial")
    plain = next(post.text for post in posts if "Summary by Moot" in post.text)
    assert "nobody summed up (overloaded)" in plain
    assert "SQL, because of the audit." in plain
    assert "1 gave no position" in posts[-1].text


@on_slack
async def test_one_fails_and_the_others_go_on(table):
    fails = act(CRITIC, fail="quota", text="My opinion is a quota.")
    shows = act(DEVELOPER, show="context")
    root = await table.rt(f"x? {fails} {shows} {THREE} --rounds 1")
    posts = await table.over(root, "partial")
    whole = "\n".join(post.text for post in posts)
    assert "used up its quota" in whole
    told = answer_of(posts, "developer", "round 1")
    assert "no answer in this round: quota" in told
    assert "usage limit" not in told
    assert "Missing: critic (rehearsal) in round 1 (quota)." in posts[-1].text


async def test_c109_a_notice_of_a_limit_is_nobodys_opinion(table):
    notice = "You have hit your usage limit, try again at 3:40 PM"
    poses = act(CRITIC, text=notice)
    root = await table.rt(f"x? {poses} {act(DEVELOPER, show='context')} {THREE} --rounds 1")
    posts = await table.over(root, "partial")
    assert any(
        "used up its quota; it comes back: " in post.text and "3:40 PM" in post.text
        for post in posts
    )
    assert "critic 1" not in speakers(posts)
    assert "no answer in this round: quota" in answer_of(posts, "developer", "round 1")
    assert "Missing: critic (rehearsal) in round 1 (quota)." in posts[-1].text
    said = table.rows("SELECT text FROM message WHERE persona = 'critic'")
    assert said == [("[no answer in this round: quota]",)]


async def test_all_fail_and_it_says_so(table):
    root = await table.rt(f"x? {act('You are', fail='quota')} {TWO} --rounds 1 --mode parallel")
    posts = await table.over(root, "failed")
    assert "The roundtable failed: nobody gave an answer." in posts[-1].text
    assert any(button.startswith("retry:") for button in posts[-1].buttons)
    assert not speakers(posts)


@pytest.mark.parametrize("order", ["sequential", "blind"])
async def test_an_answer_that_is_only_a_position_is_seen(table, order):
    block = stands("disagree", summary='"too *soon*"')
    mute = act(ARCHITECT, text=" ", block=block)
    root = await table.rt(f"x? {mute} {act(SUMS_UP, silent='')} {TWO} --rounds 1 --mode {order}")
    posts = await table.over(root, "partial")
    told = "architect (rehearsal) wrote nothing but a position: *disagrees* (50%): too "
    assert posts[1].text.startswith(told)
    plain = next(post.text for post in posts if "Summary by Moot" in post.text)
    assert "architect (rehearsal): a position, and no words" in plain


async def test_all_silent_is_failed_too(table):
    root = await table.rt(f"x? {act('You are', silent='')} {TWO} --rounds 1")
    posts = await table.over(root, "failed")
    assert "⚠️ architect (rehearsal), ⚠️ critic (rehearsal)" in posts[0].text
    assert "architect (rehearsal) in round 1 (empty)" in posts[-1].text


# --- people step in ----------------------------------------------------------------------


@on_slack
async def test_a_person_speaks_up_and_is_read(table):
    agrees = act("You are", text="Yes.", block=stands("agree"))
    slow = act(CRITIC, sleep="2")
    shows = act("Answer the others by name", show="context")
    root = await table.rt(f"x? {agrees} {slow} {shows} {TWO} --rounds 3")
    await table.says(root, "critic .*is working")
    await table.side.reply(root, "Mind the zebra, please.")
    posts = await table.over(root, "complete")
    # Nobody had read it when all agreed, so there was another round; then all had agreed again.
    seats = ["architect 1", "critic 1", "architect 2", "critic 2", "synthesizer synthesis"]
    assert list(dict.fromkeys(speakers(posts))) == seats
    later = answer_of(posts, "architect", "round 2")
    assert "Mind the zebra, please." in later
    assert re.search(r"(?i)alice[^\n]*\(human\)", later)
    assert posts[0].text.count("left out, all agreed") == 1


@on_both
async def test_next_skips_who_speaks(table):
    root = await table.rt(f"x? {act(ARCHITECT, hang='')} {TWO} --rounds 1")
    await table.press(root, "Next")
    posts = await table.over(root, "partial")
    whole = "\n".join(post.text for post in posts)
    assert "was skipped by" in whole
    assert speakers(posts) == ["critic 1", "synthesizer synthesis"]
    assert "architect (rehearsal) in round 1 (skipped)" in posts[-1].text
    assert table.rows("SELECT state FROM run WHERE seat = 0") == [("skipped",)]


async def test_next_by_name_in_a_round_at_once(table):
    root = await table.rt(
        f"x? {act(CRITIC, hang='')} {act(ARCHITECT, sleep='2')} {TWO} --rounds 1 --mode parallel"
    )
    await table.says(root, "critic .*is working")
    await table.says(root, "architect .*is working")
    await table.side.reply(root, "!next developer")
    await table.says(root, "Nobody of that name speaks")
    await table.side.reply(root, "!next critic")
    posts = await table.over(root, "partial")
    assert speakers(posts) == ["architect 1", "synthesizer synthesis"]


async def test_next_where_nobody_sits_at_a_table(table):
    root, _ = await table.side.mention("wait @@rehearse sleep=3@@")
    await table.says(root, "is working")
    await table.side.reply(root, "!next")
    await table.says(root, "Only a roundtable has speakers to skip")


@on_slack
async def test_stop_ends_all_of_a_round_at_once(table):
    root = await table.rt(
        f"x? {act(CRITIC, hang='')} {act(DEVELOPER, hang='')} {THREE} --rounds 2 --mode parallel"
    )
    for who in ("critic", "developer"):
        await table.says(root, f"{who} .*is working")
    await table.says(root, "architect .*round 1/2")  # the first seat's answer stands already
    await table.side.reply(root, "!stop")
    posts = await table.over(root, "stopped")
    assert speakers(posts) == ["architect 1"]
    await table.product.event("turn.ended", state="cancelled")
    states = table.rows("SELECT state FROM run ORDER BY seat")
    assert states == [("answered",), ("cancelled",), ("cancelled",)]
    assert table.rows("SELECT id FROM outbox WHERE state = 'kept'") == []


async def test_who_edits_one_that_has_begun_is_told_that_it_goes_on(table):
    asked = f"x? {act(ARCHITECT, hang='')} {TWO} --rounds 2"
    root = await table.rt(asked)
    await table.says(root, "architect .*is working")
    await table.side.slack.edit(root, f"<@{BOT}> !rt {asked.replace('rounds 2', 'rounds 1')}")
    await table.says(root, "goes on as it was begun.* `!stop` it and send the edited text")
    await table.side.reply(root, "!stop")
    await table.over(root, "stopped")
    assert table.rows("SELECT rounds FROM turn") == [(2,)]


# --- what it costs -----------------------------------------------------------------------


@on_discord
async def test_one_over_its_budget_asks_first_and_waits_through_a_restart(table):
    root = await table.rt(f"x? {TWO} --rounds 2 --budget 4000")
    asks = await table.says(root, "may send more than its budget of 4,000 characters")
    assert {button.split(":")[0] for button in asks.buttons} == {"go", "stop"}
    posts = await table.side.shown(root)
    assert "waits for your word" in posts[0].text
    assert re.search(r"up to 5 calls, [\d,]+ characters, about [\d,]+ tokens", posts[0].text)
    assert "cost unknown (rehearsal told none)" in posts[0].text
    await table.side.reply(root, "!status")
    await table.says(root, "[-•] held")
    await table.side.reply(root, "and something else?")
    await table.says(root, "You asked:[\\s\\S]*something else")
    await table.product.stop()
    await table.product.start(table.side.name)
    assert table.rows("SELECT count(*) FROM run")[0] == (1,)
    await table.press(root, "Go on")
    posts = await table.over(root, "complete")
    assert table.rows("SELECT count(*) FROM run")[0] == (6,)
    assert any("let this roundtable go on beyond its budget of 4,000" in p.text for p in posts)
    left = {button.split(":")[0] for post in posts for button in post.buttons}
    assert not left & {"go", "stop", "next"}, left  # what stays is below the other answer


async def test_a_held_one_can_be_stopped(table):
    root = await table.rt(f"x? {TWO} --rounds 2 --budget 4000")
    await table.says(root, "may send more than its budget")
    await table.side.reply(root, "!stop")
    await table.over(root, "stopped")
    posts = await table.shown(root, lambda posts: not any(p.buttons for p in posts), "no button")
    assert not any("may send more than its budget" in post.text for post in posts)
    assert table.rows("SELECT state FROM turn") == [("cancelled",)]
    assert table.rows("SELECT count(*) FROM run")[0] == (0,)


async def test_at_its_budget_it_ends_and_sums_up(table):
    short = await table.rt(f"first? {act('You are', text='Yes.')} {THREE} --rounds 3")
    header = (await table.over(short, "complete"))[0].text
    expected = int(re.search(r"calls, ([\d,]+) characters, about", header)[1].replace(",", ""))
    budget = expected + 2_000
    root = await table.rt(
        f"second? {act('You are', text='Well.', lines='900')} {THREE} --rounds 5 --budget {budget}"
    )
    posts = await table.over(root, "partial")
    assert any(f"The budget of {budget:,} characters" in post.text for post in posts)
    assert "synthesizer synthesis" in speakers(posts)
    assert "left out, the budget was used up" in posts[0].text
    (sent,) = table.rows("SELECT sum(chars) FROM run WHERE turn_id = 2")[0]
    assert sent <= budget * 1.2
