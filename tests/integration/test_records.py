"""Records on a real SQLite file: laws of the database, search, and the outbox's order."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from core.errors import BadSettings
from core.model import (
    Author,
    Button,
    ChatEvent,
    ConversationKey,
    Outcome,
    Participant,
    Pull,
    Said,
    Step,
)
from core.records import changes, history, messages, outbox, runs, turns
from core.records.search import search
from core.records.tables import MetaRow
from core.records.thread import Records
from tests.integration.scenes import claim_oldest, scene_of

KEY = ConversationKey("slack", "T", "C", "1")


def conversation(key=KEY, **more):
    return messages.open_conversation(
        key, **{"direct": False, "in_thread": False, "now": 1.0} | more
    )


def heard(text, at="1"):
    event = ChatEvent(KEY, f"e{at}", at, Author("U1", "Kim"), text, "message", float(at))
    return messages.add_event(1, event, addressed=True)


def queue(conversation_id=1, prompt="q"):
    return turns.queue_turn(
        conversation_id,
        kind="ask",
        prompt=prompt,
        prompt_message_id=0,
        asker="Kim",
        asker_key="slack:U1",
        seats=[Participant("claude")],
        rounds=1,
        mode="",
        now=1.0,
    )


async def test_one_turn_at_a_time_per_conversation_in_order(records):
    def fill():
        conversation()
        conversation(ConversationKey("slack", "T", "C", "2"))
        return [queue(1, "a"), queue(1, "b"), queue(2, "c")]

    await records.do(fill)
    first = await records.do(claim_oldest, (), 1.0)
    second = await records.do(claim_oldest, (), 1.0)
    assert [first.prompt, second.prompt] == ["a", "c"]
    assert await records.do(claim_oldest, (), 1.0) is None
    await records.do(turns.end_turn, first.id, "done", "", 2.0)
    assert await records.do(claim_oldest, (1,), 2.0) is None  # its process is still being ended
    assert (await records.do(claim_oldest, (), 2.0)).prompt == "b"


async def test_the_index_is_the_law_not_the_code(records):
    await records.do(conversation)
    await records.do(queue)
    await records.do(queue)
    with pytest.raises(Exception, match="UNIQUE"):
        await records.do(lambda: turns.TurnRow.update(state="running").execute())


async def test_a_failed_transaction_leaves_nothing(records):
    def broken():
        conversation()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await records.do(broken)
    assert await records.do(messages.find_conversation, KEY) is None


@pytest.mark.parametrize(
    "query",
    ["", "\"'()*", "@@ -- ## !!", "a AND OR NOT NEAR(", "😀", "x" * 10_000, "src/a-b.py:12"],
)
async def test_search_takes_any_input(records, query):
    await records.do(conversation)
    await records.do(heard, "about src/a-b.py:12 and more")
    await records.do(lambda: search(scene_of(1), query, 5))


async def test_search_finds_korean_inside_words_and_stays_in_its_conversation(records):
    await records.do(conversation)
    await records.do(conversation, ConversationKey("slack", "T", "C2", "9"))
    await records.do(heard, "인증을 JWT로 하기로 했다", "1")
    found = await records.do(lambda: search(scene_of(1), "인증 방식", 5))
    assert [one.message.text for one in found] == ["인증을 JWT로 하기로 했다"]
    assert await records.do(lambda: search(scene_of(2), "인증", 5)) == ()


async def test_history_does_not_repeat_what_was_heard(records):
    await records.do(conversation)
    await records.do(heard, "mine", "5")
    said = [
        Said("4", Author("B", "ci", "bot"), "build failed", 4.0),
        Said("5", Author("U1", "Kim"), "mine", 5.0),
    ]
    await records.do(history.add_history, 1, "slack", said)
    await records.do(history.add_history, 1, "slack", said)
    assert [m.text for m in await records.do(messages.recent, 1, 10)] == ["build failed", "mine"]


async def test_history_brings_nothing_that_was_deleted_while_it_was_read(records):
    await records.do(conversation)
    here = (await records.do(messages.get_conversation, 1)).key
    said = [Said("4", Author("U1", "Kim"), "the key is x", 4.0)]
    assert await records.do(messages.remove, here, "4", 5.0) is None
    await records.do(changes.note_gone, here, "4", 5.0)
    await records.do(history.add_history, 1, "slack", said)
    assert await records.do(messages.recent, 1, 10) == ()


async def test_outbox_order_and_states(records):
    await records.do(conversation)
    stop = (Button("stop:1", "Stop", "danger"),)
    last = await records.do(outbox.add_post, 1, "answer", ["a", "b"], now=1.0, buttons=stop)
    first = await records.do(outbox.take_next, 1, 2.0)
    assert (first.text, first.buttons, first.tried_at) == ("a", (), None)
    again = await records.do(outbox.take_next, 1, 3.0)
    assert (again.id, again.tried_at, again.attempts) == (first.id, 2.0, 2)
    await records.do(outbox.mark_busy, first.id, 10.0, None)
    assert await records.do(outbox.take_next, 1, 4.0) is None
    assert await records.do(outbox.conversations_due, 4.0) == ((), 10.0)
    await records.do(outbox.mark_sent, first.id, "m1", None, 11.0)
    second = await records.do(outbox.take_next, 1, 12.0)
    assert (second.id, second.buttons) == (last, stop)


async def test_a_post_is_withdrawn_by_what_is_known_of_it(records):
    await records.do(conversation)
    unsent = await records.do(outbox.add_post, 1, "status", ["x"], now=1.0)
    await records.do(outbox.withdraw_post, unsent, now=1.0)
    assert await records.do(outbox.take_next, 1, 2.0) is None
    tried = await records.do(outbox.add_post, 1, "status", ["y"], now=1.0)
    await records.do(outbox.take_next, 1, 2.0)
    await records.do(outbox.withdraw_post, tried, now=2.0)
    again = await records.do(outbox.take_next, 1, 3.0)  # found or sent first, then deleted
    assert (again.op, again.tried_at) == ("post", 2.0)
    await records.do(outbox.mark_sent, tried, "m9", None, 3.0)
    gone = await records.do(outbox.take_next, 1, 4.0)
    assert (gone.op, gone.target_message) == ("delete", "m9")


async def test_an_opening_post_in_doubt_knows_the_other_opening_posts_of_its_channel(records):
    channel = ConversationKey("slack", "T", "C", "")
    for number in (1, 2):
        await records.do(conversation, channel)
        await records.do(outbox.add_post, number, "header", ["same words"], now=1.0)
    first = await records.do(outbox.take_next, 1, 2.0)
    await records.do(outbox.mark_sent, first.id, "m1", "m1", 2.0)
    await records.do(outbox.take_next, 2, 3.0)
    again = await records.do(outbox.take_next, 2, 4.0)
    assert (again.tried_at, again.known_ids) == (3.0, {"m1"})


async def test_a_thread_that_was_spoken_in_before_its_root_was_known_has_two_conversations(records):
    opening = await records.do(conversation, ConversationKey("slack", "T", "C", ""))
    header = await records.do(outbox.add_post, opening.id, "header", ["h"], now=1.0)
    await records.do(outbox.take_next, opening.id, 1.0)
    thread = ConversationKey("slack", "T", "C", "m1")
    spoken = await records.do(conversation, thread, in_thread=True)
    await records.do(outbox.mark_sent, header, "m1", "m1", 2.0)
    assert (await records.do(messages.get_conversation, opening.id)).key == thread
    assert (await records.do(messages.find_conversation, thread)).id == spoken.id


async def test_newer_edits_replace_waiting_ones(records):
    await records.do(conversation)
    header = await records.do(outbox.add_post, 1, "header", ["h"], now=1.0)
    await records.do(outbox.take_next, 1, 1.0)
    await records.do(outbox.mark_sent, header, "m1", None, 1.0)
    for text in ("one", "two", "three"):
        await records.do(outbox.change_post, header, text, now=2.0)
    edit = await records.do(outbox.take_next, 1, 3.0)
    assert (edit.op, edit.text, edit.target_message) == ("edit", "three", "m1")
    await records.do(outbox.mark_sent, edit.id, "", None, 3.0)
    assert await records.do(outbox.take_next, 1, 4.0) is None


async def test_the_first_post_opens_the_thread(records):
    pending = await records.do(conversation, ConversationKey("slack", "T", "C", ""))
    assert not pending.opened
    post = await records.do(outbox.add_post, 1, "header", ["h"], now=1.0)
    await records.do(outbox.mark_sent, post, "77", "77", 1.0)
    found = await records.do(messages.find_conversation, ConversationKey("slack", "T", "C", "77"))
    assert found.id == pending.id


async def test_runs_settle_once_and_count_their_attempts(records):
    await records.do(conversation)
    await records.do(queue)
    turn = await records.do(claim_oldest, (), 1.0)

    def open_(run_id):
        runs.open_run(
            run_id,
            turn,
            Step(0, 0),
            turn.seats[0],
            can_write=False,
            receipt={},
            status=None,
            now=1.0,
        )

    await records.do(open_, "r1")
    assert await records.do(runs.left_open) == (("r1", None, None),)
    await records.do(runs.set_child, "r1", 42, 0.5)
    await records.do(runs.cut_open_run, "r1", 2.0)
    await records.do(open_, "r2")
    answered = Outcome("answered", "text", session="s2")
    settle = lambda: runs.settle_run(  # noqa: E731
        "r2", "answered", answered, answer="text", pulls=[Pull("memory", "jwt")], now=3.0
    )
    assert await records.do(settle)
    assert not await records.do(settle)
    cut, done = await records.do(runs.runs_of, turn.id)
    assert (cut.state, cut.attempt) == ("cut", 1)
    assert (done.state, done.attempt, done.session) == ("answered", 2, "s2")
    assert done.pulls == (Pull("memory", "jwt"),)


async def test_c163_parallel_writers_lose_nothing(records):
    await records.do(conversation)
    await asyncio.gather(*(records.do(heard, f"m{n}", str(n)) for n in range(1, 501)))
    assert await records.do(messages.count, 1) == 500


async def test_a_newer_database_is_refused(tmp_path):
    path = tmp_path / "moot.sqlite"
    first = Records(path)
    await first.open()
    await first.do(lambda: MetaRow.update(value="99").execute())
    await first.close()
    second = Records(path)
    with pytest.raises(BadSettings, match="newer Moot"):
        await second.open()
    await second.close()


async def made_earlier(folder: Path, lost_column: str, table: str = "turn") -> Records:
    """A database with one turn and its run, as a build without that column of ``table`` left it."""
    first = Records(folder / "moot.sqlite")
    await first.open()
    await first.do(conversation)
    await first.do(queue)
    turn = await first.do(claim_oldest, (), 1.0)
    run = {"can_write": False, "receipt": {}, "status": None, "now": 1.0}
    await first.do(lambda: runs.open_run("r1", turn, Step(0, 0), turn.seats[0], **run))
    await first.close()
    with sqlite3.connect(folder / "moot.sqlite") as connection:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {lost_column}")
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
    connection.close()
    return Records(folder / "moot.sqlite")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("turn", "rules", "{}"),
        ("turn", "synthesis_link", ""),
        ("turn", "header", None),
        ("conversation", "caught_up", 1),
        ("run", "faults", "[]"),
    ],
)
async def test_a_database_of_an_earlier_build_gets_the_columns_that_are_new(
    tmp_path, table, column, value
):
    """Also where rows of other tables point into that table, as runs do into their turn."""
    second = await made_earlier(tmp_path, column, table)
    await second.open()
    [turn] = await second.do(turns.waiting, 1)
    assert turn.prompt == "q"
    assert (await second.do(MetaRow.get_by_id, "schema")).value == "2"
    await second.do(queue)
    await second.close()
    with sqlite3.connect(tmp_path / "moot.sqlite") as connection:
        assert connection.execute(f"SELECT {column} FROM {table}").fetchone() == (value,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_a_new_column_of_an_earlier_build_is_there_before_its_index(tmp_path):
    """SQLite takes a quoted name it does not know for a text, and the file is then damaged."""
    path = tmp_path / "moot.sqlite"
    first = Records(path)
    await first.open()
    await first.do(
        messages.open_conversation,
        ConversationKey("paper", "", "C", "1"),
        direct=False,
        in_thread=False,
        now=1.0,
    )
    await first.close()
    with sqlite3.connect(path) as connection:
        for [index] in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%last_message%'"
        ).fetchall():
            connection.execute(f'DROP INDEX "{index}"')
        connection.execute("ALTER TABLE topic DROP COLUMN last_message")
        connection.execute("ALTER TABLE topic DROP COLUMN passes")
        connection.execute(
            "INSERT INTO topic (conversation_id, title, first_message, statements, made_by, "
            "created_at, updated_at) VALUES (1, 't', 1, '[]', 'extract', 1.0, 1.0)"
        )
    connection.close()
    second = Records(path)
    await second.open()
    await second.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT last_message FROM topic").fetchall() == [(0,)]
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT id FROM topic WHERE conversation_id = 1 AND last_message = 0"
        ).fetchone()[3]
        assert "last_message=?" in plan
    connection.close()


async def test_reading_what_an_earlier_build_wrote_says_how_it_is_brought_up_to_date(tmp_path):
    path = tmp_path / "moot.sqlite"
    first = Records(path)
    await first.open()
    await first.close()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE conversation DROP COLUMN shared")
        connection.execute("DROP TABLE vector")
    connection.close()
    with pytest.raises(BadSettings, match="Start `moot run` or `moot try` once"):
        await Records(path, read_only=True).open()
    writer = Records(path)
    await writer.open()
    await writer.close()
    reader = Records(path, read_only=True)
    await reader.open()
    await reader.close()


async def test_a_database_of_an_earlier_build_that_cannot_be_read_is_refused_in_one_line(tmp_path):
    second = await made_earlier(tmp_path, "prompt")
    with pytest.raises(BadSettings, match="table turn lacks prompt"):
        await second.open()
    await second.close()


async def test_reading_beside_a_writer(tmp_path):
    with pytest.raises(BadSettings, match="no database"):
        await Records(tmp_path / "moot.sqlite", read_only=True).open()
    writer = Records(tmp_path / "moot.sqlite")
    await writer.open()
    await writer.close()
    reader = Records(tmp_path / "moot.sqlite", read_only=True)
    await reader.open()
    with pytest.raises(Exception, match="readonly"):
        await reader.do(conversation)
    await reader.close()


async def test_a_folder_that_cannot_be_used_is_a_clear_error(tmp_path):
    (tmp_path / "moot.sqlite").mkdir()
    broken = Records(tmp_path / "moot.sqlite")
    with pytest.raises(BadSettings, match=r"\[storage\] dir"):
        await broken.open()
    await broken.close()


def test_the_file_is_private(tmp_path):
    async def make():
        records = Records(tmp_path / "a" / "moot.sqlite")
        await records.open()
        await records.close()

    asyncio.run(make())
    assert (tmp_path / "a" / "moot.sqlite").stat().st_mode & 0o077 == 0
    with sqlite3.connect(tmp_path / "a" / "moot.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
