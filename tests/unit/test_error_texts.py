"""What error outputs of CLIs, clouds and shells mean."""

from __future__ import annotations

import pytest

from core.model import Exit, Outcome
from core.streams import LineReader, classify, explain

TEXTS = [
    ("auth", "Error: Login required. Run `x login`"),
    ("auth", "Your refresh token was revoked"),
    ("auth", "cloud session expired, log in again"),
    ("auth", "Please run: gcloud auth login"),
    ("auth", "ExpiredToken: The security token included in the request is expired"),
    ("auth", "Authentication required"),
    ("auth", "error: no credentials found"),
    ("auth", "AADSTS700082: The refresh token has expired due to inactivity"),
    ("auth", "invalid_grant"),
    ("auth", "Could not load the default credentials"),
    ("auth", "HTTP 401"),
    ("auth", "The SSO session associated with this profile has expired or is otherwise invalid"),
    ("auth", "You must be logged in to use this command"),
    ("auth", "your subscription login has lapsed; sign in with `codex login`"),
    ("auth", "API key missing"),
    ("auth", "Error: ANTHROPIC_API_KEY environment variable is not set"),
    ("auth", "error: credentials expired"),
    ("auth", "keyring: no token stored"),
    ("quota", "402 Payment Required"),
    ("quota", "Insufficient credits"),
    ("quota", "spending limit reached"),
    ("quota", "monthly budget exceeded"),
    ("quota", "You've hit your limit · resets 3pm"),
    ("quota", "out of credits"),
    ("quota", "plan limit exceeded"),
    ("overloaded", "503 Service Unavailable"),
    ("overloaded", "upstream connect error or disconnect/reset before headers"),
    ("overloaded", "getaddrinfo ENOTFOUND api.anthropic.com"),
    ("overloaded", "net::ERR_INTERNET_DISCONNECTED"),
    ("overloaded", "ETIMEDOUT"),
    ("overloaded", "request timed out"),
    ("overloaded", "Temporary failure in name resolution"),
    ("overloaded", "model at capacity"),
    ("overloaded", "The engine is currently overloaded, please try again later"),
    ("overloaded", "502 Bad Gateway"),
    ("overloaded", "No route to host"),
    ("overloaded", "self-signed certificate in certificate chain"),
    ("context-too-long", "This model's maximum context length is 128000 tokens"),
    ("context-too-long", "Requested token count exceeds the model's maximum"),
    ("context-too-long", "Please reduce the length of the messages"),
    ("context-too-long", "prompt too long"),
    ("bad-model", "The model `x` does not exist"),
    ("bad-model", "unsupported model: foo"),
    ("bad-model", "model foo is not available on your plan"),
    ("bad-model", "Model not found: foo/bar"),
    ("bad-model", "invalid model identifier"),
    ("session-lost", "No conversation found with session ID"),
    ("session-lost", "Session ses_123 not found"),
    ("session-lost", "thread not found: 0199"),
    ("session-lost", "conversation 12 does not exist"),
    ("rate", "Too Many Requests"),
    ("rate", "rate_limit_error"),
    ("rate", "throttled: slow down"),
    ("rate", "ThrottlingException"),
    ("crashed", "panicked at src/main.rs:3"),
    ("crashed", "TypeError: undefined is not a function"),
    ("crashed", "fatal: not a git repository"),
    ("crashed", "ENOSPC: no space left on device"),
    ("crashed", "Error: file src/auth/token.ts not found"),
    ("crashed", "AssertionError: 401 tests failed"),
    ("crashed", "AssertionError: 401 != 403"),
    # names of files, positions, counts, disks: no limit, no key and no service
    ("crashed", "Error: ENOENT: no such file or directory, open '/home/kim/src/billing/.mcp.json'"),
    ("crashed", "fatal: cannot chdir to '/srv/billing-service': No such file or directory"),
    ("crashed", "Error: Cannot find module '/opt/oauth/network/index.js'"),
    ("crashed", "Disk quota exceeded"),
    ("crashed", "EDQUOT: disk quota exceeded, write"),
    ("crashed", "cannot write: the user exceeded the disk quota"),
    ("crashed", "tool 'quota_check' crashed"),
    ("crashed", "TypeError: undefined (reading 'map') at /app/cli.js:512:40"),
    ("crashed", "at Object.<anonymous> (src/network/socket.ts:503:12)"),
    ("crashed", "panicked at src/auth/login.rs:401:5"),
    ("crashed", "SyntaxError: Unexpected token } in JSON at position 401"),
    ("crashed", "error: model output exceeded 512 tokens"),
    ("crashed", "error: 503 lines changed"),
    ("crashed", "worker left with exit code 503"),
    ("quota", "This API method requires billing to be enabled."),
    ("quota", "Your account is not active, please check your billing details"),
    ("quota", "TerminalQuotaError: try tomorrow"),
    ("quota", "your quota will reset after 18h"),
    ("quota", "billing_error"),
    ("auth", '{"error":{"code":401,"message":"x"}}'),
    ("auth", "unexpected status 401: x"),
    ("rate", "Error code: 429 - {'error'}"),
    ("rate", "[API Error: got status: 429 ]"),
    ("overloaded", "Request failed with status code 502"),
    ("overloaded", "APIStatusError: 503"),
    ("overloaded", "status=500 path=/v1/messages"),
    ("overloaded", "POST http://127.0.0.1:9/v1/messages 529"),
    ("overloaded", "504 Gateway Time-out"),
    ("bad-config", "Error: unknown flag --foo"),
    ("bad-config", "error: Invalid configuration in settings.json"),
    ("bad-config", "failed to parse config file"),
    ("refused", "This request was blocked by our content policy"),
    ("refused", "blocked: SAFETY"),
]


@pytest.mark.parametrize(("kind", "text"), TEXTS)
def test_an_error_output_is_understood(kind: str, text: str) -> None:
    assert classify(text) == kind
    outcome = LineReader().finish(Exit(1, stderr=f"warn: slow\n{text}\n"))
    assert outcome.kind == kind, "the only explanation is on stderr (C100)"
    assert text.split()[0].strip(":`") in explain("codex", outcome)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (130, "cancelled", "interrupted it on the host"),
        (-2, "cancelled", "interrupted it on the host"),
        (143, "cancelled", "ended it on the host"),
        (-15, "cancelled", "ended it on the host"),
        (137, "crashed", "too little memory"),
        (-9, "crashed", "too little memory"),
        (139, "crashed", "SIGSEGV"),
        (3, "crashed", "exit status 3"),
    ],
)
def test_an_exit_status_without_a_word_is_explained(code: int, kind: str, words: str) -> None:
    outcome = LineReader().finish(Exit(code))
    assert outcome.kind == kind
    said = explain("codex", outcome)
    assert words in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("detail", "hint"),
    [
        ("the answer was cut at the model's output limit", "go on from there"),
        ("response exceeded the 32000 output token maximum", "go on from there"),
        ("it stopped at its limit of turns", "smaller task"),
        ("it noticed that it went in a loop and stopped", "differently"),
        ("something odd", "moot engines check"),
    ],
)
def test_a_failure_without_a_kind_says_what_to_do(detail: str, hint: str) -> None:
    assert hint in explain("gemini", Outcome("crashed", detail=detail))
