"""One tokeniser for index and query, so that every language is found.

What is written without spaces becomes overlapping 2-grams (no analyser needed), other words are
folded to one spelling, identifiers are found whole and by their parts, dates by any name; measured
in ``docs/decisions/0003`` and ``0066``. Nothing here knows FTS5; ``core.records.fulltext`` does.
"""

from __future__ import annotations

from collections import Counter

from core.keywords.dates import date_keys, sent_keys
from core.keywords.loanwords import also
from core.keywords.stop import STOP_WORDS
from core.keywords.words import asked, is_run, keys, tokens

__all__ = [
    "BUILD",
    "MAX_QUERY_TERMS",
    "STOP_WORDS",
    "also",
    "context_text",
    "index_text",
    "is_run",
    "keys",
    "query_terms",
    "tokens",
]

BUILD = "2"
"""Of what is written to the index: another one makes it anew (``core.records.anew``)."""

MAX_QUERY_TERMS = 40
BEFORE_CHARS = 800  # of the message before: more of it would only make a short answer look long


def index_text(text: str) -> str:
    """What is stored in the keyword index for ``text``."""
    words = list(keys(text))
    return " ".join((*words, *date_keys(text, words)))


def context_text(sent_at: float, before: str) -> str:
    """What is stored of a message's surroundings: its date (UTC), and the message before it."""
    return " ".join((*sent_keys(sent_at), *keys(before[:BEFORE_CHARS])))


def query_terms(text: str, limit: int = MAX_QUERY_TERMS) -> tuple[str, ...]:
    """The words of a query worth looking for, each once; stop words only if there is nothing else.

    Of more than ``limit`` those that tell most, by their form: which are rare, the index knows.
    Empty when nothing is searchable.
    """
    words = list(asked(text))
    said = Counter((*words, *date_keys(text, words)))
    telling = [term for term in said if term not in STOP_WORDS]
    terms = telling or list(said)
    return tuple(terms if len(terms) <= limit else _telling(terms, said, limit))


def _telling(terms: list[str], said: Counter[str], limit: int) -> list[str]:
    """``limit`` terms of a long text, in their order.

    What is asked stands at the beginning or at the end of what was pasted, and what it is about is
    said more than once; of the others, long words and names of code tell more than short ones.
    """
    edge = limit // 4
    kept = {*terms[:edge], *terms[-edge:]}
    others = [term for term in terms[edge:-edge] if term not in kept]

    def worth(term: str) -> float:
        long = 3 if is_run(term) else min(len(term), 12)
        # What is mostly digits is a time, an address, a hash: nobody says it again.
        odd = sum(char.isdigit() for char in term) * 2 > len(term)
        return min(said[term], 5) * (1 if odd else long)

    best = sorted(others, key=worth, reverse=True)[: limit - len(kept)]
    kept.update(best)
    return [term for term in terms if term in kept]
