"""The grammar of ``!resume`` and ``!continue``, and how their answers are put."""

import pytest

from bridge.commands import Names, parse, typed_command
from bridge.terminal_commands import Continue, Resume
from bridge.terminals import fenced
from core.errors import BadInput
from core.markup.parse import parse as parse_markdown
from core.markup.tree import Code
from core.words import ago

NAMES = Names(frozenset({"claude", "codex"}))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("!resume", Resume()),
        ("!resume  ", Resume()),
        ("!Resume!", Resume()),
        ("!continue", Continue()),
        ("!continue claude", Continue("claude")),
        ("!continue CLAUDE", Continue("claude")),
        ("!continue 2", Continue("", 2)),
        ("!continue claude 2", Continue("claude", 2)),
        ("!continue 5 codex", Continue("codex", 5)),
        ("!continue 7", Continue("", 7)),  # whether there is one, the list says
    ],
)
def test_what_is_meant(text, meant):
    command, rest = typed_command(text)
    assert parse(command, rest, NAMES) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("!continue please", "!continue 0", "!continue -1", "!continue 1 2"),
        *("!continue claude codex", "!continue ²", "!continue ٣", "!continue " + "9" * 5_000),
        *("!continue claude; rm -rf /", "!resume claude", "!resume the work"),
    ],
)
def test_what_is_not_meant_is_told(text):
    with pytest.raises(BadInput, match="without the `!`"):
        parse(*typed_command(text), NAMES)


@pytest.mark.parametrize(
    "text", ["continue", "resume", "please !continue", "!continued", "!resumes"]
)
def test_words_of_a_question_stay_words(text):
    command = typed_command(text)
    assert command is None or command[0] not in ("resume", "continue")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (7_200, "2 hours ago"),
        (86_400 * 3.5, "3 days ago"),
        (86_400 * 59, "59 days ago"),
        (86_400 * 60, "2 months ago"),
        (86_400 * 800, "2 years ago"),
    ],
)
def test_how_long_ago(seconds, told):
    assert ago(1_000_000 - seconds, 1_000_000) == told


@pytest.mark.parametrize(
    "line", ["cd /x && claude", "cd '/a```b' && c", "cd '/a\n```\nb'", "`", "~~~"]
)
def test_a_line_stays_in_its_block(line):
    [block] = parse_markdown(fenced(line))
    assert isinstance(block, Code)
    assert block.text.rstrip("\n") == line
