"""What an embedder is given, whatever somebody wrote."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.memory.embed.clean import MAX_CHARS, clean, cut

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("said", "given_on"),
    [
        ("", ""),
        (" \n\t\u200b ", ""),
        ("before\0after", "before after"),
        ("half a \ud83d pair", "half a pair"),
        ("\ud83d\ude00", "\U0001f600"),  # the halves of one
        ("e\u0301", "\u00e9"),
        (unicodedata.normalize("NFD", "한국어"), "한국어"),
        ("a\u202eb\u2066c\u00add", "a b c d"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("two\r\nlines\u2028here", "two lines here"),
        (FAMILY, FAMILY),
        ("👍🏽", "👍🏽"),
        ("=" * 80, "==="),
        ("so " + "o" * 50, "so ooo"),
        ("wait...", "wait..."),
        ("a" + "\u0301" * 500, "\u00e1" + "\u0301" * 3),
        ("q" + "\u0316\u0301" * 500, "q" + "\u0316" * 3),
        ("key aGVsbG8gd29ybGQ4" * 1 + "hIGFnYWlu" * 8 + " end", "key end"),
        ("commit 3f786850e387550fdab836ed7e6dc881de23001b ok", "commit ok"),
        ("data:image/png;base64,iVBORw0KGgo= here", "here"),
        ("Donaudampfschifffahrtselektrizitätenhauptbetriebswerk", None),
        ("core/memory/embed/some_long_file_name_of_ours_in_here.py", None),
        ("a_very_long_name_of_a_function_that_somebody_has_written_down()", None),
    ],
)
def test_what_is_given_on(said, given_on):
    assert clean(said) == (said if given_on is None else given_on)


def test_of_an_address_the_front_is_kept():
    told = clean("see https://git.example.com/team/repo/pull/12?token=abc#x (now)")
    assert told == "see https://git.example.com/team/repo/pull/12 (now)"
    long = clean(f"see https://example.com/{'deep/' * 100}end and [this](http://x.y/z?a=1) too")
    assert long.startswith("see https://example.com/deep/deep/")
    assert long.endswith(" and [this](http://x.y/z) too")
    assert len(long) < 150


def test_a_stack_is_its_first_frames_and_what_was_thrown():
    frames = [f'  File "/app/mod{n}.py", line {n}, in f{n}\n    call({n})' for n in range(200)]
    told = clean("\n".join(["It broke:", *frames, "ValueError: the port is taken"]))
    assert told.startswith("It broke:")
    assert told.endswith("ValueError: the port is taken")
    assert len(told) < 400


def test_a_log_is_a_few_of_its_lines():
    lines = [f"2026-11-30 12:00:{n:02} GET /health 200 {n}ms" for n in range(500)]
    told = clean("\n".join(["Why?", *lines, "then it stopped"]))
    assert told.startswith("Why?")
    assert told.endswith("then it stopped")
    assert told.count("GET /health") == 3


def test_a_cut_text_ends_with_a_whole_character():
    text = "x" + FAMILY * 1_000
    told = clean(text)
    assert MAX_CHARS - 8 < len(told) <= MAX_CHARS
    assert (len(told) - 1) % len(FAMILY) == 0
    assert cut("abc", 3) == "abc"
    assert cut("abc" + "\u0301" * 200, 100) == "abc" + "\u0301" * 97  # too long for one


@given(
    st.text(st.characters(exclude_categories=()))
    | st.text("ab \n\0\ud800\u0301/:=1A", max_size=300)
)
def test_any_text_becomes_one_that_can_be_given(said):
    told = clean(said)
    assert len(told) <= MAX_CHARS
    assert told.encode().decode() == told
    assert told == unicodedata.normalize("NFC", told)
    assert told == " ".join(told.split())
    assert not any(unicodedata.category(char) == "Cc" for char in told)


@pytest.mark.parametrize(
    "piece",
    ["x", "x.", "a/", "http://", "a b ", "1\n", "at x(\n", "\u0301", "=", "aA1", "data:", "\ud800"],
)
def test_no_text_takes_long(piece):
    begun = time.process_time()
    clean(piece * 200_000)
    assert time.process_time() - begun < 1.0
