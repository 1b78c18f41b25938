"""``!forget``: who may have what forgotten, and that nothing of it is left or comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bridge.access import Door
from bridge.forget_acts import NOT_THEIRS, NOT_YOUR_THREAD, NOT_YOURS, NOTHING
from bridge.intake import Intake
from core.model import (
    Actor,
    Author,
    Button,
    ChatEvent,
    Conversation,
    ConversationKey,
    Reply,
    Said,
)
from core.records import history, ledger, marks, messages, outbox, places, turns
from core.records.eraser import Eraser
from core.records.filing import Origin
from core.records.scrub import Scrubber
from core.records.search import search
from core.records.tables import MessageRow, OutboxRow, TurnRow
from core.records.thread import Records
from tests.integration.parlour import Parlour, parlour
from tests.integration.scenes import scene_of
from tests.integration.test_intake import POLICY

KIM = Author("UKim", "Kim", grants=("slack:UKim",))
LEE = Author("ULee", "Lee", grants=("slack:ULee",))
ANN = Author("UAnn", "Ann", grants=("slack:UAnn",))  # an approver
GUS = Author("UGus", "Gus", grants=("slack:UGus",), trusted=False)
EVE = Author("UEve", "Eve", grants=("slack:UEve",))  # may not use Moot
WORD = "quetzalseven"


@dataclass
class Room:
    """A thread at work, and people who type in it."""

    here: Parlour
    intake: Intake
    gone: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    count: int = 100

    @property
    def records(self) -> Records:
        return self.here.records

    async def event(self, kind: str, text: str, who: Author, **more: object) -> Reply | None:
        self.count += 1
        ident = f"9{self.count}.0"
        event = ChatEvent(
            key=self.here.conversation.key,
            event_id=f"x{self.count}",
            message_id=ident,
            author=who,
            text=text,
            kind=kind,
            sent_at=time.time(),
            in_thread=True,
            mentions_us=True,
        )
        return await self.intake.accept(replace(event, **more))

    async def told(self, text: str, who: Author = KIM, **more: object) -> tuple[str, list[Button]]:
        """Type something; what the thread is told, and the buttons under it."""
        await self.event("message", text, who, **more)

        def newest() -> tuple[str, list[Button]]:
            row = OutboxRow.select().order_by(OutboxRow.id.desc()).first()
            return row.text, list(outbox.load_buttons(row.buttons))

        return await self.records.do(newest)

    async def press(self, button: Button, who: Author = KIM) -> str:
        reply = await self.event("button", button.action, who)
        return reply.text if reply else ""

    async def found(self, words: str = WORD) -> list[str]:
        scene = scene_of(self.here.conversation.id)
        hits = await self.records.do(search, scene, words, 50)
        return [hit.message.text for hit in hits]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with parlour(tmp_path) as here:
        gone, stopped = [], []
        allowed = tuple(who.grants[0] for who in (KIM, LEE, ANN, GUS))
        intake = Intake(
            here.records,
            Door(allowed, ("slack:UAnn",)),
            POLICY,
            lambda _chat, text: (text,),
            on_turn=lambda: None,
            on_post=lambda: None,
            on_stop=stopped.extend,
            on_skip=lambda *_: None,
            on_gone=lambda: gone.append(1),
        )
        yield Room(here, intake, gone, stopped)


async def kept(records: Records, word: str = WORD) -> list[str]:
    """Every table that holds a word, the keyword index and its shadows too.

    But for the index's segments, whose bytes the scrubber sees to (``in_files``).
    """

    def read() -> list[str]:
        database = MessageRow._meta.database
        return sorted(
            table
            for table in database.get_tables()
            if table != "message_fts_data"
            and any(
                word.encode() in (value if isinstance(value, bytes) else str(value).encode())
                for row in database.execute_sql(f'SELECT * FROM "{table}"')
                for value in row
            )
        )

    return await records.do(read)


async def until_erased(records: Records) -> None:
    """The eraser works until nothing hidden is left."""

    def left() -> bool:
        where = MessageRow.deleted_at.is_null(is_null=False) & (MessageRow.text != "")
        return MessageRow.select().where(where).exists()

    eraser = Eraser(records, None, on_gone=lambda: None)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        work = group.create_task(eraser.run())
        while await records.do(left):
            await asyncio.sleep(0.02)
        work.cancel()


async def in_files(records: Records, word: str = WORD) -> bool:
    """Whether the files hold a word once the scrubber has had its time."""
    folder = records.path.parent
    scrubber = Scrubber(records)

    def there() -> bool:
        return any(word.encode() in path.read_bytes() for path in folder.glob("moot.sqlite*"))

    try:
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            work = group.create_task(scrubber.run())
            while there():
                await asyncio.sleep(0.05)
            work.cancel()
    except TimeoutError:
        return True
    return False


# --- what goes -----------------------------------------------------------------------------------


async def test_a_question_goes_with_its_answers_and_all_that_was_made_of_them(room: Room) -> None:
    block = f"verdict fail\\n- high, security: {WORD} is in the log"
    asked = f'@@rehearse text="It is {WORD}." block="{block}" pull="memory: {WORD}"@@ {WORD}?'
    await room.here.ask(asked)
    number = await room.records.do(lambda: TurnRow.get().prompt_message)
    place, lee = room.here.conversation, Actor("slack:ULee", "Lee")
    await room.records.do(
        marks.put, number, place, "wrong", by=lee, note=f"not {WORD}", now=1.0, project="p"
    )
    before = await kept(room.records)
    assert {"message", "run", "turn", "pull", "outbox", "finding", "mark"} <= set(before)

    text, [button] = await room.told(f"!forget #{number}")
    assert "messages** would be erased" in text
    assert button.label.startswith("Erase ")
    assert await kept(room.records) == before  # nothing happened yet
    told = await room.press(button)
    assert "erased from Moot" in told
    assert "delete them there, too" in told
    await until_erased(room.records)
    assert await kept(room.records) == []
    assert room.gone
    assert not [row for row in await room.here.sessions() if row.state == "live"]
    assert not await in_files(room.records)
    # The button is used up, for everybody.
    assert await room.press(button) == NOTHING


async def test_one_message_is_forgotten_at_once(room: Room) -> None:
    number = await room.here.say(f"the key is {WORD}")
    assert await room.found() != []
    text, buttons = await room.told(f"!forget #{number}")
    assert "1 message was erased" in text
    assert not buttons
    assert await room.found() == []
    assert await kept(room.records) == []


@pytest.mark.parametrize("form", ["link", "reply"])
async def test_a_message_is_named_by_its_link_or_by_a_reply(room: Room, form: str) -> None:
    await room.here.say(f"the key is {WORD}")
    await room.records.do(lambda: MessageRow.update(platform_id="1700000000.123456").execute())
    if form == "reply":
        text, _ = await room.told("!forget", reply_to="1700000000.123456")
    else:
        text, _ = await room.told("!forget <https://x.slack.com/archives/C1/p1700000000123456>")
    assert "1 message was erased" in text
    assert await kept(room.records) == []


async def test_a_running_question_that_is_forgotten_is_stopped(room: Room) -> None:
    number = await room.here.say(f"is {WORD} right?")

    def queue() -> int:
        made = turns.queue_turn(
            room.here.conversation.id, kind="ask", prompt=f"is {WORD} right?",
            prompt_message_id=number, asker="Kim", asker_key="slack:UKim", seats=(), rounds=1,
            mode="", now=time.time(),
        )  # fmt: skip
        TurnRow.change(made, state="running")
        return made

    turn = await room.records.do(queue)
    await room.told(f"!forget #{number}")
    assert room.stopped == [turn]
    assert await kept(room.records) == []


# --- who may -------------------------------------------------------------------------------------


async def test_only_ones_own_and_the_same_words_for_what_there_is_not(room: Room) -> None:
    number = await room.here.say(f"the key is {WORD}")
    for who in (LEE, GUS):
        assert await room.told(f"!forget #{number}", who) == (NOT_YOURS, [])
        assert await room.told("!forget #4711", who) == (NOT_YOURS, [])
        assert await room.told("!forget @Kim (UKim)", who) == (NOT_THEIRS, [])
        assert await room.told("!forget thread", who) == (NOT_YOUR_THREAD, [])
        assert "Pick the person from the list" in (await room.told("!forget @Nobody", who))[0]
        forged = Button(f"forget:message:{number}", "", "danger")
        assert await room.press(forged, who) == NOT_YOURS
        assert await room.press(Button("forget:person:slack:UKim", ""), who) == NOT_THEIRS
        here = room.here.conversation.id
        assert await room.press(Button(f"forget:thread:{here}", ""), who) == NOT_YOUR_THREAD
    refused, _ = await room.told(f"!forget #{number}", EVE)
    assert "may not use Moot" in refused
    assert await room.found() != []
    text, _ = await room.told(f"!forget #{number}", ANN)
    assert "1 message was erased" in text


async def test_without_named_approvers_nobody_may_forget_others(room: Room) -> None:
    door = Door(("*", "slack:ULee"), ())
    key = ConversationKey("slack", "T", "C", "")
    assert not door.erases(LEE, key)
    assert not Door(("*",), ("*",)).erases(GUS, key)
    assert not Door(("*",), ("*",)).erases(LEE, key)  # "*" names nobody
    assert Door((), ("slack:ULee",)).erases(LEE, key)
    assert Door((), (), admins=("slack:ULee",)).erases(LEE, key)


async def test_an_answer_belongs_to_who_asked(room: Room) -> None:
    await room.here.ask(f'@@rehearse text="It is {WORD}."@@ well?')
    answer = await room.records.do(lambda: MessageRow.get(MessageRow.author_kind == "agent").id)
    assert (await room.told(f"!forget #{answer}", LEE))[0] == NOT_YOURS
    assert "1 message was erased" in (await room.told(f"!forget #{answer}", KIM))[0]


async def test_approvers_forget_nothing_of_another_space(room: Room) -> None:
    other = ConversationKey("slack", "T2", "C9", "1.0")

    def elsewhere() -> int:
        made = messages.open_conversation(other, direct=False, in_thread=False, now=1.0)
        event = ChatEvent(other, "e-other", "5.0", KIM, WORD, "message", 5.0)
        return messages.add_event(made.id, event, addressed=False)[0]

    number = await room.records.do(elsewhere)
    assert (await room.told(f"!forget #{number}", ANN))[0] == NOT_YOURS


# --- it does not come back -----------------------------------------------------------------------


async def test_a_forgotten_thread_stays_so_whatever_comes_late(room: Room) -> None:
    await room.here.say("hello")
    for n in range(6):
        await room.here.say(f"{WORD} {n}", "Lee" if n % 2 else "Kim")
    ids = await room.records.do(
        lambda: {row.platform_id: row.sent_at for row in MessageRow.select()}
    )
    first = next(iter(ids))
    await room.records.do(places.set_root, room.here.conversation.id, first)
    text, [button] = await room.told("!forget thread", ANN)
    assert "**8 messages**" in text  # the asking itself, too
    await room.press(button, ANN)
    assert await room.found() == []
    await until_erased(room.records)

    here = room.here.conversation
    old = min(ids.values())

    def again() -> None:
        said = [Said(ident, KIM, f"{WORD} again", at) for ident, at in ids.items()]
        # Said in the thread before, but never heard of.
        said.append(Said("m-late", LEE, f"{WORD} late", old + 0.001))
        history.add_history(here.id, "slack", said)

    await room.records.do(again)
    await room.event("message", f"{WORD} late event", LEE, sent_at=old + 0.002, mentions_us=False)
    await room.event("edit", f"{WORD} edited", KIM, message_id=first)
    assert await kept(room.records) == []
    await room.here.say("a new beginning")
    assert await room.found("beginning") == ["a new beginning"]


async def test_a_person_is_forgotten_everywhere_and_a_restart_changes_nothing(
    room: Room, tmp_path: Path
) -> None:
    def spread() -> None:
        for number, (channel, root, direct) in enumerate(
            (("C1", "7.0", False), ("C2", "8.0", False), ("D1", "", True))
        ):
            key = ConversationKey("slack", "T1", channel, root)
            made = messages.open_conversation(key, direct=direct, in_thread=False, now=1.0)
            for who in (KIM, LEE):
                event = ChatEvent(
                    key, f"s{number}{who.id}", f"{number}{who.id}", who,
                    f"{who.name} says {WORD} {n_of(who)}", "message", 5.0,
                )  # fmt: skip
                messages.add_event(made.id, event, addressed=False)

    await room.records.do(spread)
    text, [button] = await room.told("!forget me")
    assert "Kim" in text
    await room.press(button)
    await until_erased(room.records)
    assert await kept(room.records, "kimonly") == []
    assert await kept(room.records, "leeonly") != []

    again = Records(room.records.path)
    await again.open()

    def late() -> None:
        here = room.here.conversation
        history.add_history(here.id, "slack", [Said("m-old", KIM, "kimonly once more", 9.0)])

    await again.do(late)
    assert await kept(again, "kimonly") == []
    await again.close()


def n_of(who: Author) -> str:
    return f"{who.name.lower()}only"


# --- deletions and edits in chat -----------------------------------------------------------------


async def test_a_question_asked_by_command_goes_with_its_header(room: Room) -> None:
    key = replace(room.here.conversation.key, root="")
    await room.event("command", f"what is {WORD}?", KIM, command="ask", key=key)
    assert {"message", "outbox", "turn"} <= set(await kept(room.records))

    def sent() -> str:
        row = OutboxRow.get(OutboxRow.kind == "header")
        outbox.mark_sent(row.id, "h1", "h1", time.time())
        return row.message_id

    await room.records.do(sent)
    await room.event("delete", "", EVE, message_id="h1", key=replace(key, root="h1"))
    assert await kept(room.records) == []
    states = await room.records.do(lambda: [row.state for row in TurnRow.select()])
    assert states == ["cancelled"]


async def test_what_answers_a_command_is_kept_until_it_is_posted(room: Room) -> None:
    key = room.here.conversation.key
    await room.told(f"!finding add {WORD} is in the log")
    await room.told("!finding show 1")

    def post() -> None:
        while item := outbox.take_next(room.here.conversation.id, time.time()):
            outbox.mark_sent(item.id, f"p{item.id}", None, time.time())

    assert await room.records.do(
        lambda: OutboxRow.select().where(OutboxRow.text.contains(WORD)).count()
    )
    await room.records.do(post)
    assert "outbox" not in await kept(room.records)
    # One that waits for its platform is not told any more once a message is deleted.
    await room.told("!finding show 1")
    number = await room.here.say("something else")
    row = await room.records.do(MessageRow.get_by_id, number)
    await room.event("delete", "", EVE, message_id=row.platform_id, key=key)
    due = await room.records.do(lambda: [r.text for r in OutboxRow.select() if r.state == "due"])
    assert due
    assert not [text for text in due if WORD in text]


async def test_an_edit_leaves_nothing_of_what_was_there_before(room: Room) -> None:
    await room.event("message", f"what is {WORD}?", KIM, message_id="77.0")
    turn = await room.records.do(lambda: TurnRow.get())
    await room.records.do(
        outbox.add_post, room.here.conversation.id, "header", (f"about {WORD}",),
        title=WORD, turn_id=turn.id, now=1.0,
    )  # fmt: skip

    def sent() -> None:
        row = OutboxRow.get(OutboxRow.kind == "header")
        outbox.mark_sent(row.id, "h1", None, time.time())

    await room.records.do(sent)
    await room.event("edit", "what is that?", KIM, message_id="77.0")
    assert await kept(room.records) == []
    assert not await in_files(room.records)


def decided(here: Conversation, message_id: int) -> None:
    ledger.decide(
        Origin("p", here.id, message_id), "the key", "rotate it weekly",
        stances=[("claude", f"because {WORD}")], by=Actor("moot", "Moot"), now=5.0,
    )  # fmt: skip


async def test_a_decision_goes_with_the_message_that_it_was_made_from(room: Room) -> None:
    number = await room.here.say(f"the key is {WORD}")
    await room.records.do(decided, room.here.conversation, number)
    await room.told(f"!forget #{number}")
    assert await kept(room.records) == []
    assert await kept(room.records, "rotate it weekly") == []
