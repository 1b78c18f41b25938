"""What comes from Slack: a Bolt app whose listeners translate, hand over and only then acknowledge.

Bolt acknowledges events before its listener runs, unless ``process_before_response`` is set; then a
listener that fails makes a 500 and no acknowledgement, and Slack delivers the event again.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from adapters.slack.api import Api, sdk_logger
from adapters.slack.beside import home_view, to_home, to_home_button, to_shortcut
from adapters.slack.events import (
    Directory,
    Identity,
    ids_in,
    to_button,
    to_command,
    to_event,
)
from adapters.slack.forms import errors_of, place_of, to_form, to_view
from adapters.slack.layout import note
from adapters.slack.names import People
from adapters.slack.places import public_of, shared_of, to_conversion
from adapters.slack.render import render
from adapters.slack.text import people_to_name, raw_text, unnamed_channels
from core.errors import ChatRefused, MootError
from core.model import ChatEvent, ConversationKey, Reply
from core.ports import Accept
from core.tongue import speaking_at

log = structlog.get_logger()
Json = Mapping[str, Any]
SETTLE_S = 5.0
NOTE_TIMEOUT_S = 10.0
OPEN_TIMEOUT_S = 5.0
NOTE_PIECE_BYTES = 2_900  # fits a section block


class Inbox:
    """Everything between Bolt and ``accept``.

    Events of one channel are taken one after another, in the order in which they came in: the SDK
    starts a task for each, and a slow look-up would let a later one overtake.
    """

    def __init__(self, api: Api, people: People, me: Identity, accept: Accept) -> None:
        self._api = api
        self._people = people
        self._me = me
        self._accept = accept
        self._order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._notes: set[asyncio.Task[None]] = set()
        self.closing = False

    def bolt(self, base_url: str, signing_secret: str) -> AsyncApp:
        """The app; requests are verified when there is a signing secret (HTTP mode)."""

        async def authorize() -> AuthorizeResult:
            # One workspace, known since the start: no call to Slack in the path of an event.
            me = self._me
            return AuthorizeResult(
                enterprise_id=None,
                team_id=me.team_id,
                bot_user_id=me.user_id,
                bot_id=me.bot_id,
                bot_token=self._api.client.token,
            )

        app = AsyncApp(
            name="moot",
            logger=sdk_logger,
            client=Api("", base_url).client,  # the token comes with ``authorize``
            authorize=authorize,
            signing_secret=signing_secret,
            request_verification_enabled=bool(signing_secret),
            process_before_response=True,
            # ``events`` does this itself: Bolt lets updates of our own messages through.
            ignoring_self_events_enabled=False,
        )
        anything = re.compile(".*")
        app.event(anything)(self._on_event)
        app.command(anything)(self._on_command)
        app.action(anything)(self._on_action)
        app.view(anything)(self._on_form)
        app.shortcut(anything)(self._on_shortcut)
        app.error(self._not_taken)
        return app

    @asynccontextmanager
    async def turn(self, body: Json) -> AsyncIterator[None]:
        """One delivery: after the earlier ones of its channel, and counted until it is done."""
        channel = channel_of(body)
        lock = self._order.setdefault(channel, asyncio.Lock())
        self._busy += 1
        self._idle.clear()
        try:
            async with lock:
                yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def settle(self) -> None:
        """Let deliveries under way finish and notes go out, within a deadline."""
        self.closing = True
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._idle.wait()
                await asyncio.gather(*self._notes)
        except TimeoutError:
            log.warning("slack.unsettled", deliveries=self._busy, notes=len(self._notes))
        for task in list(self._notes):
            task.cancel()
        await asyncio.gather(*self._notes, return_exceptions=True)

    # --- listeners -------------------------------------------------------------------------

    async def _on_event(self, body: dict[str, Any]) -> None:
        self._people.heard(body.get("event") or {})
        conversion = to_conversion(body, self._me, time.time())
        if conversion is not None:
            self._people.forget(conversion.key.channel)
            await self._accept(conversion)
        if await self._on_home(body):
            return
        bare = to_event(body, self._me, Directory())
        if bare is None:
            return
        if bare.kind == "delete":  # nobody's name matters; and we delete a status with each answer
            await self._accept(bare)
            return
        event = body["event"]
        message = event.get("message") or event.get("previous_message") or event
        here = str(event.get("channel") or "")
        # A mention's event does not say what kind of channel it is in; a message's does.
        kept = event.get("channel_type") is not None and not self._people.knows(here)
        channels = set(unnamed_channels(raw_text(message))) | (set() if kept else {here})
        known = await self._people.look_up(self._me, ids_in(message), channels)
        translated = to_event(body, self._me, known)
        if translated is not None:
            reply = await self._take(translated, body, known)
            if reply is not None:
                self._later(self._whisper(translated, str(event.get("thread_ts") or ""), reply))

    async def _take(self, event: ChatEvent, body: Json, known: Directory) -> Reply | None:
        """Hand over, with what is told of the channel."""
        here = event.key.channel
        public, shared = public_of(body, here, known), shared_of(body, here, known)
        return await self._accept(replace(event, public=public, shared=shared))

    async def _on_command(self, ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        raw = str(body.get("text") or "")
        users = (str(body.get("user_id") or ""), *people_to_name(raw))
        channels = (channel_of(body), *unnamed_channels(raw))
        known = await self._people.look_up(self._me, users, channels)
        event = to_command(body, self._me, known, time.time())
        reply = await self._take(event, body, known)
        if reply is None:
            await ack()
        elif reply.form is not None:
            await ack()
            self._later(self._open(body, users[0], event.key, reply))
        else:
            await ack(response_type="ephemeral", **_note(reply))

    async def _on_action(self, ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        user = str((body.get("user") or {}).get("id") or "")
        known = await self._people.look_up(self._me, (user,), (channel_of(body),))
        if (page := to_home_button(body, self._me, known)) is not None:
            reply = await self._accept(page)
            await ack()
            self._later(self._publish(page, reply))
            return
        event = to_button(body, self._me, known)
        reply = await self._take(event, body, known) if event is not None else None
        await ack()
        if reply is not None and reply.form is not None and event is not None:
            self._later(self._open(body, user, event.key, reply))
        elif reply is not None:
            self._later(self._show(body, user, reply))

    async def _on_form(self, ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        user = str((body.get("user") or {}).get("id") or "")
        known = await self._people.look_up(self._me, (user,), (channel_of(body),))
        event = to_form(body, self._me, known, time.time())
        reply = await self._take(event, body, known) if event is not None else None
        if reply is not None and reply.errors:
            await ack(response_action="errors", errors=errors_of(reply, body["view"]))
        else:
            await ack()  # closes it; what was started shows in the channel

    async def _on_home(self, body: Json) -> bool:
        """Whether this was somebody's look at the Home tab."""
        user = str((body.get("event") or {}).get("user") or "")
        if to_home(body, self._me, Directory()) is None:
            return False
        event = to_home(body, self._me, await self._people.look_up(self._me, (user,)))
        assert event is not None
        self._later(self._publish(event, await self._accept(event)))
        return True

    async def _on_shortcut(self, ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        message, user = body.get("message") or {}, str((body.get("user") or {}).get("id") or "")
        here = channel_of(body)
        channels = (here, *unnamed_channels(raw_text(message)))
        known, inside = await asyncio.gather(
            self._people.look_up(self._me, (user, *ids_in(message)), channels),
            self._people.is_inside(here),
        )
        event = to_shortcut(body, self._me, known, inside=inside)
        reply = await self._take(event, body, known) if event is not None else None
        await ack()
        if reply is not None and reply.form is not None and event is not None:
            self._later(self._open(body, user, event.key, reply))
        elif reply is not None:
            self._later(self._show(body, user, reply))

    async def _not_taken(self, error: Exception, body: dict[str, Any]) -> BoltResponse:
        kind = str((body.get("event") or {}).get("type") or body.get("type") or "command")
        log.warning("slack.not_taken", kind=kind, channel=channel_of(body), exc_info=error)
        return BoltResponse(status=500)

    # --- private notes ---------------------------------------------------------------------

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _open(self, body: Json, user: str, key: ConversationKey, reply: Reply) -> None:
        """Open a form. Its trigger is good for three seconds: too late, the words say it."""
        assert reply.form is not None
        with speaking_at(key):
            view, trigger = to_view(reply.form, key), str(body.get("trigger_id") or "")
        try:
            await self._api.call(
                "views.open", timeout_s=OPEN_TIMEOUT_S, trigger_id=trigger, view=view
            )
        except MootError as error:
            log.warning("slack.form_not_opened", channel=key.channel, error=str(error))
            await self._show(body, user, reply)

    async def _publish(self, event: ChatEvent, reply: Reply | None) -> None:
        """Show somebody's page; it is made anew each time that they open it."""
        if reply is None:
            return
        view = home_view(reply, event.key.channel)
        try:
            await self._api.call(
                "views.publish", timeout_s=NOTE_TIMEOUT_S, user_id=event.author.id, view=view
            )
        except MootError as error:
            log.warning("slack.home_not_shown", error=str(error))

    async def _show(self, body: Json, user: str, reply: Reply) -> None:
        """Show a reply to the one who clicked, and nobody else."""
        container, message = body.get("container") or {}, body.get("message") or {}
        thread = message.get("thread_ts") or container.get("thread_ts") or message.get("ts")
        channel, made = channel_of(body), _note(reply)
        try:
            if container.get("is_ephemeral"):  # a note that asked something: put the answer there
                await self._respond(body, {**made, "replace_original": True})
                return
            try:
                await self._api.call(
                    "chat.postEphemeral",
                    timeout_s=NOTE_TIMEOUT_S,
                    **{"channel": channel, "user": user, "thread_ts": thread, **made},
                )
            except ChatRefused as error:  # not a member: the click itself brought an address
                log.info("slack.note_by_response_url", code=error.code)
                await self._respond(body, {**made, "replace_original": False})
        except MootError as error:
            log.warning("slack.note_lost", channel=channel, error=str(error))

    async def _whisper(self, event: ChatEvent, thread: str, reply: Reply) -> None:
        """Tell the author of a message something alone; a thread of one message cannot show it."""
        try:
            await self._api.call(
                "chat.postEphemeral",
                timeout_s=NOTE_TIMEOUT_S,
                channel=event.key.channel,
                user=event.author.id,
                thread_ts=thread or None,
                **_note(reply),
            )
        except MootError as error:
            log.warning("slack.note_lost", channel=event.key.channel, error=str(error))

    async def _respond(self, body: Json, message: dict[str, Any]) -> None:
        url = str(body.get("response_url") or "")
        await self._api.respond(url, {"response_type": "ephemeral", **message}, NOTE_TIMEOUT_S)


def _note(reply: Reply) -> dict[str, Any]:
    return note(render(reply.text, limit=NOTE_PIECE_BYTES), reply.buttons)


def channel_of(body: Json) -> str:
    """The channel that an event, a command, a click or a form belongs to."""
    container, event = body.get("container") or {}, body.get("event") or {}
    channel = event.get("channel") or body.get("channel_id") or container.get("channel_id")
    channel = channel or place_of(body.get("view") or {}).get("channel")
    return str(channel or (body.get("channel") or {}).get("id") or "")
