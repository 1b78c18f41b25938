"""What the server remembers, and what a prompt asks of it."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.peers.models.conversation import DIRECTIVE


@dataclass
class Seen:
    """One request as it arrived, with the times that benchmarks need."""

    index: int
    at: float  # time.time() on arrival
    method: str
    path: str
    query: str
    protocol: str
    headers: dict[str, str]
    model: str = ""
    directive: str = ""
    side: bool = False
    step: int = 0
    tools: int = 0
    body_bytes: int = 0
    status: int = 0
    done_at: float = 0.0
    aborted: bool = False
    body: Any = field(default=None, repr=False)

    def public(self) -> dict[str, Any]:
        d = dict(self.__dict__)
        d.pop("body")
        return d


class State:
    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.counters: Counter[str] = Counter()
        self.more_can: tuple[str, ...] = ()  # of local models: "vision"

    def count(self, key: str) -> int:
        self.counters[key] += 1
        return self.counters[key]

    def reset(self) -> None:
        self.seen.clear()
        self.counters.clear()


def parse_directive(text: str) -> tuple[str, dict[str, str]] | None:
    found = DIRECTIVE.findall(text)
    if not found:
        return None
    name, rest = found[-1]
    args: dict[str, str] = {}
    for word in shlex.split(rest):
        key, _, value = word.partition("=")
        args[key] = value
    return name, args


def wanted_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema that a structured-output request asks for, if any."""
    gen = body.get("generationConfig") or {}
    if gen.get("responseMimeType") == "application/json":
        return gen.get("responseJsonSchema") or gen.get("responseSchema") or {}
    fmt = (
        body.get("response_format")
        or (body.get("text") or {}).get("format")
        or (body.get("output_config") or {}).get("format")
        or body.get("output_format")
        or {}
    )
    if fmt.get("type") == "json_schema":
        return fmt.get("schema") or (fmt.get("json_schema") or {}).get("schema") or {}
    return None


def example_of(schema: dict[str, Any]) -> Any:
    """A smallest value that fits a JSON schema (enough of it for side requests)."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {k: example_of(v) for k, v in (schema.get("properties") or {}).items()}
    if kind == "array":
        return []
    if kind in ("number", "integer"):
        return schema.get("minimum", 1)
    return False if kind == "boolean" else "Fake title"
