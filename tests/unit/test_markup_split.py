"""The splitter on its own: where it cuts, what it closes and reopens, what it never does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadSettings
from core.markup.measure import Unit, graphemes
from core.markup.split import SMALLEST_LIMIT, Atom, Cut, Limit, Whole, Wrap, pieces, split

FAMILY = "👨‍👩‍👧‍👦"
HANGUL = "\u1112\u1161\u11ab"


def sentence(text, **others):
    return [Atom(word, " ", cut=Cut.SPACE, **others) for word in text.split()]


@pytest.mark.parametrize("size", [0, 5, -1, SMALLEST_LIMIT - 1])
def test_c020_silly_limits_are_refused(size):
    with pytest.raises(BadSettings, match=f"limit of {size} UTF-16 units is too small"):
        Limit(size, Unit.UTF16)


def test_what_fits_is_one_message():
    assert split(sentence("one two three"), Limit(64, Unit.UTF16)) == ["one two three"]
    assert split([], Limit(64, Unit.UTF16)) == []


def test_the_best_place_in_the_second_half_wins():
    atoms = [
        *sentence("a" * 30 + " " + "b" * 10),
        Atom("c" * 10, "\n\n", cut=Cut.BLOCK),
        *sentence("d" * 5 + " " + "e" * 30),
    ]
    assert split(atoms, Limit(64, Unit.CODE_POINTS)) == [
        "a" * 30 + " " + "b" * 10,
        "c" * 10 + " " + "d" * 5 + " " + "e" * 30,
    ]


def test_a_wrap_is_closed_before_a_cut_and_opened_again_after_it():
    fence = Wrap("```py\n", "\n```", again="```\n")
    lines = [Atom("x" * 20, "\n", cut=Cut.LINE, wraps=(fence,)) for _ in range(4)]
    after = Atom("end", "\n", cut=Cut.BLOCK)
    assert split([*lines, after], Limit(64, Unit.UTF16)) == [
        "```py\n" + "x" * 20 + "\n" + "x" * 20 + "\n```",
        "```\n" + "x" * 20 + "\n" + "x" * 20 + "\n```\nend",
    ]


def test_two_wraps_of_one_spelling_are_not_one():
    def bold():
        return (Wrap("*", "*"),)

    atoms = [Atom("a", wraps=bold()), Atom("b", " ", wraps=bold()), Atom("c", " ")]
    assert split(atoms, Limit(64, Unit.UTF16)) == ["*a* *b* c"]


def test_a_quote_goes_on_in_the_next_message():
    atoms = [Atom("a" * 40, start="> "), Atom("b" * 40, " ", "> ")]
    assert split(atoms, Limit(64, Unit.UTF16)) == ["> " + "a" * 40, "> " + "b" * 40]


def test_the_reserve_is_kept_free():
    parts = split(sentence("word " * 200), Limit(100, Unit.UTF16), reserved=30)
    assert max(map(len, parts)) <= 70


def test_an_atom_too_large_is_replaced_by_its_spare_text():
    link = Atom("<https://ex.test/" + "x" * 100 + "|label>", spare="label &lt; " + "y" * 100)
    parts = split([*sentence("see"), link._replace(lead=" ")], Limit(64, Unit.BYTES))
    assert "".join(parts).replace(" ", "") == "seelabel&lt;" + "y" * 100
    assert all(len(part) <= 64 for part in parts)


def test_escapes_are_not_cut():
    parts = split([Atom("&amp;" * 100)], Limit(64, Unit.BYTES))
    assert all(part == "&amp;" * (len(part) // 5) and len(part) <= 64 for part in parts)
    assert "".join(parts) == "&amp;" * 100


def test_wraps_that_leave_no_room_are_given_up():
    wide = Wrap("(" * 60, ")" * 60)
    parts = split([Atom("x" * 200, wraps=(wide,))], Limit(64, Unit.UTF16))
    assert "".join(parts) == "x" * 200


GRAPHEMES = [
    "a",
    " ",
    "é",
    "e\u0301",
    HANGUL,
    "한",
    "😀",
    FAMILY,
    "🇰🇷",
    "👍🏽",
    "&amp;",
    "\\*",
    "\t",
    "क्षि",
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(GRAPHEMES), max_size=400), st.sampled_from(Unit), st.integers(64, 300)
)
def test_hard_cuts_lie_between_graphemes_and_lose_nothing(parts, unit, size):
    text = "x" + "".join(parts)
    messages = split([Atom(text)], Limit(size, unit))
    assert "".join(messages) == text
    assert all(unit.size(message) <= size for message in messages)
    whole = graphemes(text)
    cut = [g for message in messages for g in graphemes(message)]
    assert cut == whole


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text("ab한😀", min_size=1, max_size=90),
            st.sampled_from(["", " ", "\n", "\n\n"]),
            st.sampled_from(Cut),
            st.integers(0, 3),
        ),
        max_size=60,
    ),
    st.sampled_from(Unit),
    st.integers(64, 200),
)
def test_no_message_is_over_the_limit_and_every_wrap_is_closed(drawn, unit, size):
    wraps = [Wrap(f"<{n}>", f"</{n}>") for n in range(3)]
    atoms = [Atom(text, lead, "> ", cut, tuple(wraps[:depth])) for text, lead, cut, depth in drawn]
    messages = split(atoms, Limit(size, unit))
    assert all(unit.size(message) <= size for message in messages)
    for message in messages:
        for n in range(3):
            assert message.count(f"<{n}>") == message.count(f"</{n}>")
    kept = "".join(ch for ch in "".join(messages) if ch in "ab한😀")
    assert kept == "".join(text for text, *_ in drawn)


@settings(deadline=None)
@given(st.integers(1, 40))
def test_progress_on_a_letter_under_a_heap_of_marks(heaps):
    text = ("a" + "\u0301" * 100) * heaps
    messages = split([Atom(text)], Limit(64, Unit.BYTES))
    assert "".join(messages) == text
    assert all(Unit.BYTES.size(message) <= 64 for message in messages)


def test_time_grows_with_the_length_only():
    """A message is looked at a bounded number of times: counted, not timed."""

    class Counted(str):
        __slots__ = ()
        looks = 0

        def isascii(self):
            Counted.looks += 1
            return super().isascii()

    def looks(count):
        Counted.looks = 0
        split([Atom(Counted("word"), " ") for _ in range(count)], Limit(400, Unit.BYTES))
        return Counted.looks

    assert looks(8000) <= 2.2 * looks(4000)


def test_marks_say_where_a_whole_stands_and_which_parts_are_there():
    whole, fence = Whole("table"), Wrap("```\n", "\n```")
    rows = [
        Atom("r" * 20, "\n" if n else "\n\n", cut=Cut.LINE, wraps=(fence,), part=(whole, n))
        for n in range(4)
    ]
    made = pieces([Atom("before"), *rows, Atom("after", "\n")], Limit(64, Unit.UTF16))
    assert "".join(piece.text for piece in made).count("r" * 20) == 4
    seen = []
    for piece in made:
        for mark in piece.marks:
            text = piece.text[mark.start : mark.end]
            assert text.startswith("```\n")
            assert text.endswith("\n```")
            assert (mark.what, mark.torn) == ("table", False)
            assert text.count("r") == 20 * len(mark.parts)
            seen += mark.parts
    assert seen == [0, 1, 2, 3]


def test_a_part_that_a_cut_tears_is_told():
    whole = Whole("table")
    atoms = [Atom("w" * 9, " " if n else "", part=(whole, n // 10)) for n in range(20)]
    made = pieces(atoms, Limit(64, Unit.UTF16))
    torn = [mark.torn for piece in made for mark in piece.marks]
    assert torn == [True] * len(made)
    assert len(made) > 2


def test_an_overlong_header_does_not_push_what_follows_over_the_limit():
    """A fence that begins with its header again: also where the header itself had to be cut."""
    header = "h" * 150
    fence = Wrap("```\n", "\n```", f"```\n{header}\n")
    rows = [Atom(text, "\n", cut=Cut.LINE, wraps=(fence,)) for text in (header, "r" * 90, "s")]
    messages = split(rows, Limit(100, Unit.BYTES))
    assert all(len(message) <= 100 and message.count("```") == 2 for message in messages)
    assert ["".join(messages).count(letter) for letter in "hrs"] == [150, 90, 1]
