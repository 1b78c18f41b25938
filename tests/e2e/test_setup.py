"""``moot setup`` as a person meets it: a terminal, a loopback platform, and words in both."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
import tomllib
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.product import MOOT, base_env
from tests.e2e.test_discord import opened_thread
from tests.e2e.test_try import Terminal
from tests.peers.slack import ALICE, GENERAL

pytestmark = pytest.mark.peers


@asynccontextmanager
async def setting_up(folder: Path, platform: str, settings: str = "", **env: str):
    """``moot setup`` in a terminal of its own; it has its settings where a user has them."""
    home = folder / "home"
    config = home / ".config/moot/moot.toml"
    if settings:
        config.parent.mkdir(parents=True)
        config.write_text(
            f'# mine\n[storage]\ndir = "{folder}/data"\n[engines]\ndefault = "rehearsal"\n'
            '[memory]\nembedder = "none"\nchroma = "off"\n' + settings
        )
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 110, 0, 0))
    process = await asyncio.create_subprocess_exec(
        str(MOOT), "setup", platform,
        env={**base_env(home), "TERM": "xterm-256color", **env}, cwd=folder,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(slave)
    terminal = Terminal(master, process)
    try:
        yield terminal, config
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


class Lines:
    """Asks and answers in order: what is looked for comes after what was found before."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal, self.at = terminal, 0

    async def sees(self, text: str) -> None:
        await self.terminal.sees(text, self.at)
        self.at = self.terminal.seen.index(text, self.at) + len(text)

    async def answers(self, question: str, text: str) -> None:
        await self.sees(question)
        self.terminal.type(f"{text}\r")


async def test_slack_is_set_up_and_answers(slack, tmp_path):
    code = tmp_path / "billing"
    code.mkdir()
    more = f'[slack]\napi_url = "{slack.api_url}"\n'
    tokens = slack.env()
    async with setting_up(tmp_path, "slack", more) as (terminal, config):
        lines = Lines(terminal)
        await lines.sees("https://api.slack.com/apps?new_app=1&manifest_json=%7B")
        await lines.answers("Paste the App-Level Token", "xoxp-1-2-3")
        await lines.sees("a token of a person")
        await lines.answers("Paste the App-Level Token", tokens["MOOT__SLACK__BOT_TOKEN"])
        await lines.sees("still needed")
        await lines.answers("Paste the App-Level Token", tokens["MOOT__SLACK__APP_TOKEN"])
        await lines.sees("slack sign-in")
        await lines.sees("Listening …")
        await slack.say("@moot hello")  # typed, not chosen from the list
        await lines.sees("does not mention me")
        root = await slack.mention("hello")
        await lines.sees("write anything in that thread")
        await slack.say("here I am", thread=root)
        await lines.sees("reply without a mention: heard")
        await lines.answers("Is it you?", "")
        await lines.answers("Who may ask agents", "2")
        await lines.answers("The folder of your code", str(tmp_path / "nowhere"))
        await lines.sees("There is no folder")
        await lines.answers("The folder of your code", str(code))
        await lines.answers("In which channels", "")
        await lines.answers("What may agents do there", "ask")
        await lines.answers("Start Moot now?", "")
        await lines.sees("adapter=slack")
        await slack.mention("why is it red?", thread=root)

        async def answered():
            texts = [seen.text for seen in await slack.answers(root)]
            return next((t for t in texts if "why is it red?" in t and "⏳" not in t), None)

        await slack.wait(answered, "an answer of the product itself", 40)
        terminal.type("\x03")
        assert await terminal.ended() == 0
        assert not any(token in terminal.seen for token in tokens.values())
    held = tomllib.loads(config.read_text())
    assert config.read_text().startswith("# mine")
    assert config.stat().st_mode & 0o777 == 0o600
    assert held["access"] == {"admins": [f"slack:{ALICE}"], "allow": ["*"]}
    assert held["projects"]["billing"] == {
        "path": str(code), "channels": [f"slack:{GENERAL}"], "permission": "ask",
    }  # fmt: skip


async def test_discord_joins_slack_and_goes_on_where_it_was_stopped(world, tmp_path):
    more = (
        f'[discord]\napi_url = "{world.api_url}"\ngateway_url = "{world.gateway_url}"\n'
        '[access]\nadmins = ["slack:U1"]\nallow = ["slack:U1"]\n'
        f'[projects.billing]\npath = "{tmp_path}"\nchannels = ["slack:C1"]\n'
    )
    (tmp_path / ".git").mkdir()
    async with setting_up(tmp_path, "discord", more) as (terminal, _):
        lines = Lines(terminal)
        await lines.sees("keep it out of commits")
        await lines.answers("Paste the bot token", str(world.alice.id))
        await lines.sees("not the token")
        await lines.answers("Paste the bot token", world.token)
        await lines.sees("Listening …")
        terminal.type("\x03")
        await lines.sees("is used the next time")
        assert await terminal.ended() == 130
    async with setting_up(tmp_path, "discord") as (terminal, config):
        lines = Lines(terminal)
        await lines.sees("is here already")
        await lines.sees("Listening …")
        world.bob.ask(world.channel, "what is this?")
        await lines.sees("write anything in that thread")
        world.bob.say(await opened_thread(world), "here?")
        await lines.answers(f"discord:{world.bob.id}). Is it you?", "n")
        await lines.sees("Listening …")
        world.alice.ask(world.channel, "hello")
        await lines.sees("write anything in that thread")
        await world.until(lambda: len(world.threads()) == 2)
        world.alice.say(world.threads()[-1], "here I am")
        await lines.answers(f"discord:{world.alice.id}). Is it you?", "y")
        await lines.answers("Who may ask agents in Discord", "me")
        await lines.answers("Which project", "")
        await lines.answers("Start Moot now?", "n")
        await lines.sees("Later:")
        assert await terminal.ended() == 0
    held = tomllib.loads(config.read_text())
    both = ["slack:U1", f"discord:{world.alice.id}"]
    assert held["access"] == {"admins": both, "allow": both}
    channels = ["slack:C1", f"discord:{world.channel}"]
    assert held["projects"]["billing"] == {"path": str(tmp_path), "channels": channels}
