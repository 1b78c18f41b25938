"""Delivery on real records: whatever a platform's adapter does, a conversation is never stuck."""

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.discord.render import render as render_discord
from bridge import delivery as module
from bridge.delivery import Delivery
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Button, ChatLimits, ConversationKey, Participant, Posted, Step
from core.records import closed, messages, outbox, runs, turns, undelivered
from core.records.tables import ConversationRow
from core.records.thread import Records

KEY = ConversationKey("paper", "", "C", "1")


class Paper:
    """A platform that keeps what it is sent; what stands in ``troubles`` goes wrong first."""

    name = "paper"
    limits = ChatLimits(post_units=1000, edit_interval_s=1.0)

    def __init__(self, *troubles: Exception):
        self.troubles = list(troubles)
        self.posted = []
        self.tries = []

    async def post(self, key, post):
        self.tries.append(post)
        if self.troubles:
            raise self.troubles.pop(0)
        self.posted.append(post.text)
        return Posted(f"m{len(self.posted)}", key.root)


@pytest.fixture
async def records(tmp_path):
    opened = Records(tmp_path / "moot.sqlite")
    await opened.open()
    await opened.do(messages.open_conversation, KEY, direct=False, in_thread=False, now=1.0)
    yield opened
    await opened.close()


HOOKS = (
    lambda _c, text: (text,),
    lambda _i, _m: None,
    lambda _i, _m, _n: None,
    lambda _c, _why, _n: None,
)


@asynccontextmanager
async def delivering(records, paper):
    made = Delivery(records, {"paper": paper}, *HOOKS)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def owe(records, *texts):
    await records.do(outbox.add_post, 1, "answer", texts, now=time.time())


async def until(holds, timeout_s=20.0):
    async with asyncio.timeout(timeout_s):
        while not holds():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("trouble", [KeyError("id"), ChatUnsure("cut"), ChatBusy(0.1)])
async def test_a_post_is_tried_again_and_keeps_its_place(records, trouble):
    paper = Paper(trouble)
    await owe(records, "one", "two")
    async with delivering(records, paper):
        await until(lambda: len(paper.posted) == 2)
    assert paper.posted == ["one", "two"]
    assert len({post.nonce for post in paper.tries}) == 2
    looks_first = paper.tries[1].tried_at is not None
    assert looks_first is not isinstance(trouble, ChatBusy)


@pytest.mark.parametrize("trouble", [KeyError("id"), ChatUnsure("cut"), ChatRefused("no")])
async def test_a_post_that_never_works_is_given_up_and_said(records, monkeypatch, trouble):
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 1)
    paper = Paper(trouble)
    await owe(records, "one", "two")
    async with delivering(records, paper) as made:
        await until(lambda: len(paper.posted) == 2)
        await made.settled()
    assert paper.posted[0] == "two"
    assert "could not be posted" in paper.posted[1]
    assert await records.do(outbox.undelivered) == (0, 1)


async def test_a_platform_that_was_busy_for_long_does_not_use_up_the_tries(records, monkeypatch):
    """A storm of 429s, then one cut connection: the answer was given up for the sum of both."""
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 3)
    paper = Paper(*(ChatBusy(0.05) for _ in range(5)), ChatUnsure("cut"))
    await owe(records, "one")
    async with delivering(records, paper):
        await until(lambda: paper.posted)
    assert paper.posted == ["one"]
    assert await records.do(outbox.undelivered) == (0, 0)


async def test_pieces_of_one_answer_that_are_refused_are_said_once(records):
    paper = Paper(ChatRefused("no"), ChatRefused("no"), ChatRefused("no"))
    texts = ("one", "two", "three")
    await records.do(outbox.add_post, 1, "answer", texts, run_id="r1", now=time.time())
    async with delivering(records, paper) as delivery:
        await until(lambda: paper.posted)
        await delivery.settled()  # what was posted is marked as well
    assert await records.do(outbox.undelivered) == (0, 3)
    assert len(paper.posted) == 1
    assert "could not be posted" in paper.posted[0]


class Closed(Paper):
    """A platform whose channel takes nothing any more; people can be told alone."""

    async def direct(self, person):
        return ConversationKey("paper", "", f"D-{person}", "")

    async def post(self, key, post):
        if not key.channel.startswith("D-"):
            raise ChatRefused("this channel is archived", "is_archived")
        return await super().post(key, post)


def ask_of_kim():
    """A turn of Kim's with an open run ``r1``, as a running house has it."""
    turn_id = turns.queue_turn(
        1,
        kind="ask",
        prompt="why red?",
        prompt_message_id=0,
        asker="Kim",
        asker_key="paper:kim",
        seats=[Participant("claude")],
        rounds=1,
        mode="",
        now=1.0,
    )
    turn = turns.get_turn(turn_id)
    seat = turn.seats[0]
    runs.open_run("r1", turn, Step(0, 0), seat, can_write=False, receipt={}, status=None, now=1.0)


async def test_the_note_to_whoever_asked_is_owed_with_the_refusal_and_once_a_turn(records):
    """After the refusal is a row the note is one too: a crash between them cannot lose it."""
    await records.do(ask_of_kim)
    for life in range(2):  # a later life does not tell it again
        say = lambda n=life: outbox.add_post(1, "notice", [f"no. {n}"], run_id="r1", now=1.0)  # noqa: E731
        await records.do(say)
        first = await records.do(outbox.take_next, 1, time.time())
        refused = ChatRefused("this channel is archived", "is_archived")
        made = Delivery(records, {"paper": Closed()}, *HOOKS)
        await made._refused(first, refused, {})
        assert await records.do(outbox.undelivered) == (1, life + 1)  # the note; the refused
    paper = Closed()
    async with delivering(records, paper):
        await until(lambda: paper.posted)
    [note] = paper.posted
    assert "why red?" in note
    assert "archived" in note


class Lockable(Paper):
    """A platform whose channel can be closed and opened; people can be told alone."""

    def __init__(self, *, alone=True):
        super().__init__()
        self.shut, self.alone, self.refused = True, alone, 0

    async def direct(self, person):
        return ConversationKey("paper", "", f"D-{person}", "")

    async def post(self, key, post):
        direct = key.channel.startswith("D-")
        if (self.shut and not direct) or (direct and not self.alone):
            self.refused += 1
            raise ChatRefused("The channel is archived.", "is_archived", closed=True)
        self.tries.append(post)
        self.posted.append((key.channel, post.text))
        return Posted(f"m{len(self.posted)}", key.root)


async def test_c173_what_a_closed_place_owes_is_kept_and_posted_when_it_opens(records):
    await records.do(ask_of_kim)
    await records.do(outbox.add_post, 1, "answer", ("one", "two"), turn_id=1, run_id="r1", now=1.0)
    paper = Lockable()
    async with delivering(records, paper) as made:
        await until(lambda: paper.posted)
        await made.settled()
        assert paper.refused == 1  # no second piece, no notice, no further try
        [(where, note)] = paper.posted
        assert where == "D-kim"
        assert "why red?" in note
        assert "archived" in note
        assert paper.tries[0].buttons == (Button("resend:1", "Send it here"),)
        assert await records.do(outbox.undelivered) == (0, 0)
        assert await records.do(closed.waiting) == (1, 2)
        # Somebody writes there, and it is still closed: one try, and nobody is told again.
        for _ in range(2):
            assert await records.do(closed.reopen, KEY, time.time() + 5)
            made.wake()
            tried = paper.refused
            await until(lambda tried=tried: paper.refused > tried)
            await made.settled()
        assert paper.refused == 3
        row = await records.do(ConversationRow.get_by_id, 1)
        assert row.closed_until - row.closed_at == 3.0  # longer each time it is left alone
        paper.shut = False
        assert await records.do(closed.reopen, KEY, time.time(), surely=True)
        made.wake()
        await until(lambda: len(paper.posted) == 3)
        await made.settled()
    assert paper.posted[1:] == [("C", "one"), ("C", "two")]
    assert await records.do(closed.waiting) == (0, 0)


async def test_c039_a_status_of_a_closed_place_is_dropped_and_its_removal_kept(records):
    """A thread that is locked while the run works: no status stays at "working" for ever."""
    await records.do(ask_of_kim)
    paper = Lockable()
    paper.shut = False
    paper.deleted = []

    async def delete(key, message_id):
        if paper.shut:
            raise ChatRefused("The thread is locked.", "locked", closed=True)
        paper.deleted.append(message_id)

    paper.delete = delete
    status = await records.do(
        outbox.add_post, 1, "status", ("⏳",), turn_id=1, run_id="r1", now=1.0
    )
    async with delivering(records, paper) as made:
        await until(lambda: paper.posted)
        await made.settled()
        paper.shut = True
        await records.do(outbox.add_post, 1, "answer", ("one",), turn_id=1, run_id="r1", now=2.0)
        await records.do(outbox.withdraw_post, status, now=2.0)
        made.wake()
        await until(lambda: len(paper.posted) == 2)
        await made.settled()
        await records.do(outbox.add_post, 1, "status", ("⏳",), turn_id=1, run_id="r2", now=2.0)
        paper.shut = False
        await records.do(closed.reopen, KEY, time.time(), surely=True)
        made.wake()
        await until(lambda: paper.deleted)
        await made.settled()
    assert [text for where, text in paper.posted if where == "C"] == ["⏳", "one", "⏳"]
    assert paper.deleted == ["m1"]


async def test_whom_nothing_can_be_told_alone_either_makes_no_loop(records):
    await records.do(ask_of_kim)
    await records.do(outbox.add_post, 1, "answer", ("one",), turn_id=1, run_id="r1", now=1.0)
    paper = Lockable(alone=False)
    async with delivering(records, paper) as made:
        await until(lambda: paper.refused == 2)
        await made.settled()
    assert paper.refused == 2
    assert await records.do(closed.waiting) == (2, 2)  # `!status` and `moot doctor` say so


async def test_one_slow_channel_slows_no_other(records):
    """A storm: channel A is limited for long, B gets everything meanwhile, each in its order."""
    other = replace(KEY, channel="B")

    class Limited(Paper):
        def __init__(self):
            super().__init__()
            self.waits = 0

        async def post(self, key, post):
            if key.channel == "C" and len(self.posted) < 30:
                self.waits += 1
                raise ChatBusy(0.05)
            self.posted.append((key.channel, post.text))
            return Posted(f"m{len(self.posted)}", key.root)

    await records.do(messages.open_conversation, other, direct=False, in_thread=False, now=1.0)
    texts = [f"{n}" for n in range(30)]
    for conversation in (1, 2):
        await records.do(outbox.add_post, conversation, "answer", texts, now=time.time())
    paper = Limited()
    async with delivering(records, paper):
        await until(lambda: len(paper.posted) == 60)
    assert paper.waits
    assert paper.posted == [("B", text) for text in texts] + [("C", text) for text in texts]


async def test_c027_answers_that_are_ready_together_do_not_interleave(records):
    """Three agents, three pieces each; the second piece of one is limited for a while."""
    seats = ("claude", "codex", "gemini")
    long = "\n\n".join(f"Paragraph {n} " + "word " * 400 for n in range(3))
    for seat in seats:
        texts = render_discord(long, seat)
        assert len(texts) > 2
        await records.do(outbox.add_post, 1, "answer", texts, run_id=seat, now=time.time())

    class Once(Paper):
        async def post(self, key, post):
            if len(self.posted) == 4 and not self.tries:
                self.tries.append(post)
                raise ChatBusy(0.5)
            self.posted.append(post.text)
            return Posted(f"m{len(self.posted)}", key.root)

    paper, pieces = Once(), len(render_discord(long, "claude"))
    async with delivering(records, paper):
        await until(lambda: len(paper.posted) == 3 * pieces)
    spoken = [next(seat for seat in seats if seat in text.split("\n")[0]) for text in paper.posted]
    assert spoken == [seat for seat in seats for _ in range(pieces)]
    assert "".join(paper.posted).index("Paragraph 0") < "".join(paper.posted).index("Paragraph 2")


async def test_what_was_given_up_is_tried_again_when_people_ask(records):
    """`!resend` in the thread; the attempt before may have taken effect, so it is looked for."""
    await records.do(ask_of_kim)
    await records.do(outbox.add_post, 1, "answer", ("one",), turn_id=1, run_id="r1", now=1.0)
    paper = Paper(ChatRefused("The message is odd.", "invalid"))
    async with delivering(records, paper) as made:
        await until(lambda: paper.posted)
        await made.settled()
        assert "`!resend`" in paper.posted[0]
        assert await records.do(outbox.undelivered) == (0, 1)
        assert await records.do(undelivered.try_again, 1) == 1
        made.wake()
        await until(lambda: len(paper.posted) == 2)
        await made.settled()
    assert paper.posted[1] == "one"
    assert paper.tries[-1].tried_at is not None
    assert await records.do(undelivered.try_again, 1) == 0


async def test_a_kept_answer_comes_to_whoever_asked_and_to_nobody_else(records):
    await records.do(ask_of_kim)
    texts = ("one", "two")
    await records.do(outbox.add_post, 1, "answer", texts, turn_id=1, run_id="r1", now=1.0)
    direct = replace(KEY, channel="D-kim", root="")
    opened = {"direct": True, "in_thread": False, "now": 1.0}
    there = await records.do(messages.open_conversation, direct, **opened)
    assert await records.do(undelivered.hand_over, "paper:kim", None, there.id, 1.0) == 0
    await records.do(closed.close, 1, "archived", 1.0)
    assert await records.do(undelivered.hand_over, "paper:lee", 1, there.id, 1.0) == 0
    assert await records.do(undelivered.hand_over, "paper:kim", 7, there.id, 1.0) == 0
    assert await records.do(undelivered.hand_over, "paper:kim", 1, there.id, 1.0) == 2
    paper = Paper()
    async with delivering(records, paper) as made:
        await until(lambda: len(paper.posted) == 2)
        await made.settled()
    assert paper.posted == ["one", "two"]
    assert await records.do(closed.waiting) == (1, 2)  # the thread's own are still kept
