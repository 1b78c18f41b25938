"""Bytes in any cut -> JSON objects, whatever else a CLI prints among them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, cast

MAX_LINE_BYTES = 32 * 2**20
"""A longer line is skipped whole; what follows it is read as usual."""

JsonObject = dict[str, Any]

_DECODER = json.JSONDecoder(strict=False)


class JsonLines:
    """Splits a stream into JSON objects.

    Tolerates: cuts inside a character or a line, no newline at the end, CRLF, a byte-order mark,
    several objects on one line, colour codes and plain text between objects, bytes that are not
    UTF-8 (replaced). Lines that hold no object are counted in ``noise``; lines above
    ``max_line_bytes`` in ``skipped``. Memory is bounded by about that size.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.noise = 0
        self.skipped = 0

    def feed(self, data: bytes) -> list[JsonObject]:
        """The objects that ``data`` completes, in order."""
        out: list[JsonObject] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._hold(data[start:end])
            out += self._line()
            start = end + 1
        self._hold(data[start:])
        return out

    def end(self) -> list[JsonObject]:
        """The objects of a last line without a newline. Call once, at the end of the stream."""
        return self._line()

    def _hold(self, piece: bytes) -> None:
        if self._skipping or not piece:
            return
        self._size += len(piece)
        if self._size > self._max:
            self._skipping = True
            self._parts.clear()
        else:
            self._parts.append(piece)

    def _line(self) -> list[JsonObject]:
        skipping, line = self._skipping, b"".join(self._parts)
        self._parts.clear()
        self._size, self._skipping = 0, False
        if skipping:
            self.skipped += 1
            return []
        found, noise = parse_line(line)
        self.noise += noise
        return found


def parse_line(line: bytes) -> tuple[list[JsonObject], bool]:
    """The JSON objects of one line, and whether it holds anything else that is visible."""
    try:  # the ordinary case: the line is one object
        whole = json.loads(line)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, dict):
            return [cast("JsonObject", whole)], False
        return [], True
    text = line.decode("utf-8", "replace").lstrip("\ufeff")
    if not text.strip():
        return [], False
    found = list(_objects(text))
    return found, not found


def _objects(text: str) -> Iterator[JsonObject]:
    """Every object that begins at an opening brace outside of an earlier one.

    Tries at most 64 braces, so that a long line of garbage costs little.
    """
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < 64:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            tries += 1
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            yield cast("JsonObject", value)
        at = text.find("{", end)


def get(obj: object, *path: str) -> Any:
    """Follow keys through nested objects; ``None`` where one is missing or is no object."""
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


def text_of(obj: object, *path: str) -> str:
    """The string at ``path``, or "" (never ``None``, never another type)."""
    value: Any = obj  # as in ``get``: this is called several times for each event
    for key in path:
        if not isinstance(value, dict):
            return ""
        value = value.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else whole_characters(value)


def int_of(obj: object, *path: str) -> int:
    """The whole number at ``path``, or 0."""
    return int(float_of(obj, *path))


def float_of(obj: object, *path: str) -> float:
    """The number at ``path``, or 0.0."""
    value = get(obj, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if math.isfinite(value) and abs(value) < 1e15 else 0.0


def list_of(obj: object, *path: str) -> list[JsonObject]:
    """The objects in the list at ``path``; other members are left out."""
    value = get(obj, *path)
    if not isinstance(value, list):
        return []
    return [cast("JsonObject", v) for v in cast("list[object]", value) if isinstance(v, dict)]


def whole_characters(text: str) -> str:
    """``text`` with pairs of surrogates joined and lone halves replaced by U+FFFD.

    JSON may hold escapes of half a character, which no platform and no file can take.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
