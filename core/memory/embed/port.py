"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors of texts. Blocking, and safe to call from several threads.

    What it is given is cleaned and capped already (``core.memory.embed.choose.Named`` does so).
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


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also has a vector for each token of a text."""

    def token_vectors(self, texts: Sequence[str], *, query: bool = False) -> list[Vectors]:
        """Each text's tokens: (tokens, dim), each of length 1, the frame's own among them.

        For MaxSim (ColBERT, Khattab and Zaharia 2020): the mean, over a question's tokens, of the
        largest product with a passage's. Raises as ``passages``.
        """
        ...

    def late(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that follow one another, each read in the midst of the others.

        Late chunking (Günther et al. 2024): all are encoded together, in windows, and then the
        tokens of each are averaged: (n, dim), each of length 1. To be asked as ``passages`` are.
        Raises as ``passages``.
        """
        ...


class EmbedderError(Exception):
    """An embedder cannot answer; the message is for people and holds no text."""
