"""LaTeX in an answer: shown as code, as it was written, for no chat renders it.

In code no half of ``$a_1*b$`` can turn italic, nothing is escaped, and it can be copied.
"""

from __future__ import annotations

import regex
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# $x_i$, $$…$$, \(…\), \[…\]; with something in it that prose has not.
_INLINE = regex.compile(
    r"\$\$(?P<inside>[^$]{1,2000}+)\$\$"
    r"|(?<![A-Za-z0-9$])\$(?=\S)(?P<inside>[^$\n`]{1,300}+)(?<=\S)\$(?![A-Za-z0-9_${])"
    r"|\\\((?P<inside>(?:(?!\\[()])[^\n]){1,300}+)\\\)"
    r"|\\\[(?P<inside>(?:(?!\\[\[\]])[\s\S]){1,2000}+)\\\](?!\()"
)
_MATHEMATICAL = frozenset("\\^_{}=*")
_OPENING = regex.compile(r"\$\$$|\\\[$|\\begin\{([A-Za-z]+\*?)\}")
_MOST_LINES = 60


def formula(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the parser's interface
    """A formula within a line, or a short one over several."""
    if state.src[state.pos] not in "$\\":
        return False
    found = _INLINE.match(state.src, state.pos, state.posMax)
    if found is None or _MATHEMATICAL.isdisjoint(found["inside"]):
        return False
    if not silent:
        lines = [line.strip() for line in found.group().split("\n")]
        for number, line in enumerate(filter(None, lines)):
            if number:
                state.push("softbreak", "br", 0)
            state.push("code_inline", "code", 0).content = line
    state.pos = found.end()
    return True


def formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    r"""Lines from ``$$``, ``\\[`` or ``\\begin{…}`` to what closes them: a fence in LaTeX."""
    if state.is_code_block(start):
        return False
    opening = _OPENING.match(_line(state, start))
    if opening is None:
        return False
    name = opening[1]
    closing = f"\\end{{{name}}}" if name else {"$$": "$$", "\\[": "\\]"}[opening.group()]
    last = start if name and _line(state, start).endswith(closing) else start + 1
    while not _line(state, last).endswith(closing) if last < end else False:
        last += 1
        if last - start > _MOST_LINES or (last < end and state.sCount[last] < state.blkIndent):
            return False
    if last >= end:
        return False
    if not silent:
        token = state.push("fence", "code", 0)
        token.info, token.markup = "latex", "$$"
        token.content = state.getLines(start, last + 1, state.blkIndent, True)  # noqa: FBT003
        token.map = [start, last + 1]
    state.line = last + 1
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
