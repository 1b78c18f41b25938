"""Delta delivery: what a session was told before and a delta together cover the full pack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from core.context.delta import KEPT_MESSAGES, Known, delta, learned, load_known
from core.context.pack import build_context_pack, receipt
from core.context.speakers import Speakers
from core.context.window import digest_of
from core.model import Candidate, Message
from tests.unit.packs import ARCHITECT, CODEX, a_request, agent, human, section, some_facts
from tests.unit.packs import spoken_in as spoken

SPOKEN = ("Recent conversation", "Recent conversation: what is new", "Said since then")


def headed(context: str) -> dict[str, str]:
    """The sections of a pack's text by title: only lines of ours can begin with ``# ``."""
    pieces = re.split(r"^# (.+)\n", context, flags=re.MULTILINE)
    assert pieces[0] == ""
    return {t: text.rstrip("\n") for t, text in zip(pieces[1::2], pieces[2::2], strict=True)}


@dataclass
class Session:
    """What an engine knows, from the texts alone that it was sent."""

    sections: dict[str, str] = field(default_factory=dict)
    messages: dict[int, tuple[str, str]] = field(default_factory=dict)  # speaker, text

    def read(self, pack) -> None:
        for title, text in headed(pack.context).items():
            if title in SPOKEN:
                self.messages |= {s.id: (s.speaker, s.body) for s in spoken(text)}
            elif title == "What is new":
                for gone in re.findall(r"\[No longer there, so do not go by it: (.*)\.\]", text):
                    for name in gone.split(", "):
                        self.sections.pop(name, None)  # may be said again
            else:
                self.sections[title] = text

    def covers(self, full, texts: dict[int, str]) -> None:
        """Everything in ``full`` is known: as it stands there, or (a message) whole."""
        due = headed(full.context)
        for title, text in due.items():
            if title not in SPOKEN:
                assert self.sections[title] == text, title
                continue
            for said in spoken(text):
                speaker, body = self.messages[said.id]
                assert speaker == said.speaker
                assert body in (said.body, texts[said.id]), said.id
        assert self.sections.keys() == due.keys() - set(SPOKEN)


BODIES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["word " * 60, "```py\n" + "call()\n" * 40 + "```", "> quoted\n" * 30, "가" * 90]
    ),
)
NAMES = st.sampled_from(["Kim", "Lee", "kim", "codex"])
STEP = st.fixed_dictionaries({
    "said": st.lists(st.tuples(NAMES, BODIES), max_size=3),
    "edited": st.none() | st.tuples(st.integers(0, 30), BODIES),
    "sections": st.dictionaries(st.sampled_from(("plan", "findings", "code")), BODIES, max_size=2),
    "fresh": st.none() | BODIES,
    "cap": st.sampled_from([200, 230, 4_000]),
    "budget": st.sampled_from([2_500, 6_000, 60_000]),
    "mode": st.sampled_from(["lite", "standard", "full"]),
    "deleted": st.integers(0, 9),
    "taken": st.integers(0, 5),
    "answer": BODIES,
})  # fmt: skip


@given(st.lists(STEP, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_delivered_before_and_delta_cover_the_full_pack(steps):
    said: list[Message] = []
    session, known = Session(), Known()

    def next_id() -> int:
        return max((m.id for m in said), default=0) + 1

    for step in steps:
        for name, text in step["said"]:
            make = (
                agent(next_id(), text, CODEX) if name == "codex" else human(next_id(), text, name)
            )
            said.append(make)
        if step["edited"] and said:
            at = step["edited"][0] % len(said)
            if said[at].author_kind == "human":
                said[at] = replace(said[at], text=step["edited"][1])
        if step["deleted"] == 0 and said:  # ends the session that was told it
            said.pop(0)
            session, known = Session(), Known()
        prompt = human(next_id(), "what now?", "Kim")
        said.append(prompt)
        fresh = (agent(next_id(), step["fresh"], CODEX),) if step["fresh"] is not None else ()
        facts = some_facts(
            *said,
            fresh=fresh,
            sources={name: Candidate((text,)) for name, text in step["sections"].items()},
        )
        full = build_context_pack(
            a_request(
                prompt.text,
                prompt_message_id=prompt.id,
                budget_chars=step["budget"],
                max_per_message_chars=step["cap"],
                mode=step["mode"],
                asker="Kim",
            ),
            facts,
        )
        told = delta(full, known)
        session.read(told)
        speakers = Speakers(said)
        session.messages[prompt.id] = (speakers.label(prompt), prompt.text)
        session.covers(full, {m.id: m.text for m in (*said, *fresh)})
        assert sum(s.used + 2 for s in told.sections if s.text) - 2 == len(told.context)
        assert [s.hash for s in told.sections if s.name != "update"] == [
            s.hash for s in full.sections
        ]
        said += fresh
        known = known.while_told(told)
        if step["taken"]:  # else it failed: nothing is noted, and more is told next time
            known = load_known(learned(known, told).dump())
            answer = agent(next_id(), step["answer"], ARCHITECT)
            said.append(answer)
            known = known.with_own(digest_of(answer, Speakers(said)))
            session.messages[answer.id] = ("architect (claude)", answer.text)


# --- one by one ----------------------------------------------------------------------------


def told(known, *messages, prompt=None, **more):
    """The delta for a session, and the full pack, about these messages."""
    fields = {k: more.pop(k) for k in list(more) if k in ("sources", "fresh", "absent")}
    asked = prompt or human(90, "What now?")
    request = a_request(asked.text, prompt_message_id=asked.id, **more)
    full = build_context_pack(
        request, some_facts(*messages, asked, seats=(ARCHITECT, CODEX), **fields)
    )
    return delta(full, known), full


FIRST = (human(1, "hello"), agent(2, "hi", CODEX))


def after_first(**more) -> Known:
    return learned(Known(), told(Known(), *FIRST, prompt=human(3, "and?"), **more)[0])


def test_with_nothing_known_it_is_the_full_pack():
    pack, full = told(Known(), *FIRST)
    assert pack is full
    assert not pack.delta


def test_only_what_is_new_and_the_standing_are_told():
    answer = agent(4, "My answer.")
    known = after_first().with_own(digest_of(answer, Speakers(())))
    pack, full = told(known, *FIRST, human(3, "and?"), answer, human(5, "news"))
    assert pack.delta
    assert [s.name for s in pack.sections if s.text] == ["update", "recent", "role"]
    assert [s.id for s in spoken(section(pack, "recent"))] == [5]
    assert pack.message_ids == (5,)
    assert pack.known_ids == (1, 2, 3, 4)
    assert pack.prompt == full.prompt
    withheld = {s.name: s.known for s in pack.sections}
    assert withheld["platform-rules"] == len(section(full, "platform-rules"))
    assert withheld["role"] == 0
    assert 0 < withheld["recent"] < len(section(full, "recent"))


def test_an_edited_message_is_told_again_and_a_question_that_was_edited_too():
    known = after_first()
    pack, _ = told(known, human(1, "hello, changed"), FIRST[1], human(3, "and?"))
    assert pack.message_ids == (1,)
    pack, _ = told(known, *FIRST, human(3, "and how?"))
    assert pack.message_ids == (3,)


def test_a_question_is_known_without_what_was_meant_for_moot():
    asked = human(3, "@moot and? --engine codex")
    request = a_request("and?", prompt_message_id=3)
    first = build_context_pack(request, some_facts(*FIRST, asked))
    pack, _ = told(learned(Known(), first), *FIRST, asked)
    assert pack.message_ids == ()


def test_what_was_told_cut_is_told_when_it_is_due_whole_and_not_the_other_way():
    long = human(1, "begin " + "word " * 200 + "end")
    cut, whole = after_first(max_per_message_chars=300), after_first()
    few = learned(Known(), told(Known(), long, max_per_message_chars=300)[0])
    all_ = learned(Known(), told(Known(), long)[0])
    assert told(few, long, max_per_message_chars=300)[0].message_ids == ()
    assert told(few, long, max_per_message_chars=350)[0].message_ids == (1,)
    assert told(few, long)[0].message_ids == (1,)
    assert told(all_, long, max_per_message_chars=300)[0].message_ids == ()
    assert cut.sections == whole.sections
    # What it was told cut after it had it whole takes nothing away from it.
    again = learned(all_, told(all_, long, max_per_message_chars=300)[0])
    assert again.messages == all_.messages


def test_a_section_that_is_no_more_is_named_once():
    known = after_first(sources={"plan": Candidate(("- step",))}, mode="full")
    pack, _ = told(known, *FIRST, mode="full")
    assert pack.gone == ("plan",)
    assert "[No longer there, so do not go by it: Plan.]" in section(pack, "update")
    pack, _ = told(learned(known, pack), *FIRST, mode="full")
    assert pack.gone == ()


def test_a_changed_section_is_told_whole_and_an_unchanged_one_is_not():
    known = after_first(
        sources={"plan": Candidate(("- step",)), "code": Candidate(("x.py:1",))}, mode="full"
    )
    pack, full = told(
        known, *FIRST, mode="full",
        sources={"plan": Candidate(("- step", "- more")), "code": Candidate(("x.py:1",))},
    )  # fmt: skip
    assert section(pack, "plan") == section(full, "plan")
    assert section(pack, "code") == ""


def test_who_gave_no_answer_is_always_said():
    known = after_first(absent=((CODEX, "quota"),))
    pack, _ = told(known, *FIRST, absent=((CODEX, "quota"),))
    assert "[codex (codex) gave no answer: quota]" in section(pack, "latest")


def test_a_gap_before_new_messages_is_marked_but_not_one_before_what_is_known():
    many = [human(n, f"message {n} " + "word " * 60) for n in range(1, 60)]
    known = learned(Known(), told(Known(), *many[:30], budget_chars=6_000)[0])
    pack, full = told(known, *many[:30], human(70, "new"), budget_chars=6_000)
    assert "left out here" in section(full, "recent")
    assert "left out" not in section(pack, "recent")
    pack, _ = told(known, *many, budget_chars=6_000)
    assert re.search(r"\[\d+ messages are left out here", section(pack, "recent"))


def test_what_a_failed_run_told_is_told_again_and_taken_back_when_it_is_no_more():
    first, _ = told(Known(), *FIRST, sources={"code": Candidate(("x.py:1",))})
    known = Known().while_told(first)
    pack, full = told(known, *FIRST)
    assert section(pack, "participants") == section(full, "participants")
    assert pack.message_ids == (1, 2)
    assert pack.gone == ("code",)


def test_after_a_compaction_everything_is_told_again():
    known = after_first(sources={"code": Candidate(("x.py:1",))}).compacted()
    pack, full = told(known, *FIRST)
    assert not pack.delta
    assert pack.gone == ("code",)
    assert [s.text for s in pack.sections[1:] if s.name != "recent"] == [
        s.text for s in full.sections if s.name != "recent"
    ]
    assert pack.message_ids == full.message_ids


def test_the_receipt_of_a_delta_tells_what_was_withheld():
    pack, full = told(after_first(), *FIRST, human(5, "news"))
    shown = receipt(pack)
    assert shown["delta"] is True
    assert shown["messages"] == [5]
    assert shown["known_messages"] == [1, 2]
    assert shown["chars"] == len(pack.context) + len(pack.prompt) < receipt(full)["chars"]
    hashes = {s["name"]: s["hash"] for s in shown["sections"]}
    assert {s.name: s.hash for s in full.sections}.items() <= hashes.items()


def test_knowledge_is_bounded_and_comes_back_as_it_was_stored():
    many = {n: (f"w{n}", f"s{n}") for n in range(KEPT_MESSAGES)}
    known = Known({"plan": "abc"}, many, ("code",))
    pack, _ = told(known, human(KEPT_MESSAGES + 7, "one more"))
    more = learned(known, pack).messages
    assert len(more) == KEPT_MESSAGES
    assert 0 not in more
    assert KEPT_MESSAGES + 7 in more
    for n in range(KEPT_MESSAGES + 1):
        known = known.with_own(f"own {n}")
    assert len(known.own) == KEPT_MESSAGES
    assert load_known(known.dump()) == known
    assert load_known("") == load_known("{}") == Known()
