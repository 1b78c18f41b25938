"""Where Moot speaks Korean, people read Korean and agents are told in English."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from core.model import Participant
from core.tongue import speaking
from tests.integration.parlour import RULES, parlour

HANGUL = re.compile("[가-힣]")


async def test_people_read_korean_and_agents_english(tmp_path: Path):
    seats = tuple(Participant("rehearsal", name) for name in ("architect", "critic"))
    rules = replace(RULES, synthesizer=Participant("rehearsal", "synthesizer"))
    topic = '@@rehearse when="You are critic" fail=auth@@ Files or SQL?'
    async with parlour(tmp_path) as room:
        for name in ("architect", "critic", "synthesizer"):
            (tmp_path / "personas" / f"{name}.md").write_text(f"You are {name}.")
        with speaking("ko"):
            await room.ask(topic, seats, rounds=2, rules=rules)
            await room.ask("and what was said before?")
        told = [task.context + task.prompt for task in room.actor.asked]
        assert len(told) >= 4
        assert any("no answer in this round" in one for one in told), "somebody's absence was told"
        assert not [HANGUL.findall(one) for one in told if HANGUL.search(one)]
        notices = "\n".join(await room.notices())
        assert "로그인되어 있지 않거나" in notices
        assert "**입장**" in notices
