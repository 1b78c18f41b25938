"""What texts of engines mean, and what is said about it."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from core.model import Exit, Outcome, OutcomeKind, Usage
from core.streams import (
    LineReader,
    classify,
    explain,
    joined_prompt,
    plain,
    posing_as_answer,
    redact,
    reset_time,
    secret_values,
    tail,
    telling,
)


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("429 Too Many Requests", None, "rate"),
        ("Quota exceeded. Check your plan", 429, "quota"),
        ("whatever", 429, "rate"),
        ("cloud session expired, log in again", None, "auth"),  # C100
        ("model: no-such-model", 404, "bad-model"),
        ("prompt is too long: 250000 tokens", 400, "context-too-long"),
        ("Overloaded", 529, "overloaded"),
        ("connect ECONNREFUSED 127.0.0.1:1", None, "overloaded"),
        ("No conversation found with session ID: x", None, "session-lost"),
        ("env: 'node': No such file or directory", None, "missing-binary"),
        ("error: unknown option '--x'", None, "bad-config"),
        ("Segmentation fault", None, "crashed"),
        ("FileNotFoundError: a.txt", None, "crashed"),
        ("", None, "crashed"),
    ],
)
def test_errors_are_classified(text: str, status: int | None, kind: str) -> None:
    assert classify(text, status) == kind


@pytest.mark.parametrize(
    ("text", "kind", "reset"),
    [
        ("usage limit reached|1760000400", "quota", "2025-10-09 09:00 UTC"),  # C109
        ("Claude AI usage limit reached|1760000400", "quota", "2025-10-09 09:00 UTC"),
        ("limit hit, try again at 3:40 PM", "quota", "3:40 PM (this host's time)"),  # C109
        ("You've hit your limit · resets 3pm (Asia/Seoul)", "quota", "3pm Asia/Seoul"),
        ("5-hour limit reached ∙ resets 3am", "quota", "3am (this host's time)"),
        (
            "You've hit your usage limit. Upgrade to Pro or try again in 3 hours 5 minutes.",
            "quota",
            "in 3 hours 5 minutes",
        ),
        ("Credit balance is too low", "quota", ""),
        ("Not logged in · Please run /login", "auth", ""),
        ("Invalid API key · Fix external API key", "auth", ""),
        ("Prompt is too long", "context-too-long", ""),
        ("API Error: 529 Overloaded. Try later.", "overloaded", ""),
    ],
)
def test_notices_that_pose_as_answers(text: str, kind: str, reset: str) -> None:
    assert posing_as_answer(text) == kind
    if kind == "quota":
        assert reset_time(text) == reset


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The usage limit reached by most clients is 100 requests a minute.",
        "When the rate limit is reached, the client waits and tries again at 3:40 PM.",
        "If you are not logged in, run `claude login`. That is what the guide says.",
        "limit reached\n\nThat is the message you will see; handle it like this.",
        "Your prompt is too long for this form: split it.",
        "I would raise the quota.",
        "Quota exceeded errors come from quota.py, line 3.",
        "Not logged in users see the landing page.",
        "Prompt is too long only when the window is below 8k.",
        "```\nusage limit reached\n```",
        "Quota handling is in quota.py; API errors are in errors.py.",
        "usage limit reached" + " and more" * 60,
    ],
)
def test_answers_about_limits_are_answers(text: str) -> None:
    assert posing_as_answer(text) is None


def test_the_telling_line_is_found_in_noise() -> None:
    noise = "\x1b[33mwarn\x1b[0m: slow\n" * 50
    said = telling(f"{noise}Error: not logged in\nhint: run login\n{noise}")
    assert said == "Error: not logged in\nhint: run login"
    assert telling("one\ntwo") == "one\ntwo"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-AbCdEfGhIjKlMnOp",
        "xoxb-1234567890-abcdef",
        "ghp_abcdefghijklmnopqrstuvwxyz0123",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    ],
)
def test_shapes_of_secrets_are_never_shown(secret: str) -> None:
    outcome = Outcome("auth", detail=f"bad key {secret} given")
    assert secret not in explain("codex", outcome)
    assert secret not in redact(f"header: Bearer {secret}")


def test_known_values_are_never_shown() -> None:
    values = secret_values(
        [
            ("ACME_API_KEY", "plain-words-here"),
            ("GIT_AUTHOR_NAME", "Jane Doe-Smith"),
            ("SSH_AUTH_SOCK", "/run/user/agent.sock"),
            ("MAX_OUTPUT_TOKENS", "1000000000"),
            ("TOKEN", "short"),
        ]
    )
    assert values == {"plain-words-here"}
    assert redact("got plain-words-here", values) == "got [redacted]"
    assert redact("https://user:hunter2secret@host/x") == "https://[redacted]@host/x"


@pytest.mark.parametrize("kind", get_args(OutcomeKind))
def test_every_outcome_is_explained(kind: OutcomeKind) -> None:
    said = explain("codex", Outcome(kind, detail="a {brace} and %s\nsecond line"))
    assert said.startswith(("codex", "The model service", "This was too long"))
    assert "\n" not in said
    assert len(said) > 10


def test_the_engines_own_fix_is_named() -> None:
    outcome = Outcome("auth", fix="Run `codex login` on the host, then try again.")
    assert explain("codex", outcome).endswith("Run `codex login` on the host, then try again.")
    quota = Outcome("quota", reset_at="3:40 PM")
    assert "3:40 PM" in explain("claude", quota)


def test_tail_and_plain() -> None:
    assert plain("\x1b[1;31mred\x1b[0m\r\nx\x00y\x1b]0;title\x07z") == "red\nxyz"
    assert tail("a\n\n\n  b  \n") == "a\n  b"
    assert tail("first line\n" + "y" * 50, 20) == "…" + "y" * 20
    assert tail("first line\nlast line", 12) == "…last line"


def test_a_prompt_is_joined_to_its_context() -> None:
    assert joined_prompt("ctx", "q\0 \ud83d") == b"ctx\n\n---\n\nq ?"
    assert joined_prompt("", "--help") == b"--help"


class Plain(LineReader):
    def __init__(self) -> None:
        super().__init__()
        self.handlers = {
            "usage": lambda d: self._used(d["out"]),
            "fail": lambda d: self.fail("quota", d["text"]),
            "text": lambda d: self.message(d["text"]),
            "tool": lambda _: self.tool_start("1", "sh", "ls"),
            "end": lambda _: self.close(ok=True),
        }

    def _used(self, out: int) -> None:
        self.usage = Usage(10, out)
        self.emit("usage")


@pytest.mark.parametrize(
    ("stream", "end", "kind", "text", "unclean"),
    [
        (b'{"type":"text","text":"A"}\n{"type":"end"}', Exit(0), "answered", "A", False),
        (b'{"type":"text","text":"A"}\n{"type":"end"}', Exit(1), "answered", "A", True),
        (b'{"type":"text","text":"A"}', Exit(0), "answered", "A", True),  # C104: no closing event
        (b'{"type":"text","text":"A"}', Exit(1), "crashed", "A", False),
        (b'{"type":"text","text":"A"}\n{"type":"tool"}', Exit(0), "crashed", "A", False),
        (b"", Exit(0), "crashed", "", False),  # exit 0 proves nothing (C121)
        (b"", Exit(127, stderr="env: node: No such file"), "missing-binary", "", False),
        (b"", Exit(None, why="stalled", stderr="statusCode 429"), "rate", "", False),  # C108
        (b"", Exit(None, why="stalled", detail="no output"), "stalled", "", False),
        (b'{"type":"text","text":"A"}', Exit(-2, why="cancelled"), "cancelled", "A", False),  # C086
        (b'{"type":"end"}', Exit(0), "empty", "", False),
        (b'{"type":"novel"}\n{"type":"text","text":"A"}\n{"type":"end"}', Exit(0), "answered", "A",
         False),
    ],
)  # fmt: skip
def test_the_end_is_a_judgement(
    stream: bytes, end: Exit, kind: str, text: str, unclean: bool
) -> None:
    reader = Plain()
    reader.receive(stream)
    outcome = reader.finish(end)
    assert (outcome.kind, outcome.text, outcome.unclean) == (kind, text, unclean)


def test_c097_no_stray_carriage_return_in_an_answer() -> None:
    reader = Plain()
    reader.receive(b'{"type":"text","text":"```\\r\\nx\\r\\n```"}\r\n{"type":"end"}\r\n')
    assert reader.finish(Exit(0)).text == "```\nx\n```"


def test_an_overlong_event_is_marked_and_passed_over() -> None:
    reader = Plain()
    reader._lines._max = 100
    events = reader.receive(b'{"type":"x","d":"' + b"x" * 200 + b'"}\n{"type":"text","text":"A"}\n')
    assert [e.kind for e in events] == ["warning", "message"]
    reader.receive(b'{"type":"end"}\n')
    assert reader.finish(Exit(0)).kind == "answered"


@pytest.mark.parametrize(
    ("said", "reset"),
    [
        ("The counter resets on Sunday at 3am (UTC), see cron.py.", ""),
        ("Try again in 3 days: the job resets on Sunday.", ""),
        ("You've hit your limit · resets 3am (UTC)", "3am UTC"),
    ],
)
def test_an_answer_does_not_say_when_a_quota_comes_back(said: str, reset: str) -> None:
    reader = Plain()
    reader.receive(json.dumps({"type": "text", "text": said}).encode() + b"\n")
    reader.receive(b'{"type":"fail","text":"insufficient_quota"}\n')
    outcome = reader.finish(Exit(1))
    assert (outcome.kind, outcome.reset_at) == ("quota", reset)


@pytest.mark.parametrize(
    ("out", "code", "kind"),
    [
        (5, 0, "answered"),  # a model wrote it
        (0, 0, "auth"),  # none did
        (None, 0, "answered"),  # nothing is known
        (None, 1, "auth"),  # it failed as well
    ],
)
def test_the_usage_tells_an_answer_from_a_notice(out: int | None, code: int, kind: str) -> None:
    reader = Plain()
    reader.receive(b'{"type":"text","text":"No API key found."}\n')
    if out is not None:
        reader.receive(json.dumps({"type": "usage", "out": out}).encode() + b"\n")
    reader.receive(b'{"type":"end"}\n')
    assert reader.finish(Exit(code)).kind == kind
