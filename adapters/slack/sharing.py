"""Files of ours into a thread: asked for an address, sent there, shared, and looked for before.

A file is shared by a message of its own, below the text that it goes with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import structlog

from adapters.slack import history
from adapters.slack.api import Api
from adapters.slack.events import Identity, ours
from adapters.slack.files import TIMES
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import ConversationKey, OutFile
from core.tongue import say

log = structlog.get_logger()
Json = Mapping[str, Any]
Lost = tuple[tuple[str, str], ...]

FILE_BYTES = 1_000_000_000
BUSY_TRIES = 3
LONGEST_PAUSE_S = 20.0
SHARED_WITHIN_S = 6.0
LOOK_EVERY_S = 0.3


async def share(
    api: Api,
    key: ConversationKey,
    root: str,
    files: Sequence[OutFile],
    *,
    me: Identity,
    after: str = "",
) -> Lost:
    """Share ``files`` in the thread of ``root`` ("": the direct messages themselves).

    ``after`` is the ts of the text that they go with, where an earlier attempt may have shared
    them: what stands below it already is not shared again. Returns which were refused, and why.

    Raises:
        ChatUnsure: they may have been shared; a later call looks.
    """
    there = await _shared(api, key, root, after, me) if after else frozenset[tuple[str, int]]()
    lost: list[tuple[str, str]] = []
    sent: list[tuple[str, OutFile]] = []
    for file in files:
        if (file.name, file.size) in there:
            continue
        try:
            sent.append((await _patiently(_send, api, file), file))
        except ChatRefused as refused:
            lost.append((file.name, str(refused)))
        except OSError as error:
            lost.append((file.name, error.strerror or type(error).__name__))
    if sent:
        lost += await _complete(api, key, root, sent)
    return tuple(lost)


async def _patiently(act: Any, *args: Any) -> Any:
    """Wait and try again where Slack asks to; after that it is not known what took effect."""
    for last in (False,) * (BUSY_TRIES - 1) + (True,):
        try:
            return await act(*args)
        except ChatBusy as busy:
            if last or busy.retry_after_s > LONGEST_PAUSE_S:
                raise ChatUnsure(str(busy)) from busy
            await asyncio.sleep(busy.retry_after_s)
    raise AssertionError("the last try returns or raises")


async def _send(api: Api, file: OutFile) -> str:
    """The bytes of a file to Slack, where nobody sees them yet; its id there."""
    data = await asyncio.to_thread(file.path.read_bytes)
    given = await api.call("files.getUploadURLExternal", filename=file.name, length=len(data))
    session = api.client.session
    try:
        if session is not None:
            await _upload(session, str(given["upload_url"]), data, api.client.proxy)
        else:
            async with aiohttp.ClientSession() as own:
                await _upload(own, str(given["upload_url"]), data, api.client.proxy)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ChatUnsure(
            say("No answer from Slack to an upload ({name}).", name=type(error).__name__)
        ) from error
    return str(given["file_id"])


async def _upload(session: aiohttp.ClientSession, url: str, data: bytes, proxy: str | None) -> None:
    async with session.post(url, data=data, proxy=proxy, timeout=TIMES) as answer:
        if answer.status == 429 or answer.status >= 500:
            raise ChatUnsure(say("Slack answered {status} to an upload.", status=answer.status))
        if answer.status == 413:
            raise ChatRefused(say("it is too large for Slack"), "too_large")
        if answer.status != 200:
            why = say("Slack refused it ({status})", status=answer.status)
            raise ChatRefused(why, str(answer.status))


async def _complete(
    api: Api, key: ConversationKey, root: str, sent: Sequence[tuple[str, OutFile]]
) -> Lost:
    channel = key.channel
    try:
        if channel.startswith("U"):  # a person's id stands for the direct messages with them
            opened: Any = await api.call("conversations.open", users=channel)
            channel = str(opened["channel"]["id"])
        await _patiently(_share, api, channel, root, sent)
    except ChatRefused as refused:
        return tuple((file.name, str(refused)) for _, file in sent)
    except ChatUnsure:  # a share that took effect may come into sight after a later call's look
        if not await _are_shown(api, sent):
            raise
        return ()
    await _are_shown(api, sent)
    return ()


async def _share(api: Api, channel: str, root: str, sent: Sequence[tuple[str, OutFile]]) -> None:
    await api.call(
        "files.completeUploadExternal",
        files=[{"id": ident, "title": file.name} for ident, file in sent],
        channel_id=channel,
        thread_ts=root or None,
    )


async def _are_shown(api: Api, sent: Sequence[tuple[str, OutFile]]) -> bool:
    """Slack shares in its own time: what follows in the thread waits for it, but not for long."""
    try:
        async with asyncio.timeout(SHARED_WITHIN_S):
            left = [ident for ident, _ in sent]
            while left:
                told: Any = (await api.call("files.info", file=left[0])).get("file")
                if told and told.get("shares"):
                    left.pop(0)
                else:  # Slack tells of it by no event that is sure to come
                    await asyncio.sleep(LOOK_EVERY_S)
    except (TimeoutError, ChatBusy, ChatUnsure, ChatRefused) as error:
        log.info("slack.share_not_seen", why=str(error) or "in time")
        return False
    return True


async def _shared(
    api: Api, key: ConversationKey, root: str, after: str, me: Identity
) -> frozenset[tuple[str, int]]:
    """(name, size) of the files of ours that stand below a text of ours already."""
    found: set[tuple[str, int]] = set()
    place = ConversationKey(key.chat, key.space, key.channel, root)
    try:
        async for message in history.messages(api, place, oldest=after):
            if ours(message, me) and float(str(message.get("ts") or "0")) > float(after):
                found |= {
                    (str(file.get("title") or file.get("name")), int(file.get("size") or 0))
                    for file in message.get("files") or ()
                }
    except ChatRefused as error:
        if error.code != "missing_scope":
            raise
        log.warning("slack.cannot_look", error=str(error))
    return frozenset(found)
