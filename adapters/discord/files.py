"""Files of messages: what Discord says of them, and their bytes. No token goes with that."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import aiohttp
import discord
import structlog

from adapters.discord.faults import answered
from adapters.discord.wording import one_line
from core.bounded import CHUNK, bounded
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Attachment
from core.tongue import say, to_say

log = structlog.get_logger(__name__)

HOSTS = frozenset(("cdn.discordapp.com", "media.discordapp.net"))
PAUSE_S = 2.0
LOOK_UP_S = 15.0
TIMES = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=20.0)
# As they are: what is unpacked on the way could be a thousand times larger.
PLAIN = {"Accept-Encoding": "identity"}

GONE = to_say("it is no longer there on Discord")
ELSEWHERE = to_say("its address is none of Discord's, so I do not fetch it")


def attachments(message: Any) -> tuple[Attachment, ...]:
    """The files of a message, with those of a message that it forwards: who forwards brings them.

    An id says where to look when the address has run out: channel, message and file.
    """
    files = list(message.attachments)
    files += [file for snapshot in message.message_snapshots for file in snapshot.attachments]
    return tuple(
        Attachment(
            id=f"{message.channel.id}/{message.id}/{file.id}",
            name=one_line(file.filename) or "unnamed",
            mime=file.content_type or "",
            size=max(file.size, 0),
            url=file.url,
            voice=file.is_voice_message(),
        )
        for file in files
    )


async def download(
    client: discord.Client | None, attachment: Attachment, limit_bytes: int, api_url: str
) -> bytes:
    """See ``Chat.download``. An address runs out after a day: then the message tells a new one."""
    # Not the client's own session, which is for the API.
    async with aiohttp.ClientSession(timeout=TIMES, headers=PLAIN) as session:
        try:
            found = await _fetch(session, attachment.url, limit_bytes, api_url)
            if found is None and client is not None:
                url = await _look_up(client, attachment)
                found = await _fetch(session, url, limit_bytes, api_url)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = say("no answer from Discord ({name})", name=type(error).__name__)
            raise ChatBusy(PAUSE_S, why) from error
    if found is None:
        raise ChatRefused(say(GONE), "404")
    return found


async def _look_up(client: discord.Client, attachment: Attachment) -> str:
    """Where the file is now; "" when the message has it no more."""
    channel, message, file = attachment.id.split("/")
    try:
        async with answered(LOOK_UP_S):
            place = client.get_partial_messageable(int(channel))
            told = await place.fetch_message(int(message))
    except ChatUnsure as error:
        raise ChatBusy(PAUSE_S, str(error)) from error
    files = list(told.attachments)
    files += [one for snapshot in told.message_snapshots for one in snapshot.attachments]
    return next((one.url for one in files if str(one.id) == file), "")


async def _fetch(
    session: aiohttp.ClientSession, url: str, limit_bytes: int, api_url: str
) -> bytes | None:
    """The bytes; ``None`` when the address is good for nothing (any more)."""
    if not url:
        return None
    if not is_discord(url, api_url):
        log.warning("discord.file_elsewhere", host=urlsplit(url).hostname)
        raise ChatRefused(say(ELSEWHERE), "elsewhere")
    async with session.get(url, allow_redirects=False) as answer:
        if answer.status in (403, 404, 410):
            return None
        if answer.status == 429 or answer.status >= 500:
            after = answer.headers.get("Retry-After", "")
            pause = float(after) if after.replace(".", "", 1).isdigit() else PAUSE_S
            raise ChatBusy(pause, say("Discord answered {status}", status=answer.status))
        if answer.status in (301, 302, 303, 307, 308):
            raise ChatRefused(say(ELSEWHERE), "redirect")
        if answer.status != 200:
            raise ChatRefused(
                say("Discord answered {status}", status=answer.status), str(answer.status)
            )
        body = answer.content.iter_chunked(CHUNK)
        return await bounded(body, answer.content_length, limit_bytes)


def is_discord(url: str, api_url: str) -> bool:
    """Whether an address is of Discord's store of files, or where its API was set to be."""
    asked = _origin(url)
    return (bool(api_url) and asked == _origin(api_url)) or (
        asked[0] == "https" and asked[1] in HOSTS and asked[2] in (None, 443)
    )


def _origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; of what is no address (or none), something that is like no other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", url, None
    return parts.scheme, parts.hostname or url, port
