"""Turns, their runs, what agents pulled, and what engine sessions know."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import (
    SQL,
    AutoField,
    BooleanField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from core.records.tables.base import Table
from core.records.tables.chat import ConversationRow


class TurnRow(Table):
    """One question put to a table. At most one per conversation runs: the database sees to it."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="turns")
    kind = TextField()
    prompt = TextField()
    prompt_message = IntegerField()
    # The message that the question is about, of the same conversation (0: none in particular).
    about = IntegerField(default=0, constraints=[SQL("DEFAULT 0")])
    asker = TextField()
    asker_key = TextField()
    seats = TextField()  # JSON: [[engine, persona, model], ...]
    rounds = IntegerField()
    mode = TextField(default="")
    budget_chars = IntegerField(default=0)  # asked for this question (0: as the settings say)
    rules = TextField(default="{}")  # JSON of core.model.TableRules
    asker_trusted = BooleanField(default=False)  # a member, not a guest: core.model.Author
    permission = TextField(default="")  # what its agents may do at most ("" = as the project says)
    by_bot = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])  # another bot asks
    state = TextField(default="queued")
    error = TextField(default="")
    forecast = TextField(default="")  # JSON of core.model.Forecast ("" = not reckoned)
    synthesis_link = TextField(default="")  # where the synthesis stands, once it is posted
    header = IntegerField(null=True)  # outbox id of a roundtable's header message
    waiting = IntegerField(null=True)  # outbox id of the notice that says how long it has to wait
    queued_at = FloatField()
    started_at = FloatField(null=True)
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "turn"


TurnRow.add_index(
    TurnRow.index(
        TurnRow.conversation, unique=True, where=(TurnRow.state == "running"), name="turn_running"
    )
)
TurnRow.add_index(TurnRow.index(TurnRow.state, TurnRow.id, name="turn_by_state"))
TurnRow.add_index(TurnRow.index(TurnRow.prompt_message, name="turn_of_prompt"))
# How much a person asked lately (core.records.often).
TurnRow.add_index(TurnRow.index(TurnRow.asker_key, TurnRow.queued_at, name="turn_of_asker"))


class RunRow(Table):
    """One process for one step. The row exists before the process does."""

    id = TextField(primary_key=True)
    turn_id: int
    turn = ForeignKeyField(TurnRow, backref="runs")
    round = IntegerField()
    seat = IntegerField()
    hop = IntegerField()
    attempt = IntegerField(default=1)
    state = TextField(default="open")
    can_write = BooleanField(default=False)
    permission = TextField(default="")
    engine = TextField()
    persona = TextField(default="")
    session = TextField(default="")
    pid = IntegerField(null=True)
    pid_started = FloatField(null=True)
    answer = TextField(default="")
    error = TextField(default="")
    outcome = TextField(default="")
    usage = TextField(default="{}")
    receipt = TextField(default="{}")
    chars = IntegerField(default=0)  # characters sent, what in-run Pulls brought included
    position = TextField(default="")  # JSON of core.blocks.Position, as the answer ended with
    faults = TextField(default="[]")  # JSON: blocks that did not parse, told back once
    read_to = IntegerField(default=0)  # id of the newest message that it was shown
    told = BooleanField(default=True)  # False: its words wait until the round is over
    message = IntegerField(default=0)  # id of the message that holds its words (0: none)
    status = IntegerField(null=True)  # outbox id of the status message
    opened_at = FloatField()
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "run"
        indexes: ClassVar[Any] = ((("turn", "round", "seat", "hop", "attempt"), True),)


RunRow.add_index(RunRow.index(RunRow.engine, RunRow.opened_at, name="run_by_engine"))


class PullRow(Table):
    """What an agent asked for, and how much was found (filled in when it is answered).

    ``in_run`` ones were answered while the run worked, by ``chars`` characters.
    """

    id = AutoField()
    run = ForeignKeyField(RunRow, backref="pulls")
    kind = TextField()
    query = TextField()
    hits = IntegerField(null=True)
    in_run = BooleanField(default=False)
    note = TextField(default="")  # why nothing was found, in words of ours
    chars = IntegerField(default=0)
    again = BooleanField(default=False)  # asked before: what was found then was told once more

    class Meta:
        table_name = "pull"


class EngineSessionRow(Table):
    """A session of an engine, as one participant's in one conversation, and what it was told.

    The row exists before the process does; ``session`` is "" until the engine has told its id. A
    session belongs to a folder and a permission too: another one of these is another session.
    """

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="sessions")
    engine = TextField()
    persona = TextField(default="")
    model = TextField(default="")
    cwd = TextField()
    permission = TextField()
    session = TextField(default="")
    parent = TextField(default="")  # the id it had before, or that of the session before it
    state = TextField(default="live")  # live | ended
    why = TextField(default="")  # why it ended, in a word
    known = TextField(default="{}")  # core.context.delta.Known
    drew = BooleanField(
        default=False
    )  # it was told, or perhaps told, what other conversations hold
    wide = BooleanField(default=False)  # and a member asked: what a guest may not be told
    failures = IntegerField(default=0)  # runs in a row that broke without an answer
    cost_usd = FloatField(default=0.0)  # of the session so far, where the engine tells only that
    origin = TextField(default="")  # "terminal": begun outside of Moot, and continued here
    opened_at = FloatField()
    used_at = FloatField()

    class Meta:
        table_name = "engine_session"


EngineSessionRow.add_index(
    EngineSessionRow.index(
        EngineSessionRow.conversation,
        EngineSessionRow.engine,
        where=(EngineSessionRow.state == "live"),
        name="engine_session_live",
    )
)
