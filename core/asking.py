"""How a question is put to an engine: with the whole context, or as a follow-up in its session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.context.followup import build_followup
from core.model import ContextPack, EngineTask, PackRequest, PulledResult, Run
from core.ports import Engine


@dataclass(frozen=True, slots=True)
class Asking:
    """A way to put the question: a pack, and the engine session it goes to ("" = a new one)."""

    pack: ContextPack
    resume: str = ""

    def of(self, task: EngineTask) -> EngineTask:
        """``task`` with this pack and session."""
        return replace(task, context=self.pack.context, prompt=self.pack.prompt, resume=self.resume)


def ways_to_ask(
    pack: ContextPack,
    request: PackRequest,
    engine: Engine | None,
    chain: Sequence[Run],
    pulled: Sequence[PulledResult],
) -> tuple[Asking, ...]:
    """How to ask: as it is, or for a follow-up in the same session, else with everything again.

    Args:
        pack: what is told when everything is told.
        request: what the pack was built for.
        engine: who is asked; ``None`` when there is no engine of that name.
        chain: the answered hops before this one, in order; empty for a first question.
        pulled: what the last of them asked for.
    """
    if not chain:
        return (Asking(pack),)
    last = not request.can_pull
    earlier = "\n\n".join(run.answer for run in chain if run.answer)
    whole = build_followup(request, pulled, last=last, earlier=earlier)
    afresh = Asking(replace(pack, prompt=whole))
    session = chain[-1].session
    if engine is None or not engine.traits.resumes or not session:
        return (afresh,)
    brought = tuple(f"pulled {p.pull.kind}: {len(p.hits)} found" for p in pulled)
    short = replace(
        pack,
        reason="follow-up in the same session",
        sections=(),
        message_ids=(),
        dropped=(),
        prompt=build_followup(request, pulled, last=last),
        notes=brought,
    )
    return (Asking(short, session), afresh)
