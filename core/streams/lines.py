"""Bytes in any cut -> JSON objects, whatever else a CLI prints among them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

MAX_LINE_BYTES = 32 * 2**20
"""A longer line is skipped whole; what follows it is read as usual."""

JsonObject = dict[str, Any]

_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")  # halves of characters as JSON writes them
_DECODER = json.JSONDecoder(strict=False)


class JsonLines:
    """Splits a stream into JSON objects.

    Tolerates: cuts inside a character or a line, no newline at the end, CRLF, a byte-order mark,
    several objects on one line, colour codes and plain text between objects, bytes that are not
    UTF-8 or half a character (replaced). Lines that hold no object are counted in ``noise``; lines
    above ``max_line_bytes`` in ``skipped``, and ``marker`` stands in their place, where there is
    one. No more than the cap is held back between two pieces.
    """

    def __init__(
        self, max_line_bytes: int = MAX_LINE_BYTES, marker: JsonObject | None = None
    ) -> None:
        self._max, self._marker = max_line_bytes, marker
        self._held = bytearray()  # of the line that has begun; not a list: pieces may be tiny
        self._skipping = False
        self.noise = 0
        self.skipped = 0

    def feed(self, data: bytes) -> list[JsonObject]:
        """The objects that ``data`` completes, in order."""
        out: list[JsonObject] = []
        start = 0
        if self._held or self._skipping:
            if (start := data.find(b"\n") + 1) == 0:
                self._hold(data)
                return out
            self._line(data[: start - 1], out)
        start = self._plain_lines(data, start, out)
        while (end := data.find(b"\n", start)) >= 0:
            self._line(data[start:end], out)
            start = end + 1
        if start < len(data):
            self._hold(data[start:])
        return out

    def end(self) -> list[JsonObject]:
        """The objects of a last line without a newline. Call once, at the end of the stream."""
        out: list[JsonObject] = []
        self._line(b"", out)
        return out

    def _hold(self, piece: bytes) -> None:
        if self._skipping or len(self._held) + len(piece) > self._max:
            self._skipping = True
            self._held.clear()
        else:
            self._held += piece

    def _plain_lines(self, data: bytes, start: int, out: list[JsonObject]) -> int:
        """Take whole lines from ``start`` for as long as each is one object; where that ends.

        The ordinary case, decoded at once and without a piece of bytes for each line. Whatever
        is out of the ordinary is left to ``_line``, with all that follows: an object that does not
        end with its line is looked at no more than once, however many of them there are.
        """
        stop = data.rfind(b"\n", start) + 1
        if stop <= start or stop - start > self._max or _HALVES.search(data, start, stop):
            return start
        try:
            text = data[start:stop].decode()
        except ValueError:
            return start
        at, raw_decode, add = 0, _DECODER.raw_decode, out.append
        find, size = text.find, len(text)
        while at < size and text[at] == "{":
            end = find("\n", at)
            try:
                obj, over = raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            if over != end and (over > end or not text[over:end].isspace()):
                break
            add(obj)
            at = end + 1
        return stop if at == size else start + len(text[:at].encode())

    def _line(self, rest: bytes, out: list[JsonObject]) -> None:
        """Take the objects of the line that ends with ``rest``."""
        if self._held or self._skipping or len(rest) > self._max:
            self._hold(rest)
            rest = bytes(self._held)
            self._held.clear()
            if self._skipping:
                self._skipping = False
                self.skipped += 1
                if self._marker is not None:
                    out.append(self._marker)
                return
        found, noise = parse_line(rest)
        if b"\\u" in rest and _HALVES.search(rest):
            for obj in found:
                mend(obj)
        out += found
        self.noise += noise


def parse_line(line: bytes) -> tuple[list[JsonObject], bool]:
    """The JSON objects of one line, and whether it holds anything else that is visible."""
    try:
        if line.startswith(b"{"):  # the ordinary case: the line is one object
            text = line.decode()
            whole, end = _DECODER.raw_decode(text)
            if end == len(text) or text[end:].isspace():
                return [cast("JsonObject", whole)], False
        elif not isinstance(json.loads(line), dict):
            return [], True
    except (ValueError, RecursionError):
        pass
    text = line.decode("utf-8", "replace").lstrip("\ufeff")
    if not text.strip():
        return [], False
    found = list(_objects(text))
    return found, not found


def _objects(text: str) -> Iterator[JsonObject]:
    """Every object that begins at an opening brace outside of an earlier one.

    One that breaks off at the end of the text is none, and what is within it neither. Tries at
    most 64 braces and four times the text, so that a long line of garbage costs little.
    """
    text = text.rstrip()
    cut = len(text) - 4  # a number, a string or "false" may break off, too
    at = text.find("{")
    tries, patience = 64, 4 * len(text)
    while at >= 0 and tries and patience > 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string"):
                return
            if error.pos >= cut and "{" not in text[error.pos :]:
                return
            patience -= error.pos - at
        except (ValueError, RecursionError):  # a number of thousands of digits; too deep
            pass
        else:
            yield cast("JsonObject", value)
            at = text.find("{", end)
            continue
        tries -= 1
        at = text.find("{", at + 1)


def get(obj: object, *path: str) -> Any:
    """Follow keys through nested objects; ``None`` where one is missing or is no object."""
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


def part_of(obj: JsonObject, key: str) -> JsonObject:
    """The object at ``key``, or an empty one. For what is looked at in every event."""
    value: Any = obj.get(key)
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def text_of(obj: object, *path: str) -> str:
    """The string at ``path``, or "" (never ``None``, never another type)."""
    value: Any = obj  # as in ``get``: this is called several times for each event
    for key in path:
        if not isinstance(value, dict):
            return ""
        value = value.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value if isinstance(value, str) else ""


def int_of(obj: object, *path: str) -> int:
    """The whole number at ``path``, or 0."""
    return int(float_of(obj, *path))


def float_of(obj: object, *path: str) -> float:
    """The number at ``path``, or 0.0."""
    value = get(obj, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) < 1e15 else 0.0  # false for NaN as well


def list_of(obj: object, *path: str) -> list[JsonObject]:
    """The objects in the list at ``path``; other members are left out."""
    value = get(obj, *path)
    if not isinstance(value, list):
        return []
    return [cast("JsonObject", v) for v in cast("list[object]", value) if isinstance(v, dict)]


def texts_of(obj: object, *path: str) -> list[str]:
    """The strings in the list at ``path``; other members are left out."""
    value = get(obj, *path)
    if not isinstance(value, list):
        return []
    return [v for v in cast("list[object]", value) if isinstance(v, str)]


def mend(obj: JsonObject) -> None:
    """Make all texts in ``obj``, keys too, whole (see ``whole_characters``), however deep."""
    todo: list[Any] = [obj]
    while todo:
        part = todo.pop()
        for key, value in list(_items(part)):
            if isinstance(value, str):
                part[key] = whole_characters(value)
            elif isinstance(value, dict | list):
                todo.append(value)
            if isinstance(key, str) and (whole := whole_characters(key)) != key:
                part[whole] = part.pop(key)


def _items(part: object) -> Iterable[tuple[Any, Any]]:
    if isinstance(part, dict):
        return cast("JsonObject", part).items()
    return enumerate(cast("list[Any]", part))


def whole_characters(text: str) -> str:
    """``text`` with pairs of surrogates joined and lone halves replaced by U+FFFD.

    JSON may hold escapes of half a character, which no platform and no file can take.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
