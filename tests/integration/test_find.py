"""What memory finds for a question, on real records; vectors are given."""

from __future__ import annotations

import pytest

from core.memory.find import authors, find, people_in
from core.model import Author, ChatEvent, ConversationKey, Near, Project
from core.records import messages, people
from core.records.erasure import erase
from core.records.tables import MarkRow
from tests.integration.scenes import scene_of

DAY = 86_400.0
NOW = 1_715_767_200.0  # Wednesday, 15 May 2024, 10:00 UTC
KIM, MINSU, OTHER = Author("U1", "Kim"), Author("U2", "김민수"), Author("U3", "이민수")


def thread(channel: str = "C1", root: str = "1") -> int:
    key = ConversationKey("slack", "T", channel, root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0).id


_count = iter(range(1, 10**9))


def say(conversation: int, text: str, author: Author = KIM, days_ago: float = 30) -> int:
    number = next(_count)
    key = messages.get_conversation(conversation).key
    at = NOW - days_ago * DAY + number / 1_000
    event = ChatEvent(key, f"e{number}", f"{number}", author, text, "message", at)
    return messages.add_event(conversation, event, addressed=False)[0]


def ids(hits) -> list[int]:
    return [hit.message.id for hit in hits]


async def test_what_meaning_finds_comes_if_it_may_be_seen_and_keywords_alone_do(records):
    def play():
        here, old, hidden = thread(), thread(root="2"), thread("C2")
        near = say(old, "we settled on JWT")
        words = say(old, "sessions were dropped")
        secret = say(hidden, "salaries are paid on Monday")
        found = Near("e", (near, secret, 999), (0.9, 0.89, 0.88), 0.8)
        scene = scene_of(here)
        question = "which login for sessions?"
        return (
            near,
            words,
            ids(find(scene, question, 9, found)),
            ids(find(scene, question, 9)),
        )

    near, words, both, alone = await records.do(play)
    assert set(both) == {near, words}
    assert alone[0] == words


async def test_korean_first_names_with_particles_name_their_bearer_unless_there_are_two(records):
    def play():
        here, old = thread(), thread(root="2")
        say(old, "배포는 금요일에 합니다", KIM)
        said = say(old, "배포는 월요일에 합니다", MINSU)
        scene = scene_of(here)
        one = ids(find(scene, "민수가 배포에 대해 뭐라고 했지?", 2))
        say(thread("C2"), "저도 배포합니다", OTHER)  # nobody here sees that one
        unseen = authors(scene, "민수가 뭐라고 했지?")
        say(old, "배포 담당은 누구죠", OTHER)
        return said, one, unseen, authors(scene, "민수가 뭐라고 했지?")

    said, one, unseen, ambiguous = await records.do(play)
    assert one[0] == said
    assert len(unseen) == 1
    assert ambiguous == frozenset()


async def test_what_was_said_at_a_named_time_comes_first(records):
    def play():
        here = thread()
        for n in range(3):
            say(thread(root=f"{n}"), f"the deploy failed, try {n}", days_ago=40 + n)
        last = say(thread(root="9"), "the deploy failed on arm", days_ago=8)  # Tuesday a week ago
        question = "why did the deploy fail last week?"
        return last, find(scene_of(here), question, 4, now=NOW)

    last, hits = await records.do(play)
    assert hits[0].message.id == last
    assert hits[0].why["date"] > 0


async def test_the_very_same_is_told_once_and_a_correction_stands_beside_it(records):
    def play():
        here = thread()
        first = say(thread(root="2"), "Guests may post.")
        again = say(thread(root="3"), "guests may post")
        not_so = say(thread(root="4"), "guests may not post")
        return first, again, not_so, find(scene_of(here), "may guests post?", 9)

    first, again, not_so, hits = await records.do(play)
    assert set(ids(hits)) == {again, not_so}
    [folded] = [hit for hit in hits if hit.message.id == again]
    assert folded.again == (first,)


async def test_who_asked_the_very_same_before_comes_after_what_answers(records):
    def play():
        here, old, older = thread(), thread(root="2"), thread(root="3")
        before = say(old, "Which database do we use for billing?", OTHER)
        answer = say(older, "Billing runs on a database of its own, PostgreSQL.")
        return before, answer, find(scene_of(here), "which database do we use for billing?", 5)

    before, answer, hits = await records.do(play)
    assert ids(hits) == [answer, before]


async def test_a_mark_lowers_a_hit_and_stands_with_it(records):
    def play():
        here = thread()
        wrong, right = (say(thread(root=r), f"the port is {p}") for r, p in (("2", 80), ("3", 81)))
        MarkRow.create(message=wrong, kind="wrong", by_key="U1", by_name="Kim", note="", at=NOW)
        return wrong, right, find(scene_of(here), "the port 80 or 81", 9)

    wrong, right, hits = await records.do(play)
    assert ids(hits) == [right, wrong]
    assert [mark.kind for mark in hits[1].marks] == ["wrong"]


async def test_age_counts_where_the_settings_say_so(records):
    def play():
        here = thread()
        say(thread(root="2"), "the gateway gateway port", days_ago=400)
        new = say(thread(root="3"), "the port of the gateway was moved to 81", days_ago=1)
        project = Project("p", "/", half_life_days=30)
        return new, find(scene_of(here, project=project), "gateway port", 9, now=NOW)

    new, hits = await records.do(play)
    assert hits[0].message.id == new
    assert hits[1].why["age"] < 0.01


async def test_what_bears_somebodys_name_is_found_by_it(records):
    def play():
        here = thread()
        app, kafka = Author("B1", "GitHub", "bot"), Author("U7", "Kafka")
        for n in range(5):
            say(here, f"Pull request {n} was opened", app)
            say(here, f"sounds good, number {n}", kafka)
        left = say(thread(root="2"), "We moved from GitHub to GitLab: runners are cheaper", MINSU)
        chosen = say(thread(root="3"), "Kafka it is, because of replay", MINSU)
        scene = scene_of(here)
        asked = ("why did we leave GitHub?", "why did we choose Kafka?", "Kafka or RabbitMQ")
        hidden = thread("C2")
        say(hidden, "hello", Author("U8", "Zorp"))
        outside = people_in("Zorp, Kafka or GitHub?", scene)
        inside = people_in("Zorp, Kafka or GitHub?", scene_of(hidden))
        return left, chosen, [ids(find(scene, one, 20)) for one in asked], outside, inside

    left, chosen, (leave, choose, which), outside, inside = await records.do(play)
    assert left in leave
    assert chosen in choose
    assert chosen in which
    assert (outside, inside) == (("Kafka",), ("Zorp",))


async def test_who_asks_when_is_told_what_names_a_time_first(records):
    def play():
        here, old = thread(), thread(root="2")
        said = say(old, "we moved the relay to JetStream")
        dated = say(thread(root="3"), "the relay moved on Tuesday, 14:30")
        scene = scene_of(here)
        when, why = "when was the relay moved to JetStream?", "was the relay moved to JetStream?"
        return said, dated, find(scene, when, 9), find(scene, why, 9)

    said, dated, when, why = await records.do(play)
    assert ids(why) == [said, dated]
    assert "when" in next(hit for hit in when if hit.message.id == dated).why
    assert all("when" not in hit.why for hit in why)


async def test_names_are_kept_from_question_to_question_until_words_went(records):
    def play():
        here = thread()
        say(here, "hello")
        asked: list[str] = []
        connection = records._database.connection()
        connection.set_trace_callback(asked.append)

        def read():
            asked.clear()
            return people.names(), any("RECURSIVE" in statement for statement in asked)

        states = [read(), read()]
        say(here, "hello", Author("U1", "Kim Minsu"))  # the same person by another name
        number = say(here, "hello", Author("U4", "Ann"))
        states.append(read())
        ann = people_in("What did Ann say?", scene_of(here))
        erase(number, NOW)
        states.append(read())
        connection.set_trace_callback(None)
        return states, ann, people_in("What did Ann say?", scene_of(here))

    states, before, after = await records.do(play)
    assert [all_read for _, all_read in states] == [True, False, False, True]
    assert [names for names, _ in states[:3]] == [("Kim",), ("Kim",), ("Ann", "Kim", "Kim Minsu")]
    assert (before, after) == (("Ann",), ())


async def test_a_name_that_was_never_committed_is_not_kept(records):
    here = await records.do(thread)

    def cut_off():
        say(here, "hello", Author("U4", "Ann"))
        assert people.names() == ("Ann", "Kim")
        raise RuntimeError("the message is not written after all")

    await records.do(say, here, "hello", KIM)
    with pytest.raises(RuntimeError):
        await records.do(cut_off)
    await records.do(say, here, "hello", OTHER)  # with the id that Ann's would have had
    assert await records.do(people.names) == ("Kim", OTHER.name)


async def test_no_more_names_are_kept_than_are_read(records, monkeypatch):
    monkeypatch.setattr(people, "MAX_NAMES", 2)

    def play():
        here, told = thread(), []
        for name in ("Kim", "Lee", "Ann"):
            say(here, "hello", Author(f"U{name}", name))
            told.append(people.names())
        return told

    assert await records.do(play) == [("Kim",), ("Kim", "Lee"), ("Ann", "Kim")]
