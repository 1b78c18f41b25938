"""Every recorded stream of the real CLIs, replayed to its outcome.

``fixtures/transcripts/ENGINE/CASE.{stdout,stderr,json}`` were recorded from the real programs
against the loopback model server; ``expected.json`` says what each must come to.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.engines.process.program import spawn_failure
from core.model import EngineConfig, EngineEvent, EngineTask, Exit, Outcome

FOLDER = Path(__file__).parents[1] / "fixtures" / "transcripts"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())
CASES = sorted(f"{p.parent.name}/{p.stem}" for p in FOLDER.glob("*/*.json"))


@cache
def recording(case: str) -> tuple[dict[str, Any], bytes, str]:
    base = FOLDER / case
    stderr = base.with_suffix(".stderr")
    meta = json.loads(base.with_suffix(".json").read_text())
    return (
        meta,
        base.with_suffix(".stdout").read_bytes(),
        (stderr.read_text(errors="replace") if stderr.exists() else ""),
    )


def task(meta: dict[str, Any]) -> EngineTask:
    resumed = {"--resume", "resume", "--session"} & set(meta.get("argv", ()))
    fields = {"resume": "earlier" if resumed else "", **meta.get("task", {})}
    return EngineTask(
        run_id="r", context="c", prompt="p", cwd="/w", scratch="/s", model="fake-coder:7b", **fields
    )


def ending(meta: dict[str, Any], stderr: str) -> Exit:
    why = "cancelled" if meta.get("cancel") else "stalled" if meta.get("timed_out") else ""
    return Exit(
        code=meta.get("exit_code", None if "http_status" in meta else 0),
        status=meta.get("http_status"),
        stderr=stderr,
        why=why,
        detail="no output for 60 s" if why == "stalled" else "",
    )


def replay(case: str, cuts: list[int] | None = None) -> tuple[list[EngineEvent], Outcome]:
    meta, stdout, stderr = recording(case)
    if errno := meta.get("errno"):  # the system refused the start: there was no stream
        return [], spawn_failure(OSError(errno, meta["spawn_error"]), "<engine>")
    engine = import_module(f"core.engines.{case.split('/')[0]}").ENGINE(EngineConfig())
    reader = engine.reader(task(meta))
    events: list[EngineEvent] = []
    edges = [0, *sorted(c % (len(stdout) + 1) for c in cuts or ()), len(stdout)]
    for start, end in pairwise(edges):
        events += reader.receive(stdout[start:end])
    return events, reader.finish(ending(meta, stderr))


def seen(outcome: Outcome) -> dict[str, Any]:
    """An outcome as the table has it; long texts by their beginning and length."""
    text = outcome.text
    return {
        "kind": outcome.kind,
        "text": text if len(text) <= 80 else f"{text[:60]}… {len(text)}",
        "session": bool(outcome.session),
        "tokens": [outcome.usage.input_tokens, outcome.usage.output_tokens],
        **({"unclean": True} if outcome.unclean else {}),
    }


def test_every_recording_is_in_the_table() -> None:
    assert sorted(EXPECTED) == CASES


@pytest.mark.parametrize("case", CASES)
def test_recording_comes_to_its_outcome(case: str) -> None:
    events, outcome = replay(case)
    assert seen(outcome) == EXPECTED[case]
    if outcome.kind not in ("answered", "cancelled"):
        assert outcome.detail, "a failure must be explained"
    started = [e.id for e in events if e.kind == "started"]
    assert (outcome.session or None) == (started[-1] if started else None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    case=st.sampled_from([c for c in CASES if len(recording(c)[1]) < 40_000]),
    cuts=st.lists(st.integers(0, 40_000), max_size=40),
)
def test_a_stream_cut_anywhere_says_the_same(case: str, cuts: list[int]) -> None:
    assert replay(case, cuts) == replay(case)


@pytest.mark.parametrize("case", ["claude/tool", "codex/tool", "gemini/tool", "opencode/tool"])
def test_one_byte_at_a_time(case: str) -> None:
    assert replay(case, list(range(len(recording(case)[1])))) == replay(case)


@pytest.mark.parametrize("case", ["claude/tool", "codex/tool", "gemini/tool", "opencode/tool"])
def test_tools_are_told_with_their_command(case: str) -> None:
    events, _ = replay(case)
    starts = [e for e in events if e.kind == "tool_start"]
    ends = [e for e in events if e.kind == "tool_end"]
    assert len(starts) == len(ends) == 1
    assert "ls -a" in starts[0].text
    assert starts[0].id == ends[0].id
    assert ends[0].ok


def test_a_compacted_session_is_told() -> None:
    for case in ("claude/compacted", "opencode/compacted_after", "opencode/compacted_within"):
        events, _ = replay(case)
        assert [e.text for e in events if e.kind == "compacted"] == ["auto"]
    events, _ = replay("claude/resume_2")
    assert not [e for e in events if e.kind == "compacted"]


def mutate(value: Any, path: list[int], new: Any) -> Any:
    """``value`` with one part, found by following ``path``, replaced by ``new``."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = keys[path[0] % len(keys)]
    changed = value.copy()
    changed[key] = mutate(value[key], path[1:], new)
    return changed


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
KINDS = ("claude", "codex", "gemini", "opencode", "ollama")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), engine=st.sampled_from(KINDS))
def test_no_shape_of_event_breaks_a_reader(data: st.DataObject, engine: str) -> None:
    """A newer CLI may send anything: a reader keeps what it understands and never raises."""
    case = data.draw(st.sampled_from([c for c in CASES if c.startswith(engine)]))
    meta, stdout, stderr = recording(case)
    whole = (b"{", b"}")  # some recordings end in the middle of a line
    lines = [line for line in stdout.splitlines() if (line[:1], line[-1:]) == whole]
    reader = import_module(f"core.engines.{engine}").ENGINE(EngineConfig()).reader(task(meta))
    at = data.draw(st.integers(0, max(len(lines) - 1, 0)))
    for n, line in enumerate(lines):
        if n == at:
            path = data.draw(st.lists(st.integers(0, 9), max_size=5))
            line = json.dumps(mutate(json.loads(line), path, data.draw(ANY_JSON))).encode()
        for event in reader.receive(line + b"\n"):
            assert isinstance(event.text, str)
    assert isinstance(reader.finish(ending(meta, stderr)).text, str)
