"""When a limit ends: read from what CLIs and providers say, told with its zone, and as a time."""

# ruff: noqa: E501 - a case a line
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from core.streams import reset_moment, reset_time

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()


@pytest.fixture
def in_seoul() -> Iterator[None]:
    """This host's clock is Seoul's."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Seoul"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("in_seoul")
@pytest.mark.parametrize(
    ("text", "told", "moment"),
    [
        ("usage limit reached|1760000400", "2025-10-09 09:00 UTC", "2025-10-09 09:00"),
        ("usage limit reached|1760000400000", "2025-10-09 09:00 UTC", "2025-10-09 09:00"),
        ("resets 3pm (Asia/Seoul)", "3pm Asia/Seoul", "2026-12-01 06:00"),
        ("resets 11pm (Asia/Seoul)", "11pm Asia/Seoul", "2026-11-30 14:00"),
        ("try again at 3:40 PM", "3:40 PM (this host's time)", "2026-12-01 06:40"),
        ("resets at 15:00 UTC", "15:00 UTC", "2026-11-30 15:00"),
        ("resets Dec 2, 10am (America/New_York)", "Dec 2, 10am America/New_York", "2026-12-02 15:00"),
        ("try again at Dec 3rd, 2026 3:40 PM.", "Dec 3rd, 2026 3:40 PM (this host's time)", "2026-12-03 06:40"),
        ("resets Jan 2 at 9am (UTC)", "Jan 2 at 9am UTC", "2027-01-02 09:00"),
        ("resets Wed 9am (UTC)", "Wed 9am UTC", "2026-12-02 09:00"),
        ("resets tomorrow at 9am (UTC)", "tomorrow at 9am UTC", "2026-12-01 09:00"),
        ("resets at midnight Pacific time", "midnight Pacific", "2026-12-01 08:00"),
        ("try again in 2 hours 5 minutes", "in 2 hours 5 minutes", "2026-11-30 14:05"),
        ("Your quota will reset after 18h24m", "in 18h24m", "2026-12-01 06:24"),
        ("Access resets at 3:40 PM GMT+9", "3:40 PM GMT+9", "2026-12-01 06:40"),
        ("will reset at 2026-12-01T12:00:00+09:00", "2026-12-01T12:00:00 +09:00", "2026-12-01 03:00"),
        ("resets 오후 3시 (Asia/Seoul)", "오후 3시 Asia/Seoul", "2026-12-01 06:00"),
        ("resets 12월 2일 오후 3:40 (Asia/Seoul)", "12월 2일 오후 3:40 Asia/Seoul", "2026-12-02 06:40"),
        ("2026년 12월 2일 오전 9시에 초기화됩니다", "2026년 12월 2일 오전 9시 (this host's time)", "2026-12-02 00:00"),
        ("2시간 5분 후에 다시 시도하세요", "in 2시간 5분", "2026-11-30 14:05"),
        ("resets Feb 31, 9am (UTC)", "Feb 31, 9am UTC", ""),
        ("resets 3pm (Mars/Olympus)", "3pm Mars/Olympus", ""),
        ("no time at all", "", ""),
        # the day after the clock, before or after the zone
        ("resets 9am tomorrow (UTC)", "9am tomorrow UTC", "2026-12-01 09:00"),
        ("resets 9am (UTC) tomorrow", "9am tomorrow UTC", "2026-12-01 09:00"),
        ("resets 9am on Dec 3 (UTC)", "9am Dec 3 UTC", "2026-12-03 09:00"),
        ("resets at 3pm on Thursday (UTC).", "3pm Thursday UTC", "2026-12-03 15:00"),
        ("resets at 15h00 (UTC)", "15h00 UTC", "2026-11-30 15:00"),
        ("try again in 15h30", "in 15h30m", "2026-12-01 03:30"),
        ("try again in 1 week", "in 1 week", "2026-12-07 12:00"),
        ("try again in 2 weeks and 3 days", "in 2 weeks and 3 days", "2026-12-17 12:00"),
        ("try again in 1 month", "in 1 month", "2026-12-30 12:00"),
        ("3주 후에 다시 시도하세요", "in 3주", "2026-12-21 12:00"),
        # March or December: the words stay
        ("resets 12/3 at 9am", "12/3 at 9am (this host's time)", ""),
        ("resets 9am on 12/3", "9am 12/3 (this host's time)", ""),
        ("12/3 오후 3시에 초기화됩니다", "12/3 오후 3시 (this host's time)", "2026-12-03 06:00"),
        ("429 Too Many Requests, retry-after: 3600", "in 3600s", "2026-11-30 13:00"),
        ('{"retry_after_ms": 120000}', "in 120s", "2026-11-30 12:02"),
        ("retry-after: Tue, 01 Dec 2026 07:28:00 GMT", "Tue, 01 Dec 2026 07:28:00 GMT", "2026-12-01 07:28"),
        ("the limit resets monthly", "", ""),
    ],
)  # fmt: skip
def test_a_reset_is_told_with_its_zone_and_as_a_time(text: str, told: str, moment: str) -> None:
    assert reset_time(text) == told
    at = reset_moment(told, NOW)
    assert (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if at else "") == moment


def test_three_oclock_read_just_after_three_is_not_tomorrow() -> None:
    three = datetime(2026, 11, 30, 15, 0, tzinfo=UTC).timestamp()
    assert reset_moment("3pm UTC", three + 60) == three
    assert reset_moment("3pm UTC", three + 3600) == three + 86_400


@pytest.mark.parametrize(
    "text",
    [
        "pi is 3." + "1" * 40_000,
        "1 " * 20_000,
        f"resets{' ' * 40_000}3pm",
        "12/" * 15_000,
        "reset at 1 day " * 3_000,
        f"resets{':' * 40_000}",
        "3시 " * 15_000,
    ],
    ids=["digits", "numbers", "blanks", "dates", "spans", "colons", "korean"],
)
def test_a_long_text_is_read_at_once(text: str) -> None:
    began = time.process_time()
    reset_moment(reset_time(text), NOW)
    reset_moment(text, NOW)
    assert time.process_time() - began < 0.5
