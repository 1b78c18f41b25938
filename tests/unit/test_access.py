"""The one door, closed by default."""

import pytest

from bridge.access import Door
from core.errors import NotAllowed
from core.model import Author, ConversationKey

HERE = ConversationKey("slack", "T", "C1", "1")
KIM = Author("U1", "Kim", grants=("slack:U1",))
GUEST = Author("U2", "Guest", grants=("slack:U2",), trusted=False)
ROLE = Author("42", "Lee", grants=("discord:42", "discord:7:role:9"))
BOT = Author("B1", "ci", kind="bot", grants=("slack:B1",))


@pytest.mark.parametrize(
    ("allow", "who", "open_"),
    [
        ((), KIM, False),
        (("slack:U1",), KIM, True),
        (("slack:U9",), KIM, False),
        (("discord:U1",), KIM, False),
        (("*",), KIM, True),
        (("*",), GUEST, False),  # C148: guests and strangers must be named
        (("*", "slack:U2"), GUEST, True),
        (("discord:7:role:9",), ROLE, True),
        (("discord:8:role:9",), ROLE, False),
        (("*", "slack:B1"), BOT, False),
    ],
)
def test_door(allow, who, open_):
    assert Door(allow).allows(who, HERE) is open_


def test_a_closed_door_says_whom_to_add():
    with pytest.raises(
        NotAllowed, match=r'Nobody is on the list yet.*"slack:U1" to \[access\] allow'
    ):
        Door(()).check(KIM, HERE, "ask")
    with pytest.raises(NotAllowed, match=r'"\*" does not cover them.*"slack:U2"'):
        Door(("*",)).check(GUEST, HERE, "ask")
