"""What was said before and fits the question: section ``retrieval`` and Pull ``memory``.

By words and by meaning (``core.memory.find``), over every conversation that the question may draw
from (``core.records.scope``), never over what the recent conversation shows anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.keywords import query_terms
from core.memory.find import Hit, find
from core.model import Candidate, Message, Offer, Pull, PulledResult, Scene
from core.records.scope import is_wide
from core.records.search import FEW_MESSAGES, count_visible
from core.sources.port import Source
from core.sources.recall import belonging, evidence, excerpt, is_about_memory

LOOKED_AT = 60  # hits that are ranked again
MAX_PUSHED = 12
MAX_PULLED = 8
PUSHED_CHARS = 600  # of one hit in a pack; whoever wants all of it pulls it by its number


def offer(scene: Scene) -> Offer:
    """The hits for the prompt, the best first, and how much there is to search in.

    Only how much where no pack tells more (``scene.pushes``): to search is most of the work.
    """
    hidden = len(scene.shown)
    count = count_visible(scene, FEW_MESSAGES + hidden + 1) - hidden
    if count <= 0:
        return Offer()
    parts = _pushed(scene, few=count + hidden <= FEW_MESSAGES) if scene.pushes else ()
    many = f"{count:,}" if count <= FEW_MESSAGES else f"more than {FEW_MESSAGES:,}"
    messages = "1 message" if count == 1 else f"{many} messages"
    where = "this channel's conversations"
    if is_wide(scene):
        where += " and the project's public channels"
    return Offer(
        {
            "retrieval": Candidate(
                parts,
                pull="<!-- pull:memory: words -->",
                available=f"{messages} of {where}",
                unread=not scene.pushes,
            )
        }
    )


def _pushed(scene: Scene, *, few: bool) -> tuple[str, ...]:
    found = find(scene, scene.prompt, LOOKED_AT, scene.near, few=few)
    terms = query_terms(scene.prompt)
    chosen = _found(found, scene)[:MAX_PUSHED]
    return _told(chosen, scene, lambda message: excerpt(message, terms, PUSHED_CHARS))


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """The best hits for the query, oldest first, each with its evidence and its marks.

    What whoever asks has before it (``scene.shown``) is brought only where nothing else fits.
    """
    chosen = _new(pull.query, scene) or _new(pull.query, replace(scene, shown=frozenset()))
    if not chosen:
        return PulledResult(pull, (), "nothing found in what may be seen from this conversation")
    by_time = sorted(chosen, key=lambda one: (one.message.sent_at, one.message.id))
    terms = query_terms(pull.query)
    return PulledResult(pull, _told(by_time, scene, lambda message: excerpt(message, terms)))


def _told(hits: Sequence[Hit], scene: Scene, text_of: Callable[[Message], str]) -> tuple[str, ...]:
    said = [(one.message, one.conversation, text_of(one.message)) for one in hits]
    return evidence(said, scene, {one.message.id: one.marks for one in hits})


def _new(query: str, scene: Scene) -> list[Hit]:
    """The best hits beyond what the scene shows."""
    return _found(find(scene, query, LOOKED_AT, scene.near), scene)[:MAX_PULLED]


def _found(found: Sequence[Hit], scene: Scene) -> list[Hit]:
    """Without the task itself: the question, what waits behind it, earlier hops of the answer.

    And without what was only said to memory: it would be the best hit of the same question.
    """
    here = scene.conversation.id
    kept = {m.id for m in belonging([f.message for f in found if f.conversation.id == here], scene)}
    return [
        one
        for one in found
        if not is_about_memory(one.message.text)
        and (
            one.conversation.id != here
            or (one.message.id in kept and (scene.rounds or one.message.turn_id != scene.turn_id))
        )
    ]


SOURCE = Source(
    "retrieval",
    "records",
    sections=("retrieval",),
    kinds=("memory",),
    offer=offer,
    answer=answer,
    by_meaning=True,
)
