"""What stands below an answer: which controls, in what shape on each platform, and small print."""

from __future__ import annotations

import pytest

from adapters.console.widgets import spread
from adapters.discord.render import render as discord
from adapters.discord.shape import view_of
from adapters.slack.layout import actions, body
from adapters.slack.render import render as slack
from core.markup.small import set_small, small
from core.model import (
    Button,
    Conversation,
    ConversationKey,
    Outcome,
    Participant,
    Step,
    TableRules,
    Turn,
    Usage,
)
from core.records.buttons import dump_buttons, load_buttons
from core.turns.controls import NOTHING, Below, footer

RUN = "0123456789abcdef"
HERE = Conversation(
    1,
    ConversationKey("slack", "T", "C", "1"),
    direct=False,
    opened=True,
    engaged=True,
    caught_up=True,
)
ALONE = Conversation(
    2,
    ConversationKey("slack", "T", "D", ""),
    direct=True,
    opened=True,
    engaged=True,
    caught_up=True,
)
ASKED = Turn(7, 1, "ask", "why?", 1, "Kim", (Participant("claude"),), 1, "running")
TABLE = Turn(
    8, 1, "roundtable", "why?", 1, "Kim", (Participant("claude"), Participant("codex")), 2,
    "running", rules=TableRules(synthesizer=Participant("claude")),
)  # fmt: skip
MENU = Button("also:12", "Ask another engine", options=(("codex", "Codex"), ("b", "B" * 200)))


@pytest.mark.parametrize(
    ("turn", "step", "place", "choices", "labels"),
    [
        (ASKED, Step(0, 0), HERE, (), ["Continue", "Branch", "Context"]),
        (ASKED, Step(0, 0), ALONE, (), ["Continue", "Context"]),
        (ASKED, Step(0, 0), HERE, ("b",), ["Continue", "Branch", "Context", MENU.label]),
        (TABLE, Step(1, 0), HERE, ("b",), []),
        (TABLE, TABLE.synthesis, HERE, ("b",), ["Branch", "Context"]),
    ],
)
def test_controls_are_what_helps_there(turn, step, place, choices, labels) -> None:
    shown = Below(controls=True, choices=choices).buttons(RUN, turn, step, place)
    assert [button.label for button in shown] == labels
    assert all(len(button.action) <= 80 for button in shown)
    assert NOTHING.buttons(RUN, turn, step, place) == ()


def test_a_failure_offers_who_can_stand_in_else_who_could_be_asked() -> None:
    below = Below(controls=True, choices=("a", "b"))
    assert [b.action for b in below.instead(7, ("a", "b"))] == ["other:7:a", "other:7:b"]
    (menu,) = below.instead(7, ())
    assert (menu.action, menu.options) == ("other:7", (("a", "a"), ("b", "b")))
    (many,) = below.instead(7, tuple("abcd"))
    assert len(many.options) == 4
    assert NOTHING.instead(7, ()) == ()
    (named,) = below.instead(7, ("x" * 90, "a", "b", "c"))  # a name too long for a button's value
    assert [value for value, _ in named.options] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("seat", "usage", "seconds", "line"),
    [
        (Participant("claude"), Usage(), 3.4, "claude · 3 s"),
        (
            Participant("claude", "critic", "opus"),
            Usage(12_300, 840, 0, 0.314),
            125,
            "claude · opus · 2 min 5 s · 12,300 tokens read, 840 written · $0.31",
        ),
        (
            Participant("codex"),
            Usage(1, 0, 0, 0.001),
            0,
            "codex · 0 s · 1 tokens read, 0 written · under $0.01",
        ),
    ],
)
def test_small_print_tells_what_is_known(seat, usage, seconds, line) -> None:
    outcome = Outcome("answered", "text", usage=usage)
    assert footer(seat, outcome, seconds) == line
    told = Below(footer=True, seat=seat, seconds=seconds).small_print(outcome)
    assert line in told
    assert Below(seat=seat).small_print(outcome) == ""


def test_what_a_setting_calls_an_engine_cannot_write_markup() -> None:
    assert "<!channel>" not in footer(Participant("<!channel>*x*"), Outcome("answered"), 1)


@pytest.mark.parametrize(
    "buttons",
    [
        (),
        (Button("stop:1", "Stop", "danger"),),
        (MENU, Button("x:1", "Was", over=True)),
    ],
)
def test_buttons_are_stored_as_they_are(buttons) -> None:
    assert load_buttons(dump_buttons(buttons)) == buttons


def test_plain_buttons_are_stored_as_ever() -> None:
    assert dump_buttons((Button("go:7", "Go on", "primary"),)) == '[["go:7", "Go on", "primary"]]'


# --- in the platforms' own shapes ------------------------------------------------------------


def test_a_menu_on_slack() -> None:
    (row,) = actions([MENU])
    (menu,) = row["elements"]
    assert menu["type"] == "static_select"
    assert menu["placeholder"]["text"] == "Ask another engine"
    assert [o["value"] for o in menu["options"]] == ["also:12:codex", "also:12:b"]
    assert all(len(o["text"]["text"]) <= 75 for o in menu["options"])


def test_what_is_over_is_left_out_on_slack_and_greyed_on_discord() -> None:
    over = Button("go:7", "Go on", over=True)
    assert body("text", [over]) == {"text": "text"}
    assert len(body("text", [over, MENU])["blocks"]) == 2
    (button,) = view_of([over]).children
    assert button.disabled


def test_a_long_piece_keeps_its_buttons_on_slack() -> None:
    made = body("x" * 3_800, [MENU])
    assert made["text"] == "x" * 3_800
    shown = made.get("blocks") or [b for a in made["attachments"] for b in a["blocks"]]
    assert shown[-1]["elements"][0]["type"] == "static_select"


async def test_a_menu_and_many_buttons_on_discord() -> None:
    many = [Button(f"b:{n}", "L" * 100) for n in range(30)]
    view = view_of([MENU, *many])
    select = view.children[0]
    assert [o.value for o in select.options] == ["codex", "b"]
    assert all(len(o.label) <= 100 for o in select.options)
    assert len(view.children) == 1 + 20  # five rows, one of them the menu's
    assert all(len(child.label) <= 80 for child in view.children[1:])
    wide = Button("a:1", "Which", options=tuple((str(n), str(n)) for n in range(40)))
    assert len(view_of([wide]).children[0].options) == 25


def test_a_menu_in_the_terminals_room() -> None:
    assert [b.action for b in spread(MENU)] == ["also:12:codex", "also:12:b"]
    assert spread(Button("stop:1", "Stop")) == (Button("stop:1", "Stop"),)


@pytest.mark.parametrize("limit", [64, 2_000])
def test_small_print_is_the_platforms_own_and_keeps_within_the_limit(limit) -> None:
    text = "An answer with `code`.\n\n" * 6 + small(r"claude · a\_b · 3 s")
    pieces = discord(text, "claude", limit)
    assert pieces[-1].splitlines()[-1] == "-# claude · a_b · 3 s"
    assert all(len(piece) <= limit for piece in pieces)
    assert slack(text, "claude")[-1].splitlines()[-1] == "_claude · a_b · 3 s_"


def test_only_the_last_line_is_small_print() -> None:
    quoted = f"```\n{small('claude')}\n```\n\n-# not small\n\nend"
    assert "\n-# claude" not in discord(quoted)[-1]
    assert set_small((), "*", "-# ", "") == ()
