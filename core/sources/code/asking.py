"""Does a prompt ask about code? Decided by evidence in it, in any language; not by its length.

One piece of strong evidence is enough: a fenced block, an identifier or a call, a file's path, a
line of a stack trace, a word that is hardly said of anything else ("refactor", 컴파일). Words that
are used of other things too ("class", "test", 코드) count when two different ones come together.
"""

from __future__ import annotations

import re

from core.sources.code.vocabulary import BRANDS, SOURCE_SUFFIXES, STRONG, WEAK

MAX_PROMPT_CHARS = 60_000

_URL = re.compile(r"(?:https?://|www\.)\S+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_BLOB = re.compile(r"https?://\S+?/(?:blob|blame|raw|src)/\S+\.\w+", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_TICKED = re.compile(r"(?<!`)`([^`\n]{2,120})`(?!`)")
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.:]*(?:\(\))?")
_MENTION = re.compile(r"(?<![\w`])[@#][\w.-]+|:[a-z0-9_+-]+:")  # @somebody, #channel, :emoji:

_PATH = re.compile(
    r"(?<![\w.@/-])(?:(?:~|\.{1,2})?/)?(?:[\w.@-]+/)*[\w@-][\w.@-]*\.(?P<suffix>[A-Za-z]{1,8})"
    r"(?::\d+(?::\d+|-\d+)?)?(?![\w/-]|\.\w)",
    re.ASCII,  # a particle may stick to it: pay.py를
)
_LIBRARY = re.compile(r"(?:[A-Za-z]\w{1,14}|d3|three)\.(?:js|ts)", re.IGNORECASE)
_BARE_FILES = re.compile(
    r"\b(?:Dockerfile|Makefile|Gemfile|Rakefile|Jenkinsfile|Vagrantfile|CMakeLists\.txt|"
    r"docker-compose|\.gitignore|\.env\.example)\b",
    re.ASCII,
)

_CAMEL = re.compile(r"(?<![\w@#/.-])[a-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b", re.ASCII)
_PASCAL = re.compile(r"(?<![\w@#/-])(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*\b", re.ASCII)
_KINDS = (
    "Service|Controller|Handler|Manager|Factory|Error|Exception|Repository|Client|Provider|"
    "Component|View|Model|Builder|Adapter|Helper|Utils?|Parser|Mapper|Store|Queue|Worker|Config|"
    "Test|Spec|Interface|Impl|Middleware|Listener|Router|Schema|Request|Response|Context|Hook"
)
_PASCAL_KIND = re.compile(rf"(?<![\w@#])[A-Z][A-Za-z0-9]+(?:{_KINDS})\b", re.ASCII)
_SNAKE = re.compile(
    r"(?<![\w@#:])_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}\b(?!:)", re.ASCII
)
_CALL = re.compile(
    r"(?<![\w@])[A-Za-z_][\w.]*[A-Za-z0-9_]\((?:\)|[^()\n]*[=,\"'][^()\n]*\))", re.ASCII
)
_MEMBER = re.compile(
    r"\b(?:self|this|cls|super|os|np|pd|console|window|document)\.[a-z_]\w+", re.ASCII
)
_DOTTED = re.compile(r"(?<![\w@./-])[a-z_]\w+(?:\.[a-z_]\w+){2,}(?![\w./-])", re.ASCII)
_SCOPED = re.compile(r"\b[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+", re.ASCII)
_OPERATORS = re.compile(
    r"\w\)? ?(?:=>|!==|===) ?[\w(\"']|\b(?:if|while|for) ?\([^()\n]*[=<>&|!;][^()\n]*\)", re.ASCII
)

_STATEMENT = re.compile(
    r"(?<!\w)(?:SELECT [^\n]{1,300} FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|"
    r"ALTER TABLE)(?!\w)|(?<![^\s(\"'])/[a-z][\w-]*(?:/[\w{}:.-]+)+",  # SQL; a route: /api/users
    re.ASCII,
)

_TRACE = re.compile(
    r"""Traceback\ \(most\ recent\ call\ last\)
    | ^\s*File\ "[^"\n]+",\ line\ \d+                           # Python
    | ^\s*at\ (?:async\ )?[\w$.<>\[\]\ ]+\ ?\([^()\n]*:\d+(?::\d+)?\)   # JavaScript, Java, Kotlin
    | ^\s*at\ \S+:\d+:\d+\s*$                                   # JavaScript without a name
    | ^\s*at\ [\w.<>`]+\(.*\)\ in\ \S.*:line\ \d+               # C#
    | ^goroutine\ \d+\ \[                                       # Go
    | ^\s+\S+\.go:\d+(?:\ \+0x[0-9a-f]+)?\s*$
    | thread\ '[^'\n]*'(?:\ \(\d+\))?\ panicked\ at             # Rust
    | ^\#\d+\ +(?:0x[0-9a-f]+\ in\ |\S+\(\d+\):\ )              # C, C++, PHP
    | ^\s*(?:from\ )?\S+\.rb:\d+:in\ [`']                       # Ruby
    | ^(?:Exception\ in\ thread|Caused\ by:|Unhandled\ exception|Fatal\ error:|panic:)\ ?
    | (?:segmentation\ fault|core\ dumped|undefined\ reference\ to)""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


def asks_about_code(prompt: str) -> bool:
    """Whether there is evidence in ``prompt`` that it is about code."""
    text = prompt[:MAX_PROMPT_CHARS]
    if _FENCE.search(text) or _TRACE.search(text) or _BLOB.search(text):
        return True
    text = _URL.sub(" ", text)
    if any(_is_code(inner) for inner in _TICKED.findall(text)):
        return True
    text = _MENTION.sub(" ", text)
    return bool(paths(text)) or bool(identifiers(text)) or _speaks_of_code(text)


def paths(text: str) -> tuple[str, ...]:
    """The paths of source files that ``text`` names, each once, without line numbers."""
    found = [m.group() for m in _PATH.finditer(text) if _is_source(m)]
    found += _BARE_FILES.findall(text)
    return tuple(dict.fromkeys(re.sub(r":\d[\d:-]*$", "", path) for path in found))


def names(text: str) -> tuple[str, ...]:
    """What ``text`` calls by name, each once: identifiers, and plain names in backticks."""
    ticked = (inner for inner in _TICKED.findall(text) if _PLAIN_NAME.fullmatch(inner))
    return tuple(dict.fromkeys((*ticked, *identifiers(text))))


def identifiers(text: str) -> tuple[str, ...]:
    """Names of things in code that ``text`` holds outside any markup, each once, in order."""
    found: list[tuple[int, str]] = []
    patterns = (
        _CAMEL,
        _PASCAL_KIND,
        _SNAKE,
        _CALL,
        _MEMBER,
        _DOTTED,
        _SCOPED,
        _OPERATORS,
        _STATEMENT,
    )
    for pattern in patterns:
        found += ((m.start(), m.group()) for m in pattern.finditer(text))
    found += ((m.start(), m.group()) for m in _PASCAL.finditer(text) if _humps(m.group()) >= 3)
    known = (name for _, name in sorted(found) if name.lower().rstrip("s") not in BRANDS)
    return tuple(dict.fromkeys(known))


def _humps(name: str) -> int:
    return len(re.findall(r"[A-Z]+[a-z0-9]+", name))


def _is_source(match: re.Match[str]) -> bool:
    path, suffix = match.group(), match["suffix"]
    if suffix not in SOURCE_SUFFIXES:
        return False
    if "/" in path:
        return True
    stem = path.rpartition(".")[0]
    if _LIBRARY.fullmatch(path) and path.partition(".")[0].lower() in BRANDS:
        return False
    return len(stem) > 1 and path.lower() not in BRANDS


def _is_code(inner: str) -> bool:
    """Whether what stands between backticks looks like code, and not like a word for stress."""
    return bool(re.search(r"[A-Za-z]{2}", inner)) and bool(
        re.search(r"[_./():=<>\[\]{}$-]|[a-z][A-Z]", inner) or re.fullmatch(r"[A-Za-z]\w+", inner)
    )


def _speaks_of_code(text: str) -> bool:
    lowered = " ".join(text.lower().split())
    if STRONG.search(lowered):
        return True
    groups = {match.lastgroup for match in WEAK.finditer(lowered)}
    return len(groups) >= 2
