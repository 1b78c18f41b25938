"""``moot try``: Moot with a room in the terminal as its only chat."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys

import structlog

from adapters.console.chat import CHAT, SPACE, ConsoleChat
from adapters.console.ledger import FIRST_CHANNEL
from adapters.console.room import Room
from bridge import logs
from bridge.app import Moot, running
from bridge.load import LAST_RESORT
from bridge.projects import project_of
from bridge.rights import rights_of, say_short
from config.settings import Settings
from core.engines.process import adopt_orphans
from core.model import Author, ConversationKey
from core.records import turns
from core.tongue import say, speaking, to_say

log = structlog.get_logger()

OWNER = ("console:owner",)
CAUGHT_UP_S = 10.0
"""That a script's question waits for the vectors of what was said before: they are made while Moot
runs, and for a script it runs as long as an answer takes."""


async def open_room(settings: Settings) -> int:
    """The room, until the person leaves it; returns the exit status."""
    from adapters.console.tui import RoomApp

    logs.set_up(settings.log.level, settings.storage.dir / "console.log")
    adopt_orphans()
    room = Room(settings.storage.dir / "console")
    chat = ConsoleChat(room)
    async with room, running(settings, [chat], owners=OWNER) as moot:
        listening = asyncio.create_task(chat.run(moot.intake.accept, _ready))
        try:
            app = RoomApp(room, chat, lambda channel: _said(moot, channel, chat.me))
            # The terminal is given back whole, also when the window is closed or we are ended.
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, app.exit)
            await app.run_async()
        finally:
            if moot.worker.active:
                print("Ending what runs; it goes on when you come back.", flush=True)  # noqa: T201
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    return app.return_code or 0


async def ask_once(settings: Settings, question: str) -> int:
    """Ask, print the thread, and return 0 if it was answered, 1 if it failed."""
    from adapters.console.once import ask

    logs.set_up("warning", settings.storage.dir / "console.log")
    adopt_orphans()
    room = Room(settings.storage.dir / "console")
    chat = ConsoleChat(room)
    ends: list[str] = []
    # Whoever runs a script is not there to be asked.
    async with room, running(settings, [chat], owners=OWNER, attended=False) as moot:
        listening = asyncio.create_task(chat.run(moot.intake.accept, lambda: None))

        async def answered(root: str) -> None:
            ends.extend(await settled(moot, root))

        try:
            await moot.memory.caught_up(CAUGHT_UP_S)
            lines = await ask(chat, question, answered)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    print("\n".join(lines))  # noqa: T201 - the command's output
    return 0 if all(state == "done" for state in ends) else 1


def _ready() -> None:
    log.info("ready", adapter="console")


async def settled(moot: Moot, root: str) -> tuple[str, ...]:
    """How the turns of this thread ended, once none of them waits or runs and all posts are out.

    What an earlier life left to other threads is not waited for.
    """
    key = ConversationKey(CHAT, SPACE, FIRST_CHANNEL, root)
    while True:
        states = await moot.records.do(turns.states_in, key)
        if not {"queued", "running"}.intersection(states):
            break
        await asyncio.sleep(0.05)
    await moot.delivery.settled()
    return states


def _said(moot: Moot, channel: str, author: Author) -> tuple[str, ...]:
    with speaking(moot.intake.policy.languages.at(CHAT, SPACE, channel)):
        return banner(moot, channel, author)


def banner(moot: Moot, channel: str, author: Author) -> tuple[str, ...]:
    """What a channel of the room says first, with what agents may really do there."""
    engine = moot.default_engine
    if engine != LAST_RESORT:
        who = say(
            "{engine} answers here. {place}", engine=engine, place=_place(moot, channel, author)
        )
    else:
        mine = say(REHEARSAL)
        who = mine if moot.settings.engines.default else f"{no_agent()} {mine}"
    return who, say("Ask anything, or try `!rt SQL or files for the audit log?` for a roundtable.")


def _place(moot: Moot, channel: str, author: Author) -> str:
    """Where the engines work for a channel, and what they may do there for this person."""
    project = project_of(moot.settings, ConversationKey(CHAT, SPACE, channel, ""))
    intake = moot.intake
    rights = rights_of(intake.door, project, author, moot.default_engine, intake.policy.rights)
    if not project.own:
        return say(
            "It works in `{path}`. {say_short}", path=project.path, say_short=say_short(rights)
        )
    return say(
        "It sees an empty folder; for it to see your code, write into `moot.toml` a "
        'table `[projects.mine]` with `path = "~/src/mine"` and `channels = '
        '["{chat}:{channel}"]`. ',
        chat=CHAT,
        channel=channel,
    ) + say_short(rights)


def no_agent() -> str:
    """Why the rehearsal answers, with the command as it can be typed here."""
    # After `make run` the program is in .venv, and not on the PATH.
    command = "moot" if shutil.which("moot") else sys.argv[0]
    return say(
        "No coding agent was found installed and signed in (`{command} engines` shows "
        "why). Install Claude Code, Codex, Gemini CLI or OpenCode, sign in, and start "
        "again.",
        command=command,
    )


REHEARSAL = to_say(
    "`rehearsal` answers here: a scripted engine without a model that quotes your question."
)
