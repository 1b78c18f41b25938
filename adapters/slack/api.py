"""Calls to Slack's Web API: one attempt each, with a deadline, and answers in our own errors."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.tongue import say, to_say

CALL_TIMEOUT_S = 20.0
DEFAULT_RETRY_AFTER_S = 5.0
BUSY = frozenset(("ratelimited", "rate_limited", "message_limit_exceeded"))
# Slack's own troubles: whether the call took effect is not known.
UNSURE = frozenset(("internal_error", "fatal_error", "service_unavailable", "request_timeout"))
BAD_LAYOUT = frozenset(
    ("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "invalid_attachments")
)
# About the place, or about us everywhere: nothing can be posted until that changes.
CLOSED = frozenset(
    (
        "is_archived",
        "not_in_channel",
        "channel_not_found",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "restricted_action_thread_locked",
        "restricted_action_non_threadable_channel",
        "ekm_access_denied",
        "invalid_auth",
        "not_authed",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "missing_scope",
    )
)
GONE = frozenset(("thread_not_found", "message_not_found", "cannot_reply_to_message"))
WHY = {
    "is_archived": to_say("The channel is archived; un-archive it, or ask in another one."),
    "not_in_channel": to_say("I am not a member of this channel; invite me with `/invite`."),
    "channel_not_found": to_say("I cannot see this channel; invite me with `/invite`."),
    "thread_not_found": to_say("The thread is gone; its first message was deleted."),
    "cannot_reply_to_message": to_say("This message cannot be answered in a thread."),
    "message_not_found": to_say("The message is gone."),
    "cant_update_message": to_say("Only my own messages can be changed."),
    "edit_window_closed": to_say(
        "The workspace does not let messages be edited any more after this time."
    ),
    "msg_too_long": to_say("The message is too long for Slack."),
    "restricted_action_read_only_channel": to_say(
        "Only some may post in this channel; ask an admin."
    ),
    "restricted_action_thread_locked": to_say("The thread is locked; an admin can unlock it."),
    "restricted_action": to_say("The workspace's settings do not let me post here; ask an admin."),
    "invalid_auth": to_say("Slack refuses the bot token; copy it again from the app's page."),
    "not_authed": to_say("No bot token was sent; set MOOT__SLACK__BOT_TOKEN."),
    "token_revoked": to_say(
        "The bot token was revoked; re-install the app and copy the new token."
    ),
    "token_expired": to_say("The bot token expired; re-install the app and copy the new token."),
    "account_inactive": to_say("The app was removed from the workspace; install it again."),
    "not_allowed_token_type": to_say("Wrong kind of token: xoxb- is the bot's, xapp- the app's."),
}


class _SdkErrors(logging.Handler):
    """Passes the SDK's errors on, short, and each kind at most once a minute.

    Below ERROR it logs whole payloads; while Slack is away it logs a trace every few seconds.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._told: dict[tuple[str, int], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        now, place = time.monotonic(), (record.funcName, record.lineno)
        if now - self._told.get(place, -60.0) >= 60.0:
            self._told[place] = now
            log.warning("slack.sdk", where=record.funcName, error=record.getMessage()[:200])


log = structlog.get_logger()
sdk_logger = logging.getLogger("moot.slack.sdk")
sdk_logger.setLevel(logging.ERROR)
sdk_logger.propagate = False
sdk_logger.handlers = [_SdkErrors()]


class Api:
    """A Web API client for one token.

    ``base_url`` empty means the real Slack. A running session may be lent by ``use``; without one
    every call opens its own connection.
    """

    def __init__(self, token: str, base_url: str = "", session: Any = None) -> None:
        more = {"base_url": base_url} if base_url else {}
        # No retry handlers: the SDK's own one sends again after a cut, and posts appear twice.
        self._busy: dict[tuple[str, str], float] = {}
        self.client = AsyncWebClient(
            token=token or None, retry_handlers=[], logger=sdk_logger, session=session, **more
        )
        if urlsplit(self.client.base_url).hostname in ("127.0.0.1", "localhost", "::1"):
            self.client.proxy = None  # the SDK would send loopback calls to HTTPS_PROXY

    def use(self, session: aiohttp.ClientSession | None) -> None:
        """Lend a running session, or take it back with ``None``."""
        self.client.session = session

    async def call(
        self, method: str, *, timeout_s: float = CALL_TIMEOUT_S, **args: Any
    ) -> Mapping[str, Any]:
        """Call ``method`` once; ``None`` arguments are left out. Returns the answer's fields.

        Raises:
            ChatBusy: Slack asks to wait; nothing took effect.
            ChatUnsure: no answer, or one that leaves open whether the call took effect.
            ChatRefused: anything else; ``code`` is Slack's word for it.
        """
        return (await self.call_with_headers(method, timeout_s=timeout_s, **args))[0]

    async def call_with_headers(
        self, method: str, *, timeout_s: float = CALL_TIMEOUT_S, **args: Any
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """As ``call``, with the answer's headers (``x-oauth-scopes``)."""
        data = {k: _form(v) for k, v in args.items() if v is not None}
        limit = (method, str(data.get("channel") or ""))
        self._heed(limit)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self.client.api_call(method, data=data)
        except SlackApiError as error:
            failure = _translated(method, error.response)
            if isinstance(failure, ChatBusy):
                self._busy[limit] = time.monotonic() + failure.retry_after_s
            raise failure from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ChatUnsure(
                say(
                    "No answer from Slack to {method} ({name}).",
                    method=method,
                    name=type(error).__name__,
                )
            ) from error
        except AttributeError as error:  # how the SDK meets a plain text with status 200
            raise ChatUnsure(
                say("Something else than Slack answered {method}.", method=method)
            ) from error
        fields = answer.data if isinstance(answer.data, dict) else {}
        return fields, answer.headers

    def _heed(self, limit: tuple[str, str]) -> None:
        """Limits are per method and channel: whoever is told to wait holds up nobody else.

        Raises:
            ChatBusy: Slack asked to wait, a moment ago; it is not asked again before that is over.
        """
        now = time.monotonic()
        left_s = self._busy.get(limit, now) - now
        if left_s > 0:
            raise ChatBusy(left_s)
        if self._busy:
            self._busy = {one: until for one, until in self._busy.items() if until > now}

    async def respond(self, url: str, message: dict[str, Any], timeout_s: float) -> None:
        """Post to the ``response_url`` that came with an interaction. Raises as ``call``."""
        hook = AsyncWebhookClient(
            url, session=self.client.session, retry_handlers=[], logger=sdk_logger
        )
        hook.proxy = self.client.proxy
        try:
            async with asyncio.timeout(timeout_s):
                answer = await hook.send_dict(message)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ChatUnsure(
                say("No answer from Slack ({name}).", name=type(error).__name__)
            ) from error
        if answer.status_code != 200:
            raise ChatRefused(
                say(
                    "Slack refused a private note ({status_code}).", status_code=answer.status_code
                ),
                answer.body,
            )


def _form(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value)
    return value


def _translated(method: str, answer: Any) -> ChatBusy | ChatUnsure | ChatRefused:
    status = getattr(answer, "status_code", None) or getattr(answer, "status", 0)
    data = getattr(answer, "data", None)
    fields = data if isinstance(data, dict) else {}
    code = str(fields.get("error") or "")
    if status == 429 or code in BUSY:
        return ChatBusy(retry_after(getattr(answer, "headers", {}) or {}))
    if status >= 500 or code in UNSURE or not code:
        return ChatUnsure(
            say("Slack is in trouble ({code}) at {method}.", code=code or status, method=method)
        )
    if code == "missing_scope":
        needed = str(fields.get("needed") or "a scope")
        why = say(
            "The app lacks the scope {needed}; add it on the app's page and re-install the app.",
            needed=needed,
        )
        return ChatRefused(why, code, closed=True)
    refused = say("Slack refused {method}: {code}.", method=method, code=code)
    why = say(WHY[code]) if code in WHY else refused
    if method == "apps.connections.open":  # the one call that is made with the other token
        why = why.replace("bot token", "app token").replace("BOT_TOKEN", "APP_TOKEN")
    return ChatRefused(why, code, closed=code in CLOSED)


def retry_after(headers: Mapping[str, str]) -> float:
    """How long an answer asks to wait, in seconds."""
    lower = {k.lower(): v for k, v in headers.items()}
    try:
        wait_s = float(lower.get("retry-after", DEFAULT_RETRY_AFTER_S))
    except ValueError:  # a date, or anything else that a proxy makes up
        return DEFAULT_RETRY_AFTER_S
    return max(wait_s, 0.0) if math.isfinite(wait_s) else DEFAULT_RETRY_AFTER_S
