import pytest

from core.markup.measure import (
    Unit,
    graphemes,
    utf8_bytes,
    utf16_units,
    visible,
    well_formed,
    width,
)

FAMILY = "👨‍👩‍👧‍👦"


@pytest.mark.parametrize(
    ("text", "points", "utf16", "utf8", "clusters", "columns"),
    [
        ("", 0, 0, 0, 0, 0),
        ("abc", 3, 3, 3, 3, 3),
        ("한글", 2, 2, 6, 2, 4),
        ("😀", 1, 2, 4, 1, 2),
        (FAMILY, 7, 11, 25, 1, 2),
        ("🇰🇷", 2, 4, 8, 1, 2),
        ("\u1112\u1161\u11ab", 3, 3, 9, 1, 2),  # decomposed Hangul
        ("e\u0301", 2, 2, 3, 1, 1),
        ("ｆ", 1, 1, 3, 1, 2),
        ("a\tb", 3, 3, 3, 3, 2),
        ("한\x07", 2, 2, 4, 2, 2),
    ],
)
def test_every_unit(text, points, utf16, utf8, clusters, columns):
    assert Unit.CODE_POINTS.size(text) == len(text) == points
    assert Unit.UTF16.size(text) == utf16_units(text) == utf16
    assert Unit.BYTES.size(text) == utf8_bytes(text) == utf8
    assert len(graphemes(text)) == clusters
    assert "".join(graphemes(text)) == text
    assert width(text) == columns


def test_halves_of_characters_are_joined_or_replaced():
    assert well_formed("a\ud83d\ude00b") == "a😀b"
    assert well_formed("a\ud83db\ude00") == "a\ufffdb\ufffd"
    assert well_formed("한글") == "한글"


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\ufeff\u2060\u00a0", "\u3164", "\u200d"])
def test_nothing_to_see(text):
    assert not visible(text)


@pytest.mark.parametrize("text", [".", "가", "😀", " \u200bx", "\U0001fae8", "\ue000"])
def test_something_to_see(text):
    assert visible(text)
