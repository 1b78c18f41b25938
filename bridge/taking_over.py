"""An answer that readers have seen being written: its first piece takes that message's place."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import structlog

from core.errors import ChatBusy, ChatRefused
from core.model import Outgoing, Post, Posted
from core.ports import Chat
from core.records import live
from core.records.thread import Records

log = structlog.get_logger()

PATIENCE_S = 3.0  # a platform that wants edits to wait for longer gets a new message instead


async def no_edits(run_id: str) -> bool:
    """A ``quiet`` of somebody who edits nothing."""
    del run_id
    return True


class TakingOver:
    """Part of ``Delivery``. ``quiet`` waits for edits of a run's message that are on their way.

    An edit is repeated without harm, so an attempt that may have taken effect is simply made again.
    Where no edit is possible, the post becomes a new message and the old one's deletion is owed,
    both durable before anything is posted.
    """

    def __init__(self, records: Records, quiet: Callable[[str], Awaitable[bool]]) -> None:
        self._records = records
        self._quiet = quiet

    async def place(self, chat: Chat, item: Outgoing, post: Post) -> Posted | None:
        """Show ``post`` in the message that stands already; None: it has to be a new one.

        Raises as ``Chat.edit``, but for what a new message helps against.
        """
        if not item.files and await self._quiet(item.run_id):
            key = item.conversation.key
            try:
                await chat.edit(key, item.live, post)
            except ChatRefused as refused:
                log.info("live.not_taken_over", outbox=item.id, code=refused.code)
            except ChatBusy as busy:
                if busy.retry_after_s <= PATIENCE_S:
                    raise
            else:
                return Posted(item.live, key.root)
        await self._records.do(live.post_anew, item, time.time())
        return None
