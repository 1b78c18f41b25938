"""Golden files: one document a feature, and what each platform is sent for it.

``python -m tests.unit.test_render_golden`` writes them anew; read the difference before you commit
it (tests/fixtures/render/README.md).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.discord import render as discord
from adapters.slack import render as slack
from adapters.slack.layout import body
from tests.peers.slack_tables import words

FOLDER = Path(__file__).parents[1] / "fixtures" / "render" / "features"
FEATURES = sorted(path.stem for path in FOLDER.glob("*.md"))
NEXT = "\n════════ next message ════════\n"
TABLE = "\n──────── as a table block ────────\n"
INVISIBLE = {"\u200b": "‹zwsp›", "\u200a": "‹hair›", "\ufeff": "‹bom›", "\u2060": "‹wj›",
             "\u202e": "‹rlo›", "\u202c": "‹pdf›"}  # fmt: skip


def on_slack(markdown: str) -> str:
    return NEXT.join(_on_slack(text) for text in slack.render(markdown, "claude"))


def _on_slack(text: str) -> str:
    sent = body(text, ())
    tables = [block for block in sent.get("blocks", ()) if block["type"] == "table"]
    rows = [json.dumps(row, ensure_ascii=False) for table in tables for row in words(table)]
    return str(sent["text"]) + (TABLE + "\n".join(rows) if rows else "")


def on_discord(markdown: str) -> str:
    return NEXT.join(discord.render(markdown, "claude"))


PLATFORMS = {"slack": on_slack, "discord": on_discord}


def rendered(feature: str, platform: str) -> str:
    text = PLATFORMS[platform]((FOLDER / f"{feature}.md").read_text("utf-8"))
    for character, name in INVISIBLE.items():
        text = text.replace(character, name)
    return text + "\n"


def test_there_are_documents():
    assert len(FEATURES) >= 15


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("feature", FEATURES)
def test_golden(feature, platform):
    golden = (FOLDER / f"{feature}.{platform}.txt").read_text("utf-8")
    assert rendered(feature, platform) == golden


if __name__ == "__main__":
    for name in FEATURES:
        for where in PLATFORMS:
            (FOLDER / f"{name}.{where}.txt").write_text(rendered(name, where), "utf-8")
