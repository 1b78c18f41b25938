"""The one function that decides what an agent is told. Pure: same input, same bytes out."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.context import sections
from core.context.budget import allocate
from core.context.modes import choose_mode, unknown_mode
from core.context.sections import BY_NAME, TABLE
from core.context.speakers import Speakers
from core.context.window import Style, Window
from core.model import Candidate, ContextPack, Message, Mode, PackFacts, PackRequest, Section
from core.pull import neutralise

JOINT = 2  # the blank line between two sections
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
    speakers = Speakers.of(facts)
    texts = {
        "platform-rules": sections.platform_rules(request),
        "project": sections.project(facts),
        "participants": sections.participants(facts, speakers),
        "role": sections.role(request),
    }
    granted = {name: len(text) for name, text in texts.items()}
    cuts: dict[str, str] = {}
    reserved = sum(granted.values()) + len(texts) * JOINT + PROMPT_JOINT + len(prompt)
    left = max(0, request.budget_chars - reserved)

    window = _window(request, facts, speakers)
    offered, dropped = _offered(mode, facts)
    wanted = [sections.want(BY_NAME[name], offered[name]) for name in offered]
    frame = len(sections.recent(window, (), facts, can_pull=request.can_pull))
    frame += len(sections.latest(window, (), facts, can_pull=request.can_pull)) + 2 * JOINT
    need = window.need_chars(left) + frame
    base = max(min(need, left // 2), window.forced_chars + frame)
    sizes = allocate(max(0, left - base) - len(wanted) * JOINT, wanted)
    for want, size in zip(wanted, sizes, strict=True):
        place = BY_NAME[want.name]
        text, cut = sections.found(place, offered[want.name], size) if size else ("", "")
        if text:
            texts[place.name], granted[place.name], cuts[place.name] = text, size, cut
            left -= len(text) + JOINT
        else:
            dropped[place.name] = "no room in the budget"

    taken = _converse(texts, granted, cuts, window, left, request, facts)
    total = sum(len(t) for t in texts.values()) + (len(texts) - 1) * JOINT + len(prompt)
    if total > request.budget_chars:
        notes.append(
            f"over budget by {total - request.budget_chars:,} characters: the prompt, tier 0 and "
            "each agent's last message are sent whole"
        )
    return ContextPack(
        mode=mode,
        reason=reason,
        budget_chars=request.budget_chars,
        sections=tuple(
            _section(place.name, texts[place.name], granted[place.name], cuts.get(place.name, ""))
            for place in TABLE
            if place.name in texts
        ),
        prompt=prompt,
        dropped=tuple(dropped),
        notes=(*notes, *(f"{name}: dropped, {why}" for name, why in dropped.items())),
        message_ids=tuple(message.id for message in taken),
    )


def _window(request: PackRequest, facts: PackFacts, speakers: Speakers) -> Window:
    said = (*facts.messages, *facts.fresh)
    history = tuple(m for m in said if m.id != request.prompt_message_id)
    return Window(history, Style(request.max_per_message_chars, speakers, request.can_pull))


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
    texts: dict[str, str],
    granted: dict[str, int],
    cuts: dict[str, str],
    window: Window,
    left: int,
    request: PackRequest,
    facts: PackFacts,
) -> Sequence[Message]:
    """Fill in the two sections of the conversation; returns the messages shown.

    Headings and gap marks depend on what is taken, so the walk gets less room until all fits.
    """
    room = left
    while True:
        taken = window.take(room)
        recent = sections.recent(window, taken, facts, can_pull=request.can_pull)
        latest = sections.latest(window, taken, facts, can_pull=request.can_pull)
        size = sum(len(text) + JOINT for text in (recent, latest) if text)
        if size <= left or len(taken) <= len(window.kept):
            break
        room = min(room, size) - max(1, size - left)
    fresh = {message.id for message in facts.fresh}
    for name, text, old in (("recent", recent, True), ("latest", latest, False)):
        if not text:
            continue
        mine = [m for m in window.messages if (m.id not in fresh) == old]
        texts[name] = text
        granted[name] = max(len(text), left if old else 0)
        cuts[name] = _conversation_cut(window, mine, taken)
    return taken


def _conversation_cut(window: Window, mine: Sequence[Message], taken: Sequence[Message]) -> str:
    ids = {message.id for message in taken}
    missing = sum(m.id not in ids for m in mine)
    shortened = sum(window.shown(m).cut for m in mine if m.id in ids)
    said = [f"{missing} of {len(mine)} messages left out"] if missing else []
    said += [f"{shortened} shortened"] if shortened else []
    return ", ".join(said)


def _section(name: str, text: str, granted: int, cut: str) -> Section:
    place = BY_NAME[name]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Section(name, place.tier, text, granted, len(text), digest, cut, place.shared)


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
