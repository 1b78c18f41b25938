"""Secrets are taken out of everything that is shown, stored, remembered or logged. PURE.

Two nets: the values that this house knows (tokens of the chats, keys in the environment, tokens of
Pulls), in any dress a program gives them (JSON, URL, base64 of "user:token"), and shapes that only
credentials have (``core.shapes``). Honest text stays whole: ids, hashes, placeholders, code that
handles secrets.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote, quote_plus, urlsplit

from core.shapes import MASK, is_placeholder, redact_shapes

__all__ = [
    "MASK",
    "Flow",
    "Secrets",
    "is_placeholder",
    "known",
    "learn",
    "redact",
    "redact_shapes",
    "redact_within",
    "secret_values",
]

MIN_CHARS = 8  # of a value that is looked for; a shorter one would hit honest words

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE)?KEYS?(?:$|_)|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)AUTH(?:$|_)",
    re.IGNORECASE,
)
_WORDS = frozenset(
    [
        "password",
        "passwd",
        "secret",
        "token",
        "changeme",
        "example",
        "placeholder",
        "undefined",
        "localhost",
        "development",
        "production",
        "required",
        "disabled",
        "optional",
        "credentials",
        "postgres",
        "dummy",
        "dummies",
        "testtest",
    ]
)


def secret_values(environ: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The values of variables whose names look like credentials, and passwords in addresses."""
    found: set[str] = set()
    for name, value in environ:
        if _is_secret(name) and not value.startswith(("/", "~/")) and not value.isdigit():
            found.add(value)
        if "://" in value and "@" in value:
            found.add(_password_in(value))
    return frozenset(v for v in found if len(v) >= MIN_CHARS and v.lower() not in _WORDS)


@lru_cache(maxsize=4096)  # the same names for every run
def _is_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def _password_in(address: str) -> str:
    try:
        password = urlsplit(address).password or ""
    except ValueError:
        return ""
    return "" if is_placeholder(password) else password


class Secrets:
    """Known values, ready to be looked for."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(value for value in values if len(value) >= MIN_CHARS)
        forms = [_forms(value) for value in self.values]
        plain = frozenset[str]().union(*(form[0] for form in forms))
        encoded = frozenset[str]().union(*(form[1] for form in forms))
        self._plain = tuple(sorted(plain, key=len, reverse=True))
        self._encoded = tuple(sorted(encoded, key=len, reverse=True))
        self._longest = max(map(len, self._plain), default=0)
        self._shortest = min(map(len, (*self._plain, *self._encoded)), default=sys.maxsize)
        self._by_first: dict[str, list[str]] = {}
        for value in self._plain:
            self._by_first.setdefault(value[0], []).append(value)
        firsts = "".join(re.escape(c) for c in sorted(self._by_first))
        self._first = re.compile(f"[{firsts}]") if firsts else _NEVER

    def mask(self, text: str) -> str:
        """``text`` without any of the values."""
        if len(text) < self._shortest:
            return text
        if any(value in text for value in self._plain):
            text = _without(text, self._plain)
        if self._encoded and any(piece in text for piece in self._encoded):
            text = _BASE64.sub(self._unless_encoded, text)
        return text

    def _unless_encoded(self, run: re.Match[str]) -> str:
        return MASK if any(piece in run[0] for piece in self._encoded) else run[0]

    def held_back(self, text: str) -> int:
        """How many characters at the end of ``text`` may be, or may go on to be, a part of a value.

        A value that begins a longer one is among them, and is not cut.
        """
        if not self._longest:
            return 0
        for found in self._first.finditer(text, max(0, len(text) - self._longest + 1)):
            rest = text[found.start() :]
            if any(v.startswith(rest) and v != rest for v in self._by_first[found[0]]):
                return len(text) - self._before_value(text, found.start())
        return 0

    def _before_value(self, text: str, cut: int) -> int:
        """``cut``, or where the value begins that would be cut there."""
        again = True
        while again:
            again = False
            for value in self._plain:
                at = text.find(value, max(0, cut - len(value) + 1), cut + len(value) - 1)
                if 0 <= at < cut:
                    cut, again = at, True
        return cut


def _without(text: str, values: Iterable[str]) -> str:
    """With values that overlap, or begin one another, taken out as one."""
    spans: list[tuple[int, int]] = []
    for value in values:
        at = text.find(value)
        while at >= 0:
            spans.append((at, at + len(value)))
            at = text.find(value, at + len(value))
    parts: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start >= end:
            parts += (text[end:start], MASK)
        end = max(end, stop)
    return "".join((*parts, text[end:]))


_NEVER = re.compile(r"(?!)")
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{10,}+={0,2}")


@lru_cache(maxsize=64)  # a run looks for one value more than the run before
def _forms(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """Of a value: what stands for it in texts, and the same in base64."""
    return frozenset((value, *_dresses(value))), frozenset(_base64_pieces(value))


def _dresses(value: str) -> set[str]:
    """``value`` as JSON, as a part of an address and in hex."""
    in_hex, escaped = value.encode().hex(), quote(value, safe="")
    found = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value),
             escaped, _ESCAPE.sub(lambda one: one[0].lower(), escaped), quote_plus(value), in_hex,
             in_hex.upper()}  # fmt: skip
    return found - {value}


def _base64_pieces(value: str) -> set[str]:
    """What the base64 of any text that holds ``value`` holds, wherever in it the value stands."""
    found: set[str] = set()
    raw = value.encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        start = -(-before * 8 // 6)  # these characters are shared with what stands before
        end = (before + len(raw)) * 8 // 6
        piece = whole[start:end]
        if len(piece) >= 10:
            found |= {piece, piece.replace("+", "-").replace("/", "_")}
    return found


class Flow:
    """A text that comes in pieces: a value that is cut by them is not shown either."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now of all that came so far."""
        text = self._held + piece
        cut = len(text) - self._secrets.held_back(text)
        self._held = text[cut:]
        return self._secrets.mask(text[:cut])

    def end(self) -> str:
        """What was held back: the text is over."""
        held, self._held = self._held, ""
        return self._secrets.mask(held)


# --- what this house knows -------------------------------------------------------------------

_known = Secrets(())  # one process, one environment: every door looks for the same values


def learn(values: Iterable[str]) -> None:
    """Look for these values from now on, beside those known before."""
    global _known
    more = frozenset(value for value in values if len(value) >= MIN_CHARS)
    if not more <= _known.values:
        _known = Secrets(_known.values | more)


def known(extra: Iterable[str] = ()) -> Secrets:
    """The known values, and ``extra`` ones (of one run)."""
    more = frozenset(extra)
    return Secrets(_known.values | more) if more - _known.values else _known


# --- texts ------------------------------------------------------------------------------------


def redact(text: str, secrets: Iterable[str] | Secrets = ()) -> str:
    """``text`` without known secret values and without anything shaped like a credential.

    ``secrets`` are looked for beside those that were learnt (``learn``).
    """
    if len(text) < MIN_CHARS:
        return text
    found = secrets if isinstance(secrets, Secrets) else known(secrets)
    return redact_shapes(found.mask(text))


def redact_within(value: Any) -> Any:
    """The same for every text in a JSON-able value (keys stay)."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {key: redact_within(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        items = [redact_within(item) for item in cast("Iterable[Any]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    return value
