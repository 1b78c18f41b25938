"""What is found in earlier conversations, on real records."""

from __future__ import annotations

import pytest

from core.context.followup import in_run_text
from core.keywords import query_terms
from core.memory.find import find
from core.model import Author, ChatEvent, ConversationKey, Participant, Pull, PulledResult
from core.records import messages
from core.records import search as searching
from core.records.search import search
from core.sources import recall, retrieval
from tests.integration.scenes import scene_of

KEY = ConversationKey("slack", "T", "C1", "1")
KIM, LEE = Author("U1", "Kim"), Author("U2", "Lee Min")


def thread(channel: str = "C1", root: str = "1", **more) -> int:
    key = ConversationKey("slack", "T", channel, root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0, **more).id


_at = iter(range(1, 10**9))


def say(conversation_id: int, text: str, author: Author = KIM) -> int:
    at = str(next(_at))
    key = messages.get_conversation(conversation_id).key
    event = ChatEvent(key, f"e{at}", at, author, text, "message", 1_700_000_000.0 + float(at))
    return messages.add_event(conversation_id, event, addressed=False)[0]


async def test_an_earlier_thread_of_the_channel_is_found_with_who_when_where_and_number(records):
    def play():
        old, here = thread(), thread(root="2")
        number = say(old, "We chose JWT because the gateway can check it offline.", LEE)
        say(old, "Lunch is at noon.")
        return number, retrieval.offer(scene_of(here, prompt="why did we choose JWT?"))

    number, offered = await records.do(play)
    candidate = offered.candidates["retrieval"]
    hit, after = candidate.parts
    assert hit.startswith(f"#{number} Lee Min (human), 2023-11-")
    assert " years ago), in another thread of this channel (1):\n> We chose JWT" in hit
    assert "\n> Lunch is at noon." in after  # it was said right after that
    assert candidate.available == "2 messages of this channel's conversations"


async def test_what_is_shown_and_the_question_itself_are_not_found_again(records):
    def play():
        here = thread()
        shown, asked = say(here, "the demo is on Thursday"), say(here, "when is the demo?")
        older = say(here, "the demo needs a script")
        scene = scene_of(
            here, prompt="demo", prompt_message_id=asked, shown=frozenset({shown, asked})
        )
        return older, search(scene, "demo", 10), retrieval.offer(scene)

    older, found, offered = await records.do(play)
    assert [one.message.id for one in found] == [older]
    assert offered.candidates["retrieval"].available.startswith("1 message of")


async def test_a_pull_brings_what_is_new_and_what_was_told_only_where_nothing_else_fits(records):
    def play():
        old, here = thread(), thread(root="2")
        told = say(here, "JWT or sessions for the gateway?")
        new = say(old, "We chose JWT because the gateway can check it offline.", LEE)
        scene = scene_of(here, shown=frozenset({told}))
        found = [
            retrieval.answer(Pull("memory", words), scene)
            for words in ("JWT for the gateway", "sessions")
        ]
        return told, new, found

    told, new, (both, only_told) = await records.do(play)
    assert [hit.split()[0] for hit in both.hits] == [f"#{new}"]
    assert [hit.split()[0] for hit in only_told.hits] == [f"#{told}"]


async def test_nothing_beyond_what_is_shown_is_no_offer(records):
    def play():
        here = thread()
        shown = {say(here, "a word"), say(here, "another")}
        return retrieval.offer(scene_of(here, prompt="word", shown=frozenset(shown)))

    assert await records.do(play) == retrieval.Offer()


async def test_whom_the_question_names_comes_first(records):
    def play():
        here, other = thread(), thread(root="2")
        say(other, "the cache was cleared, the cache is cold", KIM)
        say(other, "the cache was cleared", LEE)
        hits = find(scene_of(here), "what did lee min say about the cache", 10)
        return [one.message.author_name for one in hits]

    assert await records.do(play) == ["Lee Min", "Kim"]


async def test_c109_what_a_failed_run_said_is_not_found_again(records):
    def play():
        here = thread()
        seat = Participant("claude")
        messages.add_answer(here, seat, "usage limit reached", turn_id=1, now=1.0, interrupted=True)
        kept = messages.add_answer(here, seat, "the usage limit is in config", turn_id=1, now=2.0)
        return kept, search(scene_of(here), "usage limit", 10)

    kept, found = await records.do(play)
    assert [one.message.id for one in found] == [kept]


async def test_c132_a_correction_and_what_it_corrects_both_come_with_their_order(records):
    def play():
        here, old = thread(), thread(root="2")
        first, second = say(old, "guests may post"), say(old, "guests may not post")
        third, fourth = say(old, "배포 가능"), say(old, "배포 불가")
        english = retrieval.answer(Pull("memory", "may guests post"), scene_of(here))
        korean = retrieval.answer(Pull("memory", "배포"), scene_of(here))
        return (first, second), english.hits, (third, fourth), korean.hits

    numbers, english, others, korean = await records.do(play)
    for ids, hits in ((numbers, english[:2]), (others, korean)):
        assert [hit.split()[0] for hit in hits] == [f"#{number}" for number in ids]


async def test_a_number_brings_the_whole_message_if_it_may_be_seen(records):
    long = " ".join(f"word{n}" for n in range(4_000))

    def play():
        here, same, hidden = thread(), thread(root="2"), thread("C2")
        seen, secret = say(same, long), say(hidden, "hr-private: salaries")
        scene, text, begin = scene_of(here), "", ""
        while True:
            hits = recall.answer(Pull("messages", f"#{seen}{begin}"), scene).hits
            shown = in_run_text(PulledResult(Pull("messages", "x"), hits), 8_000)  # some of them
            pieces = [line[4:] for line in shown.split("\n") if line.startswith("> > ")]
            marks = [line for line in shown.split("\n") if line.startswith("> [")]
            if "left out" not in shown and len(marks) < len(pieces):
                text += "".join(pieces)
                break
            text += "".join(pieces[: len(marks)])  # one that was cut is asked for again
            begin = f" from {marks[-1].split(' from ')[1].rstrip(']')}"
        refused = recall.answer(Pull("messages", f"#{secret}"), scene)
        nothing = recall.answer(Pull("messages", "#999999"), scene)
        return text, refused, nothing

    text, refused, nothing = await records.do(play)
    assert text == long
    assert refused.hits == nothing.hits == ()
    assert refused.note == nothing.note  # nobody learns that there is something


async def test_a_long_message_is_shown_around_what_was_asked(records):
    def play():
        here, old = thread(), thread(root="2")
        number = say(old, f"{'filler ' * 400}the needle is blue {'filler ' * 400}")
        [part] = retrieval.offer(scene_of(here, prompt="needle?")).candidates["retrieval"].parts
        return number, part

    number, part = await records.do(play)
    assert "the needle is blue" in part
    assert f"characters left out; pull messages: #{number}]" in part
    assert len(part) < 800


@pytest.mark.parametrize("few", [0, 10_000])
async def test_common_words_and_many_messages_are_searched_with_bounded_work(
    records, monkeypatch, few
):
    """The same results whichever way it goes; a word that is everywhere brings the newest."""
    monkeypatch.setattr(searching, "COMMON_ROWS", 20)
    monkeypatch.setattr(searching, "READ_ROWS", 30)
    monkeypatch.setattr(searching, "FEW_MESSAGES", few)
    monkeypatch.setattr(searching, "BEST_ROWS", 0 if few else 2_000)

    def play():
        here, old, hidden = thread(), thread(root="2"), thread("C2")
        for number in range(40):
            say(old, f"deploy number{number} today")
            say(hidden, f"deploy number{number} today")
        rare = search(scene_of(here), "deploy number7", 5)
        common = search(scene_of(here), "deploy today", 3)
        return rare, common, messages.recent(old, 3)

    rare, common, newest = await records.do(play)
    # What was said right after it is found by it, too.
    assert [one.message.text.split()[1] for one in rare] == ["number7", "number8"]
    assert {one.message.id for one in common} == {message.id for message in newest}


def test_a_query_keeps_negations_and_falls_back_to_stop_words():
    assert query_terms("What should we not do with the cache?") == ("not", "cache")
    assert query_terms("what is it?") == ("what", "is", "it")
    assert query_terms("하지 마") == ("하지", "마")
    assert query_terms("") == ()
