"""Times that a question names: "last Tuesday", "지난주", "先週", "in March", "2024-03-05". Pure.

A small table for each language (``core.memory.date_words``) finds the span and says in plain
English what it means; ``dateparser`` reads only that. Tried on whole questions it takes "may" and
"set" for months and misses "지난주에".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import islice

from core.memory.date_words import TONGUES, UNITS, Tongue, Unit

MAX_CHARS = 2_000  # of a question that are looked at
MAX_READ = 24  # places in it that are read: each takes some tenths of a millisecond
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_ISO = re.compile(r"(?<![\w.-])((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})(?![\d-])")
_DAY_FIRST = re.compile(r"(?<![\w.-])(\d{1,2})([./])(\d{1,2})\2((?:19|20)\d\d)(?![\w-])")
_FIRST = {"PREFER_DAY_OF_MONTH": "first", "PREFER_MONTH_OF_YEAR": "first", "DATE_ORDER": "DMY"}
_ALWAYS = (-float("inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Span:
    """A time that is named: from ``begin`` until before ``end``, UTC seconds (may be infinite).

    ``at`` is where the words for it stand in the question.
    """

    begin: float
    end: float
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    kind: str
    tongue: Tongue
    unit: Unit = "day"
    back: int = 0


def spans(question: str, now: float, zone: tzinfo = UTC) -> tuple[Span, ...]:
    """The times that a question names, in its order; none of them lies wholly after ``now``.

    Args:
        question: in any language; what no table knows names no time.
        now: the time of the question, UTC seconds.
        zone: the time zone in which it was asked.
    """
    asked = datetime.fromtimestamp(now, zone)
    text = question[:MAX_CHARS]
    taken: list[tuple[int, int]] = []
    found: list[Span] = []
    for begin, end, at, rule in sorted(islice(_all(text, asked), MAX_READ), key=_longest):
        if any(at[0] < other[1] and other[0] < at[1] for other in taken):
            continue
        taken.append(at)
        if begin is not None and end is not None and begin.timestamp() <= now:
            found.append(_opened(text, begin, end, at, rule))
    return _narrowed(sorted(found, key=lambda span: span.at))


def _narrowed(found: Sequence[Span]) -> tuple[Span, ...]:
    """Two that stand side by side and overlap are one time: "작년 12월", "December last year"."""
    kept: list[Span] = []
    for span in found:
        last = kept[-1] if kept else None
        if last and span.at[0] - last.at[1] <= 1:
            begin, end = max(last.begin, span.begin), min(last.end, span.end)
            if begin < end:
                kept[-1] = Span(begin, end, (last.at[0], span.at[1]))
                continue
        kept.append(span)
    return tuple(kept)


_Found = tuple[datetime | None, datetime | None, tuple[int, int], _Rule | None]


def _longest(found: _Found) -> tuple[int, int]:
    return found[2][0] - found[2][1], found[2][0]


def _all(text: str, asked: datetime) -> Iterator[_Found]:
    """Every match of every rule, overlapping ones too; without times where it names none."""
    for match in _ISO.finditer(text):
        yield *_day(int(match[1]), int(match[3]), int(match[4]), asked), match.span(), None
    for match in _DAY_FIRST.finditer(text):
        day, month, year = int(match[1]), int(match[3]), int(match[4])
        if match[2] == "/" and day <= 12:  # read as in the United States where both could be meant
            day, month = month, day
        yield *_day(year, month, day, asked), match.span(), None
    low = text.lower()
    if len(low) != len(text):  # some letters have a longer small form: places would be off
        low = text
    for rule in _rules():
        for match in rule.pattern.finditer(low):
            begin, end = _read(rule, match, asked)
            if begin is not None or rule.kind == "ahead":
                yield begin, end, match.span(), rule


def _read(
    rule: _Rule, match: re.Match[str], asked: datetime
) -> tuple[datetime | None, datetime | None]:
    """What a match means; (None, None) where it is no time at all, or none that has been."""
    parts = {name: said for name, said in match.groupdict().items() if said is not None}
    if rule.kind == "said":
        return _whole(_parsed(f"{rule.back} {rule.unit}s ago", asked), rule.unit)
    if rule.kind == "ago":
        return _around(_number(parts["n"], rule.tongue), UNITS[_which(parts, "u")], asked)
    if rule.kind in ("past_weekday", "week_weekday"):
        weekday = _which(parts, "w")
        back = (asked.weekday() - weekday) % 7 or 7
        if rule.kind == "week_weekday":
            back = asked.weekday() - weekday + 7
        return _whole(_parsed(f"{back} days ago", asked), "day")
    if rule.kind in ("day", "month", "year"):
        said = [parts.get("d", ""), _MONTHS[_which(parts, "m")] if rule.kind != "year" else ""]
        said.append(parts.get("y", ""))
        unit: Unit = "day" if rule.kind == "day" else "month" if rule.kind == "month" else "year"
        return _whole(_parsed(" ".join(filter(None, said)), asked), unit)
    return None, None


def _day(
    year: int, month: int, day: int, asked: datetime
) -> tuple[datetime | None, datetime | None]:
    try:
        return _whole(datetime(year, month, day, tzinfo=asked.tzinfo), "day")
    except ValueError:  # no such day
        return None, None


def _parsed(english: str, asked: datetime) -> datetime | None:
    """What ``dateparser`` makes of a phrase in plain English, said at ``asked``."""
    import dateparser  # a third of a second: not before a question names a time

    read = dateparser.parse(
        english,
        languages=["en"],
        settings={
            "RELATIVE_BASE": asked.replace(tzinfo=None),
            "PREFER_DATES_FROM": "past",
            **({} if english.endswith("ago") else _FIRST),
        },
    )
    return None if read is None else read.replace(tzinfo=asked.tzinfo)


def warm() -> None:
    """Load what reads dates, so that the first question need not wait for it. Blocking."""
    spans("yesterday, on 7 May 2024", 1_700_000_000.0)


def _whole(at: datetime | None, unit: Unit) -> tuple[datetime | None, datetime | None]:
    """The day, week (from Monday), month or year that a time lies in."""
    if at is None:
        return None, None
    begin = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        begin -= timedelta(days=begin.weekday())
        return begin, begin + timedelta(days=7)
    if unit == "month":
        begin = begin.replace(day=1)
        return begin, (begin + timedelta(days=32)).replace(day=1)
    if unit == "year":
        begin = begin.replace(month=1, day=1)
        return begin, begin.replace(year=begin.year + 1)
    return begin, begin + timedelta(days=1)


def _around(number: int, unit: Unit, asked: datetime) -> tuple[datetime | None, datetime | None]:
    """Three days ago is that day; two weeks ago is about then: half a unit before and after."""
    begin, end = _whole(_parsed(f"{number} {unit}s ago", asked), "day")
    half = {"day": 0, "week": 3, "month": 15, "year": 183}[unit]
    if begin is None or end is None:
        return None, None
    return begin - timedelta(days=half), end + timedelta(days=half)


def _opened(
    text: str, begin: datetime, end: datetime, at: tuple[int, int], rule: _Rule | None
) -> Span:
    """With an open end for "since", an open beginning for "before"."""
    first, last = begin.timestamp(), end.timestamp()
    for tongue in (rule.tongue,) if rule else TONGUES:
        if tongue.since and _beside(tongue.since, text, at, rule):
            return Span(first, _ALWAYS[1], at)
        if tongue.until and _beside(tongue.until, text, at, rule):
            return Span(_ALWAYS[0], first, at)
    return Span(first, last, at)


def _beside(words: str, text: str, at: tuple[int, int], rule: _Rule | None) -> bool:
    """Whether one of the words stands where the language puts it beside a time."""
    if rule and rule.tongue.after_it:
        return bool(re.match(rf"\s?(?:{words})", text[at[1] :]))
    said = text[slice(*at)].lower()
    if rule and rule.kind in ("month", "year") and re.match(rf"(?:{words})\s", said):
        return True
    return bool(re.search(rf"(?<!\w)(?:{words})\s+$", text[: at[0]].lower()))


def _number(said: str, tongue: Tongue) -> int:
    if said.isdecimal():
        return min(int(said), 1_000)
    return next(n for word, n in tongue.numbers.items() if re.fullmatch(word, said))


def _which(parts: dict[str, str], letter: str) -> int:
    """Which of the alternatives ``letter0``, ``letter1`` ... matched."""
    return next(int(name[1:]) for name in parts if name[0] == letter and name[1:].isdigit())


@cache
def _rules() -> tuple[_Rule, ...]:
    rules: list[_Rule] = []
    for tongue in TONGUES:
        for words, (unit, back) in tongue.said.items():
            rules.append(_Rule(_compiled(words, tongue), "said", tongue, unit, back))
        for kind in ("ago", "month", "day", "year", "past_weekday", "week_weekday"):
            templates: Sequence[str] = getattr(tongue, kind)
            rules += [_Rule(_compiled(one, tongue), kind, tongue) for one in templates]
        rules += [
            _Rule(_compiled(one, tongue, named=False), "ahead", tongue) for one in tongue.ahead
        ]
    return tuple(rules)


def _compiled(template: str, tongue: Tongue, *, named: bool = True) -> re.Pattern[str]:
    """The pattern of a template, its places filled in; words stand apart where they do."""

    def either(letter: str, options: Sequence[str]) -> str:
        named_ones = (
            f"(?P<{letter}{n}>{one})" if named else f"(?:{one})" for n, one in enumerate(options)
        )
        return f"(?:{'|'.join(named_ones)})"

    def group(letter: str, pattern: str) -> str:
        return f"(?P<{letter}>{pattern})" if named else f"(?:{pattern})"

    numbers = "|".join(sorted(tongue.numbers, key=len, reverse=True)) or "(?!)"
    places = {
        "N": group("n", rf"(?<!\d)\d{{1,3}}|{numbers}"),
        "UNIT": either("u", tongue.units),
        "MONTH": either("m", tongue.months),
        "WEEKDAY": either("w", tongue.weekdays),
        "DAY": group("d", r"(?<!\d)\d{1,2}"),
        "YEAR": group("y", r"(?<!\d)(?:19|20)\d\d(?!\d)"),
    }
    filled = re.sub(r"WEEKDAY|MONTH|UNIT|DAY|YEAR|\bN\b", lambda place: places[place[0]], template)
    filled = filled.replace(" ?", r"\s?").replace(" ", r"\s+")
    if tongue.spaced:
        filled = rf"(?<!\w)(?:{filled})(?![\w])"
    return re.compile(filled)
