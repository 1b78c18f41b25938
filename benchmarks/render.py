"""Rendering and splitting Markdown, beside the best converters that the registries have.

``python -m benchmarks.render [--json] [--bytes N] [--seed N]``: makes up mixed Markdown of that
size (prose in English, Korean and Japanese, emoji, lists, quotes, tables, fences, links, mentions),
the same for the same seed, and lets each side turn all of it into messages of a platform.

Slack: ours beside slackify-markdown (the port of the npm package with most downloads), which
converts and does not split; semantic-text-splitter cuts what it gives.
Discord: no registry has a converter to Discord's Markdown, so ours stands beside
semantic-text-splitter on the Markdown itself, and beside discord.py's own Paginator.

Broken atoms are counted by one rule for all (``broken``), on what would be sent. Times are of the
processor, the best of three. What is measured stands in docs/benchmarks.md. The exit status is 1
when ours breaks an atom.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discord.ext.commands import Paginator
from semantic_text_splitter import MarkdownSplitter
from slackify_markdown import slackify_markdown

from adapters.discord import render as discord
from adapters.slack import render as slack
from adapters.slack.tables import shown
from core.markup.measure import graphemes, utf8_bytes, utf16_units

REPEATS = 3
FAMILY = "👨‍👩‍👧‍👦"
LIMITS = {"slack": slack.MAX_BYTES, "discord": discord.MAX_UNITS}
SIZES = (0.25, 0.5, 1.0)  # of the whole, to show how time grows

# --- what is rendered -----------------------------------------------------------------------

_PROSE = """
the build failed because of a cache that was not cleared and we should look at run_all first then
check config.py 배포는 오늘 오후에 합니다 テスト を 実行 する 🇰🇷 😀 naïve a_b_c 2*3 <T> & @everyone
<@123456> <!channel> C:\\temp ~5 ||x||
"""
_WORDS = _PROSE.split()


def make_markdown(size: int, seed: int) -> str:
    """About ``size`` bytes of mixed Markdown; links and rows carry numbers, so none is alike."""
    rng = random.Random(seed)
    parts: list[str] = []
    written = number = 0
    while written < size:
        number += 1
        part = rng.choice(_BLOCKS)(rng, number) + "\n\n"
        parts.append(part)
        written += utf8_bytes(part)
    return "".join(parts)


def _phrase(rng: random.Random, number: int, words: int) -> str:
    return " ".join(_inline(rng, f"{number}x{n}") for n in range(rng.randint(2, words)))


def _inline(rng: random.Random, name: str) -> str:
    word = rng.choice(_WORDS)
    match rng.randrange(24):
        case 0:
            return f"**{word} {rng.choice(_WORDS)}**를"
        case 1:
            return f"*{word}*"
        case 2:
            return f"`call_{name}(a && b)`"
        case 3:
            return f"[label {name}](https://ex.test/{name}?a=1&b=2)"
        case 4:
            return f"https://ex.test/p/{name}_x"
        case 5:
            return FAMILY
        case _:
            return word


def _table(rng: random.Random, number: int) -> str:
    rows = [
        f"| r{number}x{n} | {' '.join(rng.choices(_WORDS, k=3))} | {n} |"
        for n in range(rng.randint(2, 25))
    ]
    return "\n".join(["| id | 내용 | n |", "|---|:---|--:|", *rows])


def _code(rng: random.Random, number: int) -> str:
    lines = [
        f"    v_{number}_{n} = f({n})  # {rng.choice(_WORDS)}" for n in range(rng.randint(2, 40))
    ]
    return "```python\n" + "\n".join(lines) + "\n```"


_BLOCKS: Sequence[Callable[[random.Random, int], str]] = (
    lambda rng, n: _phrase(rng, n, 80),
    lambda rng, n: _phrase(rng, n, 80),
    lambda rng, n: "## " + _phrase(rng, n, 8),
    lambda rng, n: "\n".join(
        f"- {_phrase(rng, n, 20)}\n  - {_phrase(rng, n, 9)}" for _ in range(3)
    ),
    lambda rng, n: "\n".join(f"{i}. [x] {_phrase(rng, n, 12)}" for i in range(1, 5)),
    lambda rng, n: "> " + _phrase(rng, n, 60),
    _code,
    _table,
)

# --- what counts as broken --------------------------------------------------------------------

_ENTITY_CUT = re.compile(r"&(?:a|am|amp|l|lt|g|gt)?$")
_PING = {
    "slack": re.compile(r"<(?:!(?:channel|here|everyone|subteam)|@[UW\d])"),
    "discord": re.compile(r"@(?:everyone|here)|(?<!\\)<@[!&]?\d"),
}
_NAMED = r"(?:p/)?(\w+?)(?:_x)?(?=[?>|)\s])"
_LINKS = {
    "slack": rf"<https://ex\.test/{_NAMED}[^<>\n|]*(?:\|[^<>\n]*)?>|https://ex\.test/{_NAMED}",
    "discord": rf"\[[^\]\n]*\]\(https://ex\.test/{_NAMED}[^)\n]*\)|<?https://ex\.test/{_NAMED}[^\s>]*>?",
}
_BOLD = {  # bold that shows its marks: beside a letter without an edge, or in Markdown's spelling
    "slack": re.compile(r"(?<![\w*])\*[^*\n]+\*를|\*\*"),
    "discord": re.compile(r"(?!)"),
}


def broken(markdown: str, messages: Sequence[str], platform: str, limit: int) -> dict[str, int]:
    """How often a message breaks what has to stay whole.

    ``over``: messages over the limit. ``fences``: messages with a fence that is not closed.
    ``code``: lines of code that are not shown as they were written. ``links``: links that are none
    any more. ``rows``: rows of tables that are not in one line; ``pipes``: rows of tables shown
    with bare pipes in a proportional font. ``graphemes``, ``entities``: those that were cut.
    ``bold``: bold text that shows its asterisks. ``pings``: mentions that ping.
    """
    size = utf8_bytes if platform == "slack" else utf16_units
    joined = "\n".join(messages)
    prose = [_without_code(text) for text in messages]
    families = sum(graphemes(text).count(FAMILY) for text in messages)
    found = Counter(
        over=sum(size(text) > limit for text in messages),
        fences=sum(text.count("```") % 2 for text in messages),
        entities=sum(_ENTITY_CUT.search(text) is not None for text in messages),
        graphemes=max(graphemes(markdown).count(FAMILY) - families, 0),
        pings=sum(len(_PING[platform].findall(text)) for text in prose),
        bold=sum(len(_BOLD[platform].findall(text)) for text in prose),
        pipes=sum(len(re.findall(r"^\| *r\d", text, re.MULTILINE)) for text in prose),
    )
    if platform == "discord":
        found["entities"] = 0  # Discord has none
    found["code"] = _lost_code(markdown, joined, platform)
    names = re.findall(rf"https://ex\.test/{_NAMED}", markdown)
    whole = {n for hit in re.finditer(_LINKS[platform], joined) for n in hit.groups() if n}
    found["links"] = len(set(names) - whole)
    found["rows"] = _torn_rows(markdown, joined)
    return dict(found)


def _lost_code(markdown: str, joined: str, platform: str) -> int:
    """On Slack ``<`` has to be escaped in code too; a bare ``&`` is shown as it is."""
    lines = set(joined.split("\n"))
    lost = 0
    for line in re.findall(r"^    v_.*$", markdown, re.MULTILINE):
        written = {slack.escape(line)} if platform == "slack" and "<" in line else {line}
        lost += written.isdisjoint(lines) and slack.escape(line) not in lines
    return lost


def _torn_rows(markdown: str, joined: str) -> int:
    rows = re.findall(r"^\| (r\d+x\d+) .* (\d+) \|$", markdown, re.MULTILINE)
    shown_rows = dict(re.findall(r"^\W{0,4}(r\d+x\d+)\b(.*)$", joined, re.MULTILINE))
    return sum(not re.search(rf"\b{last}\W*$", shown_rows.get(name, "")) for name, last in rows)


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


# --- who renders --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One way to turn Markdown into the messages of a platform."""

    platform: str
    name: str
    render: Callable[[str], Sequence[str]]
    ours: bool = False


def _cut(convert: Callable[[str], str], platform: str) -> Callable[[str], Sequence[str]]:
    size = utf8_bytes if platform == "slack" else utf16_units
    splitter = MarkdownSplitter.from_callback(size, LIMITS[platform])
    return lambda markdown: splitter.chunks(convert(markdown))


def _paginated(markdown: str) -> Sequence[str]:
    """discord.py's own splitter, which takes no line longer than a page."""
    pages = Paginator(prefix="", suffix="", max_size=discord.MAX_UNITS)
    for line in markdown.split("\n"):
        for at in range(0, max(len(line), 1), discord.MAX_UNITS - 10):
            pages.add_line(line[at : at + discord.MAX_UNITS - 10])
    return pages.pages


SIDES = (
    Side(
        "slack",
        "moot",
        lambda markdown: [shown(text) for text in slack.render(markdown)],
        ours=True,
    ),
    Side("slack", "slackify-markdown", _cut(slackify_markdown, "slack")),
    Side("discord", "moot", discord.render, ours=True),
    Side("discord", "semantic-text-splitter", _cut(str, "discord")),
    Side("discord", "discord.py Paginator", _paginated),
)


def measure(size: int, seed: int) -> list[dict[str, object]]:
    """One row a side: seconds, messages, and what is broken, by kind."""
    markdown = make_markdown(size, seed)
    rows: list[dict[str, object]] = []
    for side in SIDES:
        seconds, messages = _timed(side, markdown)
        counts = broken(markdown, messages, side.platform, LIMITS[side.platform])
        row: dict[str, object] = {
            "platform": side.platform,
            "side": side.name,
            "seconds": round(seconds, 3),
            "messages": len(messages),
            "broken": sum(counts.values()),
            **{f"broken_{kind}": count for kind, count in sorted(counts.items())},
        }
        if side.ours:
            row["seconds_by_share"] = {
                share: round(_timed(side, make_markdown(int(size * share), seed))[0], 3)
                for share in SIZES[:-1]
            }
        rows.append(row)
    return rows


def _timed(side: Side, markdown: str) -> tuple[float, Sequence[str]]:
    best, messages = float("inf"), ()
    for _ in range(REPEATS):
        start = time.process_time()
        messages = side.render(markdown)
        best = min(best, time.process_time() - start)
    return best, messages


def ratios(rows: Sequence[dict[str, object]]) -> dict[str, float]:
    """The time of ours over that of each other side of the same platform."""
    ours = {row["platform"]: float(str(row["seconds"])) for row in rows if row["side"] == "moot"}
    return {
        f"{row['platform']}: moot / {row['side']}": round(
            ours[row["platform"]] / max(float(str(row["seconds"])), 0.001), 2
        )
        for row in rows
        if row["side"] != "moot"
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args(argv)
    rows = measure(asked.bytes, asked.seed)
    result = {"bytes": asked.bytes, "seed": asked.seed, "sides": rows, "ratios": ratios(rows)}
    if asked.json:
        print(json.dumps(result))
    else:
        for row in rows:
            print("  ".join(f"{key}={value}" for key, value in row.items()))
        for name, ratio in ratios(rows).items():
            print(f"{name}: {ratio}")
    return int(any(row["broken"] for row in rows if row["side"] == "moot"))


if __name__ == "__main__":
    sys.exit(main())
