"""What a participant of a roundtable is told to do: in a round, and at the end. Pure."""

from __future__ import annotations

from core.blocks import FORMS
from core.context.frame import theirs
from core.model import PackRequest

POSITION = (
    "End with where you stand on the topic, in a block on a line of its own, which people do not "
    f"see:\n\n{FORMS['position']}\n\n"
    "`stance` is agree, disagree or abstain, about the proposal that is on the table; `confidence` "
    "is from 0 to 1. When all agree, the table may end early: agree only if you mean it."
)
_FIRST = {
    "sequential": "Take a position and give your reasons; answer those who spoke before you.",
    "parallel": "All speak at once: take a position and give your reasons.",
    "blind": "Nobody reads anyone in this round: take your own position and give your reasons.",
}
_LATER = "Answer the others by name: what you accept, what you dispute, what changed."
_SYNTHESIS = (
    "This roundtable is over and you sum it up for those who missed it: the decision (or that "
    "there is none), the reasons that carried it, who dissents and why, by name, and the open "
    "questions. Say who gave no answer. Add no view of your own and do not count votes: Moot posts "
    "its own count below your answer."
)
_CONSENSUS = (
    "What was settled, and only that, goes at the end into one block, axis by axis; no block when "
    f"nothing was:\n\n{FORMS['consensus']}"
)


def roundtable_part(request: PackRequest) -> str:
    """What to do in this round, or (after the last one) as the one who sums up."""
    if request.round >= request.rounds:
        return _synthesis(request)
    where = f"This is round {request.round + 1} of {request.rounds} of a roundtable."
    what = _LATER if request.round else _FIRST[request.order]
    return f"{where} {what} End with your position block."


def _synthesis(request: PackRequest) -> str:
    blocks = [_SYNTHESIS]
    if request.positions:
        stands = theirs("\n".join(request.positions))
        blocks.append(f"Where they stand in the end, as they said it themselves:\n{stands}")
    return "\n\n".join([*blocks, _CONSENSUS])
