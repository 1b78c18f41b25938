"""On what terms a participant is told: mode, delivery, variant, budget.

Whoever says so first counts, in this order: this request, the conversation, the channel, the
engine, the settings for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.model import Conversation, DeliveryMode, Participant, Turn, Variant

Delivered = DeliveryMode | Literal[""]

# Providers of OpenCode (and others) that run models on this host or the next one.
_LOCAL = re.compile(r"(ollama|lmstudio|llama[.-]?cpp|llamafile|vllm|mlx|local)[/:]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EngineTerms:
    """What is set for an engine (0 and "": nothing).

    ``local``: whether it runs a small local model; ``None`` where the engine and its model tell.
    ``model`` is the one it uses when a participant names none.
    """

    budget_chars: int = 0
    budget_tokens: int = 0
    delivery: Delivered = ""
    local: bool | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class ChannelTerms:
    """What is set for a channel (0 and "": nothing)."""

    mode: str = ""
    budget_chars: int = 0
    delivery: Delivered = ""


@dataclass(frozen=True, slots=True)
class HouseTerms:
    """What is set for all, and for engines and channels (``chat:channel``) by name."""

    budget_chars: int = 60_000
    light_budget_chars: int = 16_000
    delivery: DeliveryMode = "hybrid"
    mode: str = ""
    engines: Mapping[str, EngineTerms] = field(default_factory=dict[str, EngineTerms])
    channels: Mapping[str, ChannelTerms] = field(default_factory=dict[str, ChannelTerms])

    def channel(self, conversation: Conversation) -> ChannelTerms:
        """What is set for the conversation's channel."""
        key = conversation.key
        return self.channels.get(f"{key.chat}:{key.channel}", ChannelTerms())


@dataclass(frozen=True, slots=True)
class Terms:
    """What came out for one participant; ``budget_from`` says whose budget it is."""

    budget_chars: int
    budget_tokens: int
    budget_from: str
    delivery: DeliveryMode
    variant: Variant


def mode_for(house: HouseTerms, turn: Turn, conversation: Conversation) -> str:
    """The mode that is asked for; "" leaves it to the conversation's length and plan."""
    return turn.mode or conversation.mode or house.channel(conversation).mode or house.mode


def terms_for(
    house: HouseTerms,
    turn: Turn,
    conversation: Conversation,
    seat: Participant,
    *,
    runs_local: bool = False,
) -> Terms:
    """The terms for a seat. ``runs_local``: its engine always runs a local model (a trait).

    A request's budget is taken as it is, a channel's and that for all only as far as the engine's
    own allows; a light engine never gets more than its own (or the light) budget. A cap in tokens
    comes on top: ``build_context_pack`` keeps to the smaller of the two.
    """
    channel, engine = house.channel(conversation), house.engines.get(seat.engine, EngineTerms())
    light = is_local(engine, seat, runs_local=runs_local)
    own = engine.budget_chars or (house.light_budget_chars if light else 0)
    own_from = "engine" if engine.budget_chars else "light"
    wanted, wanted_from = own or house.budget_chars, own_from if own else "default"
    if turn.budget_chars:
        wanted, wanted_from = turn.budget_chars, "request"
    elif channel.budget_chars:
        wanted, wanted_from = channel.budget_chars, "channel"
    if own and own < wanted and (light or wanted_from != "request"):
        wanted, wanted_from = own, own_from
    return Terms(
        budget_chars=wanted,
        budget_tokens=engine.budget_tokens,
        budget_from=wanted_from,
        delivery=channel.delivery or engine.delivery or house.delivery,
        variant="light" if light else "hosted",
    )


def is_local(engine: EngineTerms, seat: Participant, *, runs_local: bool) -> bool:
    """Whether the seat runs a small local model, as far as that can be told from names."""
    if engine.local is not None:
        return engine.local
    return runs_local or _LOCAL.match(seat.model or engine.model) is not None
