"""One tokeniser for index and query, so that every language is found.

CJK runs become overlapping 2-grams (no analyser needed), other words are lower-cased; measured in
``docs/decisions/0003``. The result is fed to FTS5's ``porter unicode61``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CJK = (
    r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    r"\u2e80-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # radicals, kana
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    r"\u0e00-\u0eff\u1780-\u17ff"  # Thai, Lao, Khmer
)
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
MAX_QUERY_TERMS = 40


def tokens(text: str) -> Iterator[str]:
    """The tokens of ``text``, in order, repeated ones included."""
    for match in _WORD.finditer(text):
        word = match.group()
        if not _IS_CJK.match(word):
            yield word.lower()
        elif len(word) == 1:
            yield word
        else:
            yield from (word[i : i + 2] for i in range(len(word) - 1))


def index_text(text: str) -> str:
    """What is stored in the keyword index for ``text``."""
    return " ".join(tokens(text))


def match_query(text: str) -> str:
    """An FTS5 MATCH expression for any input, however odd; empty when nothing is searchable."""
    terms = list(dict.fromkeys(tokens(text)))[:MAX_QUERY_TERMS]
    return " OR ".join(f'"{term}"' for term in terms)
