"""A forum has no messages of its own: a thread is opened there by a post with its first message."""

from __future__ import annotations

import discord

from adapters.discord.shape import stored, thread_title, view_of
from core.model import Post

CLOCK_SKEW_S = 60.0


def forum_of(client: discord.Client, channel_id: int) -> discord.ForumChannel | None:
    """The forum with this id; ``None`` for any other channel."""
    channel = client.get_channel(channel_id)
    return channel if isinstance(channel, discord.ForumChannel) else None


async def open_post(forum: discord.ForumChannel, post: Post) -> discord.Message:
    """Open a thread; its first message has the thread's id."""
    view = view_of(post.buttons)
    more = {} if view is None else {"view": view}
    made = await forum.create_thread(
        name=thread_title(post.title),
        content=post.text,
        allowed_mentions=discord.AllowedMentions.none(),
        suppress_embeds=True,
        **more,
    )
    return made.message


async def find_post(
    forum: discord.ForumChannel, post: Post, since: float
) -> discord.Message | None:
    """An earlier attempt that took effect. Discord keeps no nonce here: our own with this text."""
    us = forum.guild.me.id
    for thread in await forum.guild.active_threads():
        begun = thread.created_at.timestamp() if thread.created_at else 0.0
        ours = thread.parent_id == forum.id and thread.owner_id == us
        if not ours or begun < since - CLOCK_SKEW_S or str(thread.id) in post.known_ids:
            continue
        try:
            message = await thread.fetch_message(thread.id)
        except discord.NotFound:
            continue  # somebody deleted it
        if stored(message.content) == stored(post.text):
            return message
    return None
