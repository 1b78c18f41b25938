"""One thread owns the one connection: the event loop never waits for SQLite."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import structlog
from peewee import SQL, DatabaseError, Model, OperationalError, SqliteDatabase
from playhouse.migrate import SqliteMigrator, migrate
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_delay,
    wait_exponential,
)

from core.errors import BadSettings
from core.records import anew
from core.records.prepared import meta_of, schema_of
from core.records.tables import ALL_TABLES, SCHEMA_VERSION, MessageIndex, MetaRow

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")


INSIST_S = 3600.0
BUSY_MS = 10_000
CannotWrite = OperationalError
"""What SQLite raises when it cannot write, by a name for those who do not know peewee."""


def _first(error: OperationalError) -> OperationalError:
    """What went wrong first: a full disk ends the transaction, and then its rollback fails too."""
    first, cause = error, error.__context__
    while cause is not None:
        first = cause if isinstance(cause, OperationalError) else first
        cause = cause.__context__
    return first


def _tell(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.warning("records.waiting", attempt=state.attempt_number, error=str(error))


class Records:
    """The open database. One per process: the tables are bound to it.

    Every call is one function on the owned thread and exactly one transaction (``BEGIN
    IMMEDIATE``); functions of ``core.records`` compose inside it. Cancelling the await does not
    cancel the write, so every write is idempotent or guarded by the row's state.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")
        self._database = SqliteDatabase(None)
        self._migrator = SqliteMigrator(self._database)
        self._watched: dict[str, Callable[[], None]] = {}
        self._added: set[str] = set()

    async def open(self) -> None:
        """Open (and create or check) the database.

        Raises:
            BadSettings: the file cannot be opened, is not Moot's, or a newer Moot wrote it.
        """
        await self._on_thread(self._open)

    async def close(self) -> None:
        """Close the connection and end the thread; waits for what is under way."""
        await self._on_thread(self._database.close)
        self._thread.shutdown(wait=True)

    async def do(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function`` as one transaction and return what it returns.

        Raises:
            CannotWrite: nothing was written: the disk is full, or the file is locked or gone.
        """

        def transaction() -> T:
            try:
                with self._database.atomic("DEFERRED" if self._read_only else "IMMEDIATE"):
                    return function(*args, **kwargs)
            except OperationalError as error:
                raise _first(error) from None

        result = await self._on_thread(transaction)
        if self._added:
            added, self._added = self._added, set()
            for table in added:
                self._watched[table]()
        return result

    async def watch(self, row: type[Model], tell: Callable[[], None]) -> None:
        """Call ``tell`` on the loop after every transaction that adds rows to a table.

        Whoever adds them; also now and then where none is added after all (it was rolled back).
        One for each table, and none after ``close``.
        """
        table = meta_of(row).table_name
        self._watched[table] = tell

        def follow() -> None:
            called = f"added_{table}"
            connection = self._database.connection()
            connection.create_function(called, 0, lambda: self._added.add(table))
            # Of this connection alone: nothing of it is in the file.
            self._database.execute_sql(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {called} AFTER INSERT ON main.{table} "
                f"BEGIN SELECT {called}(); END"
            )

        await self._on_thread(follow)

    async def insist(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As ``do``, for what must be written: a full disk or a lock is waited out, up to an hour.

        Raises:
            CannotWrite: the hour is over.
        """
        try:
            return await self.do(function, *args, **kwargs)
        except OperationalError:
            pass  # only now the machinery for trying again: setting it up holds up every answer
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(OperationalError),
            wait=wait_exponential(min=0.2, max=30),
            stop=stop_after_delay(INSIST_S),
            before_sleep=_tell,
            reraise=True,
        ):
            with attempt:
                return await self.do(function, *args, **kwargs)
        raise AssertionError("tenacity returns or raises")

    async def begin_log_anew(self) -> bool:
        """Write what stands in the write-ahead log into the file, and empty it.

        False when somebody reads just now; it is not waited for.
        """

        def truncate() -> bool:
            self._database.execute_sql("PRAGMA busy_timeout = 0")
            try:
                [(busy, _, _)] = self._database.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            except OperationalError:
                busy = True
            finally:
                self._database.execute_sql(f"PRAGMA busy_timeout = {BUSY_MS}")
            return not busy

        return await self._on_thread(truncate)

    async def _on_thread(self, function: Callable[[], T]) -> T:
        here = contextvars.copy_context()  # the language that is spoken, and what logs are bound to
        return await asyncio.get_running_loop().run_in_executor(self._thread, here.run, function)

    def _open(self) -> None:
        if self._read_only and not self.path.is_file():
            raise BadSettings(
                f"There is no database at {self.path} yet: start `moot run` or `moot try` first."
            )
        target = f"file:{self.path}?mode=ro" if self._read_only else str(self.path)
        pragmas = {"busy_timeout": BUSY_MS, "foreign_keys": 1}
        if not self._read_only:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            pragmas |= {"journal_mode": "wal", "synchronous": "normal", "secure_delete": 1}
        self._database.init(target, pragmas=pragmas, uri=self._read_only, check_same_thread=False)
        self._database.bind(ALL_TABLES)
        try:
            self._database.connect()
            if self._read_only:
                self._check_schema()
            else:
                self.path.chmod(0o600)
                self._migrate()
        except OperationalError as error:
            raise BadSettings(
                f"Cannot open the database {self.path}: {error}. Check [storage] dir."
            ) from error
        except DatabaseError as error:  # its content, not the way to it
            raise BadSettings(
                f"{self.path} is damaged, or no database at all: {error}. Move it away, or put a "
                "backup in its place; without one Moot starts with an empty database."
            ) from error

    def _migrate(self) -> None:
        """Make what is missing: tables, and columns that have a value for rows without them."""
        if self._database.get_tables():  # tables beside a stranger's would be ours in part only
            self._check_version()
        with self._database.atomic("IMMEDIATE"):
            for table in ALL_TABLES:
                schema_of(table).create_table(safe=True)
            anew.begin()
            for table, field in self._missing():
                if field.null or field.default is not None:
                    self._add(meta_of(table).table_name, field)
            # Not before the columns: SQLite takes the name of one that is missing for a text.
            for table in ALL_TABLES:
                schema_of(table).create_indexes(safe=True)
            anew.step(anew.AT_ONCE)
            MetaRow.insert(name="schema", value=str(SCHEMA_VERSION)).on_conflict_replace().execute()
        self._check_schema()

    def _add(self, table: str, field: Any) -> None:
        """Add a column, with its default in the file for the rows that are there."""
        added = field.clone()
        if not field.null:
            # Else playhouse would build the table anew to forbid NULL, and dropping the old one
            # is refused as soon as another table's rows point into it.
            value = field.db_value(field.default)
            literal = str(int(value) if isinstance(value, bool) else value).replace("'", "''")
            added.constraints = [*(field.constraints or ()), SQL(f"DEFAULT '{literal}'")]
        migrate(
            self._migrator.add_column(
                table, field.column_name, added, allow_not_null=not field.null
            )
        )

    def _missing(self) -> list[tuple[type[Model], Any]]:
        """Columns that the file lacks, each with its table."""
        lacking: list[tuple[type[Model], Any]] = []
        for table in ALL_TABLES:
            meta = meta_of(table)
            kept = {column.name for column in self._database.get_columns(meta.table_name)}
            lacking += [
                (table, field)
                for field in meta.sorted_fields
                if field.column_name not in kept | {"rowid"}
            ]
        return lacking

    def _check_schema(self) -> None:
        """Raises ``BadSettings`` unless Moot made the file, in a version that this one knows."""
        self._check_version()
        if not (lacking := self._missing()):
            return
        table = meta_of(lacking[0][0]).table_name
        if self._read_only and all(self._is_added(of, field) for of, field in lacking):
            raise BadSettings(
                f"{self.path} was written by an earlier Moot. Start `moot run` or `moot try` once: "
                "it adds what is new."
            )
        columns = ", ".join(
            field.column_name for of, field in lacking if meta_of(of).table_name == table
        )
        raise BadSettings(
            f"{self.path} was written by an earlier Moot that this one cannot read (its "
            f"table {table} lacks {columns}). Move it away, or name another [storage] dir."
        )

    def _is_added(self, table: type[Model], field: Any) -> bool:
        """Whether opening the file to write adds what it lacks: a table, or such a column."""
        return (
            table is MessageIndex
            or not self._database.table_exists(table)
            or field.null
            or field.default is not None
        )

    def _check_version(self) -> None:
        if not self._database.table_exists(MetaRow):
            raise BadSettings(
                f"{self.path} was not made by Moot. Move it away, or name another [storage] dir."
            )
        found = int(MetaRow.get_by_id("schema").value)
        if found > SCHEMA_VERSION:
            raise BadSettings(
                f"{self.path} was written by a newer Moot (schema {found}, this one knows "
                f"{SCHEMA_VERSION}). Update Moot, or name another [storage] dir."
            )
