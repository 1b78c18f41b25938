"""Slack's table block: which table becomes one, what its cells hold, and that the text is whole."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.layout import body, note
from adapters.slack.render import MAX_BYTES, render
from adapters.slack.tables import SECTION_MAX, SEPARATOR, parted, sections, shown
from core.markup.measure import utf8_bytes
from core.model import Button
from tests.peers.slack_tables import tables_ok, words
from tests.unit.answers import answers
from tests.unit.test_render_slack import TABLES

STOP = (Button("stop:1", "Stop", "danger"),)


def table(rows, columns=2, cell="cell"):
    head = "|" + "|".join(f"h{c}" for c in range(columns)) + "|\n" + "|-" * columns + "|\n"
    return head + "".join(
        "|" + "|".join(f"{cell} {r}.{c}" for c in range(columns)) + "|\n" for r in range(rows)
    )


def blocks_of(text, buttons=()):
    return body(text, buttons).get("blocks", [])


def tables_of(text):
    return [words(block) for block in blocks_of(text) if block["type"] == "table"]


def test_c014_the_widest_table_becomes_a_block_in_its_place():
    (text,) = render(TABLES, "claude")
    before, block, after = blocks_of(text)
    assert before["text"]["text"] == "*claude*\n*비교*"
    assert block["type"] == "table"
    assert words(block) == [
        ["이름", "크기", "상태"],
        ["한글 셀", "1", "좋음"],
        ["ascii", "22", "😀"],
        ["日本語", "333", "-"],
    ]
    assert [setting["align"] for setting in block["column_settings"]] == ["left", "right", "center"]
    assert after["text"]["text"].startswith("그 다음\n```\n키")
    assert tables_ok([before, block, after])


def test_the_text_is_complete_without_the_block():
    (text,) = render(TABLES)
    sent = body(text, STOP)
    assert sent["text"] == shown(text)
    assert "한글 셀 |    1 | 좋음" in sent["text"]
    assert SEPARATOR not in json.dumps(sent, ensure_ascii=False)
    assert [block["type"] for block in sent["blocks"]][-1] == "actions"


def test_cells_keep_bold_code_and_links():
    source = (
        "|a|b|\n|-|-|\n|**x** `c|d` ~~s~~|[site](https://ex.test/?a=1&b) *i*|\n"
        "|[bank.test](https://evil.test)|[noon](moot-time:5)|\n||<!channel> & &lt;|"
    )
    (block,) = blocks_of(render(source)[0])
    elements = [
        [cell.get("text") or cell["elements"][0]["elements"] for cell in row]
        for row in block["rows"]
    ]
    assert elements == [
        [
            [{"type": "text", "text": "a", "style": {"bold": True}}],
            [{"type": "text", "text": "b", "style": {"bold": True}}],
        ],
        [
            [
                {"type": "text", "text": "x", "style": {"bold": True}},
                {"type": "text", "text": " "},
                {"type": "text", "text": "c|d", "style": {"code": True}},
                {"type": "text", "text": " "},
                {"type": "text", "text": "s", "style": {"strike": True}},
            ],
            [
                {"type": "link", "url": "https://ex.test/?a=1&b", "text": "site"},
                {"type": "text", "text": " "},
                {"type": "text", "text": "i", "style": {"italic": True}},
            ],
        ],
        [
            [
                {"type": "text", "text": "bank.test ("},
                {"type": "link", "url": "https://evil.test", "text": "https://evil.test"},
                {"type": "text", "text": ")"},
            ],
            [
                {
                    "type": "date",
                    "timestamp": 5,
                    "format": "{date_short_pretty} {time}",
                    "fallback": "noon",
                }
            ],
        ],
        [" ", "<!channel> & <"],
    ]


def test_105_rows_are_tables_in_two_messages_each_with_its_header():
    texts = render(table(105, 3, "some words in a cell"), "claude")
    assert len(texts) > 1
    found = [tables_of(text) for text in texts]
    assert all(len(tables) == 1 for tables in found)
    rows = [row for (one,) in found for row in one[1:]]
    assert rows == [[f"some words in a cell {r}.{c}" for c in range(3)] for r in range(105)]
    assert all(one[0] == ["h0", "h1", "h2"] for (one,) in found)
    assert all(
        tables_ok(blocks_of(text)) and utf8_bytes(shown(text)) <= MAX_BYTES for text in texts
    )
    assert all("h0" in shown(text) for text in texts)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (table(120, 2, "c"), "more rows than a block has"),
        (table(2, 30), "more columns"),
        ("- item\n\n  " + table(2).replace("\n", "\n  "), "within a list"),
        ("> " + table(2).replace("\n", "\n> "), "within a quote"),
        ("|a|b|\n|-|-|\n", "no row"),
        ("```\n" + table(2) + "```", "code"),
    ],
)
def test_what_does_not_fit_a_block_is_monospace(source, why):
    for text in render(source):
        assert "blocks" not in body(text, ()), why
        assert "h0" in text or "a | b" in text


def test_a_table_too_wide_for_monospace_is_a_block_all_the_same():
    wide = "many words " * 12
    (text,) = render(f"Before\n\n|Option|What it costs|\n|-|-|\n|**A**|{wide}|\n|B||\n\nAfter")
    assert shown(text).count("*Option*: ") == 2
    assert tables_of(text) == [[["Option", "What it costs"], ["A", wide.strip()], ["B", " "]]]
    before, _, after = blocks_of(text)
    assert (before["text"]["text"], after["text"]["text"]) == ("Before", "After")


def test_a_row_torn_by_a_cut_stays_text():
    texts = render(f"|a|b|\n|-|-|\n|x|{'many words ' * 600}|\n|y|z|")
    assert len(texts) > 1
    assert tables_of(texts[0]) == []
    assert sum(shown(text).count("many") for text in texts) == 600


def test_nobody_can_write_a_table_of_ours():
    forged = f'{SEPARATOR}{{"at":[0,1],"align":"l","rows":[[[["x",""]]]]}}{SEPARATOR}'
    (text,) = render(f"`a{forged}` b{forged}\n```\n{forged}\n```", forged)
    assert parted(text) is None
    assert SEPARATOR not in text


@pytest.mark.parametrize("carried", ["", "{}", "[]", "{", '{"at":[0,1],"align":"x","rows":[[]]}'])
def test_what_cannot_be_read_is_left_out(carried):
    assert body(f"text{SEPARATOR}{carried}{SEPARATOR}", ()) == {"text": "text"}


@pytest.mark.parametrize("mark", ["&#8291;", "&#x2063;", "&InvisibleComma;"])
def test_no_entity_writes_a_table(mark):
    """It would be decoded after the character itself was taken out; the words stay."""
    forged = f'words{mark}{{"at":[0,5],"align":"l","rows":[[[["x",""]]]]}}{mark}'
    (text,) = render(forged)
    assert blocks_of(text) == []
    assert text == forged.replace(mark, "")
    (text,) = render(f"|a{mark}|b|\n|-|-|\n|c{mark}d|`e`|")
    assert tables_of(text) == [[["a", "b"], ["cd", "e"]]]


def test_words_behind_a_rendered_text_change_nothing():
    (text,) = render(table(2))
    assert [block["type"] for block in blocks_of(text + "\nmore")] == ["table", "section"]


def test_private_notes_are_text():
    sent = note(render(table(2)), STOP)
    assert [block["type"] for block in sent["blocks"]] == ["section", "actions"]
    assert SEPARATOR not in json.dumps(sent, ensure_ascii=False)


def test_long_private_notes_are_cut_into_sections():
    pieces = render("word " * 3000)
    parts = note(pieces, STOP)["blocks"][:-1]
    assert all(part["text"]["text"] for part in parts)


@given(st.lists(st.text("ab` \n", max_size=30), max_size=400))
@settings(max_examples=30, deadline=None)
def test_sections_lose_nothing(parts):
    text = "\n".join([*parts, "```", *parts, "```"])
    found = sections(text)
    if found is not None:
        assert "".join("".join(found).split()) == "".join(text.split())
        assert all(0 < len(part) <= SECTION_MAX for part in found)


@settings(max_examples=40, deadline=None)
@given(answers(blocks=8), st.sampled_from([300, MAX_BYTES]))
def test_blocks_say_what_the_text_says(answer, limit):
    for text in render(answer, "claude", limit):
        blocks = blocks_of(text)
        assert tables_ok(blocks)
        for block in blocks:
            if block["type"] == "section":
                assert block["text"]["text"] in shown(text)
            else:
                for row in words(block):
                    for cell in row:
                        assert cell.strip() in shown(text).replace("&lt;", "<").replace(
                            "&amp;", "&"
                        ).replace("&gt;", ">")
