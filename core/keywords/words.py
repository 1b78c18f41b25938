"""The words of a text, for everything that indexes or compares texts.

``tokens`` are the words as they are said; ``keys`` are those and the other forms by which a word is
looked for: ``retry_budget``, ``retryBudget`` and ``retry-budget`` are all ``retrybudget``, and
``retry`` and ``budget`` as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from core.keywords.endings import bare, between
from core.keywords.folding import HAN, MARKS, RUN, plain, seen, units

_EMOJI = "\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55"
_LETTER = rf"[^\W_{RUN}]"
_WORD = rf"(?:{_LETTER}[{MARKS}]*)+"
_TEXT = re.compile(
    rf"(?P<run>[{RUN}]+)"
    # Signs that make a name of a letter: C++, C#.
    rf"|(?<!\w)(?P<signed>[A-Za-z](?:\+\+|\#))(?![\w+\#])"
    rf"|(?P<word>{_WORD}(?:(?:_+|[-.'\u2019]|(?<=\d),(?=\d{{3}}(?!\d))){_WORD})*)"
    rf"|(?P<emoji>[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI}])"
)
_PART = re.compile(_WORD)
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LAST_HAN = re.compile(rf"[{HAN}]$")
_SIGNS = {"++": "plusplus", "#": "sharp"}
# What stands after an apostrophe in English.
_SHORT = frozenset(["s", "t", "re", "ve", "ll", "d", "m"])
MAX_WHOLE_CHARS = 60
MAX_PARTS = 8


def tokens(text: str) -> Iterator[str]:
    """The words of ``text``, in order, repeated ones included.

    Runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese as overlapping pairs of
    characters; all others in lower case, without accents.
    """
    for match in _TEXT.finditer(seen(text)):
        kind, said = match.lastgroup, match.group()
        if kind == "run":
            yield from _pairs(said)
        elif kind == "word":
            yield from _said(said)
        elif kind == "signed":
            yield said[0].lower()


def keys(text: str) -> Iterator[str]:
    """What ``text`` is found by: its tokens and their other forms, repeated ones included."""
    for match in _TEXT.finditer(seen(text)):
        kind, said = match.lastgroup, match.group()
        if kind == "run":
            yield from _pairs(said)
            if len(said) > 1 and _LAST_HAN.search(said):
                yield said[-1]  # by one character; at any other place a pair begins with it
        elif kind == "word":
            yield from _forms(said)
        elif kind == "signed":
            yield said[0].lower() + _SIGNS[said[1:]]
        else:
            yield said


def asked(text: str) -> Iterator[str]:
    """What is looked for to find what ``text`` names: ``keys`` without the endings of words."""
    for match in _TEXT.finditer(seen(text)):
        kind, said = match.lastgroup, match.group()
        if kind == "run":
            yield from (pair for pair in _pairs(bare(said)) if not between(pair))
        else:
            yield from keys(said)


def runs(text: str) -> Iterator[str]:
    """The runs of ``text`` whole, before they are cut in pairs."""
    return (match.group() for match in _TEXT.finditer(seen(text)) if match.lastgroup == "run")


def is_run(token: str) -> bool:
    """Whether a token is of a run: a pair, or the one character of a short one."""
    return bool(_OF_RUN.match(token))


_OF_RUN = re.compile(rf"[{RUN}]")


def _pairs(run: str) -> Iterator[str]:
    parts = units(run)
    if len(parts) == 1:
        yield run
    else:
        yield from (parts[i] + parts[i + 1] for i in range(len(parts) - 1))


def _parts(said: str) -> list[str]:
    """The parts of what joiners hold together; ``don't`` is one."""
    if said.isalnum():
        return [said]
    parts = _PART.findall(said.replace(",", ""))
    if "'" not in said and "\u2019" not in said:
        return parts
    kept = parts[:1]
    for part in parts[1:]:
        low = part.lower()
        if low not in _SHORT:
            kept.append(part)
        elif low == "t":
            kept[-1] += part
    return kept


def _said(said: str) -> Iterator[str]:
    return (word for part in _parts(said) if (word := plain(part)))


@lru_cache(maxsize=20_000)
def _forms(said: str) -> tuple[str, ...]:
    parts = _parts(said)
    words = [word for part in parts if (word := plain(part))]
    more: list[str] = []
    for part in parts:
        if part.isascii() and not (part.islower() and part.isalpha()):
            humps = _HUMPS.findall(part)
            if len(humps) > 1:
                short = 2 if any(hump.isdigit() for hump in humps) else 1  # 5th, k8s
                more += (hump.lower() for hump in humps if len(hump) > short)
    if 1 < len(words) <= MAX_PARTS and len(said) <= MAX_WHOLE_CHARS:
        glue = "x" if all(word.isdigit() for word in words) else ""
        more.append(glue.join(words))
    return (*words, *more)
