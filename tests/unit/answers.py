"""Answers as agents write them, made up by Hypothesis, to test renderers with.

Every word of a made-up answer carries its own number (``w17z``), so a test can tell that all words
arrive, once and in order, whatever stands between them.
"""

import re

from hypothesis import strategies as st

ZERO_WIDTH = "\u200b"
TAILS = [
    "",
    "를",
    "は",
    "的",
    "😀",
    "👨‍👩‍👧‍👦",
    "🇰🇷",
    "한글",
    "é",
    "&",
    "<b>",
    "(x)",
    "]",
    "|",
    "_a_b",
    ".",
    "。",
    "\\",
]


def words(text):
    return re.findall(r"w\d+z", text)


def without_repeated_headers(texts):
    """``texts`` without the headers that a table begins with in each message it goes on in."""
    seen, kept = set(), []
    for text in texts:
        first = re.search(r"```\n([^\n]*)\n(-+(?:-\+-+)*)\n", text)
        again = first is not None and first.groups() in seen and "```" not in text[: first.start()]
        seen.update(re.findall(r"(?<=```\n)([^\n]*)\n(-+(?:-\+-+)*)(?=\n)", text))
        kept.append(text[: first.start(1)] + text[first.end() :] if again else text)
    return kept


@st.composite
def answers(draw, blocks=12):
    """Markdown; its words are numbered from 1 in reading order."""
    count = 0

    def word():
        nonlocal count
        count += 1
        return f"w{count}z" + draw(st.sampled_from(TAILS))

    def phrase(most=8):
        return " ".join(word() for _ in range(draw(st.integers(1, most))))

    def inline():
        kind = draw(st.sampled_from(["plain", "plain", "bold", "italic", "strike", "code", "link"]))
        match kind:
            case "bold":
                return f"**{phrase()}**"
            case "italic":
                return f"*{phrase()}*"
            case "strike":
                return f"~~{phrase()}~~"
            case "code":
                return "`" + phrase().replace("\\", "") + "`"
            case "link":
                return f"[{word()}](https://ex.test/{draw(st.integers(0, 9))}?a=1&b=2)"
        return phrase(30)

    def line():
        return draw(st.sampled_from([" ", " ", "", "\n"])).join(
            inline() for _ in range(draw(st.integers(1, 5)))
        )

    def block():
        kind = draw(
            st.sampled_from(["text", "text", "heading", "list", "quote", "code", "long", "table"])
        )
        match kind:
            case "heading":
                return "#" * draw(st.integers(1, 6)) + " " + phrase()
            case "list":
                return "\n".join(
                    draw(st.sampled_from(["", "  "])) + f"- {phrase(40)}"
                    for _ in range(draw(st.integers(1, 6)))
                )
            case "quote":
                return "\n".join(f"> {phrase(20)}" for _ in range(draw(st.integers(1, 4))))
            case "code":
                lines = [
                    " " * draw(st.integers(0, 8)) + phrase(20)
                    for _ in range(draw(st.integers(1, 12)))
                ]
                return "```py\n" + "\n".join(lines) + "\n```"
            case "long":
                return word() + draw(st.sampled_from(["A", "😀", "가", "&"])) * 300
            case "table":
                rows = []
                for _ in range(draw(st.integers(2, 6))):
                    cells = [word().replace("|", "").replace("\\", "") for _ in range(2)]
                    rows.append("|" + "|".join(cells) + "|")
                return "\n".join([rows[0], "|-|-:|", *rows[1:]])
        return line()

    return "\n\n".join(block() for _ in range(draw(st.integers(1, blocks))))
