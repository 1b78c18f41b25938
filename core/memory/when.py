"""Whether a question asks for a time, and whether what was said tells one. Pure.

What answers "when" says so: a day, a month, "yesterday". In the ten languages of
``core.memory.date_words``; in others nothing is asked and nothing told.
"""

from __future__ import annotations

import re
from functools import cache

from core.memory import date_words
from core.memory.date_words import Tongue

MAX_CHARS = 600  # of what was said: it is looked through for each candidate
_EDGE = r"^\W*(?:\w+\W+)?"  # "when", "and when": further in it is seldom a question
_ASKING: tuple[tuple[Tongue, str], ...] = (
    (
        date_words.ENGLISH,
        rf"{_EDGE}when\b|\b(?:what|which) (?:date|day|month|year)\b|\bsince when\b",
    ),
    (date_words.KOREAN, r"언제|며칠|몇 ?[월일년]|무슨 ?요일"),
    (date_words.JAPANESE, r"いつ(?!も)|何[月日年]|何曜日"),
    (date_words.CHINESE, r"什么时候|什麼時候|何时|何時|哪一?天|几[月号]|哪一?年|星期几|周几"),
    (date_words.INDONESIAN, r"\bkapan\b|\bhari apa\b|\btanggal berapa\b"),
    (date_words.SPANISH, rf"{_EDGE}cu[aá]ndo\b|\bqu[eé] (?:d[ií]a|mes|año)\b"),
    (date_words.GERMAN, r"\bwann\b|\b(?:welche[mnrs]?) (?:tag|monat|jahr)\b"),
    (date_words.FRENCH, rf"{_EDGE}quand\b|\bquel(?:le)? (?:jour|mois|année)\b"),
    (date_words.PORTUGUESE, rf"{_EDGE}quando\b|\bque (?:dia|mês|ano)\b"),
    (date_words.RUSSIAN, r"\bкогда\b|\bкакого числа\b|\bв какой день\b"),
)
_CLOCK = r"(?<!\d)(?:19|20)\d\d(?!\d)|(?<![\d:])\d{1,2}[:/]\d\d(?![\d:])"


def asked_in(question: str) -> Tongue | None:
    """The language in which a text asks when something was or is; ``None``: it does not."""
    low = question[:MAX_CHARS].lower()
    return next((tongue for tongue, words in _asking() if words.search(low)), None)


def tells(text: str, tongue: Tongue) -> bool:
    """Whether a text names a time, in this language or in English."""
    low = text[:MAX_CHARS].lower()
    english = _telling(id(date_words.ENGLISH)).search(low) is not None
    if english or tongue is date_words.ENGLISH or (low.isascii() and not tongue.spaced):
        return english
    return _telling(id(tongue)).search(low) is not None


@cache
def _asking() -> tuple[tuple[Tongue, re.Pattern[str]], ...]:
    return tuple((tongue, re.compile(words)) for tongue, words in _ASKING)


@cache
def _telling(which: int) -> re.Pattern[str]:
    """Of the language with this ``id``: they are constants, and hold what cannot be hashed."""
    tongue = next(one for one, _ in _ASKING if id(one) == which)
    words = [*tongue.said, *tongue.months, *tongue.weekdays]
    if tongue.spaced:  # elsewhere a unit is a character that is in many words
        words += tongue.units
        return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)|{_CLOCK}")
    return re.compile(f"{'|'.join(words)}|{_CLOCK}")
