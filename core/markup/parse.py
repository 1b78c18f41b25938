"""Markdown to the tree. Pure; never raises for what the text holds."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token

from core.markup.dialect import make_parser
from core.markup.links import is_web, moment
from core.markup.measure import well_formed
from core.markup.tree import (
    Align,
    Block,
    Bold,
    Cell,
    Code,
    CodeSpan,
    Heading,
    Inline,
    Italic,
    LineBreak,
    Link,
    List,
    ListItem,
    Moment,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Table,
    Text,
    plain,
)

_LONGEST_LANGUAGE = 30
_TASKS = frozenset(("[ ] ", "[x] ", "[X] "))
_ALERTS = frozenset(("[!NOTE]", "[!TIP]", "[!IMPORTANT]", "[!WARNING]", "[!CAUTION]"))
_ALIGN: dict[str, Align] = {"left": "left", "center": "center", "right": "right"}
# Entities such as &#10; mean line ends that no rule of Markdown has seen.
_LINE_ENDS = str.maketrans("\r\n", "  ")
_PARSER = make_parser()


def parse(markdown: str) -> tuple[Block, ...]:
    """The blocks of ``markdown``, in order. Lone surrogates become U+FFFD."""
    text = well_formed(markdown)
    try:
        return _Reader(_PARSER.parse(text)).blocks()
    except RecursionError:
        # Brackets nested by the hundred: no markup is worth losing the text for.
        lines = [line for line in text.split("\n") if line.strip()]
        return tuple(Paragraph((Text(line.strip()),)) for line in lines)


class _Reader:
    """Walks the parser's flat list of opening and closing tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def blocks(self, until: str = "") -> tuple[Block, ...]:
        """Blocks up to the closing token ``until``, which is taken too."""
        found: list[Block] = []
        while (token := self._next()) is not None and token.type != until:
            block = self._block(token)
            if block is not None:
                found.append(block)
        return tuple(found)

    def _next(self) -> Token | None:
        if self._at >= len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _block(self, token: Token) -> Block | None:
        match token.type:
            case "inline":
                return Paragraph(inlines(token.children or ()))
            case "paragraph_open":
                return self._one_paragraph()
            case "heading_open":
                return Heading(int(token.tag[1:]), self._one_paragraph().children)
            case "fence" | "code_block":
                return _code(token)
            case "blockquote_open":
                return Quote(_alert(self.blocks("blockquote_close")))
            case "bullet_list_open":
                return List(self._items("bullet_list_close"))
            case "ordered_list_open":
                start = int(token.attrs.get("start", 1))
                return List(self._items("ordered_list_close"), ordered=True, start=start)
            case "table_open":
                return self._table()
            case "hr":
                return Rule()
            case _:
                return None

    def _one_paragraph(self) -> Paragraph:
        token = self._next()
        self._next()  # its closing token
        return Paragraph(inlines(token.children or ()) if token is not None else ())

    def _items(self, until: str) -> tuple[ListItem, ...]:
        items: list[ListItem] = []
        while (token := self._next()) is not None and token.type != until:
            items.append(_task(self.blocks("list_item_close")))
        return tuple(items)

    def _table(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        align: list[Align] = []
        row: list[Cell] = []
        while (token := self._next()) is not None and token.type != "table_close":
            match token.type:
                case "tr_open":
                    row = []
                case "tr_close":
                    rows.append(tuple(row))
                case "th_open":
                    style = str(token.attrs.get("style", ""))
                    align.append(_ALIGN.get(style.removeprefix("text-align:"), ""))
                case "inline":
                    row.append(inlines(token.children or ()))
                case _:
                    pass
        return Table(header=rows[0], rows=tuple(rows[1:]), align=tuple(align))


def _code(token: Token) -> Code:
    language = token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""
    if len(language) > _LONGEST_LANGUAGE:
        language = ""
    return Code(language, token.content.removesuffix("\n"))


def _alert(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """A quote that begins with ``[!NOTE]`` or the like, as code hosts show it: with its title."""
    if blocks and isinstance(blocks[0], Paragraph) and blocks[0].children:
        head, *rest = blocks[0].children
        if isinstance(head, Text) and head.text.strip().upper() in _ALERTS:
            title = Bold((Text(head.text.strip()[2:-1].capitalize()),))
            return (Paragraph((title, *rest)), *blocks[1:])
    return blocks


def _task(blocks: tuple[Block, ...]) -> ListItem:
    """An item that begins with ``[ ]`` or ``[x]`` is a task."""
    if blocks and isinstance(blocks[0], Paragraph) and blocks[0].children:
        head, *rest = blocks[0].children
        mark = head.text[:4] if isinstance(head, Text) else ""
        if isinstance(head, Text) and (mark in _TASKS or (mark + " " in _TASKS and not rest)):
            first = Paragraph((Text(head.text[4:]), *rest))
            return ListItem((first, *blocks[1:]), done=head.text[1] != " ")
    return ListItem(blocks)


def inlines(tokens: Sequence[Token]) -> tuple[Inline, ...]:
    """The inline nodes of a line's tokens; adjacent literal text is joined."""
    stack: list[list[Inline]] = [[]]
    opened: list[Token] = []
    for token in tokens:
        if token.nesting > 0:
            opened.append(token)
            stack.append([])
        elif token.nesting < 0:
            children = tuple(stack.pop())
            for node in _styled(opened.pop(), children):
                _append(stack[-1], node)
        else:
            for node in _leaf(token):
                _append(stack[-1], node)
    return tuple(stack[0])


def _append(nodes: list[Inline], node: Inline) -> None:
    if isinstance(node, Text):
        if not node.text:
            return
        if nodes and isinstance(nodes[-1], Text):
            nodes[-1] = Text(nodes[-1].text + node.text)
            return
    nodes.append(node)


def _styled(token: Token, children: tuple[Inline, ...]) -> tuple[Inline, ...]:
    match token.type:
        case "strong_open":
            return (Bold(children),)
        case "em_open":
            return (Italic(children),)
        case "s_open":
            return (Strike(children),)
        case "link_open":
            return _link(str(token.attrs.get("href", "")), children)
        case _:
            return children


def _leaf(token: Token) -> tuple[Inline, ...]:
    match token.type:
        case "code_inline":
            return (CodeSpan(token.content.translate(_LINE_ENDS)),)
        case "softbreak" | "hardbreak":
            return (LineBreak(),)
        case "image":
            url = str(token.attrs.get("src", ""))
            label = inlines(token.children or ()) or (Text(url),)
            return _link(url, label)
        case _:
            return (Text(token.content.translate(_LINE_ENDS)),)


def _link(url: str, children: tuple[Inline, ...]) -> tuple[Inline, ...]:
    """A link, or its words and target where a chat could not link there (``docs/a.md``)."""
    if is_web(url):
        return (Link(url, children or (Text(url),)),)
    if (at := moment(url)) is not None:
        return (Moment(at, plain(children).strip() or f"@{at}"),)
    shown = children or (Text(url),)
    if not url or url.startswith("#") or shown == (Text(url),):
        return shown
    return (*shown, Text(f" ({url})"))
