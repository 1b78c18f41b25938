"""What goes back to an agent whose blocks could not be read: once, with the exact errors."""

from __future__ import annotations

from collections.abc import Sequence

from core.blocks import FORMS
from core.context.frame import theirs
from core.context.speakers import participant_label
from core.model import PackRequest
from core.pull import neutralise

MAX_FAULT_CHARS = 400
MAX_FAULTS = 10


def build_fault_followup(
    request: PackRequest, faults: Sequence[str], *, earlier: str | None = None
) -> str:
    """The prompt that tells an agent what is wrong with its blocks.

    Args:
        request: the step's request; says who is asked.
        faults: as ``core.blocks.split_blocks`` gave them: words of ours.
        earlier: ``None`` when the engine goes on with its session. Else what people have seen of
            its answer (may be ""): the text then ends with the message being answered, and goes
            after the full pack's context.
    """
    who = participant_label(request.participant)
    told = [f"- {' '.join(fault.split())[:MAX_FAULT_CHARS]}" for fault in faults[:MAX_FAULTS]]
    if (more := len(faults) - len(told)) > 0:
        told.append(f"- and {more} more")
    words = dict.fromkeys(fault.split(":")[0].split(" ")[0] for fault in faults)
    forms = [FORMS[word] for word in words if word in FORMS]
    order = (
        "Write those blocks again, put right, and nothing else: what people read of your answer is "
        "posted already, and the blocks that are not named here were taken in. This is the only "
        "chance; if you meant no block, say so in one line."
    )
    about = (
        f"{who}: some blocks of your answer could not be read, so nothing of them was taken in:",
        "\n".join(told),
        "A block stands in the open, at the beginning of a line, in this form:",
        *forms,
        order,
    )
    if earlier is None:
        return "\n\n".join(about)
    return "\n\n".join(
        (
            f"{who}: this is Moot's follow-up. You have answered so far:",
            theirs(earlier) if earlier.strip() else "[nothing but blocks]",
            *about,
            "The message that you answered, word for word to its end:",
            neutralise(request.prompt),
        )
    )
