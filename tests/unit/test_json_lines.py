"""The line reader: bytes in any cut, and whatever else a CLI prints between its objects."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.streams import MAX_LINE_BYTES, JsonLines, float_of, int_of, list_of, text_of


def read(data: bytes, cuts: tuple[int, ...] = (), limit: int = MAX_LINE_BYTES) -> list[object]:
    lines = JsonLines(limit)
    out: list[object] = []
    for start, end in pairwise([0, *sorted(cuts), len(data)]):
        out += lines.feed(data[start:end])
    return out + lines.end()


@pytest.mark.parametrize(
    ("data", "objects"),
    [
        (b"", []),
        (b"\n\r\n  \n", []),
        (b'{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}', [{"a": 1}]),  # a last line without newline
        (b'{"a":1}\r\n{"b":2}\r\n', [{"a": 1}, {"b": 2}]),
        (b'\xef\xbb\xbf{"a":1}{"b":2}\r\n{"c":3}', [{"a": 1}, {"b": 2}, {"c": 3}]),  # C097
        (b'{"a":1} {"b":2},{"c":3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b'\x1b[32m{"a":1}\x1b[0m\n', [{"a": 1}]),
        (b'warning: slow\n{"a":1}\nDone.\n', [{"a": 1}]),
        (b'[info] {not json} {"a":1}\n', [{"a": 1}]),
        (b'{"a":"\xff"}\n', [{"a": "\ufffd"}]),  # not UTF-8
        (b'{"a":"x\ty"}\n', [{"a": "x\ty"}]),  # a bare control character
        (b"[1,2]\n3\nnull\n", []),
        (b'{"a":\n{"b":2}\n', [{"b": 2}]),
        (b"{" * 100_000 + b"\n" + b'{"a":1}', [{"a": 1}]),
        (b'{"a":' * 50_000 + b"\n" + b'{"a":1}', [{"a": 1}]),
    ],
)
def test_objects_are_found(data: bytes, objects: list[object]) -> None:
    assert read(data) == objects


def test_noise_is_counted() -> None:
    lines = JsonLines()
    lines.feed(b'hello\n\n{"a":1}\n[]\n')
    assert lines.noise == 2


def test_a_line_of_3_mib_is_whole() -> None:
    """C092: longer than any reader's default."""
    big = {"text": "x" * (3 * 2**20)}
    data = json.dumps(big).encode() + b'\n{"b":2}\n'
    assert read(data, tuple(range(0, len(data), 65_536))) == [big, {"b": 2}]


def test_a_line_above_the_cap_is_skipped_and_the_rest_is_read() -> None:
    """C093: an over-long event is no fault of the transport."""
    lines = JsonLines(1000)
    out = lines.feed(b'{"a":1}\n{"big":"')
    for _ in range(100):
        out += lines.feed(b"x" * 999)
    out += lines.feed(b'"}\n{"b":2}\n')
    assert out == [{"a": 1}, {"b": 2}]
    assert lines.skipped == 1


def test_memory_stays_below_the_cap() -> None:
    lines = JsonLines(1000)
    for _ in range(1000):
        lines.feed(b"x" * 100)
    assert sum(map(len, lines._parts)) <= 1000


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=8),
    st.lists(st.integers(0, 2000), max_size=20),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_cuts_change_nothing(
    objects: list[dict[str, str]], cuts: list[int], newline: bytes
) -> None:
    data = b"".join(json.dumps(o, ensure_ascii=False).encode() + newline for o in objects)
    assert read(data, tuple(c % (len(data) + 1) for c in cuts)) == objects


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    assert all(isinstance(o, dict) for o in read(data))


def test_values_are_taken_only_where_they_are_of_their_type() -> None:
    obj = {"t": "x", "n": 3, "f": 1.5, "b": True, "i": float("inf"), "l": [1, {"a": 1}, None]}
    assert [text_of(obj, k) for k in obj] == ["x", "", "", "", "", ""]
    assert [int_of(obj, k) for k in obj] == [0, 3, 1, 0, 0, 0]
    assert float_of(obj, "f") == 1.5
    assert list_of(obj, "l") == [{"a": 1}]
    assert text_of(obj, "t", "deeper") == text_of(None, "t") == ""


def test_half_characters_are_replaced() -> None:
    """C021: a lone surrogate from a JSON escape cannot be sent or stored."""
    [obj] = read(b'{"a":"x\\ud83d y \\ud83d\\ude00"}')
    assert text_of(obj, "a") == "x\ufffd y 😀"
