"""What ``!recall`` and ``!mark`` take, and what they refuse."""

import pytest

from bridge.commands import Names, parse, platform_command, typed_command
from bridge.recall_commands import MarkIt, Recall
from core.errors import BadInput

NAMES = Names()


def read(typed: str):
    return parse(*typed_command(typed), NAMES)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("!recall why did we choose JWT?", Recall("why did we choose JWT?")),
        ("!recall 지난주에 배포를 왜 멈췄지", Recall("지난주에 배포를 왜 멈췄지")),
        ('!recall "a-b" OR --engine x', Recall('"a-b" OR --engine x')),
        ("!mark 12 wrong", MarkIt(12, "wrong")),
        ("!mark #12 Outdated: we use sessions now", MarkIt(12, "stale", "we use sessions now")),
        ("!mark 12 stale\nsince May", MarkIt(12, "stale", "since May")),
        ("!mark 12, wrong, it was Lee", MarkIt(12, "wrong", "it was Lee")),
        ("!unmark 12", MarkIt(12)),
        ("!unmark #12", MarkIt(12)),
    ],
)
def test_what_is_meant(typed, meant):
    assert read(typed) == meant


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("!recall", "What should be found?"),
        ("!recall ???", "What should be found?"),
        ("!recall \u200b", "What should be found?"),
        ("!mark", "Which message"),
        ("!mark 12", "Which message"),
        ("!mark wrong", "Which message"),
        ("!mark 12 <!channel>", "Which message"),
        ("!mark 12 silly", "“silly”"),
        ("!unmark", "takes back"),
        ("!unmark 12 wrong", "takes back"),
        ("!mark 9999999999999999999999 wrong", "Which message"),
    ],
)
def test_what_is_refused_says_what_would_work(typed, told):
    with pytest.raises(BadInput, match=told):
        read(typed)


def test_as_commands_of_a_platform():
    assert platform_command("recall", "why") == ("recall", "why")
    assert platform_command("moot", "recall why") == ("recall", "why")
    assert platform_command("moot", "mark 12 wrong") == ("mark", "12 wrong")


@pytest.mark.parametrize("text", ["!market is down", "!remark: no", "!park it"])
def test_words_that_are_like_mark_are_no_misspelt_commands(text):
    assert typed_command(text) is None
