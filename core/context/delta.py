"""Delta delivery: of a full pack, only what an engine's session does not know yet. Pure.

The invariant: what a session was told before, and what a delta tells, together cover the full pack
that was built for the step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.context.sections import BY_NAME, conversed
from core.model import ContextPack, Section, Told

SPOKEN = ("recent", "latest")
ALWAYS = ("role",)  # the participant's standing is told every time
KEPT_MESSAGES = 2_000  # of the newest ones a session's knowledge is kept; older ones are told again
HEADINGS = {"recent": "Recent conversation: what is new", "latest": "Said since then"}

_INTRO = (
    "What Moot told you before still holds, but for this: a section here takes the place of the "
    "earlier one of its title; a message that you had before has changed."
)


@dataclass(frozen=True, slots=True)
class Known:
    """What an engine's session was told: the watermark of delta delivery.

    ``sections`` maps a section's name to the hash it was last told with; ``messages`` a record id
    to the digests it was last told with (``Told.whole``, ``Told.shown``). ``perhaps`` names
    sections that may have been told: the run that told them did not end well, or the session was
    compacted since. They are told again, and when they are no more, that is said. ``own`` are
    digests of what the participant itself said in the session.
    """

    sections: Mapping[str, str] = field(default_factory=dict[str, str])
    messages: Mapping[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    perhaps: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def holds(self, piece: Told) -> bool:
        """Whether the session has this message: as it is due now, or whole, or said it itself."""
        if not piece.whole:
            return False
        whole, shown = self.messages.get(piece.id, ("", ""))
        told = whole == piece.whole and shown in (piece.shown, whole)
        return told or piece.whole in self.own

    def with_own(self, whole: str) -> Known:
        """As well: a message (its digest) that the participant itself said in this session."""
        return replace(self, own=(*self.own, whole)[-KEPT_MESSAGES:])

    def while_told(self, pack: ContextPack) -> Known:
        """While ``pack`` is on its way: what it brings anew is not sure to be known, old or new."""
        hashes = {s.name: s.hash for s in pack.sections if _is_kept(s.name)}
        new = {piece.id for piece in pack.conversation if not self.holds(piece)}
        return Known(
            {name: h for name, h in self.sections.items() if hashes.get(name) == h},
            {id_: digests for id_, digests in self.messages.items() if id_ not in new},
            tuple(dict.fromkeys((*self.perhaps, *self.sections, *hashes))),
            self.own,
        )

    def compacted(self) -> Known:
        """Once the engine has replaced its history by a summary: nothing is sure any more."""
        return Known(perhaps=tuple(dict.fromkeys((*self.perhaps, *self.sections))))

    def dump(self) -> str:
        """As it is stored: JSON of ours."""
        told = {str(id_): list(digests) for id_, digests in self.messages.items()}
        stored = {"sections": dict(self.sections), "messages": told}
        return json.dumps({**stored, "perhaps": self.perhaps, "own": self.own})


def load_known(stored: str) -> Known:
    """What ``Known.dump`` stored; nothing for an empty text."""
    data = json.loads(stored or "{}")
    told = {int(id_): (pair[0], pair[1]) for id_, pair in data.get("messages", {}).items()}
    perhaps, own = (tuple(data.get(name, ())) for name in ("perhaps", "own"))
    return Known(data.get("sections", {}), told, perhaps, own)


def delta(pack: ContextPack, known: Known) -> ContextPack:
    """What of ``pack``, the full one for this step, the session does not know yet.

    Sections keep their names, hashes and grants; what is withheld of each is its ``known``. A
    section that was told and is no more is named in one line of ours. For a session that was told
    nothing it is the pack itself.
    """
    if known == Known():
        return pack
    new = tuple(p for p in pack.conversation if p.section in SPOKEN and not known.holds(p))
    told = [_told(section, new, known) for section in pack.sections]
    there = {section.name for section in pack.sections}
    before = dict.fromkeys((*known.sections, *known.perhaps))
    gone = tuple(name for name in before if name not in there)
    withheld = tuple(
        p.id for p in pack.conversation if p.id and p.section in SPOKEN and known.holds(p)
    )
    return replace(
        pack,
        sections=(_intro(gone), *told),
        message_ids=tuple(piece.id for piece in new if piece.id),
        known_ids=withheld,
        gone=gone,
        delta=bool(known.sections or withheld),
    )


def learned(known: Known, pack: ContextPack) -> Known:
    """What the session knows once it was told ``pack``, full or delta."""
    sections = {s.name: s.hash for s in pack.sections if _is_kept(s.name)}
    messages = dict(known.messages)
    for piece in pack.conversation:
        if piece.id and not known.holds(piece):
            messages[piece.id] = (piece.whole, piece.shown)
    return Known(sections, _newest(messages), own=known.own)


def _is_kept(name: str) -> bool:
    """Whether a section is known by its hash; the conversation is known by its messages."""
    return name in BY_NAME and name not in SPOKEN


def _told(section: Section, new: tuple[Told, ...], known: Known) -> Section:
    if section.name in ALWAYS:
        return section
    if section.name in SPOKEN:
        pieces = [piece for piece in new if piece.section == section.name]
        text = conversed(section.name, pieces, HEADINGS[section.name])
        return replace(section, text=text, used=len(text), known=_rest(section, pieces))
    if known.sections.get(section.name) == section.hash:
        return replace(section, text="", used=0, known=section.used)
    return section


def _rest(section: Section, pieces: list[Told]) -> int:
    """How many characters of a section of the conversation are not told again."""
    return max(0, section.used - len(conversed(section.name, pieces)))


def _intro(gone: tuple[str, ...]) -> Section:
    lines = [_INTRO]
    if gone:
        titles = ", ".join(BY_NAME[name].title for name in gone if name in BY_NAME)
        lines.append(f"[No longer there, so do not go by it: {titles}.]")
    text = "# What is new\n\n" + "\n".join(lines)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Section("update", 0, text, len(text), len(text), digest, shared=False)


def _newest(messages: Mapping[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    kept = sorted(messages)[-KEPT_MESSAGES:]
    return {id_: messages[id_] for id_ in kept}
