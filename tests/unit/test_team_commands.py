"""The grammar of a team's records: a table of values."""

import pytest

from bridge.team_commands import Team, ids_in, message_in, parse_team
from core.errors import BadInput


@pytest.mark.parametrize(
    ("topic", "text", "meant"),
    [
        ("plan", "", Team("plan")),
        ("plan", "list", Team("plan")),
        (
            "plan",
            "new Ship it\n- write\n2) test\n\n- [ ] 릴리스\n",
            Team("plan", "new", title="Ship it", lines=("write", "test", "릴리스")),
        ),
        ("plan", "new -v 2", Team("plan", "new", title="-v 2")),
        ("plan", "show #3", Team("plan", "show", 3)),
        ("plan", "3", Team("plan", "show", 3)),
        ("plan", "Approve 12", Team("plan", "approve", 12)),
        ("plan", "done 3.2", Team("plan", "done", 3, 2)),
        ("plan", "done 3", Team("plan", "done", 3)),
        ("finding", "", Team("finding")),
        (
            "finding",
            "add [Security/HIGH] the token\nis logged",
            Team(
                "finding",
                "add",
                category="security",
                severity="high",
                lines=("the token", "is logged"),
            ),
        ),
        (
            "finding",
            "add tests/low flaky",
            Team("finding", "add", category="tests", severity="low", lines=("flaky",)),
        ),
        (
            "finding",
            "add [critical] it burns",
            Team("finding", "add", category="general", severity="critical", lines=("it burns",)),
        ),
        (
            "finding",
            "add and/or is unclear",
            Team("finding", "add", category="general", lines=("and/or is unclear",)),
        ),
        ("finding", "close 4", Team("finding", "close", 4)),
        (
            "artifact",
            "add Notes\n\n  indented\n\nmore",
            Team("artifact", "add", title="Notes", lines=("", "  indented", "", "more")),
        ),
        ("decisions", "5", Team("decisions", "show", 5)),
        ("link", "", Team("link")),
        ("link", "12", Team("link", number=12)),
        ("link", "<https://x.test/a|there>", Team("link", link="https://x.test/a")),
        ("unlink", "#7", Team("unlink", number=7)),
        ("branch", "", Team("branch")),
        ("branch", "another way", Team("branch", title="another way")),
        ("branch", "2 ways", Team("branch", title="2 ways")),
        ("branch", "#41 from there", Team("branch", number=41, title="from there")),
        (
            "branch",
            "https://x.test/a from there",
            Team("branch", link="https://x.test/a", title="from there"),
        ),
        ("branch", "adopt", Team("branch", "adopt")),
    ],
)
def test_what_is_meant(topic, text, meant):
    assert parse_team(topic, text) == meant


@pytest.mark.parametrize(
    ("topic", "text", "says"),
    [
        ("plan", "new", "needs a title"),
        ("plan", "new " + "x" * 201, "at most 200"),
        ("plan", "new x\n" + "- y\n" * 51, "at most 50 subtasks"),
        ("plan", "aprove 3", "Did you mean `!plan approve`?"),
        ("plan", "everything", "It goes like this"),
        ("plan", "show", "`!plan show 3`"),
        ("plan", "start 3", "`!plan start 3.1`"),
        ("plan", "approve 3.1", "Which one?"),
        ("plan", "show 99999999999999999999", "Which one?"),
        ("finding", "add", "What was found?"),
        ("finding", "add [security/huge] x", "critical, high, medium, low"),
        ("finding", "add [a,b;c/high] x", "one short word"),
        ("artifact", "add Notes", "on the lines below"),
        ("link", "that thread", "It goes like this"),
    ],
)
def test_what_is_wrong_says_what_would_work(topic, text, says):
    with pytest.raises(BadInput) as caught:
        parse_team(topic, text)
    assert says in str(caught.value)


def test_addresses_of_both_shapes():
    slack = "https://x.slack.com/archives/C1/p1700000000123456"
    assert ids_in(slack) == ("1700000000.123456",)
    inside = f"{slack}?thread_ts=1699999999.000100&cid=C1"
    assert ids_in(inside) == ("1699999999.000100", "1700000000.123456")
    assert message_in(inside) == "1700000000.123456"
    discord = (
        "https://discord.com/channels/111111111111111111/222222222222222222/333333333333333333"
    )
    assert ids_in(discord) == ("333333333333333333", "222222222222222222", "111111111111111111")
    assert message_in(discord) == "333333333333333333"
    assert ids_in("https://x.test/a") == ()
    assert message_in("https://x.test/a") == ""
