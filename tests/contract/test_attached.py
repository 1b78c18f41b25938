"""A file that somebody attached is read by the real CLI's own read tool, and no more beside it."""

from __future__ import annotations

import base64
import json

import pytest

from tests.contract.desk import Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

FILES = {"1-build.log": b"ERROR: the quick brown fox is missing\n"}
MODES = [
    ("claude", "plan"),
    ("claude", "ask"),
    ("claude", "edit"),
    ("codex", "plan"),
    ("codex", "ask"),
    ("gemini", "plan"),
    ("gemini", "ask"),
    ("opencode", "plan"),
]


@pytest.mark.parametrize(("desk", "mode"), MODES, indirect=["desk"])
async def test_the_agent_reads_an_attached_file_without_asking(desk: Desk, mode: str) -> None:
    prompt = "@@fake read path=@FILES/1-build.log@@"
    outcome = await desk.ask(prompt, attached=FILES, permission=mode, asks=mode == "ask")
    assert outcome.kind == "answered", outcome
    assert "the quick brown fox is missing" in outcome.text
    assert desk.requests == []


@pytest.mark.parametrize("desk", ["claude", "gemini"], indirect=True)
async def test_what_lies_beside_the_folder_stays_closed(desk: Desk) -> None:
    secret = desk.folder / "beside.txt"
    secret.write_text("the lazy dog\n")
    outcome = await desk.ask(f"@@fake read path={secret}@@", attached=FILES)
    assert "the lazy dog" not in outcome.text
    assert "the lazy dog" not in desk.bodies()


@pytest.mark.parametrize("desk", ["ollama"], indirect=True)
async def test_ollama_is_shown_images_only_by_a_model_that_sees(desk: Desk) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"pixels"
    for can, told in (((), False), (("vision",), True)):
        desk.models.state.more_can = can
        outcome = await desk.ask("What is this?", attached={"1-a.png": picture, **FILES})
        assert outcome.kind == "answered", outcome
        message = desk.models.seen[-1].body["messages"][-1]
        assert message.get("images", []) == [base64.b64encode(picture).decode()] * told
        assert ("takes no images" in json.dumps(message)) is not told


@pytest.mark.parametrize("desk", ["claude", "codex", "gemini"], indirect=True)
async def test_a_picture_is_seen(desk: Desk) -> None:
    """Shown with the question, or by the agent's own read tool: its very pixels reach the model."""
    dot = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/"
        "wc53yE8AAAAASUVORK5CYII="
    )
    outcome = await desk.ask("@@fake read path=@FILES/1-dot.png@@", attached={"1-dot.png": dot})
    assert outcome.kind == "answered", outcome
    assert base64.b64encode(dot).decode()[:24] in desk.bodies()


@pytest.mark.parametrize("desk", ["codex"], indirect=True)
async def test_what_is_called_a_picture_and_is_none_costs_codex_no_answer(desk: Desk) -> None:
    outcome = await desk.ask("hello", attached={"1-broken.png": b"<html>not a picture</html>"})
    assert outcome.kind == "answered", outcome
