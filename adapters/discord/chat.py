"""Discord as a ``Chat``: receives through one gateway session, sends through REST."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import aiohttp
import discord
import structlog

from adapters.discord import files, history, missed
from adapters.discord.checks import INTENT_FIX, TOKEN_FIX, checks
from adapters.discord.client import MootClient, point_at
from adapters.discord.events import CHAT
from adapters.discord.faults import answered
from adapters.discord.inbox import Inbox
from adapters.discord.lookups import Lookups
from adapters.discord.posting import Poster
from adapters.discord.receiving import Receiver
from adapters.discord.render import MAX_UNITS, render
from adapters.discord.sharing import FILE_BYTES, FILES
from core.errors import BadSettings, ChatBusy, ChatRefused, ChatUnsure
from core.model import (
    Attachment,
    ChatLimits,
    Check,
    ConversationKey,
    Missed,
    Post,
    Posted,
    Said,
)
from core.ports import Accept

log = structlog.get_logger(__name__)

EDIT_INTERVAL_S = 1.5  # some five edits in five seconds are allowed; posts come first
HISTORY_PACE_S = 0.2
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 120.0  # Discord takes a thousand sign-ins a day, then it resets the token
DOCTOR_S = 30.0
SITE = "https://discord.com"


@dataclass(frozen=True, slots=True)
class DiscordConfig:
    """``api_url`` ends in ``/api/v10``; empty addresses stand for the real Discord."""

    token: str
    api_url: str = ""
    gateway_url: str = ""


class DiscordChat:
    """The ``Chat`` port for one bot account."""

    def __init__(self, config: DiscordConfig) -> None:
        self._config = config
        self._client: MootClient | None = None
        self._poster: Poster | None = None
        self._receiver: Receiver | None = None
        point_at(config.api_url, config.gateway_url)

    @property
    def name(self) -> str:
        """The first part of every key and grant of this platform."""
        return CHAT

    @property
    def limits(self) -> ChatLimits:
        """What Discord takes in one message, and how often one may be edited."""
        return ChatLimits(
            post_units=MAX_UNITS,
            edit_interval_s=EDIT_INTERVAL_S,
            file_bytes=FILE_BYTES,
            files=FILES,
            history_pace_s=HISTORY_PACE_S,
        )

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        """See ``Chat.render``."""
        return render(markdown, label)

    # --- receiving -----------------------------------------------------------------------

    async def run(self, accept: Accept, ready: Callable[[], None]) -> None:
        """See ``Chat.run``. discord.py reconnects and resumes; what it gives up on starts anew."""
        pause_s = FIRST_PAUSE_S
        async with Inbox(accept) as inbox:
            receiver = self._receiver = Receiver(inbox, ready, self.render)
            try:
                while True:
                    began = time.monotonic()
                    await self._session(receiver)
                    if time.monotonic() - began > LONGEST_PAUSE_S:
                        pause_s = FIRST_PAUSE_S
                    await asyncio.sleep(pause_s)
                    pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            finally:
                await receiver.close()

    async def _session(self, receiver: Receiver) -> None:
        """One client from login to its end; returns when another may be tried.

        Raises:
            BadSettings: Discord refuses the token or an intent.
        """
        client = MootClient(receiver)
        try:
            async with client:
                await client.login(self._config.token)
                await client.choose_gateway(self._config.api_url, self._config.gateway_url)
                self._client, self._poster = client, Poster(client)
                receiver.use(client)
                await _connect(client)
        except discord.LoginFailure as error:
            raise BadSettings(f"Discord refuses the token: {TOKEN_FIX}.") from error
        except discord.PrivilegedIntentsRequired as error:
            raise BadSettings(f"Discord refuses the intents: {INTENT_FIX}.") from error
        except discord.ConnectionClosed as closed:
            if closed.code == 4004:
                raise BadSettings(f"Discord refuses the token: {TOKEN_FIX}.") from closed
            log.warning("discord.connection_lost", code=closed.code)
        except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
            log.warning("discord.unreachable", why=str(error) or type(error).__name__)
        finally:
            receiver.hearing = False
            self._client = self._poster = None

    # --- sending -------------------------------------------------------------------------

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """See ``Chat.post``. The thread is opened by the first post into it."""
        return await self._sending().post(key, post)

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:
        """See ``Chat.edit``. Refused with code 10008 when the message is gone."""
        await self._sending().edit(key, message_id, post)

    async def react(
        self, key: ConversationKey, message_id: str, name: str, *, on: bool = True
    ) -> None:
        """See ``Chat.react``."""
        await self._sending().react(key, message_id, name, on=on)

    async def delete(self, key: ConversationKey, message_id: str) -> None:
        """See ``Chat.delete``."""
        await self._sending().delete(key, message_id)

    async def thread(self, key: ConversationKey, limit: int) -> tuple[Said, ...]:
        """See ``Chat.thread``."""
        client = self._client
        if client is None:
            raise ChatBusy(1.0, "not connected to Discord")
        return await history.thread(client, key, limit, Lookups(client))

    def hears(self) -> frozenset[str]:
        """See ``WithHistory.hears``: the servers in view, and direct messages."""
        client = self._client
        if client is None or self._receiver is None or not self._receiver.hearing:
            return frozenset()
        return frozenset(("", *(str(g.id) for g in client.guilds if not g.unavailable)))

    async def places(
        self, space: str, since: float, known: tuple[ConversationKey, ...]
    ) -> tuple[ConversationKey, ...]:
        """See ``WithHistory.places``; none where the session went on, which replays what came."""
        if self._client is None or self._receiver is None:
            raise ChatBusy(1.0, "not connected to Discord")
        if self._receiver.session_began <= since:
            return ()
        return missed.places(self._client, space, since, known)

    async def missed(self, key: ConversationKey, since: float, limit: int) -> Missed:
        """See ``WithHistory.missed``."""
        if self._client is None or self._receiver is None:
            raise ChatBusy(1.0, "not connected to Discord")
        return await missed.missed(self._client, self._receiver.told, key, since, limit)

    async def direct(self, person: str) -> ConversationKey | None:
        """See ``Chat.direct``."""
        client = self._client
        if client is None:
            raise ChatBusy(1.0, "not connected to Discord")
        async with answered(DOCTOR_S):
            channel = await client.create_dm(discord.Object(int(person)))
        return ConversationKey(CHAT, "", str(channel.id), "")

    async def download(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See ``Chat.download``; the token goes to the API only."""
        return await files.download(self._client, attachment, limit_bytes, self._config.api_url)

    async def heard(self, attachment: Attachment) -> str:
        """See ``Chat.heard``. Discord writes nothing down."""
        return attachment.transcript

    def address(self, key: ConversationKey, message_id: str = "") -> str:
        """See ``Chat.address``. Discord shows such a link as a mention of the thread."""
        place = f"{SITE}/channels/{key.space or '@me'}/{key.root or key.channel}"
        return f"{place}/{message_id}" if message_id else place

    def _sending(self) -> Poster:
        if self._poster is None:
            raise ChatBusy(1.0, "not connected to Discord")
        return self._poster

    async def checks(self, channels: Sequence[str] = (), people: Sequence[str] = ()) -> list[Check]:
        """See ``Chat.checks``. Signs in for itself, so it works whether or not ``run`` does."""
        try:
            async with MootClient() as client, answered(DOCTOR_S):
                return await checks(client, self._config.token, channels, people)
        except (ChatBusy, ChatUnsure, ChatRefused) as error:
            fix = "check the network, and [discord] api_url if it is set"
            return [Check("discord", ok=False, detail=str(error), fix=fix)]


async def _connect(client: MootClient) -> None:
    """Stay connected; reconnecting and resuming is discord.py's.

    Raises:
        ConnectionError: the very first connection failed, which discord.py stumbles over.
    """
    try:
        await client.connect(reconnect=True)
    except AttributeError as error:
        if client.ws is not None:
            raise
        raise ConnectionError("the gateway did not answer") from error
