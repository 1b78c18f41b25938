"""The context benchmark's measure of what a session knows: it must not find what is not there."""

from benchmarks.knowledge import Session, facts_of

PACK = """\
# Plan

> Plan 1: move the invoices
> state: active

# Recent conversation

[3 messages are left out here; to ask for some: <!-- pull:messages: last 30 -->]

[#4] Kim (human):
> ship it
> on Monday

[#5] architect (claude):
> Not yet.

[120 characters of this message are left out]

> The test is red.
"""


def missing(told: str = "", said: str = "", *, apart: bool = False) -> list[str]:
    session = Session()
    session.tell(told if apart else "", "" if apart else told)
    session.said.append(said)
    return [fact.lines[0] for fact in session.missing(facts_of(PACK))]


def test_the_pack_itself_tells_all():
    assert missing(PACK) == []
    assert missing(PACK, apart=True) == []


def test_nothing_told_is_all_missing_and_a_gap_is_no_fact():
    assert missing() == ["Plan 1: move the invoices", "ship it", "Not yet.", "The test is red."]


def test_words_count_with_their_speaker_and_in_their_order():
    assert "ship it" in missing(PACK.replace("[#4] Kim", "[#4] Mallory"))
    assert "ship it" in missing(PACK.replace("> ship it\n> on Monday", "> on Monday\n> ship it"))
    assert "ship it" in missing(PACK.replace("> on Monday\n", ""))


def test_a_changed_line_is_missing():
    told = PACK.replace("state: active", "state: done")
    assert missing(told) == ["Plan 1: move the invoices"]


def test_what_the_agent_said_itself_it_knows():
    assert missing(said="Not yet.\n(a long proof)\nThe test is red.") == [
        "Plan 1: move the invoices",
        "ship it",
    ]


def test_a_hit_of_a_pull_must_be_the_same_word_for_word():
    pack = facts_of("# Found\n\n> #4 Kim, 2026-01-01 10:00 UTC: ship it\n")
    for told, lacks in (
        ("# Pulled memory: ship\n\n> #4 Kim, 2026-01-01 10:00 UTC: ship it", 0),
        ("# Pulled memory: ship\n\n> #40 Kim, 2026-01-01 10:00 UTC: ship it", 1),
        ("# Pulled memory: ship\n\n> #4 Kim, 2026-01-01 10:00 UTC: ship it not", 1),
    ):
        session = Session()
        session.tell("", told)
        assert len(session.missing(pack)) == lacks, told


def test_a_system_prompt_given_anew_replaces_the_one_before():
    session = Session()
    session.tell(PACK, "What now?")
    session.tell("", "And now?")
    assert not session.missing(facts_of(PACK))
    session.tell("# Plan\n\n> Plan 2", "And now?")
    assert len(session.missing(facts_of(PACK))) == 4


def test_the_message_to_answer_is_known_by_its_number_and_its_words():
    pack = facts_of("# Recent conversation\n\n[#4] Kim (human):\n> ship it\n> on Monday\n")
    asked = "What comes after this is the message to answer (#4), from Kim (human), word for word"
    session = Session()
    session.tell("", f"{asked} to its end.\n\n---\n\nship it\non Monday")
    assert not session.missing(pack)
    other = Session()
    other.tell("", f"{asked} to its end.\n\n---\n\nship it\non Tuesday")
    assert other.missing(pack)
