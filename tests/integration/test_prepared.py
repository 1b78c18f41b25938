"""Statements built once do what peewee's own do."""

import json

import pytest
from peewee import DoesNotExist

from core.model import ConversationKey, Participant
from core.records import filing, messages, outbox, queue, runs, scope, search, turns
from core.records.prepared import Prepared, meta_of
from core.records.tables import ConversationRow, OutboxRow, TurnRow


def conversation(root="1"):
    key = ConversationKey("slack", "T", "C", root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0)


async def test_a_statement_is_built_once_and_values_stay_values(records):
    built = []

    def by_root(root):
        built.append(root)
        return ConversationRow.select().where(ConversationRow.root == root)

    query = Prepared(ConversationRow, by_root)

    def ask():
        for root in ("a", "b", '"; DROP TABLE conversation; --'):
            conversation(root)
        found = [query.first(root=r).root for r in ("a", "b", '"; DROP TABLE conversation; --')]
        return found, query.first(root="c"), query.rows(root="a")

    found, none, [row] = await records.do(ask)
    assert found == ["a", "b", '"; DROP TABLE conversation; --']
    assert none is None
    assert (row.direct, row.caught_up, row.created_at) == (False, True, 1.0)
    assert len(built) == 1


async def test_constants_and_values_keep_their_places(records):
    query = Prepared(
        OutboxRow,
        lambda text, kind: OutboxRow.update(state="sent", text=text).where(
            (OutboxRow.state == "due") & (OutboxRow.kind == kind) & (OutboxRow.attempts < 3)
        ),
    )

    def ask():
        conversation()
        for kind in ("answer", "notice"):
            outbox.add_post(1, kind, ["old"], now=1.0)
        changed = query.run(text="new", kind="notice")
        rows = OutboxRow.select().order_by(OutboxRow.id)
        return changed, [(row.kind, row.state, row.text) for row in rows]

    assert await records.do(ask) == (1, [("answer", "due", "old"), ("notice", "sent", "new")])


async def test_rows_by_key_are_as_peewee_makes_them(records):
    def ask():
        found = conversation()
        made = TurnRow.create(
            conversation=found.id,
            kind="ask",
            prompt="q",
            prompt_message=7,
            asker="Kim",
            asker_key="slack:U1",
            seats="[]",
            rounds=1,
            queued_at=2.0,
        )
        peewees = TurnRow.get(TurnRow.id == made.id)
        ours = TurnRow.get_by_id(made.id)
        assert peewees.__data__ == ours.__data__
        assert (ours.conversation_id, ours.conversation.root) == (found.id, "1")
        assert made.__data__.items() <= peewees.__data__.items()
        assert (peewees.state, peewees.header) == ("queued", None)
        assert TurnRow.change(made.id, state="running", header=None) == 1
        assert TurnRow.change(made.id + 1, state="running") == 0
        assert TurnRow.get_by_id(made.id).state == "running"
        with pytest.raises(DoesNotExist):
            TurnRow.get_by_id(made.id + 1)

    await records.do(ask)


async def test_conversations_that_are_still_busy_are_left_out(records):
    def fill():
        for root in ("1", "2", "3"):
            turns.queue_turn(
                conversation(root).id,
                kind="ask",
                prompt=root,
                prompt_message_id=0,
                asker="Kim",
                asker_key="slack:U1",
                seats=[Participant("claude")],
                rounds=1,
                mode="",
                now=1.0,
            )
        return [turn.prompt for turn in queue.heads((1, 3))]

    assert await records.do(fill) == ["2"]


async def test_posts_are_taken_together_but_for_busy_conversations(records):
    def fill():
        for root in ("1", "2", "3"):
            outbox.add_post(conversation(root).id, "answer", [root, "more"], now=1.0)
        taken, when = outbox.take_due({2}, 5.0)
        assert [item.text for item in taken] == ["1", "3"]
        assert when is None
        first, when = outbox.take_due((), 6.0, limit=1)
        assert ([item.text for item in first], when) == (["1"], 6.0)

    await records.do(fill)


async def test_no_statement_reads_a_whole_table(records):
    def plans():
        for module in (filing, messages, outbox, runs, search, turns):
            for name, query in vars(module).items():
                if isinstance(query, Prepared):
                    yield name, explain(query)
        shapes = [scope.Shape(a, b) for a in (False, True) for b in (False, True)]
        for query in (scope._seen, search._listed, search._listed_new):
            for shape in shapes:
                yield f"{query.__name__} {shape}", explain(query(shape))

    def explain(query):
        sql, params = query._statement
        values = ["[]" if "json_each" in sql else 1 for _ in params]
        asked = meta_of(query._row).database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values)
        return [row[3] for row in asked.fetchall()]

    found = await records.do(lambda: dict(plans()))
    assert len(found) > 10
    # An index that holds closed conversations only is read whole: mostly there are none.
    virtual = ("message_fts", "json_each", "CONSTANT ROW", "INDEX conversation_closed")
    scans = {
        name: plan
        for name, plan in found.items()
        if any("SCAN" in step and not any(v in step for v in virtual) for step in plan)
    }
    assert scans == {}
    assert "message_platform" in json.dumps(found["_same_message"])
