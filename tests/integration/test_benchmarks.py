"""The benchmarks' smallest forms run and keep their promises. Nothing is timed here."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest
import structlog

from benchmarks import (
    assemble,
    code_search,
    context,
    corpus,
    korean,
    locomo,
    memory_scale,
    retrieval,
    supervisor,
)
from benchmarks.corpus import make

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _log_as_before():
    """The benchmarks set the log up for themselves; the next test wants it as it was."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def last_line(capsys) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_packs_are_built_in_a_small_database_and_again_in_the_same_one(tmp_path, capsys):
    arguments = ["--json", "--messages", "2400", "--sizes", "20,60,600", "--rounds", "1"]
    assert assemble.main([*arguments, "--dir", str(tmp_path)]) == 0
    first = last_line(capsys)
    keys = {"build_ms_20", "build_ms_60", "build_ms_600", "growth", "assemble_ms", "plain_sql_ms"}
    assert keys <= first.keys()
    assert first["mode"] == "standard"
    assert {"plan", "plan-doc", "findings", "artifacts", "recent"} <= first["sections"].keys()
    # As many queries whatever the size, and none that brings more rows than a pack can hold.
    # (The first question finds no names that are kept, and reads them all at once.)
    assert max(first["queries"].values()) - min(first["queries"].values()) <= 1
    assert first["rows"]["600"] < 1_500  # 200 are ranked, with what stands around them
    assert assemble.main([*arguments, "--dir", str(tmp_path)]) == 0
    again = last_line(capsys)
    assert again["generate_s"] == 0
    assert again["sections"] == first["sections"]


async def test_the_database_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.corpus.PIECE", 125)
    whole = await make(tmp_path / "whole", 500, (50,))
    broken = tmp_path / "broken"
    pieces = corpus._piece

    def breaks(talk, done, *rest):
        if done >= 250:
            raise KeyboardInterrupt
        return pieces(talk, done, *rest)

    monkeypatch.setattr(corpus, "_piece", breaks)
    with pytest.raises(KeyboardInterrupt):
        await make(broken, 500, (50,))
    monkeypatch.setattr(corpus, "_piece", pieces)
    gone_on = await make(broken, 500, (50,))
    assert gone_on.seconds >= 0
    assert rows(whole.path) == rows(gone_on.path)


def rows(path) -> list[tuple]:
    database = sqlite3.connect(path)
    try:
        return database.execute("SELECT id, conversation_id, text FROM message").fetchall()
    finally:
        database.close()


def test_a_roundtable_in_four_ways_and_nobody_knows_less(capsys):
    assert context.main(["--json", "--starts", "as_it_happened", "--no-rows"]) == 0
    found = last_line(capsys)
    assert found["facts"] > 500
    assert found["facts_missing"] == 0, found["missing"]
    assert found["delta_hybrid_ratio"] <= context.GOAL_RATIO
    assert found["shared_prefix"] >= context.GOAL_PREFIX
    assert 1 <= found["loads_per_round"] <= 2
    assert found["delta_push_chars"] < found["full_push_chars"]
    assert found["pulls"]["full_push"] == 0
    assert found["pulls"]["delta_hybrid"] > 0  # what is only announced has to be pulled


def test_what_is_not_pulled_is_missed():
    """The benchmark can fail: without Pulls hybrid delivery tells less, and that is counted."""

    async def play():
        whole = await context.run("cold", context.WAYS["full_push"], mode="")
        facts = [context.facts_of(seat.calls[0].context) for seat in whole.seats]
        return await context.run("cold", context.WAYS["delta_hybrid"], mode="", whole=facts)

    way = asyncio.run(play())
    sections = {fact.section for seat in way.seats for fact in seat.missing}
    assert sections == {"Found in earlier conversations", "Skills"}


@pytest.mark.parametrize("gap_ms", ["0", "1"])
def test_chatty_children_lose_nothing_and_leave_nothing(capsys, monkeypatch, gap_ms):
    monkeypatch.setattr(supervisor, "adopt_orphans", lambda: False)  # for ever, in this process
    arguments = ["--json", "--runs", "12", "--at-once", "4", "--events", "20", "--gap-ms", gap_ms]
    assert supervisor.main(arguments) == 0
    found = last_line(capsys)
    for side in ("moot", "bare"):
        assert (found[side]["events"], found[side]["wrong"]) == (240, 0)
        assert found[side]["cpu_us_per_event"] > 0
    assert {"cpu_ratio", "lag_ratio", "speed_ratio", "rss_growth", "goal_met"} <= found.keys()
    assert found["left"]["processes"] == found["left"]["files"] == found["left"]["tasks"] == 0


def test_a_run_that_brought_less_is_noticed():
    """The benchmark can fail."""
    whole = supervisor.Side(events=10, runs=1, wall_s=1.0, cpu_s=1.0)
    less = supervisor.Side(events=10, runs=1, wall_s=1.0, cpu_s=1.0, wrong=1)
    left = {"processes": 0, "threads": 2, "files": 0}
    assert supervisor.nothing_wrong({**supervisor.summary(whole, whole), "left": left})
    assert not supervisor.nothing_wrong({**supervisor.summary(less, whole), "left": left})
    left["files"] = 1
    assert not supervisor.nothing_wrong({**supervisor.summary(whole, whole), "left": left})


def test_korean_questions_find_what_answers_them(capsys):
    """A sixth of the questions among a twentieth of the lines, with the real embedder."""
    assert korean.main(["--json", "--quick"]) == 0
    found = last_line(capsys)
    assert found["embedder"]
    rows = {"unicode61", "trigram", "two_grams", "dense", "product"}
    assert rows <= found.keys()
    product = found["product"]
    assert product["r10"] >= 0.95, product["missed"]
    assert product["empty"] == found["two_grams"]["empty"] == 0
    assert product["r10"] > found["unicode61"]["r10"]
    assert {"ko", "ja", "zh"} <= product["by_language"].keys()


def test_figures_that_do_not_hold_are_told():
    """The benchmark can fail."""
    good = {"product": {"r10": 0.99, "empty": 0}, "unicode61": {"r10": 0.4}}
    assert korean.holds(good)
    assert not korean.holds({**good, "product": {"r10": 0.97, "empty": 0}})
    assert not korean.holds({**good, "product": {"r10": 0.99, "empty": 1}})
    assert not korean.holds({**good, "unicode61": {"r10": 0.6}})
    entries = korean.read()
    assert len(entries) >= 100
    assert len({question for _, question, _ in entries}) == len(entries)


def test_memory_is_measured_from_ingest_to_rebuild_and_finds_by_meaning(tmp_path, capsys):
    assert memory_scale.main(["--quick", "--json", "--dir", str(tmp_path)]) == 0
    found = last_line(capsys)
    [size] = found["sizes"]
    assert size["messages"] == size["allowed"] == 300
    assert 0 < size["of_the_channel"] < 300
    for part in ("project", "channel"):
        assert size[part]["answered"] == 1.0
        assert size[part]["product_ms"]["p95"] >= size[part]["product_ms"]["p50"] > 0
    # It was found without a word in common, by a vector made after the message came.
    assert size["ingest"]["found_by_vector_s"] > 0
    assert size["chroma_project_ms"]["late"] == 0
    assert found["embedder"]["texts_a_second"] > 0


def test_questions_in_other_words_find_code_only_with_vectors(capsys):
    assert code_search.main(["--json", "--folders", "core/context,docs/how-to"]) == 0
    found = last_line(capsys)
    rows = {(row["corpus"], row["row"]): row for row in found["rows"]}
    for which in ("code", "docs"):
        assert rows[which, "product"]["mrr"] > rows[which, "words"]["mrr"]
        assert rows[which, "product"]["ko_r10"] > rows[which, "words"]["ko_r10"]
        assert found["indexed"][which]["without_vector"] == 0
    assert found["edited"]["embedded"] == 1


def test_memory_finds_what_answers_in_a_team_chat_of_several_languages(capsys):
    """Without vectors, which the small embedder's own tests have: this is the path and the sums."""
    arguments = ["--json", "--embedder", "none", "--limit", "12", "--parts"]
    assert retrieval.main(arguments) == 0
    rows = last_line(capsys)
    keys = {"r5", "r10", "r20", "ndcg10", "r2k", "r5k", "dev_ndcg10", "test_ndcg10", "ms"}
    assert all(keys <= row.keys() for row in rows.values())
    assert rows["product"]["r10"] > rows["bm25"]["r10"]
    assert rows["product"]["r10"] > 0.5


def test_evidence_is_read_in_every_form_and_figures_are_what_they_say():
    places = {"D8:6": 3, "D9:17": 4, "D11:26": 5}
    assert locomo.evidence_of({"evidence": ["D8:6; D9:17"]}, places) == {3, 4}
    assert locomo.evidence_of({"evidence": ["D:11:26", "D1:1"]}, places) == {5}
    assert locomo.evidence_of({"evidence": []}, places) == frozenset()
    turns = [locomo.Turn(1, "Kim", "x" * 1_000, 0.0) for _ in range(6)]
    asked = locomo.Question("?", frozenset({0, 5}), 1)
    found = locomo.figures([0, 1, 2, 3, 4, 5], asked, turns)
    assert (found["r5"], found["r10"], found["r2k"]) == (0.5, 1.0, 0.5)
    assert 0 < found["ndcg10"] < 1
    assert locomo.figures([0, 5, 1], asked, turns)["ndcg10"] == 1.0
    assert locomo.figures([], asked, turns)["r20"] == 0
