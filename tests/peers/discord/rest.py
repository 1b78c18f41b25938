"""The REST half: simcord's routes, and the rules of Discord that simcord leaves out."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from simcord.backend import Backend
from simcord.backend.errors import BackendError
from simcord.enums import ChannelType, MessageType
from simcord.http import router
from simcord.http import routes as _routes  # noqa: F401  (registers every handler)

import discord

SEND = re.compile(r"/channels/(\d+)/messages")
EDIT = re.compile(r"/channels/(\d+)/messages/(\d+)")
OPEN_THREAD = re.compile(r"/channels/(\d+)/messages/(\d+)/threads")
NEW_POST = re.compile(r"/channels/(\d+)/threads")
HAS_THREAD = 1 << 5


class Rest:
    """One request: nonces, archived and locked threads, second threads, then simcord."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.nonce_s = 180.0
        self.message_content_approved = True
        self.gaps: list[str] = []
        self._nonces: dict[str, tuple[float, int, int]] = {}

    def forget_nonces(self) -> None:
        """Discord does so by itself "after a few minutes"."""
        self._nonces.clear()

    def perform(
        self,
        method: str,
        path: str,
        body: Any,
        params: dict[str, str],
        files: Sequence[discord.File] = (),
    ) -> Any:
        """The answer as JSON, or ``None`` for 204.

        Raises:
            BackendError: carries status and Discord's code.
        """
        if method == "POST" and (match := SEND.fullmatch(path)):
            return self._send(int(match[1]), path, body, files)
        if method == "PATCH" and (match := EDIT.fullmatch(path)):
            self._refuse_archived(int(match[1]))
        if method == "POST" and (match := OPEN_THREAD.fullmatch(path)):
            return self._open_thread(int(match[1]), int(match[2]), path, body)
        answer = self._dispatch(method, path, body, params, files)
        if method == "POST" and NEW_POST.fullmatch(path) and "message" in answer:
            self._name_after_its_thread(answer)
        return self._shaped(path, answer)

    def _name_after_its_thread(self, answer: dict[str, Any]) -> None:
        """A forum post's first message has the id of its thread; simcord gives it another."""
        thread = int(answer["id"])
        kept = self.backend.messages[thread]
        message = kept.pop(int(answer["message"]["id"]))
        message.id = thread
        kept[thread] = message
        answer["message"]["id"] = answer["id"]

    def _dispatch(
        self,
        method: str,
        path: str,
        body: Any,
        params: dict[str, str],
        files: Sequence[discord.File] = (),
    ) -> Any:
        try:
            return router.dispatch(
                self.backend, method, path, json=body, params=params, files=list(files)
            )
        except (router.RouteNotImplemented, router.UnsupportedField) as gap:
            # A gap of simcord's is the test's trouble, not Discord's: it is reported at the end.
            self.gaps.append(str(gap))
            raise

    def _send(
        self, channel_id: int, path: str, body: dict[str, Any], files: Sequence[discord.File]
    ) -> Any:
        nonce = str(body.get("nonce") or "") if body.get("enforce_nonce") else ""
        if len(nonce) > 25:
            raise BackendError(400, 50035, "Invalid Form Body: nonce: at most 25 characters")
        known = self._nonces.get(nonce) if nonce else None
        if known and time.monotonic() - known[0] < self.nonce_s:
            return self._dispatch("GET", f"/channels/{known[1]}/messages/{known[2]}", None, {})
        if self.backend.get_channel(channel_id).type == ChannelType.FORUM:
            raise BackendError(400, 50008, "Cannot send messages in a non-text channel")
        self._wake(channel_id)
        body = {**body, "content": (body.get("content") or "").strip()}  # as Discord does
        sent = self._dispatch("POST", path, body, {}, files)
        if nonce:
            self._nonces[nonce] = (time.monotonic(), channel_id, int(sent["id"]))
        return sent

    def _thread_metadata(self, channel_id: int) -> Any:
        channel = self.backend.channels.get(channel_id)
        return channel.thread_metadata if channel is not None else None

    def _wake(self, channel_id: int) -> None:
        """Sending wakes an archived thread; a locked one needs Manage Threads."""
        meta = self._thread_metadata(channel_id)
        if meta is None:
            return
        channel = self.backend.get_channel(channel_id)
        mine = self.backend.compute_permissions(
            channel.guild_id, self.backend.bot_user.id, channel_id
        )
        if meta.locked and not mine & discord.Permissions.manage_threads.flag:
            raise BackendError(403, 160005, "Thread is locked")
        if meta.archived:
            self.backend.edit_channel(channel_id, {}, thread_metadata={"archived": False})

    def _refuse_archived(self, channel_id: int) -> None:
        meta = self._thread_metadata(channel_id)
        if meta is not None and meta.archived:
            raise BackendError(400, 50083, "Thread is archived")

    def _open_thread(self, channel_id: int, message_id: int, path: str, body: Any) -> Any:
        if message_id in self.backend.channels:
            raise BackendError(400, 160004, "A thread has already been created for this message")
        name = body.get("name") or ""
        if not 1 <= len(name) <= 100:
            raise BackendError(400, 50035, "Invalid Form Body: name: Must be 1 to 100 in length")
        made = self._dispatch("POST", path, body, {})
        self.backend.create_system_message(
            message_id,
            MessageType.THREAD_STARTER_MESSAGE,
            self.backend.bot_user.id,
            referenced_channel_id=channel_id,
            referenced_message_id=message_id,
        )
        return made

    def _shaped(self, path: str, answer: Any) -> Any:
        """What simcord leaves out of two answers and ``moot doctor`` reads."""
        if path == "/oauth2/applications/@me":
            flags = 1 << 19 if self.message_content_approved else 0
            return {**answer, "flags": flags}
        if path == "/users/@me/guilds":
            me = self.backend.bot_user.id
            held = self.backend.compute_permissions
            return [{**guild, "permissions": str(held(int(guild["id"]), me))} for guild in answer]
        return answer
