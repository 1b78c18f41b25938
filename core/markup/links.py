"""Whether a link says where it goes. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

# Endings that are no file names' endings too: "setup.py" in a label is a file.
_HOST = re.compile(
    r"(?:^|[\s(\"'<@/])((?:[\w-]+\.)+"
    r"(?:com|org|net|edu|gov|mil|int|info|biz|io|dev|app|ai|co|us|uk|kr|jp|cn|de|fr|eu|ru|br|ca|ch"
    r"|bank|online|site|shop|xyz|test|example))(?=$|[\s:/?#)\"'>,])",
    re.IGNORECASE,
)


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
