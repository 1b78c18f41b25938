"""From the tree to atoms: one walk for every platform, which only says how things are spelled.

A platform's spelling is a ``Dialect``. The walk knows nothing of limits, the splitter nothing of
nodes; between them are only atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import regex

from core.markup.measure import graphemes, visible, width
from core.markup.runs import BOLD, PLAIN, STYLES, Run, Style, outermost, runs
from core.markup.split import Atom, Cut, Whole, Wrap
from core.markup.table import as_list, table_rows
from core.markup.tree import (
    Block,
    Code,
    Heading,
    List,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Table,
)

_CJK_STOPS = "。！？；、，"
# A word with the spaces before it; CJK sentences may also be cut after their punctuation.
_WORD = regex.compile(
    r"([ \t]*+(?![\p{M}\u200d]))?((?:[^ \t。！？；、，]|[ \t](?=[\p{M}\u200d]))*+[。！？；、，]*+)"
)
_SPACE = regex.compile(r"[ \t]++(?![\p{M}\u200d])")
_BREAK = regex.compile(rf"[ \t{_CJK_STOPS}]")
_DEEPEST_INDENT = 6
_LONGEST_QUOTE = 8
# Columns that a chat shows without wrapping; wider tables are lists.
_WIDEST_TABLE = 110
_LONGEST_HEADER = 300  # with the line below it, that a table has again in another message


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

    def code_span(self, text: str) -> str:
        """Inline code, from its unescaped text."""
        ...

    def link(self, label: str, url: str) -> str:
        """A link; ``label`` is plain text."""
        ...

    def moment(self, at: int, text: str) -> str:
        """A point in time in the reader's zone; ``text`` is for who cannot show that."""
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

    def bullet(self, depth: int, number: int | None, *, done: bool | None) -> str:
        """What begins a list item; ``done`` is None unless it is a task."""
        ...

    def edge(self, outside: str) -> str:
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

    def blocks(self, blocks: Sequence[Block], place: _Place, lead: str = "") -> Iterator[Atom]:
        """Blocks below each other; ``lead`` ends the line before the first."""
        last: Block | None = None
        for block in blocks:
            shown = False
            between = lead if last is None else _between(last, block, place)
            for atom in self._block(block, place, between):
                keep = isinstance(last, Heading) and not shown  # a heading stays with its text
                yield atom._replace(cut=Cut.INNER) if keep else atom
                shown = True
            last = block if shown else last

    def _block(self, block: Block, place: _Place, lead: str) -> Iterator[Atom]:
        match block:
            case Paragraph(children):
                return self._lines(runs(children), place, lead)
            case Heading(level, children):
                return self._heading(level, runs(children), place, lead)
            case Code(language, text):
                return self._fenced(language, text.split("\n"), place, lead)
            case Table():
                return self._table(block, place, lead)
            case Quote(blocks):
                return self.blocks(blocks, _quoted(place), lead)
            case List():
                return self._list(block, place, lead)
            case Rule():
                return iter((Atom("─" * 12, lead + place.line, place.line, Cut.BLOCK),))

    # --- lists ---------------------------------------------------------------------------

    def _list(self, block: List, place: _Place, lead: str) -> Iterator[Atom]:
        for at, item in enumerate(block.items):
            number = block.start + at if block.ordered else None
            yield from self._item(item, number, place, lead if at == 0 else "\n")

    def _item(self, item: ListItem, number: int | None, place: _Place, lead: str) -> Iterator[Atom]:
        mark = self._dialect.bullet(place.depth, number, done=item.done)
        plain = self._dialect.bullet(place.depth, number, done=None)
        deeper = " " * len(plain) if place.depth < _DEEPEST_INDENT else ""
        inner = replace(place, indent=place.indent + deeper, depth=place.depth + 1)
        first = item.blocks[0] if item.blocks else None
        atoms = (
            self._block(first, inner, "") if isinstance(first, Paragraph | Heading) else iter(())
        )
        head = next(atoms, None)
        if head is None:
            yield Atom(mark.rstrip(), lead + place.line, place.line, Cut.LINE)
            yield from self.blocks(item.blocks, inner, "\n")
            return
        start = place.line + mark
        yield head._replace(lead=lead + start, start=start, cut=Cut.LINE)
        yield from atoms
        yield from self.blocks(item.blocks[1:], inner, "\n")

    # --- fences --------------------------------------------------------------------------

    def _fenced(
        self, language: str, lines: Sequence[str], place: _Place, lead: str, again: str = ""
    ) -> Iterator[Atom]:
        """A block whose lines stay whole; nothing is put before them that would change code.

        ``again`` are lines that it begins with where it goes on in another message.
        """
        if not any(map(visible, lines)):
            return
        mark = place.quote[:2] if self._dialect.fences_in_quotes else ""  # no bar in code
        opening = f"{self._dialect.fence(language)}\n{mark}"
        wraps = (Wrap(opening, f"\n{mark}```", opening + again),)
        cut, lead = Cut.BLOCK, lead + mark
        for line in lines:
            yield Atom(self._dialect.code(line), lead, mark, cut, wraps)
            cut, lead = Cut.LINE, "\n" + mark

    def _table(self, table: Table, place: _Place, lead: str) -> Iterator[Atom]:
        """Rows in a fence that begins with the header in every message; too wide ones as a list.

        The atoms of a table that stands by itself know which row they are: 0 is the header.
        """
        rows = table_rows(table)
        if max(map(width, rows)) <= _WIDEST_TABLE:
            atoms = self._rows(rows, place, lead)
        else:
            items = as_list(table).items
            atoms = (
                (number, atom)
                for number, item in enumerate(items, 1)
                for atom in self._item(item, None, place, lead if number == 1 else "\n")
            )
        whole = Whole(table)
        alone = place == _Place()
        return (atom._replace(part=(whole, row)) if alone else atom for row, atom in atoms)

    def _rows(self, rows: Sequence[str], place: _Place, lead: str) -> Iterator[tuple[int, Atom]]:
        header, across = map(self._dialect.code, rows[:2])
        mark = place.quote[:2] if self._dialect.fences_in_quotes else ""  # no bar in code
        again = f"{header}\n{mark}{across}\n{mark}"
        if len(again) > _LONGEST_HEADER:
            again = ""
        atoms = self._fenced("", rows, place, lead, again)
        cuts = {1: Cut.NEVER, 2: Cut.INNER}  # the header is no end of a message
        for line, atom in enumerate(atoms):
            yield max(line - 1, 0), atom._replace(cut=cuts.get(line, atom.cut))

    # --- lines of text -------------------------------------------------------------------

    def _heading(self, level: int, line: Sequence[Run], place: _Place, lead: str) -> Iterator[Atom]:
        """One line: as the platform's heading, or else in bold from end to end."""
        line = [replace(run, kind="text", text=" ") if run.kind == "break" else run for run in line]
        mark = self._dialect.heading(level) if place == _Place() else None
        if mark is None:
            line = [replace(run, styles=run.styles | BOLD) for run in line]
        return self._lines(line, place, lead, mark or "")

    def _lines(
        self, line: Sequence[Run], place: _Place, lead: str, mark: str = ""
    ) -> Iterator[Atom]:
        """Code, links and the phrases between them as atoms; the first stands behind ``mark``."""
        if not any(visible(run.text) for run in line):
            return
        lead, cut, last = lead + place.line + mark, Cut.BLOCK, ""
        for space, run, text, wraps in self._phrases(self._styled(line, 0, len(line), (), PLAIN)):
            if run.kind == "break":
                if not last:
                    continue
                lead, cut, last, mark = "\n" + place.line, Cut.LINE, "", ""
                continue
            guard = self._guard(text, wraps) if run.kind == "text" else ""
            spare = self._spare(run)
            sent, words = guard + text if not last and not mark else text, None
            if run.kind == "text" and _BREAK.search(text) is not None:
                words = partial(self._words, sent, place.quote, wraps)
            if not last:
                yield Atom(sent, lead, place.line + mark, cut, wraps, spare, None, words)
            else:
                start, cut = place.quote + guard, _cut(last, space, text)
                yield Atom(text, space, start, cut, wraps, spare, None, words)
            last = text

    def _words(self, phrase: str, quote: str, wraps: tuple[Wrap, ...]) -> Iterator[Atom]:
        """The words of an escaped phrase, each with the space before it."""
        space, last = "", ""
        for found in _WORD.finditer(phrase):
            space += found[1] or ""
            if text := found[2]:
                cut = _cut(last, space, text) if last else Cut.SPACE
                yield Atom(text, space, quote + self._guard(text, wraps), cut, wraps)
                space, last = "", text

    def _guard(self, text: str, wraps: tuple[Wrap, ...]) -> str:
        """What to put before ``text`` where its first word would be markup at a line's start."""
        return "" if wraps else self._dialect.guard(text.partition(" ")[0].partition("\t")[0])

    def _phrases(
        self, styled: Iterator[tuple[Run, tuple[Wrap, ...]]]
    ) -> Iterator[tuple[str, Run, str, tuple[Wrap, ...]]]:
        """Each escaped stretch of text, code and link, with the space before it."""
        space = ""
        for run, wraps in styled:
            match run.kind:
                case "text":
                    literal = self._dialect.literal(run.text)
                    text = literal.rstrip(" \t")
                    begins = len(found.group()) if (found := _SPACE.match(text)) else 0
                    if text[begins:]:
                        yield space + text[:begins], run, text[begins:], wraps
                        space = ""
                    space += literal[len(text) :]
                    continue
                case "code":
                    text = self._dialect.code_span(run.text)
                case "link":
                    text = self._dialect.link(run.text, run.url)
                case "moment":
                    text = self._dialect.moment(run.at, run.text)
                case "break":
                    text = ""
            yield space, run, text, wraps
            space = ""

    def _spare(self, run: Run) -> str:
        """What to send when a whole link or code span is over the limit."""
        if run.kind == "link":
            words = run.text if run.text == run.url else f"{run.text} ({run.url})"
            return self._dialect.literal(words)
        return self._dialect.literal(run.text) if run.kind in ("moment", "code") else ""

    def _styled(
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
            style = outermost(run.styles - done)
            if run.kind == "break" or (style is None and run.kind != "code"):
                yield run, wraps
                at, touched = at + 1, False
                continue
            end = at + 1
            while style and end < high and style in line[end].styles:
                end += 1
            before = line[at - 1].text[-1:] if at > low and not touched else ""
            after = self._neighbour(line[end], done) if end < high else ""
            touched = end < high and after != line[end].text[:1]
            mark = self._dialect.marks[style] if style else ""
            edge = self._dialect.edge
            inside = (*wraps, Wrap(edge(before) + mark, mark + edge(after)))
            if style is None:
                yield run, inside
            else:
                yield from self._styled(line, at, end, inside, done | STYLES[style])
            at = end

    def _neighbour(self, run: Run, done: frozenset[Style]) -> str:
        """The character that a run begins with as it is sent, marks included."""
        if run.kind == "code":
            return "`"
        style = outermost(run.styles - done)
        return self._dialect.marks[style][0] if style is not None else run.text[:1]


def _cut(last: str, space: str, text: str) -> Cut:
    """How welcome a cut between two words of a line is."""
    if space or last[-1] in _CJK_STOPS:
        return Cut.SPACE
    joined = len(graphemes(last[-1] + text[0])) == 1
    return Cut.NEVER if joined else Cut.HARD


def _between(last: Block, block: Block, place: _Place) -> str:
    """What separates two blocks: line ends, and an empty line where a chat would show one."""
    compact = (
        place.depth > 0
        or isinstance(last, Heading | Code | Table)
        or isinstance(block, Code | Table)
        or (isinstance(last, Paragraph) and isinstance(block, List))
        or (place.quote and isinstance(block, Quote))
    )
    return "\n" if compact else f"\n{place.quote.rstrip()}\n"


def _quoted(place: _Place) -> _Place:
    """A quote inside a place. Chats know one level; deeper ones show a bar of their own."""
    deeper = place.quote + "▏ " if place.quote else "> "
    return replace(place, quote=deeper[:_LONGEST_QUOTE], indent=place.indent if place.quote else "")
