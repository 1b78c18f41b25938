"""The grammar people type: a table of values."""

import re
import time
from contextlib import suppress

import pytest

from bridge.commands import (
    NOBODY,
    Ask,
    Context,
    Convene,
    Help,
    Mode,
    Names,
    Status,
    Stop,
    parse,
    parse_participant,
    platform_command,
    typed_command,
)
from core.errors import BadInput
from core.model import Participant

NAMES = Names(
    frozenset({"claude", "codex", "rehearsal"}),
    frozenset({"architect", "critic", "검토자"}),
    frozenset({"review", "debate"}),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("!stop", ("stop", "")),
        ("!STOP  ", ("stop", "")),
        ("!rt tabs or spaces?", ("roundtable", "tabs or spaces?")),
        ("!ask\nwhy?", ("ask", "why?")),
        ("roundtable: tabs or spaces?", ("roundtable", "tabs or spaces?")),
        ("Roundtable : 탭?", ("roundtable", "탭?")),
        ("rt:x", ("roundtable", "x")),
        ("!important: do not stop", None),
        ("!rt: tabs?", ("roundtable", "tabs?")),
        ("!stop!", ("stop", "")),
        ("!Next.", ("next", "")),
        ("!stop.now", None),
        ("!important!", None),
        ("!stopwatch", None),
        ("!stpo", ("misspelt", "stpo")),
        ("!roundtabel SQL or files?", ("misspelt", "roundtabel")),
        ("please !stop", None),
        ("what does a roundtable: do", None),
        ("", None),
    ],
)
def test_typed_command(text, found):
    assert typed_command(text) == found


@pytest.mark.parametrize(
    ("name", "text", "meant", "rest"),
    [
        ("roundtable", "x", "roundtable", "x"),
        ("moot", "ask  two  words", "ask", "two  words"),
        ("moot", "rt\ntopic\nmore", "roundtable", "topic\nmore"),
        ("moot", "roundtable x", "roundtable", "x"),
        ("moot", "Status", "status", ""),
        ("moot", "context 3", "context", "3"),
        ("moot", "help", "help", ""),
        ("moot", "", "help", ""),
        ("moot", "stpo", "misspelt", "stpo"),
        ("moot", "what for a friend", "unknown", "what for a friend"),
        ("other", "x", "help", "x"),
    ],
)
def test_platform_commands(name, text, meant, rest):
    assert platform_command(name, text) == (meant, rest)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("frobnicate it", "There is no command “frobnicate”."),
        ("alow 7", "There is no `!alow`; did you mean `!allow`?"),
        ("<!channel> x", "There is no command"),
    ],
)
def test_a_platform_command_that_does_not_exist_is_told(text, told):
    with pytest.raises(BadInput, match=re.escape(told)) as refused:
        parse(*platform_command("moot", text), NAMES)
    assert "<!channel>" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        ("why?", Ask("why?")),
        ("why? --engine codex", Ask("why?", engine="codex")),
        ("--engine=codex why?", Ask("why?", engine="codex")),
        ("why? —engine codex", Ask("why?", engine="codex")),  # a phone's dash
        ("--as critic --engine claude why?", Ask("why?", engine="claude", persona="critic")),
        ("왜? --as 검토자", Ask("왜?", persona="검토자")),
        ("why? --model o9 --mode full", Ask("why?", model="o9", mode="full")),
        ("why? --budget 40k", Ask("why?", budget_chars=40_000)),
        ("why? --budget 12,500", Ask("why?", budget_chars=12_500)),
        # What is not ours, or stands inside the text, is the person's own.
        ("explain git push --force", Ask("explain git push --force")),
        ("explain git log --since yesterday", Ask("explain git log --since yesterday")),
        ("--no-verify does what?", Ask("--no-verify does what?")),
        ("what is `--engines 3`", Ask("what is `--engines 3`")),
        (
            "what does --engine codex do in this script?",
            Ask("what does --engine codex do in this script?"),
        ),
        ("line one\n\n  line two", Ask("line one\n\n  line two")),
        ("- [ ] do this", Ask("- [ ] do this")),
        ("---\ntitle: x\n---\nfix it", Ask("---\ntitle: x\n---\nfix it")),
    ],
)
def test_ask(text, ask):
    assert parse("ask", text, NAMES) == ask


@pytest.mark.parametrize(
    ("text", "convene"),
    [
        ("topic", Convene("topic")),
        (
            "topic --with architect:claude,critic=codex/o9 --rounds 3",
            Convene(
                "topic",
                (Participant("claude", "architect"), Participant("codex", "critic", "o9")),
                3,
            ),
        ),
        (
            "topic --with codex,critic",
            Convene("topic", (Participant("codex"), Participant("", "critic"))),
        ),
        (
            "topic --with architect, critic:codex ,  claude --rounds 2",
            Convene(
                "topic",
                (
                    Participant("", "architect"),
                    Participant("codex", "critic"),
                    Participant("claude"),
                ),
                2,
            ),
        ),
        (
            'topic --with "architect, critic"',
            Convene("topic", (Participant("", "architect"), Participant("", "critic"))),
        ),
        ("topic --mode parallel", Convene("topic", order="parallel")),
        ("--mode Blind topic --mode full", Convene("topic", mode="full", order="blind")),
        (
            "topic --preset Review --budget 90k",
            Convene("topic", preset="review", budget_chars=90_000),
        ),
        (
            "topic --synth critic:codex --early-stop off",
            Convene("topic", synthesizer=Participant("codex", "critic"), early_stop=False),
        ),
        ("topic --synth none", Convene("topic", synthesizer=NOBODY)),
    ],
)
def test_convene(text, convene):
    assert parse("roundtable", text, NAMES) == convene


def test_the_others():
    assert parse("stop", "", NAMES) == Stop()
    assert parse("status", "", NAMES) == Status()
    assert parse("context", " ab12 ", NAMES) == Context("ab12")
    assert parse("help", "", NAMES) == Help()
    assert [parse("mode", text, NAMES) for text in ("", "FULL", "auto")] == [
        Mode(None),
        Mode("full"),
        Mode(""),
    ]


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("ask", "   ", "What would you like to ask?"),
        (
            "ask",
            "x --engine nope",
            "There is no engine “nope”. There are: claude, codex, rehearsal",
        ),
        ("ask", "x --as nobody", "There is no persona “nobody”"),
        ("ask", "x --mode huge", "`--mode` is one of"),
        ("ask", "x --rounds 2", "belongs to a roundtable"),
        ("ask", "x --enigne codex", "no option `--enigne`; did you mean `--engine`?"),
        ("ask", "x --enigne codex --mode full", "did you mean `--engine`?"),
        ("ask", "--persona critic x", "did you mean `--as`?"),
        ("roundtable", "x --participants claude,codex", "did you mean `--with`?"),
        ("ask", "why? --engine", "`--engine` needs a value"),
        ("roundtable", "--with ", "`--with` needs a value"),
        ("misspelt", "stpo", "There is no `!stpo`; did you mean `!stop`?"),
        ("roundtable", "", "What is the roundtable about?"),
        ("roundtable", "x --rounds 6", "1 to 5 rounds"),
        ("roundtable", "x --rounds 0", "1 to 5 rounds"),
        ("roundtable", "x --rounds two", "1 to 5 rounds"),
        ("roundtable", "x --with " + ",".join(["claude"] * 9), "2 to 8 participants; you named 9"),
        ("roundtable", "x --with claude", "2 to 8 participants; you named 1"),
        ("roundtable", "x --with architect:nope,critic", "no engine"),
        ("roundtable", "x --mode paralel", "for a roundtable also blind, parallel, sequential"),
        ("roundtable", "x --preset reveiw", "did you mean `review`?"),
        ("roundtable", "x --early-stop maybe", "on or off"),
        ("roundtable", "x --synth nobody", "There is no persona “nobody”"),
        ("roundtable", "x --as critic", "`--as` belongs to `!ask`"),
        ("roundtable", "x --budget lots", "number of characters"),
        ("ask", "x --budget 100", "at least 4,000"),
        ("ask", "x --mode blind", "`--mode blind` belongs to a roundtable"),
        ("ask", "x --preset review", "`--preset …` belongs to a roundtable"),
        ("mode", "blind", "`!rt topic --mode blind`"),
    ],
)
def test_bad_input_says_what_would_work(command, text, says):
    with pytest.raises(BadInput) as caught:
        parse(command, text, NAMES)
    assert says in str(caught.value)


def test_an_engines_name_alone_is_an_engine():
    assert parse_participant("codex", NAMES) == Participant("codex")
    assert parse_participant("@Critic:Codex", NAMES) == Participant("codex", "critic")


@pytest.mark.parametrize("name", ["--yolo", "-c", "--dangerously-skip-permissions", "a;b"])
def test_a_model_that_an_engine_would_take_for_an_option_is_refused(name):
    """K9: the name goes into argv; gemini and opencode read `-m --yolo` as two options."""
    for command, text in (
        ("ask", f"x --model {name}"),
        ("ask", f"--model={name} x"),
        ("roundtable", f"x --with critic:codex/{name},claude"),
    ):
        with pytest.raises(BadInput):
            parse(command, text, NAMES)


@pytest.mark.parametrize("name", ["o9", "anthropic/claude-x", "llama3.1:8b", "sonnet[1m]", "a@b+c"])
def test_names_that_models_have(name):
    assert parse("ask", f"x --model {name}", NAMES).model == name


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b", " \u200b\u2060\ufeff ", "\u202e --mode full"]
)
def test_a_question_that_cannot_be_seen_is_none(text):
    for command in ("ask", "roundtable"):
        with pytest.raises(BadInput, match="What"):
            parse(command, text, NAMES)


def test_a_text_made_of_options_costs_little():
    began = time.monotonic()
    with suppress(BadInput):  # what it means matters little
        parse("ask", "why?" + " --as critic" * 5_000, NAMES)
    with pytest.raises(BadInput, match="1 to 5 rounds"):
        parse("roundtable", "x --rounds " + "9" * 5_000, NAMES)
    assert time.monotonic() - began < 2
