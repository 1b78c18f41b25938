"""What a pack holds, fact by fact, and whether an engine's session was told it.

A fact is a run of lines that belong together: what is shown of one message (or one piece of it,
where something is cut out), one part of a section (a hit, a subtask list, a block), one paragraph
of Moot's own. It counts as known when one text that the session holds has all its lines in order,
one after the other; what a Pull brings counts only where it is word for word the same. Nothing is
taken as known by its name, its number or its hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEAD = re.compile(r"# \S")
_LABEL = re.compile(r"\[#(\d+)\] .*:")
_ANSWERED = re.compile(r"the message to answer \(#(\d+)\), from (.+? \(human\)), word for word")
_JOINT = "\n\n---\n\n"  # before the message to answer, where all comes as one prompt
_MARK = re.compile(r"\[.* left out.*\]")  # what is not there is no fact


@dataclass(frozen=True)
class Fact:
    """Lines that belong together, without the marks of quotation.

    ``message`` is the record id of the message that they are of, 0 for none; ``label`` says who
    spoke, and goes with the first lines of a message.
    """

    section: str
    message: int
    label: str
    lines: tuple[str, ...]


def facts_of(context: str) -> tuple[Fact, ...]:
    """All facts of a pack's context, in order."""
    return tuple(fact for title, lines in _sections(context) for fact in _facts(title, lines))


def _sections(context: str) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of each section. Only a line of Moot's own can begin one."""
    title, lines = "", []
    for line in context.split("\n"):
        if _HEAD.match(line):
            if lines:
                yield title, lines
            title, lines = line[2:], []
        else:
            lines.append(line)
    if lines:
        yield title, lines


def _facts(title: str, lines: list[str]) -> Iterator[Fact]:
    message, name, run, quoted = 0, "", [], False
    for line in [*lines, ""]:
        theirs = line.startswith(">")
        mark = not theirs and _MARK.fullmatch(line)
        label = None if theirs else _LABEL.fullmatch(line)
        if run and (not line.strip() or theirs != quoted or mark or label):
            yield Fact(title, message, name, tuple(run))
            name, run = "", []
        quoted = theirs
        if label:
            message, name = int(label[1]), plain(line)
        elif not mark and (words := plain(line)):
            run.append(words)


def plain(line: str) -> str:
    """A line without the mark of quotation, with its spaces folded."""
    return " ".join(line.removeprefix(">").split())


@dataclass
class Session:
    """What the model behind an engine's session has before it, text by text.

    ``system`` is what was given apart from the prompts; giving it anew replaces it.
    """

    system: str = ""
    told: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def tell(self, system: str, prompt: str) -> None:
        """One call: its system prompt ("" = none, or the session's own) and its prompt.

        The message to answer is a fact as well: its number and its speaker are told beside it.
        """
        if system:
            self.system = system
        self.told.append(prompt)
        if answered := _ANSWERED.search(f"{system}\n{prompt}"):
            words = prompt.rpartition(_JOINT)[2]
            self.told.append(f"[#{answered[1]}] {answered[2]}:\n{words}")

    def missing(self, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        """The facts that are nowhere in it."""
        held = [_Held(text) for text in (self.system, *self.told) if text]
        own = [_Held(text) for text in self.said]
        return tuple(
            fact
            for fact in facts
            if not any(text.has(fact) for text in held)
            and not (fact.message and any(text.holds(fact.lines) for text in own))
        )


class _Held:
    """One text, ready to be looked into."""

    def __init__(self, text: str) -> None:
        self._flat = "\n" + "\n".join(filter(None, map(plain, text.split("\n")))) + "\n"

    def holds(self, lines: tuple[str, ...]) -> bool:
        """Whether the lines stand in it, one after the other."""
        return "\n" + "\n".join(lines) + "\n" in self._flat

    def has(self, fact: Fact) -> bool:
        """Whether it tells the fact; of a message, whose it is as well."""
        return self.holds((fact.label, *fact.lines) if fact.label else fact.lines)
