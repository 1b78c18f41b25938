"""A database of vectors for tests of what is built on them."""

from pathlib import Path

import numpy as np

from core.records.tables import EmbedderRow, VectorRow
from core.records.thread import Records

DIM = 32


def vectors(many: int, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(many, DIM)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def embedder(name: str = "test-32", state: str = "current") -> int:
    return EmbedderRow.create(name=name, dim=DIM, state=state).id


def write(model: int, first: int, made: np.ndarray, scopes: int = 5) -> list[tuple[str, int]]:
    """Rows for messages from ``first`` on, as the indexer writes them; their ids and scopes."""
    items = []
    for at, vector in enumerate(made):
        number = first + at
        VectorRow.delete().where(
            (VectorRow.kind == "message")
            & (VectorRow.item == number)
            & (VectorRow.embedder == model)
        ).execute()
        VectorRow.insert(
            embedder=model,
            scope=number % scopes,
            kind="message",
            item=number,
            vector=vector.astype("<f2").tobytes(),
        ).execute()
        items.append((f"message:{number}", number % scopes))
    return items


def erase(numbers) -> list[str]:
    VectorRow.delete().where(VectorRow.item.in_(list(numbers))).execute()
    return [f"message:{number}" for number in numbers]


async def opened(folder: Path) -> Records:
    records = Records(folder / "moot.sqlite")
    await records.open()
    return records
