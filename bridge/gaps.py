"""What was written while nobody listened is read from the platforms' histories, once we do again.

Everything goes through the same door with the same event ids, so what was heard before changes
nothing. How far back: to the moment until which a space was heard, which is kept; a space that was
never heard is new, and nothing is read there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Author, ChatEvent, ConversationKey, Missed, Reply
from core.ports import Accept, Chat, WithHistory
from core.records import closed, heard
from core.records.heard import Gap
from core.records.thread import CannotWrite, Records

log = structlog.get_logger()

POLL_S = 5.0
SAVE_S = 30.0
SKEW_S = 120.0  # a dead link is noticed within that, and clocks agree as far
SUSPENDED_S = 60.0  # a poll so late: the host slept, and the links may be dead without a word
LOOK_BACK_S = 86_400.0
MOST_PLACES = 200
MOST_MESSAGES = 300  # of one place
CALL_DEADLINE_S = 120.0
PUT_OFF_S, MOST_TRIES = 30.0, 6
SETTLED_S = 5.0  # what was said so lately may not be in a history yet


@dataclass(slots=True)
class _Ears:
    """What is known of one chat's hearing.

    ``unlisted``: spaces whose places are still to be asked for, with the moment from which on they
    were not heard.
    """

    until: dict[str, float] = field(default_factory=dict[str, float])
    present: frozenset[str] = frozenset()
    unlisted: dict[str, float] = field(default_factory=dict[str, float])
    again: bool = True  # the adapter has (again) begun to receive
    event_at: float = 0.0
    polled_at: float = 0.0
    saved_at: float = 0.0
    listed_at: float = 0.0
    read_at: float = 0.0
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Gaps:
    """``run`` until cancelled; adapters hand their events to ``heard``.

    ``ready`` is told when one of them can (again) receive.

    ``on_open``: places that took no posts may have opened meanwhile.
    """

    def __init__(
        self,
        records: Records,
        chats: Iterable[Chat],
        accept: Accept,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        self._records = records
        self._chats = {chat.name: chat for chat in chats if isinstance(chat, WithHistory)}
        self._accept = accept
        self._on_open = on_open
        self._ears = {name: _Ears() for name in self._chats}

    def ready(self, chat: str) -> None:
        """An adapter receives, maybe again."""
        if ears := self._ears.get(chat):
            ears.again = True
            ears.news.set()

    async def run(self) -> None:
        """Watch and read until cancelled.

        Places may have opened while no Moot was there to hear of it.
        """
        if await self._records.insist(closed.reopen_all, time.time()):
            self._on_open()
        async with asyncio.TaskGroup() as group:
            for chat in self._chats.values():
                group.create_task(self._watch(chat, self._ears[chat.name]))

    async def heard(self, event: ChatEvent) -> Reply | None:
        """Take an event in (an ``Accept``), and note that one came."""
        reply = await self._accept(event)
        if ears := self._ears.get(event.key.chat):
            ears.event_at = time.time()
        return reply

    # --- watching ------------------------------------------------------------------------

    async def _watch(self, chat: WithHistory, ears: _Ears) -> None:
        ears.until = await self._records.insist(heard.until, chat.name)
        while True:
            pause_s = POLL_S
            try:
                self._listen(chat, ears, time.time())
                await self._save(chat, ears)
                await self._list(chat, ears)
                if await self._read(chat, ears):
                    pause_s = chat.limits.history_pace_s
            except CannotWrite as error:
                log.warning("gaps.not_written", chat=chat.name, why=str(error))
            except Exception:  # the loop must live: what is to be read stays a row
                log.exception("gaps.broke", chat=chat.name)
            ears.news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await ears.news.wait()

    def _listen(self, chat: WithHistory, ears: _Ears, now: float) -> None:
        """Compare what is heard now with before."""
        spaces = chat.hears()
        suspended = ears.polled_at > 0 and now - ears.polled_at > SUSPENDED_S
        came = spaces if ears.again or suspended else spaces - ears.present
        ears.again, ears.present, ears.polled_at = ears.again and not spaces, spaces, now
        for space in spaces:
            before = ears.until.get(space)
            if space in came and before is not None:
                self._missed(chat, ears, space, before, now)
            ears.until[space] = now

    def _missed(
        self, chat: WithHistory, ears: _Ears, space: str, before: float, now: float
    ) -> None:
        """A space is heard again that was heard until ``before``."""
        if now - before < chat.limits.redelivers_s:
            return
        since = max(before - SKEW_S, now - LOOK_BACK_S)
        ears.unlisted[space] = min(since, ears.unlisted.get(space, since))
        log.info("gap.found", chat=chat.name, space=space, seconds=round(now - before))

    async def _save(self, chat: WithHistory, ears: _Ears) -> None:
        """Keep until when there is nothing to be asked for: a crash does not move that."""
        now = time.time()
        spaces = ears.present - ears.unlisted.keys()
        if spaces and now - ears.saved_at >= SAVE_S:
            await self._records.do(heard.note, chat.name, spaces, now, ears.event_at)
            ears.saved_at = now

    # --- reading -------------------------------------------------------------------------

    async def _list(self, chat: WithHistory, ears: _Ears) -> None:
        """Write down which places are to be read, and from then on the space is heard."""
        now = time.time()
        if not ears.unlisted or now - ears.listed_at < chat.limits.history_pace_s:
            return
        ears.listed_at = now
        for space, since in list(ears.unlisted.items()):
            if space not in ears.present:
                continue
            known = await self._records.do(heard.busy_places, chat.name, space, MOST_PLACES)
            try:
                async with asyncio.timeout(CALL_DEADLINE_S):
                    told = await chat.places(space, since, known)
            except ChatRefused as refused:  # a scope is missing: what we know of has to do
                log.warning("gap.places_untold", chat=chat.name, why=str(refused))
                told = known
            except (ChatBusy, ChatUnsure, TimeoutError) as error:
                log.info("gap.places_later", chat=chat.name, why=str(error) or "no answer in time")
                ears.listed_at = now + getattr(error, "retry_after_s", PUT_OFF_S)
                return
            await self._records.do(_list_places, chat.name, space, told, since, ears.event_at)
            del ears.unlisted[space]
            if await self._records.do(closed.reopen_all, now):
                self._on_open()

    async def _read(self, chat: WithHistory, ears: _Ears) -> bool:
        """Read one place; whether there may be more."""
        gap = await self._records.do(heard.next_gap, chat.name, ears.present, time.time())
        if gap is None:
            return False
        began = time.time()
        try:
            earlier = await self._records.do(heard.asked_since, gap.key, began - LOOK_BACK_S)
            since = min(gap.since, earlier - 1.0) if earlier is not None else gap.since
            async with asyncio.timeout(CALL_DEADLINE_S):
                found = await chat.missed(gap.key, since, MOST_MESSAGES)
        except ChatBusy as busy:
            await self._records.do(heard.put_off, gap, began + busy.retry_after_s)
            return True
        except (ChatUnsure, TimeoutError) as error:
            log.info("gap.later", chat=chat.name, why=str(error) or "no answer in time")
            await self._later(gap, began)
            return True
        except ChatRefused as refused:  # we cannot read there (any more)
            log.info("gap.unreadable", chat=chat.name, channel=gap.key.channel, code=refused.code)
            await self._records.do(heard.close_gap, gap)
            return True
        await self._take(gap, found, began)
        return True

    async def _later(self, gap: Gap, now: float) -> None:
        if gap.tries >= MOST_TRIES:
            log.warning("gap.given_up", chat=gap.key.chat, channel=gap.key.channel)
            await self._records.do(heard.close_gap, gap)
        else:
            await self._records.do(heard.put_off, gap, now + PUT_OFF_S * 2**gap.tries)

    async def _take(self, gap: Gap, found: Missed, began: float) -> None:
        """Hand over what a place holds, in order; what is gone from it was deleted."""
        taken = 0
        for event in found.events:
            if event.kind == "message" and event.sent_at < gap.since:
                continue  # heard, or older than what we listened to
            told_at = began if event.kind == "edit" else event.sent_at
            await self._accept(replace(event, missed=True, sent_at=told_at))
            taken += 1
        gone: Collection[str] = ()
        if found.covers is not None:
            gone = await self._records.do(
                heard.vanished, gap.key, found.standing, found.covers, began - SETTLED_S
            )
        for message_id in gone:
            await self._accept(_deletion(gap.key, message_id, began))
        await self._records.do(_close, gap, found.threads)
        log.info("gap.read", channel=gap.key.channel, events=taken, gone=len(gone))


def _list_places(
    chat: str, space: str, told: tuple[ConversationKey, ...], since: float, event_at: float
) -> None:
    if len(told) > MOST_PLACES:
        log.warning("gap.too_many_places", chat=chat, places=len(told), read=MOST_PLACES)
    heard.add_gaps(told[:MOST_PLACES], since)
    heard.note(chat, (space,), time.time(), event_at)


def _close(gap: Gap, threads: tuple[ConversationKey, ...]) -> None:
    heard.add_gaps((key for key in threads if key != gap.key), gap.since)
    heard.close_gap(gap)


def _deletion(key: ConversationKey, message_id: str, now: float) -> ChatEvent:
    """That a message is gone; who deleted it, no history tells."""
    return ChatEvent(
        key=key,
        event_id=f"{key.chat}:{key.space}:{key.channel}:{message_id}:gone",
        message_id=message_id,
        author=Author("", "somebody", trusted=False),
        text="",
        kind="delete",
        sent_at=now,
        direct=not key.root,
        missed=True,
    )
