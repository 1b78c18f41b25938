"""Chroma: an index of vectors beside SQLite, which alone is the truth."""

from core.memory.chroma.asked import ChromaAway, Pace
from core.memory.chroma.index import ChromaIndex

__all__ = ["ChromaAway", "ChromaIndex", "Pace"]
