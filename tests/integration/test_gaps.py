"""What was written while nobody listened, on real records and at the real door."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bridge import gaps as module
from bridge.gaps import Gaps
from bridge.heard_words import heard_checks
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Author, ChatEvent, ChatLimits, ConversationKey, Missed
from core.records import closed, heard, outbox
from core.records.tables import GapRow, MessageRow
from core.records.thread import Records
from tests.integration.test_intake import KIM, House

LEVEL = ConversationKey("slack", "T", "C", "")
THREAD = ConversationKey("slack", "T", "C", "100.5")


class Paper:
    """A platform with a history for each place; what stands in ``troubles`` goes wrong first."""

    name = "slack"

    def __init__(self, redelivers_s: float = 20.0, **histories: Missed):
        self.limits = ChatLimits(post_units=1000, edit_interval_s=1.0, redelivers_s=redelivers_s)
        self.spaces = frozenset(("T",))
        self.level, self.thread = histories.get("level"), histories.get("thread")
        self.troubles: list[Exception] = []
        self.asked: list[tuple[ConversationKey, float]] = []
        self.listed = 0

    def hears(self):
        return self.spaces

    async def places(self, space, since, known):
        self.listed += 1
        return (LEVEL, *known)

    async def missed(self, key, since, limit):
        if self.troubles:
            raise self.troubles.pop(0)
        self.asked.append((key, since))
        return (self.thread if key.root else self.level) or Missed()


def said(text: str, at: str, *, root: str = "", who: Author = KIM, **more) -> ChatEvent:
    event = ChatEvent(
        key=replace(THREAD, root=root or at),
        event_id=f"slack:T:C:{at}",
        message_id=at,
        author=who,
        text=text,
        kind="message",
        sent_at=float(at),
        mentions_us=not root,
        in_thread=bool(root),
    )
    return replace(event, **more)


@pytest.fixture
async def house(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.02)
    monkeypatch.setattr(module, "SAVE_S", 0.0)
    monkeypatch.setattr(module, "SKEW_S", 0.0)
    monkeypatch.setattr(module, "PUT_OFF_S", 0.02)
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records)
    await records.close()


@asynccontextmanager
async def listening(house: House, paper: Paper):
    made = Gaps(house.records, [paper], house.intake.accept)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds, timeout_s: float = 30.0):
    async with asyncio.timeout(timeout_s):
        while not await holds():
            await asyncio.sleep(0.01)


async def heard_until(house: House, moment: float):
    """As an earlier life left it."""
    await house.records.do(heard.note, "slack", ("T",), moment, 0.0)


def all_read(house: House, paper: Paper, made: Gaps, times: int = 1):
    """Places were asked for so often, they are rows, and all of them were read."""

    async def holds():
        if paper.listed < times or made._ears["slack"].unlisted:
            return False  # in this order: rows come before it is off this list
        return not await house.records.do(lambda: GapRow.select().count())

    return holds


async def test_a_first_install_reads_nothing_and_notes_from_when_on_it_heard(house):
    began = time.time()
    paper = Paper(level=Missed((said("old question", f"{began - 60:.1f}"),)))
    async with listening(house, paper):
        await until(lambda: _noted(house))
    assert (paper.listed, paper.asked, await house.turns()) == (0, [], [])
    assert (await house.records.do(heard.until, "slack"))["T"] >= began


async def _noted(house: House):
    return await house.records.do(heard.until, "slack")


async def test_what_was_asked_meanwhile_is_a_turn_once_and_what_is_old_is_told(house):
    now = time.time()
    last = now - 7_200.0
    old, new, before = f"{now - 5_000:.1f}", f"{now - 500:.1f}", f"{last - 9:.1f}"
    await house.say("heard already", at=new, mention=True)
    events = (
        said("before the last seen", before),
        said("too old to be answered", old),
        said("and this in the same breath", f"{now - 4_999:.1f}", root=old),
        said("heard already", new),
        said("asked while away", f"{now - 400:.1f}"),
        said("chatter", f"{now - 300:.1f}", mentions_us=False),
    )
    await heard_until(house, last)
    paper = Paper(level=Missed(events))
    async with listening(house, paper) as made:
        await until(all_read(house, paper, made))
        assert paper.asked[0] == (LEVEL, pytest.approx(last))
        asked = [("heard already", "queued"), ("asked while away", "queued")]
        assert await house.turns() == asked
        told = [text for kind, text in await house.posts() if kind == "notice"]
        assert len(told) == 1  # once, though two were written
        assert "could not hear" in told[0]
        texts = [text for _, text in await house.messages()]
        assert "too old to be answered" in texts  # kept: a later question is told of it
        paper.spaces = frozenset()  # the link is lost, and is there again much later
        await until(lambda: _nothing_heard(made))
        made._ears["slack"].until["T"] = now - 900.0
        paper.spaces = frozenset(("T",))
        made.ready("slack")
        await until(all_read(house, paper, made, 2))
    assert await house.turns() == asked
    assert len(await house.posts()) == 1


async def _nothing_heard(made: Gaps):
    return not made._ears["slack"].present


async def _listed(paper: Paper, times: int):
    return paper.listed >= times


async def test_what_the_platform_brings_again_itself_is_not_read(house):
    last = time.time() - 10.0
    await heard_until(house, last)
    paper = Paper(redelivers_s=3_600.0)
    async with listening(house, paper):
        await until(lambda: _moved_on(house, last))
    assert paper.listed == 0


async def _moved_on(house: House, moment: float):
    return (await house.records.do(heard.until, "slack"))["T"] > moment


@pytest.mark.parametrize("covered", [True, False])
async def test_a_waiting_question_is_changed_or_withdrawn_as_its_history_says(house, covered):
    """It was asked before the last seen, so its place is read from there on."""
    now = time.time()
    first, second = f"{now - 90:.1f}", f"{now - 80:.1f}"
    await house.say("first", at=first, mention=True)
    await house.say("second", at=second, root=first)
    edit = said("first, but changed", first, kind="edit", event_id=f"slack:T:C:{first}:edit:1")
    # Of what stands: the first. The second was deleted, if the page holds all there was.
    history = Missed(
        (said("first, but changed", first), edit),
        frozenset((first,)),
        now - 1_000.0 if covered else None,
    )
    await heard_until(house, now - 40.0)
    paper = Paper(thread=history)
    async with listening(house, paper) as made:
        await until(all_read(house, paper, made))
    since = dict(paper.asked)[replace(THREAD, root=first)]
    assert since == pytest.approx(float(first) - 1.0)
    gone = "cancelled" if covered else "queued"
    prompts = ["first, but changed", "" if covered else "second"]
    assert await house.turns() == list(zip(prompts, ["queued", gone], strict=True))


async def test_an_edit_that_was_heard_after_the_look_counts(house):
    now = time.time()
    first = f"{now - 90:.1f}"
    await house.say("first", at=first, mention=True)
    newest = said("newest", first, kind="edit", event_id="e2", sent_at=now)
    await house.intake.accept(newest)
    older = said("older", first, kind="edit", event_id="e1", sent_at=now - 60.0, missed=True)
    await house.intake.accept(older)
    assert await house.turns() == [("newest", "queued")]


@pytest.mark.parametrize("trouble", [ChatBusy(0.05), ChatUnsure("cut"), ChatRefused("no", "gone")])
async def test_trouble_puts_a_place_off_and_a_refusal_ends_it(house, trouble):
    now = time.time()
    await heard_until(house, now - 600.0)
    paper = Paper(level=Missed((said("asked", f"{now - 300:.1f}"),)))
    paper.troubles = [trouble]
    async with listening(house, paper) as made:
        await until(all_read(house, paper, made))
    refused = isinstance(trouble, ChatRefused)
    assert await house.turns() == ([] if refused else [("asked", "queued")])
    assert (await house.records.do(heard.until, "slack"))["T"] > now - 60.0


async def test_what_is_still_to_be_read_outlives_a_crash(house):
    now = time.time()
    await heard_until(house, now - 600.0)
    asked = Missed((said("asked", f"{now - 300:.1f}"),))
    paper = Paper(level=asked)
    paper.troubles = [ChatUnsure("away") for _ in range(5)]
    async with listening(house, paper):
        await until(lambda: _listed(paper, 1))
        await until(lambda: _troubled(paper))
    assert await house.turns() == []
    later = Paper(3_600.0, level=asked)  # a new life, right after: nothing was missed in between
    async with listening(house, later):
        await until(lambda: _asked(house))
    assert later.listed == 0
    assert await house.turns() == [("asked", "queued")]


async def _troubled(paper: Paper):
    return len(paper.troubles) < 5


async def _asked(house: House):
    return await house.turns()


async def test_a_deleted_thread_takes_what_was_said_in_it_along(house):
    first = "100.5"
    await house.say("first", at=first, mention=True)
    await house.say("second", at="101.5", root=first)
    gone = said("", first, kind="delete", event_id="gone", message_id="")
    await house.intake.accept(gone)
    assert await house.turns() == [("first", "queued"), ("", "cancelled")]
    left = await house.records.do(lambda: [row.text for row in MessageRow.select()])
    assert left == ["first", ""]  # what it hung on stands in the channel


async def test_c047_an_edit_that_changes_nothing_changes_nothing(house):
    await house.say("first", at="100.5", mention=True)
    await house.intake.accept(said("first", "100.5", kind="edit", event_id="e1"))
    row = await house.records.do(lambda: MessageRow.get(MessageRow.platform_id == "100.5"))
    assert row.edited_at is None
    assert await house.turns() == [("first", "queued")]


async def test_status_says_when_a_chat_was_heard_last_and_what_is_kept(house):
    await house.say("first", at="100.5", mention=True)
    now = time.time()
    await house.records.do(heard.note, "slack", ("T",), now, now - 5.0)
    reply = await house.act("command", "status", command="moot")
    assert "Last event of slack: [" in reply.text
    await house.records.do(outbox.add_post, 1, "answer", ("one",), now=now)
    await house.records.do(closed.close, 1, "archived", now)
    await heard_until(house, now - 3_600.0)
    reply = await house.act("command", "status", command="moot", event_id="e2")
    assert "I have not heard slack since [" in reply.text
    assert "One thread takes no posts from me (1 kept" in reply.text
    # Whoever types there shows that it may have opened; it had not.
    assert (await house.records.do(closed.waiting)) == (0, 0)
    await house.records.do(closed.close, 1, "archived", time.time())
    checks = await house.records.do(heard_checks)
    assert [(check.name, check.ok) for check in checks] == [("slack heard", True), ("posts", False)]
    assert "last event" in checks[0].detail
    await house.act("channel", "", event_id="e3")  # the channel was un-archived
    assert (await house.records.do(closed.waiting)) == (0, 0)
