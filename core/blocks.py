"""Blocks in an agent's answer: positions, plans, verdicts and what was agreed.

A block is an HTML comment that begins on a line of its own, in the open (as a Pull marker; see
``core.ground``), and may go on over several lines. Inside stands JSON, or a plain list:

    <!-- position {"stance": "agree", "summary": "…", "confidence": 0.8} -->

Prose never changes state; a block that does not parse is told back to the agent once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from core.ground import MAX_BLOCK_CHARS, BlockSieve, RawBlock
from core.model import Severity
from core.pull import split_markers

Stance = Literal["agree", "disagree", "abstain"]
B = TypeVar("B", bound="Block")

MAX_BLOCKS = 20
MAX_ERRORS = 3  # told of one block

FORMS: Mapping[str, str] = {
    "position": '<!-- position {"stance": "agree", "summary": "SQL is enough", "confidence": 0.8} '
    "-->",
    "plan": "<!-- plan\nTitle\n- first subtask\n- second subtask\n-->",
    "verdict": "<!-- verdict conditional\n- high, security: the token is logged\n-->",
    "consensus": "<!-- consensus\n- storage: SQL for the audit log\n-->",
    "subtask-done": "<!-- subtask-done:3 -->",
    "finding": "<!-- finding high, security: the token is logged -->",
    "artifact": "<!-- artifact\nTitle\nOne line about it\n---\nIts text\n-->",
}
"""How each block may be written, for those who teach it."""


class Block(BaseModel):
    """Root of all blocks; what is unknown in one is an error that is told."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


Title = Annotated[str, Field(min_length=1, max_length=300)]
Text = Annotated[str, Field(min_length=1, max_length=4_000)]
Number = Annotated[int, Field(ge=1, le=1_000)]


class Position(Block):
    """Where a participant stands at the end of its answer."""

    stance: Stance
    summary: str = Field(default="", max_length=500)
    confidence: float = Field(default=0.5, ge=0.0, le=1.0)


class PlannedTask(Block):
    """One subtask of a proposed plan."""

    title: Title
    owner: str = Field(default="", max_length=80)


def _task(value: Any) -> Any:
    return {"title": value} if isinstance(value, str) else value


class PlanBlock(Block):
    """A plan that is proposed; ``document`` is Markdown."""

    title: Title
    phase: str = Field(default="", max_length=80)
    subtasks: tuple[Annotated[PlannedTask, BeforeValidator(_task)], ...] = Field(
        min_length=1, max_length=50
    )
    document: str = Field(default="", max_length=MAX_BLOCK_CHARS)


class FindingBlock(Block):
    """Something that a reviewer found."""

    text: Text
    severity: Severity = "medium"
    category: str = Field(default="general", min_length=1, max_length=40, pattern=r"^[\w-]+$")


def _finding(value: Any) -> Any:
    return _plain_finding(value) if isinstance(value, str) else value


class Verdict(Block):
    """What a reviewer says of a piece of work."""

    verdict: Literal["pass", "fail", "conditional"]
    summary: str = Field(default="", max_length=1_000)
    findings: tuple[Annotated[FindingBlock, BeforeValidator(_finding)], ...] = Field(
        default=(), max_length=50
    )

    @model_validator(mode="after")
    def _says_why(self) -> Verdict:
        if self.verdict != "pass" and not self.findings:
            raise ValueError(f"a verdict of {self.verdict} needs at least one finding")
        return self


class Agreed(Block):
    """What was settled on one axis. ``stances``: participant -> stance."""

    axis: Title
    decision: Text
    stances: Mapping[str, Stance] = Field(default_factory=dict[str, Stance], max_length=20)
    confidence: float = Field(default=0.5, ge=0.0, le=1.0)


class Consensus(Block):
    """What a roundtable settled."""

    decisions: tuple[Agreed, ...] = Field(min_length=1, max_length=20)


class SubtaskDone(Block):
    """Subtasks of the conversation's active plan that are done."""

    numbers: tuple[Number, ...] = Field(min_length=1, max_length=50)


class ArtifactBlock(Block):
    """A piece of work to keep."""

    title: Title
    line: str = Field(default="", max_length=300)
    text: str = Field(min_length=1, max_length=MAX_BLOCK_CHARS)


@dataclass(frozen=True, slots=True)
class Blocks:
    """An answer, taken apart.

    ``text`` is what people see, ``found`` the blocks in order, ``faults`` what is wrong with those
    that could not be read, in words for the agent; each begins with the block's word.
    """

    text: str
    found: tuple[Block, ...] = ()
    faults: tuple[str, ...] = ()

    def of(self, kind: type[B]) -> tuple[B, ...]:
        """The blocks of one kind."""
        return tuple(block for block in self.found if isinstance(block, kind))

    @property
    def position(self) -> Position | None:
        """Where the answer stands: the last one counts."""
        return next(reversed(self.of(Position)), None)


class _Fault(ValueError):
    """What is wrong with a block, in words for the agent."""


def split_blocks(answer: str) -> Blocks:
    """Take the blocks out of an agent's answer and read them.

    Everything that begins as a block is taken out, with its line end, also what cannot be read;
    all else stays byte for byte. Pull markers in the text are left for ``core.pull``.
    """
    sieve = BlockSieve()
    text = sieve.feed(answer) + sieve.flush()
    found: list[Block] = []
    faults: list[str] = []
    for number, raw in enumerate(sieve.found[:MAX_BLOCKS], start=1):
        try:
            found.append(_read(raw))
        except _Fault as fault:
            which = f" (block {number} of the answer)" if len(sieve.found) > 1 else ""
            faults.append(f"{raw.word}{which}: {fault}")
    if (more := len(sieve.found) - MAX_BLOCKS) > 0:
        word = sieve.found[MAX_BLOCKS].word
        faults.append(
            f"{word}: {more} more than the {MAX_BLOCKS} blocks that are read in an answer"
        )
    return Blocks(text, tuple(found), tuple(faults))


def visible_of(answer: str) -> str:
    """What people see of an answer: without markers and blocks."""
    return split_markers(split_blocks(answer).text)[0].strip()


def _read(raw: RawBlock) -> Block:
    if not raw.closed:
        raise _Fault("it does not end; put --> alone on a line after it")
    if len(raw.body) > MAX_BLOCK_CHARS:
        raise _Fault(f"it is longer than {MAX_BLOCK_CHARS:,} characters")
    body = raw.body.strip().removeprefix(":").strip()
    model, plain = _KINDS[raw.word]
    try:
        listed = body.startswith("[") and raw.word in _WRAPPED
        if not (listed or body.startswith("{")):
            return model.model_validate(plain(body))
        if body.startswith("{") and model is Consensus and '"decisions"' not in body:
            body = f"[{body}]"  # one decision, not wrapped
            listed = True
        if listed:
            body = f'{{"{_WRAPPED[raw.word]}": {body}}}'
        return model.model_validate_json(body.encode("utf-8", "replace"))
    except ValidationError as error:
        raise _Fault(_told(error)) from None


def _told(error: ValidationError) -> str:
    """The first few errors, by field; nothing of what the block holds but plain names of fields."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        ": ".join(
            filter(
                None, (".".join(_name(n) for n in e["loc"]), e["msg"].removeprefix("Value error, "))
            )
        )
        for e in errors[:MAX_ERRORS]
    ]
    more = [f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
    return "; ".join(told + more)


def _name(part: int | str) -> str:
    return str(part) if re.fullmatch(r"[\w-]{1,40}", str(part)) else "?"


# --- plain lists ---------------------------------------------------------------------------

_BULLET = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_GRADED = re.compile(
    r"\[?(?:(critical|high|medium|low)\b\]?[\s,/]*)?(?:([\w-]{1,40}))?\s*:\s+(\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_PHASE = re.compile(r"phase\s*:\s*(.*)", re.IGNORECASE)


def _items(body: str) -> tuple[list[str], list[str]]:
    """The lines before a list, and its items; an item's further lines are indented."""
    head: list[str] = []
    items: list[str] = []
    for line in body.splitlines():
        if bullet := _BULLET.match(line):
            items.append(bullet[1].strip())
        elif items and line.strip():
            if not line[:1].isspace():
                raise _Fault(
                    "after the list there is a line that is no item; what goes on is indented"
                )
            items[-1] = f"{items[-1]} {line.strip()}"
        elif line.strip():
            head.append(line.strip())
    return head, items


def _plain_plan(body: str) -> dict[str, Any]:
    body, _, document = _parted(body)
    head, items = _items(body)
    phases = [match[1] for line in head[1:] if (match := _PHASE.fullmatch(line))]
    if len(head) - len(phases) != 1:
        raise _Fault("it needs a title on its first line and then a list of subtasks")
    return {
        "title": head[0].lstrip("# "),
        "phase": phases[0] if phases else "",
        "subtasks": items,
        "document": document.strip(),
    }


def _plain_position(body: str) -> dict[str, Any]:
    stance, _, summary = body.partition(":")
    return {"stance": stance.strip().lower(), "summary": summary}


def _plain_finding(body: str) -> dict[str, Any]:
    graded = _GRADED.fullmatch(body.strip())
    if graded is None or not (graded[1] or graded[2]):
        return {"text": body}
    found = {"text": graded[3]}
    if graded[1]:
        found["severity"] = graded[1].lower()
    if graded[2]:
        found["category"] = graded[2].lower()
    return found


def _plain_verdict(body: str) -> dict[str, Any]:
    head, items = _items(body)
    verdict, _, summary = " ".join(head).removeprefix("verdict:").strip().partition(" ")
    verdict = verdict.rstrip(":.,").lower()
    return {"verdict": verdict, "summary": summary.lstrip(" :-"), "findings": items}


def _plain_consensus(body: str) -> dict[str, Any]:
    head, items = _items(body)
    decided = [item.partition(":") for item in [*head, *items]]
    if not all(colon for _, colon, _ in decided):
        raise _Fault("each item is written as `axis: decision`")
    return {"decisions": [{"axis": axis, "decision": what} for axis, _, what in decided]}


def _plain_done(body: str) -> dict[str, Any]:
    numbers = re.split(r"[\s,]+", body.replace("#", "").strip())
    if not all(re.fullmatch(r"[0-9]{1,4}", number) for number in numbers):
        raise _Fault("it names the subtask by its number: <!-- subtask-done:3 -->")
    return {"numbers": [int(number) for number in numbers]}


def _plain_artifact(body: str) -> dict[str, Any]:
    head, parted, text = _parted(body)
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    if not parted or not 1 <= len(lines) <= 2:
        raise _Fault("it needs a title, perhaps a line about it, then --- and its text")
    return {
        "title": lines[0].lstrip("# "),
        "line": lines[1] if len(lines) == 2 else "",
        "text": text.strip("\n"),
    }


def _parted(body: str) -> tuple[str, str, str]:
    """What stands before and after the first line ``---``."""
    parts = re.split(r"^---[ \t]*$", body, maxsplit=1, flags=re.MULTILINE)
    return (parts[0], "---", parts[1]) if len(parts) == 2 else (body, "", "")


_KINDS: Mapping[str, tuple[type[Block], Callable[[str], dict[str, Any]]]] = {
    "position": (Position, _plain_position),
    "plan": (PlanBlock, _plain_plan),
    "verdict": (Verdict, _plain_verdict),
    "consensus": (Consensus, _plain_consensus),
    "subtask-done": (SubtaskDone, _plain_done),
    "finding": (FindingBlock, _plain_finding),
    "artifact": (ArtifactBlock, _plain_artifact),
}
_WRAPPED = {"consensus": "decisions", "subtask-done": "numbers"}
