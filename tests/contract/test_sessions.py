"""What the real CLIs' sessions keep: delta delivery stands on it."""

from __future__ import annotations

import json

import pytest

from tests.contract.desk import CLIS, Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]


@pytest.mark.parametrize("desk", CLIS, indirect=True)
async def test_a_session_keeps_what_its_first_turn_was_told(desk: Desk) -> None:
    context = "# Platform rules\n\nThe word is MOOTWORD."
    first = await desk.ask("One. @@fake plain@@", context=context)
    asked = len(desk.models.seen)
    new = "# What is new\n\nNEWWORD"
    second = await desk.ask("Two. @@fake history@@", resume=first.session, context=new)
    assert second.session == first.session
    assert json.loads(second.text)["user_turns"] == 2
    (sent, *_) = [seen.body for seen in desk.models.seen[asked:] if seen.directive == "history"]
    told = json.dumps(sent, ensure_ascii=False)
    assert told.count("MOOTWORD") == 1
    assert told.count("NEWWORD") == 1
