"""What an engine's words mean for the outcome of a run."""

from __future__ import annotations

import re

from core.model import OutcomeKind
from core.streams.cuts import MAX_ERROR_CHARS
from core.streams.say import plain, tail

# The order matters: the first rule that matches wins. The rules before the bar are words that are
# clearer than an HTTP status, the ones after it are less clear.
_Rules = tuple[tuple[OutcomeKind, re.Pattern[str]], ...]

_CLEAR: tuple[tuple[OutcomeKind, str], ...] = (
    (
        "quota",
        (
            # a limit of a service's, not the disk's; a name that only has the word in it is none
            r"(?:exceed|exhaust|reached|insufficient|used up|out of|over|no|hit|check|depleted)"
            r"[^\n]{0,60}(?<!disk )(?<!storage )(?<![\w/\\.'-])quotas?\b(?![\w/\\'-])"
            r"|(?<!disk )(?<!storage )(?<!block )(?<!inode )(?<!file )(?<!space )"
            r"(?<![\w/\\.-])quotas?[ _]?(?:was |has been |is |will |limit |usage )?"
            r"(?:exceed|exhaust|reach|reset|used|deplet|metric)"
            r"|(?:terminal|retryable)quotaerror|quota_?failure|exceeded_quota"
            r"|insufficient[_ ](?:quota|credits?|balance|funds)|credit balance"
            r"|plans? (?:and|&) billing|billing[_ ](?:details|error|hard[_ ]limit"
            r"|not[_ ]active|issue|required|disabled|limit|problem)"
            r"|(?:enable|activate|set up|about|requires?) billing(?![\w/-])"
            r"|usage limit|out of (?:\w+ )?(?:credits|usage)|payment required"
            r"|(?:hit|reached|exceeded|exhausted) your (?:[\w.-]+ ){0,3}"
            r"(?:limit|quota|capacity|credits)"
            r"|(?:daily|weekly|monthly|hour|session|opus|usage) limit (?:was |has been )?"
            r"(?:hit|reached|exceeded|exhausted)|limit hit\b|more credits|usage exceeded"
            r"|(?:spending|spend|plan) limit (?:was |has been )?(?:reached|exceeded)"
            r"|monthly budget (?:was |has been )?exceeded"
            r"|한도|(?<!디스크 )(?<!저장 )할당량"
        ),
    ),
    (
        "context-too-long",
        (
            r"prompt is too long|context window|context_length|maximum context|ran out of room"
            r"|(?:input|conversation|message) (?:is )?too long|exceeds the maximum size"
            r"|too many (?:input )?tokens|context limit|prompt too long"
            r"|token count exceeds|reduce the length of"
        ),
    ),
    (
        "refused",
        (
            r"content.filter|(?:usage|content) polic|blocked: SAFETY|legal/aup|safeguards"
            r"|can't help with this"
        ),
    ),
    (
        "session-lost",
        (
            r"no conversation found|no rollout found|session (id )?not found|resuming session"
            r"|\bses_\w+ not found|(?:thread|conversation|session) \S+ (?:not found|does not exist)"
            r"|(?:thread|conversation) not found|invalid session identifier"
            r"|no previous sessions|session id \S+ is already in use"
        ),
    ),
    (
        "bad-model",
        (
            r"model.{0,60}(not exist|not found|no-such|not supported|may not exist)"
            r"|no-such-model|ModelNotFound|issue with the selected model|unknown model"
            r"|(?:unsupported|invalid) model|model.{0,60}not available"
        ),
    ),
)
# An HTTP status: its number alone may be a line, a column, a position or a count.
_AS_STATUS = (
    r"(?:(?<!exit )\b(?:status|http|code)[\s_-]?(?:code)?(?:/[\d.]+)?"
    r"|\b(?:(?:api|http|axios|request|client|server|response)\w*?)?error(?: code)?"
    r"|(?:GET|POST|PUT) \S{1,200}|failed(?: with)?|rejected|denied|returned"
    r"|responded(?: with)?|received|got)"
    r"[\"']?[\s:=(\[\"']{1,4}(?:http )?"
)
_AFTER_STATUS = (
    r"(?=\s*(?:$|\n|[\"'(){}\[\]<>|;!?—–-]|[.,:](?:\s|$|[\"'{])|\w+="
    r"|(?:from|when|at|on|for|error|status|response|unauthori[sz]ed|forbidden|too many"
    r"|internal|bad gateway|service|gateway|overloaded)\b))"
)


def _coded(codes: str) -> str:
    return rf"{_AS_STATUS}(?:{codes}){_AFTER_STATUS}"


_VAGUE: tuple[tuple[OutcomeKind, str], ...] = (
    ("rate", _coded("429") + r"|rate.?limit|too many requests|RESOURCE_EXHAUSTED|\bthrottl"),
    (
        "auth",
        (
            _coded("40[13]") + r"|authenticat|unauthori[sz]ed|invalid.{0,12}key"
            r"|API_KEY_INVALID|auth method"
            r"|not (logged|signed) in|log ?in again|session expired"
            r"|please (run|log|sign).{0,12}in\b|(?:log|sign) in to |sign(?:ing)? in again"
            r"|login (?:required|expired)"
            r"|(?:token|credentials?|key)\W{0,3} (?:is |was |has been |could not be )?"
            r"(?:revoked|refreshed|invalid|expired)|oauth|no api key"
            r"|(?:api )?key not (?:valid|set|found)|로그인"
            r"|missing environment variable|(?:token|login) (?:has )?expired"
            r"|PERMISSION_DENIED|forbidden|invalid_grant|ExpiredToken|auth login\b|logged in to use"
            r"|(?:token|session|credentials?|login).{0,60}(?:has |have |is )(?:expired|lapsed)"
            r"|no (?:stored )?(?:credentials|token)\b|default credentials|sign in with"
            r"|api[ _-]?key (?:is )?(?:missing|required)|(?:KEY|TOKEN)\b.{0,24} (?:is )?not set"
        ),
    ),
    ("overloaded", _coded("503|529") + r"|overloaded|at capacity|UNAVAILABLE|high demand"),
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
            r"unknown (option|argument|flag)|parse config|unexpected argument|no prompt"
            r"|no input provided|usage:"
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
            r"|unable to connect|upstream connect|ERR_INTERNET|ETIMEDOUT|name resolution"
            r"|no route to host|certificate|socket|stream (disconnected|closed)|network|terminated"
            r"|idle timeout|timed out|cannot connect|internal server error|server_error"
            r"|bad gateway|gateway time-?out|" + _coded(r"5\d\d")
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

_LOOK_CHARS = 2_000

# Names of files, which say nothing of a failure's kind: "/srv/billing/x", "src/socket.ts:512:40".
_PATH = re.compile(
    r"(?<![\w:/.~-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@+-]+(?:[/\\][\w.@+-]+)+(?::\d+)*/?"
    r"|(?<![\w:/.@+-])[\w.@+-]+(?:/[\w.@+-]+)*\.[a-z]{1,4}(?::\d+){1,2}\b"
    r"|(?<![\w:/.@+-])[\w@+-][\w.@+-]*/(?:[\w.@+-]+/)*[\w@+-]+\.[a-z]{1,4}(?![\w.])"
)
_OF_SERVICES = ("quota", "rate", "auth", "overloaded")


def classify(text: str, status: int | None = None) -> OutcomeKind:
    """The kind of failure that an error text, with the HTTP status where known, speaks of.

    Returns ``crashed`` when nothing is recognised. For texts known to be errors only: an answer
    is judged by ``posing_as_answer``.
    """
    if len(text) > 2 * _LOOK_CHARS:  # its beginning and its end say it; the rest takes time
        text = f"{text[:_LOOK_CHARS]}\n{text[-_LOOK_CHARS:]}"
    bare = _PATH.sub(" … ", text)
    for kind, rule in _CLEAR_RULES:
        if rule.search(bare if kind in _OF_SERVICES else text):
            return kind
    if status in _STATUS:
        return _STATUS[status]
    if status is not None and 500 <= status <= 599:
        return "overloaded"
    for kind, rule in _VAGUE_RULES:
        if rule.search(bare if kind in _OF_SERVICES else text):
            return kind
    return "crashed"


def telling(text: str) -> str:
    """The lines of an error output that say most: those that ``classify`` goes by, else its end."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    kind = classify("\n".join(lines))
    if kind != "crashed":
        for n, line in enumerate(lines):
            if classify(line) == kind:
                return tail("\n".join(lines[n : n + 2]), MAX_ERROR_CHARS)
    return tail("\n".join(lines), MAX_ERROR_CHARS)
