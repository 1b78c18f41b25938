"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors of texts. Blocking, and safe to call from several threads.

    What it is given is cleaned and capped already (``core.memory.embed.clean``).
    """

    @property
    def name(self) -> str:
        """Model and dimensions; another name is another set of vectors."""
        ...

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are to be found: (n, dim), each of length 1.

        Raises:
            EmbedderError: it cannot just now; the message says why.
        """
        ...

    def query(self, text: str) -> Vectors:
        """The vector of what is looked for: (dim,), of length 1.

        Raises:
            EmbedderError: it cannot just now; the message says why.
        """
        ...


class EmbedderError(Exception):
    """An embedder cannot answer; the message is for people and holds no text."""
