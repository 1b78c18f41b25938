"""What an embedder is given, whatever somebody wrote: short, of whole characters, without noise.

Why: a text is cut at a NUL by one engine, a lone surrogate raises in another, and a pasted log of
20,000 tokens takes 48 s (measured; docs/decisions/0067).
"""

from __future__ import annotations

import unicodedata

import regex

MAX_CHARS = 2_000
_READ_CHARS = 50_000  # of one text; no chat takes longer ones

_CLUSTER = 64  # characters that are read as one; more of them are torn
_MARKS = regex.compile(r"(\p{M}{8})\p{M}+")  # letters buried in marks
# Control characters, those that turn the direction or are not seen, and what Unicode has no
# character for. Not the joiners, which words of some scripts and emoji are spelt with.
_UNSEEN = regex.compile(
    r"[\p{Cc}\p{Co}\p{Cn}\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffd]"
)
_URL = regex.compile(
    r"(?P<head>\b[a-z][a-z0-9+.-]{1,9}://[^\s/<>]{1,80})(?P<rest>[^\s<>|)\]\"']*)", regex.I
)
_DATA = regex.compile(r"\bdata:[\w/+.-]{1,60};base64,[A-Za-z0-9+/=_-]*", regex.I)
_PATH_CHARS = 60  # of an address: what it is about stands in front
# No word of a language is spelt with so many Latin letters and digits: base64, hashes, tokens.
_BLOB = regex.compile(
    r"(?<![\w/+=-])(?=[A-Za-z+/=_-]*\d)[A-Za-z0-9+/=_-]{40,}(?![\w/+=-])|[A-Za-z0-9+/=]{200,}"
)
_AGAIN = regex.compile(r"([^\w\s])\1{3,}")  # ====, ----, ....
_LETTER_AGAIN = regex.compile(r"(\w)\1{7,}")
_FRAMES = 3  # lines of a stack or a log that look the same; what is thrown stands around them
_DIGITS = regex.compile(r"0x[0-9a-f]+|\d+", regex.I)
_FRAME = regex.compile(
    r"\s*(at\s+\S+[(:]|File \"|\.{3}\s*\d+ more|#\d+\s|in\s+\S+:\d+|goroutine\s)"
)


def clean(text: str) -> str:
    """``text`` as an embedder may have it: at most ``MAX_CHARS`` characters on one line, NFC.

    "" for what holds nothing that can be seen. Takes some milliseconds at most, whatever it is.
    """
    whole = text[:_READ_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole = unicodedata.normalize("NFC", whole)
    whole = _MARKS.sub(r"\1", whole)
    whole = "\n".join(_lines(whole))
    whole = _UNSEEN.sub(" ", whole)
    whole = _DATA.sub(" ", whole)
    whole = _URL.sub(_short_url, whole)
    whole = _BLOB.sub(" ", whole)
    whole = _AGAIN.sub(r"\1\1\1", whole)
    whole = _LETTER_AGAIN.sub(r"\1\1\1", whole)
    return cut(unicodedata.normalize("NFC", " ".join(whole.split())), MAX_CHARS)


def cut(text: str, chars: int) -> str:
    """The first ``chars`` characters, without half of what is read as one (such as an emoji)."""
    if len(text) <= chars:
        return text
    start = max(0, chars - _CLUSTER)
    near = regex.finditer(r"\X", text[start : chars + _CLUSTER])
    ends = (start + found.end() for found in near)
    return text[: max((end for end in ends if end <= chars), default=chars)].rstrip()


def _short_url(found: regex.Match[str]) -> str:
    rest = found["rest"].partition("?")[0].partition("#")[0]
    return found["head"] + rest[:_PATH_CHARS]


def _lines(text: str) -> list[str]:
    """The lines of ``text``, of those that look the same (a stack, a log) only the first few."""
    kept: list[str] = []
    alike: dict[str, int] = {}
    frames = 0
    for line in text.splitlines():
        shape = _DIGITS.sub("0", line.strip())
        alike[shape] = alike.get(shape, 0) + 1
        is_frame = _FRAME.match(line) is not None
        frames += is_frame
        if (shape and alike[shape] > _FRAMES) or (is_frame and frames > _FRAMES):
            continue
        kept.append(line)
    return kept
