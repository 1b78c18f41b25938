"""Slack's own growing messages: chat.startStream, chat.appendStream, chat.stopStream.

A stream has to be a reply, has somebody it is for, and is ended by Slack after some five minutes,
also while it grows; after that only ``chat.update`` changes its message. Where streams cannot be
had (an older workspace, a missing right), that is remembered until the next start.
"""

from __future__ import annotations

import re
from collections import OrderedDict

import structlog

from adapters.slack.api import Api
from core.errors import ChatBusy, ChatRefused
from core.model import ConversationKey, Post

log = structlog.get_logger()

STREAM_S = 240.0
THREADS_MAX = 1_000
STREAM_CHARS = 10_000  # of the 12,000 that Slack takes in one call
OVER = frozenset(("message_not_in_streaming_state", "message_not_found"))
# About the workspace or the app: it is the same everywhere.
NOWHERE = frozenset(
    (
        "unknown_method",
        "method_deprecated",
        "missing_scope",
        "not_allowed",
        "not_allowed_token_type",
        "access_denied",
        "no_permission",
        "feature_not_enabled",
        "team_access_not_granted",
    )
)
# Slack reads these in Markdown, too, where a backslash and an entity stand for what they spell:
# nothing that an agent writes may ping. What is added next may go on with a word at the end.
_PING = re.compile(
    r"(?:<|&lt;|&LT;|&#0*60;|&#[xX]0*3[cC];)(?=\\?(?:[!@#]|&|\Z))"
    r"|(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=\\?(?:(?:here|channel|everyone)\b|&|[a-z]{0,8}\Z))"
)
_APART = "\u200b"


def harmless(markdown: str) -> str:
    """Markdown in which nothing pings anybody."""
    return _PING.sub(lambda found: found[0] + _APART, markdown)


class Growing:
    """Streams of one workspace."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._nowhere = False
        self._not_in: OrderedDict[tuple[str, str], None] = OrderedDict()  # threads

    def may_be_in(self, key: ConversationKey) -> bool:
        """Whether there may be one in this thread, as far as is known."""
        return bool(key.root) and not self._nowhere and (key.channel, key.root) not in self._not_in

    async def begin(self, key: ConversationKey, root: str, post: Post) -> str:
        """Begin one for ``post.stream``; the message's ts.

        Raises:
            ChatRefused: there are none, here or anywhere; as ``Api.call`` for the rest.
        """
        direct = key.channel.startswith("D")
        try:
            answer = await self._api.call(
                "chat.startStream",
                channel=key.channel,
                thread_ts=root,
                markdown_text=f"{harmless(post.text)}\n\n",
                recipient_user_id=None if direct else post.stream,
                recipient_team_id=None if direct else key.space,
            )
        except ChatRefused as refused:
            if refused.code in NOWHERE:
                self._nowhere = True
            self._not_in[key.channel, key.root] = None
            while len(self._not_in) > THREADS_MAX:
                self._not_in.popitem(last=False)
            log.info("slack.no_streams", code=refused.code, anywhere=self._nowhere)
            raise ChatRefused(str(refused), refused.code) from refused  # the place is not closed
        except ChatBusy as busy:  # what is behind it must not wait
            raise ChatRefused(str(busy), "busy") from busy
        return str(answer["ts"])

    async def append(self, key: ConversationKey, ts: str, markdown: str) -> None:
        """See :meth:`core.ports.Streams.append`."""
        try:
            await self._api.call(
                "chat.appendStream",
                channel=key.channel,
                ts=ts,
                markdown_text=harmless(markdown),
            )
        except ChatRefused as refused:
            if refused.code == "stopped_by_user":
                raise ChatRefused("A reader has stopped it.", "stopped") from refused
            code = "over" if refused.code in OVER else refused.code
            raise ChatRefused(str(refused), code) from refused

    async def finish(self, key: ConversationKey, ts: str) -> None:
        """See :meth:`core.ports.Streams.finish`."""
        try:
            await self._api.call("chat.stopStream", channel=key.channel, ts=ts)
        except ChatRefused as refused:
            log.debug("slack.stream_over", code=refused.code)
