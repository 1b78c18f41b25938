"""Blocks in an agent's answer: positions, plans, verdicts and what was agreed.

A block is an HTML comment that begins on a line of its own, in the open (as a Pull marker; see
``core.pull``), and may go on over several lines:

    <!-- position {"stance": "agree", "summary": "…", "confidence": 0.8} -->

Prose never changes state; a block that does not parse is told back to the agent once.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Stance = Literal["agree", "disagree", "abstain"]


class Block(BaseModel):
    """Root of all blocks; what is unknown in one is an error that is told."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Position(Block):
    """Where a participant stands at the end of its answer."""

    stance: Stance
    summary: str = Field(default="", max_length=500)
    confidence: float = Field(default=0.5, ge=0.0, le=1.0)
