"""A loopback Discord for tests: real sockets, simcord's rules behind them, people in front.

async with LoopbackDiscord() as discord:
    start the bot with discord.api_url, discord.gateway_url and discord.token
    await discord.connected()
    root = discord.alice.ask(discord.channel, "what broke?")
    answer = await discord.message(root)          # the thread's id is its root's id
"""

from tests.peers.discord.people import Asked, Person, Seen
from tests.peers.discord.world import LoopbackDiscord

__all__ = ["Asked", "LoopbackDiscord", "Person", "Seen"]
