"""Embedders behind an endpoint, against a real server on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest

from core.memory.embed import http
from core.memory.embed.choose import EmbedTerms, choose
from core.memory.embed.http import Http
from core.memory.embed.port import EmbedderError
from tests.peers.embeddings import Embeddings, Fault, vector_of


@pytest.fixture
async def server() -> AsyncIterator[Embeddings]:
    async with Embeddings() as running:
        yield running


async def made(url: str, key: str = "") -> Http:
    return await asyncio.to_thread(Http, url, "small", key)


def unit(text: str) -> np.ndarray:
    vector = np.asarray(vector_of(text), np.float32)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("path", "asked"), [("/v1", "/v1/embeddings"), ("", "/api/embed")])
async def test_texts_get_their_own_vectors_in_batches(server, path, asked):
    embedder = await made(server.url + path)
    texts = [f"text {'x' * n} {n}" for n in range(70)]
    vectors = await asyncio.to_thread(embedder.passages, texts)
    assert embedder.dim == 4
    assert vectors.shape == (70, 4)
    assert np.allclose(vectors, [unit(text) for text in texts])
    assert [len(batch) for _, batch in server.seen[1:]] == [32, 32, 6]
    assert {where for where, _ in server.seen} == {asked}
    assert np.allclose(await asyncio.to_thread(embedder.query, "a 1"), unit("a 1"))
    assert (await asyncio.to_thread(embedder.passages, [])).shape == (0, 4)
    assert (await asyncio.to_thread(embedder.passages, [""])).shape == (1, 4)
    embedder.close()


async def test_a_busy_endpoint_is_asked_again(server):
    embedder = await made(server.url + "/v1")
    server.faults.extend([Fault(429, {"Retry-After": "0.05"}), Fault(503), Fault(500)])
    vectors = await asyncio.to_thread(embedder.passages, ["patience"])
    assert np.allclose(vectors, [unit("patience")])
    assert len(server.seen) == 5
    embedder.close()


async def test_a_question_is_not_waited_for_longer_than_its_time(server, monkeypatch):
    embedder = await made(server.url + "/v1")
    monkeypatch.setattr(http, "QUERY_S", 0.3)
    for fault in (Fault(429, {"Retry-After": "20"}), Fault(delay_s=1.0)):
        server.faults.append(fault)
        begun = time.monotonic()
        with pytest.raises(EmbedderError):
            await asyncio.to_thread(embedder.query, "now")
        assert time.monotonic() - begun < 2.0
    embedder.close()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(400), "status 400"),
        (Fault(302, {"Location": "http://127.0.0.1:1/elsewhere"}), "status 302"),
        (Fault(body={"data": [{"embedding": [1.0, 2.0]}]}), "has 2 dimensions now"),
        (Fault(body={"data": []}), "other texts"),
        (Fault(body={"data": [{"index": 7, "embedding": [1, 2, 3, 4]}]}), "something else"),
        (Fault(body={"data": [{"index": 0, "embedding": [0, 0, 0, 0]}]}), "no vector"),
        (Fault(body={"data": [{"index": 0, "embedding": [1, 2, 3, None]}]}), "no vector"),
        (Fault(body={"data": [{"index": 0, "embedding": "AAAA"}]}), "something else"),
        (Fault(body=["what"]), "something else"),
    ],
)
async def test_what_is_no_answer_is_told_without_the_text(server, fault, why):
    embedder = await made(server.url + "/v1")
    server.faults.append(fault)
    with pytest.raises(EmbedderError, match=why) as told:
        await asyncio.to_thread(embedder.passages, ["confidential"])
    assert "confidential" not in str(told.value)
    embedder.close()


async def test_the_key_goes_along_and_is_never_told():
    async with Embeddings(key="sk-secret") as server:
        embedder = await made(server.url + "/v1", "sk-secret")
        assert embedder.dim == 4
        embedder.close()
        terms = EmbedTerms("http", server.url + "/v1", "small", "wrong-key")
        choice = await asyncio.to_thread(choose, terms)
        assert choice.embedder is None
        assert "status 401" in choice.why
        assert "keywords only" in choice.why
        assert "wrong-key" not in choice.why + repr(terms)


async def test_an_endpoint_is_chosen_by_its_settings_and_asked_for_again_while_it_is_away(server):
    url = server.url + "/v1"
    choice = await asyncio.to_thread(choose, EmbedTerms("http", url, "small"))
    assert choice.embedder is not None
    assert choice.embedder.dim == 4
    assert "small/4/" in choice.embedder.name
    half = await asyncio.to_thread(choose, EmbedTerms("http", url))
    assert half.embedder is None
    assert not half.again
    assert "needs embedder_url and embedder_model" in half.why
    away = await asyncio.to_thread(choose, EmbedTerms("http", "http://127.0.0.1:9/v1", "small"))
    assert away.embedder is None
    assert away.again
    assert "cannot be reached" in away.why
    choice.embedder.close()
