"""Code too long to be read in a chat becomes a file; its beginning stays. Pure.

Only whole blocks of code are set aside: fenced ones anywhere, indented ones that stand in no list
and no quote. All other text stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import regex
from markdown_it.token import Token
from pygments.lexers import get_all_lexers

from core.markup.dialect import make_parser
from core.markup.measure import graphemes, well_formed
from core.tongue import say_many

PREVIEW_LINES = 12
PREVIEW_CHARS = 1_200
_LINE_CHARS = 240
_LONGEST_NAME = 60
_LONGEST_PATH = 400
_END = regex.compile(r"\r\n?|\n")
_PATH = regex.compile(r"[\w.@+~/\\-]*[\w@+-][\w@+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w./\\])")
_SHOWN_PATH = regex.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_ASSIGNED = regex.compile(r"""(?:title|file|filename|path|name)\s*[=:]\s*["']?([^"'\s}]+)""")
_DIFF_STARTS = regex.compile(r"(?:diff --git |Index: |--- \S.*\n\+\+\+ )")
_DIFF_TARGET = regex.compile(r"^\+\+\+ (?:[biwc]/)?([^\t\r\n]+)", regex.MULTILINE)
_NOT_IN_NAMES = regex.compile(r"[^\w.@+-]+")
# What agents call languages, where Pygments says nothing or something else than people expect.
_ENDINGS = {
    "": "txt", "c++": "cpp", "console": "txt", "diff": "diff", "dockerfile": "dockerfile",
    "env": "env", "jsonc": "json", "jsonl": "jsonl", "log": "log", "logs": "log", "make": "mk",
    "makefile": "mk", "mermaid": "mmd", "output": "txt", "patch": "diff", "plain": "txt",
    "plaintext": "txt", "shell": "sh", "svg": "svg", "terminal": "txt", "text": "txt",
    "tsx": "tsx", "txt": "txt", "udiff": "diff", "vue": "vue", "zsh": "sh",
}  # fmt: skip
_STEMS = {"diff": "changes", "log": "output", "txt": "output"}


@dataclass(frozen=True, slots=True)
class Aside:
    """What became a file.

    ``name`` is a bare file name, unique in its answer; ``text`` is valid Unicode, its lines ended.
    """

    name: str
    text: str


def set_aside(markdown: str, over_lines: int, over_chars: int) -> tuple[str, tuple[Aside, ...]]:
    """``markdown`` with its overlong code shortened, and the files that hold all of it, in order.

    Code of more than ``over_lines`` lines or ``over_chars`` characters (0: whatever the number) is
    replaced by its first lines in the same fence, and a line below that says how long it is and
    which file has it. A file is called as the path in the fence's info string or right above it
    says, else after its language.
    """
    if not _worth_parsing(markdown, over_lines, over_chars):
        return markdown, ()
    lines = _lines(markdown)
    kept: list[str] = []
    asides: list[Aside] = []
    taken: set[str] = set()
    at = 0
    for token in _blocks_of_code(markdown):
        text = token.content
        count = text.count("\n")
        if not (0 < over_lines < count or 0 < over_chars < len(text)):
            continue
        start, end = token.map or (0, 0)
        name = _unique(_name(token, _line_above(lines, start)), taken)
        asides.append(Aside(name, well_formed(text)))
        kept += lines[at:start]
        kept += _preview(token, lines, over_lines or PREVIEW_LINES, _note(count, len(text), name))
        at = end
    return "".join([*kept, *lines[at:]]), tuple(asides)


def _worth_parsing(markdown: str, over_lines: int, over_chars: int) -> bool:
    return (0 < over_chars < len(markdown)) or (
        0 < over_lines < markdown.count("\n") + markdown.count("\r")
    )


def _lines(markdown: str) -> list[str]:
    """The lines as the parser counts them, each with its line end."""
    found: list[str] = []
    at = 0
    for end in _END.finditer(markdown):
        found.append(markdown[at : end.end()])
        at = end.end()
    return [*found, markdown[at:]] if at < len(markdown) else found


def _blocks_of_code(markdown: str) -> Iterator[Token]:
    parser = make_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    for token in parser.parse(markdown):
        if token.map and (
            (token.type == "fence" and token.markup[0] in "`~")
            or (token.type == "code_block" and token.level == 0)
        ):
            yield token


def _note(lines: int, characters: int, name: str) -> str:
    if lines < 2:
        return say_many(
            "… {count} character in all, as a file: `{name}`",
            "… {count} characters in all, as a file: `{name}`",
            characters,
            name=name,
        )
    return say_many(
        "… {count} line in all, as a file: `{name}`",
        "… {count} lines in all, as a file: `{name}`",
        lines,
        name=name,
    )


def _preview(token: Token, lines: list[str], most: int, note: str) -> list[str]:
    """The beginning of the code as it was written, its fence closed, and the note."""
    start, end = token.map or (0, 0)
    fenced = token.type == "fence"
    opening = lines[start]
    line_end = opening[len(opening.rstrip("\r\n")) :] or "\n"
    mark = opening.index(token.markup) if fenced else 0
    # The marks of the quotes and lists around: a list's bullet stands on its first line only.
    around = regex.sub(r"[^\s>]", " ", opening[:mark])
    shown: list[str] = [opening] if fenced else []
    room = PREVIEW_CHARS
    first = start + fenced
    for line in lines[first : first + min(PREVIEW_LINES, most, token.content.count("\n"))]:
        bare = line.rstrip("\r\n")
        if room <= 0:
            break
        if len(bare) > (allowed := min(_LINE_CHARS, room)):
            bare = "".join(graphemes(bare[: 2 * allowed])[:allowed]) + "…"
        room -= len(bare)
        shown.append(bare + line_end)
    if fenced:
        shown.append(around + token.markup + line_end)
    else:
        shown.append(line_end)
    shown.append(around + note + line_end)
    if end < len(lines) and lines[end].strip():
        shown.append(around.rstrip() + line_end)  # what follows is no part of the note
    return shown


def _line_above(lines: list[str], start: int) -> str:
    """The last line before ``start`` that is not empty; at most one empty line lies between."""
    for line in reversed(lines[max(start - 2, 0) : start]):
        if line.strip(" \t\r\n>"):
            return line.strip()
    return ""


def _name(token: Token, above: str) -> str:
    """A bare file name; its ending is one that says what is in the file."""
    info = token.info.strip() if token.type == "fence" else ""
    language = info.split(maxsplit=1)[0].strip("{}").lstrip(".") if info else ""
    if not language and _DIFF_STARTS.match(token.content):
        language = "diff"
    ending = _ending(language.partition(":")[0].casefold())
    path = _told(info, language) or _shown(above)
    if ending == "diff":
        path = path or _patched(token.content)
    stem, _, given = _base(path).rpartition(".")
    if not stem:
        return f"{_STEMS.get(ending, 'code')}.{ending}"
    if ending == "diff" and given.casefold() not in ("diff", "patch"):
        return f"{stem}.{given}.diff"
    return f"{stem}.{given}" if given.casefold() in _known_endings() else f"{stem}.{given}.{ending}"


def _told(info: str, language: str) -> str:
    """A path in the info string, as in ``py title="a/b.py"``, ``py:a/b.py`` and ``py a/b.py``."""
    assigned = _ASSIGNED.search(info)
    if assigned is not None and _is_path(assigned[1]):
        return assigned[1]
    words = [language.partition(":")[2], *info.split()]
    return next((word for word in words if _is_path(word)), "")


def _shown(line: str) -> str:
    """A path in a line that introduces code: marked as code or in bold, or alone on it."""
    marked = [one or other for one, other in _SHOWN_PATH.findall(line)]
    alone = line.strip("#>*_-: \t")
    for words in (*reversed(marked), alone):
        if _is_path(words := words.strip().rstrip(":")):
            return words
    return ""


def _is_path(text: str) -> bool:
    return len(text) <= _LONGEST_PATH and _PATH.fullmatch(text) is not None


def _patched(diff: str) -> str:
    """The one file that a diff changes."""
    targets = set(_DIFF_TARGET.findall(diff))
    return targets.pop() if len(targets) == 1 else ""


def _base(path: str) -> str:
    """The last part of ``path`` as a name that any system takes, shortened before its ending."""
    base = _NOT_IN_NAMES.sub("-", well_formed(path).replace("\\", "/").rpartition("/")[2])
    stem, _, ending = base.strip(".-").rpartition(".")
    stem = "".join(graphemes(stem)[:_LONGEST_NAME]).rstrip(".-")
    return f"{stem}.{ending[:_LONGEST_NAME]}" if stem else ""


def _unique(name: str, taken: set[str]) -> str:
    stem, _, ending = name.partition(".")
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}.{ending}"
    taken.add(name.casefold())
    return name


def _ending(language: str) -> str:
    if language in _ENDINGS:
        return _ENDINGS[language]
    return _pygments().get(language) or ("txt" if language not in _known_endings() else language)


@cache
def _known_endings() -> frozenset[str]:
    """Endings of files of text."""
    return frozenset(
        {*_ENDINGS.values(), *_pygments().values(), "patch", "md", "csv", "tsv", "cfg", "conf"}
        | {"yml", "htm", "mjs", "cjs", "hpp", "h", "cc", "lock", "mod", "sum", "ipynb"}
    )


@cache
def _pygments() -> dict[str, str]:
    """Each language that Pygments knows by name -> the ending of its files."""
    known: dict[str, str] = {}
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        endings = [
            pattern[2:]
            for pattern in patterns
            if pattern.startswith("*.") and pattern[2:].isalnum()
        ]
        for alias in aliases:
            if endings:
                known.setdefault(alias.casefold(), endings[0].casefold())
    return known
