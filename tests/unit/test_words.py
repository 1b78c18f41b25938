"""What Moot says: other people's words inside it stay words."""

from dataclasses import replace

import pytest

from adapters.discord.render import render as render_discord
from adapters.slack.render import render as render_slack
from bridge.progress import _doing
from core.markup.parse import parse
from core.minutes import header_state, header_text
from core.model import EngineEvent, InRunPull, Participant, Run, Step, Turn
from core.receipts import say_context, say_receipt
from core.words import in_run_text, label_of, literal, status_text

TURN = Turn(
    1,
    1,
    "roundtable",
    "tabs?",
    1,
    "Kim",
    (Participant("claude", "architect"), Participant("codex")),
    2,
    "running",
)


def run(round_, seat, state):
    return Run(f"r{round_}{seat}", 1, Step(round_, seat), state)


def test_header_shows_each_seat_in_each_round():
    text = header_text(TURN, [run(0, 0, "answered"), run(0, 1, "failed"), run(1, 0, "open")])
    assert "round 2/2 · asked by Kim\n" in text
    assert "- Round 1: ✅ architect (claude), ⚠️ codex" in text
    assert "- Round 2: 💬 architect (claude), ▫️ codex" in text


def test_end_states_are_honest():
    def done(state, *runs):
        return header_state(
            Turn(**{f: getattr(TURN, f) for f in TURN.__slots__} | {"state": state}), runs
        )

    assert done("queued") == "waiting"
    whole = [run(round_, seat, "answered") for round_ in (0, 1) for seat in (0, 1)]
    assert done("done", *whole) == "complete"
    assert done("done", *whole[:3], run(1, 1, "failed")) == "partial"
    assert done("done", *whole[:3], run(1, 1, "skipped")) == "partial"
    assert done("done", *whole[:3]) == "partial"
    cut = replace(run(0, 0, "cut"), id="first")
    assert done("done", cut, replace(whole[0], attempt=2), *whole[1:]) == "complete"
    assert done("failed", run(0, 0, "failed")) == "failed"
    assert done("cancelled", run(0, 0, "answered")) == "stopped"


def test_a_stopped_roundtable_shows_nobody_as_speaking():
    stopped = Turn(**{f: getattr(TURN, f) for f in TURN.__slots__} | {"state": "cancelled"})
    assert "💬" not in header_text(stopped, [run(0, 0, "open")])


def test_labels():
    assert label_of(TURN, TURN.seats[0], 0) == "architect (claude) · round 1/2"
    assert status_text("claude", "", 75) == "⏳ claude is working · 1 min 15 s"


def test_somebodys_words_are_one_line_and_no_markup():
    text = literal("# big\n**bold** [x](http://evil.test) <!channel> | a `b`")
    assert "\n" not in text
    shown = repr(parse(text))
    for node in ("Heading", "Bold", "CodeSpan", "Table"):
        assert node + "(" not in shown


@pytest.mark.parametrize("render", [render_slack, render_discord])
def test_an_address_in_somebodys_words_leads_where_it_says(render):
    address = "https://git.test/a_b_c/x*y*?q=(1)#l_2"
    for words in (f"see {address}, ok", f"*{address}*", f"[x]({address})", address):
        assert f"<{address}>" in render(f"> {literal(words, 300)}")[0]
    cut = render(literal(f"look: {address}", 30))[0]
    assert cut == "look: git.test/a_b_c/…"
    assert "<" not in render(literal("http://..."))[0]


@pytest.mark.parametrize(
    "words", ["- item", "+ x", "1. one", "2) b", "---", "===", "&lt;b&gt; &amp;"]
)
def test_somebodys_words_are_shown_as_written(words):
    shown = render_slack(f"> {literal(words)}")[0].replace("\u200b", "")
    assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == f"> {words}"


def test_nobodys_name_turns_the_rest_of_our_line():
    assert literal("Eve \u202egnihton\x1b[31m\u2066 ok") == "Eve gnihton\\[31m ok"
    assert literal("👩\u200d💻 가나다 می\u200cخواهم") == "👩\u200d💻 가나다 می\u200cخواهم"


def test_an_unknown_run_is_said():
    assert "There is no run" in say_context((), "ab*c")
    assert say_context((), "") == "No run yet in this thread."


def test_what_was_pulled_in_a_run_is_one_small_post():
    one = InRunPull("memory", "why *JWT*", 3)
    assert in_run_text([one]) == r"🔎 memory: “why \*JWT\*” · 3 found"
    none = InRunPull("plan", "all", 0, "there is no plan")
    first, second = in_run_text([one, none]).splitlines()
    assert first.startswith("- 🔎 memory")
    assert second == "- 🔎 plan: “all” · there is no plan"


def test_a_receipt_tells_what_was_pulled_in_the_run():
    run = {
        "run": "abcdef0123", "engine": "claude", "persona": "", "state": "answered",
        "mode": "lite", "reason": "default", "chars": 900, "budget": 60_000,
        "estimated_tokens": 225, "sections": [], "dropped": [], "notes": [],
    }  # fmt: skip
    assert "Pulled while" not in say_receipt(run)
    pulled = [{"kind": "memory", "query": "a | b", "hits": 2, "note": "", "chars": 1_200}]
    text = say_receipt({**run, "in_run": pulled})
    assert r"Pulled while it worked: memory “a \| b” (2) · 1,200 characters" in text
    pulled += [{**pulled[0], "query": "a", "again": True}]
    text = say_receipt({**run, "in_run": pulled})
    assert "(2), memory “a” (again) · 2,400 characters" in text


def test_a_receipt_tells_what_was_sent_in_vain():
    run = {
        "run": "abcdef0123", "engine": "claude", "persona": "", "state": "answered",
        "mode": "lite", "reason": "default", "chars": 900, "budget": 60_000,
        "estimated_tokens": 225, "sections": [], "dropped": [], "notes": [],
    }  # fmt: skip
    assert "in vain" not in say_receipt(run)
    before = [{"chars": 12_000, "estimated_tokens": 3_000, "why": "context-too-long"}]
    said = say_receipt({**run, "before": before})
    assert "Sent before in vain: 12,000 characters (context-too-long)" in said


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("mcp__moot__pull", "why JWT", "looking up `why JWT`"),
        ("moot_pull", "", "looking something up"),
        ("mcp_tool_call", "moot pull", "looking something up"),
        ("Bash", "ls `x`", "`Bash` `ls 'x'`"),
    ],
)
def test_a_status_says_what_a_run_is_doing(name, text, shown):
    assert _doing(EngineEvent("tool_start", text, name=name)) == shown


def test_a_secret_is_taken_out_before_a_text_is_cut_or_escaped() -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123"
    assert literal(f"use {key} now") == "use \\[redacted\\] now"
    for limit in range(5, 60):
        assert "abcd" not in literal(f"use {key} now", limit)
        assert "abcd" not in literal(f"use {key[:9]}\x07{key[9:]} now", limit)
