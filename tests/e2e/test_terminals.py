"""``!resume`` and ``!continue`` through both platforms: out to a terminal, and back in."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product, base_env
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import ALICE, BOB, DEV, GENERAL, GUEST, LoopbackSlack, Seen

pytestmark = pytest.mark.peers

ASKS = "@@rehearse show=session text=Noted.@@"
OWN_TOKEN, PASTED = "canary-77-TokenOfTheHouse", "sk-ant-api03-AbCdEfGh1234567890"
PRIVATE = "the *salary* list `x` <!everyone>"


class Host:
    """The host's terminals: sessions of the rehearsal engine in one project's folder."""

    def __init__(self, folder: Path) -> None:
        self.kept, self.project = folder / "kept", folder / "my $(touch oops) project"
        self.kept.mkdir()
        self.project.mkdir()
        self.env = {"REHEARSAL_SESSIONS": str(self.kept)}
        self.home = folder / "home"

    def projects(self, *channels: str) -> dict[str, object]:
        return {"projects": {"acme": {"path": str(self.project), "channels": channels}}}

    def begun(self, said: str, age_s: float) -> str:
        """A session that was begun in a terminal some time ago; its id."""
        session = str(uuid.uuid4())
        path = self.kept / f"{session}.json"
        path.write_text(json.dumps({"cwd": str(self.project), "said": [said]}))
        then = time.time() - age_s
        os.utime(path, (then, then))
        return session

    def type(self, line: str, question: str) -> str:
        """What a shell prints for a line that was copied from chat, as typed by a person."""
        done = subprocess.run(
            ["/bin/sh", "-c", line], input=question, capture_output=True, text=True, timeout=60,
            env={**base_env(self.home), **self.env}, cwd="/", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def command_in(text: str) -> str:
    """The line of the one code block."""
    _, block, _ = text.split("```")
    return block.strip().replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")


async def private(slack: LoopbackSlack, containing: str, user: str = ALICE) -> Seen:
    async def found():
        notes = [m for m in await slack.seen(by=user) if m.only_for == user]
        return next((m for m in notes if containing in m.text), None)

    return await slack.wait(found, f"a private note with {containing}", 15)


async def test_out_to_a_terminal_and_back_on_slack(slack, tmp_path, host):
    more = {
        "access": {"allow": [f"slack:{ALICE}", f"slack:{GUEST}"]},
        **host.projects(f"slack:{GENERAL}"),
    }
    settings = on_slack.settings(slack, **more)
    async with Product(tmp_path, settings, {**slack.env(), **host.env}) as moot:
        await moot.start("slack")
        root = await slack.mention(f"FIRST {ASKS}")
        await on_slack.standing(slack, root, 1)
        await slack.say("!resume", thread=root)
        offer = await slack.wait_for_answer(root, containing="shown to you alone")
        await slack.click(offer, "Show me")
        note = await private(slack, "--resume")
        assert "may only read here" in note.text
        printed = host.type(command_in(note.text), f"SECOND, in a terminal {ASKS}")
        assert "FIRST" in printed
        assert not (host.project / "oops").exists()
        assert not Path("/oops").exists()
        await slack.say(f"THIRD {ASKS}", thread=root)
        *_, third = await on_slack.standing(slack, root, 3)
        assert "FIRST" in third
        assert "SECOND, in a terminal" in third
        # Nobody else sees it, and no path stands in the thread.
        await slack.click(offer, "Show me", user=GUEST)
        await private(slack, "for members", GUEST)
        public = "\n".join(m.text for m in await slack.answers(root))
        assert str(host.project) not in public
        assert "--resume" not in public


async def test_in_from_a_terminal_on_slack(slack, tmp_path, host):
    settings = on_slack.settings(slack, **host.projects(f"slack:{GENERAL}"))
    env = {**slack.env(), **host.env, "OTHER_TOKEN": OWN_TOKEN}
    async with Product(tmp_path, settings, env) as moot:
        await moot.start("slack")
        root = await slack.mention(f"FIRST {ASKS}")
        await on_slack.standing(slack, root, 1)
        host.begun(f"older work with {OWN_TOKEN} and {PASTED} now", 3 * 86_400)
        newest = host.begun(PRIVATE, 7_200)
        await slack.say("!continue", thread=root)
        offer = await slack.wait_for_answer(root, containing="shown to you alone")
        await slack.click(offer, "Show me")
        listed = await private(slack, "2 hours ago")
        assert "salary" in listed.text
        assert "<!everyone>" not in listed.text
        assert "3 days ago" in listed.text
        assert "older work with" in listed.text
        assert OWN_TOKEN[:12] not in listed.text.replace("\\", "")
        assert PASTED[:16] not in listed.text.replace("\\", "")
        assert sorted(listed.buttons) == ["1 · rehearsal", "2 · rehearsal"]  # not Moot's own
        await slack.click(listed, "1 · rehearsal")
        told = await slack.wait_for_answer(root, containing="continues a session of rehearsal")
        assert "2 hours ago" in told.text
        await on_slack.standing(slack, root, 3)
        assert "salary" not in "\n".join(m.text for m in await slack.answers(root))
        await slack.say(f"SECOND {ASKS}", thread=root)
        *_, second = await on_slack.standing(slack, root, 4)
        assert "salary" in second
        assert "FIRST" not in second.split("Noted.")[1]
        kept = json.loads((host.kept / f"{newest}.json").read_text())
        assert len(kept["said"]) == 2
        assert "SECOND" in kept["said"][1]
        # Pressed again, from the same list: it is this thread's already.
        await slack.click(listed, "1 · rehearsal")
        await private(slack, "goes on with it already")
        # And the next question knows what the one before brought.
        await slack.say(f"THIRD {ASKS}", thread=root)
        *_, third = await on_slack.standing(slack, root, 5)
        assert "SECOND" in third


async def test_who_may_not_and_where_there_is_nothing_on_slack(slack, tmp_path, host):
    more = {
        "access": {"allow": [f"slack:{ALICE}", f"slack:{BOB}", f"slack:{GUEST}"]},
        **host.projects(f"slack:{GENERAL}"),
    }
    settings = on_slack.settings(slack, **more)
    async with Product(tmp_path, settings, {**slack.env(), **host.env}) as moot:
        await moot.start("slack")
        root = await slack.mention("one", user=BOB)
        await on_slack.standing(slack, root, 1)
        await slack.say("!resume", thread=root, user=GUEST)
        await private(slack, "for members", GUEST)
        await slack.say("!continue please", thread=root, user=BOB)
        await slack.wait_for_answer(root, containing="without the")
        await slack.say("!continue", thread=root, user=BOB)
        offer = await slack.wait_for_answer(root, containing="shown to you alone")
        await slack.click(offer, "Show me", user=BOB)
        await private(slack, "No terminal on this host", BOB)
        # A channel without a project has no folder that is anybody's.
        other = await slack.mention("two", channel=DEV, user=BOB)

        async def answered():
            return await slack.answers(other, DEV) or None

        await slack.wait(answered, "an answer")
        for word in ("!resume", "!continue"):
            await slack.say(word, channel=DEV, thread=other, user=BOB)

        async def refused():
            texts = [m.text for m in await slack.answers(other, DEV)]
            return texts if sum("belongs to no project" in t for t in texts) == 2 else None

        texts = await slack.wait(refused, "two refusals")
        assert str(tmp_path) not in "\n".join(texts)


async def test_out_and_in_on_discord(world: LoopbackDiscord, tmp_path: Path, host: Host):
    settings = on_discord.settings(world, **host.projects(f"discord:{world.channel}"))
    env = {**on_discord.env(world), **host.env}
    async with Product(tmp_path, settings, env) as moot:
        await moot.start("discord")
        root = world.alice.ask(world.channel, f"FIRST {ASKS}")
        await on_discord.standing(world, root, 1)
        note = await world.alice.slash(root, "resume").answer()
        assert note.ephemeral
        assert "FIRST" in host.type(command_in(note.text), f"in a terminal {ASKS}")
        host.begun(PRIVATE, 7_200)
        listed = await world.alice.slash(root, "continue", which="rehearsal").answer()
        assert listed.ephemeral
        assert "salary" in listed.text
        [(action, _)] = listed.buttons
        await world.alice.click(listed, action).done()
        await world.message(root, "continues a session of rehearsal")
        assert "salary" not in "\n".join(world.posts(root))
        world.alice.say(root, f"SECOND {ASKS}")
        *_, second = await on_discord.standing(world, root, 3)
        assert "salary" in second
        # Typed by number, once the list was shown.
        host.begun("a third thing", 60)
        shown = await world.alice.slash(root, "moot", words="continue").answer()
        assert "perhaps still open" in shown.text
        world.alice.say(root, "!continue 1")
        await world.message(root, "1 minute ago")
        world.alice.say(root, f"THIRD {ASKS}")
        *_, third = await on_discord.standing(world, root, 5)
        assert "a third thing" in third
