"""What agents may do here, told with its reasons: the limit that decides is named."""

from __future__ import annotations

import pytest

from bridge.access import Door
from bridge.projects import project_of
from bridge.rights import RightsRules, rights_of, say_lowered, say_rights, say_short
from config.settings import load_settings
from core.model import Author, ConversationKey, Project

BILLING = Project("billing", "/src", "ask", set_by="[projects.billing]")
KIM = Author("U1", "Kim", grants=("slack:U1",))
GUEST = Author("U9", "Gus", grants=("slack:U9",), trusted=False)
ALL = frozenset(("plan", "ask", "edit", "full"))


def rights(author=KIM, at_most=None, project=BILLING, **rules):
    rules.setdefault("able", {"claude": ALL, "mine": frozenset(("plan", "full"))})
    engine = rules.pop("engine", "claude")
    return rights_of(Door(("*",), (), at_most), project, author, engine, RightsRules(**rules))


@pytest.mark.parametrize(
    ("found", "mode", "why"),
    [
        (rights(), "ask", "by `[projects.billing] permission`"),
        (rights(at_most={"*": "plan"}), "plan", 'by `[permissions.at_most] "*"`'),
        (rights(at_most={"slack:U1": "plan"}), "plan", '"slack:U1"'),
        (rights(GUEST), "plan", "guest"),
        (rights(engine="mine"), "plan", "mine cannot be held to **ask**"),
        (rights(attended=False), "plan", "nobody can be asked here"),
        (rights(project=Project("own", "/x", "plan", own=True)), "plan", "no project lists it"),
    ],
)
def test_the_mode_in_force_and_the_limit_that_decides(found, mode, why):
    assert f"**{mode}**" in say_short(found)
    assert why in say_short(found)
    assert f"**In force here for {found.name}:** **{mode}**" in say_rights(found)
    assert "`[permissions] roundtable`" in say_rights(found)


def test_an_engine_that_can_be_held_to_nothing_so_low_is_told():
    found = rights(engine="wild", able={"wild": frozenset(("full",))})
    assert "nothing: wild cannot be held to **ask**" in say_short(found)


def test_who_is_held_lower_than_the_channel_is_told_why():
    assert "guests are held to it" in say_lowered(rights(GUEST))
    assert "`[permissions.at_most]" in say_lowered(rights(at_most={"*": "plan"}))


def test_the_table_that_sets_a_channels_mode_is_known(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text(
        '[projects.a]\npath = "/a"\nchannels = ["slack:C1", "slack:C2"]\npermission = "ask"\n'
        '[channels."slack:C2"]\npermission = "full"\n[channels."slack:C3"]\npermission = "edit"\n'
    )
    settings = load_settings(path)
    found = [project_of(settings, ConversationKey("slack", "T", c, "")) for c in ("C1", "C2", "C3")]
    assert [(one.permission, one.set_by) for one in found] == [
        ("ask", "[projects.a]"),
        ("full", '[channels."slack:C2"]'),
        ("edit", '[channels."slack:C3"]'),
    ]
    assert project_of(settings, ConversationKey("slack", "T", "C4", "")).set_by == ""
