"""Which messages say the very same, so that one of them is enough. Pure.

Likeness never decides: "guests may post" and "guests may not post" are nearly the same text
(field case C132), "build 41 failed" and "build 42 failed" as well. Two messages are the same only
where every word, number and sign is, in its order, and the same person said both; what may differ
is what carries nothing: capitals, spaces, emoji, stops at the ends of words, a greeting.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable

_EDGES = ".,;:!…~\"'`*_()[]{}“”‘’。、！，"
_FILLER = frozenset(
    ("a", "an", "the", "please", "pls", "hi", "hey", "hello", "안녕하세요", "넵", "네")
)
_EMOJI = re.compile(r":[a-z0-9_+-]{2,40}:")


def sameness(text: str) -> Hashable:
    """What two texts share exactly if they say the same; of a text that says nothing, itself."""
    flat = unicodedata.normalize("NFKC", _EMOJI.sub(" ", text)).casefold()
    words = [word.strip(_EDGES) for word in flat.split()]
    kept = tuple(word for word in words if word not in _FILLER and _says(word))
    return kept or text


def _says(word: str) -> bool:
    """Whether anything but emoji is in a word; a lone sign ("<", "?") says something."""
    return any(unicodedata.category(char) not in ("So", "Sk", "Cf", "Mn") for char in word)


def folded(said: Iterable[tuple[int, str, str]]) -> dict[int, tuple[int, ...]]:
    """The messages that stand for others: the newest of each group, with those it stands for.

    Args:
        said: (id, author's key, text) of messages, in any order; a greater id is newer.
    """
    groups: dict[tuple[str, Hashable], list[int]] = {}
    for number, author, text in said:
        groups.setdefault((author, sameness(text)), []).append(number)
    return {max(ids): tuple(sorted(ids)[:-1]) for ids in groups.values()}
