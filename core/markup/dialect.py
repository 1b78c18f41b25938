"""The Markdown that agents write: CommonMark, tables and strikes, bent where real text needs it.

Bent in some places, each a rule of the parser and none a search over the text, so that code is
never touched: bold and strikes beside letters, ``__init__``, bare addresses, Slack's own links,
rows of tables with too many cells, and link definitions that are really text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline, autolink, emphasis, strikethrough

from core.markup.formulas import formula, formula_block
from core.markup.links import decoded, may_link, safe_url
from core.markup.rows import whole_rows
from core.markup.tags import tag

# Deeper than this the markers are text; the parser would drop what is in there.
DEEPEST = 28

_CJK = regex.compile(
    r"[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303f\uff00-\uffef]"
)
_DUNDER = regex.compile(r"(?<![\w])__[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__(?![\w])")
_ANGLED = regex.compile(r"<((?:https?://|mailto:)[^\s<>|]+)(?:\|([^<>\n]+))?>", regex.IGNORECASE)
# An address ends where a letter of another script follows an ASCII letter or digit (a Korean
# particle), but a path such as /wiki/한국 is taken whole.
_ADDRESS = regex.compile(
    r"://(?:(?!&(?:lt|gt|quot|apos|nbsp|#\w+);)(?:(?<=[/=\-_%?#&.])[^\x00-\x7f\s\p{P}]+|[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%\-])){1,2048}"
)
_SCHEME = regex.compile(r"(?:^|[^A-Za-z0-9.+-])(https?)$", regex.IGNORECASE)
# Bold that was closed inside the link it surrounds, or opened inside and closed after it.
_CROSSED = regex.compile(
    r"(?P<mark>\*\*?)(?:<(?P<url>(?:https?://|mailto:)[^\s<>|*]+)(?:\|(?P<label>[^<>*\n]+))?(?P=mark)>"
    r"|\[(?P<label>[^\[\]*\n]+)\]\((?P<url>https?://[^\s()*]+)(?P=mark)\))"
    r"|\[(?P<mark>\*\*?)(?P<label>[^\[\]*\n]+)\]\((?P<url>https?://[^\s()*]+)\)(?P=mark)"
)
_DEFINITION = regex.compile(r"\s*\[([^\[\]]+)\]:\s*<?(?:https?://|mailto:)")
_USE = regex.compile(r"\[([^\[\]\n]+)\](?!:)")
_Rule = Callable[[StateInline, bool], bool]
_TRAILING = ".,;:!?'\"*_~"
_NEAR = 120


def make_parser() -> MarkdownIt:
    """A parser of this dialect; it holds no state between texts."""
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST + 4})
    md.enable(["table", "strikethrough"])
    md.block.ruler.at("table", whole_rows, {"alt": ["paragraph", "reference"]})
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("reference", _reference)
    md.inline.ruler.at("emphasis", _emphasis)
    md.inline.ruler.at("strikethrough", _strikethrough)
    md.inline.ruler.before("emphasis", "dunder", _dunder)
    md.inline.ruler.before("dunder", "crossed", _crossed)
    md.inline.ruler.before("autolink", "angled", _angled)
    md.inline.ruler.before("escape", "address", _address)
    md.inline.ruler.before("escape", "formula", formula)
    md.inline.ruler.before("angled", "tag", tag)
    md.inline.ruler.at("autolink", _autolink)
    md.block.ruler.before(
        "fence", "formula", formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    md.inline.add_terminator_char("$")
    md.normalizeLink = safe_url  # type: ignore[method-assign]
    md.normalizeLinkText = lambda url: url  # type: ignore[method-assign]
    md.validateLink = may_link  # type: ignore[method-assign]
    return md


# --- emphasis beside letters ---------------------------------------------------------------


def _emphasis(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the parser's interface
    return _loosened(state, silent, emphasis.tokenize)


def _strikethrough(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    return _loosened(state, silent, strikethrough.tokenize)


def _loosened(state: StateInline, silent: bool, rule: _Rule) -> bool:  # noqa: FBT001
    """Run the parser's own rule, then let its delimiters open or close beside letters too.

    CommonMark closes nothing that ends in a bracket when a letter follows, which is every second
    bold word in Korean, where a particle follows without a space.
    """
    start, before = state.pos, len(state.delimiters)
    if not rule(state, silent):
        return False
    if _is_glob(state.src, start, state.pos) or _is_sum(state.src, start, state.pos):
        del state.delimiters[before:]  # their text stays
        return True
    opens, closes = _flanks(state.src, start, state.pos)
    for delimiter in state.delimiters[before:]:
        delimiter.open |= opens
        delimiter.close |= closes
    return True


def _is_glob(src: str, start: int, end: int) -> bool:
    """Asterisks of file names: ``*.py``, ``src/*``, ``**/*.py``, ``a/**/b``; not ``**src/**``."""
    if src[start] != "*":
        return False
    last, following = src[start - 1 : start], src[end : end + 2]
    if end - start == 1:
        named = following[:1] == "." and following[1:].isalnum()
        return named or last == "/" or following[:1] == "/"
    return following[:1] == "/" and (last == "/" or following[1:] == "*")


def _is_sum(src: str, start: int, end: int) -> bool:
    """Asterisks that multiply: ``2*3``, ``2**10``, ``a*b + c*d``; ``pre*fix*ed`` is no sum."""
    last, following = src[start - 1 : start], src[end : end + 1]
    if src[start] != "*" or not (last + following).isascii():
        return False
    if last.isdigit() and following.isdigit():
        return True
    if end - start > 1 or not (last.isalnum() and following.isalnum()):
        return False
    return not any(_joined(src, start, end, forward=way) for way in (True, False))


def _flanks(src: str, start: int, end: int) -> tuple[bool, bool]:
    """Whether the run ``src[start:end]`` may open and close, beyond what CommonMark allows."""
    last = src[start - 1] if start else " "
    following = src[end] if end < len(src) else " "
    if last.isspace() or following.isspace():
        return False, False
    if src[start] == "_":  # underscores inside names stay; only _강조_는 is certain
        return False, _is_cjk(last) and _is_cjk(following)
    loose = end - start > 1  # k*(a+b)*c is a product
    opens = _is_punctuation(following) and (
        _is_cjk(last)
        or (loose and _is_opening(following) and _joined(src, start, end, forward=True))
    )
    closes = _is_punctuation(last) and (
        _is_cjk(following)
        or (loose and _is_closing(last) and _joined(src, start, end, forward=False))
    )
    return opens, closes


def _joined(src: str, start: int, end: int, *, forward: bool) -> bool:
    """Whether the other marker is one unbroken word away, or CJK letters stand by the bracket.

    ``f(x)**2 + g(x)**3`` has a space between and stays arithmetic.
    """
    marker = src[start:end]
    if forward:
        other = src.find(marker, end, end + _NEAR)
        between = src[end:other] if other > 0 else " "
        letter = next((ch for ch in src[end : end + 4] if not _is_punctuation(ch)), " ")
    else:
        other = src.rfind(marker, max(start - _NEAR, 0), start)
        between = src[other + len(marker) : start] if other >= 0 else " "
        letter = next(
            (ch for ch in src[max(start - 4, 0) : start][::-1] if not _is_punctuation(ch)), " "
        )
    return _is_cjk(letter) or not any(ch.isspace() for ch in between)


def _is_cjk(ch: str) -> bool:
    return _CJK.match(ch) is not None


def _is_punctuation(ch: str) -> bool:
    return unicodedata.category(ch)[0] in "PS"


def _is_opening(ch: str) -> bool:
    return ch in "\"'" or unicodedata.category(ch) in ("Ps", "Pi")


def _is_closing(ch: str) -> bool:
    return ch in "\"'" or unicodedata.category(ch) in ("Pe", "Pf")


# --- words that are not markup, and links that are -------------------------------------------


def _dunder(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """``__init__`` is a name, not bold."""
    found = _DUNDER.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.append_pending(found.group())
    state.pos = found.end()
    return True


def _push_link(state: StateInline, url: str, label: str) -> None:
    """A link from raw text; entities in it are decoded as they are elsewhere in a text."""
    state.push("link_open", "a", 1).attrs = {"href": safe_url(decoded(url))}
    state.push("text", "", 0).content = decoded(label)
    state.push("link_close", "a", -1)


def _crossed(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """``**<https://x**>``, ``**[x](https://x**)`` and ``[**x](https://x)**``: a bold link."""
    if state.src[state.pos] not in "*[" or state.linkLevel > 0:
        return False
    found = _CROSSED.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        kind = "strong" if len(found["mark"]) > 1 else "em"
        state.push(f"{kind}_open", kind, 1)
        _push_link(state, found["url"], found["label"] or found["url"])
        state.push(f"{kind}_close", kind, -1)
    state.pos = found.end()
    return True


def _angled(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """``<https://x>``, and Slack's ``<https://x|label>``, which agents copy from what they read."""
    found = _ANGLED.match(state.src, state.pos, state.posMax)
    if found is None or state.linkLevel > 0:
        return False
    if not silent:
        url = found[1]
        _push_link(state, url, found[2] or url)
    state.pos = found.end()
    return True


def _autolink(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Mail addresses between angles; ``<!subteam^S1|@x>`` looks like one and is none."""
    if state.src[state.pos + 1 : state.pos + 2] in ("!", "@", "#", "/"):
        return False
    return autolink(state, silent)


def _address(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """A bare web address, so that nothing in it is taken for emphasis and no cut lands in it."""
    if state.src[state.pos] != ":" or state.linkLevel > 0:
        return False
    if not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.src[max(state.pos - 6, 0) : state.pos])
    if scheme is None or not state.pending.endswith(scheme[1]):
        return False
    found = _ADDRESS.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    rest = _trimmed(found.group())
    if len(rest) <= len("://"):
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme[1])]
        _push_link(state, scheme[1] + rest, scheme[1] + rest)
    state.pos += len(rest)
    return True


def _trimmed(address: str) -> str:
    """Without the punctuation that ends the sentence, and without a bracket opened before it."""
    depth = 0
    for at, ch in enumerate(address):
        depth += (ch in "([") - (ch in ")]")
        if depth < 0:
            address = address[:at]
            break
    return address.rstrip(_TRAILING)


# --- blocks --------------------------------------------------------------------------------


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """A link definition is taken out only when it defines a web link that the text uses.

    Else a line such as ``[WARN]: disk`` would vanish.
    """
    found = _DEFINITION.match(state.src, state.bMarks[start], state.eMarks[start])
    if found is None:
        return False
    if "moot_uses" not in state.env:
        state.env["moot_uses"] = {use.casefold() for use in _USE.findall(state.src)}
    if found[1].casefold() not in state.env["moot_uses"]:
        return False
    return reference(state, start, end, silent)


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Keep what is nested beyond reason as text, instead of dropping it."""
    if state.level < DEEPEST or silent:
        return False
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content = state.getLines(start, end, state.blkIndent, False).strip()  # noqa: FBT003
    token.map, token.children = [start, end], []
    state.push("paragraph_close", "p", -1)
    state.line = end
    return True
