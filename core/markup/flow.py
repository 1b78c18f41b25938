"""From the tree to atoms: one walk for every platform, which only says how things are spelled.

A platform's spelling is a ``Dialect``. The walk knows nothing of limits, the splitter nothing of
nodes; between them are only atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import regex

from core.markup.measure import visible
from core.markup.split import Atom, Cut, Wrap
from core.markup.table import table_rows
from core.markup.tree import (
    Block,
    Bold,
    Code,
    CodeSpan,
    Heading,
    Inline,
    Italic,
    LineBreak,
    Link,
    List,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Table,
    Text,
    plain,
)

Style = Literal["bold", "italic", "strike"]
_ORDER: tuple[Style, ...] = ("bold", "italic", "strike")
_PLAIN: frozenset[Style] = frozenset()
# A word with the spaces before it; CJK sentences may also be cut after their punctuation.
_WORD = regex.compile(
    r"([ \t]*+(?![\p{M}\u200d]))?((?:[^ \t。！？；、，]|[ \t](?=[\p{M}\u200d]))*+[。！？；、，]*+)"
)
_DEEPEST_INDENT = 6


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line in one style. ``url`` belongs to a link, whose label is ``text``."""

    kind: Literal["text", "code", "link", "break"]
    text: str = ""
    styles: frozenset[Style] = _PLAIN
    url: str = ""


class Dialect(Protocol):
    """How one platform spells things. All methods are pure and give text that is ready to send."""

    marks: dict[Style, str]
    fences_in_quotes: bool

    def literal(self, text: str) -> str:
        """Escape literal text of one line; spaces stay as they are."""
        ...

    def guard(self, word: str) -> str:
        """What to put before an escaped ``word`` that would be markup at a line's start."""
        ...

    def code_span(self, text: str) -> str: ...

    def link(self, label: str, url: str) -> str:
        """A link; ``label`` is plain text."""
        ...

    def code(self, text: str) -> str:
        """Escape what stands inside a fence."""
        ...

    def fence(self, language: str) -> str:
        """The opening line of a fence, without its line end."""
        ...

    def heading(self, level: int) -> str | None:
        """What begins a heading of this level; None when it is one bold line instead."""
        ...

    def bullet(self, depth: int, number: int | None, done: bool | None) -> str: ...

    def edge(self, outside: str, *, styled: bool) -> str:
        """What must stand between a mark and its neighbour character for the mark to work."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block stands: the marks that begin its lines, and its depth in lists."""

    quote: str = ""
    indent: str = ""
    depth: int = 0

    @property
    def line(self) -> str:
        return self.quote + self.indent


def to_atoms(blocks: Sequence[Block], dialect: Dialect) -> Iterator[Atom]:
    """The atoms of ``blocks``; none when nothing visible is in them."""
    return _Walk(dialect).blocks(blocks, _Place())


class _Walk:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def blocks(self, blocks: Sequence[Block], place: _Place, gap: int = 0) -> Iterator[Atom]:
        """Blocks below each other, with ``gap`` line ends before the first."""
        last: Block | None = None
        for block in blocks:
            shown = False
            for atom in self._block(
                block, place, gap if last is None else _gap(last, block, place)
            ):
                keep = isinstance(last, Heading) and not shown  # a heading stays with its text
                yield atom._replace(cut=Cut.INNER) if keep else atom
                shown = True
            last = block if shown else last

    def _block(self, block: Block, place: _Place, gap: int) -> Iterator[Atom]:
        match block:
            case Paragraph(children):
                return self._lines(runs(children), place, gap)
            case Heading(level, children):
                return self._heading(level, runs(children), place, gap)
            case Code(language, text):
                return self._fenced(language, text.split("\n"), place, gap)
            case Table():
                return self._fenced("", table_rows(block), place, gap)
            case Quote(blocks):
                return self.blocks(blocks, _quoted(place), gap)
            case List():
                return self._list(block, place, gap)
            case Rule():
                lead = _newlines(gap, place) + place.line
                return iter((Atom("─" * 12, lead, place.line, Cut.BLOCK),))

    # --- lists ---------------------------------------------------------------------------

    def _list(self, block: List, place: _Place, gap: int) -> Iterator[Atom]:
        for at, item in enumerate(block.items):
            number = block.start + at if block.ordered else None
            mark = self._dialect.bullet(place.depth, number, item.done)
            yield from self._item(item, place, mark, gap if at == 0 else 1)

    def _item(self, item: ListItem, place: _Place, mark: str, gap: int) -> Iterator[Atom]:
        deeper = " " * len(mark) if place.depth < _DEEPEST_INDENT else ""
        inner = replace(place, indent=place.indent + deeper, depth=place.depth + 1)
        lead = _newlines(gap, place) + place.line
        first = item.blocks[0] if item.blocks else None
        atoms = self._block(first, inner, 0) if isinstance(first, Paragraph | Heading) else iter(())
        head = next(atoms, None)
        if head is None:
            yield Atom(mark.rstrip(), lead, place.line, Cut.LINE)
            yield from self.blocks(item.blocks, inner, 1)
            return
        yield head._replace(lead=lead + mark, start=place.line + mark, cut=Cut.LINE)
        yield from atoms
        yield from self.blocks(item.blocks[1:], inner, 1)

    # --- fences --------------------------------------------------------------------------

    def _fenced(
        self, language: str, lines: Sequence[str], place: _Place, gap: int
    ) -> Iterator[Atom]:
        """A block whose lines stay whole; nothing is put before them that would change code."""
        if not any(map(visible, lines)):
            return
        mark = place.quote if self._dialect.fences_in_quotes else ""
        wraps = (Wrap(f"{self._dialect.fence(language)}\n{mark}", f"\n{mark}```"),)
        lead, cut = _newlines(gap, place) + mark, Cut.BLOCK
        for line in lines:
            yield Atom(self._dialect.code(line), lead, mark, cut, wraps)
            lead, cut = "\n" + mark, Cut.LINE

    # --- lines of text -------------------------------------------------------------------

    def _heading(self, level: int, line: Sequence[Run], place: _Place, gap: int) -> Iterator[Atom]:
        """One line: as the platform's heading, or else in bold from end to end."""
        line = [replace(run, kind="text", text=" ") if run.kind == "break" else run for run in line]
        mark = self._dialect.heading(level) if place == _Place() else None
        if mark is None:
            line = [replace(run, styles=run.styles | {"bold"}) for run in line]
        return self._lines(line, place, gap, mark or "")

    def _lines(
        self, line: Sequence[Run], place: _Place, gap: int, mark: str = ""
    ) -> Iterator[Atom]:
        """Words as atoms; the first stands behind ``mark``."""
        if not any(visible(run.text) for run in line):
            return
        lead, cut = _newlines(gap, place) + place.line + mark, Cut.BLOCK
        at_start, start = True, place.line + mark
        for space, run, text, wraps in _words(
            self._grouped(line, 0, len(line), (), _PLAIN), self._dialect
        ):
            if run.kind == "break":
                lead, cut, start, at_start, mark = "\n" + place.line, Cut.LINE, place.line, True, ""
                continue
            guard = self._dialect.guard(text) if run.kind == "text" and not wraps else ""
            spare = self._spare(run)
            if at_start:
                yield Atom(text if mark else guard + text, lead, start, cut, wraps, spare)
            else:
                cut = Cut.SPACE if space else Cut.HARD
                yield Atom(text, space, place.quote + guard, cut, wraps, spare)
            at_start = False

    def _spare(self, run: Run) -> str:
        """What to send when a whole link or code span is over the limit."""
        if run.kind == "link":
            words = run.text if run.text == run.url else f"{run.text} ({run.url})"
            return self._dialect.literal(words)
        return self._dialect.code(run.text) if run.kind == "code" else ""

    def _grouped(
        self,
        line: Sequence[Run],
        low: int,
        high: int,
        wraps: tuple[Wrap, ...],
        done: frozenset[Style],
    ) -> Iterator[tuple[Run, tuple[Wrap, ...]]]:
        """Every run with the wraps of its styles; a wrap never spans a line break."""
        at, touched = low, False
        while at < high:
            run = line[at]
            style = next((s for s in _ORDER if s in run.styles - done), None)
            if run.kind == "break" or (style is None and run.kind != "code"):
                yield run, wraps
                at, touched = at + 1, False
                continue
            end = at + 1
            while style and end < high and style in line[end].styles:
                end += 1
            before = line[at - 1].text[-1:] if at > low and not touched else ""
            after = line[end].text[:1] if end < high else ""
            touched = end < high and (line[end].kind == "code" or bool(line[end].styles - done))
            mark = self._dialect.marks[style] if style else ""
            opens = self._dialect.edge(before, styled=False) + mark
            inside = (*wraps, Wrap(opens, mark + self._dialect.edge(after, styled=touched)))
            if style is None:
                yield run, inside
            else:
                yield from self._grouped(line, at, end, inside, done | {style})
            at = end


def runs(inlines: Sequence[Inline], styles: frozenset[Style] = _PLAIN) -> list[Run]:
    """The line as flat runs. A link keeps a plain label; bold in all of it goes around the link."""
    found: list[Run] = []
    for node in inlines:
        match node:
            case Text(text):
                found.append(Run("text", text, styles))
            case CodeSpan(text):
                found.append(Run("code", text, styles))
            case LineBreak():
                found.append(Run("break"))
            case Link(url, children):
                inner = [run.styles for run in runs(children, styles) if run.kind != "break"]
                common = frozenset[Style].intersection(*inner) if inner else styles
                found.append(Run("link", plain(children).strip() or url, common, url))
            case Bold(children):
                found += runs(children, styles | {"bold"})
            case Italic(children):
                found += runs(children, styles | {"italic"})
            case Strike(children):
                found += runs(children, styles | {"strike"})
    return found


def _words(
    grouped: Iterator[tuple[Run, tuple[Wrap, ...]]], dialect: Dialect
) -> Iterator[tuple[str, Run, str, tuple[Wrap, ...]]]:
    """Each escaped word with the space before it; code and links are one word each."""
    space = ""
    for run, wraps in grouped:
        match run.kind:
            case "text":
                for found in _WORD.finditer(dialect.literal(run.text)):
                    space += found[1] or ""
                    if found[2]:
                        yield space, run, found[2], wraps
                        space = ""
                continue
            case "code":
                text = dialect.code_span(run.text)
            case "link":
                text = dialect.link(run.text, run.url)
            case "break":
                text = ""
        yield space, run, text, wraps
        space = ""


def _gap(last: Block, block: Block, place: _Place) -> int:
    """Line ends between two blocks: 2 leaves an empty line."""
    if place.depth or isinstance(last, Heading) or isinstance(block, Code | Table):
        return 1
    if isinstance(last, Code | Table) or (isinstance(last, Paragraph) and isinstance(block, List)):
        return 1
    return 2


def _newlines(count: int, place: _Place) -> str:
    return "\n".join([""] + [place.quote.rstrip()] * (count - 1)) + "\n" if count else ""


def _quoted(place: _Place) -> _Place:
    """A quote inside a place. Chats know one level; deeper ones show a bar of their own."""
    deeper = place.quote + "▏ " if place.quote else "> "
    return replace(place, quote=deeper[:12], indent=place.indent if place.quote else "")
