"""Starts Moot with a kill switch: at a wanted log line the process kills itself with SIGKILL.

    python killer.py TRIGGER_FILE run --config ...

Nothing of Moot is changed: it logs every stage of its path, and one structlog processor more reads
along. The trigger is read anew at every line, so a test can arm it at any moment of a life:

    [{"event": "run.opened", "where": {"hop": 1}}, {"event": "run.spawned", "same": ["run"]}]

means: once a ``run.opened`` with ``hop=1`` has passed, die at the ``run.spawned`` of the same
``run``. The line is written out first, so that the test reads what the process died at.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog


class KillSwitch:
    """The last structlog processor: sees each line as it is written, on whatever thread."""

    def __init__(self, trigger: Path) -> None:
        self._trigger = trigger
        self._armed = ""
        self._left: list[dict[str, Any]] = []
        self._last: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, _logger: Any, _method: str, line: str) -> str:
        with self._lock:
            if self._passed(json.loads(line)):
                os.write(2, f"{line}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def _passed(self, event: dict[str, Any]) -> bool:
        """Whether this line is the last that was waited for."""
        try:
            armed = self._trigger.read_text()
        except FileNotFoundError:
            return False
        if armed != self._armed:
            self._armed, self._left = armed, json.loads(armed)
        if not self._left or not fits(event, self._left[0], self._last):
            return False
        self._last = event
        del self._left[0]
        return not self._left


def fits(event: dict[str, Any], wanted: dict[str, Any], last: dict[str, Any]) -> bool:
    """Whether a log line is the wanted one; ``last`` is the line that fitted before."""
    values = {
        **wanted.get("where", {}),
        **{name: last.get(name) for name in wanted.get("same", ())},
    }
    return event.get("event") == wanted["event"] and all(
        event.get(name) == value for name, value in values.items()
    )


def install(trigger: Path) -> None:
    """Add the switch to whatever Moot configures."""
    configure: Callable[..., None] = structlog.configure

    def configured(*, processors: list[Any], **more: Any) -> None:
        configure(processors=[*processors, KillSwitch(trigger)], **more)

    structlog.configure = configured


if __name__ == "__main__":
    install(Path(sys.argv.pop(1)))
    from bridge.cli import main

    main()
