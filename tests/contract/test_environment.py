"""What a real CLI has in its environment: its own keys, nobody else's, never the chats' tokens."""

from __future__ import annotations

import pytest

from tests.contract.desk import CLIS, Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

CHATS = {
    "MOOT__SLACK__BOT_TOKEN": "xoxb-loopback-never-tell",
    "MOOT__DISCORD__TOKEN": "discord-loopback-never-tell",
    "SLACK_APP_TOKEN": "xapp-loopback-never-tell",
    "DISCORD_TOKEN": "another-loopback-never-tell",
    "OPENAI_COPIED": "xoxb-loopback-never-tell",
    "ANTHROPIC_COPIED": "xoxb-loopback-never-tell",
    "GEMINI_COPIED": "xoxb-loopback-never-tell",
    "OPENCODE_COPIED": "xoxb-loopback-never-tell",
}
OTHERS = {
    "GITHUB_TOKEN": "somebody-elses-0123456789",
    "AWS_SECRET_ACCESS_KEY": "somebody-elses-0123456789",
    "DATABASE_URL": "postgres://somebody-elses",
}
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "FAKE_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "opencode": "OPENCODE_CONFIG",
}


@pytest.mark.parametrize("desk", CLIS, indirect=True)
async def test_a_process_has_its_own_keys_only(desk: Desk) -> None:
    everything = {**desk.homes.everything(), **CHATS, **OTHERS}
    outcome = await desk.ask("@@fake plain@@", env=everything)
    assert outcome.kind == "answered", outcome
    assert "MOOT_RUN" in desk.environ
    assert [key for name, key in KEYS.items() if key in desk.environ] == [KEYS[desk.name]]
    told = "\n".join(f"{name}={value}" for name, value in desk.environ.items())
    for word in ("never-tell", "somebody-elses", "MOOT__"):
        assert word not in told
