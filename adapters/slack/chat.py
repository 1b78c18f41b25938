"""Slack as a :class:`core.ports.Chat`: Socket Mode by default, signed HTTP by setting."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import aiohttp
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential

from adapters.slack import doctor, files, history, layout, missed
from adapters.slack.api import BAD_LAYOUT, GONE, Api
from adapters.slack.events import Directory, Identity, ours, to_said
from adapters.slack.inbox import Inbox
from adapters.slack.links import SocketLink, serve_http
from adapters.slack.names import People
from adapters.slack.places import permalink
from adapters.slack.reactions import Reactions
from adapters.slack.render import MAX_BYTES, render
from adapters.slack.sharing import FILE_BYTES, share
from adapters.slack.streams import STREAM_CHARS, STREAM_S, Growing
from adapters.slack.tables import shown
from core.errors import BadSettings, ChatBusy, ChatRefused, ChatUnsure
from core.model import (
    Attachment,
    Author,
    ChatLimits,
    Check,
    ConversationKey,
    Missed,
    Post,
    Posted,
    Said,
)
from core.ports import Accept

log = structlog.get_logger()
CLOCK_SKEW_S = 300.0  # how far our clock and Slack's may disagree in a look-up
TEXT_SKEW_S = 30.0
HISTORY_NAMES_S = 5.0  # to look up who spoke in a thread: nobody waits to be acknowledged
EDIT_GAP_S = 1.1  # chat.update: some 50 a minute, whatever the channel
MOVED_MAX = 1_000
# An event that nobody took comes again at once, after one minute and after five.
REDELIVERS_S = 60.0
HISTORY_PACE_S = 1.2  # conversations.history and .replies: some 50 a minute


@dataclass(frozen=True, slots=True)
class SlackConfig:
    """What the adapter is told. ``api_url`` empty means the real Slack.

    ``mode`` "socket" needs ``app_token``; "http" needs ``signing_secret`` and serves on
    ``host:port``. ``ping_interval_s`` is how often a link is tried; a dead one is noticed within
    about twice that. ``groups`` are the ids of user groups by which people may be let in.
    """

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    mode: Literal["socket", "http"] = "socket"
    api_url: str = ""
    host: str = "127.0.0.1"
    port: int = 3000
    ping_interval_s: float = 5.0
    groups: tuple[str, ...] = ()

    @property
    def base_url(self) -> str:
        """``api_url`` as the SDK wants it, with one slash at the end; "" for the real Slack."""
        return self.api_url.rstrip("/") + "/" if self.api_url else ""


class SlackChat:
    """One workspace's Slack. Holds no policy; what it keeps in memory can be looked up again."""

    name = "slack"
    stream_s, stream_chars = STREAM_S, STREAM_CHARS

    def __init__(self, config: SlackConfig) -> None:
        self._config = config
        self._api = Api(config.bot_token, config.base_url)
        self._growing = Growing(self._api)
        self._people = People(self._api, groups=config.groups)
        self._reactions = Reactions(self._api)
        self._me: Identity | None = None
        # A thread whose first message was deleted goes on at channel level, in one place.
        self._moved: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._hearing: Callable[[], bool] = lambda: False
        self._writes_files = True  # until the scopes that were granted say otherwise

    @property
    def limits(self) -> ChatLimits:
        """What Slack takes; no files without the scope files:write."""
        takes = FILE_BYTES if self._writes_files else 0
        return ChatLimits(
            post_units=MAX_BYTES,
            edit_interval_s=2.0,
            edit_gap_s=EDIT_GAP_S,
            file_bytes=takes,
            redelivers_s=REDELIVERS_S,
            history_pace_s=HISTORY_PACE_S,
            whispers=True,
        )

    # --- receiving -------------------------------------------------------------------------

    async def run(self, accept: Accept, ready: Callable[[], None]) -> None:
        """See :meth:`core.ports.Chat.run`."""
        doctor.refuse_bad_settings(self._config)
        async with self._session():
            me = await self._patiently(self._who)
            inbox = Inbox(self._api, self._people, me, accept)
            config = self._config
            if config.mode == "http":
                app = inbox.bolt(config.base_url, config.signing_secret)
                self._hearing = lambda: not inbox.closing
                await serve_http(app, inbox, ready, config.host, config.port)
                return
            app_api = Api(config.app_token, config.base_url, self._api.client.session)
            opened = await self._patiently(lambda: app_api.call("apps.connections.open"))
            app = inbox.bolt(config.base_url, "")
            link = SocketLink(app, inbox, app_api, ready, config.ping_interval_s)
            self._hearing = lambda: link.up
            await link.run(str(opened["url"]))

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[None]:
        """One connection pool for as long as we receive."""
        async with aiohttp.ClientSession() as session:
            self._api.use(session)
            try:
                yield
            finally:
                self._hearing = lambda: False
                self._api.use(None)

    async def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask until Slack can be reached; a refused token is a matter of settings."""
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception_type((ChatBusy, ChatUnsure)),
                wait=wait_exponential(multiplier=0.5, max=30.0),
                before_sleep=_log_unreachable,
                reraise=True,
            ):
                with attempt:
                    return await ask()
        except ChatRefused as error:
            raise BadSettings(f"{error} (`moot doctor` says more)") from error

    async def _who(self) -> Identity:
        if self._me is None:
            told, headers = await self._api.call_with_headers("auth.test")
            self._me = Identity(
                team_id=str(told["team_id"]),
                user_id=str(told["user_id"]),
                bot_id=str(told.get("bot_id") or ""),
                name=str(told.get("user") or "moot"),
                enterprise_id=str(told.get("enterprise_id") or ""),
                url=str(told.get("url") or ""),
            )
            self._writes_files = doctor.grants(headers, "files:write")
            scopes = doctor.scopes_of(headers)
            if scopes is not None and not scopes.ok:
                log.warning("slack.scopes", detail=scopes.detail, fix=scopes.fix)
        return self._me

    # --- sending ---------------------------------------------------------------------------

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        """See :meth:`core.ports.Chat.render`."""
        return render(markdown, label)

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """See :meth:`core.ports.Chat.post`.

        A thread whose first message was deleted is not the end of an answer: the post goes to the
        channel, and later ones follow it there. Files come in a message of their own below it.
        """
        me = await self._who()
        posted = await self._post(key, post, me)
        if not post.files:
            return posted
        try:
            lost = await share(
                self._api,
                key,
                posted.root,
                post.files,
                me=me,
                after=posted.message_id if post.tried_at is not None else "",
            )
        except ChatBusy as busy:  # the text is there: a later call has to look
            raise ChatUnsure(str(busy)) from busy
        return replace(posted, lost=lost)

    async def _post(self, key: ConversationKey, post: Post, me: Identity) -> Posted:
        """The text of a post."""
        root = self._moved.get((key.channel, key.root), key.root)
        if post.tried_at is not None:
            found = await self._find(replace(key, root=root), post, me)
            if found is not None:
                log.info("slack.found_posted", message_id=found.message_id)
                return self._follow(key, found)
        if post.stream:
            ts = await self._growing.begin(key, root, post)
            return self._follow(key, self._posted(key, ts, root))
        message = layout.new_message(post)
        try:
            answer = await self._send(
                "chat.postMessage", message, channel=key.channel, thread_ts=root or None
            )
        except ChatRefused as error:
            if error.code not in GONE or not root:
                raise
            log.warning("slack.thread_gone", channel=key.channel, root=root)
            answer = await self._send("chat.postMessage", message, channel=key.channel)
            root = ""
        return self._follow(key, self._posted(key, str(answer["ts"]), root))

    def _follow(self, key: ConversationKey, posted: Posted) -> Posted:
        if key.root and posted.root != key.root:
            self._moved[key.channel, key.root] = posted.root
            while len(self._moved) > MOVED_MAX:
                self._moved.popitem(last=False)
        return posted

    def _posted(self, key: ConversationKey, ts: str, root: str) -> Posted:
        direct = key.channel.startswith("D")
        return Posted(ts, root or ("" if direct and not key.root else ts))

    async def _send(self, method: str, message: dict[str, Any], **address: Any) -> Any:
        """Send; a layout that Slack refuses is sent again as plain text, nothing left out."""
        plainer = iter(layout.plainer(message))
        while True:
            try:
                return await self._api.call(method, **address, **message)
            except ChatRefused as error:
                bare = next(plainer, message)
                if bare == message or error.code not in BAD_LAYOUT | {"msg_too_long"}:
                    raise
                log.warning("slack.layout_refused", method=method, code=error.code)
                message = bare

    async def _find(self, key: ConversationKey, post: Post, me: Identity) -> Posted | None:
        """An earlier attempt of ``post`` that took effect unseen."""
        tried_at = post.tried_at or 0.0
        window = {"oldest": f"{tried_at - CLOCK_SKEW_S:.6f}", "include_all_metadata": True}
        try:
            async for message in history.messages(self._api, key, **window):
                ts = str(message.get("ts") or "0")
                newer = float(ts) >= tried_at - TEXT_SKEW_S
                if layout.is_this(message, post, own=ours(message, me), newer=newer):
                    thread = str(message.get("thread_ts") or "")
                    return self._posted(key, ts, thread)
        except ChatRefused as error:
            if error.code != "missing_scope":
                raise
            # Without the right to look, an answer shown twice is better than one that is lost.
            log.warning("slack.cannot_look", error=str(error))
        return None

    def streams_in(self, key: ConversationKey) -> bool:
        """See :meth:`core.ports.Streams.streams_in`."""
        return self._growing.may_be_in(key)

    async def append(self, key: ConversationKey, message_id: str, markdown: str) -> None:
        """See :meth:`core.ports.Streams.append`."""
        await self._growing.append(key, message_id, markdown)

    async def finish(self, key: ConversationKey, message_id: str) -> None:
        """See :meth:`core.ports.Streams.finish`."""
        await self._growing.finish(key, message_id)

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:
        """See :meth:`core.ports.Chat.edit`; texts over 4,000 bytes are refused (msg_too_long)."""
        size = len(shown(post.text).encode())
        if size > layout.UPDATE_MAX_BYTES:
            raise ChatRefused(
                f"{size} bytes are too long for a change of a Slack message "
                f"(at most {layout.UPDATE_MAX_BYTES}); post it as a new message.",
                "msg_too_long",
            )
        # Left out, Slack reads an update as if a person had typed it, unlike a post.
        message = {**layout.changed_message(post), "parse": "none"}
        await self._send("chat.update", message, channel=key.channel, ts=message_id)

    async def react(
        self, key: ConversationKey, message_id: str, name: str, *, on: bool = True
    ) -> None:
        """See :meth:`core.ports.Chat.react`; needs the scope reactions:write."""
        await self._reactions.react(key, message_id, name, on=on)

    async def delete(self, key: ConversationKey, message_id: str) -> None:
        """See :meth:`core.ports.Chat.delete`."""
        try:
            await self._api.call("chat.delete", channel=key.channel, ts=message_id)
        except ChatRefused as error:
            if error.code != "message_not_found":
                raise
            log.debug("slack.gone_already", message_id=message_id)

    # --- history and health ----------------------------------------------------------------

    async def thread(self, key: ConversationKey, limit: int) -> tuple[Said, ...]:
        """See :meth:`core.ports.Chat.thread`; of a direct message without a thread, its history."""
        me = await self._who()
        try:
            found, gap = await history.newest(self._api, key, limit)
        except ChatRefused as error:
            if error.code not in GONE or not key.root:
                raise
            nobody = Author("", "somebody", "bot", trusted=False)
            return (Said(key.root, nobody, "", float(key.root), gone=True),)
        users, channels = history.to_look_up(found)
        known: Directory = await self._people.look_up(me, users, channels, HISTORY_NAMES_S)
        said = [s for message in found if (s := to_said(message, me, known)) is not None]
        if gap and said:  # before the first one that is not the thread's own
            at = min(len(said) - 1, int(said[0].message_id == key.root))
            said[at] = replace(said[at], gap=True)
        return tuple(said)

    def hears(self) -> frozenset[str]:
        """See :meth:`core.ports.WithHistory.hears`."""
        here = self._me if self._hearing() else None
        return frozenset((here.team_id,)) if here else frozenset()

    async def places(
        self, space: str, since: float, known: tuple[ConversationKey, ...]
    ) -> tuple[ConversationKey, ...]:
        """See :meth:`core.ports.WithHistory.places`; Slack does not tell which have news."""
        del space, since
        told = await missed.places(self._api, await self._who())
        return tuple(dict.fromkeys((*known, *told)))

    async def missed(self, key: ConversationKey, since: float, limit: int) -> Missed:
        """See :meth:`core.ports.WithHistory.missed`."""
        return await missed.missed(self._api, self._people, await self._who(), key, since, limit)

    async def download(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See :meth:`core.ports.Chat.download`; needs the scope files:read."""
        return await files.download(self._api, attachment, limit_bytes)

    async def heard(self, attachment: Attachment) -> str:
        """See :meth:`core.ports.Chat.heard`."""
        return await files.heard(self._api, attachment)

    def address(self, key: ConversationKey, message_id: str = "") -> str:
        """See :meth:`core.ports.Chat.address`."""
        return permalink(self._me.url, key, message_id) if self._me else ""

    async def direct(self, person: str) -> ConversationKey | None:
        """See :meth:`core.ports.Chat.direct`; Slack takes a person's id for a channel's."""
        return ConversationKey("slack", (await self._who()).team_id, person, "")

    async def checks(self, channels: Sequence[str] = (), people: Sequence[str] = ()) -> list[Check]:
        """See :meth:`core.ports.Chat.checks`."""
        return await doctor.checks(self._config, self._api, channels, people)


def _log_unreachable(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.warning("slack.unreachable", attempt=state.attempt_number, error=str(error))


CHAT = SlackChat
