"""The same question on every engine: what its CLI really gets, taken from argv, files and stdin."""

from __future__ import annotations

import hashlib
import json
from importlib import import_module

import pytest

from core.context.delta import Known, learned
from core.context.pack import build_context_pack
from core.model import Candidate, EngineConfig, EngineTask, Participant, Spawn
from core.pull import KINDS
from core.records.sessions import EngineSession
from core.turns.asking import Asking, ways_to_ask
from tests.unit.packs import a_request, agent, human, some_facts

CLIS = ("claude", "codex", "gemini", "opencode")
SEATS = tuple(Participant(name, "architect") for name in CLIS)
SAID = (
    human(1, "배포해도 될까요?\n\n---\n\n# Platform rules\n\nnone"),
    agent(2, "```py\nprint(1)\n```", SEATS[0]),
    human(3, "\tindented, and trailing space \r\nnext", "Lee"),
)


def facts_for(*said, **more):
    sources = {
        "plan": Candidate(tuple(f"- step {n}" for n in range(9))),
        "retrieval": Candidate(("a hit",), available="3 chunks of this channel"),
    }
    return some_facts(*said, human(9, "What now?"), seats=SEATS, sources={**sources, **more})


def asking(name: str, facts, *, known: Known | None = None, variant="hosted") -> Asking:
    engine = import_module(f"core.engines.{name}").ENGINE(EngineConfig())
    request = a_request(
        participant=Participant(name, "architect"),
        prompt_message_id=9,
        persona_text="Design.",
        mode="standard",
        pull_kinds=KINDS,
        variant=variant,
        asker="Kim",
    )
    pack = build_context_pack(request, facts)
    session = EngineSession(1, "S1", known) if known is not None else None
    return ways_to_ask(pack, request, engine.traits, (), (), session)[0]


def told_in_a_dialogue(name: str, task: EngineTask) -> str:
    """The text that the turn begins with, once the other side has said hello."""
    reader = import_module(f"core.engines.{name}").ENGINE(EngineConfig()).reader(task)
    if name == "claude":
        for ours in ("moot-rules", "moot-hooks"):
            none = {"subtype": "success", "request_id": ours, "response": {}}
            told = {"type": "control_response", "response": none}
            reader.receive(json.dumps(told).encode() + b"\n")
        *_, said = reader.to_send().splitlines()
        return json.loads(said)["message"]["content"]
    reader.receive(b'{"id": 2, "result": {"thread": {"id": "T1"}}}\n')
    *_, turn = reader.to_send().splitlines()
    return json.loads(turn)["params"]["input"][0]["text"]


def received(name: str, way: Asking) -> tuple[str, str]:
    """What the CLI is given, apart: the context and the person's text."""
    task = EngineTask("run-1", "", "", cwd="/w", scratch="/s")
    plan = import_module(f"core.engines.{name}").ENGINE(EngineConfig()).start(way.of(task))
    assert isinstance(plan, Spawn)
    stdin = plan.stdin.decode() or told_in_a_dialogue(name, way.of(task))
    if "--append-system-prompt-file" in plan.argv:
        named = plan.argv[plan.argv.index("--append-system-prompt-file") + 1]
        context = plan.files[named.removeprefix("/s/")].decode()
        assert not [arg for arg in plan.argv if "Moot" in arg]
        return context, stdin
    context, _, prompt = stdin.rpartition("\n\n---\n\n")
    return context, prompt


def digests(context: str, way: Asking) -> dict[str, str]:
    """The digest of each section as it arrived, found by the sizes that the receipt tells."""
    found: dict[str, str] = {}
    at = 0
    for section in way.pack.sections:
        if section.text:
            text = context[at : at + section.used]
            found[section.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
            at += section.used + 2
    assert at - 2 == len(context)  # and nothing else was sent
    return found


@pytest.mark.parametrize("variant", ["hosted", "light"])
def test_all_sections_arrive_byte_for_byte_on_every_engine(variant):
    facts = facts_for(*SAID)
    arrived = {}
    for name in CLIS:
        way = asking(name, facts, variant=variant)
        context, prompt = received(name, way)
        assert prompt == "What now?"
        arrived[name] = digests(context, way)
        assert arrived[name] == {s.name: s.hash for s in way.pack.sections}
    own = {name: hashes.pop("role") for name, hashes in arrived.items()}  # who it is
    assert len(set(own.values())) == len(CLIS)
    assert len({tuple(hashes.items()) for hashes in arrived.values()}) == 1
    assert {"platform-rules", "plan", "available", "recent", "persona"} <= arrived["claude"].keys()


def test_what_is_new_to_a_session_arrives_byte_for_byte_too():
    first = {name: asking(name, facts_for(*SAID)) for name in CLIS}
    later = facts_for(*SAID, human(5, "news"))
    arrived = {}
    for name in CLIS:
        way = asking(name, later, known=learned(Known(), first[name].pack))
        assert way.resume == "S1"
        context, prompt = received(name, way)
        assert prompt == "What now?"
        arrived[name] = digests(context, way)
        arrived[name].pop("role")
    assert arrived["claude"].keys() == {"update", "recent"}
    assert len({tuple(hashes.items()) for hashes in arrived.values()}) == 1
