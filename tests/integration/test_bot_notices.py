"""What a bot's questions come to is told it once: each notice may bring the next question (K4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.parlour import Parlour, parlour


@pytest.fixture
async def room(tmp_path: Path):
    async with parlour(tmp_path, sessions=False, retries=0) as made:
        yield made


async def test_c065_the_same_failure_is_told_a_bot_once_until_a_person_writes(room: Parlour):
    failing = "check it @@rehearse fail=quota@@"
    for _ in range(3):
        assert await room.ask(failing, by_bot=True) == "failed"
    assert len(await room.notices()) == 1
    await room.say("try again")
    for _ in range(2):
        assert await room.ask(failing, by_bot=True) == "failed"
    assert len(await room.notices()) == 2
    assert await room.ask(failing) == "failed"  # a person is told each time
    assert await room.ask(failing) == "failed"
    assert len(await room.notices()) == 4
