r"""Pull markers: what an agent asks for in its answer, and keeping everybody else's words inert.

A marker is a line of its own, indented by at most three spaces, outside code, quotes and comments:

    <!-- pull:memory: why did we choose JWT -->

``tunaflow:tool-request:KIND:QUERY`` on a line of its own (bare or in a comment) is the same thing.
Only the agent's own final text is ever read for markers; text that comes from anywhere else goes
through ``neutralise`` before an agent sees it.

What stands in the open is decided by ``core.ground``. Blocks (``core.blocks``) are taken out before
markers are read, in a stream and in the whole alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from copy import copy

from core.ground import BLOCK_WORDS, BlockSieve, Ground, lines_of
from core.model import Pull

KINDS = (
    "messages",
    "memory",
    "sessions",
    "skill",
    "code",
    "graph",
    "docs",
    "plan",
    "artifact",
    "finding",
)
MAX_PULLS = 3
MAX_QUERY_CHARS = 300
MAX_LINE_CHARS = 1_000

_ANY_CASE = re.IGNORECASE | re.ASCII  # a long s (ſ) is no s, in a stream as in the whole
_PULL = "pull:"
_LEGACY = "tunaflow:tool-request:"
_COMMENT = re.compile(r"<!--[ \t]*(pull:|tunaflow:tool-request:)((?:(?!-->).)*)-->", _ANY_CASE)
_BARE = re.compile(r"tunaflow:tool-request:[ \t]*[\w-]+[ \t]*:.*", _ANY_CASE)
_LIVE = re.compile(
    rf"(<!--\s*)(pull\s*:|{'|'.join(BLOCK_WORDS)})|(?<!quoted-)(tunaflow:tool-request:)",
    re.IGNORECASE,
)


# --- markers -----------------------------------------------------------------------------


def split_markers(
    answer: str, *, already: Iterable[Pull] = (), limit: int = MAX_PULLS
) -> tuple[str, tuple[Pull, ...]]:
    """Take the markers out of an agent's final answer.

    Every marker is taken out of the text, with its line end; all else stays byte for byte.

    Args:
        answer: what the agent wrote, without its blocks.
        already: pulls asked before in this chain; the same kind and normalised query again is
            not asked twice.
        limit: how many of the answer's pulls are read; further ones are dropped.

    Returns:
        The text for people, and the pulls in order, each once. A pull may be of an unknown kind or
        have a bad query: ``problem`` tells.
    """
    ground = Ground()
    kept: list[str] = []
    found: dict[tuple[str, str], Pull] = {}
    asked = {identity(pull) for pull in already}
    for line in lines_of(answer):
        pull = _read(line) if ground.step(line) else None
        if pull is None:
            kept.append(line)
        elif identity(pull) not in asked and len(found) < limit:
            found.setdefault(identity(pull), pull)
    return "".join(kept), tuple(found.values())


def problem(pull: Pull, kinds: Collection[str] = KINDS) -> str:
    """What is wrong with a pull, in words for the agent; "" if it can be resolved.

    Args:
        pull: as ``split_markers`` gave it.
        kinds: what may be asked for in this run.
    """
    allowed = f"ask as <!-- pull:KIND: query -->, with KIND one of: {', '.join(kinds)}"
    if pull.kind not in kinds:
        return f"this kind is not available; {allowed}"
    if not pull.query:
        return f"the query is empty; {allowed}"
    if len(pull.query) > MAX_QUERY_CHARS:
        return f"the query is longer than {MAX_QUERY_CHARS} characters; ask shorter"
    return ""


def neutralise(text: str) -> str:
    """Make every marker and block in ``text`` inert, visibly: ``pull:`` becomes ``quoted-pull:``.

    Nothing else is touched; of comments that begin with a block's word, the word (cut off anywhere,
    the rest might be one). Also markers in code and in mid-line are changed, since an agent that
    copies them onto a line of their own would make them live. Doing it twice changes nothing more.
    """
    if "<!--" in text or "tunaflow" in text.lower():  # far cheaper than the pattern, and rare
        return _LIVE.sub(_quoted, text)
    return text


def _quoted(match: re.Match[str]) -> str:
    if match[3]:
        return f"quoted-{match[3]}"
    return f"{match[1]}quoted-{match[2]}"


def _read(line: str) -> Pull | None:
    """The pull of a line that stands in the open, if it is a marker."""
    body = line.strip(" \t\r\n")
    if len(line) > MAX_LINE_CHARS:
        return None
    comment = _COMMENT.fullmatch(body)
    if comment:
        inner = comment[2]
    elif _BARE.fullmatch(body):
        inner = body[len(_LEGACY) :]
    else:
        return None
    kind, _, query = inner.partition(":")
    return Pull(kind.strip().lower(), query.strip())


def identity(pull: Pull) -> tuple[str, str]:
    """Kind and normalised query: width, case and spaces do not make a question new."""
    folded = unicodedata.normalize("NFKC", pull.query).casefold()
    return pull.kind, " ".join(folded.split())


# --- streams -----------------------------------------------------------------------------


class Holdback:
    """Filters a stream of answer text so that no part of a marker or a block is ever shown.

    Holds back only what may still become one. All that ``feed`` returned plus ``flush`` is exactly
    what ``split_markers`` leaves of the text that ``core.blocks.split_blocks`` left of the whole.
    """

    def __init__(self) -> None:
        self._blocks = BlockSieve()
        self._ground = Ground()
        self._held = ""
        self._shown: list[str] = []  # pieces of this line that were let go

    def feed(self, text: str) -> str:
        """Take the next characters, cut anywhere; return what may be shown now."""
        return self._feed(self._blocks.feed(text))

    def flush(self) -> str:
        """The stream has ended: the rest that is no marker."""
        return self._feed(self._blocks.flush()) + self._end_line("")

    def _feed(self, text: str) -> str:
        return "".join(self._take(piece) for piece in lines_of(text))

    def _take(self, piece: str) -> str:
        if piece.endswith("\n"):
            return self._end_line(piece)
        self._held += piece
        if not self._shown and self._may_become_marker():
            return ""
        piece, self._held = self._held, ""
        self._shown.append(piece)
        return piece

    def _end_line(self, piece: str) -> str:
        rest = self._held + piece
        line = "".join(self._shown) + rest
        self._held, self._shown = "", []
        return "" if self._ground.step(line) and _read(line) is not None else rest

    def _may_become_marker(self) -> bool:
        body = self._held.lstrip(" \t\r")
        if len(self._held) > MAX_LINE_CHARS or not _marker_may_begin(body):
            return False
        indent = self._held[: len(self._held) - len(body)]
        return not body or copy(self._ground).step(f"{indent}x")


def _marker_may_begin(body: str) -> bool:
    """Whether ``body`` (no indent, no line end) is the beginning of some marker line."""
    low = body.lower()
    if _begins(low, _LEGACY):
        return True
    if not _begins(low, "<!--"):
        return False
    inner, closed, after = low[4:].partition("-->")
    inner = inner.lstrip(" \t")
    if not any(_begins(inner, word) for word in (_PULL, _LEGACY)):
        return False
    return not closed or not after.strip(" \t\r")


def _begins(text: str, word: str) -> bool:
    """One of the two is the beginning of the other."""
    return text.startswith(word) or word.startswith(text)
