"""Receipts side by side, and what people read of them."""

from __future__ import annotations

from dataclasses import replace

from core.context.delta import Known, delta, learned
from core.context.pack import build_context_pack, receipt
from core.context.parity import parity
from core.model import Candidate, Participant
from core.receipts import BAR, bar, say_context, say_parity, say_receipt
from tests.unit.packs import ARCHITECT, CODEX, a_request, agent, human, some_facts

LOCAL = Participant("ollama", "critic")
BULKY = Candidate(tuple(f"- point {n} " + "x" * 90 for n in range(100)))


def run(pack, seat, number, *, round_=0, hop=0, attempt=1):
    return {
        "run": f"run{round_}{number}{hop}{attempt}abcdef", **receipt(pack), "engine": seat.engine,
        "persona": seat.persona, "state": "answered", "round": round_, "seat": number, "hop": hop,
        "attempt": attempt, "in_run": [],
    }  # fmt: skip


def packed(seat, *messages, known=None, **more):
    facts = some_facts(*messages, seats=(ARCHITECT, CODEX, LOCAL), sources={"plan": BULKY})
    request = a_request(participant=seat, rounds=2, topic="What now?", mode="standard", **more)
    full = build_context_pack(request, facts)
    return full if known is None else delta(full, known)


SAID = (human(1, "hello"), agent(2, "hi", CODEX))


def test_all_the_same_is_said_in_a_line_and_one_row_a_section():
    runs = [run(packed(seat, *SAID), seat, n) for n, seat in enumerate((ARCHITECT, CODEX))]
    [round_] = parity(runs)
    assert round_.differed == round_.reasons == ()
    assert all(part.who == (0, 1) for part in round_.shared)
    assert [part.name for part in round_.own] == ["role", "role"]
    text = say_parity([round_])
    assert f"**Round 1** · both know the same {len(round_.shared)} shared sections" in text
    plan = next(part for part in round_.shared if part.name == "plan")
    assert f"| plan | {plan.size:,} | {plan.hash[:8]} | everybody |" in text
    assert "- architect (claude) `run0001a`: standard, " in text


def test_what_differs_is_named_with_what_may_be_the_reason():
    light = packed(LOCAL, *SAID, variant="light", budget_chars=4_000)
    runs = [run(packed(ARCHITECT, *SAID), ARCHITECT, 0), run(light, LOCAL, 1)]
    [round_] = parity(runs)
    assert round_.reasons == ("variant", "budget")
    assert round_.differed == ("platform-rules", "plan")
    plans = [part for part in round_.shared if part.name == "plan"]
    assert [part.who for part in plans] == [(0,), (1,)]
    text = say_parity([round_])
    assert "told differently: platform-rules, plan (not the same: variant, budget)" in text
    assert f"| plan | {plans[1].size:,} | {plans[1].hash[:8]} | critic |" in text


def test_a_section_that_one_does_not_have_is_none_for_it():
    few = packed(CODEX, *SAID, budget_chars=2_600)
    [round_] = parity([run(packed(ARCHITECT, *SAID), ARCHITECT, 0), run(few, CODEX, 1)])
    assert "plan" in round_.differed
    assert "| plan | none |  | codex |" in say_parity([round_])


def test_a_delta_counts_as_what_is_known_in_all():
    first = packed(ARCHITECT, *SAID)
    known = learned(Known(), first)
    more = (*SAID, human(3, "news"))
    second = [
        run(packed(ARCHITECT, *more, known=known), ARCHITECT, 0, round_=1),
        run(packed(CODEX, *more), CODEX, 1, round_=1),
    ]
    one, two = parity([run(first, ARCHITECT, 0), *second])
    assert (one.round, two.round) == (0, 1)
    assert two.differed == ()
    assert all(part.who == (0, 1) for part in two.shared)
    assert two.seats[0].delta
    assert two.seats[0].known > 4_000
    assert "more known" in say_parity([two])


def test_the_last_attempt_of_a_first_hop_counts():
    first, again = packed(ARCHITECT, *SAID), packed(ARCHITECT, *SAID, human(3, "more"))
    runs = [
        run(again, ARCHITECT, 0, attempt=2),
        run(first, ARCHITECT, 0),
        run(replace(first, sections=()), ARCHITECT, 0, hop=1),
    ]
    [round_] = parity(runs)
    assert round_.seats[0].run.startswith("run0002")
    assert "anything yet" in say_parity(parity(()))


def test_the_one_who_sums_up_stands_apart():
    runs = [
        run(packed(ARCHITECT, *SAID), ARCHITECT, 0),
        run(packed(CODEX, *SAID), CODEX, 1),
        run(packed(LOCAL, *SAID), LOCAL, 2, round_=1),
    ]
    first, last = parity(runs)
    assert (first.synthesis, last.synthesis) == (False, True)
    text = say_parity([last])
    assert "**Synthesis** · " in text
    assert "| everybody |" not in text  # one alone is named


def test_a_bar_shows_the_share_and_never_hides_something():
    assert bar(0, 100) == bar(0, 0) == "░" * BAR
    assert bar(1, 10_000) == "█" + "░" * (BAR - 1)
    assert bar(50, 100) == "███░░░"
    assert bar(100, 100) == bar(101, 100) == "█" * BAR


def test_a_receipt_tells_delivery_budget_and_what_was_left_out():
    facts = some_facts(
        *SAID,
        sources={
            "retrieval": Candidate(("hit",), available="3 chunks of this channel"),
            "cross": Candidate(("x",)),
        },
    )
    request = a_request(mode="standard", budget_from="request", token_factor=1.3)
    first = build_context_pack(request, facts)
    text = say_receipt(run(first, ARCHITECT, 0))
    assert "Delivery: hybrid, full" in text
    assert "60,000 characters (asked for), about" in text
    assert "(× 1.3 by what claude reported)" in text
    assert "Announced, to be pulled: retrieval" in text
    assert "Left out: cross (not in mode standard)" in text
    assert "Note: cross" not in text  # once is enough
    known = learned(Known({"code": "old"}), first)
    known = replace(known, sections={**known.sections, "code": "old"})
    new = replace(delta(build_context_pack(request, facts), known), resumed=True)
    text = say_receipt(run(new, ARCHITECT, 0))
    assert "delta: its session knew" in text
    assert "Said to be no more: code" in text
    assert "| section |  | used | of | hash | known |" in text


def test_a_receipt_of_earlier_days_can_still_be_read():
    old = {
        "run": "abcdef0123", "mode": "lite", "reason": "default", "budget": 60_000,
        "sections": [{"name": "role", "tier": 0, "granted": 5, "used": 5, "hash": "f" * 16,
                      "cut": ""}],
        "dropped": [], "notes": [], "messages": [], "chars": 15, "prompt_chars": 10,
        "estimated_tokens": 4, "engine": "codex", "persona": "", "state": "answered",
        "round": 0, "seat": 0, "hop": 0,
    }  # fmt: skip
    assert "| role | ██████ | 5 | 5 | ffffffff |" in say_context([old], "")
    assert parity([old])[0].seats[0].name == "codex"
