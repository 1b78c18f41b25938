"""The one function that decides what an agent is told. Pure: same input, same bytes out."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.context import sections
from core.context.budget import allocate
from core.context.frame import quote
from core.context.modes import choose_mode, unknown_mode
from core.context.sections import BY_NAME, TABLE
from core.context.speakers import Speakers
from core.context.window import Style, Window
from core.model import Candidate, ContextPack, Message, Mode, PackFacts, PackRequest, Section
from core.pull import neutralise

JOINT = 2  # the blank line between two sections
ROLE_RESERVE = 2_500
PROMPT_JOINT = len("\n\n---\n\n")  # what engines without a system prompt put before the prompt

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)


def build_context_pack(request: PackRequest, facts: PackFacts) -> ContextPack:
    """Assemble what one participant is told for one step.

    Shared sections come first and are the same bytes for all participants of a round; the
    participant's own part comes last. Tier 0 and the prompt are reserved first; the recent
    conversation may take half of what is left and what the other sections do not use. When even
    the fixed parts do not fit, everything that can be dropped is dropped and a note says by how
    much the budget is exceeded; nothing is raised, since an over-long question is still a question.
    """
    mode, reason = choose_mode(request, facts)
    notes = [note for note in (unknown_mode(request), *facts.notes) if note]
    prompt = neutralise(request.prompt)
    speakers = Speakers(facts.messages)
    recent, latest = (_window(request, m, speakers) for m in (facts.messages, facts.fresh))
    draft = _Draft(request.budget_chars - PROMPT_JOINT - len(prompt))
    draft.put("platform-rules", sections.platform_rules(request))
    draft.put("project", sections.project(facts))
    draft.put("participants", sections.participants(facts, speakers))
    role = sections.role(request)

    own = _own_reserve(request, facts, draft.left, len(role) + JOINT, latest)
    dropped = _share(draft, mode, facts, own, recent)
    shown = _converse(draft, "recent", facts, recent, draft.left - own)
    draft.put("role", role)
    shown = (*shown, *_converse(draft, "latest", facts, latest, draft.left))
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
        message_ids=tuple(message.id for message in shown),
    )


class _Draft:
    """Sections as they are granted, and the characters that are left."""

    def __init__(self, room: int) -> None:
        self.left = room
        self._sections: dict[str, Section] = {}

    def put(self, name: str, text: str, granted: int = 0, cut: str = "") -> None:
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


def _window(request: PackRequest, said: Sequence[Message], speakers: Speakers) -> Window:
    history = tuple(m for m in said if m.id != request.prompt_message_id)
    return Window(history, Style(request.max_per_message_chars, speakers, request.can_pull))


def _own_reserve(
    request: PackRequest, facts: PackFacts, left: int, role_chars: int, latest: Window
) -> int:
    """What is kept free for the participant's own part.

    At a table of several it must not depend on whose turn it is, or the shared part would be cut
    differently for each: so it is what the others may say in this round, up to a third.
    """
    frame = len(sections.latest(latest, (), facts)) + JOINT
    must = role_chars + latest.forced_chars + frame
    if len(facts.seats) > 1:
        answer = request.max_per_message_chars + request.max_per_message_chars // 10 + 100
        topic = len(quote(request.topic)) if request.topic != request.prompt else 0
        return max(must, min(ROLE_RESERVE + topic + (len(facts.seats) - 1) * answer, left // 3))
    return max(must, min(role_chars + latest.need_chars(left) + frame, left // 2))


def _share(draft: _Draft, mode: Mode, facts: PackFacts, own: int, recent: Window) -> dict[str, str]:
    """Give what sources found their room; returns what was dropped, with why."""
    offered, dropped = _offered(mode, facts)
    left = max(0, draft.left - own)
    frame = len(sections.recent(recent, (), facts)) + JOINT
    need = recent.need_chars(left) + frame
    base = max(min(need, left // 2), recent.forced_chars + frame)
    wanted = [sections.want(BY_NAME[name], candidate) for name, candidate in offered.items()]
    sizes = allocate(left - base - len(wanted) * JOINT, wanted)
    for want, size in zip(wanted, sizes, strict=True):
        text, cut = "", ""
        if size:
            text, cut = sections.found(BY_NAME[want.name], offered[want.name], size)
        if text:
            draft.put(want.name, text, size, cut)
        else:
            dropped[want.name] = "no room in the budget"
    return dropped


def _offered(mode: Mode, facts: PackFacts) -> tuple[dict[str, Candidate], dict[str, str]]:
    """What sources found for this mode, in the table's order, and what is dropped with why."""
    offered: dict[str, Candidate] = {}
    dropped: dict[str, str] = {}
    for place in TABLE:
        candidate = facts.sources.get(place.name)
        if candidate is None or not place.weight or not any(p.strip() for p in candidate.parts):
            continue
        if mode in place.modes:
            offered[place.name] = candidate
        else:
            dropped[place.name] = f"not in mode {mode}"
    return offered, dropped


def _converse(
    draft: _Draft, name: Literal["recent", "latest"], facts: PackFacts, window: Window, room: int
) -> tuple[Message, ...]:
    """Put one of the two sections of the conversation; returns the messages shown.

    Headings and gap marks depend on what is taken, so the walk gets less room until all fits.
    """
    render = sections.recent if name == "recent" else sections.latest
    walk = room
    while True:
        taken = window.take(walk)
        text = render(window, taken, facts)
        over = len(text) + JOINT - room
        if over <= 0 or len(taken) <= len(window.kept):
            break
        walk -= over
    if text:
        draft.put(name, text, room, window.cut(taken))
    return taken


def receipt(pack: ContextPack) -> dict[str, Any]:
    """What a run saw, what was left out and why, fit for JSON; ids, sizes and hashes only.

    Holds no text of messages, so it can be kept when a message is erased.
    """
    return {
        "mode": pack.mode,
        "reason": pack.reason,
        "budget": pack.budget_chars,
        "sections": [_section_receipt(section) for section in pack.sections],
        "dropped": list(pack.dropped),
        "notes": list(pack.notes),
        "messages": list(pack.message_ids),
        "chars": pack.chars,
        "prompt_chars": len(pack.prompt),
        "estimated_tokens": estimate_tokens(pack.context) + estimate_tokens(pack.prompt),
    }


def _section_receipt(section: Section) -> Mapping[str, Any]:
    return {
        "name": section.name,
        "tier": section.tier,
        "granted": section.granted,
        "used": section.used,
        "hash": section.hash,
        "cut": section.cut,
    }


def estimate_tokens(text: str) -> int:
    """A stated rule, no tokeniser: 1.5 characters a token in CJK text, 4 in all other; rounded up.

    Meant for showing and comparing; engines report what they really used.
    """
    wide = sum(1 for _ in _CJK.finditer(text))
    return math.ceil(wide / 1.5 + (len(text) - wide) / 4)
