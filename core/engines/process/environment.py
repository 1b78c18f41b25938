"""Which environment variables a child may see: an allow-list, closed by default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

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


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def allowed(name: str, patterns: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Whether the variable ``name`` may be passed on (see ``Engine.env_names`` for patterns)."""
    if any(_matches(name.upper(), p) for p in NEVER):
        return False
    for pattern in patterns:
        wanted, _, only_with = pattern.partition("?")
        if _matches(name, wanted) and (not only_with or environ.get(only_with)):
            return True
    return False


def child_environment(
    base: Mapping[str, str], names: Iterable[str], added: Mapping[str, str], run_id: str
) -> dict[str, str]:
    """The whole environment of a child: what is allowed of ``base``, ``added``, and the mark."""
    patterns = (*COMMON, *names)
    env = {k: v for k, v in base.items() if allowed(k, patterns, base)}
    env.setdefault("PATH", os.defpath)
    env.update(added)
    env[MARK] = run_id
    return env
