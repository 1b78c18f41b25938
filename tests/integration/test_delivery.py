"""Delivery on real records: whatever a platform's adapter does, a conversation is never stuck."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from bridge import delivery as module
from bridge.delivery import Delivery
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import ChatLimits, ConversationKey, Participant, Posted, Step
from core.records import messages, outbox, runs, turns
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
