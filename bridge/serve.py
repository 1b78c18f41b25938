"""``moot run``: the chats that are switched on, until a signal comes."""

from __future__ import annotations

import asyncio
import signal

import structlog

from bridge import logs
from bridge.app import listen, running
from bridge.chats import check_access, check_tokens, make_chats
from bridge.load import LAST_RESORT
from config.settings import Settings
from core.engines.process import adopt_orphans
from core.errors import BadSettings

log = structlog.get_logger()


async def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status.

    Raises:
        BadSettings: no chat is switched on, or one cannot be set up.
        AlreadyRunning: another process uses the storage folder.
    """
    logs.set_up(settings.log.level)
    adopt_orphans()  # of what engines start, so that nothing of a run is left
    chats = make_chats(settings)
    if not chats:
        raise BadSettings(
            "No chat is switched on. Set MOOT__SLACK__BOT_TOKEN and MOOT__SLACK__APP_TOKEN, or "
            "MOOT__DISCORD__TOKEN (docs/how-to/slack.md and discord.md), or use `moot try`."
        )
    check_tokens(settings)
    check_access(settings, chats)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # A handler of our own also undoes an inherited "ignore" (a start with & or nohup).
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running(settings, chats) as moot:
        log.info("started", chats=[chat.name for chat in chats], engine=moot.default_engine)
        if moot.default_engine == LAST_RESORT and not settings.engines.default:
            log.warning(
                "engine.none",
                fix="No coding agent was found installed and signed in (`moot engines` shows why); "
                f"until then {LAST_RESORT} answers, which has no model.",
            )
        listening = asyncio.create_task(listen(moot, chats))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((listening, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not listening.done():
                listening.cancel()
        if stop.is_set():
            log.info("stopping")
            await asyncio.gather(listening, return_exceptions=True)
        else:
            await listening
    return 0
