"""The one function that decides what an agent is told. Pure: same input, same bytes out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from core.context import sections
from core.context.budget import allocate
from core.context.frame import quote
from core.context.modes import choose_mode, unknown_mode
from core.context.sections import BY_NAME, TABLE, Find
from core.context.speakers import Speakers
from core.context.tokens import estimate_tokens
from core.context.window import Style, Window, digest_of
from core.model import ContextPack, Message, Mode, PackFacts, PackRequest, Section, Told
from core.pull import neutralise

JOINT = 2  # the blank line between two sections
ROLE_RESERVE = 2_500
PROMPT_JOINT = len("\n\n---\n\n")  # what engines without a system prompt put before the prompt
ROUNDS_KEPT = 4  # rounds (and variants) whose rendered messages are kept for the next participant
_Said = Literal["recent", "latest"]
_PIECES = {"recent": sections.recent, "latest": sections.latest}
BUDGET_STEP = 1_000  # a budget cut down for a token cap: the same for all who need about the same


def build_context_pack(request: PackRequest, facts: PackFacts) -> ContextPack:
    """Assemble what one participant is told for one step, in full.

    For a session that goes on, ``core.context.delta`` then withholds what it knows already.

    Shared sections come first and are the same bytes for all participants of a round; the
    participant's own part comes last. Tier 0 and the prompt are reserved first; the recent
    conversation may take half of what is left and what the other sections do not use. When even
    the fixed parts do not fit, everything that can be dropped is dropped and a note says by how
    much the budget is exceeded; nothing is raised, since an over-long question is still a question.
    """
    pack = _assemble(request, facts)
    cap = request.budget_tokens
    while cap and (asked := tokens_of(pack)) > cap:
        # Characters that would be about as many tokens as are allowed.
        fewer = min(pack.chars, pack.budget_chars) * cap // asked // BUDGET_STEP * BUDGET_STEP
        if fewer >= pack.budget_chars or _is_over(pack):
            note = f"over the cap of {cap:,} tokens by about {asked - cap:,}"
            return replace(pack, notes=(*pack.notes, note))
        pack = _assemble(replace(request, budget_chars=fewer, budget_from="tokens"), facts)
    return pack


def tokens_of(pack: ContextPack) -> int:
    """Estimated tokens of what is sent, corrected for the engine."""
    raw = estimate_tokens(pack.context) + estimate_tokens(pack.prompt)
    return math.ceil(raw * pack.token_factor)


def _is_over(pack: ContextPack) -> bool:
    return pack.chars > pack.budget_chars


def _assemble(request: PackRequest, facts: PackFacts) -> ContextPack:
    mode, reason = choose_mode(request, facts)
    notes = [note for note in (unknown_mode(request), *facts.notes) if note]
    prompt = neutralise(request.prompt)
    recent, latest = _windows(request, facts)
    speakers = recent.style.speakers
    draft = _Draft(request.budget_chars - PROMPT_JOINT - len(prompt))
    draft.put("platform-rules", sections.platform_rules(request))
    draft.put("project", sections.project(facts))
    draft.put("participants", sections.participants(facts, speakers))
    draft.put("roundtable", sections.roundtable(request))
    draft.put("thread", sections.thread(facts))
    offered = _offered(mode, request, facts)
    draft.put("available", sections.available(offered.announced))
    asked = _asked(request, facts)
    own_words = asked is not None and asked.author_name == request.asker
    asker = speakers.label(asked) if asked and own_words else ""
    own_part = {
        "persona": sections.persona(request),
        "files": sections.files(request),
        "role": sections.role(request, asker),
    }

    own_chars = sum(len(text) + JOINT for text in own_part.values() if text)
    own = _own_reserve(request, facts, draft.left, own_chars, latest)
    dropped = _share(draft, offered, facts, own, recent)
    told = _converse(draft, "recent", facts, recent, draft.left - own)
    for name, text in own_part.items():
        draft.put(name, text)
    told = (*told, *_converse(draft, "latest", facts, latest, draft.left))
    if draft.over > 0:
        notes.append(
            f"over budget by {draft.over:,} characters: the prompt, tier 0 and each agent's last "
            "message are sent whole"
        )
    return ContextPack(
        mode=mode,
        reason=reason,
        budget_chars=request.budget_chars,
        sections=draft.sections(),
        prompt=prompt,
        dropped=tuple(dropped),
        notes=(*notes, *(f"{name}: dropped, {why}" for name, why in dropped.items())),
        message_ids=tuple(piece.id for piece in told if piece.id),
        delivery=request.delivery,
        variant=request.variant,
        announced=tuple(offered.announced),
        conversation=(*told, *_question(request, facts, speakers)),
        budget_from=request.budget_from,
        token_factor=request.token_factor,
    )


class _Draft:
    """Sections as they are granted, and the characters that are left."""

    def __init__(self, room: int) -> None:
        self.left = room
        self._sections: dict[str, Section] = {}

    def put(self, name: str, text: str, granted: int = 0, cut: str = "") -> None:
        """Add a section; one without a text is none."""
        if not text:
            return
        place, used = BY_NAME[name], len(text)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._sections[name] = Section(
            name, place.tier, text, max(granted, used), used, digest, cut, place.shared
        )
        self.left -= used + JOINT

    @property
    def over(self) -> int:
        """By how much the budget is exceeded, as ``ContextPack.chars`` counts."""
        return -(self.left + JOINT + PROMPT_JOINT)

    def sections(self) -> tuple[Section, ...]:
        return tuple(self._sections[p.name] for p in TABLE if p.name in self._sections)


def _windows(request: PackRequest, facts: PackFacts) -> tuple[Window, Window]:
    """The walks over what all were shown, and over what came since."""
    can_pull = "messages" in sections.pullable(request)
    asked, cap = request.prompt_message_id, request.max_per_message_chars
    recent = _shared_window(_Same(facts.messages), asked, cap, can_pull)
    fresh = tuple(m for m in facts.fresh if m.id != asked)
    return recent, Window(fresh, recent.style)


class _Same:
    """Messages that are the very same object: those of one round."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.messages is other.messages

    def __hash__(self) -> int:
        return id(self.messages)


@lru_cache(maxsize=ROUNDS_KEPT)
def _shared_window(said: _Same, asked: int, cap: int, can_pull: bool) -> Window:  # noqa: FBT001
    """The walk that all participants of a round share: each message is rendered once for all."""
    history = tuple(m for m in said.messages if m.id != asked)
    return Window(history, Style(cap, Speakers(said.messages), can_pull))


def _question(request: PackRequest, facts: PackFacts, speakers: Speakers) -> tuple[Told, ...]:
    """The message being answered, where the prompt holds its text as it stands now.

    The prompt is the message without what was meant for Moot (a mention, options); one that was
    edited since is not the same any more.
    """
    message = _asked(request, facts)
    if message is None or request.prompt.strip() not in message.text:
        return ()
    whole = digest_of(message, speakers)
    return (Told(message.id, "prompt", "", whole, whole),)


def _asked(request: PackRequest, facts: PackFacts) -> Message | None:
    """The message being answered."""
    said = (*reversed(facts.messages), *facts.fresh)
    return next((message for message in said if message.id == request.prompt_message_id), None)


def _own_reserve(
    request: PackRequest, facts: PackFacts, left: int, own_chars: int, latest: Window
) -> int:
    """What is kept free for the participant's own part.

    At a table of several it must not depend on whose turn it is, or the shared part would be cut
    differently for each: so it is what the others may say in this round, up to a third.
    """
    absent = sections.latest(latest, (), facts)
    frame = len(sections.conversed("latest", absent)) + JOINT
    must = own_chars + _least_chars("latest", latest, facts)
    if len(facts.seats) > 1:
        answer = request.max_per_message_chars + request.max_per_message_chars // 10 + 100
        topic = len(quote(request.topic)) if request.topic != request.prompt else 0
        return max(must, min(ROLE_RESERVE + topic + (len(facts.seats) - 1) * answer, left // 3))
    return max(must, min(own_chars + latest.need_chars(left) + frame, left // 2))


@dataclass(frozen=True, slots=True)
class _Offered:
    """What sources have for this pack, in the table's order.

    ``dropped`` says why what is not told is left out; ``announced`` what is only said to be there.
    """

    found: dict[str, Find] = field(default_factory=dict[str, Find])
    announced: dict[str, str] = field(default_factory=dict[str, str])
    dropped: dict[str, str] = field(default_factory=dict[str, str])


def _offered(mode: Mode, request: PackRequest, facts: PackFacts) -> _Offered:
    """Sort what was found: told, announced (hybrid delivery, tier 2), or left out."""
    offered, kinds = _Offered(), sections.pullable(request)
    for place in TABLE:
        candidate = facts.sources.get(place.name)
        if candidate is None or not place.weight:
            continue
        there = candidate.unread or any(part.strip() for part in candidate.parts)
        light = request.variant == "light" and place.tier == 2
        if mode not in place.modes:
            if must := candidate.parts[: candidate.always]:
                candidate = replace(candidate, parts=must)
                offered.found[place.name] = Find(place, candidate, kinds)
            elif there:
                offered.dropped[place.name] = f"not in mode {mode}"
        elif candidate.available.strip() and sections.only_announced(place, request):
            offered.announced[place.name] = candidate.available
        elif there and light:
            offered.dropped[place.name] = "not in the light variant"
        elif there:
            offered.found[place.name] = Find(place, candidate, kinds)
    return offered


def _share(
    draft: _Draft, offered: _Offered, facts: PackFacts, own: int, recent: Window
) -> dict[str, str]:
    """Give what sources found their room; returns what was dropped, with why."""
    dropped = offered.dropped
    left = max(0, draft.left - own)
    frame = len(sections.conversed("recent", sections.recent(recent, (), facts))) + JOINT
    need = recent.need_chars(left) + frame
    base = max(min(need, left // 2), _least_chars("recent", recent, facts))
    finds = list(offered.found.values())
    sizes = allocate(left - base - len(finds) * JOINT, [find.want for find in finds])
    for find, size in zip(finds, sizes, strict=True):
        text, cut = find.within(size) if size else ("", "")
        if text:
            draft.put(find.place.name, text, size, cut)
        else:
            dropped[find.place.name] = "no room in the budget"
    return dropped


def _least_chars(name: _Said, window: Window, facts: PackFacts) -> int:
    """What the section takes with the guaranteed messages alone, and marks for all the others."""
    return len(sections.conversed(name, _PIECES[name](window, window.take(0), facts))) + JOINT


def _converse(
    draft: _Draft, name: _Said, facts: PackFacts, window: Window, room: int
) -> tuple[Told, ...]:
    """Put one of the two sections of the conversation; returns its pieces.

    Headings and gap marks depend on what is taken, so the walk gets less room until all fits.
    """
    walk = room
    while True:
        taken = window.take(walk)
        pieces = _PIECES[name](window, taken, facts)
        text = sections.conversed(name, pieces)
        over = len(text) + JOINT - room
        if over <= 0 or len(taken) <= len(window.kept):
            break
        walk -= over
    draft.put(name, text, room, window.cut(taken))
    return pieces


def receipt(pack: ContextPack) -> dict[str, Any]:
    """What a run saw, what was left out and why, fit for JSON; ids, sizes and hashes only.

    Holds no text of messages, so it can be kept when a message is erased.
    """
    return {
        "mode": pack.mode,
        "reason": pack.reason,
        "delivery": pack.delivery,
        "variant": pack.variant,
        "resumed": pack.resumed,
        "delta": pack.delta,
        "budget": pack.budget_chars,
        "budget_from": pack.budget_from,
        "sections": [_section_receipt(section) for section in pack.sections],
        "announced": list(pack.announced),
        "dropped": list(pack.dropped),
        "gone": list(pack.gone),
        "notes": list(pack.notes),
        "messages": list(pack.message_ids),
        "known_messages": list(pack.known_ids),
        "chars": pack.chars,
        "prompt_chars": len(pack.prompt),
        "estimated_tokens": tokens_of(pack),
        "token_factor": pack.token_factor,
    }


def _section_receipt(section: Section) -> Mapping[str, Any]:
    return {
        "name": section.name,
        "tier": section.tier,
        "granted": section.granted,
        "used": section.used,
        "hash": section.hash,
        "cut": section.cut,
        "known": section.known,
    }
