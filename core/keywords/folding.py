"""One spelling for what is the same word: widths, cases, accents, invisible characters.

Unicode's own forms (NFKC, case folding) do most of it. What they leave apart and people do not:
accents, vowel points, the letters that Arabic keyboards write in several ways.
"""

from __future__ import annotations

import re
import unicodedata

HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Written without spaces, or with endings that stick to the word. No punctuation of theirs.
_JOINED = (
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3031-\u3035\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana
)
_CLUSTERED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17dc-\u17e9"  # Khmer
)
RUN = HAN + _JOINED + _CLUSTERED
"""Inside of a character class: the letters whose runs are cut in 2-grams."""

_MARKED = re.compile(rf"[{_CLUSTERED}]")


def _marks() -> str:
    """Combining marks outside of ``RUN``, for a character class: Python's words have none."""
    run = re.compile(rf"[{RUN}]")
    spans: list[list[int]] = []
    for code in range(0x300, 0x10000):
        char = chr(code)
        if unicodedata.category(char)[0] == "M" and not run.match(char):
            if spans and spans[-1][1] == code - 1:
                spans[-1][1] = code
            else:
                spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


MARKS = _marks()
"""Inside of a character class: what is written onto or around the letter before it."""

# Seen by nobody: joiners, soft hyphens, directions, variation selectors, the Arabic stroke that
# only makes a word longer, skin tones.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u0640\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e01ef]"
)
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1dc0-\u1dff]"
)
_SAME = str.maketrans({
    "đ": "d", "ð": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th",
    "ى": "ي", "ی": "ي", "ې": "ي", "ک": "ك", "ة": "ه", "ۀ": "ه", "ٱ": "ا",
})  # fmt: skip
_ARABIC = re.compile(r"[\u0620-\u06ff]")
_ARTICLE = re.compile(r"^(?:[وفبك]?ال|لل)(?=...)")  # the, and the, by the, for the ...
_KHMER_BELOW = "\u17d2"


def seen(text: str) -> str:
    """``text`` in one width and composition, without what cannot be seen.

    Half-width kana and full-width Latin become the usual ones, syllables that macOS takes apart
    become whole. Lone surrogates stay; they are no part of any word.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def plain(word: str) -> str:
    """A word of ``seen`` text in the one spelling that is indexed and looked for."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFD", word.casefold())
    bare = _ACCENTS.sub("", parts).translate(_SAME)
    bare = unicodedata.normalize("NFC", bare) or word
    return _ARTICLE.sub("", bare) if _ARABIC.match(bare) else bare


def units(run: str) -> list[str]:
    """The characters of a run, each with the marks that are written onto it."""
    if not _MARKED.search(run):
        return list(run)
    found: list[str] = []
    for char in run:
        mark = unicodedata.category(char)[0] == "M" or (found and found[-1][-1:] == _KHMER_BELOW)
        if mark and found:
            found[-1] += char
        else:
            found.append(char)
    return found
