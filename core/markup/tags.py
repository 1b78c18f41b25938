"""The HTML that agents write in their Markdown: what it means is kept, the tags go.

Only tags that format or link, and only in pairs; every other ``<T>`` is text, as
``List<int>`` and "use the <div> tag" have to stay.
"""

from __future__ import annotations

import regex
from markdown_it.rules_inline import StateInline

from core.markup.links import decoded, is_web, safe_url

_TAG = regex.compile(r"<(?P<end>/?)(?P<name>[A-Za-z]{1,10}+)(?P<rest>(?:\s[^<>]{0,400}+)?)/?>")
_MARKS = {
    "b": "strong", "strong": "strong", "summary": "strong", "i": "em", "em": "em", "cite": "em",
    "s": "s", "del": "s", "strike": "s", "u": "", "ins": "", "mark": "",
    "small": "", "span": "", "font": "", "big": "", "abbr": "",
}  # fmt: skip
_CODE = frozenset(("kbd", "code", "samp", "tt", "var"))
_SMALL = {
    "sub": str.maketrans("0123456789+-=()aeoxhklmnpst", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜ"),
    "sup": str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"),
}
_SPELT = {"sub": "_", "sup": "^"}
_ATTRIBUTE = regex.compile(r"""\b(href|src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LONGEST = 2_000


def tag(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the parser's interface
    """A line break, a pair of tags around text, or a link or image in HTML."""
    if state.src[state.pos] != "<" or state.level >= state.md.options["maxNesting"] - 4:
        return False
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    name = found["name"].lower()
    if name == "details":
        return _alone(state, found, silent)
    if found["end"]:
        return False
    if name == "br":
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    if name == "img":
        return _image(state, found, silent)
    return _pair(state, found, name, silent)


def _pair(state: StateInline, found: regex.Match[str], name: str, silent: bool) -> bool:  # noqa: FBT001
    if name not in _MARKS and name not in _CODE and name not in _SMALL and name != "a":
        return False
    inside = found.end()
    closing = regex.compile(rf"</{name}\s*>", regex.IGNORECASE).search(
        state.src, inside, min(state.posMax, inside + _LONGEST)
    )
    if closing is None:
        return False
    text = state.src[inside : closing.start()]
    if name in _CODE:
        done = _code(state, text, silent)
    elif name in _SMALL:
        done = _small(state, name, text, silent)
    else:
        done = _around(state, found, name, closing.start(), silent)
    if done:
        state.pos = closing.end()
    return done


def _around(
    state: StateInline,
    found: regex.Match[str],
    name: str,
    end: int,
    silent: bool,  # noqa: FBT001
) -> bool:
    """What stands between the tags is read as Markdown."""
    kind = _MARKS.get(name, "link")
    attributes: dict[str, str | int | float] = {}
    if name == "a":
        url = _attributes(found["rest"]).get("href", "")
        if state.linkLevel or not is_web(url):
            return False
        attributes = {"href": safe_url(url)}
    if silent:
        return True
    most = state.posMax
    state.level += 1  # so that the parser's bound counts tags that leave no token too
    if kind:
        state.push(f"{kind}_open", kind, 1).attrs = attributes
    state.linkLevel += kind == "link"
    state.pos, state.posMax = found.end(), end
    state.md.inline.tokenize(state)
    state.posMax = most
    state.linkLevel -= kind == "link"
    if kind:
        state.push(f"{kind}_close", kind, -1)
    state.level -= 1
    return True


def _code(state: StateInline, text: str, silent: bool) -> bool:  # noqa: FBT001
    if not text.strip() or "\n" in text or "</" in text:
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = decoded(text)
    return True


def _small(state: StateInline, name: str, text: str, silent: bool) -> bool:  # noqa: FBT001
    """Raised and lowered text in letters of that shape where there are such, else ``x^(2k)``."""
    if not text.strip() or "<" in text:
        return False
    if not silent:
        small = decoded(text).translate(_SMALL[name])
        if any(letter in text and not letter.isspace() for letter in small):
            spelt = decoded(text)
            small = _SPELT[name] + (spelt if len(spelt) == 1 else f"({spelt})")
        state.push("text", "", 0).content = small
    return True


def _image(state: StateInline, found: regex.Match[str], silent: bool) -> bool:  # noqa: FBT001
    attributes = _attributes(found["rest"])
    url = attributes.get("src", "")
    if not is_web(url) or state.linkLevel:
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": safe_url(url)}
        state.push("text", "", 0).content = attributes.get("alt", "").strip() or url
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _alone(state: StateInline, found: regex.Match[str], silent: bool) -> bool:  # noqa: FBT001
    """``<details>`` and its end, on a line of their own or before a summary, say nothing here."""
    start = state.src.rfind("\n", 0, state.pos) + 1
    end = state.src.find("\n", found.end())
    after = state.src[found.end() : end if end >= 0 else None].strip()
    if state.src[start : state.pos].strip() or (after and not after.startswith("<summary")):
        return False
    if not silent:
        state.push("text", "", 0).content = ""
    state.pos = found.end()
    return True


def _attributes(rest: str) -> dict[str, str]:
    return {
        name.lower(): decoded(one or two or three).strip()
        for name, one, two, three in _ATTRIBUTE.findall(rest)
    }
