"""Which models there are vectors of: one counts, another may be on its way to take its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.records.prepared import meta_of
from core.records.tables import EmbedderRow, VectorRow


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its row; ``state``: building | current | old."""

    id: int
    name: str
    dim: int
    state: str


def every() -> list[Model]:
    """All of them, the oldest first."""
    rows = EmbedderRow.select().order_by(EmbedderRow.id)
    return [Model(row.id, row.name, row.dim, row.state) for row in rows]


def current() -> Model | None:
    """The one whose vectors count."""
    return next((model for model in every() if model.state == "current"), None)


def have(name: str, dim: int) -> Model:
    """The model of this name, as it stands; the first one of all is current at once.

    A model that was given up before its old vectors were gone begins anew.
    """
    found = next((model for model in every() if model.name == name), None)
    if found is not None and found.state == "current":
        return found
    state = "building" if current() else "current"
    if found is None:
        row = EmbedderRow.create(name=name, dim=dim, state=state)
        return Model(row.id, name, dim, state)
    EmbedderRow.change(found.id, state=state)
    return Model(found.id, name, dim, state)


def give_up(keep: str) -> None:
    """No model but the current one and ``keep`` is built any more."""
    EmbedderRow.update(state="old").where(
        (EmbedderRow.state == "building") & (EmbedderRow.name != keep)
    ).execute()


def switch(to: int) -> None:
    """The vectors of ``to`` count from now on; those of the others are old."""
    EmbedderRow.update(state="old").where(EmbedderRow.id != to).execute()
    EmbedderRow.change(to, state="current")


def forget_old(limit: int) -> bool:
    """Delete up to ``limit`` vectors of old models; whether any may be left."""
    for model in every():
        if model.state != "old":
            continue
        gone = _sql(
            "DELETE FROM vector WHERE embedder = ? AND (scope, kind, item) IN "
            "(SELECT scope, kind, item FROM vector WHERE embedder = ? LIMIT ?)",
            [model.id, model.id, limit],
        )
        if gone < limit:
            EmbedderRow.delete().where(EmbedderRow.id == model.id).execute()
        return True
    return False


def _sql(sql: str, params: Sequence[Any]) -> int:
    return meta_of(VectorRow).database.execute_sql(sql, list(params)).rowcount
