"""Whether a link says where it goes. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_HOST = re.compile(r"(?:^|[\s(\"'<@/])((?:[\w-]+\.)+[a-z]{2,})(?=$|[\s:/?#)\"'>,])", re.IGNORECASE)


def misleading(label: str, url: str) -> bool:
    """Whether ``label`` looks like an address other than ``url``'s own host.

    A file name such as ``setup.py`` looks like a host too; it is only shown with its target then.
    """
    named = {found.casefold() for found in _HOST.findall(label)}
    if not named and "://" not in label:
        return False
    try:
        host = (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return True
    return any(name != host and not host.endswith("." + name) for name in named) or not named
