"""What Discord tells of who may read a channel, through the real client."""

from __future__ import annotations

import discord
from simcord.backend.models import Overwrite
from simcord.enums import ChannelType, OverwriteType

from tests.integration.discord.room import asked, running

VIEW = discord.Permissions(view_channel=True).value


def close(world, channel: str) -> None:
    """Only we and Alice may view the channel from now on."""
    everyone = int(world.guild)
    for who in (world.bot_id, world.alice.id):
        insider = Overwrite(int(who), OverwriteType.MEMBER, allow=VIEW)
        world.backend.set_overwrite(int(channel), insider)
    world.backend.set_overwrite(int(channel), Overwrite(everyone, OverwriteType.ROLE, deny=VIEW))


async def test_a_public_channel_its_threads_and_commands(world, chat, ears):
    event = await asked(world, ears)
    assert event.public is True
    assert not event.apart
    thread = world.alice.open_thread(world.channel, "t", event.message_id)
    world.alice.ask(thread, "in the thread")
    assert (await ears.event("in the thread")).public is True
    world.alice.slash(world.channel, "status")
    assert (await ears.event(kind="command")).public is True
    world.alice.write("psst")
    assert (await ears.event("psst")).public is False


async def test_a_channel_that_is_closed_tells_so_before_anybody_writes(world, ears):
    thread = world.alice.open_thread(world.channel, "t", (await asked(world, ears)).message_id)
    close(world, world.channel)
    await world.until(
        lambda: any(
            e.key.channel == world.channel and e.public is False for e in ears.of("channel")
        )
    )
    world.alice.ask(thread, "behind the door")
    assert (await ears.event("behind the door")).public is False


async def test_what_was_closed_while_we_were_away_is_told_at_the_start(world):
    hidden = world.make_channel("hidden")
    close(world, hidden)
    async with running(world) as (_, ears):
        await world.until(lambda: any(e.key.channel == hidden for e in ears.of("channel")))
        assert all(e.public is False for e in ears.of("channel"))
        assert world.channel not in {e.key.channel for e in ears.of("channel")}


async def test_everybody_loses_sight_of_all_channels(world, ears):
    await asked(world, ears)
    everyone = world.backend.guilds[int(world.guild)].roles[int(world.guild)]
    without = discord.Permissions(everyone.permissions)
    without.update(view_channel=False)
    world.backend.edit_role(int(world.guild), everyone.id, {"permissions": without.value})
    await world.until(lambda: any(e.key.channel == world.channel for e in ears.of("channel")))


async def test_a_private_thread_is_apart(world, ears):
    await asked(world, ears)
    made = world.backend.create_thread(
        int(world.channel), "quiet", int(world.alice.id), type=ChannelType.PRIVATE_THREAD
    )
    world.alice.ask(str(made.id), "between us")
    event = await ears.event("between us")
    assert event.apart
    assert event.key.root == str(made.id)
