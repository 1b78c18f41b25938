"""Cutting a file into pieces that can stand alone: by its syntax where a grammar is there.

The grammars are wheels of their own, nothing is fetched at run time (docs/decisions/0040). What has
none is cut at headings (Markdown) or at lines that begin a block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import cast

from tree_sitter import Language, Node, Parser

from core.sources.code.vocabulary import listed

MAX_LINES = 60
SMALL_LINES = 30  # a definition up to this size stays whole, with all it holds

# Suffix -> module and function of its grammar.
_GRAMMARS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("py", "pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys(("ts", "mts", "cts"), ("tree_sitter_typescript", "language_typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    **dict.fromkeys(("kt", "kts"), ("tree_sitter_kotlin", "language")),
    **dict.fromkeys(("c", "h"), ("tree_sitter_c", "language")),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), ("tree_sitter_cpp", "language")),
    "cs": ("tree_sitter_c_sharp", "language"),
    "rb": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "swift": ("tree_sitter_swift", "language"),
}

# Nodes that define something, by the names that the grammars give them.
_LEAVES = listed(
    "function_definition function_declaration function_item method_definition method_declaration "
    "generator_function_declaration constructor_declaration init_declaration secondary_constructor "
    "method singleton_method macro_definition type_declaration type_alias_declaration type_item "
    "function_signature local_function_statement"
)
_HOLDERS = listed(
    "class_definition class_declaration abstract_class_declaration interface_declaration "
    "enum_declaration record_declaration struct_declaration object_declaration class module "
    "struct_item enum_item trait_item impl_item mod_item union_item class_specifier "
    "struct_specifier enum_specifier namespace_definition namespace_declaration internal_module "
    "protocol_declaration trait_declaration extension_declaration "
    "file_scoped_namespace_declaration"
)
# Nodes that only stand around definitions.
_WRAPPERS = listed(
    "export_statement decorated_definition template_declaration linkage_specification "
    "preproc_ifdef preproc_if preproc_else expression_statement declaration_list class_body block "
    "body_statement field_declaration_list interface_body enum_body enum_class_body "
    "enum_body_declarations statement_block protocol_body declaration program "
    "ambient_declaration"
)
_ABOVE = re.compile(r"\s*(?:#(?!include|define|if|endif)|//|/\*|\*|@|--|\[[A-Z])")
_NAME = re.compile(r"[^\W\d][\w$?!]*(?:[.:]+[\w$]+)*")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file: lines ``first`` to ``last`` (from 1), and what it defines ("" = rest)."""

    first: int
    last: int
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class _Defined:
    """A definition: rows from 0, the last one included; ``inner`` are those within."""

    first: int
    last: int
    symbol: str
    inner: tuple[_Defined, ...]


def cut(path: str, lines: Sequence[str]) -> list[Chunk]:
    """The pieces of a file, in order; together they hold every line that is not blank."""
    suffix = PurePosixPath(path).suffix[1:].lower()
    if suffix in ("md", "mdx", "rst"):
        found = _by_starts(lines, _headings(lines))
    elif suffix in _GRAMMARS:
        found = list(_by_syntax(lines, _definitions(suffix, lines)))
    else:
        found = _by_starts(lines, {})
    return [chunk for chunk in found if any(map(str.strip, lines[chunk.first - 1 : chunk.last]))]


# --- with a grammar ----------------------------------------------------------------------


@cache
def _language(suffix: str) -> Language:
    module, function = _GRAMMARS[suffix]
    return Language(cast(object, getattr(import_module(module), function)()))


def _definitions(suffix: str, lines: Sequence[str]) -> tuple[_Defined, ...]:
    source = "\n".join(lines).encode("utf-8", "replace")
    root = Parser(_language(suffix)).parse(source).root_node
    return tuple(_within(root, "", lines, 0))


def _within(node: Node, prefix: str, lines: Sequence[str], depth: int) -> Iterator[_Defined]:
    for child in node.named_children:
        holder = child.type in _HOLDERS
        if holder or child.type in _LEAVES or _is_named_function(child):
            name = _name_of(child)
            symbol = ".".join(part for part in (prefix, name) if part)
            inner = tuple(_within(child, symbol, lines, depth + 1)) if holder and depth < 8 else ()
            first = _with_what_stands_above(child, lines)
            if name:
                yield _Defined(first, child.end_point[0], symbol, inner)
            else:  # `namespace {`, `class << self`: what is within counts
                yield from inner
        elif child.type in _WRAPPERS and depth < 8:
            yield from _within(child, prefix, lines, depth + 1)


def _is_named_function(node: Node) -> bool:
    """``const pay = (x) => …``: a function by another way."""
    if node.type not in ("lexical_declaration", "variable_declaration"):
        return False
    values = (d.child_by_field_name("value") for d in node.named_children)
    kinds = ("arrow_function", "function_expression", "class", "call_expression")
    return any(value is not None and value.type in kinds for value in values)


def _name_of(node: Node) -> str:
    """What a definition calls its thing, with the receiver's type before it (Go)."""
    if node.type in ("lexical_declaration", "variable_declaration", "type_declaration"):
        node = node.named_children[0] if node.named_children else node
    if node.type == "impl_item":
        return _text(node.child_by_field_name("type"))
    if node.type in ("init_declaration", "constructor_declaration", "secondary_constructor"):
        return _text(node.child_by_field_name("name")) or "init"
    named = node.child_by_field_name("name")
    while named is None:  # C: the name is deep in the declarator
        inner = node.child_by_field_name("declarator")
        if inner is None:
            break
        node, named = inner, inner.child_by_field_name("name")
        if inner.type == "qualified_identifier" or (named is None and not inner.named_children):
            named = inner
    receiver = node.child_by_field_name("receiver")
    owner = _NAME.findall(_text(receiver))[-1:] if receiver is not None else []
    return ".".join((*owner, _text(named)))


def _text(node: Node | None) -> str:
    if node is None or node.text is None:
        return ""
    return " ".join(node.text.decode("utf-8", "replace").split())[:80]


def _with_what_stands_above(node: Node, lines: Sequence[str]) -> int:
    """The row where a definition begins, with its comments, decorators and attributes."""
    first = node.start_point[0]
    while first > 0 and _ABOVE.match(lines[first - 1]):
        first -= 1
    return first


def _by_syntax(lines: Sequence[str], defined: Sequence[_Defined]) -> Iterator[Chunk]:
    """Every definition a chunk, large ones in pieces; what lies between them is cut as text."""
    at = 0
    for one in sorted(defined, key=lambda d: d.first):
        if one.first > at:
            yield from _windows(lines, at, one.first - 1, "")
        if one.last >= at:
            yield from _pieces(lines, one, max(at, one.first))
            at = one.last + 1
    if at < len(lines):
        yield from _windows(lines, at, len(lines) - 1, "")


def _pieces(lines: Sequence[str], one: _Defined, first: int) -> Iterator[Chunk]:
    if one.last - first < SMALL_LINES or not one.inner:
        yield from _windows(lines, first, one.last, one.symbol)
        return
    at = first
    for inner in sorted(one.inner, key=lambda d: d.first):
        if inner.first > at:
            yield from _windows(lines, at, inner.first - 1, one.symbol)
        if inner.last >= at:
            yield from _pieces(lines, inner, max(at, inner.first))
            at = inner.last + 1
    if at <= one.last:
        yield from _windows(lines, at, one.last, one.symbol)


# --- without one -------------------------------------------------------------------------


def _windows(lines: Sequence[str], first: int, last: int, symbol: str) -> Iterator[Chunk]:
    """Rows ``first`` to ``last`` in pieces of at most ``MAX_LINES``, cut at a blank line if any."""
    while first <= last and not lines[first].strip():
        first += 1
    while last > first and not lines[last].strip():
        last -= 1
    while last - first >= MAX_LINES:
        end = first + MAX_LINES - 1
        blank = (row for row in range(end, first + MAX_LINES // 2, -1) if not lines[row].strip())
        end = next(blank, end)
        yield Chunk(first + 1, end + 1, symbol)
        first = end + 1
        while first < last and not lines[first].strip():
            first += 1
    if first <= last:
        yield Chunk(first + 1, last + 1, symbol)


def _headings(lines: Sequence[str]) -> dict[int, str]:
    """Rows of Markdown headings outside fences, with their text."""
    found: dict[int, str] = {}
    fenced = False
    for row, line in enumerate(lines):
        if re.match(r" {0,3}(?:```|~~~)", line):
            fenced = not fenced
        elif not fenced and (heading := re.match(r" {0,3}#{1,6}\s+(.*?)\s*#*$", line)):
            found[row] = heading[1][:80]
    return found


def _by_starts(lines: Sequence[str], starts: dict[int, str]) -> list[Chunk]:
    rows = sorted({0, *starts})
    ends = [*(row - 1 for row in rows[1:]), len(lines) - 1]
    pieces: Callable[[int, int], Iterator[Chunk]] = lambda a, b: _windows(  # noqa: E731
        lines, a, b, starts.get(a, "")
    )
    return [chunk for a, b in zip(rows, ends, strict=True) if a <= b for chunk in pieces(a, b)]
