"""Posts: into a thread, opening one where there is none, and never twice."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import discord
import structlog

from adapters.discord import faults
from adapters.discord.faults import answered
from adapters.discord.forum import find_post, forum_of, open_post
from adapters.discord.lookups import Lookups
from adapters.discord.shape import stored, thread_title, view_of
from adapters.discord.sharing import Lost, missing, opened, send_what_fits
from adapters.discord.wording import readable
from core.errors import ChatRefused
from core.model import ConversationKey, OutFile, Post, Posted

log = structlog.get_logger(__name__)

ARCHIVE_MINUTES = 1440
# Discord takes a nonce it knows for the same message "for a few minutes".
NONCE_TRUSTED_S = 120.0
# Our clock and Discord's may differ by this much when its history is searched for a post of ours.
CLOCK_SKEW_S = 120.0
SEARCHED_MESSAGES = 300
REMEMBERED_POSTS = 2_000
# Reactions of ours, by core.words.REACTIONS.
EMOJI = {"seen": "👀", "working": "⏳", "waiting": "✋", "done": "✅", "failed": "⚠️"}


class Poster:
    """Sends, edits and deletes through one logged-in client."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        # Posts of this process, message id -> (channel, nonce); others are looked for.
        self._sent: OrderedDict[str, tuple[int, str]] = OrderedDict()
        # Nonces sent in this process, for attempts that ended in "busy" after a hidden retry.
        self._tried: OrderedDict[str, float] = OrderedDict()
        # What was sent without some of its files, by nonce, until that is told.
        self._lost: OrderedDict[str, Lost] = OrderedDict()

    # --- sending -------------------------------------------------------------------------

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """See ``Chat.post``. A channel that was deleted takes nothing, which is said as such."""
        try:
            return await self._post(key, post)
        except ChatRefused as refused:
            if refused.code != str(faults.UNKNOWN_CHANNEL):
                raise
            raise ChatRefused(str(refused), refused.code, closed=True) from refused

    async def _post(self, key: ConversationKey, post: Post) -> Posted:
        earlier = post.tried_at if post.tried_at is not None else self._tried.get(post.nonce)
        self._remember(self._tried, post.nonce, earlier or time.time())
        async with answered():
            message = await self._find(key, post, earlier) if earlier is not None else None
            if message is None:
                message = await self._place(key, post)
            self._remember(self._sent, str(message.id), (message.channel.id, post.nonce))
            root = key.root
            if post.opens and not root and key.space:
                root = str(message.id)
            if root == str(message.id) != str(message.channel.id):  # a forum's post has its thread
                try:
                    await self._open_thread(int(key.channel), message.id, post.title)
                except discord.HTTPException as error:
                    if error.code != faults.WRONG_CHANNEL_TYPE:
                        raise  # without threads here, the posts that follow stay in the channel
        self._tried.pop(post.nonce, None)
        lost = self._lost.pop(post.nonce, None)
        if lost is None:
            lost = missing(message, post.files)
        return Posted(message_id=str(message.id), root=root, lost=lost)

    async def _place(self, key: ConversationKey, post: Post) -> discord.Message:
        parent = int(key.channel)
        if not key.root or not key.space:
            forum = forum_of(self._client, parent)
            return await (open_post(forum, post) if forum else self._send(parent, post))
        thread = int(key.root)
        try:
            return await self._send(thread, post)
        except discord.NotFound as error:
            if error.code != faults.UNKNOWN_CHANNEL:
                raise
        # No thread yet: this is the first post to a message at channel level.
        try:
            await self._open_thread(parent, thread, post.title)
            return await self._send(thread, post)
        except discord.HTTPException as error:
            gone = error.code in (
                faults.UNKNOWN_MESSAGE,
                faults.UNKNOWN_CHANNEL,
                faults.WRONG_CHANNEL_TYPE,
                faults.SYSTEM_MESSAGE,
            )
            if not gone:
                raise
            # The message was deleted, or threads do not exist here: say it in the channel.
            log.info("discord.posted_in_channel", channel=parent, root=thread, code=error.code)
            return await self._send(parent, post)

    async def _send(self, channel_id: int, post: Post) -> discord.Message:
        channel = self._client.get_partial_messageable(channel_id)
        view = view_of(post.buttons)
        more = {} if view is None else {"view": view}

        async def send(files: Sequence[OutFile]) -> discord.Message:
            with opened(files) as attached:
                return await channel.send(
                    post.text,
                    nonce=post.nonce,
                    allowed_mentions=discord.AllowedMentions.none(),
                    suppress_embeds=True,
                    **more,
                    **({"files": attached} if attached else {}),
                )

        message, lost = await send_what_fits(send, post.files)
        if lost:
            self._remember(self._lost, post.nonce, lost)
        return message

    async def _open_thread(self, parent: int, message_id: int, title: str) -> None:
        try:
            await self._client.http.start_thread_with_message(
                parent,
                message_id,
                name=thread_title(title or self._words_of(message_id)),
                auto_archive_duration=ARCHIVE_MINUTES,
            )
        except discord.HTTPException as error:
            if error.code != faults.THREAD_EXISTS:
                raise

    def _words_of(self, message_id: int) -> str:
        """What the thread's first message says, if it is still in memory: a name for the thread."""
        message = discord.utils.get(self._client.cached_messages, id=message_id)
        return "" if message is None else readable(message, Lookups(self._client).me(message.guild))

    # --- looking before sending again ----------------------------------------------------

    async def _find(self, key: ConversationKey, post: Post, since: float) -> discord.Message | None:
        """Our own newest message with this very text, sent since, that is no other post of ours.

        A thread is always searched. A channel holds the posts of many conversations, where an equal
        text proves less than the nonce does: it is searched once the nonce may be forgotten.
        """
        forum = None if key.root else forum_of(self._client, int(key.channel))
        if forum is not None:
            return await find_post(forum, post, since)
        in_thread = bool(key.root and key.space)
        places = [int(key.root)] if in_thread else []
        if not key.space or time.time() - since > NONCE_TRUSTED_S:
            places.append(int(key.channel))
        for place in places:
            try:
                found = await self._search(place, post, since)
            except discord.NotFound:
                continue
            if found is not None:
                return found
        return None

    async def _search(self, place: int, post: Post, since: float) -> discord.Message | None:
        after = datetime.fromtimestamp(since - CLOCK_SKEW_S, UTC)
        channel = self._client.get_partial_messageable(place)
        found = None
        async for message in channel.history(
            limit=SEARCHED_MESSAGES, after=after, oldest_first=True
        ):
            ours = self._client.user is not None and message.author.id == self._client.user.id
            same = stored(message.content) == stored(post.text)
            other = str(message.id) in post.known_ids or (
                self._sent.get(str(message.id), (0, post.nonce))[1] != post.nonce
            )
            if ours and same and not other:
                found = message
        return found

    # --- changing ------------------------------------------------------------------------

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:
        """See ``Chat.edit``."""

        async def change(message: discord.PartialMessage) -> None:
            await message.edit(
                content=post.text,
                view=view_of(post.buttons),
                allowed_mentions=discord.AllowedMentions.none(),
            )

        await self._where_it_is(key, message_id, change)

    async def react(self, key: ConversationKey, message_id: str, name: str, *, on: bool) -> None:
        """See ``Chat.react``."""
        me = self._client.user
        emoji = EMOJI[name]

        async def change(message: discord.PartialMessage) -> None:
            if on:
                await message.add_reaction(emoji)
            elif me is not None:
                await message.remove_reaction(emoji, me)

        await self._where_it_is(key, message_id, change)

    async def delete(self, key: ConversationKey, message_id: str) -> None:
        """See ``Chat.delete``."""

        async def remove(message: discord.PartialMessage) -> None:
            await message.delete()

        try:
            await self._where_it_is(key, message_id, remove)
        except ChatRefused as refused:
            if refused.code not in (str(faults.UNKNOWN_MESSAGE), str(faults.UNKNOWN_CHANNEL)):
                raise
        self._sent.pop(message_id, None)

    async def _where_it_is(self, key: ConversationKey, message_id: str, act: Any) -> None:
        """A post is in the thread, or in the channel when it opened it or its root was gone."""
        places = [int(key.channel)]
        if key.root and key.space:
            places.insert(0 if message_id != key.root else 1, int(key.root))
        if message_id in self._sent:
            places = [self._sent[message_id][0]]
        async with answered():
            for place in places:
                channel = self._client.get_partial_messageable(place)
                try:
                    return await act(channel.get_partial_message(int(message_id)))
                except discord.NotFound:
                    if place == places[-1]:
                        raise
        return None

    @staticmethod
    def _remember(kept: OrderedDict[str, Any], name: str, value: Any) -> None:
        kept.setdefault(name, value)
        while len(kept) > REMEMBERED_POSTS:
            kept.popitem(last=False)
