"""Turns: questions that wait, are worked on, or are over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from peewee import SQL

from core.model import (
    ConversationKey,
    Forecast,
    Participant,
    Permission,
    TableRules,
    Turn,
    TurnKind,
    TurnState,
)
from core.records import waiting_notice
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, MessageRow, RequestRow, RunRow, TurnRow

_WAITING = ("queued", "running", "held", "parked")
_ASKED_LATER = ("queued", "held", "failed", "cancelled")  # failed and stopped ones by Retry
_NOT_RUNNING = (*_ASKED_LATER, "done")


def queue_turn(
    conversation_id: int,
    *,
    kind: TurnKind,
    prompt: str,
    prompt_message_id: int,
    asker: str,
    asker_key: str,
    seats: Sequence[Participant],
    rounds: int,
    mode: str,
    now: float,
    rules: TableRules = TableRules(),  # noqa: B008 - frozen
    asker_trusted: bool = False,
    budget_chars: int = 0,
    permission: Permission | None = None,
    by_bot: bool = False,
    about: int = 0,
) -> int:
    """Queue a question; returns the turn's id."""
    row = TurnRow.create(
        conversation=conversation_id,
        kind=kind,
        prompt=prompt,
        prompt_message=prompt_message_id,
        asker=asker,
        asker_key=asker_key,
        seats=dump_seats(seats),
        rounds=rounds,
        mode=mode,
        rules=dump_rules(rules),
        asker_trusted=asker_trusted,
        budget_chars=budget_chars,
        permission=permission or "",
        by_bot=by_bot,
        about=about,
        queued_at=now,
    )
    MessageRow.change(prompt_message_id, turn=row.id)
    return row.id


_turn = Prepared(TurnRow, lambda turn: TurnRow.select().where(TurnRow.id == turn))


def get_turn(turn_id: int) -> Turn | None:
    """The turn with this id."""
    row = _turn.first(turn=turn_id)
    return to_turn(row) if row else None


def end_turn(turn_id: int, state: TurnState, error: str, now: float) -> bool:
    """End a turn that waits, is held or runs; False when it was over already."""
    changed = (
        TurnRow.update(state=state, error=error, ended_at=now)
        .where((TurnRow.id == turn_id) & TurnRow.state.in_(_WAITING))
        .execute()
    )
    _forget_deleted.run(turn=turn_id)
    _renew_edited.run(turn=turn_id)
    if changed:
        waiting_notice.hide(turn_id, now)
    return bool(changed)


_forget_deleted = Prepared(  # a question that was deleted while it was worked on
    TurnRow,
    lambda turn: TurnRow.update(prompt="").where(
        (TurnRow.id == turn)
        & SQL(
            '"prompt_message" IN (SELECT "id" FROM "message"'
            ' WHERE "id" = "turn"."prompt_message" AND "deleted_at" IS NOT NULL)'
        )
    ),
)

_renew_edited = Prepared(  # one that was edited meanwhile: nothing keeps the words that were
    TurnRow,
    lambda turn: TurnRow.update(
        prompt=SQL('(SELECT "text" FROM "message" WHERE "id" = "turn"."prompt_message")')
    ).where(
        (TurnRow.id == turn)
        & SQL(
            '"prompt_message" IN (SELECT "id" FROM "message"'
            ' WHERE "id" = "turn"."prompt_message" AND "edited_at" > "turn"."started_at")'
        )
    ),
)


def set_header(turn_id: int, outbox_id: int) -> None:
    """Remember which post is a roundtable's header."""
    TurnRow.update(header=outbox_id).where(TurnRow.id == turn_id).execute()


def set_forecast(turn_id: int, forecast: Forecast, *, hold: bool) -> bool:
    """Note what a running roundtable may send; ``hold`` it for a person's word, if it still runs.

    Returns whether it was running.
    """
    values = {"forecast": json.dumps(asdict(forecast))} | ({"state": "held"} if hold else {})
    changed = (
        TurnRow.update(**values)
        .where((TurnRow.id == turn_id) & (TurnRow.state == "running"))
        .execute()
    )
    return bool(changed)


def confirm(turn: Turn) -> bool:
    """A person lets a held roundtable go on; False when it is not held any more."""
    rules = replace(turn.rules, confirmed=True)
    changed = (
        TurnRow.update(state="queued", rules=dump_rules(rules))
        .where((TurnRow.id == turn.id) & (TurnRow.state == "held"))
        .execute()
    )
    return bool(changed)


def over_untold() -> tuple[Turn, ...]:
    """Turns that are over while words of theirs are still kept back: a crash came between."""
    rows = (
        TurnRow.select()
        .where(
            TurnRow.state.in_(("done", "failed", "cancelled"))
            & TurnRow.id.in_(RunRow.select(RunRow.turn).where(RunRow.told == 0))
        )
        .order_by(TurnRow.id)
    )
    return tuple(to_turn(row) for row in rows)


def set_synthesis_link(turn_id: int, link: str) -> None:
    """The synthesis was posted, at this address."""
    TurnRow.change(turn_id, synthesis_link=link)


def set_spent(turn_id: int, why: str) -> None:
    """A budget ends a roundtable's rounds; what it says first stays."""
    rules = load_rules(TurnRow.get_by_id(turn_id).rules)
    if not rules.spent:
        TurnRow.change(turn_id, rules=dump_rules(replace(rules, spent=why)))


def requeue_running() -> tuple[int, ...]:
    """After a crash: what ran goes back to the queue, in its old place. Returns the turns' ids.

    What waited for people is parked until they have decided (``unpark``).
    """
    TurnRow.update(state="parked").where(
        (TurnRow.state == "running") & TurnRow.id.in_(_asking())
    ).execute()
    rows = [row.id for row in TurnRow.select(TurnRow.id).where(TurnRow.state == "running")]
    TurnRow.update(state="queued").where(TurnRow.id.in_(rows)).execute()
    return tuple(rows)


def unpark(turn_id: int) -> bool:
    """A parked turn that waits for nobody any more goes on, in its old place; whether it does."""
    changed = (
        TurnRow.update(state="queued")
        .where((TurnRow.id == turn_id) & (TurnRow.state == "parked") & TurnRow.id.not_in(_asking()))
        .execute()
    )
    return bool(changed)


def _asking() -> Any:
    """Turns that wait for people."""
    waits = RequestRow.select(RequestRow.run).where(RequestRow.state == "waiting")
    return RunRow.select(RunRow.turn).where(RunRow.id.in_(waits))


_waiting = Prepared(
    TurnRow,
    lambda conversation: (
        TurnRow.select()
        .where((TurnRow.conversation == conversation) & TurnRow.state.in_(_WAITING))
        .order_by(TurnRow.id)
    ),
)


def waiting(conversation_id: int) -> tuple[Turn, ...]:
    """Turns of a conversation that run, wait or are held, in order."""
    return tuple(to_turn(row) for row in _waiting.rows(conversation=conversation_id))


def waiting_in_channel(chat: str, space: str, channel: str) -> tuple[Turn, ...]:
    """Turns that run, wait or are held in a channel, in order; none of its private threads."""
    rows = (
        TurnRow.select()
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == chat)
            & (ConversationRow.space == space)
            & (ConversationRow.channel == channel)
            & ~ConversationRow.apart
            & TurnRow.state.in_(_WAITING)
        )
        .order_by(TurnRow.id)
    )
    return tuple(to_turn(row) for row in rows)


def latest(conversation_id: int) -> Turn | None:
    """The newest turn of a conversation."""
    row = (
        TurnRow.select()
        .where(TurnRow.conversation == conversation_id)
        .order_by(TurnRow.id.desc())
        .first()
    )
    return to_turn(row) if row else None


def of_prompt(message_id: int) -> Turn | None:
    """The turn that answers this message, if it is one: the newest, when it was asked again."""
    row = (
        TurnRow.select()
        .where(TurnRow.prompt_message == message_id)
        .order_by(TurnRow.id.desc())
        .first()
    )
    return to_turn(row) if row else None


def change_prompt(message_id: int, prompt: str) -> bool:
    """An edit of a question changes it; False: it is worked on already."""
    changed = (
        TurnRow.update(prompt=prompt)
        .where((TurnRow.prompt_message == message_id) & TurnRow.state.in_(_NOT_RUNNING))
        .execute()
    )
    return bool(changed)


def change_table(
    turn_id: int,
    *,
    prompt: str,
    seats: Sequence[Participant],
    rounds: int,
    rules: TableRules,
    mode: str,
) -> bool:
    """Set anew a roundtable that waits, or is held, and has not begun; False: too late.

    What it may send is to be reckoned again, so one that was held goes back to the queue.
    """
    changed = (
        TurnRow.update(
            prompt=prompt,
            seats=dump_seats(seats),
            rounds=rounds,
            rules=dump_rules(rules),
            mode=mode,
            forecast="",
            state="queued",
        )
        .where(
            (TurnRow.id == turn_id)
            & TurnRow.state.in_(("queued", "held"))
            & TurnRow.id.not_in(RunRow.select(RunRow.turn))
        )
        .execute()
    )
    return bool(changed)


def limit(turn_id: int, permission: Permission | None) -> None:
    """What a question that waits, or may be asked again, may lead to, as it reads now."""
    TurnRow.update(permission=permission or "").where(
        (TurnRow.id == turn_id) & TurnRow.state.in_(_ASKED_LATER)
    ).execute()


def withdraw_prompt(message_id: int, now: float) -> tuple[Turn, ...]:
    """The question was deleted in chat: nothing of it is kept, and a waiting turn is over.

    A turn that runs keeps going on what it was told; its row forgets the question in the end.
    Returns all turns of this question, without it.
    """
    asked = TurnRow.prompt_message == message_id
    TurnRow.update(state="cancelled", error="the question was deleted", ended_at=now).where(
        asked & TurnRow.state.in_(("queued", "held", "parked"))
    ).execute()
    TurnRow.update(prompt="").where(asked & (TurnRow.state != "running")).execute()
    rows = list(TurnRow.select().where(asked).order_by(TurnRow.id))
    for row in rows:
        if row.state == "cancelled":
            waiting_notice.hide(row.id, now)
    return tuple(replace(to_turn(row), prompt="") for row in rows)


def started_at(turn_id: int) -> float | None:
    """When the turn was last taken up."""
    return TurnRow.get_by_id(turn_id).started_at


def dump_seats(seats: Sequence[Participant]) -> str:
    """Seats as they are stored."""
    return json.dumps([[s.engine, s.persona, s.model] for s in seats])


def dump_rules(rules: TableRules) -> str:
    """A roundtable's rules as they are stored."""
    return json.dumps(asdict(rules))


def load_rules(stored: str) -> TableRules:
    """A roundtable's rules as they were stored."""
    values = json.loads(stored)
    who = values.pop("synthesizer", None)
    return TableRules(**values, synthesizer=Participant(**who) if who else None)


def to_turn(row: TurnRow) -> Turn:
    """A row as a value."""
    kind = cast("TurnKind", row.kind)
    state = cast("TurnState", row.state)
    return Turn(
        id=row.id,
        conversation_id=row.conversation_id,
        kind=kind,
        prompt=row.prompt,
        prompt_message_id=row.prompt_message,
        asker=row.asker,
        seats=tuple(Participant(*seat) for seat in json.loads(row.seats)),
        rounds=row.rounds,
        state=state,
        mode=row.mode,
        queued_at=row.queued_at,
        header=row.header,
        synthesis_link=row.synthesis_link,
        rules=load_rules(row.rules),
        asker_key=row.asker_key,
        asker_trusted=row.asker_trusted,
        budget_chars=row.budget_chars,
        forecast=_load_forecast(row.forecast),
        permission=cast("Permission", row.permission) if row.permission else None,
        by_bot=row.by_bot,
        about=row.about,
    )


def _load_forecast(stored: str) -> Forecast | None:
    if not stored:
        return None
    values = json.loads(stored)
    return Forecast(**values | {"unpriced": tuple(values["unpriced"])})


def states_in(key: ConversationKey) -> tuple[str, ...]:
    """The states of all turns of a thread, in order; none when Moot does not know the thread."""
    rows = (
        TurnRow.select(TurnRow.state)
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == key.chat)
            & (ConversationRow.space == key.space)
            & (ConversationRow.channel == key.channel)
            & (ConversationRow.root == key.root)
        )
        .order_by(TurnRow.id)
    )
    return tuple(row.state for row in rows)
