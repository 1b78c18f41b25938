"""Which of the places that hold the words are meant: names and places said in the question win."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from core.sources.code.asking import paths
from core.sources.code.index import Hit

MAX_HITS = 10
MAX_PER_FILE = 3
EXACT_NAME, LIKE_NAME, NAMED_PATH, NAMED_LINE = 3.0, 1.6, 2.0, 4.0
PROSE, TESTS, NAMELESS = 0.6, 0.7, 0.6  # nameless: imports and the like

_PROSE = re.compile(r"\.(?:md|mdx|rst|txt|adoc|html?|json|ya?ml|toml|css)$", re.IGNORECASE)
_TESTS = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)(?:test_|[^/]*[._](?:test|spec)\.)")
_LINE = re.compile(r'(?P<path>[\w./@-]+\.\w{1,8})(?::|", line |\((?=\d))(?P<line>\d{1,7})')


def best(hits: Sequence[Hit], text: str, terms: Sequence[str], names: Sequence[str]) -> list[Hit]:
    """At most ``MAX_HITS`` of ``hits``, best first, at most ``MAX_PER_FILE`` of one file.

    Args:
        hits: as the index ranks them.
        text: the question.
        terms: the words that were searched for.
        names: the identifiers in the question.
    """
    wanted = {re.split(r"[.:]+", name.partition("(")[0])[-1].lower() for name in names}
    named = paths(text)
    lines = [(m["path"], int(m["line"])) for m in _LINE.finditer(text)]
    tests = any("test" in term for term in terms)

    def weighed(hit: Hit) -> Hit:
        score = hit.score
        symbol = re.split(r"[.:]+", hit.symbol)[-1].lower()
        if symbol in wanted:
            score *= EXACT_NAME
        elif symbol in terms:
            score *= LIKE_NAME
        if any(_same(hit.path, path) for path in named):
            score *= NAMED_PATH
        if any(_same(hit.path, path) and hit.first <= line <= hit.last for path, line in lines):
            score *= NAMED_LINE
        score *= NAMELESS if not symbol else 1.0
        score *= PROSE if _PROSE.search(hit.path) else 1.0
        score *= TESTS if not tests and _TESTS.search(hit.path) else 1.0
        return replace(hit, score=score)

    ordered = sorted(map(weighed, hits), key=lambda h: (-h.score, h.path, h.first))
    taken: Counter[str] = Counter()
    chosen: list[Hit] = []
    for hit in ordered:
        taken[hit.path] += 1
        if taken[hit.path] <= MAX_PER_FILE:
            chosen.append(hit)
    return chosen[:MAX_HITS]


def _same(path: str, said: str) -> bool:
    """Whether a path in a question (perhaps of another machine) means this file."""
    said = said.lstrip("./~")
    return path == said or path.endswith(f"/{said}") or said.endswith(f"/{path}")
