"""What holds of every pack and of every section that a source feeds, whatever is in it."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.context.frame import theirs
from core.context.pack import build_context_pack
from core.context.sections import BY_NAME, TABLE, Find
from core.model import Candidate, Participant
from core.pull import neutralise
from tests.unit.packs import a_request, agent, human, some_facts

FENCED = "```py\n" + "call(x)\n" * 30 + "```"
PARTS = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.sampled_from(["- a bullet", FENCED, "x" * 300, "가나다 " * 60, "a\n\n# Plan\n\n> b"]),
    ),
    max_size=12,
)
MARK = re.compile(
    r"\[([\d,]+) characters in (\d+) of (\d+) parts are left out"
    r"(?:; to ask for the rest: (<!-- pull:\w+: .* -->))?\]"
)


@given(PARTS, st.integers(0, 3_000), st.booleans())
@settings(max_examples=250, deadline=None)
def test_a_section_is_cut_between_its_parts_and_says_what_is_missing(parts, room, can_pull):
    candidate = Candidate(tuple(parts), "<!-- pull:plan: all -->")
    find = Find(BY_NAME["plan"], candidate, ("plan",) if can_pull else ())
    text, cut = find.within(room)
    told = [part for part in parts if part.strip()]
    whole = "# Plan\n\n" + "\n\n".join(theirs(part) for part in told)
    assert find.want.need == (len(whole) if told else 0)
    if not text:
        assert not told or room < len(whole)
        return
    assert len(text) <= room
    if not cut:
        assert text == whole
        return
    [found] = MARK.finditer(text)
    chars, missing, of = (int(found[n].replace(",", "")) for n in (1, 2, 3))
    assert (of, bool(found[4])) == (len(told), can_pull)
    assert text.endswith(found[0])
    kept = told[: len(told) - missing]
    begun = "# Plan\n\n" + "".join(f"{theirs(part)}\n\n" for part in kept)
    assert text.startswith(begun)
    rest = sum(len(part) for part in told[len(kept) :])
    if kept:
        assert text == begun + found[0]
        assert chars == rest
    else:  # one part that was too long alone: cut inside, at a boundary of its own
        inside = text[len("# Plan\n\n") : -len(found[0]) - 2]
        assert all(line.startswith(">") for line in inside.split("\n"))
        assert 0 <= chars <= rest
    # Whatever was open is closed: what comes after stands outside of it.
    tokens = MarkdownIt("commonmark").parse(f"{text}\n\nAFTER")
    assert (tokens[-2].content, tokens[-2].level) == ("AFTER", 1)


SPEECH = st.lists(
    st.tuples(st.sampled_from(["Kim", "Lee", "architect", "codex"]), st.text(max_size=400)),
    max_size=20,
)
SEATS = (Participant("claude", "architect"), Participant("codex"), Participant("gemini", "critic"))


def facts_of(said, sources):
    messages = [
        agent(n, text, next(s for s in SEATS if s.name == name))
        if name in ("architect", "codex") else human(n, text, name)
        for n, (name, text) in enumerate(said, 1)
    ]  # fmt: skip
    found = {name: Candidate(tuple(parts), available="some") for name, parts in sources.items()}
    return some_facts(*messages, seats=SEATS, sources=found)


@given(
    SPEECH,
    st.dictionaries(st.sampled_from([p.name for p in TABLE if p.weight]), PARTS, max_size=5),
    st.sampled_from([8_000, 20_000, 60_000]),
    st.sampled_from(["hosted", "light"]),
    st.sampled_from(["hybrid", "push"]),
    st.lists(st.text(max_size=900), min_size=3, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_every_participant_of_a_round_gets_the_same_shared_bytes(
    said, sources, budget, variant, delivery, personas
):
    facts = facts_of(said, sources)
    packs = []
    for number, (seat, persona) in enumerate(zip(SEATS, personas, strict=True)):
        request = a_request(
            participant=seat, persona_text=persona, budget_chars=budget, variant=variant,
            delivery=delivery, rounds=2, topic="What now?", mode="full",
        )  # fmt: skip
        fresh = tuple(agent(90 + n, f"answer {n}", SEATS[n]) for n in range(number))
        packs.append(build_context_pack(request, replace(facts, fresh=fresh)))
        assert [s.name for s in packs[-1].sections] == [
            p.name for p in TABLE if p.name in {s.name for s in packs[-1].sections}
        ]
    shared = [[s for s in pack.sections if s.shared] for pack in packs]
    assert shared[0] == shared[1] == shared[2]
    for pack, sections in zip(packs, shared, strict=True):
        assert pack.context.startswith("\n\n".join(s.text for s in sections))


@given(SPEECH, st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_equal_facts_give_equal_packs_whatever_was_built_before(said, prompt):
    sources = {"plan": ["- a", "- b"]}
    request = a_request(prompt, mode="full")
    one, other = facts_of(said, sources), facts_of(said, sources)
    first = build_context_pack(request, one)
    build_context_pack(a_request(prompt, max_per_message_chars=200, can_pull=False), one)
    assert build_context_pack(request, one) == first == build_context_pack(request, other)
    assert first.prompt == neutralise(prompt)
