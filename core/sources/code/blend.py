"""One ranking of two: scores are blended, not ranks (measured in docs/decisions/0077). PURE."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SPREAD = 1e-6


def blend(
    words: Sequence[tuple[int, float]], near: Sequence[tuple[int, float]], weight: float
) -> list[tuple[int, float]]:
    """Ids with one score of both rankings, best first; between 0 and 1.

    Args:
        words: ids and BM25 scores (higher is better), best first.
        near: ids and cosines, nearest first; the last one's cosine counts as nothing.
        weight: how much words count, 0 to 1; the rest is for meaning. Where one ranking is empty
            the other counts alone.
    """
    best = words[0][1] if words and words[0][1] > 0 else 1.0
    floor = near[-1][1] if near else 0.0
    spread = max(near[0][1] - floor, LEAST_SPREAD) if near else 1.0
    if not near or not words:
        weight = 1.0 if words else 0.0
    scores: dict[int, float] = {}
    for number, score in words:
        scores[number] = weight * score / best
    for number, cosine in near:
        scores[number] = scores.get(number, 0.0) + (1 - weight) * (cosine - floor) / spread
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))
