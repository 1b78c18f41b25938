"""Once a newer answer stands, the controls of the earlier one go. Best effort, never in the way.

A press that comes before that, or after it could not be done, is answered all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from core.errors import ChatRefused, MootError
from core.model import Outgoing, Post
from core.ports import Chat
from core.records import controls
from core.records.controls import Earlier
from core.records.thread import Records

log = structlog.get_logger()

AFTER_S = 1.0  # what else is to be posted comes first
CALL_S = 10.0
MAX_WAITING = 200


class Tidying:
    """``run`` until cancelled; ``posted`` is told what was posted."""

    def __init__(self, records: Records, chats: Mapping[str, Chat]) -> None:
        self._records = records
        self._chats = chats
        self._waiting: asyncio.Queue[Outgoing] = asyncio.Queue(MAX_WAITING)

    def posted(self, item: Outgoing, message_id: str) -> None:
        """Something was posted; only answers with controls matter."""
        del message_id
        if item.kind == "answer" and item.op == "post" and item.buttons:
            try:
                self._waiting.put_nowait(item)
            except asyncio.QueueFull:
                log.debug("tidying.skipped", conversation=item.conversation.id)

    async def run(self) -> None:
        """Take the controls away, one conversation after the other."""
        while True:
            item = await self._waiting.get()
            await asyncio.sleep(AFTER_S)
            try:
                for one in await self._records.do(controls.earlier, item.conversation.id, item.id):
                    await self._take_away(item, one)
            except MootError as error:
                log.debug("tidying.not_now", why=type(error).__name__)
            except Exception:  # a courtesy must not end Moot, whatever is wrong with it
                log.exception("tidying.broke")

    async def _take_away(self, item: Outgoing, one: Earlier) -> None:
        chat = self._chats[item.conversation.key.chat]
        if one.text and one.message_id:
            try:
                async with asyncio.timeout(CALL_S):
                    post = Post(nonce="", text=one.text)
                    await chat.edit(item.conversation.key, one.message_id, post)
            except ChatRefused as refused:  # it is gone, or too old to be changed
                log.debug("tidying.refused", code=refused.code)
            except (MootError, TimeoutError) as error:
                log.debug("tidying.skipped", why=type(error).__name__)
                return  # the next answer has it taken away
        await self._records.do(controls.gone, one.id)
