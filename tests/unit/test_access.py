"""The one door, closed by default."""

import pytest

from bridge.access import Door
from bridge.duties import Role
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


# --- roles, and what a channel says itself -------------------------------------------------------

ADA = Author("UA", "Ada", grants=("slack:UA",))
BOSS = Author("UB", "Boss", grants=("slack:UB", "slack:group:SLEADS"))
VERA = Author("UV", "Vera", grants=("slack:UV",))
ELSE = ConversationKey("slack", "T", "C2", "1")
HOUSE = Door(
    ("slack:U1", "slack:UB"),
    ("slack:group:SLEADS", "*"),
    {"slack:U1": "plan"},
    viewers=("*",),
    admins=("slack:UA",),
    channels={
        "slack:C2": {"allow": ("slack:UV",)},
        "slack:C3": {"allow": ("*",), "approvers": ("slack:U1",), "admins": ("slack:UV",)},
        "slack:C4": {"viewers": (), "allow": (), "approvers": ()},
    },
)
C3, C4 = (ConversationKey("slack", "T", channel, "") for channel in ("C3", "C4"))
OTHER_CHAT = ConversationKey("discord", "T", "C2", "")


@pytest.mark.parametrize(
    ("who", "where", "role", "by"),
    [
        (ADA, HERE, Role.ADMIN, "[access] admins"),
        (ADA, C4, Role.ADMIN, "[access] admins"),  # the house's admins stay, everywhere
        (BOSS, HERE, Role.APPROVER, "[access] approvers"),
        (KIM, HERE, Role.RUNNER, "[access] allow"),  # held to plan: "*" makes no approver of them
        (VERA, HERE, Role.VIEWER, "[access] viewers"),
        (GUEST, HERE, Role.NOBODY, ""),
        (VERA, ELSE, Role.APPROVER, "[access] approvers"),  # "*": whoever may ask there
        (KIM, ELSE, Role.VIEWER, "[access] viewers"),  # the channel's list replaces the house's
        (BOSS, ELSE, Role.APPROVER, "[access] approvers"),  # named: not let in by "*"
        (VERA, C3, Role.ADMIN, '[channels."slack:C3".access] admins'),
        (KIM, C3, Role.APPROVER, '[channels."slack:C3".access] approvers'),
        (BOSS, C3, Role.RUNNER, '[channels."slack:C3".access] allow'),
        (GUEST, C3, Role.NOBODY, ""),
        (BOSS, C4, Role.NOBODY, ""),  # empty lists let nobody in
        (BOT, HERE, Role.NOBODY, ""),
        (VERA, OTHER_CHAT, Role.VIEWER, "[access] viewers"),  # the same id of another chat
    ],
)
def test_what_somebody_is_and_by_which_list(who, where, role, by):
    found = HOUSE.standing(who, where)
    assert (found.role, found.where) == (role, by)


def test_stars_give_nobody_what_needs_a_name():
    assert Door(("*",), ("*",), admins=("*",)).role(KIM, HERE) is Role.APPROVER
    assert Door((), ("*",)).role(KIM, HERE) is Role.NOBODY
    assert not Door(("*",), ("*",)).erases(KIM, HERE)
    assert Door(("*",), ("slack:U1",)).erases(KIM, HERE)


def test_what_is_missing_is_said_with_the_place_to_add_it():
    with pytest.raises(NotAllowed, match=r"needs the role runner, and theirs here is viewer.*U1"):
        HOUSE.check(KIM, ELSE, "ask")
    with pytest.raises(NotAllowed, match=r'to \[channels."slack:C2".access\] allow'):
        HOUSE.check(KIM, ELSE, "ask")
    with pytest.raises(NotAllowed, match="may not decide this"):
        HOUSE.check_decides(KIM, HERE)
    HOUSE.check(VERA, HERE, "status")


def test_a_channel_without_an_admin_is_set_by_its_approvers():
    HOUSE.check(VERA, C3, "language set")
    with pytest.raises(NotAllowed, match="role admin"):
        HOUSE.check(KIM, C3, "language set")
    Door(("*",)).check(KIM, HERE, "language set")
    with pytest.raises(NotAllowed, match="role approver"):
        Door(("*",), ("slack:UB",)).check(KIM, HERE, "language set")
    with pytest.raises(NotAllowed, match="role admin"):
        Door(("*",)).check(KIM, HERE, "audit")  # the log is for admins, or read on the host
