"""The section ``compressed``: what the older part of this conversation came to, by topic.

Topics are told newest first, also those whose messages the recent conversation may still
hold: whether it holds them is decided by the budget, and there older messages may be cut.
"""

from __future__ import annotations

from core.context.frame import one_line
from core.model import EXTRACT, Candidate, Offer, Scene, Topic
from core.records import topics
from core.sources.port import Source

MAX_TOPICS = 30  # more would never fit; a long conversation has hundreds

MAX_WHO_CHARS = 200


def offer(scene: Scene) -> Offer:
    """One part per topic, the one with the newest messages first; none are of other threads."""
    found = topics.topics_of(scene.conversation.id, MAX_TOPICS)
    if not found:
        return Offer()
    first = min(topic.span[0] for topic in found)
    covered = topics.covered(scene.conversation.id)
    count = topics.count(scene.conversation.id)
    kinds = "1 topic" if count == 1 else f"{count:,} topics"
    return Offer(
        {
            "compressed": Candidate(
                tuple(told(topic) for topic in found),
                pull=f"<!-- pull:messages: #{first} -->",
                available=f"{kinds} of {covered:,} earlier messages of this conversation",
            )
        }
    )


def told(topic: Topic) -> str:
    """A topic as it stands in a pack: title, span, who made it, and a line per statement."""
    first, last = topic.span
    span = f"#{first}" if first == last else f"#{first}–#{last}"
    made = "taken word for word" if topic.made_by == EXTRACT else f"summed up by {topic.made_by}"
    lines = [f"{topic.title} ({span}; {made}; for the originals pull messages: #{first})"]
    for one in topic.statements:
        numbers = ", ".join(f"#{number}" for number in one.ids)
        kind = "" if one.kind in ("said", "fact") else f" [{one.kind}]"
        lines.append(f"- {one_line(one.who, MAX_WHO_CHARS)} ({numbers}){kind}: {one.text}")
    return "\n".join(lines)


SOURCE = Source("compressed", "records", sections=("compressed",), offer=offer)
