"""A question in a thread that Moot has not seen: what was said there before is read once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from core.errors import ChatBusy, ChatUnsure
from core.markup.measure import well_formed
from core.model import Conversation, Missing, Said
from core.records import history
from core.redact import redact
from core.turns.house import House

log = structlog.get_logger()

DEADLINE_S = 30.0  # in all: somebody waits for an answer
LIMIT = 200  # messages: the thread's first one and the newest
FIRST_PAUSE_S = 0.5


async def catch_up(conversation: Conversation, house: House) -> tuple[Missing, ...]:
    """Read a thread's earlier messages, unless they were; returns what of them is not known.

    A platform that asks to wait is waited for, if that ends within the deadline. What cannot be
    read is tried again with the next question, and this one's pack says so (``all``).
    """
    if conversation.caught_up:
        return conversation.missing
    try:
        async with asyncio.timeout(DEADLINE_S):
            said = await _patiently(conversation, house)
    except Exception as error:  # noqa: BLE001 - whatever the platform has: the turn goes on without
        why = str(error)[:200] or type(error).__name__
        log.warning("history.failed", conversation=conversation.id, error=why)
        return ("all",)
    clean = tuple(map(_clean, said))
    return await house.records.do(history.take_in, conversation.id, conversation.key.chat, clean)


async def _patiently(conversation: Conversation, house: House) -> tuple[Said, ...]:
    pause_s, clock = FIRST_PAUSE_S, asyncio.get_running_loop().time
    until = clock() + DEADLINE_S
    while True:
        try:
            return await house.history(conversation.key, LIMIT)
        except ChatBusy as busy:
            pause_s = max(busy.retry_after_s, FIRST_PAUSE_S)
            if clock() + pause_s >= until:
                raise
        except ChatUnsure:  # reading twice does no harm
            pause_s *= 2
            if clock() + pause_s >= until:
                raise
        log.info("history.waits", conversation=conversation.id, seconds=round(pause_s, 1))
        await asyncio.sleep(pause_s)


def _clean(item: Said) -> Said:
    """As it may be kept: without secrets that somebody pasted, and in whole characters."""
    return replace(
        item,
        author=replace(item.author, name=well_formed(item.author.name)),
        text=redact(well_formed(item.text)),
        attachments=tuple(
            replace(one, name=redact(well_formed(one.name))) for one in item.attachments
        ),
    )
