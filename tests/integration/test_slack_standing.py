"""Who somebody is on Slack, by the real adapter: user groups, guests, people of other companies.

What is looked up is kept for a while, fails closed, and ends once Slack tells of a change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.slack.chat import SlackChat
from bridge.access import Door
from bridge.duties import Role
from core.model import Author, ChatEvent
from tests.integration.test_slack_chat import Desk, config, running
from tests.peers.slack import ALICE, BOB, DEV, GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers
DEVS = "S0DEVS"
DOOR = Door(
    ("*",),
    (f"slack:group:{DEVS}",),
    channels={f"slack:{DEV}": {"allow": (f"slack:group:{DEVS}",)}},
)


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack(ack_timeout_s=1.0) as running_slack:
        running_slack.api.groups[DEVS] = [BOB]
        yield running_slack


@pytest.fixture
async def desk(slack: LoopbackSlack) -> AsyncIterator[Desk]:
    desk = Desk()
    async with running(SlackChat(config(slack, groups=(DEVS,))), desk):
        await slack.until_connected()
        yield desk


async def acts(slack: LoopbackSlack, desk: Desk, user: str, channel: str = GENERAL) -> ChatEvent:
    """What somebody's command comes to."""
    before = len(desk.taken)
    await slack.slash("/ask", "x", user=user, channel=channel)
    await slack.until(lambda: len(desk.taken) > before, "the command to be taken")
    return desk.taken[-1]


def role(event: ChatEvent) -> Role:
    return DOOR.role(event.author, event.key)


async def test_a_group_gives_its_members_what_it_was_given(slack, desk) -> None:
    bob, alice = await acts(slack, desk, BOB), await acts(slack, desk, ALICE)
    assert bob.author.grants == (f"slack:{BOB}", f"slack:group:{DEVS}")
    assert (role(bob), role(alice)) == (Role.APPROVER, Role.RUNNER)
    assert role(await acts(slack, desk, BOB, DEV)) is Role.APPROVER
    assert role(await acts(slack, desk, ALICE, DEV)) is Role.NOBODY  # the channel has its own list
    assert len(slack.calls("usergroups.users.list")) == 1
    # Bob leaves the group: Slack tells, and it counts at once.
    slack.api.groups[DEVS] = []
    await slack.tell({"type": "subteam_members_changed", "subteam_id": DEVS})
    assert role(await acts(slack, desk, BOB)) is Role.RUNNER
    assert role(await acts(slack, desk, BOB, DEV)) is Role.NOBODY


async def test_a_group_that_cannot_be_had_has_nobody(slack, desk) -> None:
    slack.api.groups.clear()
    assert role(await acts(slack, desk, BOB, DEV)) is Role.NOBODY
    assert role(await acts(slack, desk, BOB)) is Role.RUNNER  # by "*", as a member


@pytest.mark.parametrize(
    "flags",
    [
        {"is_restricted": True},
        {"is_ultra_restricted": True},
        {"is_stranger": True},
        {"team_id": "T0OTHER"},
        {"deleted": True},
    ],
)
async def test_c148_who_becomes_a_guest_or_stranger_is_nobody_at_once(slack, desk, flags) -> None:
    assert role(await acts(slack, desk, ALICE)) is Role.RUNNER
    slack.api.person_flags[ALICE] = flags
    await slack.tell({"type": "user_change", "user": {"id": ALICE}})
    assert role(await acts(slack, desk, ALICE)) is Role.NOBODY


async def test_c148_a_look_up_that_fails_makes_nobody_a_member(slack, desk) -> None:
    slack.api.hang.add("users.info")
    event = await acts(slack, desk, ALICE)
    assert event.author == Author(ALICE, ALICE, grants=(f"slack:{ALICE}",), trusted=False)
    assert role(event) is Role.NOBODY


async def test_c148_a_channel_that_is_shared_later_is_noticed(slack, desk) -> None:
    assert (await acts(slack, desk, ALICE)).shared is False
    slack.api.channel_flags[GENERAL] = {"is_ext_shared": True}
    await slack.tell({"type": "channel_shared", "channel": GENERAL, "connected_team_id": "T0OTHER"})
    event = await acts(slack, desk, ALICE)
    assert (event.shared, event.public) == (True, False)
    assert role(event) is Role.RUNNER  # a member of ours in it is who they were


async def test_the_doctor_names_ids_that_do_not_exist(slack) -> None:
    named = ("slack:UNOBODY", f"slack:{BOB}", "slack:group:SNONE", f"slack:group:{DEVS}", "*")
    slack.api.member_of.add(DEV)
    chat = SlackChat(config(slack))

    async def lines(*people: str) -> dict[str, tuple[bool, str]]:
        found = await chat.checks((), people)
        return {one.name: (one.ok, one.detail) for one in found}

    ok, told = (await lines(*named, "discord:42"))["slack people"]
    assert not ok
    assert "no person UNOBODY" in told
    assert "no user group SNONE" in told
    assert BOB not in told
    assert DEVS not in told
    assert (await lines(f"slack:{BOB}"))["slack people"] == (True, "1 named, all known")
    assert 'slack "*"' not in await lines("*")
    assert "slack people" not in await lines()
    slack.api.person_flags[BOB] = {"deleted": True}
    assert "has left" in (await lines(f"slack:{BOB}"))["slack people"][1]
