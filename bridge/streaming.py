"""A run's answer in a platform's own growing messages: begun, added to, gone on with in a new one.

A growing message is owed through the outbox like any post, so none is lost or left behind by a
crash; what is added to it is best effort. Whatever goes wrong, the caller shows the text by edits
of the status message instead, and the answer itself is the outbox's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from core.errors import ChatRefused, MootError
from core.live import LiveText, open_at, steady
from core.model import ConversationKey, Turn
from core.ports import Streams
from core.records import live, outbox
from core.records.thread import Records

log = structlog.get_logger()

BEGIN_S = 6.0  # a message that has not begun by then is not waited for
FINISH_S = 2.0


def _nobody() -> None:
    """Nobody delivers yet."""


@dataclass(slots=True)
class Owing:
    """Where growing messages are owed; ``wake`` has the outbox looked at."""

    records: Records
    wake: Callable[[], None] = _nobody


class Growing:
    """The growing messages of one run. Not for more than one task at a time."""

    def __init__(
        self,
        owing: Owing,
        chat: Streams,
        run_id: str,
        turn: Turn,
        key: ConversationKey,
        name: str,
    ) -> None:
        self._owing = owing
        self._chat = chat
        self._run_id = run_id
        self._turn = turn
        self._key = key
        self._name = name  # who speaks: what each message begins with
        self._row = 0
        self._asked = 0.0
        self._message = ""
        self._began = 0.0
        self._chars = 0
        self._sent, self._number = "", 0
        self._messages = 0
        self.hushed = False  # a reader wants no more of it
        self.off = not chat.streams_in(key)

    @property
    def alone(self) -> int:
        """The outbox row of the one message that shows the text; 0: there is none, or several."""
        return self._row if self._message and self._chars and self._messages == 1 else 0

    def posted(self, outbox_id: int, message_id: str) -> None:
        """The message is there: it can grow."""
        if outbox_id == self._row and not self.off:
            self._message, self._began, self._chars = message_id, time.monotonic(), 0
            self._messages += 1

    async def show(self, text: LiveText) -> bool:
        """Add what is new; whether the text is shown here. Raises as ``Chat.post``."""
        if self.off or self.hushed:
            return self.hushed
        if not self._message:
            return await self._begun()
        shown = (await asyncio.to_thread(steady, text.text, whole=text.whole)).strip()
        begun = text.number != self._number
        sent = "" if begun else self._sent
        if not shown.startswith(sent):
            if sent.startswith(shown):
                return True  # a word that may become a secret is held back while it grows
            await self._leave("changed")  # what was shown is not what it turned out to be
            return False
        if new := shown[len(sent) :]:
            if self._full(len(new)):
                await self._go_on()
                return True
            between = "\n\n" if begun else "" if self._chars else open_at(shown, len(sent))
            await self._add(between + new)
            if self._message:
                self._sent, self._number = shown, text.number
        return not self.off or self.hushed

    @property
    def shows(self) -> bool:
        """Whether the text is seen here, or about to be (or not to be seen at all)."""
        return self.hushed or (not self.off and bool(self._asked))

    @property
    def waits(self) -> bool:
        """Whether there is something to look at soon, whatever comes."""
        return self.shows and not self.hushed and not self._message

    async def finish(self) -> bool:
        """The run is over, or this message is; whether it is certain that it grows no more."""
        message, self._message = self._message, ""
        if not message:
            return True
        try:
            async with asyncio.timeout(FINISH_S):
                await self._chat.finish(self._key, message)
        except (MootError, TimeoutError) as error:
            log.debug("stream.not_finished", why=type(error).__name__)
            return False
        return True

    async def _begun(self) -> bool:
        """Owe a message, once; whether it is still waited for."""
        now = time.monotonic()
        if not self._asked:
            person = self._turn.asker_key.partition(":")[2]
            place = self._turn.conversation_id
            self._asked = now
            self._row = await self._owing.records.do(
                live.begin, self._run_id, place, self._turn.id, self._name, person, time.time()
            )
            self._owing.wake()
        elif now - self._asked > BEGIN_S or not self._chat.streams_in(self._key):
            await self._leave("not begun")
        return not self.off

    def _full(self, more: int) -> bool:
        old = time.monotonic() - self._began > self._chat.stream_s
        return old or (self._chars > 0 and self._chars + more > self._chat.stream_chars)

    async def _add(self, markdown: str) -> None:
        at_once = self._chat.stream_chars
        for start in range(0, len(markdown), at_once):
            try:
                await self._chat.append(self._key, self._message, markdown[start : start + at_once])
            except ChatRefused as refused:
                log.debug("stream.refused", code=refused.code)
                if refused.code == "over":  # earlier than it was told to be
                    self._message = ""
                    await self._go_on()
                elif refused.code == "stopped":
                    self.hushed = True
                else:
                    await self._leave(refused.code)
                return
        self._chars += len(markdown)

    async def _go_on(self) -> None:
        """In a new message: this one holds all it can."""
        await self.finish()
        self._asked = 0.0
        await self._begun()

    async def _leave(self, why: str) -> None:
        """No growing messages for this run any more: the newest goes."""
        log.info("stream.left", why=why)
        await self.finish()
        self.off = True
        if self._row:
            await self._owing.records.do(outbox.withdraw_post, self._row, now=time.time())
            self._owing.wake()
