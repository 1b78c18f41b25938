"""Times that a question names. It is Wednesday, 15 May 2024, 10:00 UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.memory.dates import MAX_READ, spans

NOW = datetime(2024, 5, 15, 10, tzinfo=UTC).timestamp()
DAY = ("2024-05-14", "2024-05-15")


def told(question: str) -> list[tuple[str, str]]:
    return [(_day(span.begin), _day(span.end)) for span in spans(question, NOW)]


def _day(at: float) -> str:
    if abs(at) == float("inf"):
        return "ever"
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("question", "begin", "end"),
    [
        ("What did we decide last Tuesday?", *DAY),
        ("who broke it yesterday", *DAY),
        ("the day before yesterday", "2024-05-13", "2024-05-14"),
        ("what happened last week", "2024-05-06", "2024-05-13"),
        ("two weeks ago", "2024-04-28", "2024-05-05"),
        ("a year ago", "2022-11-13", "2023-11-15"),
        ("what happened in March", "2024-03-01", "2024-04-01"),
        ("in June", "2023-06-01", "2023-07-01"),
        ("December last year", "2023-12-01", "2024-01-01"),
        ("on May 7th", "2024-05-07", "2024-05-08"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("2024-03-05 deploy", "2024-03-05", "2024-03-06"),
        ("am 5.3.2024", "2024-03-05", "2024-03-06"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("since March", "2024-03-01", "ever"),
        ("before May 7th", "ever", "2024-05-07"),
        ("지난주에 뭐라고 했지", "2024-05-06", "2024-05-13"),
        ("어제 배포", *DAY),
        ("3일 전 이야기", "2024-05-12", "2024-05-13"),
        ("지난 화요일", *DAY),
        ("지난주 화요일에", "2024-05-07", "2024-05-08"),
        ("5월 7일에", "2024-05-07", "2024-05-08"),
        ("작년 12월", "2023-12-01", "2024-01-01"),
        ("3월 이후", "2024-03-01", "ever"),
        ("先週の会議", "2024-05-06", "2024-05-13"),
        ("昨日", *DAY),
        ("3日前", "2024-05-12", "2024-05-13"),
        ("上周二", "2024-05-07", "2024-05-08"),
        ("2023年3月", "2023-03-01", "2023-04-01"),
        ("apa kata Budi minggu lalu", "2024-05-06", "2024-05-13"),
        ("kemarin", *DAY),
        ("hace 3 días", "2024-05-12", "2024-05-13"),
        ("la semana pasada", "2024-05-06", "2024-05-13"),
        ("vor zwei Wochen", "2024-04-28", "2024-05-05"),
        ("am 7. Mai 2023", "2023-05-07", "2023-05-08"),
        ("il y a 3 jours", "2024-05-12", "2024-05-13"),
        ("ontem", *DAY),
        ("вчера", *DAY),
        ("на прошлой неделе", "2024-05-06", "2024-05-13"),
    ],
)
def test_a_time_is_found_and_read(question, begin, end):
    assert told(question) == [(begin, end)]


@pytest.mark.parametrize(
    "question",
    [
        "may I set the value?",
        "can you set march mode",
        "what time is it in the second test",
        "port 2024",
        "version 1.2.3",
        "feb 30",
        "2024-02-30",
        "next Tuesday",
        "every Friday",
        "tomorrow",
        "다음 주 화요일",
        "내일 배포",
        "来週の火曜日",
        "전주 사무실",
        "오후에 보자",
        "",
    ],
)
def test_what_is_no_time_that_was(question):
    assert told(question) == []


def test_a_day_begins_where_the_question_was_asked():
    [day] = spans("어제", NOW, ZoneInfo("Asia/Seoul"))
    assert datetime.fromtimestamp(day.begin, UTC) == datetime(2024, 5, 13, 15, tzinfo=UTC)
    assert day.end - day.begin == timedelta(days=1).total_seconds()


def test_several_times_are_all_told():
    assert told("yesterday or last week") == [DAY, ("2024-05-06", "2024-05-13")]


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=80), st.integers(0, 4_000_000_000))
def test_any_text_at_any_time_is_taken(text, now):
    for span in spans(text, float(now)):
        assert span.begin < span.end
        assert span.begin <= now
        assert 0 <= span.at[0] < span.at[1] <= len(text)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 30), st.integers(1_000_000_000, 2_000_000_000))
def test_days_ago_are_that_many_days_ago_in_every_tongue(days, now):
    said = [f"{days} days ago", f"{days}일 전", f"{days}日前", f"{days} hari yang lalu"]
    then = now - days * 86_400
    for question in said:
        [span] = spans(question, float(now))
        assert span.begin <= then < span.end


def test_a_text_full_of_times_is_not_read_to_its_end():
    text = " ".join(f"{n} days ago" for n in range(1, 200))
    assert 0 < len(spans(text, 1_715_767_200.0)) <= MAX_READ
