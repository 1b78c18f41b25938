"""Statements whose SQL is built once.

Peewee builds the SQL of a query anew each time, which costs several times what SQLite needs to run
it; on the path of every message that is most of what Moot adds to a run (docs/benchmarks.md).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from peewee import (
    SQL,
    AutoField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    Model,
    Query,
    TextField,
    Value,
)

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value goes in."""

    name: str


class Prepared(Generic[Row]):
    """A query of ``row``'s table, written as a function of its values.

    For example::

        _by_state = Prepared(TurnRow, lambda state: TurnRow.select().where(TurnRow.state == state))
        _by_state.rows(state="queued")

    The values reach SQLite as they are given: numbers, strings, booleans, ``None`` where a column
    is set (a comparison with ``None`` is another statement), no lists. ``raw`` gives what ``SQL``
    wants for a value.
    """

    def __init__(self, row: type[Row], build: Callable[..., Query]) -> None:
        self._row = row
        self._build = build

    @cached_property
    def _statement(self) -> tuple[str, tuple[Any, ...]]:
        # Not before the first use: until then the tables belong to no database.
        names = inspect.signature(self._build).parameters
        sql, params = self._build(**{n: Value(Slot(n), converter=False) for n in names}).sql()
        return sql, tuple(params)

    def bound(self, **values: Any) -> tuple[str, list[Any]]:
        """The SQL with its parameters, to be part of another statement."""
        sql, params = self._statement
        return sql, [values[p.name] if isinstance(p, Slot) else p for p in params]

    def rows(self, **values: Any) -> list[Row]:
        """The rows a SELECT finds."""
        return fetch(self._row, *self.bound(**values))

    def first(self, **values: Any) -> Row | None:
        """The first row a SELECT finds, or ``None``."""
        return next(iter(self.rows(**values)), None)

    def tuples(self, **values: Any) -> list[tuple[Any, ...]]:
        """What a SELECT of expressions finds, as SQLite gives it."""
        sql, params = self.bound(**values)
        return meta_of(self._row).database.execute_sql(sql, params).fetchall()

    def value(self, **values: Any) -> Any:
        """The one value a SELECT finds (``COUNT(...)``)."""
        sql, params = self.bound(**values)
        return meta_of(self._row).database.execute_sql(sql, params).fetchone()[0]

    def run(self, **values: Any) -> int:
        """Run an INSERT, UPDATE or DELETE; how many rows it changed."""
        sql, params = self.bound(**values)
        return meta_of(self._row).database.execute_sql(sql, params).rowcount


def fetch(row: type[Row], sql: str, params: Sequence[Any]) -> list[Row]:
    """Run a SELECT of columns of this table; its rows as peewee would make them."""
    cursor = meta_of(row).database.execute_sql(sql, params)
    names, converted = _reading(row, tuple(column[0] for column in cursor.description))
    found: list[Row] = []
    for values in cursor.fetchall():
        made = row(__no_default__=True)
        data = made.__data__ = dict(zip(names, values, strict=True))
        for name, convert in converted:
            data[name] = convert(data[name])
        found.append(made)
    return found


@cache
def _reading(
    row: type[Model], columns: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[tuple[str, Callable[[Any], Any]], ...]]:
    """The fields of these columns, and those whose values SQLite does not give as they are."""
    fields = [meta_of(row).columns[column] for column in columns]
    converted = [field for field in fields if not isinstance(_stored(field), _AS_STORED)]
    return (
        tuple(field.name for field in fields),
        tuple((field.name, field.python_value) for field in converted),
    )


_AS_STORED = (AutoField, IntegerField, FloatField, TextField)


def _stored(field: Any) -> Any:
    """The field whose values a field holds: that of a foreign key is a key of another table."""
    return _stored(field.rel_field) if isinstance(field, ForeignKeyField) else field


def raw(value: Any) -> Any:
    """A value of a prepared query for use in ``SQL("...", [raw(value)])``."""
    return value.value


def each(value: Any) -> SQL:
    """For ``in_`` and ``not_in``: the values of a list that is given as JSON, in a slot or not."""
    given = raw(value) if isinstance(value, Value) else value
    return SQL("(SELECT value FROM json_each(?))", [given])


def meta_of(row: type[Model]) -> Any:
    """What peewee knows of a table; its stubs do not tell."""
    return row._meta  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001


def schema_of(row: type[Model]) -> Any:
    """What makes a table and its indexes; peewee's stubs do not tell."""
    return row._schema  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001


@cache
def insert_sql(row: type[Model], names: tuple[str, ...]) -> str:
    """An INSERT of these fields."""
    columns = ", ".join(_column(row, name) for name in names)
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {_table(row)} ({columns}) VALUES ({marks})"  # noqa: S608 - names of ours


@cache
def update_sql(row: type[Model], names: tuple[str, ...]) -> str:
    """An UPDATE of these fields, by the table's key."""
    columns = ", ".join(f"{_column(row, name)} = ?" for name in names)
    return f"UPDATE {_table(row)} SET {columns} WHERE {_key(row)} = ?"  # noqa: S608 - names of ours


@cache
def select_sql(row: type[Model]) -> str:
    """A SELECT of one row, by the table's key."""
    return f"SELECT * FROM {_table(row)} WHERE {_key(row)} = ?"  # noqa: S608 - names of ours


def _column(row: type[Model], name: str) -> str:
    return f'"{meta_of(row).fields[name].column_name}"'


def _key(row: type[Model]) -> str:
    return f'"{meta_of(row).primary_key.column_name}"'


def _table(row: type[Model]) -> str:
    return f'"{meta_of(row).table_name}"'
