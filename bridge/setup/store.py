"""The settings file as ``moot setup`` writes it: what stands there stays, comments included."""

from __future__ import annotations

import os
import tempfile
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from config.settings import find_config
from core.errors import BadSettings

USUAL = Path("~/.config/moot/moot.toml")


class SettingsFile:
    """One settings file; every ``put`` is on disk when it returns, private to its owner.

    Raises:
        BadSettings: it cannot be read or written, or is no TOML; says which.
    """

    def __init__(self, given: Path | None) -> None:
        self.path = find_config(given) or USUAL.expanduser()
        self._held = self._read()

    def _read(self) -> tomlkit.TOMLDocument:
        try:
            if self.path.exists():
                return tomlkit.parse(self.path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, TOMLKitError) as error:
            raise BadSettings(f"{self.path} cannot be read: {error}. Correct it first.") from None
        return tomlkit.document()

    def make_ready(self) -> None:
        """Find out whether it can be written, before anything is asked; it is private then.

        Nothing is made where there was none.
        """
        fresh = not self.path.exists()
        self._write()
        if fresh:
            self.path.unlink()

    def get(self, *keys: str) -> Any:
        """What stands there, ``None`` for nothing."""
        place: Any = self._held
        for key in keys:
            if not isinstance(place, MutableMapping) or key not in place:
                return None
            place = place[key]
        return place.unwrap() if hasattr(place, "unwrap") else place

    def put(self, value: Any, *keys: str) -> None:
        """Set one key (``put("x", "slack", "app_token")``) and write the file."""
        *tables, last = keys
        self._table(tables)[last] = value
        self._write()

    def add(self, value: str, *keys: str) -> None:
        """Put a text at the end of a list, whose comments stay, and write the file."""
        *tables, last = keys
        table = self._table(tables)
        if not isinstance(table.get(last), list):
            table[last] = []
        if value not in table[last]:
            table[last].append(value)
        self._write()

    def _table(self, names: Sequence[str]) -> Any:
        # What was edited meanwhile counts: the file is read again.
        self._held = self._read()
        place: Any = self._held
        for name in names:
            if name not in place:
                place[name] = tomlkit.table()
            place = place[name]
            if not isinstance(place, MutableMapping):
                raise BadSettings(f"{self.path}: {name} is no table ([{name}]). Correct it first.")
        return place

    def _write(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = self.path.resolve()  # a link to it stays one
            # A new file beside it, private from its first byte, then in its place at once.
            number, name = tempfile.mkstemp(prefix=".moot-", dir=target.parent)
            try:
                with os.fdopen(number, "w", encoding="utf-8") as file:
                    file.write(tomlkit.dumps(self._held))
                Path(name).replace(target)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise BadSettings(
                f"{self.path} cannot be written: {error.strerror}. Choose another place with "
                "--config FILE."
            ) from None
