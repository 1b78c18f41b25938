"""On what terms a participant is told: whose word counts."""

from __future__ import annotations

import pytest

from core.context.terms import ChannelTerms, EngineTerms, HouseTerms, mode_for, terms_for
from core.model import Conversation, ConversationKey, Participant, Turn

CLAUDE, OLLAMA = Participant("claude"), Participant("ollama")


def conversation(mode: str = "") -> Conversation:
    key = ConversationKey("slack", "T1", "C1", "1.0")
    return Conversation(1, key, direct=False, opened=True, engaged=True, caught_up=True, mode=mode)


def turn(mode: str = "", budget: int = 0) -> Turn:
    return Turn(
        1, 1, "ask", "why?", 1, "Kim", (CLAUDE,), 1, "running", mode=mode, budget_chars=budget
    )


def house(channel=None, engine=None, name="claude", **more) -> HouseTerms:
    return HouseTerms(
        channels={"slack:C1": channel} if channel else {},
        engines={name: engine} if engine else {},
        **more,
    )


@pytest.mark.parametrize(
    ("request_", "channel", "engine", "expected"),
    [
        (0, 0, 0, (60_000, "default")),
        (0, 0, 30_000, (30_000, "engine")),
        (0, 0, 90_000, (90_000, "engine")),
        (0, 20_000, 0, (20_000, "channel")),
        (0, 80_000, 0, (80_000, "channel")),
        (0, 20_000, 30_000, (20_000, "channel")),
        (0, 80_000, 30_000, (30_000, "engine")),
        (90_000, 20_000, 30_000, (90_000, "request")),
        (5_000, 20_000, 0, (5_000, "request")),
    ],
)
def test_whose_budget_it_is(request_, channel, engine, expected):
    terms = terms_for(
        house(ChannelTerms(budget_chars=channel), EngineTerms(budget_chars=engine)),
        turn(budget=request_), conversation(), CLAUDE,
    )  # fmt: skip
    assert (terms.budget_chars, terms.budget_from) == expected
    assert terms.variant == "hosted"


@pytest.mark.parametrize(
    ("request_", "channel", "engine", "expected"),
    [
        (0, 0, 0, (16_000, "light")),
        (0, 40_000, 0, (16_000, "light")),
        (0, 8_000, 0, (8_000, "channel")),
        (90_000, 0, 0, (16_000, "light")),
        (90_000, 0, 30_000, (30_000, "engine")),
        (9_000, 0, 30_000, (9_000, "request")),
    ],
)
def test_a_local_engine_gets_no_more_than_it_can_take(request_, channel, engine, expected):
    terms = terms_for(
        house(ChannelTerms(budget_chars=channel), EngineTerms(budget_chars=engine), "ollama"),
        turn(budget=request_), conversation(), OLLAMA, runs_local=True,
    )  # fmt: skip
    assert (terms.budget_chars, terms.budget_from) == expected
    assert terms.variant == "light"


@pytest.mark.parametrize(
    ("model", "default", "local", "variant"),
    [
        ("", "", None, "hosted"),
        ("ollama/qwen3:8b", "", None, "light"),
        ("", "lmstudio/gemma", None, "light"),
        ("anthropic/claude", "ollama/qwen3", None, "hosted"),
        ("acme/local-model", "", None, "hosted"),
        ("acme/local-model", "", True, "light"),
        ("ollama/huge", "", False, "hosted"),
    ],
)
def test_a_local_model_is_told_by_its_name_or_by_the_settings(model, default, local, variant):
    engine = EngineTerms(model=default, local=local)
    seat = Participant("opencode", model=model)
    terms = terms_for(house(None, engine, "opencode"), turn(), conversation(), seat)
    assert terms.variant == variant


@pytest.mark.parametrize(
    ("channel", "engine", "all_", "expected"),
    [
        ("", "", "hybrid", "hybrid"),
        ("", "push", "hybrid", "push"),
        ("hybrid", "push", "push", "hybrid"),
    ],
)
def test_whose_delivery_it_is(channel, engine, all_, expected):
    terms = terms_for(
        house(ChannelTerms(delivery=channel), EngineTerms(delivery=engine), delivery=all_),
        turn(), conversation(), CLAUDE,
    )  # fmt: skip
    assert terms.delivery == expected


def test_whose_mode_it_is():
    settings = house(ChannelTerms(mode="standard"), mode="lite")
    assert mode_for(settings, turn("full"), conversation("lite")) == "full"
    assert mode_for(settings, turn(), conversation("full")) == "full"
    assert mode_for(settings, turn(), conversation()) == "standard"
    assert mode_for(house(mode="lite"), turn(), conversation()) == "lite"
    assert mode_for(house(), turn(), conversation()) == ""


def test_a_cap_in_tokens_comes_along():
    terms = terms_for(house(None, EngineTerms(budget_tokens=9_000)), turn(), conversation(), CLAUDE)
    assert terms.budget_tokens == 9_000
