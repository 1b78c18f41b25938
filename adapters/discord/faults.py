"""What Discord's refusals mean, in words for people, and whether to try again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import discord

from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.tongue import say, to_say

# discord.py waits out short rate limits and 5xx itself (up to 25 s in all); past this it is lost.
DEADLINE_S = 60.0
BAN_PAUSE_S = 60.0

LOCKED = "locked"
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE = 10003, 10008
EDITED_TOO_OFTEN = 30046
WRONG_CHANNEL_TYPE, SYSTEM_MESSAGE = 50024, 50021
THREAD_EXISTS, THREAD_LOCKED = 160004, 160005
# About the place, or about us everywhere: nothing can be posted until that changes. No access, no
# direct messages with this person, no permission, the thread is locked, too many open threads.
CLOSED = frozenset((50001, 50007, 50013, THREAD_LOCKED, 160006))

_WORDS = {
    10003: to_say("The channel or thread is gone."),
    10008: to_say("The message is gone."),
    30046: to_say("Discord does not let a message older than an hour be edited this often."),
    40005: to_say("The message is too large for Discord."),
    50001: to_say("Moot cannot see this channel: give its role “View Channel” there."),
    50007: to_say("This person does not take direct messages from Moot."),
    50013: to_say(
        "Moot lacks a permission here. Its role needs “Send Messages”, “Send Messages in "
        "Threads”, “Create Public Threads” and “Read Message History” in this channel."
    ),
    50083: to_say("The thread is archived."),
    160005: to_say("The thread is locked. Unlock it, or give Moot's role “Manage Threads”."),
    160006: to_say("There are too many open threads in this channel; archive some."),
}


def refusal(error: discord.HTTPException) -> ChatRefused:
    """Discord said no, and would again."""
    if error.status == 401:
        return ChatRefused(
            say("Discord refuses the token; set MOOT__DISCORD__TOKEN anew."), "401", closed=True
        )
    code = LOCKED if error.code == THREAD_LOCKED else str(error.code or error.status)
    words = say("Discord refused it: {text}", text=error.text or error.status)
    if error.code in _WORDS:
        words = say(_WORDS[error.code])
    return ChatRefused(words, code, closed=error.code in CLOSED)


@asynccontextmanager
async def answered(deadline_s: float = DEADLINE_S) -> AsyncIterator[None]:
    """Turn what a request to Discord may raise into the three errors the house knows.

    Raises:
        ChatBusy: rate limited; nothing took effect.
        ChatUnsure: no answer, or a failure on Discord's side: it may have taken effect.
        ChatRefused: any other refusal.
    """
    try:
        async with asyncio.timeout(deadline_s):
            yield
    except discord.RateLimited as busy:
        raise ChatBusy(busy.retry_after) from busy
    except discord.HTTPException as error:
        if (
            error.status == 429 and error.code != EDITED_TOO_OFTEN
        ):  # without a Via header: Cloudflare turned us away, not Discord
            after = error.response.headers.get("Retry-After", "")
            pause = float(after) if after.replace(".", "", 1).isdigit() else BAN_PAUSE_S
            raise ChatBusy(pause, say("turned away by Discord's front")) from error
        if error.status >= 500 or error.status == 408:
            raise ChatUnsure(say("Discord answered {status}", status=error.status)) from error
        raise refusal(error) from error
    except (TimeoutError, OSError, aiohttp.ClientError) as error:
        raise ChatUnsure(
            say("no answer from Discord ({name})", name=type(error).__name__)
        ) from error
