"""What a run may do: channel, asker, table and engine, as tables; who may decide requests."""

from __future__ import annotations

import pytest

from bridge.access import Door
from bridge.commands import Names, parse
from bridge.options import parse_permission
from core.errors import BadInput, NotAllowed
from core.model import Author, ConversationKey
from core.permissions import ceiling, held_to, lowest

ALL = frozenset(("plan", "ask", "edit", "full"))
TABLE = {"slack:U1": "plan", "discord:9:role:1": "edit", "discord:9:role:2": "ask", "*": "full"}


@pytest.mark.parametrize(
    ("given", "least"),
    [
        ((), None),
        ((None, None), None),
        (("full", None), "full"),
        (("full", "edit"), "edit"),
        (("edit", "ask", "full"), "ask"),
        (("ask", "plan"), "plan"),
    ],
)
def test_the_lowest_counts(given, least):
    assert lowest(*given) == least


@pytest.mark.parametrize(
    ("table", "grants", "trusted", "most"),
    [
        ({}, ("slack:U1",), True, None),
        ({}, ("slack:U1",), False, "plan"),  # a guest whom nobody names
        ({"*": "edit"}, ("slack:U1",), True, "edit"),
        ({"*": "edit"}, ("slack:U1",), False, "plan"),  # "*" is for members
        ({"slack:U2": "plan"}, ("slack:U1",), True, None),  # in no entry: no limit
        ({"slack:G1": "edit"}, ("slack:G1",), False, "edit"),  # a guest who is named
        (TABLE, ("slack:U1",), True, "full"),  # the highest entry, and "*" is one
        (
            {**TABLE, "*": "plan"},
            ("discord:7", "discord:9:role:2", "discord:9:role:1"),
            True,
            "edit",
        ),
        ({"discord:9:role:2": "ask"}, ("discord:7", "discord:9:role:2"), True, "ask"),
    ],
)
def test_the_ceiling_of_a_person(table, grants, trusted, most):
    assert ceiling(table, grants, trusted=trusted) == most


@pytest.mark.parametrize(
    ("wanted", "able", "held"),
    [
        ("ask", ALL, "ask"),
        ("ask", ALL - {"ask"}, "plan"),  # never edit, which is more
        ("full", ALL - {"full"}, "edit"),
        ("edit", frozenset(("plan", "full")), "plan"),
        ("plan", frozenset(("full",)), None),
    ],
)
def test_an_engine_is_held_to_the_most_that_it_can_below(wanted, able, held):
    assert held_to(wanted, able) == held


HERE = ConversationKey("slack", "T", "C", "1")


def person(*grants: str, trusted: bool = True, kind: str = "human") -> Author:
    return Author("U1", "Kim", kind=kind, grants=grants, trusted=trusted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("approvers", "at_most", "author", "may"),
    [
        ((), {}, person("slack:U1"), False),  # nobody, and no longer everybody
        (("*",), {"slack:U1": "edit"}, person("slack:U1", trusted=False), False),
        (("slack:U1",), {}, person("slack:U1", trusted=False), True),  # a guest who is named
        (("*",), {"slack:U1": "plan"}, person("slack:U1"), False),
        (("*",), {"slack:U1": "ask"}, person("slack:U1"), True),
        (("*",), {}, person("slack:U4"), False),  # "*" lets nobody in
        (("slack:U2",), {}, person("slack:U1"), False),
        (("slack:U1",), {"slack:U1": "plan"}, person("slack:U1"), True),
        (("*",), {}, person("slack:U1"), True),
        (("*",), {}, person("slack:U1", trusted=False), False),
        (("discord:9:role:1",), {}, person("slack:U1", "discord:9:role:1"), True),
        (("*",), {}, person("slack:U1", kind="bot"), False),
        (("slack:U1",), {}, person("slack:U1", kind="agent"), False),
        (("slack:U3",), {}, person("slack:U3"), True),  # a higher role has what is below it
    ],
)
def test_who_may_decide(approvers, at_most, author, may):
    door = Door(("slack:U1",), approvers, at_most)
    if may:
        door.check_decides(author, HERE)
    else:
        with pytest.raises(NotAllowed):
            door.check_decides(author, HERE)


def test_a_question_may_ask_for_less():
    assert parse("ask", "x --permission plan", Names()).permission == "plan"
    assert parse("roundtable", "--permission ASK x", Names()).permission == "ask"
    assert parse("ask", "x", Names()).permission is None
    with pytest.raises(BadInput, match="plan, ask, edit, full"):
        parse_permission("root")
