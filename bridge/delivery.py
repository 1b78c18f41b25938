"""Pays the outbox: in order per conversation, never twice, and one slow channel slows no other."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog

from bridge.handing import Handing, Lost
from bridge.refusals import Refusals
from bridge.taking_over import TakingOver, no_edits
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Outgoing, Post, Posted
from core.ports import Chat
from core.records import closed, erasure, live, outbox
from core.records.thread import Records
from core.tongue import speaking_at

log = structlog.get_logger()

POLL_S = 5.0
CALL_DEADLINE_S = 60.0
UPLOAD_S = 180.0  # more, for files
MAX_WAIT_S = 300.0
MAX_ATTEMPTS = 20  # about an hour of a platform that does not answer


class Delivery:
    """``run`` until cancelled; ``wake`` after rows were written.

    ``on_posted`` is told each post that has its id (progress edits the status message);
    ``on_sent`` and ``on_opened``, in the transaction that marks it, that a post was sent and that
    it opened a conversation's thread, or why it never will. ``on_gone`` is told that an answer was
    erased, since a post of it was deleted before it was marked as sent. ``handing`` brings the
    files of posts; without it none are sent. ``quiet`` waits until no edit of a run's message can
    come any more, and says whether that is certain (``bridge.progress``).
    """

    def __init__(
        self,
        records: Records,
        chats: Mapping[str, Chat],
        render: Callable[[str, str], tuple[str, ...]],
        on_posted: Callable[[Outgoing, str], None],
        on_sent: Callable[[Outgoing, str, float], object],
        on_opened: Callable[[int, str, float], object],
        on_gone: Callable[[], None] = lambda: None,
        handing: Handing | None = None,
        quiet: Callable[[str], Awaitable[bool]] = no_edits,
    ) -> None:
        self._handing = handing
        self._taking_over = TakingOver(records, quiet)
        self._records = records
        self._chats = chats
        self._on_posted = on_posted
        self._on_sent = on_sent
        self._on_opened = on_opened
        self._on_gone = on_gone
        self._refusals = Refusals(records, chats, render, on_opened)
        self._wake = asyncio.Event()
        self._draining: set[int] = set()

    def wake(self) -> None:
        """Look for owed posts now."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled; what is owed then is delivered after the next start."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                now = time.time()
                busy = frozenset(self._draining)
                items, later = await self._records.insist(outbox.take_due, busy, now)
                for item in items:
                    self._draining.add(item.conversation.id)
                    group.create_task(self._drain(item))
                wait_s = POLL_S if later is None else min(POLL_S, max(0.01, later - now))
                try:
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
                except TimeoutError:
                    continue

    async def settled(self) -> None:
        """Return when nothing is owed that could be sent now."""
        while True:
            due, _ = await self._records.do(outbox.conversations_due, time.time())
            if not due and not self._draining:
                return
            await asyncio.sleep(0.02)

    async def _drain(self, first: Outgoing) -> None:
        """Send ``first`` and what is owed to its conversation after it."""
        conversation_id = first.conversation.id
        item: Outgoing | None = first
        try:
            with speaking_at(first.conversation.key):
                while item is not None and await self._send(item):
                    item = await self._records.do(outbox.take_next, conversation_id, time.time())
        except Exception:  # the loop must live; the row stays owed and is tried again
            log.exception("delivery.broke", conversation=conversation_id)
            await asyncio.sleep(POLL_S)
        finally:
            self._draining.discard(conversation_id)
            self.wake()

    async def _send(self, item: Outgoing) -> bool:
        """One attempt; whether the conversation's next row may follow at once."""
        bound = {
            "outbox": item.id,
            "conversation": item.conversation.id,
            "kind": item.kind,
            "op": item.op,
        }
        chat = self._chats.get(item.conversation.key.chat)
        if chat is None:
            # Its adapter is off in this life: keep what is owed, look again later.
            await self._records.do(
                outbox.mark_busy, item.id, time.time() + MAX_WAIT_S, item.tried_at
            )
            return False
        log.debug("post.sending", attempt=item.attempts, **bound)
        try:
            async with asyncio.timeout(CALL_DEADLINE_S + (UPLOAD_S if item.files else 0.0)):
                posted = await self._act(chat, item)
        except ChatBusy as busy:
            wait_s = min(max(busy.retry_after_s, 0.05), MAX_WAIT_S)
            log.info("post.busy", wait_s=wait_s, **bound)
            await self._records.do(outbox.mark_busy, item.id, time.time() + wait_s, item.tried_at)
            return False
        except (ChatUnsure, TimeoutError) as error:
            return await self._unsure(item, str(error) or "no answer in time", bound)
        except ChatRefused as refused:
            return await self._refused(item, refused, bound)
        except Exception as error:  # a fault of ours or of a library: it may have taken effect
            log.exception("post.broke", **bound)
            return await self._unsure(item, type(error).__name__, bound)
        log.debug("post.sent", **bound)
        root = posted.root if item.op == "post" and not item.conversation.opened else None
        lost = await self._handing.lost(item, posted) if self._handing else ()
        gone = await self._records.insist(self._sent, item, posted, root, lost, time.time())
        log.debug("post.marked", **bound)
        if self._handing:
            self._handing.swept(item)
        if gone:
            self._on_gone()
        if item.op == "post":
            self._on_posted(item, posted.message_id)
        return True

    def _sent(
        self, item: Outgoing, posted: Posted, root: str | None, lost: tuple[Lost, ...], now: float
    ) -> bool:
        """The platform has it; its place, and a thread that it opened, may be news elsewhere.

        Whether it was deleted there already, and its answer is erased.
        """
        message_id = posted.message_id
        outbox.mark_sent(item.id, message_id, root, now)
        if self._handing:
            self._handing.sent(item, lost, now)
        if item.op == "post":
            live.taken_over(item, message_id)
            closed.opened(item.conversation.id)
            self._on_sent(item, message_id, now)
        if root is not None:
            self._on_opened(item.conversation.id, "", now)
        if item.op != "post" or item.kind != "answer":
            return False
        return erasure.erase_if_gone(item.conversation.key, message_id, now)

    async def _act(self, chat: Chat, item: Outgoing) -> Posted:
        key = item.conversation.key
        post = Post(
            nonce=item.nonce,
            text=item.text,
            buttons=item.buttons,
            opens=not item.conversation.opened,
            title=item.title,
            tried_at=item.tried_at,
            known_ids=item.known_ids,
            stream=item.stream,
            files=await self._handing.ready(item) if self._handing else (),
        )
        match item.op:
            case "post":
                taken = await self._taking_over.place(chat, item, post) if item.live else None
                return taken or await chat.post(key, post)
            case "edit" if item.target_message:
                await chat.edit(key, item.target_message, post)
            case "delete" if item.target_message:
                await chat.delete(key, item.target_message)
            case _:
                pass  # its post was refused for good: there is nothing to change
        return Posted("", key.root)

    async def _unsure(self, item: Outgoing, why: str, bound: dict[str, object]) -> bool:
        if item.attempts >= MAX_ATTEMPTS:
            return await self._refused(
                item, ChatRefused(f"no answer after {item.attempts} tries: {why}"), bound
            )
        wait_s = min(MAX_WAIT_S, 0.5 * 2**item.attempts) * random.uniform(0.8, 1.2)  # noqa: S311
        log.warning("post.unsure", why=why, wait_s=round(wait_s, 1), attempt=item.attempts, **bound)
        await self._records.do(outbox.mark_unsure, item.id, time.time() + wait_s)
        return False

    async def _refused(
        self, item: Outgoing, refused: ChatRefused, bound: dict[str, object]
    ) -> bool:
        log.warning("post.refused", why=str(refused), code=refused.code, **bound)
        return await self._refusals.settle(item, refused)
