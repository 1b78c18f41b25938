"""Which files of a project are documents: what people wrote down for people, in plain text."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from core.sources.code.files import (
    MAX_FILE_BYTES,
    File,
    NoCheckout,
    git,
    is_document,
    may_read,
    tracked,
)

MAX_DOCUMENTS = 5_000


def documents(folder: Path, apart: Path) -> tuple[File, ...]:
    """The project's documents: those that git tracks, else those in the folder. Blocking.

    In a folder that is no checkout git says which files the folder's own ``.gitignore`` leaves;
    for that it needs a repository, an empty one in ``apart``.

    Raises:
        NoCheckout: there is no git, or the folder cannot be read.
    """
    try:
        found = [file for file in tracked(folder) if is_document(file.path)]
    except NoCheckout as error:
        if not error.plain:
            raise
        found = list(_lying(folder, apart))
    return tuple(found[:MAX_DOCUMENTS])


def _lying(folder: Path, apart: Path) -> Sequence[File]:
    """Documents in a folder that nothing tracks: no links, nothing ignored."""
    repository = apart / "no-checkout.git"
    if not (repository / "HEAD").is_file():
        apart.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = git(apart, "init", "-q", "--bare", "--template=", str(repository))
        if made.why:
            raise NoCheckout(f"git could not list its files ({made.why})")
    listed = git(
        folder,
        f"--git-dir={repository}",
        f"--work-tree={folder}",
        "ls-files",
        "-z",
        "--others",
        "--exclude-standard",
    )
    if listed.why:
        raise NoCheckout(f"git could not list its files ({listed.why})")
    found: list[File] = []
    for path in sorted(listed.out.decode("utf-8", "surrogateescape").split("\0")):
        if not may_read(path) or not is_document(path):
            continue
        try:
            there = os.stat(folder / path, follow_symlinks=False)  # noqa: PTH116 - as in tracked
        except OSError:
            continue
        if stat.S_ISREG(there.st_mode) and 0 < there.st_size <= MAX_FILE_BYTES:
            found.append(File(path, there.st_mtime_ns, there.st_size))
    return found
