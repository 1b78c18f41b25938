"""Moot speaks Korean where it is set so, on each platform, and as people choose with !language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stages import Stage, discord_stage, slack_stage
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import TEAM, LoopbackSlack

pytestmark = pytest.mark.peers


def spoken(place: str) -> dict[str, Any]:
    """Korean for the workspace or server; everybody else has English."""
    return {"chat": {"languages": {place: "ko"}}}


async def it_is_korean(stage: Stage) -> str:
    """A thread in which all is over."""
    # A failure, with what to do about it, and its buttons.
    place = await stage.ask("@@rehearse fail=auth@@ 로그를 봐 줘")
    failed = await stage.post(place, "로그인되어 있지 않거나 키가 거부되었습니다")
    assert "다시 시도" in stage.labels(failed)

    # A refusal: of what is no command, and of what is somebody else's.
    await stage.say(place, "!recall")
    await stage.post(place, "무엇을 찾을까요?")
    await stage.say(place, "!forget thread", "guest")
    await stage.post(place, "스레드는 시작한 사람이나")

    # A roundtable: its header in the end.
    await stage.say(place, "!rt 감사 로그 --with critic:rehearsal,developer:rehearsal --rounds 1")
    header = await stage.post(place, " 님의 요청", 60)
    assert "감사 로그" in str(header)

    # Help, as it is typed in a thread.
    await stage.say(place, "!도움말")
    await stage.post(place, "저를 멘션해 질문하시면 스레드에서 답합니다", 60)

    # What runs, with its button; a Korean word stops it.
    busy = await stage.ask("@@rehearse sleep=120@@ 오래 걸리는 일")
    status = await stage.post(busy, "작업 중")
    assert "중지" in stage.labels(status)
    await stage.say(busy, "!중지")
    await stage.post(busy, " 님이 중지했습니다.")
    return busy


async def it_is_as_people_choose(stage: Stage, place: str) -> None:
    await stage.say(place, "!language en")
    await stage.post(place, "From now on I speak English in this channel.")
    await stage.say(place, "!recall")
    await stage.post(place, "What should be found?")
    await stage.say(place, "!language auto")
    await stage.post(place, "이제부터 이 채널에서 한국어로 말합니다.")


async def test_on_slack(slack: LoopbackSlack, tmp_path: Path):
    stage = slack_stage(slack, tmp_path, spoken(f"slack:{TEAM}"))
    async with stage.moot as moot:
        await moot.start("slack")
        await it_is_korean(stage)


async def test_on_discord(world: LoopbackDiscord, tmp_path: Path):
    stage = discord_stage(world, tmp_path, spoken(f"discord:{world.guild}"))
    async with stage.moot as moot:
        await moot.start("discord")
        await it_is_as_people_choose(stage, await it_is_korean(stage))
