"""Where a link may lead, how its address is written, and whether it says where it goes. Pure."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from urllib.parse import urlsplit

# Endings that are no file names' endings too: "setup.py" in a label is a file.
_HOST = re.compile(
    r"(?:^|[\s(\"'<@/])((?:[\w-]+\.)+"
    r"(?:com|org|net|edu|gov|mil|int|info|biz|io|dev|app|ai|co|us|uk|kr|jp|cn|de|fr|eu|ru|br|ca|ch"
    r"|bank|online|site|shop|xyz|test|example))(?=$|[\s:/?#)\"'>,])",
    re.IGNORECASE,
)
_KNOWN_SCHEME = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_MOMENT = re.compile(r"moot-time:([0-9]{1,11})")
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_UNSAFE = re.compile(r"""[\x00-\x20"<>\\^`{|}\x7f]""")


def is_web(url: str) -> bool:
    """Whether ``url`` is an address a chat may link to: http, https or mailto."""
    return _KNOWN_SCHEME.match(url) is not None


def moment(url: str) -> int | None:
    """The seconds since 1970 that a link of our own to a point in time means."""
    found = _MOMENT.fullmatch(url)
    return int(found[1]) if found is not None else None


def may_link(url: str) -> bool:
    """Whether ``[x](url)`` is a link: to a chat's reader, within a repository, or to a moment."""
    return is_web(url) or _ANY_SCHEME.match(url) is None or moment(url) is not None


def decoded(text: str) -> str:
    """``text`` with its HTML entities decoded, once, and only those that end in a semicolon.

    Python's own also takes ``&sect`` out of ``?a=1&section=2``, as browsers do in prose.
    """

    def one(found: re.Match[str]) -> str:
        known = found[1][0] == "#" or f"{found[1]};" in html5
        return unescape(found.group()) if known else found.group()

    return _ENTITY.sub(one, text)


def safe_url(url: str) -> str:
    """The author's address with only what would end it early or hide its host encoded."""
    return _UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", url.strip())


def misleading(label: str, url: str) -> bool:
    """Whether ``label`` names another host than the one ``url`` leads to."""
    named = {found.casefold() for found in _HOST.findall(label)}
    if not named:
        return "://" in label
    try:
        host = url.rpartition("@")[2] if url.startswith("mailto:") else urlsplit(url).hostname or ""
    except ValueError:
        return True
    host = host.casefold()
    return any(name != host and not host.endswith("." + name) for name in named)
