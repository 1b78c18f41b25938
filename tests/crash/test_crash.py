"""kill -9 at every stage of the path and at random: nothing lost, nothing doubled.

Every kill finds at least one accepted and unanswered message (``Lane.died`` insists): the first
question of each life is held in the middle of its answer until the next. Every event
comes twice: at once, or again after the restart, and all of them once more at the end. The seed is
printed; ``MOOT_CRASH_SEED`` repeats a plan (when exactly a random kill strikes stays the clock's).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.lane import Lane
from tests.crash.questions import People
from tests.crash.sides import DiscordSide, SlackSide
from tests.crash.stages import ANY_MOMENT, RUNNING, STAGES, Stage, of
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack

pytestmark = [pytest.mark.crash, pytest.mark.peers]

RANDOM_KILLS = {"slack": 2, "discord": 1}
ACTS = (
    People.two,
    People.long,
    People.pull,
    People.roundtable,
    People.at_once,
    People.command,
    People.may_write,
)


class Campaign:
    """All kills on one platform, in the order that the seed says."""

    def __init__(self, lane: Lane, seed: int) -> None:
        self.lane = lane
        self.rng = random.Random(f"{seed} {lane.side.name}")
        self.people = People(lane, self.rng)
        self.hits: Counter[str] = Counter()

    async def run(self) -> None:
        plan = of(self.lane.side.name)
        plan += [ANY_MOMENT] * RANDOM_KILLS[self.lane.side.name]
        self.rng.shuffle(plan)
        async with self.lane.product:
            await self._live()
            for stage in plan:
                try:
                    await self._die(stage)
                except BaseException as error:
                    error.add_note(f"at {stage.name!r} on {self.lane.side.name}, {self.hits}")
                    raise
                await self._live()
                if self.rng.random() < 0.8:
                    await self.lane.settled()  # else the next kill may cut the same run again
            await self.lane.check()

    async def _live(self) -> None:
        """Start, and let everything come a second time: each event at once or after the crash."""
        twice_at_once = self.rng.random() < 0.5
        self.lane.side.doubled(twice_at_once)
        self.people.release()
        await self.lane.start()
        if not twice_at_once or self.lane.side.name == "discord":
            self.lane.side.replay(fully=False)

    async def _die(self, stage: Stage) -> None:
        if stage.recovering:
            await self._die(RUNNING)
            await self.lane.start_to_die(stage.lines)
        else:
            first = await self.people.held()
            await self.lane.until_accepted(first)
            if stage is ANY_MOMENT:
                await self.rng.choice(ACTS)(self.people)
                await asyncio.sleep(self.rng.uniform(0.0, 1.0))
                await self.lane.kill()
            else:
                if stage.wire[0]:
                    self.lane.kill_on_wire(*stage.wire)
                else:
                    self.lane.arm(stage.lines)
                await stage.act(self.people)
                await self.lane.died()
        self.hits[stage.name] += 1


@pytest.mark.timeout(1200)
async def test_fifty_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    seed = int(os.environ.get("MOOT_CRASH_SEED") or random.SystemRandom().randrange(10**6))
    with capsys.disabled():
        print(f"\ncrash test: MOOT_CRASH_SEED={seed}")
    async with LoopbackSlack() as slack, LoopbackDiscord() as discord:
        on_slack = Campaign(Lane(SlackSide(slack), tmp_path / "slack"), seed)
        on_discord = Campaign(Lane(DiscordSide(discord), tmp_path / "discord"), seed)
        async with asyncio.TaskGroup() as group:
            group.create_task(on_slack.run())
            group.create_task(on_discord.run())
    with capsys.disabled():
        print(table(on_slack, on_discord))
    for campaign in (on_slack, on_discord):
        assert all(campaign.hits[stage.name] for stage in of(campaign.lane.side.name))
    assert on_slack.lane.kills + on_discord.lane.kills >= 50


def table(slack: Campaign, discord: Campaign) -> str:
    """Stage by stage, how often the process died there."""
    rows = [(s.name, slack.hits[s.name], discord.hits[s.name]) for s in (*STAGES, ANY_MOMENT)]
    lanes = (slack.lane, discord.lane)
    rows.append(("kills in all", *[lane.kills for lane in lanes]))
    rows.append(
        ("questions, each answered once and in order", *[len(lane.asked) for lane in lanes])
    )
    rows.append(("runs told to the thread instead", *[lane.told for lane in lanes]))
    lines = [f"{name:<44}{on_slack:>6}{on_discord:>9}" for name, on_slack, on_discord in rows]
    return "\n".join([f"{'died at':<44}{'slack':>6}{'discord':>9}", *lines])
