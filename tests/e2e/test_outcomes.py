"""Quotas that rest, tries again and secrets, through the whole product and a loopback Slack."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.product import Product
from tests.peers.slack import ALICE, LoopbackSlack, Seen

pytestmark = pytest.mark.peers

KEY = "acme-canary/4f9+Zq=81.kW"
TOKEN = "xoxb-canary-77-TokenOfTheBot"

# Engines as somebody would write them: the rehearsal with a quota, and one that leaks.
ENGINES = """
import sys
from dataclasses import replace
from pathlib import Path

from core.engines.rehearsal import Rehearsal
from core.model import Spawn


class Acme(Rehearsal):
    name = "acme"
    programs = (sys.executable,)
    traits = replace(Rehearsal.traits, rests=True)


class Bolt(Acme):
    name = "bolt"


class Leaky(Rehearsal):
    name = "leaky"

    def start(self, task):
        spawn = super().start(task)
        return replace(spawn, argv=(sys.executable, str(Path(__file__).with_name("leak.py"))))
"""
LEAK = f"""
import base64, json, os, sys
from urllib.parse import quote
prompt = json.loads(sys.stdin.readline())["prompt"]
key, token = os.environ["ACME_API_KEY"], {TOKEN!r}
both = base64.b64encode(("robot:" + key).encode()).decode()
leaks = [key, token, json.dumps({{"k": key}}), "https://h.example/?k=" + quote(key, safe=""), both]
def say(kind, **more):
    print(json.dumps({{"type": kind, **more}}), flush=True)
say("started", session="s-1")
text = "I found: " + " and ".join(leaks)
if "case tool" in prompt:
    say("tool", id="1", name="shell", about="curl -u robot:" + key + " -H 'X: " + token + "'")
    say("tool_end", id="1", name="shell", ok=True)
if "case fail" in prompt:
    say("delta", text="half of " + key)
    say("result", ok=False, kind="crashed", detail="refused with " + " ".join(leaks))
    sys.exit(1)
if "case crash" in prompt:
    sys.stderr.write("fatal: " + " ".join(leaks))
    sys.exit(3)
if "case pull" in prompt:
    text += "\\n<!-- pull:messages: " + key + " -->"
for piece in text:
    say("delta", text=piece)
say("message", text=text)
say("result", ok=True, usage={{"input": 5, "output": 5}})
"""


@pytest.fixture
async def moot(slack: LoopbackSlack, tmp_path: Path) -> AsyncIterator[Product]:
    (tmp_path / "own_engines.py").write_text(ENGINES)
    (tmp_path / "leak.py").write_text(LEAK)
    named = {name: {"use": f"own_engines:{name.title()}"} for name in ("acme", "bolt", "leaky")}
    named["leaky"]["env"] = ["ACME_API_KEY"]  # type: ignore[assignment]
    settings = {
        "slack": {"enabled": True, "api_url": slack.api_url},
        "access": {"allow": [f"slack:{ALICE}"]},
        "engines": {"default": "acme", **named},
    }
    env = {**slack.env(), "PYTHONPATH": str(tmp_path), "ACME_API_KEY": KEY, "OTHER_TOKEN": TOKEN}
    async with Product(tmp_path, settings, env) as product:
        await product.start("slack")
        yield product


async def over(slack: LoopbackSlack, root: str) -> list[Seen]:
    """Our posts of a thread once nothing runs there."""

    async def found() -> list[Seen] | None:
        posts = await slack.answers(root)
        return posts if posts and not any("⏳" in post.text for post in posts) else None

    return await slack.wait(found, f"the end of {root}", 30)


async def test_an_engine_out_of_quota_rests_and_another_is_asked(
    slack: LoopbackSlack, moot: Product
) -> None:
    root = await slack.mention("one @@rehearse fail=quota@@")
    [told] = await over(slack, root)
    assert "3:40 PM (this host's time)" in told.text
    assert "Try anyway" in told.buttons
    assert await moot.event("run.spawned")

    second = await slack.mention("and two?")
    [notice] = await over(slack, second)
    assert "has used up its quota" in notice.text
    assert "UTC" in notice.text
    assert "--engine bolt" in notice.text
    assert len(moot.logged("run.spawned")) == 1, "no process for an engine that rests"
    assert "acme rests until" in await moot.command("engines")

    await moot.kill()
    await moot.start("slack")
    await slack.until_connected()
    third = await slack.mention("and three?")
    [still] = await over(slack, third)
    assert "was not asked" in still.text, "also after a restart"
    await slack.say("!status", thread=third)
    await slack.wait_for_answer(third, containing="acme rests until")

    await slack.click(notice, "Ask bolt")
    answer = await slack.wait_for_answer(second, containing="rehearsal engine")
    assert "and two?" in answer.text
    await slack.click(still, "Try anyway")
    await slack.wait_for_answer(third, containing="rehearsal engine")
    assert "rests until" not in await moot.command("engines")


def dressed() -> Iterator[str]:
    for value in (KEY, TOKEN):
        yield from (value, json.dumps(value)[1:-1], quote(value, safe=""))
    yield base64.b64encode(f"robot:{KEY}".encode()).decode().rstrip("=")


def columns(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        assert "message" in tables
        for table in tables:
            for row in db.execute(f"SELECT * FROM [{table}]"):
                yield f"{table}: {row!r}"


async def test_no_secret_is_shown_stored_or_logged(slack: LoopbackSlack, moot: Product) -> None:
    ask = "!ask --engine leaky"
    roots = [await slack.mention(f"{ask} case {case}") for case in ("say", "fail", "crash", "pull")]
    roots.append(await slack.mention(f"{ask} case tool, and my key is {KEY} by the way"))
    for root in roots:
        await over(slack, root)
    posts = [seen for root in roots for seen in await slack.answers(root)]
    whole = "\n".join(f"{seen.text} {seen.buttons}" for seen in posts)
    assert whole.count("[redacted]") >= 12
    assert "I found" in whole
    pack = await moot.command("pack", "last")
    places = {
        "the posts": [whole, *(str(call) for call in slack.calls("chat.update"))],
        "the log": moot.lines,
        "the database": list(columns(moot.folder / "data" / "moot.sqlite")),
        "a pack": [pack],
        "the scratch folder": [
            path.read_text(errors="replace")
            for path in (moot.folder / "data" / "scratch").rglob("*")
            if path.is_file()
        ],
    }
    for where, texts in places.items():
        for secret in dressed():
            leaks = [text[:300] for text in texts if secret in text]
            assert not leaks, f"{where} holds {secret}: {leaks[:2]}"


async def test_two_accounts_of_one_cli_rest_apart(slack: LoopbackSlack, tmp_path: Path) -> None:
    (tmp_path / "own_engines.py").write_text(ENGINES)
    both = {name: {"use": "own_engines:Acme"} for name in ("work", "private")}
    both["work"]["at_once"] = 1  # type: ignore[assignment]
    settings = {
        "slack": {"enabled": True, "api_url": slack.api_url},
        "access": {"allow": [f"slack:{ALICE}"]},
        "engines": both,  # without a default: the first of them that can be used
        "runs": {"at_once": 4},
        "budgets": [{"of": "engine", "name": "private", "per": "day", "tokens": 1}],
    }
    env = {**slack.env(), "PYTHONPATH": str(tmp_path)}
    async with Product(tmp_path, settings, env) as moot:
        await moot.start("slack")
        root = await slack.mention("one --engine work @@rehearse fail=quota@@")
        [told] = await over(slack, root)
        assert "work has used up its quota" in told.text
        assert "Ask private" in told.buttons
        assert "work rests until" in await moot.command("engines")
        second = await slack.mention("two")
        [still] = await over(slack, second)
        assert "work has used up its quota" in still.text
        await slack.click(still, "Ask private")
        answer = await slack.wait_for_answer(second, containing="rehearsal engine")
        assert "two" in answer.text
        await slack.wait_for_answer(second, containing="budget of private")
        refused = await slack.mention("three --engine private")
        await slack.wait_for_answer(refused, containing="budget of private")
        await slack.click(still, "Try anyway")
        await moot.event("run.closed", engine="work", outcome="answered")
        parts = json.loads(await moot.command("usage", "--json"))["parts"]
        assert {part["name"] for part in parts} == {"work", "private"}
        with closing(sqlite3.connect(moot.folder / "data" / "moot.sqlite")) as db:
            sessions = db.execute("SELECT engine, session FROM engine_session").fetchall()
        kept = {(engine, name) for engine, name in sessions if name}
        assert {engine for engine, _ in kept} == {"work", "private"}
        assert len({name for _, name in kept}) == len(kept)
        hanging = await slack.mention("hang --engine work @@rehearse hang@@")
        waits = await slack.mention("waits --engine work")
        await slack.wait_for_answer(waits, containing="1 of 1 runs of work")
        await slack.say("!stop", thread=hanging)
