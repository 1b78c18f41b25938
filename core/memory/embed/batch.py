"""Texts through an embedder, a batch at a time: one that it cannot take holds up no other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import structlog

from core.memory.embed.port import Embedder, EmbedderError, Vectors

log = structlog.get_logger()

K = TypeVar("K", bound=Hashable)


def embed(embedder: Embedder, said: Mapping[K, str]) -> tuple[dict[K, Vectors | None], list[K]]:
    """The vector of each text, and those that the embedder cannot take. Blocks.

    Raises:
        EmbedderError: it takes no text just now.
    """
    try:
        return dict(zip(said, embedder.passages(list(said.values())), strict=True)), []
    except Exception as error:  # noqa: BLE001 - of a package, on any text somebody wrote
        log.info("embedder.refused", texts=len(said), error=type(error).__name__)
        _still_works(embedder, error)
    made: dict[K, Vectors | None] = {}
    refused: list[K] = []
    for key, text in said.items():
        try:
            made[key] = embedder.passages([text])[0]
        except Exception as error:  # noqa: BLE001 - as above
            log.info("embedder.refused", texts=1, error=type(error).__name__)
            refused.append(key)
    return made, refused


def _still_works(embedder: Embedder, error: Exception) -> None:
    """Raises ``EmbedderError`` unless it takes a harmless text: then it is not for the texts."""
    try:
        embedder.passages(["ready"])
    except EmbedderError:
        raise
    except Exception:  # noqa: BLE001 - it is raised, as what it means
        raise EmbedderError(f"the embedder fails ({type(error).__name__})") from error
