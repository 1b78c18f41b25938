"""Secrets are taken out of everything that is shown, stored, remembered or logged. PURE.

Two nets: the values that this house knows (tokens of the chats, keys in the environment, tokens of
Pulls), in any dress a program gives them (JSON, URL, base64 of "user:token"), and shapes that only
credentials have. Honest text stays whole: ids, hashes, placeholders, code that handles secrets.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote, quote_plus, urlsplit

MASK = "[redacted]"
MIN_CHARS = 8  # of a value that is looked for; a shorter one would hit honest words

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE)?KEYS?(?:$|_)|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)AUTH(?:$|_)",
    re.IGNORECASE,
)
_WORDS = frozenset(
    [
        "password",
        "passwd",
        "secret",
        "token",
        "changeme",
        "example",
        "placeholder",
        "undefined",
        "localhost",
        "development",
        "production",
        "required",
        "disabled",
        "optional",
        "credentials",
        "postgres",
        "dummy",
        "dummies",
        "testtest",
    ]
)


def secret_values(environ: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The values of variables whose names look like credentials, and passwords in addresses."""
    found: set[str] = set()
    for name, value in environ:
        if _is_secret(name) and not value.startswith(("/", "~/")) and not value.isdigit():
            found.add(value)
        if "://" in value and "@" in value:
            found.add(_password_in(value))
    return frozenset(v for v in found if len(v) >= MIN_CHARS and v.lower() not in _WORDS)


@lru_cache(maxsize=4096)  # the same names for every run
def _is_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def _password_in(address: str) -> str:
    try:
        password = urlsplit(address).password or ""
    except ValueError:
        return ""
    return "" if is_placeholder(password) else password


class Secrets:
    """Known values, ready to be looked for."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(value for value in values if len(value) >= MIN_CHARS)
        forms = [_forms(value) for value in self.values]
        plain = frozenset[str]().union(*(form[0] for form in forms))
        encoded = frozenset[str]().union(*(form[1] for form in forms))
        self._plain = tuple(sorted(plain, key=len, reverse=True))
        self._encoded = tuple(sorted(encoded, key=len, reverse=True))
        self._prefixes = frozenset[str]().union(*(form[2] for form in forms))
        self._longest = max(map(len, self._plain), default=0)
        self._shortest = min(map(len, (*self._plain, *self._encoded)), default=sys.maxsize)
        firsts = "".join(re.escape(c) for c in sorted({v[0] for v in self._plain}))
        self._first = re.compile(f"[{firsts}]") if firsts else _NEVER

    def mask(self, text: str) -> str:
        """``text`` without any of the values."""
        if len(text) < self._shortest:
            return text
        for value in self._plain:
            if value in text:
                text = text.replace(value, MASK)
        if self._encoded and _BASE64.search(text):
            for piece in self._encoded:
                if piece in text:
                    run = rf"[A-Za-z0-9+/_-]*{re.escape(piece)}[A-Za-z0-9+/_-]*={{0,2}}"
                    text = re.sub(run, MASK, text)
        return text

    def held_back(self, text: str) -> int:
        """How many characters at the end of ``text`` may be the beginning of a value."""
        if not self._longest:
            return 0
        for found in self._first.finditer(text, max(0, len(text) - self._longest + 1)):
            if text[found.start() :] in self._prefixes:
                return len(text) - found.start()
        return 0


_NEVER = re.compile(r"(?!)")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{10}")


@lru_cache(maxsize=64)  # a run looks for one value more than the run before
def _forms(value: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Of a value: what stands for it in texts, the same in base64, and how those may begin."""
    plain = frozenset((value, *_dresses(value)))
    prefixes = frozenset(form[:n] for form in plain for n in range(1, len(form)))
    return plain, frozenset(_base64_pieces(value)), prefixes


def _dresses(value: str) -> set[str]:
    """``value`` as JSON, as a part of an address and in hex."""
    found = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value),
             quote(value, safe=""), quote_plus(value), value.encode().hex()}  # fmt: skip
    return found - {value}


def _base64_pieces(value: str) -> set[str]:
    """What the base64 of any text that holds ``value`` holds, wherever in it the value stands."""
    found: set[str] = set()
    raw = value.encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        start = -(-before * 8 // 6)  # these characters are shared with what stands before
        end = (before + len(raw)) * 8 // 6
        piece = whole[start:end]
        if len(piece) >= 10:
            found |= {piece, piece.replace("+", "-").replace("/", "_")}
    return found


class Flow:
    """A text that comes in pieces: a value that is cut by them is not shown either."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now of all that came so far."""
        text = self._secrets.mask(self._held + piece)
        size = self._secrets.held_back(text)
        if not size:
            self._held = ""
            return text
        self._held = text[-size:]
        return text[:-size]

    def end(self) -> str:
        """What was held back: the text is over."""
        held, self._held = self._held, ""
        return held


# --- what this house knows -------------------------------------------------------------------

_known = Secrets(())  # one process, one environment: every door looks for the same values


def learn(values: Iterable[str]) -> None:
    """Look for these values from now on, beside those known before."""
    global _known
    more = frozenset(value for value in values if len(value) >= MIN_CHARS)
    if not more <= _known.values:
        _known = Secrets(_known.values | more)


def known(extra: Iterable[str] = ()) -> Secrets:
    """The known values, and ``extra`` ones (of one run)."""
    more = frozenset(extra)
    return Secrets(_known.values | more) if more - _known.values else _known


# --- shapes ----------------------------------------------------------------------------------

_SHAPES = re.compile(
    r"\b(?:sk|rk|xai|gsk|pplx)-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{12,}"
    r"|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}"
    r"|\bxox[a-z]-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{8,}|\bxapp-\d-[A-Za-z0-9-]{8,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bhf_[A-Za-z0-9]{24,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-Ag[A-Za-z0-9_-]{40,}"
    r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"
    r"|(?<=/api/webhooks/)\d{15,}/[A-Za-z0-9_-]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_DISCORD = re.compile(
    r"(?<=[\w-]{22})[\w-]{0,6}\.[A-Za-z0-9_-]{6}"
    r"\.(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[A-Za-z0-9_-]{27,}"
)
_DISCORD_HINT = re.compile(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}")  # from a dot: quickly found
# What a shape cannot do without, by a sign that most texts do not hold either.
_HINTS = (
    ("-", ("sk-", "rk-", "xai-", "gsk-", "pplx-", "xox", "xapp-", "glpat-", "pypi-", "-----BEGIN")),
    ("_", ("_live_", "_test_", "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "_pat_", "hf_", "npm_")),
    (".", ("SG.", "ya29.", "eyJ", "hooks.slack.com")),
    ("A", ("AIza", "AKIA", "ASIA")),
    ("/", ("/api/webhooks/",)),
)
_BEARER = re.compile(
    r"(?i:\b(?P<how>bearer|basic)(?P<gap>[ :]{1,2}))(?P<value>[A-Za-z0-9._~+/-]{12,}=*)"
)
_BEARER_CHARS = len("basic ") + 12
_IN_URL = re.compile(r"(?<=://)(?P<user>[^\s/@:\"'<>]*):(?P<value>[^\s/@\"'<>]+)(?=@)")
_ASSIGNED = re.compile(
    r"(?P<name>(?i:\b[\w-]*?(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|client[_-]?secret)))(?P<sign>\\?[\"']?\s?[=:]\s?\\?[\"']?)"
    r"(?P<value>[^\s\"'`,;&<>(){}\[\]\\|]{4,})(?P<next>[(\[{]?)"
)
# In lower case, and without looking for where the name begins.
_ASSIGNED_HINT = re.compile(r"(?:pass(?:word|wd|phrase)?|secret|token|key)\\?[\"']?\s?[=:]")
_PLACEHOLDER = re.compile(
    r"(?i)^(?:[$%{<*.#@&!-].*|\W+|x{3,}.*|.*(?:\.\.\.|…).*|(?:your|my|the|some|an?|new|old|example"
    r"|sample|dummy|fake|test|change|replace|insert|enter|todo|redacted|masked|hidden|placeholder)"
    r"(?:[_.-].*|me|this)?|(?:db|user|app)?_?(?:pass(?:word|wd)?|secret|token|pwd|key|postgres|root"
    r"|admin|guest|user|none|null|nil|true|false|undefined|string|str|bytes|optional|required|value"
    r"|text|hunter2|foobar|foo|bar|baz|test|missing|invalid|expired|empty|set|unset)[!?.]*"
    r"|(?:os|env|process|config|settings|self|this|args|req|request|ctx|secrets|st|vault)\..*)$"
)
_UUID = re.compile(r"(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")


def is_placeholder(value: str) -> bool:
    """Whether somebody wrote it where a secret would stand, and it is none."""
    return bool(_PLACEHOLDER.match(value)) or MASK.strip("[]") in value


def _random(value: str) -> bool:
    """Letters and digits, and no id or word of a language."""
    letters, digits = sum(c.isalpha() for c in value), sum(c.isdigit() for c in value)
    if not letters or not digits or _UUID.match(value):
        return False
    return not re.fullmatch(r"[a-z]+(?:[_.-][a-z0-9]+)*", value) or digits >= 4


def _assigned(found: re.Match[str]) -> str:
    name, value = found["name"].lower(), found["value"]
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
    value = found["value"]
    plain = is_placeholder(value) or not any(c.isdigit() for c in value)
    return found[0] if plain else f"{found['how']}{found['gap']}{MASK}"


def _in_url(found: re.Match[str]) -> str:
    return found[0] if is_placeholder(found["value"]) else MASK


def redact(text: str, secrets: Iterable[str] | Secrets = ()) -> str:
    """``text`` without known secret values and without anything shaped like a credential.

    ``secrets`` are looked for beside those that were learnt (``learn``).
    """
    if len(text) < MIN_CHARS:
        return text
    found = secrets if isinstance(secrets, Secrets) else known(secrets)
    return redact_shapes(found.mask(text))


def redact_shapes(text: str) -> str:
    """``text`` without anything that only credentials look like."""
    # Looking for a part of a shape is much faster than looking for the shape, and this is asked of
    # every piece of text that an engine writes.
    for sign, hints in _HINTS:
        if sign in text and any(hint in text for hint in hints):
            text = _SHAPES.sub(MASK, text)
            break
    if "." in text and _DISCORD_HINT.search(text):
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


def redact_within(value: Any) -> Any:
    """The same for every text in a JSON-able value (keys stay)."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {key: redact_within(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        items = [redact_within(item) for item in cast("Iterable[Any]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    return value
