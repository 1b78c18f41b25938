"""What agents ask people for, through the whole product, the same on both platforms."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import test_discord as discord_product
from tests.e2e.product import Product
from tests.e2e.stages import Stage, discord_stage, slack_stage
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack

pytestmark = pytest.mark.peers


@asynccontextmanager
async def playing(
    platform: str,
    folder: Path,
    more: Mapping[str, Any] | None = None,
    *,
    permission: str = "ask",
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Stage]:
    """The product on a platform of its own, with one project for all channels."""
    project = folder / "project"
    project.mkdir()
    projects = {"p": {"path": str(project), "channels": ["*"], "permission": permission}}
    more = {"projects": projects, **(more or {})}
    if platform == "slack":
        async with LoopbackSlack() as slack:
            stage = slack_stage(slack, folder, more)
            async with stage.moot:
                stage.moot.env.update(env or {})
                await stage.moot.start("slack")
                yield stage
    else:
        async with LoopbackDiscord() as world:
            stage = discord_stage(world, folder, more)
            async with stage.moot:
                stage.moot.env.update(env or {})
                await stage.moot.start("discord")
                yield stage


both = pytest.mark.parametrize("platform", ["slack", "discord"])
# Where nothing differs between the two, and a product on each would only take longer.
on_slack = pytest.mark.parametrize("platform", ["slack"])
on_discord = pytest.mark.parametrize("platform", ["discord"])


def requests(stage: Stage) -> list[dict[str, Any]]:
    """What was asked, as it is stored."""
    with sqlite3.connect(f"file:{stage.moot.folder / 'data/moot.sqlite'}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM request ORDER BY id")]
    db.close()
    return rows


@both
async def test_leave_is_given_once_by_who_may(platform, tmp_path):
    async with playing(platform, tmp_path) as stage:
        made = tmp_path / "project/made.txt"
        place = await stage.ask('@@rehearse ask="touch made.txt" detail="why ``` so"@@')
        asks = await stage.post(place, "touch made.txt")
        assert stage.labels(asks) == ["Allow once", "Allow for this session", "Deny"]
        assert "why `" in asks.text
        assert asks.text.count("```") == 4  # two blocks, and what is in them does not end one
        await stage.post(place, "waiting for your decision: #1")
        assert "may not decide" in await stage.click(asks, "Allow once", "guest")
        assert "may not decide" in await stage.slash("allow 1", "guest")
        assert "[access] approvers" in await stage.refused(
            place, "!allow 1", "may not decide", "guest"
        )
        assert "There is no request #1 here" in await stage.slash("allow 1", elsewhere=True)
        assert "There is no request #9 here" in await stage.slash("deny 9")
        assert not made.exists()
        told = await asyncio.gather(
            stage.click(asks, "Allow once", "alice"), stage.click(asks, "Deny", "bob")
        )
        assert sum("does not wait any more" in text for text in told) == 1
        [row] = requests(stage)
        await stage.post(place, "Ran touch" if row["state"] == "once" else "Not allowed")
        assert made.exists() == (row["state"] == "once")
        who = "alice" if row["state"] == "once" else "bob"
        after = await stage.post(place, "#1")
        assert f"by {who}" in after.text.lower()
        assert stage.labels(after) == []
        late = await stage.click(asks, "Allow for this session", "bob")
        assert f"by {who}" in late.lower()


@on_discord
async def test_typed_decisions_and_leave_for_a_session(platform, tmp_path):
    async with playing(platform, tmp_path) as stage:
        place = await stage.ask('@@rehearse ask="touch one"@@')
        await stage.post(place, "touch one")
        await stage.say(place, "!requests")
        await stage.post(place, "Waiting for a decision")
        await stage.say(place, "!deny 1 not *here*")
        refused = await stage.post(place, "Not allowed: touch one")
        assert "not " in refused.text
        await stage.post(place, "Denied by")
        await stage.say(place, '@@rehearse ask="touch two" asks=2@@')
        await stage.post(place, "#2")
        assert "for this session" in await stage.slash("allow 2 session", "bob")
        done = await stage.post(place, "Not asked again")  # the second time, and so for later runs
        assert "1×" in done.text
        await stage.say(place, '@@rehearse ask="touch three"@@')
        await stage.post(place, "Ran touch three")
        assert "shell touch" in await stage.slash("requests")
        assert "role approver" in await stage.slash("revoke 1", "guest")
        assert "Revoked by" in await stage.slash("revoke 1")
        await stage.say(place, '@@rehearse ask="touch four"@@')
        await stage.post(place, "#5")
        assert not (tmp_path / "project/four").exists()


@both
async def test_questions_of_the_agent(platform, tmp_path):
    async with playing(platform, tmp_path, permission="plan") as stage:
        place = await stage.ask('@@rehearse question="Which one?|SQL|Files"@@')
        asks = await stage.post(place, "Which one?")
        await stage.post(place, "waiting for your answer: #1")
        assert stage.labels(asks) == ["SQL", "Files", "Other…", "Do not answer"]
        await stage.press(asks, "Files", "guest")  # who may ask may answer
        await stage.post(place, "You said: Files")
        await stage.say(place, '@@rehearse question="Which one?|SQL|Files"@@')
        asks = await stage.post(place, "#2")
        assert "Pick something" in await stage.fill(asks, "Other…", text0="")
        await stage.fill(asks, "Other…", "bob", text0="neither, `really`")
        await stage.post(place, "You said: neither")
        await stage.say(place, '@@rehearse question="A?|x|y|z;;Why?" several@@')
        asks = await stage.post(place, "#3")
        assert stage.labels(asks) == ["Answer…", "Do not answer"]
        await stage.say(place, "this is a message, and no answer")
        await stage.say(place, "!answer 3 1, 3\nbecause")
        await stage.post(place, "You said: x, z; because")
        await stage.post(place, "this is a message, and no answer")
        await stage.say(place, '@@rehearse question="Sure?"@@')
        asks = await stage.post(place, "#4")
        await stage.press(asks, "Do not answer")
        await stage.post(place, "No answer.")


@on_slack
async def test_a_request_survives_a_kill_and_is_decided_then(platform, tmp_path):
    async with playing(platform, tmp_path) as stage:
        place = await stage.ask('@@rehearse ask="touch made.txt"@@')
        asks = await stage.post(place, "#1")
        await stage.moot.kill()
        await stage.moot.start(platform)
        await stage.say(place, "and what of this?")  # waits behind it
        await stage.say(place, "!status")
        status = await stage.post(place, "Waiting for a decision")
        assert "parked" in status.text
        await stage.press(asks, "Allow once", "bob")
        await stage.post(place, "Ran touch made.txt")
        await stage.post(place, "and what of this?")
        assert (tmp_path / "project/made.txt").exists()
        assert len(requests(stage)) == 1
        texts = await stage.posts(place)
        assert not any("interrupted" in text or "waiting for" in text for text in texts)
        # Another one is stopped while its process is gone.
        await stage.say(place, '@@rehearse ask="touch other.txt"@@')
        asks = await stage.post(place, "#2")
        await stage.moot.kill()
        await stage.moot.start(platform)
        await stage.say(place, "!stop")
        after = await stage.post(place, "Not needed any more")
        assert stage.labels(after) == []
        assert "does not wait any more" in await stage.click(asks, "Allow once")
        assert not (tmp_path / "project/other.txt").exists()


@on_discord
async def test_a_request_ends_with_what_it_was_for(platform, tmp_path):
    more = {"runs": {"at_once": 1}}
    async with playing(platform, tmp_path, more) as stage:
        stopped = await stage.ask('@@rehearse ask="touch a"@@')
        await stage.post(stopped, "#1")
        # Its slot is free meanwhile: the only one there is.
        other = await stage.ask("does this wait?")
        await stage.post(other, "does this wait?")
        await stage.say(stopped, "!stop")
        assert stage.labels(await stage.post(stopped, "Not needed any more")) == []
        taken_back = await stage.ask('@@rehearse ask="touch b" withdraw=0.5@@')
        await stage.post(taken_back, "Not allowed: touch b")
        await stage.post(taken_back, "Not needed any more")
        gone = await stage.ask('@@rehearse ask="touch c"@@')
        await stage.post(gone, "#3")
        await stage.delete(gone)
        await stage.post(gone, "the question was deleted")
        await stage.moot.event("turn.ended", state="cancelled", turn=4)
        states = [row["state"] for row in requests(stage)]
        assert states == ["withdrawn"] * 3
        assert not list((tmp_path / "project").iterdir())


@on_slack
async def test_nobody_decides_in_time_where_that_is_set(platform, tmp_path):
    async with playing(platform, tmp_path, {"permissions": {"answer_within_s": 1.5}}) as stage:
        place = await stage.ask('@@rehearse ask="touch a"@@')
        await stage.post(place, "Not allowed: touch a")
        after = await stage.post(place, "Nobody decided in time")
        assert stage.labels(after) == []


STIFF = """
from core.engines.rehearsal import Rehearsal
from core.model import EngineTraits


class Stiff(Rehearsal):
    name = "stiff"
    traits = EngineTraits(resumes=True, permissions=frozenset({able}))


ENGINE = Stiff
"""


@pytest.mark.parametrize("able", [("plan", "edit", "full"), ("full",)])
async def test_an_engine_that_cannot_be_held_to_a_mode_does_less_or_nothing(tmp_path, able):
    (tmp_path / "stiff.py").write_text(STIFF.format(able=able))
    engines = {"default": "rehearsal", "stiff": {"use": "stiff:ENGINE"}}
    async with playing(
        "slack", tmp_path, {"engines": engines}, env={"PYTHONPATH": str(tmp_path)}
    ) as stage:
        place = await stage.ask("@@rehearse write=notes.txt text=done@@ --engine stiff")
        told = await stage.post(place, "cannot be held to")
        assert "--engine" in told.text
        if "plan" in able:
            await stage.post(place, "done")
            await stage.say(place, "and again? --engine stiff")
            await stage.post(place, "and again?")
            texts = await stage.posts(place)
            assert sum("cannot be held to" in text for text in texts) == 1
        await stage.moot.event("turn.ended", turn=1)
        assert not (tmp_path / "project/notes.txt").exists()


async def test_what_is_allowed_is_the_lowest_of_channel_table_and_question(tmp_path):
    write = "@@rehearse write=notes.txt text=done@@"
    notes = tmp_path / "project/notes.txt"
    async with playing("slack", tmp_path, permission="edit") as stage:
        place = await stage.ask(f"{write} --permission plan")
        await stage.post(place, "done")
        await stage.ask(f"{write}", "guest")
        await stage.moot.event("turn.ended", turn=2)
        table = await stage.ask(f"!rt {write} --with architect,critic --rounds 1 --synth none")
        await stage.moot.event("turn.ended", turn=3)
        assert not notes.exists()
        place = await stage.ask(f"{write} --permission full")  # it cannot raise
        await stage.post(place, "done")
        assert notes.exists()
        assert table


async def test_a_failed_question_that_is_lowered_by_an_edit_is_asked_again_with_less(tmp_path):
    notes = tmp_path / "project/notes.txt"
    async with playing("slack", tmp_path, permission="edit") as stage:
        place = await stage.ask("@@rehearse fail=crash@@")
        failed = await stage.post(place, "failed before")
        await stage.moot.event("turn.ended", turn=1)
        write = "<@U0BOT> @@rehearse write=notes.txt text=again@@"
        await stage.slack.edit(place, f"{write} --permission plan")
        await stage.moot.event("event.accepted", kind="edit")
        await stage.press(failed, "Retry")
        await stage.moot.event("turn.ended", turn=2)
        assert not notes.exists()


async def test_a_roundtable_asks_where_that_is_set_and_a_speaker_is_skipped(tmp_path):
    more = {"permissions": {"roundtable": "ask"}, "runs": {"at_once": 2}}
    ask = '@@rehearse ask="touch made.txt"@@'
    async with playing("slack", tmp_path, more) as stage:
        table = await stage.ask(
            f"!rt {ask} --with architect,critic --rounds 1 --synth none --mode parallel"
        )
        first = await stage.post(table, "architect (rehearsal) asks leave")
        second = await stage.post(table, "critic (rehearsal) asks leave")
        await stage.moot.stop()  # not killed: as for an update
        await stage.moot.start("slack")
        await stage.say(table, "!next critic")
        after = await stage.post(table, "skipped by")
        assert after
        await stage.press(first, "Allow once")
        await stage.post(table, "Ran touch made.txt")
        await stage.moot.event("turn.ended", turn=1)
        assert "does not wait any more" in await stage.click(second, "Allow once")
        assert [row["state"] for row in sorted(requests(stage), key=lambda r: r["state"])] == [
            "once", "withdrawn",
        ]  # fmt: skip


async def test_discord_a_role_says_what_its_people_may_have_done(world: LoopbackDiscord, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    role = world.role("developers")
    dana = world.person("dana", roles=[role])
    settings = discord_product.settings(
        world,
        projects={"p": {"path": str(project), "channels": ["*"], "permission": "edit"}},
        permissions={"at_most": {"*": "plan", f"discord:{world.guild}:role:{role}": "full"}},
    )
    settings["access"] = {"allow": ["*"]}
    async with Product(tmp_path, settings, discord_product.env(world)) as moot:
        await moot.start("discord")
        world.alice.ask(world.channel, "@@rehearse write=alice.txt@@")
        await moot.event("turn.ended", turn=1, state="done")
        dana.ask(world.channel, "@@rehearse write=dana.txt@@")
        await moot.event("turn.ended", turn=2, state="done")
    assert [path.name for path in project.iterdir()] == ["dana.txt"]
