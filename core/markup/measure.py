"""How long a text is, in each unit that matters somewhere. Pure."""

from __future__ import annotations

import unicodedata
from enum import Enum

import regex
from wcwidth import wcswidth

_GRAPHEME = regex.compile(r"\X")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
# Letters by category, but nothing to see.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


class Unit(Enum):
    """What a platform counts."""

    CODE_POINTS = "code points"
    UTF16 = "UTF-16 units"
    BYTES = "UTF-8 bytes"

    def size(self, text: str) -> int:
        """Length of ``text`` (free of lone surrogates) in this unit."""
        if self is Unit.CODE_POINTS or text.isascii():
            return len(text)
        if self is Unit.UTF16:
            return utf16_units(text)
        return utf8_bytes(text)


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript and Discord's own client count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes; a lone surrogate counts as three."""
    return len(text.encode("utf-8", "surrogatepass"))


def graphemes(text: str) -> list[str]:
    """What a reader takes for single characters, in order; joined they give ``text`` back."""
    if text.isascii() and "\r\n" not in text:
        return list(text)
    return _GRAPHEME.findall(text)


def width(text: str) -> int:
    """Columns in a monospace font: 2 for CJK and emoji, 0 for what combines; never negative."""
    if text.isascii():
        return len(text) if text.isprintable() else sum(" " <= ch != "\x7f" for ch in text)
    columns = wcswidth(text)
    if columns >= 0:
        return columns
    # One control character makes the whole unmeasurable: leave those out.
    return max(wcswidth("".join(ch for ch in text if unicodedata.category(ch) != "Cc")), 0)


def visible(text: str) -> bool:
    """Whether anything at all would be seen: not for spaces, zero-width and control characters."""
    return any(
        ch not in _BLANK_LETTERS and unicodedata.category(ch) not in _BLANK_CATEGORIES
        for ch in text
    )


def well_formed(text: str) -> str:
    """``text`` as valid Unicode: surrogate pairs are joined, lone halves become U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
