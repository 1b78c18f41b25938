"""When a used-up quota comes back: read from a notice, as text with its zone and as a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Offsets of the abbreviations that mean one thing, in hours. ("IST" and "BST" do not.)
_OFFSETS = {
    "UTC": 0, "GMT": 0, "Z": 0, "KST": 9, "JST": 9, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AEST": 10, "AEDT": 11, "SGT": 8, "HKT": 8,
}  # fmt: skip
_NAMED = {
    "PT": "America/Los_Angeles", "PACIFIC": "America/Los_Angeles", "MT": "America/Denver",
    "MOUNTAIN": "America/Denver", "CT": "America/Chicago", "CENTRAL": "America/Chicago",
    "ET": "America/New_York", "EASTERN": "America/New_York", "한국": "Asia/Seoul",
}  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS = {
    "mo": 30 * 86_400, "w": 7 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1,
    "주": 7 * 86_400, "일": 86_400, "시": 3_600, "분": 60, "초": 1,
}  # fmt: skip
_LOOK_CHARS = 2_000

_EPOCH = re.compile(r"\|(\d{10}|\d{13})\b")
_ISO = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_SPAN = (
    r"(?:(?<![\d.])\d{1,9}(?:\.\d{1,9})?\s?(?:months?|weeks?|wks?|days?|hours?|hrs?|minutes?|mins?"
    r"|seconds?|secs?|[wdms](?![a-z])|h(?![a-z]|\d\d(?![\dms]))))"
)
_SPANS = rf"{_SPAN}(?:,?\s?(?:and\s)?{_SPAN})*"
_SPANS_KO = r"(?:(?<!\d)\d{1,9}\s?(?:주일?|일|시간|분|초)\s?)+(?=후|뒤|이내)"
_IN_KO = re.compile(rf"{_SPANS_KO}|^in (?:\d{{1,9}}\s?(?:주일?|일|시간|분|초)\s?)+$")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = (
    r"(?:mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs?|rsday)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)\b"
)
# "12/3" is December or March: it is told as it stands, and no time is computed from it.
_SLASHED = r"\d{1,2}/\d{1,2}(?:/\d{2,4})?(?!\s*(?:오전|오후|\d{1,2}\s?시))"
_DATE = (
    rf"(?:{_DAY},?\s)?{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?"
    rf"|(?:{_DAY},?\s)?\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s\d{{4}})?"
    rf"|\d{{4}}-\d{{2}}-\d{{2}}|{_SLASHED}|tomorrow\b|today\b|{_DAY}"
)
_DATE_KO = r"(?:\d{4}\s?[년.]\s?)?\d{1,2}\s?[월./]\s?\d{1,2}(?:\s?일|\.)?|내일|오늘"
_HOUR = (
    r"\d{1,2}(?::\d{2}){0,2}\s?[ap]\.?m\b\.?|\d{1,2}:\d{2}(?::\d{2})?|midnight|noon"
    r"|(?<!in )(?<!after )\d{1,2}h\d{2}\b"
)
_HOUR_KO = (
    r"(?:오전|오후)\s*\d{1,2}(?:(?::\d{2})|(?:\s*시(?:\s*\d{1,2}\s*분)?))"
    r"|\d{1,2}\s*시(?!간)(?:\s*\d{1,2}\s*분)?"
)
_ZONE = (
    r"\(?\s*(?P<zone>[A-Za-z]+/[A-Za-z_+-]+(?:/[A-Za-z_]+)?"
    r"|(?:UTC|GMT)\s*[+-]\s*\d{1,2}(?::?\d{2})?|[+-]\d{2}:?\d{2}"
    r"|Pacific|Mountain|Central|Eastern|한국"
    r"|Z\b|P[SD]?T\b|M[SD]T\b|C[SD]T\b|E[SD]T\b|ET\b|CT\b|MT\b|[A-Z]{3,4}\b)"
    r"(?:\s*(?:Standard |Daylight )?(?:time|시간|표준시))?\s*\)?"
)
# What stands before a time that tells of the end of a limit.
_LEAD = (
    r"(?:(?:will\s+)?(?:be\s+)?(?:resets?|reset|renews?|refresh(?:es)?|lifts?|available|expires?)"
    r"(?:\s+again)?|try(?:\s+\w+){0,2}\s+again|retry(?:ing)?|retry[-_ ]?(?:after|delay)\W{0,4}"
    r"|come\s+back|wait(?:\s+until)?|until|again)"
)
_NEAR = r"(?:(?:about|around|approximately)\s)?~?"
_AFTER = rf"[\s:]{{0,3}}(?:(?:at|on|in|after|by|until)\b[\s:]{{0,3}})?{_NEAR}"
_WHEN = (
    rf"(?:(?P<date>{_DATE})(?:,?\s(?:at\s)?|T))?(?P<hour>{_HOUR})"
    rf"|(?P<date_ko>{_DATE_KO})?\s?(?P<hour_ko>{_HOUR_KO})|(?P<day>{_DATE})"
)
_THEN = r",?\s(?:on\s)?"
# A time, its zone, and the day where that comes last: "9am tomorrow", "9am (UTC) on Monday".
_STANDS = (
    rf"(?P<at>(?P<iso>{_ISO})|{_WHEN})"
    rf"(?:{_THEN}(?P<then>{_DATE})(?!\s?\d))?(?:\s?{_ZONE})?(?:{_THEN}(?P<last>{_DATE})(?!\s?\d))?"
)
_RELATIVE = re.compile(
    rf"(?:{_LEAD})[\s:]{{0,3}}(?:(?:in|after)\b[\s:]{{0,3}})?{_NEAR}(?P<span>{_SPANS})"
    rf"|(?:{_LEAD})\s(?:in|after)\s{_NEAR}(?P<clock>\d{{1,3}}h\d\d)\b",
    re.IGNORECASE,
)
_HEADER = re.compile(  # an HTTP header, or a field: seconds, or milliseconds
    r"retry[-_ ]?after(?P<ms>[-_ ]?ms)?(?P<secs>[-_ ]?s(?:ec(?:ond)?s?)?)?[\"']?\s?[:=]\s?[\"']?"
    r"(?P<bare>\d{1,10}(?:\.\d{1,9})?)(?![\d:.-]*\d|\s?[a-z])",
    re.IGNORECASE,
)
_IN = re.compile(rf"in (?:(?P<span>{_SPANS})|(?P<clock>\d{{1,3}}h\d\d))$", re.IGNORECASE)
_ABSOLUTE = re.compile(rf"(?:{_LEAD}){_AFTER}{_STANDS}", re.IGNORECASE)
_BARE = re.compile(_STANDS, re.IGNORECASE)
_KOREAN = re.compile(
    rf"(?P<at>(?P<iso>{_ISO})|(?P<date_ko>{_DATE_KO})?\s*(?P<hour_ko>{_HOUR_KO})"
    rf"|(?P<date>{_DATE}),?\s*(?P<hour>{_HOUR}))"
    rf"\s*(?:{_ZONE})?\s*(?:에|이후|부터|까지)"
)  # a time with a Korean particle: "오후 3시에 초기화됩니다"
_HERE = "(this host's time)"
_MINUTES_S = 900.0
_JUST_NOW_S = 600.0  # "3pm", read some minutes after three, is not tomorrow


def reset_time(text: str) -> str:
    """When a quota error says that it ends, as text with its zone, or ""."""
    text = _short(text)
    if found := _EPOCH.search(text):
        return _utc(int(found[1][:10]))
    if found := _HEADER.search(text):
        seconds = float(found["bare"]) / (1_000 if found["ms"] else 1)
        # What is no span of at most a year is a moment.
        return _utc(int(seconds)) if seconds > 31_622_400 else f"in {max(1, round(seconds))}s"
    if found := re.search(_SPANS_KO, text):
        return f"in {found[0].strip()}"
    if found := _RELATIVE.search(text):
        return f"in {found['span'] or found['clock'] + 'm'}"
    if found := _ABSOLUTE.search(text) or _KOREAN.search(text):
        parts, zone = found.groupdict(), _zone_name(found["zone"])
        day = parts.get("then") or parts.get("last")
        at = f"{found['at'].strip()} {day}" if day else found["at"].strip()
        # "not available in AUTO mode" and the like: a word is a zone only after a time
        return f"{at.rstrip('.,')} {zone or _HERE}"
    return ""


def reset_moment(told: str, now: float) -> float:
    """``told`` (as ``reset_time`` gives it, or a notice) as UTC seconds; 0.0 when not computable.

    ``now`` in UTC seconds. A time without a date is the next such one; without a zone it is taken
    as this host's.
    """
    try:
        return _moment(_short(told), now)
    except (ValueError, OverflowError, OSError):  # the 31st of February, the year 99999
        return 0.0


def is_far(told: str) -> bool:
    """Whether ``told`` (as ``reset_time`` gives it) is no matter of some minutes."""
    return bool(told) and (not told.startswith("in ") or _seconds(told) > _MINUTES_S)


def _moment(told: str, now: float) -> float:
    if found := _EPOCH.search(told):
        return float(found[1][:10])
    if found := _IN_KO.search(told):
        return now + _seconds(found[0])
    if found := _IN.match(told) or _RELATIVE.search(told):
        return now + _seconds(found["span"] or f"{found['clock']}m")
    found = _BARE.match(told) or _ABSOLUTE.search(told) or _KOREAN.search(told)
    if found is None:
        return 0.0
    zone = _zone(found["zone"])
    if found["zone"] and zone is None and _zone_name(found["zone"]):
        return 0.0  # a zone that we do not know
    if found["iso"]:
        return _at(datetime.fromisoformat(found["iso"]), zone)
    parts = found.groupdict()
    return _next(parts, zone, now)


def _next(parts: dict[str, str | None], zone: tzinfo | None, now: float) -> float:
    """The moment of a date and a clock, either of which may be missing."""
    here = datetime.fromtimestamp(now, zone) if zone else datetime.fromtimestamp(now)  # noqa: DTZ006
    here = here.replace(tzinfo=None)
    hour, minute = _clock(parts.get("hour") or parts.get("hour_ko") or "00:00")
    names = ("date", "date_ko", "day", "then", "last")
    date = next((parts[name] or "" for name in names if parts.get(name)), "").lower()
    if not parts.get("date_ko") and "/" in date:
        return 0.0  # the month first, or the day: nobody knows
    at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    late = here - timedelta(seconds=_JUST_NOW_S)
    if not date:
        return _at(at if at >= late else at + timedelta(days=1), zone)
    if date in ("today", "오늘"):
        return _at(at, zone)
    if date in ("tomorrow", "내일"):
        return _at(at + timedelta(days=1), zone)
    if (month := next((n for n, m in enumerate(_MONTHS, 1) if re.search(rf"\b{m}", date)), 0)) or (
        re.search(r"\d+\s*[-월./]", date)
    ):
        numbers = [int(n) for n in re.findall(r"\d+", date)]
        year = next((n for n in numbers if n > 31), 0)
        rest = [n for n in numbers if n <= 31]
        on = (month, rest[0]) if month else (rest[0], rest[1])
        at = at.replace(year=year or here.year, month=on[0], day=on[1])
        if not year and at < here - timedelta(days=180):
            at = at.replace(year=here.year + 1)
        return _at(at, zone)
    day = next(n for n, d in enumerate(_DAYS) if date.startswith(d))
    at += timedelta(days=(day - at.weekday()) % 7)
    return _at(at if at >= late else at + timedelta(days=7), zone)


def _clock(text: str) -> tuple[int, int]:
    low = text.lower()
    if low in ("midnight", "noon"):
        return (0 if low == "midnight" else 12), 0
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    hour, minute = numbers[0], (numbers[1] if len(numbers) > 1 else 0)
    if re.search(r"p\.?m|오후", low):
        hour = hour % 12 + 12
    elif re.search(r"a\.?m|오전", low):
        hour %= 12
    return hour, minute


def _short(text: str) -> str:
    """``text`` with single blanks; of a long one its beginning and its end, which say it."""
    if len(text) > 2 * _LOOK_CHARS:
        text = f"{text[:_LOOK_CHARS]} … {text[-_LOOK_CHARS:]}"
    return " ".join(text.split())


def _seconds(span: str) -> float:
    found = re.findall(r"(\d+(?:\.\d+)?)\s*(주|일|시|분|초|mo|[wdhms])", span, re.IGNORECASE)
    return sum(float(n) * _UNITS[unit.lower()] for n, unit in found)


def _zone_name(found: str | None) -> str:
    """A zone as it is shown; "" for a word that is none."""
    if not found:
        return ""
    name = found.strip(" ()")
    known = _zone(name) is not None or "/" in name or (name.isupper() and len(name) in (3, 4))
    return name if known else ""


def _zone(found: str | None) -> tzinfo | None:
    name = (found or "").strip(" ()")
    upper = name.upper().replace(" ", "")
    if upper in _OFFSETS and (name.isupper() or len(name) > 3):
        return timezone(timedelta(hours=_OFFSETS[upper])) if _OFFSETS[upper] else UTC
    if offset := re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", upper):
        away = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(-away if offset[1] == "-" else away)
    name = _NAMED.get(upper, name)
    if "/" not in name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _at(when: datetime, zone: tzinfo | None) -> float:
    """A clock's time in a zone (``None``: this host's) as UTC seconds."""
    return (when.replace(tzinfo=zone) if zone else when).timestamp()


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
