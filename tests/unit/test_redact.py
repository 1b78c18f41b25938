"""Secrets are taken out of every text, in any dress; honest text stays whole."""

from __future__ import annotations

import base64
import itertools
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.secrets import reply_without_secrets
from core.model import Button, Field, Form, Reply
from core.redact import (
    MASK,
    Flow,
    Secrets,
    is_placeholder,
    known,
    learn,
    redact,
    redact_within,
    secret_values,
)

CANARY = 'canary-7f"3/a+b c=9%Zq'
TOKENS = st.from_regex(r"[A-Za-z0-9_/+=.-]{8,40}", fullmatch=True)


@given(token=TOKENS, user=st.text("abcxyz0123", max_size=9))
def test_a_known_value_is_found_in_every_dress(token: str, user: str) -> None:
    secrets = Secrets([token])
    both = f"{user}:{token}".encode()
    dressed = (
        f"it is {token}.",
        json.dumps({"a": token}),
        f"https://h.example/?t={quote(token, safe='')}&x=1",
        token.encode().hex(),
    )
    for text in dressed:
        assert MASK in secrets.mask(text), text
        assert token not in secrets.mask(text)
    encoded = base64.b64encode(both).decode()
    masked = secrets.mask(f"Authorization: Basic {encoded}")
    if len(token) >= 11:  # of a shorter one base64 keeps too little that is its own
        assert MASK in masked
        assert encoded not in masked


@given(token=TOKENS, cuts=st.lists(st.integers(0, 60), max_size=8))
def test_a_value_that_is_cut_by_the_stream_is_not_shown(token: str, cuts: list[int]) -> None:
    text = f"say {token} and go on"
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    flow = Flow(Secrets([token]))
    shown = "".join(flow.feed(text[a:b]) for a, b in itertools.pairwise(edges))
    shown += flow.end()
    assert token not in shown
    assert shown.startswith("say ")
    assert shown.endswith(" and go on")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("abcdefgh1", "abcdefgh1234567"), "abcdefgh1234567"),
        (("abcdefgh1", "gh1zzzzzz"), "abcdefgh1zzzzzz"),
        (("abcdefgh1", "gh1zzzzzz", "zzzzz98765"), "abcdefgh1zzzzzz98765"),
    ],
    ids=["begins-another", "overlap", "chain"],
)
def test_values_within_one_another_are_not_shown_in_part(
    values: tuple[str, ...], text: str
) -> None:
    secrets = Secrets(values)
    assert secrets.mask(f"it is {text}!") == f"it is {MASK}!"
    for size in range(1, len(text) + 1):
        flow = Flow(secrets)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        shown = flow.feed("it is ") + "".join(map(flow.feed, pieces)) + flow.feed("!") + flow.end()
        assert shown == f"it is {MASK}!"


def test_a_value_that_only_began_is_shown() -> None:
    flow = Flow(Secrets(["abcdefgh1", "abcdefgh1234567"]))
    assert flow.feed("abcdefgh1") == ""
    assert flow.feed("23-") == f"{MASK}23-"
    assert flow.feed("abcdefg") + flow.end() == "abcdefg"


HOSTILE = [
    "a-", "a_", "a.", "a@", "1", "1.", "x", "…", "...", " ", "=", "é", "token-", "token=",
    "token: ", "key: ", "sk-", "rk-sk-", "sk-a1", "xoxa-", "xoxb-1", "eyJ-", "eyJa",
    "eyJaaaaaaaaa.", "SG.", "SG.aaaaaaaaaaaaaaaa", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----",
    "-----END ", "://", "://a:", "://a:b@", "://a", "basic ", "Basic YWFh", "bearer:",
    "Authorization: Bearer 1a", "12345678:AA", ".aaaaaa.aaaaaaa", "AKIA", "ghp_a", "hf_", "do_v1_",
    "/api/webhooks/1", "hooks.slack.com/services/", 'password="a ', "password='a b1'",
    "pass=token", "password=a_", "password=aB", "password=a.", "YWFh", "canary-7", "Y2FuYXJ5",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_no_text_takes_long(unit: str) -> None:
    secrets = Secrets([CANARY, "aaaaaaaa-aaaaaaaa", "SuperS3cretValue99xyz"])
    sign = base64.b64encode(b"u:SuperS3cretValue99xyz").decode()
    begin = f"a.eyJ _test_ :AA ://@ =bearer basic key= {sign} sk-"  # every rule has to look

    def took(size: int) -> float:
        text = begin + unit * (size // len(unit)) + " token=abc"
        best = float("inf")
        for _ in range(3 if size < 100_000 else 1):
            began = time.thread_time()
            redact(text, secrets)
            best = min(best, time.thread_time() - began)
        return best

    times = [took(size) for size in (3_125, 12_500)]
    while len(times) < 4:  # four times the text: about four times as long, not sixteen times
        times.append(took(12_500 * 4 ** (len(times) - 1)))
        assert times[-1] < 8 * times[-2] + 0.002, times


def test_what_was_learnt_is_looked_for_everywhere() -> None:
    learn([CANARY, "short"])
    assert redact(f"x {CANARY} short") == f"x {MASK} short"
    assert redact_within({"a": [CANARY, 1], "b": (CANARY,)}) == {"a": [MASK, 1], "b": (MASK,)}
    assert redact(json.dumps({"a": CANARY})) == '{"a": "[redacted]"}'
    assert known(["of-one-run"]).mask("of-one-run") == MASK
    assert redact("of-one-run") == "of-one-run"


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-AbCdEfGhIjKlMnOp",
        "sk-proj-abc123DEF456ghi789",
        "xoxb-1234567890-abcdef",
        "xapp-1-A0123-4567-abcdef",
        "ghp_abcdefghijklmnopqrstuvwxyz0123",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghijklmnop1234",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "AKIAIOSFODNN7EXAMPLE",
        "hf_abcdefghijklmnopqrstuvwxyz01",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
        "https://hooks.slack.com/services/T0000/B0000/abcdefghijklmnopqrst",
        "password=hunter22x",
        "PASSWORD: 'correct-Horse9'",
        '"api_key": "a1b2c3d4e5f6g7h8"',
        "token=abc12345defg",
        "Authorization: Bearer abc123def456ghi",
        "Authorization: Basic dXNlcjpodW50ZXIyMg==",
        "https://user:hunter2secret@host.example/x",
        "https://ghtoken0123456789abcdef@github.com/x",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----",
        "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw12",
        "sk-abcdefghijklmnopqrst",
        "hvs.CAESIJ1234567890abcdefghij1234567890",
        "dop_v1_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
        "whsec_abcdefghij1234567890",
        "shpat_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
        '{"password":"a b c 1 2 3"}',
        'secret = "correct horse battery staple 9"',
        "password: `abc12345xyz`",
        "https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz-_01234",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    ],
)
def test_shapes_of_credentials_are_not_shown(text: str) -> None:
    shown = redact(f"before {text} after")
    assert MASK in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "550e8400-e29b-41d4-a716-446655440000",
        "token=550e8400-e29b-41d4-a716-446655440000",
        "commit 4f3a9c0d1e2b3a4f5c6d7e8f9a0b1c2d3e4f5a6b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)",
        "password=<your password>",
        "password=your-password",
        "password=********",
        "password=$DB_PASSWORD",
        "password=${DB_PASSWORD}",
        'password="changeme"',
        "password = get_password()",
        "password=password_hash",
        "token: string",
        "token=request.headers['x-token']",
        "token = os.environ['TOKEN']",
        "API_KEY=sk-...",
        "api_key=your_api_key_here",
        "secret: null",
        "max_tokens: 4096, input_tokens=12345678",
        "key-management-service and sk-learn-contrib-examples",
        "https://user:password@host.example/x",
        "postgres://postgres:postgres@localhost:5432/db",
        "http://127.0.0.1:8000/v1@x",
        "bearer authentication-header is basic knowledge-of-http",
        "the keyboard: qwerty123",
        '<div id="sk-container-id-1" class="sk-top-container sk-toggleable__content-2">',
        "git checkout rk-2024-roadmap-q3 && git merge gsk-2024-integration",
        "https://host:8080?x=a@b.c",
        "https://host.example?to=a:b@c.example",
        "git clone https://deploy-2024-user@git.example/x",
        "com.example.service-name-very-long-x.module.SomeVeryLongClassNameForTesting123",
        "the token: v1.2.3-beta4",
        "the basic python3interpreter and Basic Authentication2023guide",
        "Bearer TokenAuthentication2 of bearer http2server-config1",
        '"password": "must have at least 8 characters"',
        "tokenizer: cl100k_base",
        "def f(password: str, token: Token2) -> None: ...",
        "core.engines.process.environment_of_the_child.a_function_with_a_long_name_123",
        "uuid5(NAMESPACE, 'a') == '1b9d6bcd-bbfd-5b2d-9b5d-ab8dfbbd4bed'",
    ],
)
def test_honest_text_stays_whole(text: str) -> None:
    assert redact(text) == text


def test_secrets_of_an_environment() -> None:
    values = secret_values(
        [
            ("ACME_API_KEY", "plain-words-here"),
            ("SLACK_BOT_TOKEN", "xoxb-canary-1"),
            ("DATABASE_URL", "postgres://app:s3cr3t-db-pw@db/app"),
            ("OTHER_URL", "postgres://postgres:postgres@db/app"),
            ("SSH_AUTH_SOCK", "/run/user/agent.sock"),
            ("MAX_OUTPUT_TOKENS", "1000000000"),
            ("DB_PASSWORD", "changeme"),
            ("GIT_AUTHOR_NAME", "Jane Doe-Smith"),
            ("TOKEN", "short"),
        ]
    )
    assert values == {"plain-words-here", "xoxb-canary-1", "s3cr3t-db-pw"}


def test_placeholders() -> None:
    assert is_placeholder("<token>")
    assert is_placeholder("xxxxxxxx")
    assert not is_placeholder("hunter22x")


def test_a_reply_is_told_without_secrets_and_still_works() -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123"
    field = Field("topic", "Topic", value=f"use {key}", hint=key, options=(("a", key),))
    choice = Field("seat", "Seat", "choice", value="a", options=(("a", "A"),))
    form = Form("roundtable", "Table", "Go", (field, choice))
    reply = Reply(key, (Button("stop:1", f"Stop: {key}"),), form, {"topic": key})
    shown = reply_without_secrets(reply)
    assert key not in repr(shown)
    assert shown.buttons[0].action == "stop:1"
    assert shown.form is not None
    assert [one.value for one in shown.form.fields] == [f"use {MASK}", "a"]
