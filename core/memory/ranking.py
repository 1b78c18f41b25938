"""One ranking of what keywords and vectors found. Pure.

Scores are blended, not ranks; then a message gets some of what the messages around it and all that
was said together with it got, since an answer seldom repeats the words of its question; then
bonuses are added. Bonuses, never filters: a wrong guess about a name or a date costs a place, not
the hit. Each part with its figures: decision 0071.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much each part counts; 0 turns it off (``wrong``, ``stale``: 1).

    Attributes:
        keywords: the share of the keyword score, the vectors have the rest.
        pairs: what that share loses where all keywords are pairs of characters: they overlap,
            and are in many words, so that they tell less than words do.
        beside / near_by: what a message gets of the scores of the two next to it in its thread,
            and of the two behind those.
        sitting: what it gets of the score of the best that was said together with it.
        statements / topics: what a message gets for the nearest statement that comes from it, and
            for the nearest topic of which it is a source (RAPTOR, Sarthi et al. 2024, searches such
            summaries beside the texts; here they only lend).
        author / date: bonus for what the one named person said, for what was said at a named time;
            what was said in the ``date_tail_days`` after it gets less and less of it.
        when: bonus for what names a time, where it is asked when something was.
        wrong / stale: what a mark by a person leaves of a score.
        half_life_days: the age that halves a score; 0: age does not count.
        crowd: what each hit of a thread loses to those of others, from the ``crowd_from``th on.
        fuse: "blend" scores; "ranks" for reciprocal rank fusion, to compare with.
    """

    keywords: float = 0.5
    pairs: float = 0.15
    beside: float = 0.15
    near_by: float = 0.1
    sitting: float = 0.4
    statements: float = 0.5
    topics: float = 0.0
    author: float = 0.3
    date: float = 0.25
    date_tail_days: float = 7.0
    when: float = 0.15
    wrong: float = 0.3
    stale: float = 0.6
    half_life_days: float = 0.0
    crowd: float = 0.03
    crowd_from: int = 6
    fuse: str = "blend"


RECIPE = Recipe()
PAUSE_S = 3 * 3_600.0  # what is said after it is another sitting
_CROWDED = 60  # of the best hits, in which threads compete for places
_RRF_K = 60  # Cormack, Clarke, Büttcher 2009


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that keywords or vectors found, or that stands beside one.

    Attributes:
        thread: its conversation.
        before: the ids of the messages before it there, the nearest first (two count).
        author: the key of who said it.
        keyword: BM25, 0 where no word was found; cosine: ``None`` where vectors do not have it.
        marks: kinds of what people said of it.
        stated / summed: how near the nearest statement, topic is that comes from it, 0 to 1.
    """

    id: int
    thread: int
    before: Sequence[int]
    author: str
    sent_at: float
    keyword: float = 0.0
    cosine: float | None = None
    marks: Collection[str] = ()
    stated: float = 0.0
    summed: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate's place; ``why`` are the parts of its score by name, for explanation."""

    id: int
    score: float
    why: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question says beside its words.

    Attributes:
        authors: keys of the people it names; the bonus is for a single one.
        times: (begin, end) of the times it names, UTC seconds.
        now: when it was asked, UTC seconds.
        pairs: how many of its keywords are pairs of characters (Korean, Japanese, Thai...), 0 to 1.
    """

    authors: Collection[str] = ()
    times: Sequence[tuple[float, float]] = ()
    now: float = 0.0
    pairs: float = 0.0


def rank(
    candidates: Sequence[Candidate], recipe: Recipe, asked: Asked, floor: float = 0.0
) -> tuple[Ranked, ...]:
    """The candidates, best first; of equal ones the newest (by id) first.

    Args:
        candidates: each message once.
        recipe: what counts how much.
        asked: what the question names, and when it was asked.
        floor: the cosine that counts as nothing.
    """
    share = max(0.0, recipe.keywords - recipe.pairs * asked.pairs)
    found = blended(candidates, replace(recipe, keywords=share), floor)
    for one in candidates:
        found[one.id] += recipe.statements * one.stated + recipe.topics * one.summed
    beside = _beside(candidates, found, recipe)
    sitting = _sittings(candidates, found)
    whole = {c.id: found[c.id] + beside[c.id] + recipe.sitting * sitting[c.id] for c in candidates}
    scale = max(whole.values(), default=0.0) or 1.0
    ranked: list[Ranked] = []
    for one in candidates:
        why = {
            "found": found[one.id] / scale,
            "beside": beside[one.id] / scale,
            "sitting": recipe.sitting * sitting[one.id] / scale,
            "author": recipe.author * (len(asked.authors) == 1 and one.author in asked.authors),
            "date": recipe.date * _in_time(one.sent_at, asked.times, recipe.date_tail_days),
        }
        factors = _factors(one, recipe, asked.now)
        score = sum(why.values())
        for factor in factors.values():
            score *= factor
        said = {name: part for name, part in why.items() if part} | factors
        ranked.append(Ranked(one.id, score, said))
    return _spread(sorted(ranked, key=_order), {c.id: c.thread for c in candidates}, recipe)


def timed(ranked: Sequence[Ranked], telling: Collection[int], recipe: Recipe) -> tuple[Ranked, ...]:
    """``ranked`` anew, with the bonus for those that name a time (``telling``: their ids).

    Apart from ``rank``: it takes their texts, and only the first are read.
    """
    if not recipe.when:
        return tuple(ranked)

    def again(one: Ranked) -> Ranked:
        if one.id not in telling:
            return one
        left = prod(one.why.get(name, 1.0) for name in ("age", "wrong", "stale"))
        return Ranked(one.id, one.score + left * recipe.when, {**one.why, "when": recipe.when})

    return tuple(sorted(map(again, ranked), key=_order))


def _order(one: Ranked) -> tuple[float, int]:
    return -one.score, -one.id


def blended(candidates: Sequence[Candidate], recipe: Recipe, floor: float) -> dict[int, float]:
    """BM25 as a share of the best one, cosines from the floor (0) to the nearest (1)."""
    if recipe.fuse == "ranks":
        return _fused(candidates)
    best = max((c.keyword for c in candidates), default=0.0) or 1.0
    cosines = [c.cosine for c in candidates if c.cosine is not None]
    top = max(cosines, default=0.0)
    share = recipe.keywords if cosines else 1.0

    def score(one: Candidate) -> float:
        by_words = max(one.keyword, 0.0) / best
        if one.cosine is None:
            return share * by_words
        # All equally near (there may be one only): that says they are near, not that none is.
        by_meaning = (one.cosine - floor) / (top - floor) if top > floor else 1.0
        return share * by_words + (1 - share) * min(max(by_meaning, 0.0), 1.0)

    return {one.id: score(one) for one in candidates}


def _fused(candidates: Sequence[Candidate]) -> dict[int, float]:
    """Reciprocal rank fusion of both lists."""
    found = {one.id: 0.0 for one in candidates}
    by_words = sorted((c for c in candidates if c.keyword > 0), key=lambda c: -c.keyword)
    by_meaning = sorted(
        (c for c in candidates if c.cosine is not None), key=lambda c: -(c.cosine or 0)
    )
    for ranked in (by_words, by_meaning):
        for place, one in enumerate(ranked, 1):
            found[one.id] += 1 / (_RRF_K + place)
    return found


def _beside(
    candidates: Sequence[Candidate], found: Mapping[int, float], recipe: Recipe
) -> dict[int, float]:
    """What the two messages before and the two after lend, in one thread."""
    lent = dict.fromkeys(found, 0.0)
    for one in candidates:
        for other, share in zip(one.before, (recipe.beside, recipe.near_by), strict=False):
            if other in found:
                lent[one.id] += share * found[other]
                lent[other] += share * found[one.id]
    return lent


def _sittings(candidates: Sequence[Candidate], found: Mapping[int, float]) -> dict[int, float]:
    """For each, how well the best that was said together with it fits.

    Together: in one thread, without a pause of hours. One that stands alone stands for itself. Of
    the best alone: what happens to stand beside an answer then cannot place it behind another.
    """
    fits: dict[int, float] = {}
    together: list[Candidate] = []

    def close() -> None:
        best = max(found[one.id] for one in together)
        fits.update((one.id, best) for one in together)

    for one in sorted(candidates, key=lambda c: (c.thread, c.sent_at, c.id)):
        last = together[-1] if together else one
        if one.thread != last.thread or one.sent_at - last.sent_at > PAUSE_S:
            close()
            together = []
        together.append(one)
    if together:
        close()
    return fits


def _in_time(at: float, times: Sequence[tuple[float, float]], tail_days: float) -> float:
    """1 within a named time, less and less in the days after it: much is told a little later."""
    best = 0.0
    for begin, end in times:
        if begin <= at < end:
            return 1.0
        if tail_days > 0 and at >= end:
            best = max(best, 1 - (at - end) / DAY_S / tail_days)
    return best


def _factors(one: Candidate, recipe: Recipe, now: float) -> dict[str, float]:
    factors: dict[str, float] = {}
    if recipe.half_life_days > 0:
        factors["age"] = 0.5 ** (max(0.0, now - one.sent_at) / DAY_S / recipe.half_life_days)
    if "wrong" in one.marks:
        factors["wrong"] = recipe.wrong
    if "stale" in one.marks:
        factors["stale"] = recipe.stale
    return factors


def _spread(
    ranked: Sequence[Ranked], threads: Mapping[int, int], recipe: Recipe
) -> tuple[Ranked, ...]:
    """So that one thread does not fill a section while others have as much to say."""
    if not recipe.crowd:
        return tuple(ranked)
    seen: dict[int, int] = {}
    moved: list[Ranked] = []
    for one in ranked[:_CROWDED]:
        thread = threads[one.id]
        seen[thread] = seen.get(thread, 0) + 1
        late = max(0, seen[thread] - recipe.crowd_from + 1)
        if not late:
            moved.append(one)
            continue
        lost = min(recipe.crowd * late, one.score)
        moved.append(Ranked(one.id, one.score - lost, {**one.why, "crowd": -lost}))
    return (*sorted(moved, key=_order), *ranked[_CROWDED:])
