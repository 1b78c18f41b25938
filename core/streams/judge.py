"""What an engine's words mean for the outcome of a run."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from core.model import OutcomeKind
from core.streams.say import plain, tail

# The order matters: the first rule that matches wins. The rules before the bar are words that are
# clearer than an HTTP status, the ones after it are less clear.
_Rules = tuple[tuple[OutcomeKind, re.Pattern[str]], ...]

_CLEAR: tuple[tuple[OutcomeKind, str], ...] = (
    ("quota", r"quota|insufficient_quota|billing|credit balance|usage limit|out of credits"),
    (
        "context-too-long",
        (
            r"prompt is too long|context window|context_length|maximum context|ran out of room"
            r"|input is too long|exceeds the maximum size"
        ),
    ),
    ("refused", r"content.filter|usage polic|legal/aup|safeguards|can't help with this"),
    (
        "session-lost",
        (
            r"no conversation found|no rollout found|session (id )?not found|resuming session"
            r"|invalid session identifier|no previous sessions|session id \S+ is already in use"
        ),
    ),
    (
        "bad-model",
        (
            r"model.{0,60}(not exist|not found|no-such|not supported|may not exist)"
            r"|no-such-model|ModelNotFound|issue with the selected model|unknown model"
        ),
    ),
)
_VAGUE: tuple[tuple[OutcomeKind, str], ...] = (
    ("rate", r"\b429\b|rate.?limit|too many requests|RESOURCE_EXHAUSTED"),
    (
        "auth",
        (
            r"\b40[13]\b|authenticat|unauthori[sz]ed|invalid.{0,12}key|API_KEY_INVALID|auth method"
            r"|not (logged|signed) in|log ?in again|session expired"
            r"|please (run|log|sign).{0,12}in\b"
            r"|missing environment variable|token (has )?expired|PERMISSION_DENIED|forbidden"
        ),
    ),
    ("overloaded", r"\b(503|529)\b|overloaded|at capacity|UNAVAILABLE|high demand"),
    (
        "missing-binary",
        (
            r"native binary not installed|optional dependency|postinstall|not installed"
            r"|exec format|env: .{0,20}node.{0,5}: no such file"
        ),
    ),
    (
        "bad-config",
        (
            r"unknown (option|argument)|unexpected argument|no prompt|no input provided|usage:"
            r"|trusted directory|must (be )?provide|not valid utf-8|argument list too long"
            r"|error loading config|invalid (config|value)|refus\w* to run as root"
            r"|cannot be used with root|--dangerously-skip-permissions"
        ),
    ),
    (
        "overloaded",  # the service cannot be reached, or broke: what helps is the same, later
        (
            r"connection (failed|refused|error|reset|closed)|fetch failed"
            r"|ECONN|\bENOTFOUND|EAI_AGAIN"
            r"|unable to connect|socket|stream (disconnected|closed)|network|terminated"
            r"|idle timeout|timed out|cannot connect|\b5\d\d\b|internal server error|server_error"
        ),
    ),
)
_CLEAR_RULES: _Rules = tuple((kind, re.compile(p, re.IGNORECASE)) for kind, p in _CLEAR)
_VAGUE_RULES: _Rules = tuple((kind, re.compile(p, re.IGNORECASE)) for kind, p in _VAGUE)

_STATUS: dict[int, OutcomeKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "bad-model",
    413: "context-too-long",
    429: "rate",
}


def classify(text: str, status: int | None = None) -> OutcomeKind:
    """The kind of failure that an error text, with the HTTP status where known, speaks of.

    Returns ``crashed`` when nothing is recognised. For texts known to be errors only: an answer
    is judged by ``posing_as_answer``.
    """
    text = text[:20_000]
    for kind, rule in _CLEAR_RULES:
        if rule.search(text):
            return kind
    if status in _STATUS:
        return _STATUS[status]
    if status is not None and 500 <= status <= 599:
        return "overloaded"
    for kind, rule in _VAGUE_RULES:
        if rule.search(text):
            return kind
    return "crashed"


def telling(text: str) -> str:
    """The lines of an error output that say most: those that ``classify`` goes by, else its end."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    kind = classify("\n".join(lines))
    if kind != "crashed":
        for n, line in enumerate(lines):
            if classify(line) == kind:
                return tail("\n".join(lines[n : n + 2]))
    return tail("\n".join(lines))


# --- errors that arrive as an answer ------------------------------------------------------

_MAX_POSING_CHARS = 300
_FLAGS = re.IGNORECASE | re.DOTALL

# Known shapes, matched against the whole text: an answer that talks about limits or sign-in must
# never be taken for one of these, so each is a notice from its first word to its last.
_MORE = r"(?:\s*[.,:;·∙•(|—-].*)?"  # the rest of a notice begins with a mark, not with a word
_RESET = r"(?:try again|resets?|will reset|upgrade|wait|please)\b"
_QUOTA_SHAPES = (
    (
        r"(?:claude|claude ai|your|5-hour|weekly|opus|daily|session|api|the)?\s*(?:account'?s? )?"
        r"(?:usage |rate |message )?limit (?:was |has been |is )?(?:hit|reached|exceeded)"
        rf"(?:\|\d{{9,13}}|[\s.,:;·∙•|-]*(?:{_RESET}.*)?)"
    ),
    (
        r"you(?:'|’)?(?:ve| have) (?:hit|reached|exceeded) your (?:\S+ ){0,2}limit"
        rf"(?:[\s.,:;·∙•|-]*(?:{_RESET}.*)?)"
    ),
    rf"(?:your )?credit balance is too low{_MORE}",
    rf"quota exceeded{_MORE}",
    rf"you (?:have )?exhausted your (?:\S+ ){{0,2}}quota(?: on this model)?{_MORE}",
)
_AUTH_SHAPES = (
    rf"not (?:logged|signed) in{_MORE}",
    rf"(?:invalid api key|oauth token has expired|login expired|session expired){_MORE}",
    rf"(?:please )?run /login{_MORE}",
    rf"failed to authenticate{_MORE}",
)
_FULL_SHAPES = (rf"(?:prompt|input) is too long{_MORE}",)

_SHAPES: tuple[tuple[OutcomeKind, tuple[str, ...]], ...] = (
    ("quota", _QUOTA_SHAPES),
    ("auth", _AUTH_SHAPES),
    ("context-too-long", _FULL_SHAPES),
)
_POSING: _Rules = tuple(
    (kind, re.compile(rf"\W{{0,3}}(?:api error:? ?\d*\W{{0,4}})?{shape}", _FLAGS))
    for kind, shapes in _SHAPES
    for shape in shapes
)
_API_ERROR = re.compile(r"API Error:? ?(\d{3})?\b.{0,250}", re.DOTALL)


def posing_as_answer(text: str) -> OutcomeKind | None:
    """The failure that a whole, short "answer" really is, or ``None`` for an answer.

    Conservative: only texts of at most 300 characters that are one of the known notices from
    beginning to end.
    """
    text = text.strip()
    if not text or len(text) > _MAX_POSING_CHARS or "```" in text or "\n\n" in text:
        return None
    for kind, shape in _POSING:
        if shape.fullmatch(text):
            return kind
    if found := _API_ERROR.fullmatch(text):
        return classify(text, int(found[1]) if found[1] else None)
    return None


_EPOCH = re.compile(r"\|(\d{10}|\d{13})\b")
_DATE = r"[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?(?:, \d{4})?,? (?:at )?"
_SPAN = r"\d+ (?:day|hour|minute|second)s?"
_SPANS = rf"{_SPAN}(?:,? (?:and )?{_SPAN})*"
_CLOCK = re.compile(
    r"(?:resets?|reset|try again|available again)(?: at| on| in)?\s+"
    rf"((?:{_DATE})?\d{{1,2}}(?::\d{{2}})?\s*[AaPp]\.?[Mm]\.?|\d{{1,2}}:\d{{2}}"
    rf"|{_SPANS})"
    r"(\s*\([A-Za-z_]+/[A-Za-z_/]+\)|\s*(?:UTC|GMT|[A-Z]{3,4}\b))?",
    re.IGNORECASE,
)


def reset_time(text: str) -> str:
    """When a quota error says that it ends, as text with its zone, or ""."""
    if found := _EPOCH.search(text):
        seconds = int(found[1][:10])
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if found := _CLOCK.search(text):
        at, zone = found[1].strip().rstrip("."), (found[2] or "").strip(" ()")
        if zone or re.fullmatch(_SPANS, at):
            return f"in {at}" if not zone else f"{at} {zone}"
        return f"{at} (this host's time)"
    return ""
