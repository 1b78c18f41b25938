"""What every table has in common, and the table of facts about the database itself."""

from __future__ import annotations

from typing import Any, Self

from peewee import Model, TextField

from core.records.prepared import fetch, insert_sql, meta_of, select_sql, update_sql


class Table(Model):
    """Root of all tables; ``Records`` binds them to its database: one a process.

    ``create`` and ``get_by_id`` do what peewee's do, with SQL that is built once.
    """

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Insert a row; returns it with its key."""
        row = cls(**values)
        data, meta = row.__data__, meta_of(cls)
        names = tuple(data)
        params = [meta.fields[name].db_value(data[name]) for name in names]
        cursor = meta.database.execute_sql(insert_sql(cls, names), params)
        if meta.auto_increment and row.get_id() is None:
            setattr(row, meta.primary_key.name, cursor.lastrowid)
        return row

    @classmethod
    def get_by_id(cls, pk: Any) -> Self:
        """The row with this key.

        Raises:
            DoesNotExist: there is none.
        """
        found = fetch(cls, select_sql(cls), (pk,))
        if not found:
            missing: Any = cls
            raise missing.DoesNotExist(f"there is no {cls.__name__} {pk!r}")
        return found[0]

    @classmethod
    def change(cls, pk: Any, **values: Any) -> int:
        """Update the row with this key; how many rows that were (0 or 1)."""
        meta = meta_of(cls)
        params = [meta.fields[name].db_value(value) for name, value in values.items()]
        sql = update_sql(cls, tuple(values))
        return meta.database.execute_sql(sql, [*params, pk]).rowcount


class MetaRow(Table):
    """Facts about the database itself, such as its schema version."""

    name = TextField(primary_key=True)
    value = TextField()

    class Meta:
        table_name = "meta"
