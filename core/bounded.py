"""The body of an answer from outside, taken up to a limit and no further."""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.errors import ChatRefused
from core.tongue import say_later

CHUNK = 2**16


async def bounded(pieces: AsyncIterator[bytes], declared: int | None, limit_bytes: int) -> bytes:
    """All of a body; ``declared`` is its length as it was told, if it was.

    Raises:
        ChatRefused: it is larger than ``limit_bytes``.
    """
    why = say_later("it is larger than {bytes} bytes, which is the limit", bytes=limit_bytes)
    too_large = ChatRefused(why, "too_large")
    if (declared or 0) > limit_bytes:
        raise too_large
    data = bytearray()
    async for piece in pieces:
        data += piece
        if len(data) > limit_bytes:
            raise too_large
    return bytes(data)
