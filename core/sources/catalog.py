"""All sources there are, in the order in which ``doctor`` tells of them."""

from __future__ import annotations

from pathlib import Path

from core.sources import code, compressed, docs, graph, recall, retrieval, skills, work
from core.sources.port import Source


def all_sources(folder: Path) -> tuple[Source, ...]:
    """The sources of a Moot that keeps its data in ``folder`` (indexes of theirs go there)."""
    return (
        recall.SOURCE,
        retrieval.SOURCE,
        compressed.SOURCE,
        work.SOURCE,
        skills.SOURCE,
        code.source(folder),
        graph.source(folder),
        docs.source(),
    )
