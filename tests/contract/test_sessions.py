"""What the real CLIs' sessions keep: delta delivery stands on it."""

from __future__ import annotations

import asyncio
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


# OpenCode does the same by the same protocol as Gemini CLI, in 5 s more.
@pytest.mark.parametrize("desk", ["claude", "codex", "gemini"], indirect=True)
async def test_c114_what_was_stopped_before_its_first_word_is_gone_on_with(desk: Desk) -> None:
    async def stop_it() -> None:
        while not (desk.models.seen and any(e.kind == "started" for e in desk.events)):
            await asyncio.sleep(0.02)
        desk.cancel.set()

    stopping = asyncio.create_task(stop_it())
    first = await desk.ask("ONE WORD @@fake hang@@", context="")
    await stopping
    assert (first.kind, first.text) == ("cancelled", "")
    desk.cancel.clear()
    second = await desk.ask("Go on. @@fake plain@@", resume=first.session, context="")
    assert (second.kind, second.session) == ("answered", first.session)
    assert "ONE WORD" in json.dumps(desk.models.seen[-1].body)
