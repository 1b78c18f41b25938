"""Words of code for the index and for queries: as in all our indexes, and identifiers in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from core.keywords import MAX_QUERY_TERMS, tokens
from core.sources.code.vocabulary import listed

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

# Said in every question; they would only bring what says them often.
_DULL = listed(
    "a an and any are as at be been being but by can could did do does doing done for from get "
    "give had has have having how i if in into is it its just know let me my need not now of on or "
    "our out please should so some tell than that the their them then there these they this those "
    "to us use used using was we were what when where which who why will with would you your "
    "하는 합니 니다 습니 는지 에서 으로 해줘 주세 세요 어디 있나 나요 인가 무엇 어떻 떻게 왜 좀 "
    "です ます して どこ です"
)


def code_words(text: str) -> Iterator[str]:
    """The words of ``text``; of ``getUserName`` and ``MAX_RETRIES`` the parts and the whole."""
    # The same words as by ``tokens``; most code is ASCII, and this is most of the time it takes.
    yield from _ASCII_WORD.findall(text.lower()) if text.isascii() else tokens(text)
    for name in _IDENTIFIER.findall(text):
        yield from _more_of(name)


@lru_cache(maxsize=20_000)
def _more_of(name: str) -> tuple[str, ...]:
    """The words of an identifier that are none by themselves."""
    parts = _PARTS.findall(name)
    if len(parts) < 2:
        return ()
    whole = ("".join(parts).lower(),) if "_" in name else ()
    humps = (part.lower() for part in parts) if len(parts) > name.count("_") + 1 else ()
    return (*whole, *humps)


def code_index_text(text: str) -> str:
    """What is stored in the index for ``text``."""
    return " ".join(code_words(text))


def query_terms(text: str, first: tuple[str, ...] = ()) -> list[str]:
    """The words to search for, each once; those of ``first`` before the others, few in all."""
    words = [*(w for name in first for w in code_words(name)), *code_words(text)]
    useful = (word for word in words if word not in _DULL and (len(word) > 1 or not word.isascii()))
    return list(dict.fromkeys(useful))[:MAX_QUERY_TERMS]


def match_expression(terms: list[str]) -> str:
    """An FTS5 MATCH expression that finds any of the terms; empty when there is none."""
    return " OR ".join(f'"{term}"' for term in terms)
