"""Voice messages as questions, through both platforms, with a small script as the transcriber."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.e2e.stages import started
from tests.e2e.test_attachments import OnDiscord, OnSlack, Stage

pytestmark = pytest.mark.peers

LISTENS = """\
import sys, pathlib
sound = pathlib.Path(sys.argv[-1]).read_bytes().decode()
if sound == "noise":
    sys.exit("no words in it")
print("  why is the " + sound + "\\n red?")
"""


@pytest.fixture(params=["slack", "discord"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    script = tmp_path / "listens.py"
    script.write_text(LISTENS)
    more = {"attachments": {"transcribe": [sys.executable, str(script)]}}
    async with started(request.param, tmp_path, more) as (peer, moot):
        yield OnSlack(peer, moot) if request.param == "slack" else OnDiscord(peer, moot)


def voice(stage: Stage, sound: str):
    """A voice message as the platform tells of it."""
    if isinstance(stage, OnSlack):
        told = stage.file("audio_message.m4a", sound.encode())
        return {**told, "mimetype": "audio/mp4", "subtype": "slack_audio"}
    told = stage.file("voice-message.ogg", sound.encode())
    return {**told, "content_type": "audio/ogg", "duration_secs": 2.0, "waveform": "AAAA"}


async def test_what_is_said_in_a_voice_message_is_asked_and_kept(stage):
    place = await stage.ask("hello")
    await stage.answer(place)
    await stage.say(place, "", voice(stage, "build"))
    text = await stage.until(place, "Heard:", "> [voice message] why is the build red?")
    assert "Heard: “why is the build red?”" in text
    with sqlite3.connect(stage.moot.folder / "data" / "moot.sqlite") as db:
        told = [row[0] for row in db.execute("SELECT text FROM message")]
    assert "[voice message] why is the build red?" in told
    # What cannot be listened to is said, and no engine is asked.
    await stage.say(place, "", voice(stage, "noise"))
    text = await stage.until(place, "I could not listen to")
    assert "no words in it" in text
    await stage.moot.event("turn.ended", state="failed")
    assert len(stage.moot.logged("run.closed")) == 2


async def test_without_a_transcriber_the_thread_is_told_once_how_to_set_one_up(world, tmp_path):
    async with Product(tmp_path, on_discord.settings(world), on_discord.env(world)) as moot:
        await moot.start("discord")
        stage = OnDiscord(world, moot)
        place = await stage.ask("hello")
        await stage.answer(place)
        for _ in range(2):
            await stage.say(place, "", voice(stage, "build"))
        await stage.say(place, "the last")
        text = await stage.until(place, "> the last")
        assert text.count("[attachments] transcribe") == 1


async def test_slack_has_written_it_down_itself(slack, tmp_path):
    async with Product(tmp_path, on_slack.settings(slack), slack.env()) as moot:
        await moot.start("slack")
        stage = OnSlack(slack, moot)
        place = await stage.ask("hello")
        await stage.answer(place)
        told = voice(stage, "build")
        slack.api.transcripts[told["id"]] = ["processing", "why is it red?"]
        await stage.say(place, "", told)
        text = await stage.until(place, "> [voice message] why is it red?")
        assert "Heard" not in text
