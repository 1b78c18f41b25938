"""Files of ours with a message: as many as Discord takes, the others named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import discord
import structlog

from core.model import OutFile
from core.tongue import say

log = structlog.get_logger(__name__)

FILE_BYTES = 10 * 2**20  # of each, where a server has not been boosted
FILES = 10
TOO_LARGE = 40005
MISSING_PERMISSIONS = 50013
Lost = tuple[tuple[str, str], ...]


@contextmanager
def opened(files: Sequence[OutFile]) -> Generator[list[discord.File]]:
    """The files as discord.py sends them, closed in the end; without those that cannot be read."""
    with ExitStack() as stack:
        found: list[discord.File] = []
        for file in files:
            try:
                one = discord.File(file.path, filename=file.name)
            except OSError as error:  # trouble of ours, that no further try helps against
                log.warning("discord.file_not_read", why=error.strerror)
                continue
            stack.callback(one.close)
            found.append(one)
        yield found


async def send_what_fits(
    send: Callable[[Sequence[OutFile]], Awaitable[Any]], files: Sequence[OutFile]
) -> tuple[Any, Lost]:
    """The message, sent with its files, and which it goes without, and why.

    Without the largest where they are too large; without any where Discord refuses it for another
    reason and takes it so.
    """
    left = list(files[:FILES])
    lost = [
        (one.name, say("one message takes {count} files", count=FILES)) for one in files[FILES:]
    ]
    while True:
        try:
            return await send(left), tuple(lost)
        except discord.NotFound:
            raise
        except discord.HTTPException as error:
            if not left or not 400 <= error.status < 429:
                raise
            if error.status == 413 or error.code == TOO_LARGE:
                largest = max(left, key=lambda file: file.size)
                left.remove(largest)
                lost.append((largest.name, say("it is too large for Discord")))
                continue
            why = say("I may not attach files here")
            if error.code != MISSING_PERMISSIONS:
                why = say("Discord refused it: {why}", why=error.text or str(error.status))
            lost += [(one.name, why) for one in left]
            left.clear()


def missing(message: Any, files: Sequence[OutFile]) -> Lost:
    """Which files a message that was found does not have: an earlier attempt went without them."""
    there = [one.filename for one in message.attachments]
    if len(there) >= len(files):
        return ()  # Discord writes some names otherwise
    why = say("Discord did not take it")
    return tuple((file.name, why) for file in files if file.name not in there)
