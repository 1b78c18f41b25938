"""Facts for pack tests, and a reference parser that reads a pack's conversation back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.model import Message, PackFacts, PackRequest, Participant, ProjectFacts

ARCHITECT = Participant("claude", "architect")
CODEX = Participant("codex")


def human(id_: int, text: str, name: str = "Kim", key: str = "", **more) -> Message:
    return Message(id_, f"m{id_}", key or f"slack:{name}", name, "human", text, float(id_), **more)


def agent(id_: int, text: str, seat: Participant = ARCHITECT, **more) -> Message:
    return Message(
        id=id_,
        platform_id=f"m{id_}",
        author_key=f"agent:{seat.name}",
        author_name=seat.name,
        author_kind="agent",
        text=text,
        sent_at=float(id_),
        engine=seat.engine,
        persona=seat.persona,
        **more,
    )


def a_request(prompt: str = "What now?", **more) -> PackRequest:
    return PackRequest(
        **{"prompt_message_id": 0, "participant": ARCHITECT, **more, "prompt": prompt}
    )


def some_facts(*messages: Message, **more) -> PackFacts:
    count = more.pop("message_count", len(messages))
    project = more.pop("project", ProjectFacts("acme", "/srv/acme", ("pyproject.toml: Python",)))
    return PackFacts(project, messages, count, **more)


@dataclass(frozen=True)
class Spoken:
    id: int
    speaker: str
    body: str
    marks: tuple[str, ...]


_HEADER = re.compile(r"\[#(\d+)\] (.*?)(?:, interrupted before it was finished)?:\Z", re.DOTALL)


def spoken_in(section: str) -> list[Spoken]:
    """Everything said in a section, by the frame's law alone: lines with ``>`` are theirs."""
    said: list[Spoken] = []
    bodies: list[str] = []
    lines = f"{section}\n".splitlines(keepends=True)
    for line in [*lines, "[#0] end:"]:
        if line.startswith(">"):
            bodies.append(re.sub(r"\A> ?", "", line))
            continue
        ours = line.rstrip("\n")
        header = _HEADER.match(ours)
        if header:
            if said:
                last = said[-1]
                # The blank line between two blocks is ours.
                said[-1] = Spoken(last.id, last.speaker, "".join(bodies)[:-1], last.marks)
            bodies = []
            said.append(Spoken(int(header[1]), header[2], "", ()))
        elif ours.startswith("[") and said:
            last = said[-1]
            said[-1] = Spoken(last.id, last.speaker, last.body, (*last.marks, ours))
    return said[:-1]


def section(pack, name: str) -> str:
    return next((s.text for s in pack.sections if s.name == name), "")
