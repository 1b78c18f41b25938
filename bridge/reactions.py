"""Reactions as quiet status: each question shows how it stands. Best effort, and never in the way.

What is to stand there is worked out from the rows each time, so a crash leaves nothing behind that
the next start does not put right.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping

import structlog

from core.errors import ChatBusy, ChatRefused, MootError
from core.ports import Chat
from core.records import reactions as rows
from core.records.reactions import Mark
from core.records.thread import Records

log = structlog.get_logger()

SOON_S = 0.2
PACE_S = 1.0  # between two looks while anything is under way: what is over sooner is not shown
CALL_S = 10.0
MAX_TRIES = 5  # of one question, when a platform does not say whether it worked
BUSY_S = 1.0


class Reactions:
    """``run`` until cancelled; ``wake`` when a question was queued."""

    def __init__(self, records: Records, chats: Mapping[str, Chat], *, wanted: bool = True) -> None:
        self._records = records
        self._chats = chats
        self._wanted = wanted
        self._news = asyncio.Event()
        self._pauses: dict[str, float] = {}  # by chat: not before then
        self._tries: Counter[int] = Counter()

    def wake(self) -> None:
        """Look soon."""
        self._news.set()

    async def run(self) -> None:
        """Put right what is to be seen, for as long as anything is under way."""
        while self._wanted:
            self._news.clear()
            try:
                left = await self._look()
            except MootError as error:  # such as a full disk: nothing is lost by waiting
                log.warning("reactions.not_now", why=str(error))
                left = True
            if left:
                await asyncio.sleep(PACE_S)
            else:
                await self._news.wait()
                await asyncio.sleep(SOON_S)

    async def _look(self) -> bool:
        """One look at all; whether there is reason for another."""
        marks = await self._records.do(rows.unsettled)
        by_chat: dict[str, list[Mark]] = {}
        for mark in marks:
            by_chat.setdefault(mark.key.chat, []).append(mark)
        await asyncio.gather(*(self._of_chat(chat, of) for chat, of in by_chat.items()))
        return bool(marks)

    async def _of_chat(self, name: str, marks: Iterable[Mark]) -> None:
        chat = self._chats.get(name)
        for mark in marks:
            if mark.right or chat is None:
                if mark.gone or chat is None:
                    await self._give_up(mark)
                elif mark.over:
                    await self._records.do(rows.settle, mark.message)
                continue
            if time.monotonic() < self._pauses.get(name, 0.0):
                return
            try:
                async with asyncio.timeout(CALL_S):
                    await self._put(chat, mark)
            except ChatBusy as busy:
                self._pauses[name] = time.monotonic() + max(busy.retry_after_s, BUSY_S)
                return
            except ChatRefused as refused:  # the message is gone, or we may not react here
                log.info("reactions.refused", code=refused.code)
                await self._give_up(mark)
            except Exception as error:  # a courtesy must not end Moot, whatever is wrong with it
                if not isinstance(error, MootError | TimeoutError):
                    log.exception("reactions.broke")
                self._tries[mark.message] += 1
                log.info("reactions.unsure", why=type(error).__name__)
                if self._tries[mark.message] >= MAX_TRIES:
                    await self._give_up(mark)
                return

    async def _put(self, chat: Chat, mark: Mark) -> None:
        """The new one first, so that something stands there all the time; the row before the act.

        Only what we put there is taken away.
        """
        wanted = (mark.wanted,) if mark.wanted else ()
        maybe = tuple(dict.fromkeys((*mark.maybe, *wanted)))
        if wanted and mark.wanted not in mark.shown:
            await self._records.do(rows.set_shown, mark.message, mark.shown, maybe)
            await chat.react(mark.key, mark.platform_id, mark.wanted, on=True)
        for name in dict.fromkeys((*mark.shown, *mark.maybe)):
            if name != mark.wanted:
                await self._take_away(chat, mark, name)
        self._tries.pop(mark.message, None)
        await self._records.do(rows.set_shown, mark.message, wanted)
        if mark.over:
            await self._records.do(rows.settle, mark.message)

    async def _take_away(self, chat: Chat, mark: Mark, name: str) -> None:
        try:
            await chat.react(mark.key, mark.platform_id, name, on=False)
        except ChatRefused as refused:  # it may never have been put there
            log.debug("reactions.not_there", code=refused.code)

    async def _give_up(self, mark: Mark) -> None:
        self._tries.pop(mark.message, None)
        await self._records.do(rows.give_up, mark.message)
