"""Programs named ``codex`` that misbehave in known ways: what the thread shows of it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.peers.slack import ALICE, LoopbackSlack

pytestmark = pytest.mark.peers

# Talks as ``codex app-server`` does until its turn is asked for; reads the case's name from the
# prompt, then plays ``NAME.py`` from its own folder.
STUB = f"""#!{sys.executable} -IS
import json, os, re, subprocess, sys, time
if "--version" in sys.argv:
    print("codex 9.9.9")
    sys.exit(0)
def out(*lines):
    for line in lines:
        raw = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\\n"
        sys.stdout.buffer.write(raw)
    sys.stdout.flush()
def told(method, **params):
    return {{"method": method, "params": {{"threadId": "T1", "turnId": "U1", **params}}}}
def item(**fields):
    return told("item/completed", item=fields)
def said(text):
    return item(type="agentMessage", id="m", text=text)
def ended(status, **more):
    return told("turn/completed", turn={{"id": "U1", "status": status, **more}})
def used(tokens):
    count = {{"inputTokens": tokens, "outputTokens": tokens, "cachedInputTokens": 0}}
    return told("thread/tokenUsage/updated", tokenUsage={{"total": count, "last": count}})
nothing = ended("completed")
done = used(5), ended("completed")
here = os.path.dirname(os.path.abspath(__file__))
resumes = False
for line in sys.stdin.buffer:
    asked = json.loads(line)
    method = asked.get("method")
    if method in ("thread/start", "thread/resume"):
        resumes = method == "thread/resume"
        out({{"id": asked["id"], "result": {{"thread": {{"id": "T1"}}}}}})
    elif method == "turn/start":
        began = {{"id": asked["id"], "result": {{"turn": {{"id": "U1"}}}}}}
        names = re.findall(rb"case (\\w+)", line)
        case = names[-1].decode() if names else "pull_of_no_row"  # a follow-up in its session
        exec(open(os.path.join(here, case + ".py")).read())
"""

# name: (what it does, what must be shown, what must not be)
CASES: dict[str, tuple[str, Iterable[str], Iterable[str]]] = {
    "c097_ends": (
        r"""bom, end = b"\xef\xbb\xbf", b"\r\n"
out(bom, *(json.dumps(event).encode() for event in (began, said("two\r\nin one"))), end)
out(used(5), json.dumps(ended("completed")).encode())
sys.exit(0)""",
        ["two\nin one"],
        ["\r", "⚠️"],
    ),
    "c093_giant": (
        """out(began, item(type="x", y="z" * 40_000_000))
out(said("after the giant"), *done)""",
        ["after the giant"],
        ["⚠️"],
    ),
    "noise": (
        r"""out(b"\x1b[31mWARN\x1b[0m \x00\xff\n{not json}\n[1]\n", began, b"\x1b[32m\n")
out(said("heard"), *done)""",
        ["heard"],
        ["⚠️"],
    ),
    "odd_types": (
        """out(began, told("item/completed", item="x"), {"id": [7], "result": 7}, {"method": 5})
out(told("error", error=None, willRetry=True), {"id": {}, "method": "item/new"}, said("still here"))
out(told("thread/tokenUsage/updated", tokenUsage="lots"), *done)""",
        ["still here"],
        ["⚠️"],
    ),
    "c103_nothing_used": ("out(began, nothing)", ["⚠️", "limit", "[Retry]"], ["did its work"]),
    "c103_no_text": ("out(began, *done)", ["wrote no text"], ["limit", "[Retry]"]),
    "no_width": ('out(began, said("\\n \\u200b\\n"), *done)', ["without saying anything"], []),
    "c101_failed": (
        """out(began, said("half an answer"))
out(ended("failed", error={"message": "model at capacity"}))""",
        ["half an answer", "broken off", "at capacity", "[Retry]"],
        [],
    ),
    "c100_stderr": (
        """sys.stderr.write("cloud session expired, log in again sk-abcdefghijklmnop1234")
sys.exit(1)""",
        ["not signed in", "codex login", "[redacted]"],
        ["sk-abc"],
    ),
    "c100_code": ("sys.exit(52)", ["exit status 52"], []),
    "c084_grandchild": (
        """subprocess.Popen(["sleep", "600"], start_new_session=True, env={})
out(began, said("posted at once"), *done)""",
        ["posted at once"],
        ["⚠️"],
    ),
    "c109_quota": (
        'out(began, said("usage limit reached|1760000400"), *done)',
        ["quota", "2025-10-09 09:00 UTC"],
        [],
    ),
    "flood": (
        'out(began, said("```\\n" + "word " * 200_000 + "\\nthe last word\\n```"), *done)',
        ["(1/", "Too long for a thread: the last 8", " of 1,000,"],
        ["the last word", "(99/"],
    ),
    "pull_of_no_row": (
        r"""pull = "let me see\n<!-- pull:messages: #" + "9" * 26 + " -->"
out(began, said("seen" if resumes else pull), *done)""",
        ["let me see", "there is no such message", "seen"],
        ["wrong inside Moot"],
    ),
}


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All cases asked in one Moot; ``NAME -> what its thread shows in the end``."""
    return asyncio.run(ask_all(tmp_path_factory.mktemp("stubs")))


async def ask_all(folder: Path) -> dict[str, str]:
    programs = folder / "bin"
    programs.mkdir()
    (programs / "codex").write_text(STUB)
    (programs / "codex").chmod(0o755)
    for name, (does, _, _) in CASES.items():
        (programs / f"{name}.py").write_text(does)
    async with LoopbackSlack() as slack:
        settings = {
            "slack": {"enabled": True, "api_url": slack.api_url},
            "access": {"allow": [f"slack:{ALICE}"]},
            "engines": {"default": "codex"},
        }
        env = {**slack.env(), "PATH": f"{programs}:{os.environ['PATH']}"}
        async with Product(folder, settings, env) as product:
            await product.start("slack")
            roots = {name: await slack.mention(f"case {name}") for name in CASES}

            await slack.until(
                lambda: len(product.logged("turn.ended")) == len(CASES), "all turns to end", 60
            )

            async def shown(root: str) -> str | None:
                seen = await slack.answers(root)
                said = "\n".join(f"{m.text}\n{[*m.buttons]}".replace("'", "") for m in seen)
                return said if said and "⏳" not in said else None

            found = {
                name: await slack.wait(lambda root=root: shown(root), name)
                for name, root in roots.items()
            }
            assert product.logged("turn.broke") == []
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_the_thread_shows(threads: dict[str, str], name: str) -> None:
    _, wanted, unwanted = CASES[name]
    shown = threads[name]
    assert all(words in shown for words in wanted), shown
    assert not any(words in shown for words in unwanted), shown
