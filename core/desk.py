"""Who is told that a request was decided: the run that waits for it, if it still lives."""

from __future__ import annotations

from collections.abc import Callable


class Desk:
    """The runs of this life of Moot that can be told. Not for several threads."""

    def __init__(self) -> None:
        self._runs: dict[str, Callable[[int], None]] = {}

    def admit(self, run_id: str, on_ruled: Callable[[int], None]) -> None:
        """From now on ``on_ruled`` gets the numbers of this run's requests as they are decided."""
        self._runs[run_id] = on_ruled

    def dismiss(self, run_id: str) -> None:
        """The run is over."""
        self._runs.pop(run_id, None)

    def ruled(self, run_id: str, number: int) -> None:
        """A request was decided, in the rows already. Of a run that is gone: nothing to do."""
        if (told := self._runs.get(run_id)) is not None:
            told(number)
