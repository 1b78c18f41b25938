"""When a run is to be ended: a table of what was heard and when."""

from __future__ import annotations

import math

from core.engines.process.clocks import Clocks
from core.model import Limits

LIMITS = Limits(idle_s=10, total_s=60, linger_s=5, trouble_s=3)


def test_silence_and_length() -> None:
    clocks = Clocks(LIMITS, 100)
    assert clocks.due() == (110, "stalled")
    clocks.heard(108)
    assert clocks.due() == (118, "stalled")
    clocks.heard(155)
    assert clocks.due() == (160, "timeout")


def test_a_refusal_shortens_the_patience_until_something_is_heard() -> None:
    clocks = Clocks(LIMITS, 100)
    clocks.refused(101)
    clocks.refused(103)  # the first one counts
    assert clocks.due() == (104, "stalled")
    clocks.heard(103.5)
    assert clocks.due() == (113.5, "stalled")


def test_the_limits_stand_still_while_any_request_is_open() -> None:
    clocks = Clocks(LIMITS, 100)
    clocks.waits("1", 105)
    clocks.waits("2", 106)
    assert clocks.due() == (math.inf, "")
    assert clocks.waiting == ("1", "2")
    clocks.no_longer_waits("1", 500)
    clocks.no_longer_waits("1", 501)  # decided twice
    clocks.no_longer_waits("never asked", 502)
    assert clocks.due() == (math.inf, "")
    clocks.no_longer_waits("2", 505)
    assert clocks.due() == (515, "stalled")  # all its patience again
    clocks.heard(550)
    assert clocks.due() == (560, "stalled")
    clocks.heard(559)
    assert clocks.due() == (560, "timeout")  # 60 s of its own: 400 were waited for people


def test_a_refusal_from_before_counts_from_the_verdict() -> None:
    clocks = Clocks(LIMITS, 100)
    clocks.waits("1", 101)
    clocks.refused(102)
    clocks.no_longer_waits("1", 200)
    assert clocks.due() == (203, "stalled")


def test_once_settled_only_the_exit_is_waited_for() -> None:
    clocks = Clocks(LIMITS, 100)
    clocks.waits("1", 101)
    assert not clocks.is_settled
    assert clocks.settled(102)
    assert not clocks.settled(104)  # no news
    assert clocks.is_settled
    assert clocks.due() == (107, "")
