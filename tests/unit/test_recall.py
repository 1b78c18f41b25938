"""What a Pull of messages means, whatever an agent writes into it."""

import pytest

from core.model import Pull
from core.sources.recall import MAX_HITS, MAX_RECENT, wants


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("#12", ("id", 12)),
        ("id 12", ("id", 12)),
        ("# 12", ("id", 12)),
        ("#" + "9" * 26, ("id", 2**63 - 1)),  # no row has it, and SQLite can still be asked
        ("#" + "9" * 5000, ("id", 2**63 - 1)),
        ("12", ("recent", 12)),
        ("last 12", ("recent", 12)),
        ("last " + "9" * 5000, ("recent", MAX_RECENT)),
        ("last 0", ("recent", 0)),
        ("#x", ("recent", MAX_HITS)),
        ("identity 3", ("recent", 3)),
        ("", ("recent", MAX_HITS)),
    ],
)
def test_what_is_wanted(query, meant):
    assert wants(Pull("messages", query)) == meant
