"""Which environment variables a child may see: an allow-list, closed by default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

COMMON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TMP", "TEMP"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "XDG_*"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    *("CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
NEVER = ("MOOT__*", "SLACK_*", "DISCORD_*")
"""The chat platforms' tokens and our own settings: no rule can let them through."""

MARK = "MOOT_RUN"
OUT = "MOOT_FILES"
_TOKEN_CHARS = 16  # shorter values are flags and numbers, which others may have as well


class Names:
    """Names of variables; a trailing ``*`` matches a prefix."""

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = tuple(patterns)
        self._whole = frozenset(p for p in patterns if not p.endswith("*"))
        self._prefixes = tuple(p[:-1] for p in patterns if p.endswith("*"))

    def __contains__(self, name: str) -> bool:
        return name in self._whole or name.startswith(self._prefixes)


_NEVER = Names(NEVER)


def _counting(patterns: Iterable[str], environ: Mapping[str, str]) -> Names:
    """The patterns that count in this environment (see ``Engine.env_names``)."""
    parts = (pattern.partition("?") for pattern in patterns)
    return Names(wanted for wanted, _, with_ in parts if not with_ or environ.get(with_))


def child_environment(
    base: Mapping[str, str], names: Iterable[str], added: Mapping[str, str], run_id: str
) -> dict[str, str]:
    """The whole environment of a child: what is allowed of ``base``, ``added``, and the mark."""
    wanted = _counting((*COMMON, *names), base)
    # Nor under another name, which a setting may let through.
    tokens = {v for k, v in base.items() if k.upper() in _NEVER and len(v) >= _TOKEN_CHARS}
    env = {
        k: v for k, v in base.items() if k in wanted and k.upper() not in _NEVER and v not in tokens
    }
    env.setdefault("PATH", os.defpath)
    env.update(added)
    env[MARK] = run_id
    return env


def bypass_proxy(env: dict[str, str], url: str) -> None:
    """See to it that a child reaches ``url``, which is on this host, and no proxy hears of it."""
    names = ("NO_PROXY", "no_proxy")  # which of them counts is each program's own choice
    given = ",".join(env.get(name, "") for name in names).split(",")
    listed = [entry.strip() for entry in given if entry.strip()]
    if "*" not in listed:
        listed.append(urlsplit(url).hostname or "")
    env.update(dict.fromkeys(names, ",".join(dict.fromkeys(listed))))
