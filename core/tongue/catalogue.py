"""The texts of each language: ``ko.po`` and its like, in gettext's own format beside this file.

A catalogue is read when something is first said in its language, and kept.
"""

from __future__ import annotations

from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from string import Formatter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

ENGLISH = "en"
LANGUAGES = (
    ENGLISH,
    *sorted(
        entry.name.removesuffix(".po")
        for entry in files(__name__.rpartition(".")[0]).iterdir()
        if entry.name.endswith(".po")
    ),
)
"""Languages that Moot speaks, by their two letters; English first."""


@cache
def catalogue(language: str) -> NullTranslations:
    """The texts of a language; what it lacks is English. One that is not known has none.

    A translation whose ``{names}`` are not those of its English text is left out: what is said
    would lack something, or could not be said at all.
    """
    if language == ENGLISH or language not in LANGUAGES:
        return NullTranslations()
    return compiled(read(language))


def read(language: str) -> Catalog:
    """The file of a language as Babel has it."""
    from babel.messages.pofile import read_po  # not before a language needs it

    path = files(__package__ or "core.tongue") / f"{language}.po"
    return read_po(BytesIO(path.read_bytes()), locale=language, abort_invalid=True)


def compiled(texts: Catalog) -> GNUTranslations:
    """What ``gettext`` looks up, plural rules and all, without the entries that do not fit."""
    from babel.messages.mofile import write_mo

    for message in list(texts):
        if message.id and not fits(message.id, message.string):
            texts.delete(message.id)
    packed = BytesIO()
    write_mo(packed, texts)
    packed.seek(0)
    return GNUTranslations(cast("Any", packed))


def fits(key: object, translation: object) -> bool:
    """Whether a translation has the placeholders of its English text, formats and all.

    Both are texts, or tuples of the plural forms: then each form may leave out ``{count}``.
    """
    forms, keys = _forms(translation), _forms(key)
    wanted = placeholders(keys[-1])
    if wanted is None or any((placeholders(one) is None) for one in forms):
        return False
    if len(keys) == 1:
        return placeholders(forms[0]) == wanted
    return all(_less_count(placeholders(one)) == _less_count(wanted) for one in forms)


def placeholders(text: str) -> frozenset[tuple[str, str]] | None:
    """The names in braces with their formats; ``None`` where the braces do not match."""
    try:
        found = [(name, spec or "") for _, name, spec, _ in Formatter().parse(text)]
    except ValueError:
        return None
    return frozenset((name, spec) for name, spec in found if name is not None)


def _less_count(names: frozenset[tuple[str, str]] | None) -> frozenset[str]:
    return frozenset(name for name, _ in names or () if name != "count")


def _forms(text: object) -> tuple[str, ...]:
    if isinstance(text, (tuple, list)):
        return tuple(str(one) for one in cast("tuple[object, ...]", text))
    return (str(text),)
