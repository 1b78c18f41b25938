# ruff: noqa: INP001 - a script, not a package
"""Draws ``thread.svg``: the real product in the console, with the rehearsal engine playing parts.

    .venv/bin/python docs/assets/make_thread_svg.py

Everything but the words of the answers is what Moot does: the room, the command, the turns,
the pull, the posts. The words are a script, for the rehearsal engine has no model behind it; the
picture names it as the engine.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from adapters.console.chat import ConsoleChat
from adapters.console.room import Room
from adapters.console.tui import RoomApp
from bridge import logs
from bridge.app import running
from bridge.trial import OWNER, settled
from config.settings import load_settings
from core.engines.rehearsal import Rehearsal
from core.model import EngineTask, Spawn

HERE = Path(__file__).parent
TOLD = "For later: our logs go to SQLite, one file per tenant, backed up nightly."
QUESTION = "!rt SQL or flat files for the audit log?"
PARTS = {
    "architect": (
        "**SQL.** An audit log is written once and *queried for years*: who changed what, when. "
        "A table with `actor`, `action`, `at` and an index answers that; files need a second "
        "system to search them."
    ),
    "developer": (
        "SQL, with one rule: **append only**.\n\n"
        "```sql\nCREATE TRIGGER no_update BEFORE UPDATE ON audit\n"
        "BEGIN SELECT RAISE(ABORT, 'append only'); END;\n```"
    ),
    "rehearsal": "Noted.",
    "critic": "Before I agree: did we not decide something about SQLite?",
    "critic again": (
        "It holds: we log to **SQLite, one file per tenant**. So the table goes there, and the "
        "nightly backup covers it. My worry is size: rotate by month."
    ),
}
SIZE = (104, 52)


class Actor(Rehearsal):
    """The rehearsal engine, told its words by who it is asked to be."""

    def start(self, task: EngineTask) -> Spawn:
        """The part of the persona that is asked, as the engine's own directive."""
        asked = (name for name in PARTS if f"You are {name}" in task.context)
        part = next(asked, "critic again")  # a follow-up in a session has only what was pulled
        words = PARTS[part].replace("\n", "\\n").replace('"', "'")
        pull = ' pull="memory: SQLite"' if part == "critic" else ""
        directive = f'@@rehearse text="{words}"{pull}@@'
        return super().start(replace(task, prompt=f"{task.prompt} {directive}"))


ENGINE = Actor


async def draw(folder: Path) -> str:
    """Play the thread and return the picture."""
    config = folder / "moot.toml"
    config.write_text(
        f'[storage]\ndir = "{folder}/data"\n'
        "[roundtable]\nrounds = 1\n"
        '[engines]\ndefault = "rehearsal"\n[engines.rehearsal]\nuse = "make_thread_svg:ENGINE"\n'
    )
    settings = load_settings(config)
    logs.set_up("warning", folder / "log")
    room = Room(folder / "room")
    chat = ConsoleChat(room, "kim")
    async with room, running(settings, [chat], owners=OWNER) as moot:
        listening = asyncio.create_task(chat.run(moot.intake.accept, lambda: None))
        app = RoomApp(room, chat, lambda _channel: ())
        async with app.run_test(size=SIZE) as pilot:
            first = await room.say("general", "", "kim", TOLD)
            await chat.idle()
            await settled(moot, first.root)
            await room.say("general", first.root, "kim", QUESTION)
            await chat.idle()
            await settled(moot, first.root)
            await pilot.press("ctrl+down")
            await pilot.pause(0.5)
            picture = app.export_screenshot(title="moot try")
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    # No font from elsewhere: a picture should load nothing.
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)


def main() -> int:
    """Write the picture beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        picture = asyncio.run(draw(Path(folder)))
    (HERE / "thread.svg").write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
