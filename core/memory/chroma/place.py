"""Where Chroma's files are: a folder for each generation, and a small file that names the present.

Nothing is ever changed into another generation: a new one is built beside, named by a rename, and
the old folder is removed. Chroma never really erases; only a fresh folder does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import structlog

from core import filelock
from core.model.memory import MemoryState

log = structlog.get_logger()

_DOUBTED = "doubted"
_OURS = re.compile(rf"(?:{_DOUBTED}-)?\d{{8}}-[0-9a-f]{{8}}")


@dataclass(frozen=True, slots=True)
class Generation:
    """What is known of the present files without opening them.

    Attributes:
        name: of the folder, or the last part of a collection's name on a server; "" = none yet.
        chroma: the version of the library that wrote it.
        open: it is in use, or its user died: all that it holds has to be compared.
        erased: vectors that are gone may still be in its files.
        built_at: UTC seconds.
        files: what its files looked like when it was closed (``Place.look``).
    """

    name: str = ""
    chroma: str = ""
    open: bool = False
    erased: bool = False
    built_at: float = 0.0
    files: str = ""


class Place:
    """The folder ``chroma`` of a storage folder. Its methods block, and raise ``OSError``.

    ``pointer`` is the file that names the present generation.
    """

    def __init__(self, folder: Path, pointer: str = "current.json") -> None:
        self.folder = folder
        self._pointer = folder / pointer
        self._state = self._pointer.with_suffix(".state")
        self._asked = folder / "rebuild"
        self._lock = folder / "owner.lock"
        self._handle: int | None = None
        self._changing = threading.Lock()

    @property
    def owned(self) -> bool:
        """Whether this process holds the lock."""
        return self._handle is not None

    def own(self) -> str:
        """Become the owner; "" or, where another process is, its number."""
        if not self.holds():
            self.let_go()
        if self._handle is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = filelock.lock(self._lock)
            if self._handle is None:
                return filelock.signed(self._lock) or "unknown"
            filelock.sign(self._handle, str(os.getpid()))
        return ""

    def holds(self) -> bool:
        """Whether what is owned is still what lies there: the folder may have been removed."""
        try:
            return self._handle is None or os.fstat(self._handle).st_ino == self._lock.stat().st_ino
        except OSError:
            return False

    def let_go(self) -> None:
        """Give the lock back."""
        handle, self._handle = self._handle, None
        if handle is not None:
            filelock.let_go(handle)

    def path(self, generation: str) -> Path:
        """The folder of a generation."""
        return self.folder / generation

    def fresh(self) -> str:
        """The name of a new generation: no name, so no path, ever comes back."""
        return f"{time.strftime('%Y%m%d')}-{uuid.uuid4().hex[:8]}"

    def read(self) -> Generation:
        """What the pointer says; nothing yet where it is missing or no such file."""
        try:
            kept = json.loads(self._pointer.read_bytes())
            # Another Moot may have known fewer or more.
            known = {f.name: kept[f.name] for f in fields(Generation) if f.name in kept}
            found = Generation(**known)
        except FileNotFoundError:
            return Generation()
        except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
            log.warning("chroma.pointer_unread", error=type(error).__name__)
            return Generation()
        ours = _OURS.fullmatch(str(found.name))  # no path out of here
        return found if ours else Generation()

    def write(self, generation: Generation) -> None:
        """Name the present generation, at once or not at all."""
        with self._changing:
            self._replace(self._pointer, asdict(generation))

    def tell(self, state: MemoryState) -> None:
        """Leave a note of how it stands for other processes."""
        self._replace(self._state, asdict(state))

    def told(self) -> MemoryState | None:
        """How it stood when its process last told; ``None`` where none did."""
        try:
            return MemoryState(**json.loads(self._state.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def ask(self) -> None:
        """Ask the process that has it to build it anew."""
        self._asked.touch()

    def asked(self) -> bool:
        """Whether another process asked for that."""
        return self._asked.exists()

    def answered(self) -> None:
        """That was done."""
        self._asked.unlink(missing_ok=True)

    def _replace(self, path: Path, value: Mapping[str, object]) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.new")
        with beside.open("w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    def look(self, generation: str) -> str:
        """What the files of a generation look like from outside: names, sizes, times."""
        path = self.path(generation)
        seen = sorted(
            (str(one.relative_to(path)), one.stat().st_size, one.stat().st_mtime_ns)
            for one in path.rglob("*")
            if one.is_file()
        )
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:32]

    def note(self, **changes: Any) -> None:
        """Change what is known of the present generation."""
        with self._changing:  # Chroma's thread and others
            before = self.read()
            after = replace(before, **changes)
            if after != before:
                self._replace(self._pointer, asdict(after))

    def set_aside(self, generation: str) -> None:
        """Rename a folder that is not to be trusted, so that nothing opens it again."""
        if generation and (path := self.path(generation)).is_dir():
            path.rename(self.folder / f"{_DOUBTED}-{generation}")
        self.write(replace(self.read(), name="", open=False))

    def sweep(self, keep: str) -> int:
        """Remove all generations but ``keep``: old ones, doubted ones, half-built ones.

        How many that were.
        """
        removed = 0
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name) and path.name != keep and path.is_dir():
                shutil.rmtree(path)
                removed += 1
        return removed
