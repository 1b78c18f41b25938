"""Estimating tokens by a stated rule, and correcting it by what engines report."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from statistics import median

MIN_SAMPLES = 4
MIN_APART = 200  # estimated tokens between two runs that say something about the rule
BOUNDS = (0.5, 3.0)

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff]+"
)


def estimate_tokens(text: str) -> int:
    """A stated rule, no tokeniser: 1.5 characters a token in CJK text, 4 in all other; rounded up.

    Meant for showing and comparing; engines report what they really used.
    """
    wide = 0 if text.isascii() else sum(len(run) for run in _CJK.findall(text))
    return math.ceil(wide / 1.5 + (len(text) - wide) / 4)


def token_factor(samples: Sequence[tuple[int, int]]) -> float:
    """What an engine's estimates are to be multiplied by, from ``(estimated, reported)`` of runs.

    An engine reports what its own system prompt and tools take as well, which is about the same
    for every run. So it is the slope that counts: the median over all pairs of runs, which a few
    runs with many model calls do not move. 1.0 while too little is known; bounded to ``BOUNDS``.
    """
    slopes = [
        (b[1] - a[1]) / (b[0] - a[0])
        for a, b in combinations(samples, 2)
        if abs(b[0] - a[0]) >= MIN_APART
    ]
    if len(samples) < MIN_SAMPLES or not slopes:
        return 1.0
    low, high = BOUNDS
    return round(min(max(median(slopes), low), high), 2)
