"""The audit log: who did what where, and what was refused.

Every function is part of its caller's transaction, so that an act and its line are there together.

Lines hold names and numbers, never what was said. Of a person who is forgotten the name goes, and
the key becomes a hash with a secret of this database: lines of one person still belong together,
and only whoever knows an id and holds the database can tell whose they are.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from core.records.prepared import Prepared
from core.records.tables import DeedRow, MetaRow

TOGETHER_S = 3_600.0
"""A refusal that repeats one of the last hour adds to its line."""
ERASED = "erased:"
_SECRET = "audit-secret"  # noqa: S105 - the name of a row


@dataclass(frozen=True, slots=True)
class Deed:
    """One line. ``person`` is ``chat:id``; ``target`` such as ``turn 12``; times are UTC seconds.

    ``count``: how often, from ``at`` to ``last_at``; acts that were done stand one by one.
    """

    at: float
    person: str
    verb: str
    name: str = ""
    role: str = ""
    outcome: str = "done"
    via: str = ""
    target: str = ""
    chat: str = ""
    space: str = ""
    channel: str = ""
    conversation: int = 0
    last_at: float = 0.0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines are wanted; what is empty or 0 does not count."""

    person: str = ""
    verb: str = ""
    outcome: str = ""
    chat: str = ""
    space: str = ""
    channels: tuple[str, ...] = ()
    since: float = 0.0


_same = Prepared(
    DeedRow,
    lambda person, since, verb, outcome, chat, channel, conversation: (
        DeedRow.select()
        .where(
            (DeedRow.person == person)
            & (DeedRow.outcome == outcome)
            & (DeedRow.last_at > since)
            & (DeedRow.verb == verb)
            & (DeedRow.chat == chat)
            & (DeedRow.channel == channel)
            & (DeedRow.conversation == conversation)
        )
        .order_by(DeedRow.last_at.desc())
        .limit(1)
    ),
)
_same_in_channel = Prepared(
    DeedRow,
    lambda person, since, verb, outcome, chat, channel: (
        DeedRow.select()
        .where(
            (DeedRow.person == person)
            & (DeedRow.outcome == outcome)
            & (DeedRow.last_at > since)
            & (DeedRow.verb == verb)
            & (DeedRow.chat == chat)
            & (DeedRow.channel == channel)
        )
        .order_by(DeedRow.last_at.desc())
        .limit(1)
    ),
)


def write(deed: Deed) -> None:
    """Write one line."""
    DeedRow.create(
        at=deed.at,
        last_at=deed.at,
        person=deed.person,
        name=deed.name,
        role=deed.role,
        verb=deed.verb,
        outcome=deed.outcome,
        via=deed.via,
        target=deed.target,
        chat=deed.chat,
        space=deed.space,
        channel=deed.channel,
        conversation=deed.conversation,
    )


def refuse(deed: Deed, within_s: float = TOGETHER_S, *, in_channel: bool = False) -> bool:
    """Write that something was refused; whether it is the first time in this span there.

    The span begins with the first refusal: whoever goes on trying is told once more after it.
    ``in_channel``: what was refused in other threads of the channel counts as well.
    """
    sought = {
        "person": deed.person,
        "since": deed.at - TOGETHER_S,
        "verb": deed.verb,
        "outcome": deed.outcome,
        "chat": deed.chat,
        "channel": deed.channel,
    }
    same = (
        _same_in_channel.first(**sought)
        if in_channel
        else _same.first(**sought, conversation=deed.conversation)
    )
    if same is None or same.at <= deed.at - within_s:
        write(deed)
        return True
    DeedRow.change(same.id, count=same.count + 1, last_at=deed.at)
    return False


def find(wanted: Wanted, limit: int = 50) -> tuple[Deed, ...]:
    """The newest lines that are wanted, newest first."""
    query = DeedRow.select().order_by(DeedRow.last_at.desc(), DeedRow.id.desc()).limit(limit)
    asked = {
        DeedRow.person: wanted.person,
        DeedRow.verb: wanted.verb,
        DeedRow.outcome: wanted.outcome,
        DeedRow.chat: wanted.chat,
        DeedRow.space: wanted.space,
    }
    for column, value in asked.items():
        if value:
            query = query.where(column == value)
    if wanted.channels:
        query = query.where(DeedRow.channel.in_(wanted.channels))
    if wanted.since:
        query = query.where(DeedRow.last_at >= wanted.since)
    return tuple(_deed(row) for row in query)


def _deed(row: DeedRow) -> Deed:
    return Deed(
        at=row.at,
        person=row.person,
        verb=row.verb,
        name=row.name,
        role=row.role,
        outcome=row.outcome,
        via=row.via,
        target=row.target,
        chat=row.chat,
        space=row.space,
        channel=row.channel,
        conversation=row.conversation,
        last_at=row.last_at,
        count=row.count,
    )


def forget_by(person: str) -> None:
    """A person (``chat:id``) is forgotten: their lines stay, without saying whose they are."""
    hidden = hidden_key(person)
    DeedRow.update(person=hidden, name="").where(DeedRow.person == person).execute()
    DeedRow.update(target=f"person {hidden}").where(DeedRow.target == f"person {person}").execute()


def hidden_key(person: str) -> str:
    """What stands in place of a forgotten person's key."""
    made = hmac.new(_secret(), person.encode(), hashlib.sha256).hexdigest()
    return f"{ERASED}{made[:16]}"


def _secret() -> bytes:
    MetaRow.insert(name=_SECRET, value=secrets.token_hex(32)).on_conflict_ignore().execute()
    return bytes.fromhex(MetaRow.get_by_id(_SECRET).value)


def prune(before: float, most: int = 500) -> int:
    """Delete some of the lines that are older; how many those were."""
    old: Sequence[int] = [
        row.id for row in DeedRow.select(DeedRow.id).where(DeedRow.last_at < before).limit(most)
    ]
    return DeedRow.delete().where(DeedRow.id.in_(old)).execute() if old else 0
