from tests.integration.discord.room import both, chat, ears, world

__all__ = ["both", "chat", "ears", "world"]
