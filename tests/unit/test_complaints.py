"""When an engine that only complains on its error output is ended."""

from __future__ import annotations

from core.engines.process.clocks import Clocks
from core.model import Limits

LIMITS = Limits(idle_s=600, total_s=3600, trouble_s=120)


def test_a_refusal_counts_at_once_and_a_service_out_of_reach_from_the_third_time_on() -> None:
    clocks = Clocks(LIMITS, 0)
    for at in (1, 2):
        clocks.refused(at, surely=False)
        assert clocks.due() == (600, "stalled")
    clocks.refused(3, surely=False)
    assert clocks.due() == (123, "stalled")
    clocks.heard(4)  # it got over it
    clocks.refused(5, surely=False)
    assert clocks.due() == (604, "stalled")
    clocks.refused(6)
    assert clocks.due() == (126, "stalled")
