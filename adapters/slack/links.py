"""The two ways Slack reaches us: Socket Mode links that we open, or signed HTTP that we serve."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiohttp
import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from adapters.slack.api import Api, sdk_logger
from adapters.slack.inbox import Inbox
from core.errors import BadSettings

log = structlog.get_logger()
EVENTS_PATH = "/slack/events"
MAX_BODY_BYTES = 4 * 2**20
CLOSE_S = 3.0


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler, in order and counted."""

    inbox: Inbox

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        if self.inbox.closing:
            return  # not acknowledged: the next life gets it
        async with self.inbox.turn(req.payload):
            await super().handle(client, req)


class SocketLink:
    """One Socket Mode link at a time, kept alive by the SDK and watched by us.

    The SDK pings, notices silence within some ``ping_interval_s`` and opens a new link; we add what
    it lacks: a fresh address after a failed attempt (an address is good for one use), a word in the
    log, and a warning where events are shared with another link. ``up``: it is alive, as far as is
    known.
    """

    def __init__(
        self, app: AsyncApp, inbox: Inbox, api: Api, ready: Callable[[], None], ping_s: float
    ) -> None:
        self._inbox = inbox
        self._ready = ready
        self._ping_s = ping_s
        self._handler = _Handler(
            app,
            str(api.client.token),
            logger=sdk_logger,
            web_client=api.client,
            ping_interval=ping_s,
        )
        self._handler.inbox = inbox
        self._client = self._handler.client
        self._client.proxy = api.client.proxy
        self._client.on_message_listeners.append(self._heard)
        self.up = False
        self._down_since = time.monotonic()
        self._shared = False

    async def run(self, address: str) -> None:
        """Receive until cancelled, starting with an ``address`` from apps.connections.open."""
        self._client.wss_uri = address
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch())
                await self._client.connect()
        finally:
            await self._close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._ping_s)
            if await self._client.is_connected():
                continue
            if self.up:
                self.up, self._down_since = False, time.monotonic()
                log.warning("slack.link_lost")
            # The SDK would try a used address again and again; without one it asks for another.
            self._client.wss_uri = None

    async def _heard(self, frame: aiohttp.WSMessage) -> None:
        with suppress(ValueError):
            said = json.loads(frame.data)
            if said.get("type") == "hello":
                self._hello(int(said.get("num_connections") or 1))
            elif said.get("type") == "disconnect":
                self._goodbye(str(said.get("reason") or ""))

    def _hello(self, connections: int) -> None:
        down_s = 0.0 if self.up else round(time.monotonic() - self._down_since, 1)
        self.up = True
        log.info("slack.connected", connections=connections, down_s=down_s)
        if connections > 1 and not self._shared:
            log.warning(
                "slack.shared_link",
                connections=connections,
                fix="events are spread over all of them; end other processes that use this token",
            )
        self._shared = connections > 1
        self._ready()

    def _goodbye(self, reason: str) -> None:
        self.up, self._down_since = False, time.monotonic()
        if reason == "link_disabled":
            log.error("slack.socket_mode_off", fix="switch Socket Mode on, on the app's page")
        else:
            log.info("slack.reconnecting", reason=reason)

    async def _close(self) -> None:
        client: Any = self._client
        await self._inbox.settle()
        tasks = [client.message_processor, client.current_session_monitor, client.message_receiver]
        try:
            async with asyncio.timeout(CLOSE_S):
                await client.close()
        except TimeoutError:
            log.warning("slack.close_timed_out")
            await client.aiohttp_client_session.close()
        started = [task for task in tasks if task is not None]
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)


async def serve_http(
    app: AsyncApp, inbox: Inbox, ready: Callable[[], None], host: str, port: int
) -> None:
    """Serve Slack's signed requests on ``/slack/events`` until cancelled.

    Raises:
        BadSettings: there is no listening on ``host:port``.
    """

    async def answer(request: web.Request) -> web.Response:
        if inbox.closing:
            return web.Response(status=503)
        try:
            asked = await to_bolt_request(request)
        except ValueError:  # not JSON where JSON was promised, or not text: not from Slack
            return web.Response(status=400)
        async with inbox.turn(asked.body):
            return await to_aiohttp_response(await app.async_dispatch(asked))

    site = web.Application(client_max_size=MAX_BODY_BYTES)
    site.router.add_post(EVENTS_PATH, answer)
    runner = web.AppRunner(site, access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise BadSettings(
                f"Cannot listen on {host}:{port} ({error.strerror or error}); "
                "set [slack] host and port to a free address of this machine."
            ) from error
        log.info("slack.listening", host=host, port=runner.addresses[0][1], path=EVENTS_PATH)
        ready()
        await asyncio.Event().wait()
    finally:
        await inbox.settle()
        await runner.cleanup()
