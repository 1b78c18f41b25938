"""Which messages say the very same, so that one of them is enough. Pure.

Likeness never decides: "guests may post" and "guests may not post" are nearly the same text
(field case C132), "build 41 failed" and "build 42 failed" as well. Two messages are the same only
where every word, number and sign is, in its order, and the same person said both; what may differ
is what carries nothing: capitals, spaces, stops at the ends of words, a greeting. An emoji is a
word: "release 42 ✅" and "release 42 ❌" differ in nothing else.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

_BEFORE = "\"'`*_([{“‘"  # a word; not what changes it: ".5", "!ready", "~3"
_BEHIND = ".,;:!…~\"'`*_)]}”’。、！，"
_AS_PICTURE = "\ufe0f"  # only how the sign before it is drawn
_FILLER = frozenset(
    ("a", "an", "the", "please", "pls", "hi", "hey", "hello", "안녕하세요", "넵", "네")
)


def sameness(text: str) -> Hashable:
    """What two texts share exactly if they say the same; of a text that says nothing, itself."""
    return tuple(_words(text)) or text


def _words(text: str) -> Iterator[str]:
    """What counts of a text; of its pieces between spaces the same as of the whole."""
    flat = unicodedata.normalize("NFKC", text.replace(_AS_PICTURE, "")).casefold()
    words = (word.lstrip(_BEFORE).rstrip(_BEHIND) for word in flat.split())
    return (word for word in words if word and word not in _FILLER)


def _first(text: str) -> str:
    """The first of ``_words``, without looking at the others."""
    return next((word for piece in text.split() for word in _words(piece)), "")


def folded(said: Sequence[tuple[int, str, str]]) -> dict[int, tuple[int, ...]]:
    """The messages that stand for others: the newest of each group, with those it stands for.

    Args:
        said: (id, author's key, text) of messages; a greater id is newer.

    Returns:
        In the order in which the groups begin in ``said``.
    """
    begun = [(author, _first(text)) for _, author, text in said]
    uses = Counter(begun)
    groups: dict[Hashable, list[int]] = {}
    for (number, author, text), begin in zip(said, begun, strict=True):
        # Most begin like no other, and need not be compared: that would be the dearest part.
        key = (author, sameness(text)) if uses[begin] > 1 else begin
        groups.setdefault(key, []).append(number)
    return {max(ids): tuple(sorted(ids)[:-1]) for ids in groups.values()}
