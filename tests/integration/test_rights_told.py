"""Who is held lower than the channel is told so once; !permission shows why; the room too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.trial import banner
from config.settings import load_settings
from core.model import Author, Project
from core.records.thread import Records
from tests.integration.test_intake import KIM, POLICY, House

LOWER = "🔒 This runs in **plan**"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    here = House(records)
    asks = Project("acme", "/src", "ask", set_by="[projects.acme]")
    ground = replace(POLICY.ground, project_of=lambda _key: asks)
    here.intake = Intake(
        records,
        Door(("slack:U1", "slack:U2"), (), {"slack:U1": "plan"}),
        replace(POLICY, ground=ground),
        lambda _chat, text: (text,),
        on_turn=lambda: None,
        on_post=lambda: None,
        on_stop=lambda _turns: None,
        on_skip=lambda _turn, _steps: None,
    )
    yield here
    await records.close()


async def test_it_is_told_once_in_a_conversation(house: House) -> None:
    await house.say("one?", at="1", mention=True)
    await house.say("two?", at="2", root="1")
    told = [text for _, text in await house.posts() if text.startswith(LOWER)]
    assert len(told) == 1
    assert "`[permissions.at_most]" in told[0]


async def test_who_lowers_a_question_oneself_is_told_nothing(house: House) -> None:
    await house.say("one? --permission plan", at="1", mention=True)
    assert not [text for _, text in await house.posts() if text.startswith(LOWER)]


async def test_permission_status_and_context_say_the_mode(house: House) -> None:
    shown = await house.act("command", "", command="permission", who=KIM)
    assert "**In force here for Kim:** **plan**" in shown.text
    assert "by `[projects.acme] permission`" in shown.text
    status = await house.act("command", "", command="status", event_id="e2", who=KIM)
    assert "Agents may here, for Kim: **plan**" in status.text


@pytest.mark.parametrize(
    ("text", "channel", "mode"),
    [
        ('[permissions.at_most]\n"*" = "plan"\n', "general", "plan"),
        ('[channels."console:quiet"]\npermission = "full"\n', "quiet", "full"),
        ('[channels."console:quiet"]\npermission = "full"\n', "general", "ask"),
    ],
)
def test_the_room_shows_the_mode_in_force(tmp_path: Path, text: str, channel: str, mode: str):
    path = tmp_path / "moot.toml"
    path.write_text(
        f'[projects.p]\npath = "{tmp_path}"\nchannels = ["*"]\npermission = "ask"\n{text}'
    )
    settings = load_settings(path)
    door = Door((), (), settings.permissions.at_most)
    intake = SimpleNamespace(door=door, policy=POLICY)
    moot = SimpleNamespace(settings=settings, intake=intake, default_engine="claude")
    me = Author("kim", "kim", grants=("console:owner",))
    assert f"**{mode}**" in banner(moot, channel, me)[0]
