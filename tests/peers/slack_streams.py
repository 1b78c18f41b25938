"""Messages that grow, as Slack has them: chat.startStream, chat.appendStream, chat.stopStream."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.peers.slack_api import WebApi

Json = dict[str, Any]
MARKDOWN_MAX = 12_000


@dataclass
class Stream:
    """One message; it grows until ``until``, or until somebody has stopped it."""

    text: str
    until: float
    stopped: str = ""


class Streams:
    """The three methods. ``refused`` is what startStream says ("" = it works).

    ``lasts_s`` is how long a stream grows: some five minutes on Slack, also while it is added to.
    """

    def __init__(self, api: WebApi) -> None:
        self._api = api
        self.refused = ""
        self.lasts_s = 300.0
        self.by_ts: dict[tuple[str, str], Stream] = {}

    def stop_all(self) -> None:
        """A reader stops whatever grows."""
        for stream in self.by_ts.values():
            stream.stopped = stream.stopped or "stopped_by_user"

    async def _chat_startStream(self, args: Json) -> Json:  # noqa: N802 - named after the method
        if self.refused:
            return {"ok": False, "error": self.refused}
        channel, root, text = args["channel"], args.get("thread_ts"), args.get("markdown_text", "")
        if not root:
            return {"ok": False, "error": "invalid_thread_ts"}
        if channel[0] != "D" and not (
            args.get("recipient_user_id") and args.get("recipient_team_id")
        ):
            return {"ok": False, "error": "missing_recipient_user_id"}
        if len(text) > MARKDOWN_MAX:
            return {"ok": False, "error": "msg_too_long"}
        made = await self._api.call(
            "chat.postMessage",
            {"channel": channel, "thread_ts": root, "text": text.strip() or "…"},
            self._api.app["botToken"],
        )
        self.by_ts[channel, made["ts"]] = Stream(text, time.time() + self.lasts_s)
        return {"ok": True, "channel": channel, "ts": made["ts"]}

    async def _chat_appendStream(self, args: Json) -> Json:  # noqa: N802
        stream = self.by_ts.get((args["channel"], args["ts"]))
        text = args.get("markdown_text", "")
        if stream is None:
            return {"ok": False, "error": "message_not_found"}
        if stream.stopped == "stopped_by_user":
            return {"ok": False, "error": "stopped_by_user"}
        if stream.stopped or time.time() > stream.until:
            return {"ok": False, "error": "message_not_in_streaming_state"}
        if not text or len(text) > MARKDOWN_MAX:
            return {"ok": False, "error": "msg_too_long" if text else "no_text"}
        stream.text += text
        return await self._api.forward(
            "chat.update",
            {"channel": args["channel"], "ts": args["ts"], "text": stream.text},
            self._api.app["botToken"],
        )

    async def _chat_stopStream(self, args: Json) -> Json:  # noqa: N802
        stream = self.by_ts.get((args["channel"], args["ts"]))
        if stream is None or stream.stopped or time.time() > stream.until:
            return {"ok": False, "error": "message_not_in_streaming_state"}
        stream.stopped = "by us"
        return {"ok": True, "channel": args["channel"], "ts": args["ts"]}
