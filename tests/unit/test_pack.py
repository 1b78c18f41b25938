"""build_context_pack: what is told, in which order, within which budget."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.context.modes import MODES
from core.context.pack import build_context_pack, estimate_tokens, receipt
from core.context.rules import EXAMPLES, KIND_HELP, MAX_RULES_CHARS
from core.context.sections import BY_NAME, TABLE, platform_rules
from core.model import Brought, Candidate, Participant, Pull
from core.pull import KINDS, problem, split_markers
from tests.unit.packs import (
    ARCHITECT,
    CODEX,
    a_request,
    agent,
    human,
    section,
    some_facts,
)

bulky = Candidate(tuple(f"- point {n} " + "x" * 90 for n in range(100)), "<!-- pull:plan: all -->")


def names(pack) -> list[str]:
    return [s.name for s in pack.sections]


# --- order, parity, determinism ----------------------------------------------------------


def test_what_was_settled_is_told_in_every_mode_the_rest_of_its_section_is_not():
    found = Candidate(("- decision 1: SQL", "- finding 3: a leak"), always=1)
    facts = some_facts(sources={"findings": found})
    told = section(build_context_pack(a_request(mode="lite"), facts), "findings")
    assert "decision 1" in told
    assert "finding 3" not in told
    told = section(build_context_pack(a_request(mode="standard"), facts), "findings")
    assert "finding 3" in told


def test_a_small_pack_in_order_with_the_participants_own_part_last():
    pack = build_context_pack(a_request(), some_facts(human(1, "hello"), agent(2, "hi")))
    assert names(pack) == ["platform-rules", "project", "participants", "recent", "role"]
    assert (pack.mode, pack.reason) == ("lite", "default")
    assert pack.prompt == "What now?"
    assert pack.message_ids == (1, 2)
    assert pack.chars == len(pack.context) + len(pack.prompt) <= pack.budget_chars


def test_every_section_stands_in_the_tables_order():
    order = [place.name for place in TABLE]
    sources = {place.name: Candidate(("part",)) for place in TABLE if place.weight}
    sources["retrieval"] = Candidate(("part",), available="3 chunks of this channel")
    facts = some_facts(human(1, "hello"), sources=sources, fresh=(agent(2, "hi"),))
    facts = replace(facts, missing=("starter",))
    sent = (Brought(1, "a.log", file="1-a.log"),)
    request = a_request(mode="full", persona_text="Design.", rounds=1, files=sent)
    pack = build_context_pack(request, facts)
    assert names(pack) == [name for name in order if name != "retrieval"]
    assert [s.name for s in pack.sections if not s.shared] == ["latest", "persona", "files", "role"]
    tiers = {p.name: p.tier for p in TABLE if p.name != "retrieval"}
    assert {s.name: s.tier for s in pack.sections} == tiers


def test_shared_sections_are_the_same_bytes_for_all_participants_of_a_round():
    facts = some_facts(
        *(human(n, f"message {n}") for n in range(1, 20)),
        seats=(ARCHITECT, CODEX),
        sources={"plan": Candidate(("- a", "- b"))},
    )
    first = build_context_pack(a_request(persona_text="Design.", rounds=2), facts)
    later = replace(facts, fresh=(agent(30, "I would"),))
    other = build_context_pack(a_request(participant=CODEX, rounds=2), later)
    shared = [s for s in first.sections if s.shared]
    assert shared == [s for s in other.sections if s.shared]
    assert first.context.startswith("\n\n".join(s.text for s in shared))
    assert other.context.startswith("\n\n".join(s.text for s in shared))


@pytest.mark.parametrize("budget", [12_000, 20_000, 60_000])
def test_parity_holds_also_where_the_budget_binds(budget):
    seats = (ARCHITECT, CODEX, Participant("gemini", "critic"))
    facts = some_facts(
        *(human(n, f"message {n} " + "word " * 200) for n in range(1, 80)),
        seats=seats,
        sources={"plan": bulky, "plan-doc": bulky},
    )
    said, packs = (), []
    for n, seat in enumerate(seats):
        request = a_request(
            participant=seat, persona_text="role " * 90 * n, rounds=2, budget_chars=budget
        )
        packs.append(build_context_pack(request, replace(facts, fresh=said)))
        said = (*said, agent(100 + n, "answer " * 100, seat))
    shared = [[s for s in pack.sections if s.shared] for pack in packs]
    assert shared[0] == shared[1] == shared[2]
    assert all(pack.chars <= budget for pack in packs)
    assert [m for m in packs[2].message_ids if m >= 100] == [100, 101]


def test_same_input_same_bytes():
    facts = some_facts(human(1, "a"), agent(2, "b"), people=("Kim", "Lee"))
    assert build_context_pack(a_request(), facts) == build_context_pack(a_request(), facts)


# --- modes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "plan", "override", "expected"),
    [
        (0, False, "", ("lite", "default")),
        (11, False, "", ("lite", "default")),
        (12, False, "", ("standard", "long-conversation")),
        (11, True, "", ("standard", "has-plan")),
        (12, True, "", ("standard", "long-conversation")),
        (50, True, "lite", ("lite", "requested")),
        (0, False, "full", ("full", "requested")),
        (0, False, "huge", ("lite", "default")),
    ],
)
def test_the_mode_and_why(count, plan, override, expected):
    sources = {"plan": Candidate(("- step",))} if plan else {"plan": Candidate(("",))}
    facts = some_facts(human(1, "a"), message_count=count, sources=sources)
    pack = build_context_pack(a_request(mode=override), facts)
    assert (pack.mode, pack.reason) == expected
    assert any("no such mode" in note for note in pack.notes) == (override == "huge")


def test_what_a_mode_leaves_out_is_named_with_the_reason():
    sources = {name: Candidate(("x",)) for name in ("plan", "code", "cross")}
    pack = build_context_pack(a_request(mode="lite"), some_facts(human(1, "a"), sources=sources))
    assert "code" in names(pack)
    assert pack.dropped == ("plan", "cross")
    assert "cross: dropped, not in mode lite" in pack.notes


# --- what is always told -----------------------------------------------------------------


@pytest.mark.parametrize("variant", ["hosted", "light"])
@pytest.mark.parametrize("kinds", [("messages",), ("messages", "memory"), KINDS])
def test_the_rules_teach_the_marker_that_the_parser_reads_and_stay_short(kinds, variant):
    rules = platform_rules(a_request(pull_kinds=kinds, variant=variant))
    assert len(rules) < MAX_RULES_CHARS
    (pull,) = split_markers(rules)[1]
    assert pull.kind in kinds
    assert problem(pull, kinds) == ""
    taught = re.findall(r"`(\w+): ([^`]+)`", rules)
    assert [kind for kind, _ in taught] == ([] if variant == "light" else list(kinds))
    for kind, query in taught:
        assert split_markers(f"<!-- pull:{kind}: {query} -->")[1] == (Pull(kind, query),)
    assert not [kind for kind in KINDS if kind not in kinds and f"{kind}: " in rules]


def test_every_kind_has_its_help_and_an_example():
    assert set(KIND_HELP) == set(EXAMPLES) == set(KINDS)
    for options in ({"can_pull": False}, {"pull_kinds": ()}):
        assert "<!-- pull" not in platform_rules(a_request(**options))


def test_without_pull_no_part_of_the_pack_offers_one():
    messages = [human(n, "long " * 2000) for n in range(1, 30)]
    request = a_request(can_pull=False, budget_chars=20_000)
    assert "<!-- pull" not in build_context_pack(request, some_facts(*messages)).context


def test_participants_are_listed_once_with_their_engines_the_silent_too():
    facts = some_facts(
        human(1, "a"),
        agent(2, "b"),
        human(3, "c", "ci", key="slack:B1"),
        people=("Kim", "Dewi"),
        seats=(ARCHITECT, CODEX, Participant("gemini", "critic")),
    )
    facts = replace(
        facts, messages=(*facts.messages[:2], replace(facts.messages[2], author_kind="bot"))
    )
    listed = section(build_context_pack(a_request(), facts), "participants").split("\n")[2:]
    assert listed == [
        "- Kim (human)",
        "- ci (bot)",
        "- Dewi (human)",
        "- architect (claude)",
        "- codex (codex)",
        "- critic (gemini)",
    ]


def test_the_participants_own_part():
    request = a_request(
        "Which?", persona_text="Judge designs.", rounds=3, round=1, topic="Cut over?", asker="Kim"
    )
    pack = build_context_pack(replace(request, prompt_message_id=7), some_facts())
    text = section(pack, "role")
    assert "You are architect (claude)" in text
    assert "round 2 of 3" in text
    assert "> Judge designs." in section(pack, "persona")
    assert "> Cut over?" in text
    assert "the message to answer (#7), from Kim (human)" in text
    assert "change nothing" in text
    edit = build_context_pack(a_request(permission="edit"), some_facts())
    assert "may change files" in section(edit, "role")


# --- budget ------------------------------------------------------------------------------


def test_the_conversation_gets_half_of_what_is_left_when_all_want_more():
    messages = [human(n, "word " * 100) for n in range(1, 200)]
    sources = {p.name: bulky for p in TABLE if p.weight}
    request = a_request(mode="full", budget_chars=30_000)
    pack = build_context_pack(request, some_facts(*messages, sources=sources))
    used = {s.name: s.used for s in pack.sections}
    fixed = sum(used[n] for n in ("platform-rules", "project", "participants", "role"))
    assert pack.chars <= 30_000
    assert used["recent"] > 0.45 * (30_000 - fixed)
    assert pack.chars > 28_000
    for s in pack.sections:
        assert s.used <= s.granted
        assert not BY_NAME[s.name].weight or s.granted <= BY_NAME[s.name].max_chars


def test_what_others_do_not_use_goes_to_the_conversation_and_the_other_way():
    messages = [human(n, "word " * 100) for n in range(1, 200)]
    alone = build_context_pack(a_request(budget_chars=20_000), some_facts(*messages))
    assert 18_500 < alone.chars <= 20_000
    few = some_facts(human(1, "short"), sources={"plan": bulky, "plan-doc": bulky})
    pack = build_context_pack(a_request(mode="standard", budget_chars=14_000), few)
    assert {s.name: s.granted for s in pack.sections}["plan-doc"] == 6000


def test_a_prompt_over_the_budget_is_sent_whole_and_the_receipt_says_so():
    prompt = "why? " * 20_000
    messages = [human(n, f"said {n} " * 50) for n in range(1, 30)]
    facts = some_facts(*messages, agent(40, "my last word"), sources={"plan": bulky})
    pack = build_context_pack(a_request(prompt), facts)
    assert pack.prompt == prompt
    assert pack.message_ids == (40,)
    assert "my last word" in pack.context
    assert pack.dropped == ("plan",)
    assert any(note.startswith("over budget by ") for note in pack.notes)
    assert "plan: dropped, no room in the budget" in pack.notes


def test_c127_the_reported_size_is_what_is_sent_and_korean_is_not_counted_as_latin():
    long = "배포 가능 여부를 확인해 주세요. " * 4444
    pack = build_context_pack(
        a_request(max_per_message_chars=12_000), some_facts(human(1, long), human(2, "그래서?"))
    )
    told = receipt(pack)
    assert told["chars"] == len(pack.context) + len(pack.prompt)
    assert {s["name"]: s["used"] for s in told["sections"]}["recent"] == len(
        section(pack, "recent")
    )
    assert told["chars"] < 16_000
    assert told["estimated_tokens"] > told["chars"] / 2.5
    assert estimate_tokens("word" * 100) == 100
    assert estimate_tokens("가" * 30) == 20
    assert estimate_tokens("") == 0


def test_c128_a_section_cut_in_a_fence_closes_it_and_says_so():
    doc = "Intro\n\n```python\n" + "call(x)\n" * 2000 + "```\n\ntail"
    facts = some_facts(
        human(1, "hi"), sources={"plan": Candidate((doc,), "<!-- pull:plan: all -->")}
    )
    pack = build_context_pack(a_request("the request", mode="standard", pull_kinds=KINDS), facts)
    text = section(pack, "plan")
    assert len(text) <= 4000
    assert text.count("```") == 2
    assert "characters in 1 of 1 parts are left out; to ask for the rest: <!-- pull:plan" in text
    assert {s.name: s.cut for s in pack.sections}["plan"].startswith("1 of 1 parts, ")
    tokens = MarkdownIt("commonmark").parse(f"{pack.context}\n\n---\n\n{pack.prompt}")
    assert tokens[-2].content == "the request"
    assert tokens[-1].level == 0


def test_parts_are_dropped_whole_from_the_end():
    facts = some_facts(human(1, "hi"), sources={"plan": bulky})
    text = section(build_context_pack(a_request(mode="standard"), facts), "plan")
    shown = [line for line in text.split("\n") if line.startswith("> - point")]
    assert shown == [f"> {part}" for part in bulky.parts[: len(shown)]]
    assert f"in {100 - len(shown)} of 100 parts are left out" in text
    assert len(text) > 3800


sizes = st.lists(st.integers(0, 3000), max_size=25)


@pytest.mark.parametrize("budget", range(6_900, 7_000, 7))
def test_marks_for_what_is_left_out_never_push_the_pack_over_its_budget(budget):
    said = [agent(1, ""), agent(2, "w \n" * 5), agent(3, "w \n" * 948), human(4, "")]
    facts = some_facts(*said, sources={"artifacts": Candidate(("y ",))})
    pack = build_context_pack(a_request(budget_chars=budget, mode="full"), facts)
    assert (pack.chars > budget) == any(note.startswith("over budget") for note in pack.notes)
    assert pack.chars <= budget or not any(s.name == "artifacts" for s in pack.sections)


@given(sizes, st.dictionaries(st.sampled_from(sorted(BY_NAME)), sizes, max_size=8), st.data())
@settings(max_examples=150, deadline=None)
def test_never_above_the_budget_unless_it_says_so(lengths, found, data):
    messages = [
        (human if data.draw(st.booleans()) else agent)(n + 1, "w \n" * (length // 3))
        for n, length in enumerate(lengths)
    ]
    sources = {name: Candidate(tuple("y " * (n // 2) for n in ns)) for name, ns in found.items()}
    budget = data.draw(st.integers(0, 40_000))
    request = a_request(budget_chars=budget, mode=data.draw(st.sampled_from(["", "full"])))
    pack = build_context_pack(request, some_facts(*messages, sources=sources))
    over = [note for note in pack.notes if note.startswith("over budget")]
    assert bool(over) == (pack.chars > budget)
    if over:
        last = [m.id for m in messages if m.author_kind == "agent"][-1:]
        assert list(pack.message_ids) == last
        assert not any(BY_NAME[s.name].weight for s in pack.sections)
    for s in pack.sections:
        assert s.used == len(s.text) <= s.granted


# --- the receipt -------------------------------------------------------------------------


def test_the_receipt_explains_itself_and_holds_no_text_of_messages():
    messages = [human(n, f"secret-{n} " * 900) for n in range(1, 40)]
    facts = some_facts(
        *messages,
        sources={"plan": Candidate(("secret plan",)), "cross": Candidate(("secret",))},
        notes=("project: not read (PermissionError)",),
    )
    told = receipt(build_context_pack(a_request("secret prompt"), facts))
    dumped = json.dumps(told)
    assert "secret" not in dumped
    assert list(told) == [
        *("mode", "reason", "delivery", "variant", "resumed", "delta", "budget", "budget_from"),
        *("sections", "announced", "dropped", "gone", "notes", "messages", "known_messages"),
        *("chars", "prompt_chars", "estimated_tokens", "token_factor"),
    ]
    recent = next(s for s in told["sections"] if s["name"] == "recent")
    assert set(recent) == {"name", "tier", "granted", "used", "hash", "cut", "known"}
    assert re.fullmatch(r"\d+ of 39 messages left out, \d+ shortened", recent["cut"])
    assert told["dropped"] == ["cross"]
    assert "project: not read (PermissionError)" in told["notes"]


def test_a_hash_changes_with_the_text_and_with_nothing_else():
    facts = some_facts(human(1, "a"))
    one, two = (build_context_pack(a_request(p), facts) for p in ("x", "y"))
    other = build_context_pack(a_request(), some_facts(human(1, "b")))
    hashes = [{s.name: s.hash for s in pack.sections} for pack in (one, two, other)]
    assert hashes[0] == hashes[1]
    assert hashes[0]["recent"] != hashes[2]["recent"]
    assert hashes[0]["project"] == hashes[2]["project"]


# --- the shipped personas ----------------------------------------------------------------

PERSONAS = Path(str(files("config"))) / "personas"


@pytest.mark.parametrize("name", ["architect", "developer", "reviewer", "critic", "synthesizer"])
def test_a_shipped_persona_is_a_short_role_document_that_arrives_whole(name):
    text = (PERSONAS / f"{name}.md").read_text("utf-8")
    assert 600 <= len(text) <= 1200
    assert text.startswith(f"You are the {name}: ")
    assert split_markers(text) == (text, ())
    pack = build_context_pack(a_request(persona_text=text), some_facts())
    assert text.strip().replace("\n\n", "\n>\n").split("\n")[0] in section(pack, "persona")
    assert f"> {text.strip().splitlines()[-1]}" in section(pack, "persona")


def test_every_section_mode_and_kind_is_in_the_docs():
    docs = (PERSONAS.parent.parent / "docs" / "contextpack.md").read_text("utf-8")
    for word in (*BY_NAME, *MODES, *KINDS, "long-conversation", "has-plan", "requested"):
        assert re.search(rf"\b{word}\b", docs), word


def test_of_two_who_look_alike_the_one_who_asks_is_told_apart():
    facts = some_facts(
        human(1, "no"), human(2, "yes?", "K\u0456m", "slack:U2"), human(3, "hm", "Kim ", "slack:U3")
    )
    pack = build_context_pack(a_request("yes?", prompt_message_id=3, asker="Kim "), facts)
    assert "from Kim  (human, slack:U3), word for word" in section(pack, "role")
