"""All sources there are, in the order in which ``doctor`` tells of them."""

from __future__ import annotations

from pathlib import Path

from core.sources import code, compressed, documents, graph, recall, retrieval, skills, work
from core.sources.code.meaning import Meaning
from core.sources.port import Source


def all_sources(folder: Path, meaning: Meaning | None = None) -> tuple[Source, ...]:
    """The sources of a Moot that keeps its data in ``folder`` (indexes of theirs go there).

    ``meaning`` makes vectors of the projects' files; without it they are found by words only.
    """
    return (
        recall.SOURCE,
        retrieval.SOURCE,
        compressed.SOURCE,
        work.SOURCE,
        skills.SOURCE,
        code.source(folder, meaning),
        graph.source(folder),
        documents.source(folder, meaning),
    )
