"""Points in time in our own Markdown: each platform shows them in the reader's zone."""

from datetime import datetime

import pytest

from adapters.console import render as console
from adapters.discord import render as discord
from adapters.slack import render as slack

TEXT = "ends [2026-11-30 17:55 UTC](moot-time:1764525300)에"


def test_slack_shows_dates_and_falls_back_to_the_text():
    (text,) = slack.render(TEXT)
    date = "<!date^1764525300^{date_short_pretty} {time}|2026-11-30 17:55 UTC>"
    assert text == f"ends {date}에"
    (text,) = slack.render("**[a|b > c](moot-time:5)**")
    assert text == "*<!date^5^{date_short_pretty} {time}|a∣b &gt; c>*"


def test_discord_shows_timestamps():
    assert discord.render(TEXT) == ("ends <t:1764525300:f>에",)


def test_the_console_shows_local_time():
    local = datetime.fromtimestamp(1764525300).astimezone().strftime("%Y-%m-%d %H:%M %Z")
    assert console.render(TEXT) == (f"ends {local}에",)
    code = "`a [x](moot-time:5)` ``b ` [x](moot-time:5)``\n```\n[x](moot-time:5)\n```"
    assert console.render(code) == (code,)


@pytest.mark.parametrize(
    "target", ["-5", "12x", "１２", "", "123456789012", "1.5", "5 'title", "5?x=<!channel>"]
)
def test_anything_but_plain_digits_is_plain_text(target):
    source = f"[x](moot-time:{target})"
    assert "date^" not in slack.render(source)[0]
    assert "<t:" not in discord.render(source)[0]
    assert console.render(source) == (source,)
    assert "moot-time:" in slack.render(source)[0]


def test_in_a_table_a_moment_is_its_text():
    table = "|when|what|\n|-|-|\n|[noon](moot-time:5)|x|"
    assert "noon | x" in slack.render(table)[0]
    assert "noon | x" in discord.render(table)[0]


def test_a_moment_is_never_cut():
    source = "word " * 20 + "[2026-11-30 17:55 UTC](moot-time:1764525300) " * 40
    pieces = slack.render(source, limit=200)
    assert sum(piece.count("|2026-11-30 17:55 UTC>") for piece in pieces) == 40
    pieces = discord.render(source, limit=100)
    assert sum(piece.count("<t:1764525300:f>") for piece in pieces) == 40
