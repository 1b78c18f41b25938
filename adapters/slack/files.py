"""Files of messages: what Slack says of them, and their bytes, with the token for Slack alone."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import aiohttp
import structlog

from adapters.slack.api import DEFAULT_RETRY_AFTER_S, Api, retry_after
from adapters.slack.text import files_of
from core.bounded import CHUNK, bounded
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Attachment
from core.tongue import say, to_say

log = structlog.get_logger()
Json = Mapping[str, Any]

SLACK = ("slack.com", "slack-gov.com")
CLIPS = ("slack_audio", "slack_video")
NOT_KEPT = frozenset(("tombstone", "hidden_by_limit"))
MAX_REDIRECTS = 3
HEARD_WITHIN_S = 12.0
LOOK_EVERY_S = 1.0
TIMES = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=20.0)
# As they are: what is unpacked on the way could be a thousand times larger.
PLAIN = {"Accept-Encoding": "identity"}

NO_SCOPE = to_say(
    "Slack does not let me read files: the app needs the scope files:read (add it on the app's "
    "page and re-install the app)"
)
GONE = to_say("it is no longer there on Slack")
ELSEWHERE = to_say("it is kept outside of Slack, so I cannot fetch it")


def attachments(message: Json) -> tuple[Attachment, ...]:
    """PURE: the files of a message, with those of a message that it shares.

    Those that were deleted or hidden are left out. Who shares a message brings its files.
    """
    return tuple(
        _attachment(file)
        for file in files_of(message)
        if file.get("id") and file.get("mode") not in NOT_KEPT
    )


def _attachment(file: Json) -> Attachment:
    outside = file.get("mode") == "external" or file.get("is_external")
    url = "" if outside else file.get("url_private_download") or file.get("url_private") or ""
    size = file.get("size")
    return Attachment(
        id=str(file["id"]),
        name=str(file.get("name") or file.get("title") or "unnamed"),
        mime=str(file.get("mimetype") or ""),
        size=size if isinstance(size, int) and size > 0 else 0,
        url=str(url),
        voice=file.get("subtype") in CLIPS,
        transcript=_transcript(file)[1],
    )


def _transcript(file: Json) -> tuple[str, str]:
    """How far Slack's own transcript of a clip is, and its text if all of it is told."""
    told = file.get("transcription") or {}
    shown = told.get("preview") or {}
    whole = told.get("status") == "complete" and not shown.get("has_more")
    return str(told.get("status") or ""), str(shown.get("content") or "").strip() if whole else ""


async def heard(api: Api, attachment: Attachment) -> str:
    """See :meth:`core.ports.Chat.heard`: asked for some seconds while Slack is at it."""
    if attachment.transcript or not attachment.voice:
        return attachment.transcript
    try:
        async with asyncio.timeout(HEARD_WITHIN_S):
            while True:
                file = (await api.call("files.info", file=attachment.id)).get("file") or {}
                state, text = _transcript(file)
                if state != "processing":
                    return text
                await asyncio.sleep(LOOK_EVERY_S)
    except (TimeoutError, ChatBusy, ChatUnsure, ChatRefused) as error:
        log.info("slack.no_transcript", why=str(error) or "not in time")
    return ""


async def download(api: Api, attachment: Attachment, limit_bytes: int) -> bytes:
    """See :meth:`core.ports.Chat.download`."""
    url = attachment.url or await _look_up(api, attachment)
    session = api.client.session
    try:
        if session is not None:
            return await _fetch(api, session, url, limit_bytes)
        async with aiohttp.ClientSession() as own:
            return await _fetch(api, own, url, limit_bytes)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        why = say("no answer from Slack ({name})", name=type(error).__name__)
        raise ChatBusy(DEFAULT_RETRY_AFTER_S, why) from error


async def _look_up(api: Api, attachment: Attachment) -> str:
    """Where a file is that came without an address (from a channel shared with others)."""
    file = (await api.call("files.info", file=attachment.id)).get("file") or {}
    found = _attachment({"id": attachment.id, **file})
    if not found.url:
        raise ChatRefused(say(ELSEWHERE), "external")
    return found.url


async def _fetch(api: Api, session: aiohttp.ClientSession, url: str, limit_bytes: int) -> bytes:
    for _ in range(MAX_REDIRECTS + 1):
        if not is_slack(url, api.client.base_url):
            # The token would go there.
            log.warning("slack.file_elsewhere", host=urlsplit(url).hostname)
            raise ChatRefused(say(ELSEWHERE), "elsewhere")
        headers = {**PLAIN, "Authorization": f"Bearer {api.client.token}"}
        async with session.get(
            url, headers=headers, proxy=api.client.proxy, allow_redirects=False, timeout=TIMES
        ) as answer:
            if answer.status in (301, 302, 303, 307, 308):
                url = urljoin(url, answer.headers.get("Location", ""))
                continue
            _check(answer)
            body = answer.content.iter_chunked(CHUNK)
            return await bounded(body, answer.content_length, limit_bytes)
    raise ChatRefused(say("Slack sent me from one place to another for it"), "redirects")


def is_slack(url: str, base_url: str) -> bool:
    """PURE: whether the token may go to an address for a file: Slack's own, or the API's host.

    Never to a method of the API, which the token would call (C157).
    """
    try:
        asked, api = urlsplit(url), urlsplit(base_url)
        path = posixpath.normpath("/" + unquote(unquote(asked.path))).casefold()
        if f"{path}/".startswith(("/api/", "//api/")):
            return False
        if _origin(asked) == _origin(api):
            return True
    except ValueError:
        return False
    host = asked.hostname or ""
    slack = any(host == name or host.endswith(f".{name}") for name in SLACK)
    return slack and asked.scheme == "https" and asked.port in (None, 443)


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port


def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status == 429:
        raise ChatBusy(retry_after(answer.headers))
    if answer.status >= 500:
        raise ChatBusy(DEFAULT_RETRY_AFTER_S, say("Slack answered {status}", status=answer.status))
    if answer.status in (401, 403):
        raise ChatRefused(say(NO_SCOPE), "missing_scope")
    if answer.status in (404, 410):
        raise ChatRefused(say(GONE), "file_not_found")
    if answer.status != 200:
        raise ChatRefused(say("Slack answered {status}", status=answer.status), str(answer.status))
    # Without the scope there is a page to sign in, with status 200; a file comes as an attachment.
    sent_as = answer.headers.get("Content-Disposition", "").strip().lower()
    if answer.content_type == "text/html" and not sent_as.startswith("attachment"):
        raise ChatRefused(say(NO_SCOPE), "missing_scope")
