"""Answers that are shown while they are written: real turns and rows, a platform with troubles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.render import render
from bridge.delivery import Delivery
from bridge.progress import StatusMessages
from bridge.streaming import Growing as OneRun
from bridge.streaming import Owing
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.live import LiveText
from core.model import ChatLimits, ConversationKey, EngineEvent, Post, Posted, Turn
from core.records import erasure, live, outbox
from core.records.tables import OutboxRow, RunRow
from tests.integration.parlour import Parlour, parlour

KEY = ConversationKey("slack", "T1", "C1", "1.0")
Trouble = Callable[[str, Post], Awaitable[None] | None]
WORDS = " ".join(f"word{n}" for n in range(60))
TEXT = f'text="{WORDS} the end"'
SPEAK = f"@@rehearse pace=0.05 until=go {TEXT}@@"  # waits in the middle: see Scene.ask


@dataclass
class Message:
    """What stood in it, one version after the other."""

    versions: list[Post] = field(default_factory=list)
    gone: bool = False

    @property
    def text(self) -> str:
        return self.versions[-1].text


class Paper:
    """A platform on paper. ``trouble(act, post)`` may raise, or wait, before anything happens."""

    name = "slack"
    limits = ChatLimits(post_units=3_900, edit_interval_s=0.05)

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.acts: list[str] = []
        self.trouble: Trouble = lambda _act, _post: None

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        return render(markdown, label)

    async def _enter(self, act: str, post: Post) -> None:
        self.acts.append(act)
        if (wait := self.trouble(act, post)) is not None:
            await wait

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        await self._enter("post", post)
        name = f"m{len(self.messages)}"
        self.messages[name] = Message([post])
        return Posted(name, key.root)

    async def edit(self, _key: ConversationKey, message_id: str, post: Post) -> None:
        await self._enter("edit", post)
        if self.messages[message_id].gone:
            raise ChatRefused("The message is gone.", "message_not_found")
        self.messages[message_id].versions.append(post)

    async def delete(self, _key: ConversationKey, message_id: str) -> None:
        await self._enter("delete", Post("", ""))
        self.messages[message_id].gone = True

    @property
    def standing(self) -> list[str]:
        return [message.text for message in self.messages.values() if not message.gone]

    @property
    def seen(self) -> list[str]:
        """Everything that was ever to be read."""
        return [post.text for message in self.messages.values() for post in message.versions]


class Growing(Paper):
    """One whose messages may grow, each for ``stream_s`` on our side and ``lasts`` adds on its."""

    stream_s, stream_chars = 60.0, 10_000

    def __init__(self, lasts: int = 1_000, refused: str = "") -> None:
        super().__init__()
        self.lasts, self.refused = lasts, refused
        self.added: dict[str, int] = {}
        self.over: set[str] = set()

    def streams_in(self, _key: ConversationKey) -> bool:
        return True

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        if post.stream and self.refused:
            raise ChatRefused("no streams here", self.refused)
        return await super().post(key, post)

    async def append(self, _key: ConversationKey, message_id: str, markdown: str) -> None:
        await self._enter("append", Post("", markdown))
        self.added[message_id] = self.added.get(message_id, 0) + 1
        if message_id in self.over or self.added[message_id] > self.lasts:
            raise ChatRefused("It grows no more.", "over")
        before = self.messages[message_id].versions[-1]
        self.messages[message_id].versions.append(replace(before, text=before.text + markdown))

    async def finish(self, _key: ConversationKey, message_id: str) -> None:
        await self._enter("finish", Post("", ""))
        self.over.add(message_id)


@dataclass
class Scene:
    room: Parlour
    paper: Any
    delivery: Delivery
    status: StatusMessages

    async def ask(
        self, prompt: str = SPEAK, meanwhile: Callable[[], Awaitable[object]] | None = None
    ) -> str:
        """A question, until everything that came of it is posted.

        It speaks on once its first words are seen, and ``meanwhile`` is done.
        """
        asked = asyncio.create_task(self.room.ask(prompt))
        if "until=go" in prompt:
            await self.until(lambda: any("word0" in text for text in self.paper.seen))
            if meanwhile:
                await meanwhile()
            (Path(self.room.house.project_of(KEY).path) / "go").touch()
        state = await asked
        self.delivery.wake()
        async with asyncio.timeout(30):
            await self.delivery.settled()
        return state

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not holds():
                await asyncio.sleep(0.01)

    async def rows(self, **where: Any) -> list[OutboxRow]:
        query = [OutboxRow.id > 0, *(getattr(OutboxRow, n) == value for n, value in where.items())]
        return await self.room.records.do(
            lambda: list(OutboxRow.select().where(*query).order_by(OutboxRow.id))
        )


@asynccontextmanager
async def playing(folder: Path, paper: Any, *, stream: bool = True) -> AsyncIterator[Scene]:
    async with parlour(folder) as room:
        chats = {"slack": paper}

        def voice(_chat: str, markdown: str, label: str) -> tuple[str, ...]:
            return paper.render(markdown, label)

        owing = Owing(room.records)
        status = StatusMessages(chats, voice, owing, stream=stream)
        delivery = Delivery(
            room.records,
            chats,
            lambda _chat, text: paper.render(text),
            status.posted,
            lambda *_: None,
            lambda *_: None,
            quiet=status.quiet,
        )
        owing.wake = delivery.wake
        room.house = replace(room.house, progress=status, voice=voice, wake_delivery=delivery.wake)
        work = asyncio.create_task(delivery.run())
        try:
            yield Scene(room, paper, delivery, status)
        finally:
            await status.close()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


@pytest.fixture(autouse=True)
def in_haste(monkeypatch):
    """A growing message is added to as often as one is edited here."""
    monkeypatch.setattr("bridge.progress.ADD_INTERVAL_S", 0.05)
    monkeypatch.setattr("bridge.progress.ADD_GAP_S", 0.0)


async def test_the_message_that_shows_the_answer_becomes_it(tmp_path):
    async with playing(tmp_path, Paper()) as scene:
        assert await scene.ask() == "done"
    [answer] = scene.paper.messages.values()
    growing = [post for post in answer.versions if "word0" in post.text]
    assert len(growing) > 1
    assert all(post.buttons and "is working" in post.text for post in growing[:-1])
    assert growing[-1].text.endswith("the end")
    assert not growing[-1].buttons


async def test_what_took_long_is_a_new_message(tmp_path, monkeypatch):
    """An edit notifies nobody who has turned away meanwhile."""
    monkeypatch.setattr(live, "WATCHED_S", 0.2)
    async with playing(tmp_path, Paper()) as scene:
        await scene.ask()
        status, answer = scene.paper.messages.values()
        assert (status.gone, len(answer.versions)) == (True, 1)
        assert answer.text.endswith("the end")


async def test_below_something_newer_the_answer_is_a_new_message(tmp_path):
    async with playing(tmp_path, Paper()) as scene:
        await scene.ask(meanwhile=lambda: scene.room.say("meanwhile"))
        status, answer = scene.paper.messages.values()
        assert (status.gone, len(answer.versions)) == (True, 1)


async def test_without_streaming_nothing_is_shown_before_the_answer(tmp_path):
    async with playing(tmp_path, Paper(), stream=False) as scene:
        await scene.ask(f"@@rehearse pace=0.05 {TEXT}@@")
        assert [text for text in scene.paper.seen if "word0" in text] == scene.paper.standing


@pytest.mark.parametrize(
    "error",
    [
        ChatRefused("The message is gone.", "message_not_found"),
        ChatRefused("Too long.", "msg_too_long"),
        ChatRefused("The thread is archived.", "50083"),
        ChatBusy(60.0),
    ],
)
async def test_where_the_message_cannot_be_edited_the_answer_is_a_new_one(tmp_path, error):
    """C039: and nothing is left at "working"."""
    paper = Paper()

    def trouble(act: str, post: Post) -> None:
        if act == "edit" and "the end" in post.text and not post.buttons:
            raise error

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        await scene.ask()
        assert paper.standing == [paper.messages["m1"].text]
        assert paper.messages["m1"].text.endswith("the end")
        assert await scene.room.records.do(outbox.undelivered) == (0, 0)


async def test_an_edit_whose_answer_was_lost_is_made_again(tmp_path):
    paper, lost = Paper(), []

    async def trouble(act: str, post: Post) -> None:
        if act == "edit" and not post.buttons and not lost:
            lost.append(post)
            paper.messages["m0"].versions.append(post)  # it took effect
            raise ChatUnsure("cut")

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        await scene.ask()
        await scene.until(lambda: paper.messages["m0"].versions[-1] is not lost[0])
        assert len(paper.standing) == 1
        assert paper.standing[0].endswith("the end")


async def test_an_edit_that_comes_late_never_covers_the_answer(tmp_path):
    """One that hangs when the run ends: the answer does not wait for it, and stands apart."""
    paper = Paper()
    hangs = asyncio.Event()

    async def trouble(act: str, post: Post) -> None:
        if act == "edit" and "word30" in post.text and post.buttons:
            await hangs.wait()

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        await scene.ask()
        assert len(paper.standing) == 1
        hangs.set()
        await scene.until(lambda: not scene.status._ending)
        assert paper.standing[0].endswith("the end")
        assert "is working" not in paper.standing[0]


async def test_c069_edits_are_coalesced_and_the_answer_waits_for_none_of_them(tmp_path):
    """Hundreds of deltas, a limit of 30 s in the middle: the newest state wins, then the answer."""
    paper = Paper()
    began = time.monotonic()

    def trouble(act: str, post: Post) -> None:
        if act == "edit" and post.buttons and paper.acts.count("edit") > 3:
            raise ChatBusy(30.0)

    paper.trouble = trouble
    lines = "\\n".join(f"line {n}" for n in range(1_500))
    async with playing(tmp_path, paper) as scene:
        await scene.ask(f'@@rehearse pace=0.001 text="{lines}"@@')
        assert time.monotonic() - began < 25
        assert paper.acts.count("edit") <= 8
        assert "line 1499" in paper.standing[-1]
        assert not any("is working" in text for text in paper.standing)


async def test_c068_an_edit_that_was_refused_for_a_while_shows_the_newest_text(tmp_path):
    paper, refused = Paper(), []

    def trouble(act: str, post: Post) -> None:
        if act == "edit" and "word0" in post.text and post.buttons and not refused:
            refused.append(post)
            raise ChatBusy(0.3)

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        await scene.ask()
        [answer] = paper.messages.values()
        lengths = [len(post.text) for post in answer.versions if "word0" in post.text]
        assert refused
        assert refused[0].text not in [post.text for post in answer.versions]
        assert lengths[0] > len(refused[0].text)


@pytest.mark.parametrize("paper", [Paper, Growing])
async def test_c140_no_marker_no_block_and_no_secret_is_ever_seen(tmp_path, paper):
    secret = "ghp_abcdEFGH1234ijklMNOP5678qrst"
    text = f"It is {secret} I think, and more words come after it."
    block = "consensus\\n- storage: stance"
    async with playing(tmp_path, paper()) as scene:
        scene.room.set(max_followups=0)
        await scene.ask(f'@@rehearse pace=0.15 text="{text}" block="{block}" pull="memory: JWT"@@')
        for seen in scene.paper.seen:
            hidden = ("pull", "<!--", "&lt;!--", "stance", secret[:9])
            assert not [part for part in hidden if part in seen], seen
        assert any("more words" in seen for seen in scene.paper.seen)


async def test_a_stop_takes_the_text_away(tmp_path):
    async with playing(tmp_path, Paper()) as scene:
        asked = asyncio.create_task(scene.ask("@@rehearse hang@@"))
        await scene.until(lambda: any("I was about to" in text for text in scene.paper.seen))
        scene.room.stops.stop()
        await asked
        assert not any("is working" in text for text in scene.paper.standing)


@pytest.mark.parametrize("how", ["quota", "crash"])
async def test_of_a_run_that_fails_no_message_stays_at_working(tmp_path, how):
    async with playing(tmp_path, Paper()) as scene:
        assert await scene.ask(f"@@rehearse fail={how} sleep=0.3@@") == "failed"
        assert not any("is working" in text for text in scene.paper.standing)


async def test_an_answer_that_is_erased_before_it_is_posted_takes_the_message_along(tmp_path):
    paper = Paper()

    def trouble(act: str, post: Post) -> None:
        if act == "edit" and not post.buttons:
            raise ChatBusy(1.0)

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        await scene.room.ask(SPEAK.replace("until=go", ""))

        def forget() -> None:
            run = RunRow.select().first()
            erasure._erase(run, time.time())

        await scene.room.records.do(forget)
        paper.trouble = lambda _act, _post: None
        await scene.until(lambda: not paper.standing)
        assert not any(row.text for row in await scene.rows())


# --- messages that grow -------------------------------------------------------------------------


async def test_a_growing_message_becomes_the_answer(tmp_path):
    async with playing(tmp_path, Growing()) as scene:
        await scene.ask()
        status, answer = scene.paper.messages.values()
        assert (status.gone, answer.gone) == (True, False)
        assert "word0" not in str([post.text for post in status.versions])
        shown = [post.text for post in answer.versions]
        assert shown[0] == "rehearsal"
        assert all(two.startswith(one) for one, two in pairwise(shown[:-1]))
        assert shown[-1].endswith("the end")
        assert scene.paper.acts[-3:] == ["finish", "edit", "delete"]


async def test_it_goes_on_in_a_new_message_when_it_has_grown_for_long(tmp_path):
    paper = Growing()
    paper.stream_s = 0.1
    async with playing(tmp_path, paper) as scene:
        await scene.ask(SPEAK.replace("0.05", "0.3"))
        kinds = [row.kind for row in await scene.rows(op="post")]
        assert kinds.count("live") > 1
        [answer] = paper.standing
        assert answer.endswith("the end")
        grown = [m.versions[-1].text for m in paper.messages.values() if m.gone][1:]
        words = " ".join(text.removeprefix("rehearsal") for text in grown).split()
        assert words == f"{WORDS} the end".split()[: len(words)]  # nothing twice, nothing left out


async def test_one_that_the_platform_ended_early_is_gone_on_with(tmp_path):
    paper = Growing(lasts=1)
    async with playing(tmp_path, paper) as scene:
        await scene.ask(SPEAK.replace("0.05", "0.3"))
        assert [row.kind for row in await scene.rows(op="post")].count("live") > 1
        [answer] = paper.standing
        assert answer.endswith("the end")


async def test_where_none_can_be_had_the_status_message_shows_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr("bridge.streaming.BEGIN_S", 0.1)
    async with playing(tmp_path, Growing(refused="unknown_method")) as scene:
        await scene.ask()
        [answer] = scene.paper.messages.values()
        assert len([post for post in answer.versions if "word0" in post.text]) > 2
        assert [row.state for row in await scene.rows(kind="live", op="post")] == ["dead"]


async def test_one_that_a_reader_stopped_is_hushed_and_the_answer_comes(tmp_path):
    paper = Growing()

    def trouble(act: str, _post: Post) -> None:
        if act == "append" and paper.acts.count("append") > 1:
            raise ChatRefused("A reader has stopped it.", "stopped")

    paper.trouble = trouble
    async with playing(tmp_path, paper) as scene:
        assert await scene.ask() == "done"
        assert paper.acts.count("append") <= 2
        [answer] = paper.standing
        assert answer.endswith("the end")


@asynccontextmanager
async def grown(folder: Path, paper: Growing) -> AsyncIterator[Callable[[str], Awaitable[bool]]]:
    """What adds a delta to the growing message of one run, which stands and is empty."""
    async with parlour(folder) as room:
        turn = Turn(1, 1, "mention", "q", 1, "Alice", (), 1, "running", asker_key="slack:U1")
        run, text = OneRun(Owing(room.records), paper, "no run", turn, KEY, "claude"), LiveText()

        async def add(delta: str) -> bool:
            text.take(EngineEvent("delta", delta))
            shown = await run.show(text)
            if not run.waits:
                return shown
            name = f"m{len(paper.messages)}"  # what the outbox does
            paper.messages[name] = Message([Post("", "")])
            run.posted(0, name)
            return await run.show(text)

        yield add


async def test_a_word_that_is_held_back_while_it_grows_ends_no_growing_message(tmp_path):
    """A long word at the end may become a secret: less may be shown than a moment before."""
    paper = Growing()
    async with grown(tmp_path, paper) as add:
        for delta in (
            "It is impl",
            "ementation",
            " that ",
            "counts; pass",
            "word = ",
            "no. And ",
            "so.",
        ):
            assert await add(delta)
        assert paper.standing == ["\n\nIt is implementation that counts; password = no. And so."]


async def test_code_that_goes_on_in_a_new_message_is_code_there(tmp_path):
    paper = Growing(lasts=1)
    async with grown(tmp_path, paper) as add:
        await add("See\n\n```py\none = 1\n")
        await add("two = 2\n")  # the platform says only now that it is over
        await add("three = 3\n")
        assert paper.standing == [
            "\n\nSee\n\n```py\none = 1",
            "```py\n\ntwo = 2",
            "```py\n\nthree = 3",
        ]
