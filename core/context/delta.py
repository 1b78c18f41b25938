"""Delta delivery: of a full pack, only what an engine's session does not know yet. Pure.

The invariant: what a session was told before, and what a delta tells, together cover the full pack
that was built for the step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from core.context.sections import BY_NAME, conversed
from core.model import ContextPack, Section, Told

SPOKEN = ("recent", "latest")
ALWAYS = ("files", "role")  # where files are in this run, and the participant's standing
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
    compacted since. They are told again, and when they are no more, that is said. ``own`` is what
    the participant itself said in the session and has not met in a pack since: a digest, and the
    newest record id before it.
    """

    sections: Mapping[str, str] = field(default_factory=dict[str, str])
    messages: Mapping[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    perhaps: tuple[str, ...] = ()
    own: tuple[tuple[str, int], ...] = ()

    def met(self, pieces: Iterable[Told]) -> tuple[frozenset[int], tuple[tuple[str, int], ...]]:
        """Ids of the messages that the session has, and what of ``own`` is none of them.

        It has a message that it was told as it is due now, or whole, or that it said itself.
        """
        held: set[int] = set()
        own = list(self.own)
        for piece in pieces:
            if not piece.whole:
                continue
            whole, shown = self.messages.get(piece.id, ("", ""))
            said = next((o for o in own if o[0] == piece.whole and o[1] < piece.id), None)
            if whole == piece.whole and shown in (piece.shown, whole):
                held.add(piece.id)
            elif said is not None:
                held.add(piece.id)
                own.remove(said)
        return frozenset(held), tuple(own)

    def with_own(self, whole: str) -> Known:
        """As well: a message (its digest) that the participant itself said just now."""
        said = (whole, max(self.messages, default=0))
        return replace(self, own=(*self.own, said)[-KEPT_MESSAGES:])

    def while_told(self, pack: ContextPack) -> Known:
        """While ``pack`` is on its way: what it brings anew is not sure to be known, old or new."""
        hashes = {s.name: s.hash for s in pack.sections if _is_kept(s.name)}
        held, _ = self.met(pack.conversation)
        new = {piece.id for piece in pack.conversation} - held
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
    own = tuple((digest, after) for digest, after in data.get("own", ()))
    return Known(data.get("sections", {}), told, tuple(data.get("perhaps", ())), own)


def delta(pack: ContextPack, known: Known) -> ContextPack:
    """What of ``pack``, the full one for this step, the session does not know yet.

    Sections keep their names, hashes and grants; what is withheld of each is its ``known``. A
    section that was told and is no more is named in one line of ours. For a session that was told
    nothing it is the pack itself.
    """
    if known == Known():
        return pack
    held, _ = known.met(pack.conversation)
    spoken = [piece for piece in pack.conversation if piece.section in SPOKEN]
    new = tuple(piece for piece in spoken if piece.id not in held)
    told = [_told(section, new, known) for section in pack.sections]
    there = {section.name for section in pack.sections}
    before = dict.fromkeys((*known.sections, *known.perhaps))
    gone = tuple(name for name in before if name not in there)
    withheld = tuple(piece.id for piece in spoken if piece.id in held)
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
    held, own = known.met(pack.conversation)
    messages = dict(known.messages)
    for piece in pack.conversation:
        if piece.id in held and piece.id not in messages:  # its own
            messages[piece.id] = (piece.whole, piece.whole)
        elif piece.id and piece.id not in held:
            messages[piece.id] = (piece.whole, piece.shown)
    return Known(sections, _newest(messages), own=own)


def _is_kept(name: str) -> bool:
    """Whether a section is known by its hash; the conversation is known by its messages."""
    return name in BY_NAME and name not in SPOKEN


def _told(section: Section, new: tuple[Told, ...], known: Known) -> Section:
    if section.name in ALWAYS:
        return section
    if section.name in SPOKEN:
        pieces = [piece for piece in new if piece.section == section.name]
        text = conversed(section.name, pieces, HEADINGS[section.name])
        return replace(section, text=text, used=len(text), known=max(0, section.used - len(text)))
    if known.sections.get(section.name) == section.hash:
        return replace(section, text="", used=0, known=section.used)
    return section


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
