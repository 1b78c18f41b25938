"""The recent conversation: what of it is shown whole, cut, shrunk or left out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.context.frame import RARE_BREAK, cut_head, cut_tail, theirs
from core.context.speakers import Speakers, agent_key
from core.model import Message, Told
from core.pull import Ground

WHOLE_LAST = 5
LONG_LINES = 12
LONG_CHARS = 800
HEAD_SHARE = 0.6

_QUOTE = re.compile(r" {0,3}>")
_SHRINKS = ("```", "~~~", "\n>", "\n >", "\n  >", "\n   >", "\n    ", "\n\t")
_INFO = re.compile(r"[\w+#.-]{1,20}")


@dataclass(frozen=True, slots=True)
class Style:
    """How messages are shown: the cap of one, who speaks, and whether the rest can be pulled."""

    max_per_message_chars: int
    speakers: Speakers
    can_pull: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """One message as it stands in a pack.

    ``kept`` are the pieces of its text that are shown when something was left out (``cut``).
    """

    id: int
    text: str
    cut: bool
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """A piece of a message that is not shown: how many characters, and what they were."""

    chars: int
    what: str = ""


Piece = str | Left


def guaranteed(messages: Sequence[Message]) -> frozenset[int]:
    """Ids of every agent's last message: they are shown even over budget.

    When that one was interrupted, the last finished one as well: half a sentence, or a note that
    there was no answer, must not take the place of what the agent last stood for.
    """
    agents = [message for message in messages if message.author_kind == "agent"]
    last = {agent_key(m): m.id for m in agents}
    finished = {agent_key(m): m.id for m in agents if not m.interrupted}
    return frozenset((*last.values(), *finished.values()))


class Window:
    """The walk over a conversation, oldest first, without the message being answered."""

    def __init__(self, messages: Sequence[Message], style: Style) -> None:
        self.messages = messages
        self.kept = guaranteed(messages)
        self.style = style
        self._whole = {m.id for m in messages[-WHOLE_LAST:]} | self.kept
        self._shown: dict[int, Shown] = {}
        self._digests: dict[int, tuple[str, str]] = {}

    def shown(self, message: Message) -> Shown:
        """The message as it would stand in the pack."""
        if message.id not in self._shown:
            prune = message.id not in self._whole
            self._shown[message.id] = render(message, self.style, prune=prune)
        return self._shown[message.id]

    def told(self, message: Message, section: str, gap: str = "") -> Told:
        """The message as a piece of ``section``, with the digests it is compared by."""
        shown = self.shown(message)
        if message.id not in self._digests:
            whole = digest_of(message, self.style.speakers)
            part = digest(whole, *shown.kept) if shown.cut else whole
            self._digests[message.id] = whole, part
        whole, part = self._digests[message.id]
        return Told(message.id, section, shown.text, whole, part, gap)

    def cost(self, message: Message) -> int:
        """Characters that showing it takes, as rendered, with the blank line after it."""
        return len(self.shown(message).text) + 2

    @property
    def forced_chars(self) -> int:
        """What the guarantee alone takes."""
        return sum(self.cost(m) for m in self.messages if m.id in self.kept)

    def need_chars(self, enough: int) -> int:
        """What showing everything would take; counting stops once it is more than ``enough``."""
        need = 0
        for message in reversed(self.messages):
            need += self.cost(message)
            if need > enough:
                break
        return need

    def take(self, room: int) -> tuple[Message, ...]:
        """Walk from the newest backwards and take while it fits in ``room`` characters.

        The guaranteed ones are paid first and always taken, also beyond where the walk ends.
        """
        left = room - self.forced_chars
        taken: list[Message] = []
        walking = True
        for message in reversed(self.messages):
            if message.id in self.kept:
                taken.append(message)
            elif walking:
                left -= self.cost(message)
                walking = left >= 0
                if walking:
                    taken.append(message)
        return tuple(reversed(taken))

    def cut(self, taken: Sequence[Message]) -> str:
        """What of the conversation is not shown, in words for the receipt; "" for nothing."""
        missing = len(self.messages) - len(taken)
        shortened = sum(self.shown(message).cut for message in taken)
        said = [f"{missing} of {len(self.messages)} messages left out"] if missing else []
        said += [f"{shortened} shortened"] if shortened else []
        return ", ".join(said)


# --- one message -------------------------------------------------------------------------


def render(message: Message, style: Style, *, prune: bool) -> Shown:
    """A header line of ours, then the text as a quote, with marks of ours where it was cut."""
    pieces: list[Piece] = shrink(message.text) if prune else [message.text]
    if sum(len(p) for p in pieces if isinstance(p, str)) > style.max_per_message_chars:
        pieces = ends(message.text, style.max_per_message_chars)
    state = ", interrupted before it was finished" if message.interrupted else ""
    head = f"[#{message.id}] {style.speakers.label(message)}{state}:"
    how = f"; to read it whole: <!-- pull:messages: #{message.id} -->" if style.can_pull else ""
    blocks = [theirs(p) if isinstance(p, str) else f"[{_mark(p)}{how}]" for p in pieces]
    text = f"{head}\n" + "\n\n".join(blocks)
    cut = len(pieces) > 1 or isinstance(pieces[0], Left)
    kept = tuple(p for p in pieces if isinstance(p, str)) if cut else ()
    return Shown(message.id, text, cut, kept)


def digest_of(message: Message, speakers: Speakers) -> str:
    """A digest of a whole message: who said it, its text, and whether it was finished."""
    state = "interrupted" if message.interrupted else ""
    return digest(speakers.label(message), state, message.text)


def digest(*parts: str) -> str:
    """Sixteen characters that tell these texts from all others."""
    made = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "big") + data)
    return made.hexdigest()


def _mark(left: Left) -> str:
    what = f" ({left.what})" if left.what else ""
    return f"{left.chars:,} characters of this message are left out{what}"


def ends(text: str, cap: int) -> list[Piece]:
    """Head and tail of a text that is longer than ``cap``, which the two together keep to."""
    head = cut_head(text, int(cap * HEAD_SHARE))
    tail = cut_tail(text, cap - int(cap * HEAD_SHARE))
    missing = max(1, len(text) - len(head) - len(tail))
    return [piece for piece in (head, Left(missing), tail) if piece]


def shrink(text: str) -> list[Piece]:
    """A text with its long code, output and quotations replaced by what they were."""
    short = len(text) < LONG_CHARS and text.count("\n") < LONG_LINES
    if short or not any(sign in f"\n{text}" for sign in _SHRINKS):
        return [text]
    pieces: list[Piece] = []
    for block, what in _blocks(text):
        long = what and (block.count("\n") >= LONG_LINES or len(block) >= LONG_CHARS)
        if long:
            pieces.append(Left(len(block), f"{what}, {len(block.splitlines())} lines"))
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += block
        else:
            pieces.append(block)
    if len(pieces) < 2 and not any(isinstance(p, Left) for p in pieces):
        return [text]
    stripped = [p.strip("\n") if isinstance(p, str) else p for p in pieces]
    return [p for p in stripped if p]


def _blocks(text: str) -> list[tuple[str, str]]:
    """The text in runs of lines, each with what it is: "" for prose, else fit for a mark."""
    ground = Ground()
    runs: list[tuple[list[str], str]] = []
    for line in _lines(text, ground):
        before = ground.fence
        ground.step(line)
        if before:
            runs[-1][0].append(line)
            continue
        if ground.fence:
            runs.append(([line], _fence_name(line, ground.fence)))
            continue
        if _QUOTE.match(line):
            kind = "a quotation"
        elif line.startswith(("    ", "\t")):
            kind = "output or code"
        else:
            kind = ""
        if runs and runs[-1][1] == kind:
            runs[-1][0].append(line)
        else:
            runs.append(([line], kind))
    return [("".join(lines), kind) for lines, kind in runs]


def _lines(text: str, ground: Ground) -> Iterator[str]:
    """The lines of ``text`` as ``ground`` goes through them; code that goes on comes in one."""
    if RARE_BREAK.search(text):
        yield from text.splitlines(keepends=True)
        return
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if ground.in_code:
            sign = text.find(ground.in_code, at)
            begun = len(text) if sign < 0 else text.rfind("\n", at, sign) + 1
            end = max(end, begun) if begun > at else end
        yield text[at:end]
        at = end


def _fence_name(line: str, fence: str) -> str:
    info = _INFO.match(line[line.find(fence) + len(fence) :].strip())
    return f"a code block, {info[0]}" if info else "a code block"
