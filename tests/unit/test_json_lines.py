"""The line reader: bytes in any cut, and whatever else a CLI prints between its objects."""

from __future__ import annotations

import json
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.streams import MAX_LINE_BYTES, JsonLines, float_of, int_of, list_of, text_of, texts_of


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
        (b'\x1b[2K\r{"a":1}\x1b[0m done {"b":2}\x1b[K\r\n', [{"a": 1}, {"b": 2}]),
        (b'progress 10%\rprogress 90%\r{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}\r\r\n', [{"a": 1}]),
        (b'[{"a":1}]\n"{\\"a\\":1}"\n', []),  # what is no event, though one is quoted in it
        # An object that broke off is none, and neither is anything within it.
        (b'{"type":"a","part":{"type":"b"},"text":"so fa\n{"c":3}', [{"c": 3}]),
        (b'{"part":{"type":"b"},\n', []),
        (b'{"part":{"type":"b"},"n":12\n{"part":{"type":"b"},"n":fals', []),
        (b'{"te{"type":"b"}\n', [{"type": "b"}]),  # two writers at once
        (b'{"n":' + b"9" * 5000 + b'}\n{"a":1}\n', [{"a": 1}]),  # Python refuses such numbers
        (b'{"n":1e999,"m":-1e999,"k":NaN}\n', [{"n": float("inf"), "m": float("-inf"), "k": None}]),
    ],
)
def test_objects_are_found(data: bytes, objects: list[object]) -> None:
    found = read(data)
    for obj in found:
        if isinstance(obj, dict) and obj.get("k") != obj.get("k"):
            obj["k"] = None  # NaN is not equal to itself
    assert found == objects


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


@pytest.mark.parametrize("piece", [1, 100, 5000])
def test_memory_stays_below_the_cap(piece: int) -> None:
    """Also when a line comes byte by byte: no object is kept for each."""
    lines = JsonLines(50_000)
    data = b"x" * piece
    tracemalloc.start()
    try:
        for _ in range(200_000 // piece):
            lines.feed(data)
        assert tracemalloc.get_traced_memory()[1] < 250_000
    finally:
        tracemalloc.stop()
    assert lines.feed(b'\n{"a":1}\n') == [{"a": 1}]
    assert lines.skipped == 1


@pytest.mark.parametrize("tail", [b"", b"\n", b'x"}'])
def test_a_line_above_the_cap_is_skipped_wherever_it_is_cut(tail: bytes) -> None:
    data = b'{"a":1}\n{"big":"' + b"x" * 2000 + tail
    for size in (1, 7, 500, 5000):
        lines = JsonLines(1000)
        pieces = [data[n : n + size] for n in range(0, len(data), size)]
        out = [obj for piece in pieces for obj in lines.feed(piece)] + lines.end()
        assert (out, lines.skipped) == ([{"a": 1}], 1)


def test_a_line_of_exactly_the_cap_is_read() -> None:
    line = b'{"a":"' + b"x" * 992 + b'"}'
    assert len(line) == 1000
    for data in (line + b"\n", line):
        lines = JsonLines(1000)
        assert len(lines.feed(data) + lines.end()) == 1
        lines = JsonLines(999)
        assert len(lines.feed(data) + lines.end()) == 0


def test_garbage_costs_little() -> None:
    """Many braces, each of which could be the beginning of an object of megabytes."""
    line = b'{"a":[' * 60 + b"1," * 1_000_000 + b"x\n"
    before = time.process_time()
    assert read(line) == []
    assert time.process_time() - before < 2


@given(
    st.lists(
        st.sampled_from(
            (
                *(b'{"a":1}', b'{"a":1} ', b"", b"{", b'{"b":', b'{"c":"x', b'"}', b"}", b"noise"),
                *(b'{"d":2}{"e":3}', b'{"f":"\xff"}', b'{"g":"\\ud83d"}', b'{"h":"\xc3\xa9"}'),
            )
        ),
        max_size=12,
    )
)
def test_lines_at_once_are_lines_one_by_one(lines: list[bytes]) -> None:
    """Whatever stands before or after a line, it means what it means alone."""
    one_by_one = JsonLines()
    alone = [obj for line in lines for obj in one_by_one.feed(line + b"\n")]
    together = JsonLines()
    assert together.feed(b"".join(line + b"\n" for line in lines)) == alone
    assert together.noise == one_by_one.noise


def test_lines_that_break_off_do_not_cost_all_that_follows() -> None:
    lines = b'{"a":"x\n' * 50_000
    before = time.process_time()
    assert read(lines) == []
    assert time.process_time() - before < 5


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
    assert [int_of({"n": n}, "n") for n in (10**400, -(10**400), float("nan"))] == [0, 0, 0]
    assert texts_of({"l": ["a", 1, None, ["b"], "c"]}, "l") == ["a", "c"]
    assert texts_of({"l": 1.5}, "l") == texts_of(None, "l") == []


def test_half_characters_are_replaced() -> None:
    """C021: a lone surrogate from a JSON escape cannot be sent or stored; wherever it stands."""
    [obj] = read(b'{"a":"x\\ud83d y \\uD83D\\uDE00","\\udc00":[{"b":["\\udfff",1,"\\ud55c"]}]}')
    assert obj == {"a": "x\ufffd y 😀", "\ufffd": [{"b": ["\ufffd", 1, "한"]}]}
    deep = b'{"a":' + b"[" * 900 + b'"\\ud83d"' + b"]" * 900 + b"}"
    assert "ufffd" in json.dumps(read(deep))


def test_a_marker_stands_where_a_line_was_too_long() -> None:
    marker = {"left": "out"}
    lines = JsonLines(20, marker)
    assert lines.feed(b'{"a":1}\n{"b":"' + b"x" * 30 + b'"}\n{"c":1}\n' + b"x" * 30) == [
        {"a": 1}, marker, {"c": 1},
    ]  # fmt: skip
    assert lines.end() == [marker]
    assert lines.skipped == 2
