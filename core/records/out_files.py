"""Files that go with posts: the rows say which copies are needed, the rest of the store may go.

Every function is part of its caller's transaction. A copy is named in the rows by its run's folder
and its name there, so the store may be moved.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

from peewee import SQL

from core.model import OutFile
from core.records.tables import OutboxRow

KEPT_S = 14 * 86_400.0
"""How long a file that could not be posted lies where its thread was told."""


def dump_files(files: Iterable[OutFile], staying: Iterable[OutFile] = ()) -> str:
    """Files as they are stored; of a path only its last two parts.

    ``staying`` are not posted: they lie where the thread is told.
    """
    both = ((files, False), (staying, True))
    stored = [
        ["/".join(f.path.parts[-2:]), f.name, f.size, f.mime, f.aside, stays]
        for several, stays in both
        for f in several
    ]
    return json.dumps(stored, ensure_ascii=False)


def load_files(stored: str, *, staying: bool = False) -> tuple[OutFile, ...]:
    """Stored files as values, their paths below the store: those to be posted, or the others."""
    if stored == "[]":
        return ()
    return tuple(
        OutFile(name, Path(path), size, mime, aside)
        for path, name, size, mime, aside, stays in json.loads(stored)
        if stays == staying
    )


def note_sent(outbox_id: int, lost: Collection[str] = ()) -> None:
    """A post was sent, without the files of these names: only they are still needed."""
    row = OutboxRow.get_by_id(outbox_id)
    if row.files == "[]":
        return
    here = [file for file in load_files(row.files) if file.name in lost]
    staying = (*load_files(row.files, staying=True), *here)
    OutboxRow.change(outbox_id, files=dump_files((), staying))


def needed(now: float) -> frozenset[str]:
    """Which copies are needed: of posts that are owed, and what could not be posted lately."""
    rows = OutboxRow.select(OutboxRow.files, OutboxRow.state, OutboxRow.created_at).where(
        SQL("files != '[]'")
    )
    return frozenset(
        str(file.path)
        for row in rows
        if row.state in ("due", "kept")
        or (row.state != "dropped" and row.created_at > now - KEPT_S)
        for staying in (False, True)
        for file in load_files(row.files, staying=staying)
    )
