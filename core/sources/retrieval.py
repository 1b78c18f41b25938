"""What was said before and fits the question: section ``retrieval`` and Pull ``memory``.

Keyword search over every conversation that the question may draw from (``core.records.scope``),
never over what the recent conversation shows anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.keywords import query_terms, tokens
from core.model import Candidate, Offer, Pull, PulledResult, Scene
from core.records.search import FEW_MESSAGES, Found, count_visible, search
from core.sources.port import Source
from core.sources.recall import belonging, excerpt, told

LOOKED_AT = 60  # hits that are ranked again
MAX_PUSHED = 12
MAX_PULLED = 8
PUSHED_CHARS = 600  # of one hit in a pack; whoever wants all of it pulls it by its number
NAMED = 0.25  # for what the one person said whom the question names


def offer(scene: Scene) -> Offer:
    """The hits for the prompt, the best first, and how much there is to search in."""
    hidden = len(scene.shown)
    count = count_visible(scene, FEW_MESSAGES + hidden + 1) - hidden
    if count <= 0:
        return Offer()
    few = count + hidden <= FEW_MESSAGES
    found = ranked(scene.prompt, search(scene, scene.prompt, LOOKED_AT, few=few))
    terms = query_terms(scene.prompt)
    parts = tuple(
        told(one.message, one.conversation, scene, excerpt(one.message, terms, PUSHED_CHARS))
        for one in _found(found, scene)[:MAX_PUSHED]
    )
    many = f"{count:,}" if count <= FEW_MESSAGES else f"more than {FEW_MESSAGES:,}"
    messages = "1 message" if count == 1 else f"{many} messages"
    where = "this channel's conversations"
    if scene.asker_trusted and scene.project_channels and not scene.conversation.direct:
        where += " and the project's public channels"
    return Offer(
        {
            "retrieval": Candidate(
                parts, pull="<!-- pull:memory: words -->", available=f"{messages} of {where}"
            )
        }
    )


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """The best hits for the query, oldest first, each with its number, speaker, time and place.

    What whoever asks has before it (``scene.shown``) is brought only where nothing else fits.
    """
    chosen = _new(pull.query, scene) or _new(pull.query, replace(scene, shown=frozenset()))
    if not chosen:
        return PulledResult(pull, (), "nothing found in what may be seen from this conversation")
    by_time = sorted(chosen, key=lambda one: (one.message.sent_at, one.message.id))
    terms = query_terms(pull.query)
    return PulledResult(
        pull,
        tuple(
            told(one.message, one.conversation, scene, excerpt(one.message, terms))
            for one in by_time
        ),
    )


def _new(query: str, scene: Scene) -> list[Found]:
    """The best hits beyond what the scene shows."""
    return _found(ranked(query, search(scene, query, LOOKED_AT)), scene)[:MAX_PULLED]


def ranked(query: str, found: Sequence[Found]) -> list[Found]:
    """Search hits in the order they are worth telling: score, and who the question names.

    A bonus, never a filter. This is where scores of another index are blended in.
    """
    best = max((one.score for one in found), default=0.0) or 1.0
    asked = set(tokens(query))
    authors = {one.message.author_name for one in found}
    names = {author: tuple(tokens(author)) for author in authors}
    named = {name for name in names.values() if asked.issuperset(name)} - {()}
    bonus = next(iter(named)) if len(named) == 1 else None

    def worth(one: Found) -> float:
        return one.score / best + (NAMED if names[one.message.author_name] == bonus else 0.0)

    return sorted(found, key=lambda one: (-worth(one), -one.message.id))


def _found(found: Sequence[Found], scene: Scene) -> list[Found]:
    """Without the task itself: the question, what waits behind it, earlier hops of the answer."""
    here = scene.conversation.id
    kept = {m.id for m in belonging([f.message for f in found if f.conversation.id == here], scene)}
    return [
        one
        for one in found
        if one.conversation.id != here
        or (one.message.id in kept and (scene.rounds or one.message.turn_id != scene.turn_id))
    ]


SOURCE = Source(
    "retrieval", "records", sections=("retrieval",), kinds=("memory",), offer=offer, answer=answer
)
