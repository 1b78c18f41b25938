"""What stands in the keyword index beside a message, in the file itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peewee import SqliteDatabase

from bridge.projects import recall_of
from config.settings import load_settings
from core.keywords import context_text, index_text
from core.model import Author, ChatEvent, ConversationKey, Participant, Said
from core.records import anew, history, messages, places, scope, scopes
from core.records import search as searching
from core.records.fulltext import uses
from core.records.search import fetch, search
from core.records.tables import ALL_TABLES, MessageIndex, MessageRow
from core.records.thread import Records
from tests.integration.scenes import scene_of

KEY = ConversationKey("slack", "T", "C1", "1")
KIM = Author("U1", "Kim")


def thread(key: ConversationKey = KEY, **more) -> int:
    given = {"direct": False, "in_thread": False, "now": 1.0} | more
    return messages.open_conversation(key, **given).id


def say(here: int, text: str, at: int, key: ConversationKey = KEY) -> int:
    event = ChatEvent(
        key, f"e{key.channel}{key.root}{at}", str(at), KIM, text, "message", float(at)
    )
    return messages.add_event(here, event, addressed=False)[0]


def expected(here: int) -> dict[int, tuple[str, str]]:
    """What the rows of a conversation ought to be, made in the plainest way."""
    rows = MessageRow.select().where(
        (MessageRow.conversation == here)
        & MessageRow.deleted_at.is_null()
        & ~MessageRow.interrupted
    )
    made, before = {}, ""
    for row in sorted(rows, key=lambda one: (one.sent_at, one.id)):
        made[row.id] = (index_text(row.text), context_text(row.sent_at, before))
        before = row.text
    return made


def stored() -> dict[int, tuple[str, str]]:
    rows = MessageIndex.select(MessageIndex.rowid, MessageIndex.body, MessageIndex.context).tuples()
    return {number: (body, context) for number, body, context in rows}


def check(here: int) -> None:
    assert stored() == expected(here)


async def test_no_word_of_a_message_that_changed_stays_with_the_one_after_it(records):
    def play():
        here = thread()
        say(here, "alpha", 10)
        say(here, "the salary is bravo", 20)
        say(here, "charlie", 30)
        check(here)
        assert uses("bravo", 9) == 2
        messages.change_text(KEY, "20", "delta", 40.0)
        check(here)
        assert (uses("bravo", 9), uses("delta", 9)) == (0, 2)
        messages.remove(KEY, "20", 50.0)
        check(here)
        assert (uses("delta", 9), uses("alpha", 9)) == (0, 2)

    await records.do(play)


async def test_history_that_comes_late_is_what_was_said_before(records):
    def play():
        here = thread(in_thread=True)
        say(here, "first", 10)
        say(here, "third", 30)
        history.add_history(here, "slack", [Said("20", KIM, "second", 20.0)])
        check(here)

    await records.do(play)


async def test_what_a_failed_run_said_is_beside_no_message_either(records):
    def play():
        here = thread()
        say(here, "why", 10)
        seat = Participant("claude")
        messages.add_answer(here, seat, "quota exceeded", turn_id=1, now=20.0, interrupted=True)
        say(here, "again", 30)
        check(here)
        assert uses("quota", 9) == 0

    await records.do(play)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["say", "late", "edit", "remove", "failed"]),
        st.integers(0, 12),
        st.sampled_from(["one", "two words", "셋을", "四", ""]),
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=40)
@given(ACTS)
def test_every_row_is_as_if_it_were_made_anew(acts):
    with closing(SqliteDatabase(":memory:")) as database, database.bind_ctx(ALL_TABLES):
        database.create_tables(ALL_TABLES)
        here = thread(in_thread=True)
        for n, (act, at, text) in enumerate(acts):
            if act == "say":
                say(here, f"{text} {n}", at)
            elif act == "late":
                history.add_history(here, "slack", [Said(f"h{n}", KIM, text, float(at))])
            elif act == "edit":
                messages.change_text(KEY, str(at), f"{text} {n}", 99.0)
            elif act == "remove":
                messages.remove(KEY, str(at), 99.0)
            else:
                seat = Participant("claude")
                messages.add_answer(here, seat, text, turn_id=1, now=float(at), interrupted=True)
            check(here)


async def old_database(path: Path, count: int) -> int:
    """A database whose index another build wrote; the id of its conversation."""
    records = Records(path)
    await records.open()

    def play():
        here = thread()
        for n in range(count):
            say(here, f"message number{n} 인증을", n)
        messages.remove(KEY, "1", 5_000.0)
        return here

    here = await records.do(play)
    await records.close()
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("DROP TABLE message_fts")
        old.execute(
            "CREATE VIRTUAL TABLE message_fts USING fts5(text, tokenize='porter unicode61')"
        )
        old.execute("INSERT INTO message_fts(rowid, text) VALUES(1, 'message')")
        old.execute("DELETE FROM meta WHERE name LIKE 'keywords%'")
    return here


async def test_the_index_of_an_earlier_build_is_made_anew(tmp_path):
    path = tmp_path / "moot.sqlite"
    here = await old_database(path, 30)
    records = Records(path)
    await records.open()
    assert await records.do(anew.due) == 0
    await records.do(check, here)
    await records.close()


async def test_a_large_one_is_made_anew_in_the_background_and_goes_on_after_a_crash(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(anew, "AT_ONCE", 10)
    path = tmp_path / "moot.sqlite"
    here = await old_database(path, 60)
    records = Records(path)
    await records.open()
    assert await records.do(anew.due) == 50
    assert len(await records.do(stored)) == 10
    # What happens meanwhile is indexed as always.
    await records.do(messages.change_text, KEY, "3", "edited early", 6_000.0)
    await records.do(messages.remove, KEY, "20", 6_000.0)
    newest = await records.do(say, here, "said meanwhile", 6_100)
    assert newest in await records.do(stored)
    await records.do(anew.step, 7)
    await records.close()
    records = Records(path)
    await records.open()
    left = await records.do(anew.due)
    assert 0 < left < 43
    await anew.Anew(records).run()
    assert await records.do(anew.due) == 0
    await records.do(check, here)
    await records.close()


# --- scopes ------------------------------------------------------------------------------


def places_of_all_kinds() -> dict[str, int]:
    made = {
        "here": thread(KEY),
        "beside": thread(ConversationKey("slack", "T", "C1", "2")),
        "apart": thread(ConversationKey("slack", "T", "C1", "3")),
        "public": thread(ConversationKey("slack", "T", "C2", "1")),
        "private": thread(ConversationKey("slack", "T", "C3", "1")),
        "other": thread(ConversationKey("slack", "T", "C4", "1")),
        "direct": thread(ConversationKey("slack", "T", "D1", ""), direct=True),
        "space": thread(ConversationKey("slack", "T2", "C2", "1")),
    }
    places.set_apart(ConversationKey("slack", "T", "C1", "3"))
    for channel in ("C1", "C2", "C4"):
        places.set_public(ConversationKey("slack", "T", channel, ""), public=True)
    places.set_public(ConversationKey("slack", "T2", "C2", ""), public=True)
    return made


@pytest.mark.parametrize(
    ("asked_in", "recall", "allowed"),
    [
        ("here", "project", {"here", "public"}),
        ("here", "channel", {"here"}),
        ("here", "conversation", {"here"}),
        ("apart", "project", {"apart", "here", "public"}),
        ("apart", "channel", {"apart", "here"}),
        ("apart", "conversation", {"apart"}),
        ("private", "project", {"private", "here", "public"}),
        ("direct", "project", {"direct"}),
    ],
)
async def test_allowed_scopes_are_those_of_what_may_be_seen(records, asked_in, recall, allowed):
    def play():
        made = places_of_all_kinds()
        numbers = {name: scopes.scope_of(number) for name, number in made.items()}
        said = {
            name: say(number, "needle", 10, messages.get_conversation(number).key)
            for name, number in made.items()
        }
        scene = scene_of(
            made[asked_in],
            recall=recall,
            project_channels=("slack:C1", "slack:C2", "slack:C3"),
        )
        assert numbers["here"] == numbers["beside"]
        assert set(scopes.allowed_scopes(scene)) == {numbers[name] for name in allowed}
        # Every message that may be seen is in an allowed scope, and fetched; no other is.
        seen = {name for name, number in made.items() if scope.may_see(scene, number)}
        assert {numbers[name] for name in seen} <= set(scopes.allowed_scopes(scene))
        assert {one.message.id for one in fetch(scene, said.values())} == {said[n] for n in seen}
        assert {one.message.id for one in search(scene, "needle", 20)} == {said[n] for n in seen}
        if recall == "conversation":
            assert seen == {asked_in}

    await records.do(play)


async def test_scopes_are_resolved_at_that_moment(records):
    def play():
        made = places_of_all_kinds()
        there = scopes.scope_of(made["public"])
        scene = scene_of(made["here"], project_channels=("*",))
        assert there in scopes.allowed_scopes(scene)
        places.set_public(ConversationKey("slack", "T", "C2", ""), public=False)
        assert there not in scopes.allowed_scopes(scene)
        assert there not in scopes.allowed_scopes(scene_of(made["here"], asker_trusted=False))
        places.set_apart(KEY)
        assert scopes.scope_of(made["here"]) != scopes.scope_of(made["beside"])

    await records.do(play)


async def test_fetch_keeps_the_order_and_leaves_out_what_search_would(records):
    def play():
        here = thread()
        one, two, three, four = (say(here, f"word {n}", n) for n in range(1, 5))
        messages.remove(KEY, "2", 9.0)
        scene = scene_of(here, shown=frozenset({three}), prompt_message_id=four)
        five = say(here, "word 5", 5)
        found = fetch(scene, [five, 999, four, three, two, one, five])
        return [hit.message.id for hit in found], [five, one]

    found, wanted = await records.do(play)
    assert found == wanted


async def test_a_pasted_log_is_asked_for_what_tells_most(records):
    def play():
        here, old = thread(), thread(ConversationKey("slack", "T", "C1", "2"))
        for n in range(30):
            say(old, f"the worker says ok at step{n}", n, ConversationKey("slack", "T", "C1", "2"))
        key = ConversationKey("slack", "T", "C1", "2")
        number = say(old, "PoolExhausted means that checkout_service holds them", 50, key)
        log = " ".join(f"worker {n:08x} says ok" for n in range(700))
        return number, search(scene_of(here), f"{log} PoolExhausted {log}", 5)

    number, found = await records.do(play)
    assert found[0].message.id == number


async def test_a_word_that_is_everywhere_does_not_count_beside_a_rare_one(records, monkeypatch):
    monkeypatch.setattr(searching, "SMALL_ROWS", 2)

    def play():
        here = thread()
        for n in range(12):
            say(here, f"deploy {n}", n)
        rare = say(here, "the ferret", 50)
        scene = scene_of(thread(ConversationKey("slack", "T", "C1", "2")))
        return rare, search(scene, "deploy ferret", 20), search(scene, "deploy", 20)

    rare, both, common = await records.do(play)
    assert [one.message.id for one in both] == [rare]
    assert len(common) == 13  # the ferret was spoken of right after it


def test_a_channel_has_its_own_recall(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text(
        '[memory]\nrecall = "channel"\n[channels."slack:C9"]\nrecall = "conversation"\n'
    )
    path.chmod(0o600)
    configured = load_settings(path)
    assert recall_of(configured, KEY) == "channel"
    assert recall_of(configured, ConversationKey("slack", "T", "C9", "1")) == "conversation"
    assert recall_of(load_settings(), KEY) == "project"
