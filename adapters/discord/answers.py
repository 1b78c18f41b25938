"""Answering an interaction in time: Discord lets three seconds pass, then says it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
import discord
import structlog

from adapters.discord.forms import modal_of
from adapters.discord.shape import view_of
from core.model import Reply
from core.tongue import say, to_say

log = structlog.get_logger(__name__)

Render = Callable[[str], tuple[str, ...]]

DEFER_AFTER_S = 2.0
TAKEN = to_say("On it.")
NOT_TAKEN = to_say("Moot could not take this in. Please try again in a minute.")
REQUEST_S = 15.0
LONGEST_WAIT_S = 90.0  # the inbox gives up earlier


async def answer(
    interaction: discord.Interaction, taken: asyncio.Future[Reply | None], render: Render
) -> None:
    """Answer the one who acted, privately, with what ``taken`` brings; defer if that takes long.

    Never raises for what Discord says: the event is a row already, the answer is a courtesy.
    """
    try:
        await asyncio.wait({taken}, timeout=DEFER_AFTER_S)
        if not taken.done():
            async with asyncio.timeout(REQUEST_S):
                await interaction.response.defer(ephemeral=True, thinking=True)
            await asyncio.wait({taken}, timeout=LONGEST_WAIT_S)
            await _show(interaction, _result(taken) or Reply(say(TAKEN)), render)
            return
        reply = _result(taken)
        if reply is None and interaction.type is discord.InteractionType.component:
            async with asyncio.timeout(REQUEST_S):
                await interaction.response.defer()  # a click that needs no words
            return
        await _show(interaction, reply or Reply(say(TAKEN)), render)
    except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
        # Too late, answered already, or Discord is away.
        log.warning("discord.interaction_unanswered", id=interaction.id, why=type(error).__name__)


def _result(taken: asyncio.Future[Reply | None]) -> Reply | None:
    if taken.done() and not taken.cancelled():
        return taken.result()
    return Reply(say(NOT_TAKEN))


async def _show(interaction: discord.Interaction, reply: Reply, render: Render) -> None:
    if reply.form is not None and not interaction.response.is_done():
        modal = modal_of(reply.form, interaction.id)
        if modal is not None:
            async with asyncio.timeout(REQUEST_S):
                await interaction.response.send_modal(modal)
            return
    pieces = render(reply.text) or ("…",)
    nobody = discord.AllowedMentions.none()
    for number, piece in enumerate(pieces, 1):
        view = view_of(reply.buttons) if number == len(pieces) else None
        more = {} if view is None else {"view": view}
        async with asyncio.timeout(REQUEST_S):
            if interaction.response.is_done():
                # The first one fills the "thinking" message of a deferred answer.
                await interaction.followup.send(
                    piece, ephemeral=True, allowed_mentions=nobody, suppress_embeds=True, **more
                )
            else:
                await interaction.response.send_message(
                    piece, ephemeral=True, allowed_mentions=nobody, suppress_embeds=True, **more
                )
