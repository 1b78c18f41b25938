"""The whole product with the real Claude Code, Codex, Gemini CLI and OpenCode.

They speak to a model server on loopback; what the model says is steered from the question.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest

from tests.e2e.product import Product
from tests.peers.homes import MODELS, Homes, folder_for
from tests.peers.models import FakeModels
from tests.peers.npm import NAMES, require_cli
from tests.peers.slack import ALICE, BOB, LoopbackSlack

pytestmark = [pytest.mark.clis, pytest.mark.peers]

ENGINES = {
    "default": "rehearsal",
    "codex": {"env": ["FAKE_API_KEY"]},
    "gemini": {"model": MODELS["gemini"]},
    "opencode": {"model": MODELS["opencode"]},
    "ollama": {"model": MODELS["ollama"]},
}


@asynccontextmanager
async def moot_with(*names: str, default: str = "plain", **more):
    """Moot behind a loopback Slack, with these CLIs and a model that says ``default``."""
    for name in names:
        if name in NAMES:
            require_cli(name)
    with folder_for("e2e") as folder:  # not below /tmp, where Codex may write
        async with FakeModels(default=default) as models, LoopbackSlack() as slack:
            settings = {
                "slack": {"enabled": True, "api_url": slack.api_url},
                "access": {"allow": [f"slack:{ALICE}"]},
                "engines": ENGINES,
                **more,
            }
            env = {**Homes(folder, models.url).everything(), **slack.env()}
            async with Product(folder, settings, env) as product:
                await product.start("slack")
                yield product, slack, models


async def standing(slack: LoopbackSlack, root: str, count: int) -> list[str]:
    """The thread once it holds ``count`` of our posts and no status message."""

    async def found():
        texts = [seen.text for seen in await slack.answers(root)]
        return texts if len(texts) == count and not any("⏳" in t for t in texts) else None

    return await slack.wait(found, f"{count} posts of ours in {root}", 90)


@pytest.mark.parametrize("name", [*NAMES, "ollama"])
async def test_a_mention_is_answered_with_the_thread_in_view(name):
    async with moot_with(name) as (moot, slack, models):
        root = await slack.mention("Our code word is Quetzal-7.")
        await standing(slack, root, 1)
        await slack.mention(
            f'do you see it? @@fake find text="Quetzal-7"@@ --engine {name}', thread=root
        )
        _, answer = await standing(slack, root, 2)
        assert name in answer.split("\n")[0]
        assert "found in:" in answer
        assert "nowhere" not in answer
        closed = await moot.event("run.closed", engine=name)
        assert (closed["state"], closed["outcome"]) == ("answered", "answered")
        assert closed["output_tokens"] > 0
        assert any(seen.directive == "find" for seen in models.seen)


async def test_a_roundtable_of_three_personas_on_three_engines_two_rounds():
    table = ("architect:claude", "critic:codex", "developer:gemini")
    async with moot_with("claude", "codex", "gemini") as (moot, slack, models):
        root = await slack.mention(
            f'roundtable: SQL or files? @@fake plain text="My view."@@ --with {",".join(table)} '
            "--rounds 2"
        )
        # The header, two rounds of three, the synthesis and the count of the votes.
        _, *answers, synthesis, votes = await standing(slack, root, 9)
        await moot.event("turn.ended", state="done")
        assert "synthesizer" in synthesis
        assert "position" in votes
        lines = [text.split("\n")[0] for text in answers]
        for line, seat in zip(lines, table * 2, strict=True):
            persona, _, engine = seat.partition(":")
            assert persona in line
            assert engine in line
        assert all("My view." in text for text in answers)
        protocols = [seen.protocol for seen in models.seen if seen.directive == "plain"]
        for protocol in ("anthropic", "responses", "gemini"):
            assert protocols.count(protocol) >= 2
        # In the second round each is told what the others said in the first.
        last = [s for s in models.seen if s.protocol == "gemini" and s.directive == "plain"][-1]
        told = json.dumps(last.body, ensure_ascii=False)
        assert "architect" in told
        assert "My view." in told


async def test_a_pull_goes_on_in_the_same_session():
    async with moot_with("claude", default="history") as (moot, slack, models):
        root = await slack.mention("We chose JWT because of the mobile app.")
        await standing(slack, root, 1)
        await slack.say(
            'why JWT? @@fake pull kind=memory query="JWT mobile" text="Let me look."@@ '
            "--engine claude",
            thread=root,
        )
        texts = await standing(slack, root, 4)
        assert "Let me look." in texts[1]
        assert "memory" in texts[2]
        assert "found" in texts[2]
        assert not any("<!--" in text or "&lt;!--" in text for text in texts)
        assert '"user_turns": 2' in texts[3]  # the model sees its first question again
        assert [run["hop"] for run in moot.logged("run.closed", engine="claude")] == [0, 1]
        followup = models.seen[-1].body["messages"][-1]
        assert "because of the mobile app" in json.dumps(followup)


@pytest.mark.parametrize(
    "name", ["claude", "codex"]
)  # OpenCode: tests/contract/test_in_run_pull.py
async def test_a_pull_while_it_works_is_shown_before_the_answer(name):
    async with moot_with(name) as (moot, slack, models):
        root = await slack.mention("We chose JWT because of the mobile app.")
        await standing(slack, root, 1)
        look = '@@fake lookup kind=memory query="JWT mobile" n=2@@'
        await slack.say(f"why JWT? {look} --engine {name}", thread=root)
        _, shown, answer = await standing(slack, root, 3)
        assert "memory" in shown
        assert "JWT mobile" in shown
        assert "found" in shown
        assert "because of the mobile app" in answer
        # One process; the repeated Pull was not looked up again.
        (closed,) = moot.logged("run.closed", engine=name)
        assert (closed["hop"], closed["outcome"]) == (0, "answered")
        assert len(moot.logged("pull.answered")) == 1
        last = json.dumps(models.seen[-1].body)
        assert "asked this before" in last
        told = json.dumps([seen.body for seen in models.seen if seen.directive == "lookup"])
        assert "You also have the tool" in told
        receipt = await moot.command("pack", closed["run"], "--json")
        pulled, repeated = json.loads(receipt)["in_run"]
        assert (pulled["again"], repeated["again"]) == (False, True)
        assert (pulled["kind"], pulled["query"]) == ("memory", "JWT mobile")
        assert pulled["hits"] >= 1
        assert pulled["chars"] > 0


@pytest.mark.parametrize("name", ["claude", "gemini"])
async def test_without_a_server_for_pulls_markers_serve(name):
    async with moot_with(name, default="history", pull={"in_run": False}) as (moot, slack, models):
        root = await slack.mention("We chose JWT because of the mobile app.")
        await standing(slack, root, 1)
        await slack.say(
            'why JWT? @@fake pull kind=memory query="JWT mobile" text="Let me look."@@ '
            f"--engine {name}",
            thread=root,
        )
        await standing(slack, root, 4)
        assert not moot.logged("pulls.listening")
        told = json.dumps([seen.body for seen in models.seen])
        assert "You also have the tool" not in told


async def test_at_a_table_each_pull_stands_before_the_answer_it_served():
    async with moot_with("claude", "codex") as (moot, slack, _):
        root = await slack.mention("We chose JWT because of the mobile app.")
        await standing(slack, root, 1)
        look = '@@fake lookup kind=memory query="JWT mobile" text="My view."@@'
        await slack.say(
            f"!rt why JWT? {look} --with architect:claude,critic:codex --rounds 1 "
            "--mode parallel --synth none",
            thread=root,
        )
        texts = (await standing(slack, root, 6))[1:]
        await moot.event("turn.ended", state="done")
        assert "Roundtable" in texts[0]
        assert ["memory" in text.split("\n")[0] for text in texts[1:]] == [True, False, True, False]
        assert "architect" in texts[2]
        assert "critic" in texts[4]
        assert not any(run["hop"] for run in moot.logged("run.closed"))


@pytest.mark.parametrize("name", [*NAMES, "ollama"])
async def test_long_threads_are_summed_up_by_a_real_cli_that_keeps_nothing_of_them(name):
    memory = {"memory": {"summary_engine": name}}
    async with moot_with(name, default="summary", **memory) as (moot, slack, models):
        root = await slack.mention("what is the plan?")
        await standing(slack, root, 1)
        for n in range(1, 21):
            text = f"Point {n}: never paint the xylophone green."
            await slack.say(text, user=BOB, thread=root)
        made = await moot.event("topics.made", 120)
        assert made["by"] == name
        assert made["messages"] >= 6
        assert not moot.logged("topics.failed")
        if name == "claude":
            asked = [seen for seen in models.seen if seen.model and not seen.side]
            assert all("haiku" in seen.model and seen.tools == 0 for seen in asked)
            assert asked
        if name in ("claude", "codex"):
            kept = [p for p in moot.folder.rglob("*") if p.is_file() and "data" not in p.parts]
            assert not [p for p in kept if b"xylophone" in p.read_bytes()]
