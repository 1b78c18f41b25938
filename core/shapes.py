"""What only credentials look like is taken out of a text. PURE.

Every pattern takes time in proportion to the text, whatever it is: a shape begins at the left end
of a run of its characters, or looks ahead a bounded way; what was run over is not tried anew from
each of its characters, and nothing is given back (possessive). Strangers write these texts.
"""

from __future__ import annotations

import base64
import binascii
import re

MASK = "[redacted]"

_SHAPES = re.compile(
    r"\b(?:"  # looked at first, and once: most places are within words
    r"(?:[rs]k|xai|gsk|pplx)-(?P<pieces>[A-Za-z0-9_-]{12,}+)"
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{12,}+|whsec_[A-Za-z0-9+/]{16,}+"
    r"|xox[a-z]-(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9-]{8,}+|xapp-\d-[A-Za-z0-9-]{8,}+"
    r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+"
    r"|glpat-[A-Za-z0-9_-]{16,}+|dckr_pat_[A-Za-z0-9_-]{20,}+"
    r"|hf_[A-Za-z0-9]{24,}+|npm_[A-Za-z0-9]{30,}+|pypi-Ag[A-Za-z0-9_-]{40,}+"
    r"|do[opr]_v1_[a-f0-9]{32,}+|hv[sbr]\.[A-Za-z0-9_-]{20,}+|shp[a-z]{2}_[a-f0-9]{32,}+"
    r"|lin_api_[A-Za-z0-9]{20,}+|AGE-SECRET-KEY-1[A-Z0-9]{40,}+"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{30,}+"
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"
    r"|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{16,}+|A[KS]IA[A-Z0-9]{16}\b"
    r"|eyJ(?<!-eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"
    r"|(?P<hook>hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}+"
    r"|(?P<webhook>api/webhooks/)\d{15,20}+/[A-Za-z0-9_-]{30,}+"
    r")|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_VENDORS = ("ant-", "proj-", "svcacct-", "admin-", "or-v1-")  # what follows ``sk-`` in keys only
# What a shape cannot do without, by a sign that most texts do not hold either.
_HINTS = (
    (
        "-",
        ("sk-", "rk-", "xai-", "gsk-", "pplx-", "xox", "xapp-", "glpat-", "pypi-", "-----BEGIN",
         "AGE-SECRET"),
    ),
    (
        "_",
        ("_live_", "_test_", "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "_pat_", "hf_", "npm_",
         "_v1_", "whsec_", "shp", "lin_api_"),
    ),
    (".", ("SG.", "ya29.", "eyJ", "hooks.slack.com", "hvs.", "hvb.", "hvr.")),
    ("A", ("AIza", "AKIA", "ASIA", ":AA")),
    ("/", ("/api/webhooks/",)),
)  # fmt: skip
_DISCORD = re.compile(  # what stands before is the id of a bot, in base64
    r"\.(?<=[A-Za-z0-9]{22}\.)[A-Za-z0-9_-]{6}\.(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Z])"
    r"(?=[\w-]{0,40}[a-z])[A-Za-z0-9_-]{27,}+"
)
_BEARER = re.compile(
    r"(?i:\b(?P<how>bearer|basic)(?P<gap>[ :]{1,2}))(?P<value>[A-Za-z0-9._~+/-]{12,}+={0,2})"
)
_BEARER_CHARS = len("basic ") + 12
_IN_URL = re.compile(
    r"://(?P<user>[^\s/@:?#\"'<>]{0,1000}+)(?::(?P<value>[^\s/@\"'<>]{1,1000}+))?(?=@)"
)
_PORT = re.compile(r"\d{1,5}[?#]")  # and no password: ``host:8080?to=a@b.example``
_ASSIGNED = re.compile(
    r"(?P<name>(?i:pass(?:word|wd|phrase)?|secret|token|(?:api|access|private)[_-]?key"
    r"|client[_-]?secret))(?P<sign>\\?[\"'`]?\s?[=:]\s?\\?[\"'`]?)"
    r"(?:(?<=[\"'])(?P<words>[^\s\"'\\]{1,100} [^\n\"'\\]{1,200})(?=\\?[\"'])"
    r"|(?P<value>[^\s\"'`,;&<>(){}\[\]\\|]{4,}+)(?P<next>[(\[{]?))"
)
# In lower case, so that it is quickly found that there is none.
_ASSIGNED_HINT = re.compile(r"(?:pass(?:word|wd|phrase)?|secret|token|key)\\?[\"'`]?\s?[=:]")
_PLACEHOLDER = re.compile(
    r"(?i)^(?:[$%{<*.#@&!-].*|\W+|x{3,}.*|.*(?:\.\.\.|…).*|(?:your|my|the|some|an?|new|old|example"
    r"|sample|dummy|fake|test|change|replace|insert|enter|todo|redacted|masked|hidden|placeholder)"
    r"(?:[_.-].*|me|this)?|(?:db|user|app)?_?(?:pass(?:word|wd)?|secret|token|pwd|key|postgres|root"
    r"|admin|guest|user|none|null|nil|true|false|undefined|string|str|bytes|optional|required|value"
    r"|text|hunter2|foobar|foo|bar|baz|test|missing|invalid|expired|empty|set|unset)[!?.]*"
    r"|(?:os|env|process|config|settings|self|this|args|req|request|ctx|secrets|st|vault)\..*)$"
)
_UUID = re.compile(r"(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
_VERSION = re.compile(r"v?\d++(?:\.\d++)++[\w.-]{0,20}")
_WORD = re.compile(r"[A-Z]?[a-z]++(?:[A-Z][a-z]++)*+\d{0,2}+[a-z]*+")  # or a name in code
_SENTENCE = re.compile(
    r"(?i)\b(?:the|to|is|are|must|at|least|your|you|enter|of|be|or|for|in|with|and|has|have|should"
    r"|not|no|characters?|chars|digits?|letters?|when|if|it|was|from|on|by|after|before)\b"
)


def redact_shapes(text: str) -> str:
    """``text`` without anything that only credentials look like."""
    # Looking for a part of a shape is much faster than looking for the shape, and this is asked of
    # every piece of text that an engine writes.
    for sign, hints in _HINTS:
        if sign in text and any(hint in text for hint in hints):
            text = _SHAPES.sub(_shape, text)
            break
    if "." in text:
        text = _DISCORD.sub(MASK, text)
    if "@" in text and "://" in text:
        text = _IN_URL.sub(_in_url, text)
    assigns = "=" in text or ":" in text
    if not assigns and len(text) < _BEARER_CHARS:
        return text
    low = text.lower()
    if assigns and _ASSIGNED_HINT.search(low):
        text = _ASSIGNED.sub(_assigned, text)
    return _BEARER.sub(_bearer, text) if "bearer" in low or "basic" in low else text


def is_placeholder(value: str) -> bool:
    """Whether somebody wrote it where a secret would stand, and it is none."""
    return bool(_PLACEHOLDER.match(value)) or MASK.strip("[]") in value


# --- what was found, looked at more closely --------------------------------------------------


def _shape(found: re.Match[str]) -> str:
    pieces = found["pieces"]
    if pieces is not None and not _drawn(pieces):
        return found[0]
    return f"{found['hook'] or found['webhook'] or ''}{MASK}"


def _drawn(pieces: str) -> bool:
    """Drawn by lot, at least in part: no name of a branch, a class or a part of a page."""
    if any(map(_drawn_piece, re.split(r"[_-]", pieces))):
        return True
    digits = any(c.isdigit() for c in pieces)
    return digits and (pieces.startswith(_VENDORS) or (len(pieces) >= 40 and _kinds(pieces) == 3))


def _drawn_piece(piece: str) -> bool:
    if len(piece) < 10:
        return False
    digits = sum(c.isdigit() for c in piece)
    if len(piece) >= 16 and (digits or len(piece) >= 20):
        return True
    if len(piece) >= 14 and sum(map(str.isupper, piece)) >= 4 and any(map(str.islower, piece)):
        return True
    return _kinds(piece) == 3 or 3 <= digits < len(piece)


def _kinds(text: str) -> int:
    """How many there are of ``a``, ``A`` and ``0``."""
    return sum(any(map(kind, text)) for kind in (str.islower, str.isupper, str.isdigit))


def _random(value: str) -> bool:
    """Letters and digits, and no id or word of a language."""
    letters, digits = sum(c.isalpha() for c in value), sum(c.isdigit() for c in value)
    if not letters or not digits or _UUID.match(value) or _VERSION.fullmatch(value):
        return False
    return not re.fullmatch(r"[a-z]+(?:[_.-][a-z0-9]+)*", value) or digits >= 4


def _assigned(found: re.Match[str]) -> str:
    name, value = found["name"].lower(), found["value"]
    if value is None:
        words: str = found["words"]
        secret = any(c.isdigit() for c in words) and not _SENTENCE.search(words)
        return f"{found['name']}{found['sign']}{MASK}" if secret else found[0]
    bare = value.rstrip(".!?:*_")
    if found["next"] or is_placeholder(value) or len(bare) < 4:
        return found[0]
    loose = ":" in found["sign"] and '"' not in found["sign"] and "'" not in found["sign"]
    is_password = "pass" in name and not loose  # may be a word; "token: string" is code
    secret = _random(bare) and (len(bare) >= 8) if not is_password else _like_password(bare)
    return f"{found['name']}{found['sign']}{MASK}{value[len(bare) :]}" if secret else found[0]


def _like_password(value: str) -> bool:
    """Not a name in code (``password=password_hash``)."""
    return not re.fullmatch(r"[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|\w+(?:\.\w+)+", value)


def _bearer(found: re.Match[str]) -> str:
    value, before = found["value"], found.string[max(0, found.start() - 20) : found.start()]
    secret = any(c.isdigit() for c in value)
    if not secret or is_placeholder(value):
        return found[0]
    if "authorization" not in before.lower():  # it may be the word
        secret = (
            _names_somebody(value)
            if found["how"].lower() == "basic"
            else any(len(p) >= 8 and not _WORD.fullmatch(p) for p in re.split(r"\W|_", value))
        )
    return f"{found['how']}{found['gap']}{MASK}" if secret else found[0]


def _names_somebody(value: str) -> bool:
    """Whether it is the base64 of ``user:password``, or its beginning."""
    whole = value.rstrip("=")[:4000]
    try:
        told = base64.b64decode(whole[: len(whole) // 4 * 4], validate=True)
    except binascii.Error:  # no base64 at all
        return False
    name, colon, _ = told.partition(b":")
    return bool(colon) and name.isascii() and name.decode("ascii").isprintable()


def _in_url(found: re.Match[str]) -> str:
    user, value = found["user"], found["value"]
    if value is None:
        secret = len(user) >= 16 and _drawn(user) and not is_placeholder(user)
    else:
        secret = not is_placeholder(value) and not _PORT.match(value)
    return f"://{MASK}" if secret else found[0]
