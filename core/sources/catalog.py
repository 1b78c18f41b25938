"""All sources there are, in the order in which ``doctor`` tells of them."""

from __future__ import annotations

from core.sources import recall
from core.sources.port import Source

SOURCES: tuple[Source, ...] = (recall.SOURCE,)
