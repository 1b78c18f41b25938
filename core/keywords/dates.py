"""Dates as words that are the same in every language: ``March 5, 2024``, ``2024년 3월 5일``, ...

Only what names a month and a day, a month and a year, or a month beyond doubt is one: "may" and
"set" are words first. Relative dates ("last week") are somebody else's (``core.memory.dates``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from core.keywords.folding import plain

# By month, in English, Indonesian, German, French, Spanish, Portuguese, Russian.
_NAMES = """
january januari januar janvier enero janeiro января январь
february februari februar février fevrier febrero fevereiro февраля февраль
march maret märz marz maerz mars marzo março marco марта март
april avril abril апреля апрель
may mei mai mayo maio мая май
june juni juin junio junho июня июнь
july juli juillet julio julho июля июль
august agustus août aout agosto августа август
september septembre septiembre setembro сентября сентябрь
october oktober octobre octubre outubro октября октябрь
november novembre noviembre novembro ноября ноябрь
december desember dezember décembre decembre diciembre dezembro декабря декабрь
"""
_SHORT = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTHS = (
    {
        name: number
        for number, line in enumerate(_NAMES.strip().split("\n"), 1)
        for name in line.split()
    }
    | {name: number for number, name in enumerate(_SHORT, 1)}
    | {"sept": 9}
)
# Words of other meanings as well: months only beside a number, or after "in".
_DOUBTFUL = frozenset(_SHORT).union(
    ("may", "march", "mars", "mei", "mai", "marco", "marz", "май", "set", "sept")
)
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th|\.|º|er)?"
_YEAR = r"(?P<{0}>(?:19|20)\d\d)"
_NAMED = re.compile(
    rf"\b(?:{_DAY.format('d1')}\s+(?:of\s+|de\s+)?|(?P<lead>(?:in|of|since|until|till|during|last|next|"
    rf"this|early|late|mid|en|im|bulan)\s+)?)"
    rf"(?P<month>{_NAME})\b\.?"
    rf"(?:\s+{_DAY.format('d2')}(?![\d:]))?(?:,?\s+(?:de\s+)?{_YEAR.format('y')})?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    rf"(?<![\d.])(?:{_YEAR.format('y1')}[-/.](?P<m1>[01]?\d)(?:[-/.](?P<d1>[0-3]?\d))?(?![\d.]*\d)"
    rf"|(?:{_YEAR.format('y2')}\s?[年년]\s?)?(?P<m2>1?\d)\s?[月월](?:\s?(?P<d2>[1-3]?\d)\s?[日일号號])?"
    r"|(?P<d3>[1-3]?\d)\s+tháng\s+(?P<m3>1?\d)|\btháng\s+(?P<m4>1?\d))"
)
_SAID = frozenset(plain(name) for name in _MONTHS)
_DIGIT = re.compile(r"\d")


def date_keys(text: str, words: Iterable[str]) -> Iterator[str]:
    """The dates that ``text`` names, as words of the index; ``words`` are those it is made of."""
    if _DIGIT.search(text):
        for found in _NUMBERS.finditer(text):
            group = found.groupdict()
            month = next(int(group[m]) for m in ("m1", "m2", "m3", "m4") if group[m])
            day = group["d1"] or group["d2"] or group["d3"]
            yield from _words(group["y1"] or group["y2"], month, day)
    if _SAID.isdisjoint(words):  # most texts; looking for names in them would cost the most
        return
    for found in _NAMED.finditer(text):
        name = found["month"].lower()
        day = found["d1"] or found["d2"]
        if name in _DOUBTFUL and not (day or found["y"] or found["lead"]):
            continue
        yield from _words(found["y"], _MONTHS[name], day)


def sent_keys(sent_at: float) -> Iterator[str]:
    """The date of a message (UTC), as words of the index; none for a time beyond calendars."""
    try:
        when = datetime.fromtimestamp(sent_at, UTC)
    except (ValueError, OverflowError, OSError):
        return
    yield f"{when.year}"
    yield from _words(f"{when.year}", when.month, f"{when.day}")


def _words(year: str | None, month: int, day: str | None) -> Iterator[str]:
    """``m03``, ``m03d05``, ``2024m03``, ``2024m03d05``: as much as is known."""
    number = int(day) if day else 0
    if not 1 <= month <= 12 or number > 31:
        return
    name = f"m{month:02}"
    yield name
    if number:
        yield f"{name}d{number:02}"
    if year:
        yield f"{year}{name}"
        if number:
            yield f"{year}{name}d{number:02}"
