"""``make words``: brings the files of all languages up to date with what the code says.

Texts that are new are added without a translation (they are said in English until there is one),
those that nothing says any more are taken out. Needs the sources: run it in a checkout.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import write_po

from core.tongue.catalogue import ENGLISH, LANGUAGES, read

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "bridge", "adapters")
KEYWORDS = {"say": None, "say_many": (1, 2), "to_say": None, "say_later": None}
HEAD = """\
# {name}. How it is extended: docs/how-to/languages.md.
msgid ""
msgstr ""
"Project-Id-Version: Moot\\n"
"Language: {language}\\n"
"Plural-Forms: {plurals}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
"""What each file begins with: nothing in it changes by itself."""


@cache
def texts() -> tuple[tuple[str, str | tuple[str, ...]], ...]:
    """All that the code says: where (``core/words.py``), and the text or its two forms."""
    return tuple(_texts())


def _texts() -> Iterator[tuple[str, str | tuple[str, ...]]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_bytes()
            if b"from core.tongue import" not in source:  # another function may be called so
                continue
            for _, text, _, _ in extract("python", BytesIO(source), keywords=KEYWORDS):
                if text:
                    yield str(path.relative_to(ROOT)), text


def template(language: str) -> Catalog:
    """A catalogue of all that the code says, with nothing translated."""
    catalog = Catalog(locale=language, fuzzy=False)
    for _, text in texts():
        catalog.add(text)
    return catalog


def updated(language: str) -> bytes:
    """The file of a language as it has to be: each text once, in the order of the sources."""
    there, catalog = read(language), template(language)
    for message in catalog:
        if message.id and (known := there.get(message.id)) is not None:
            message.string = known.string
    file = BytesIO()
    write_po(file, catalog, width=100, no_location=True, omit_header=True, sort_output=True)
    name = there.locale.english_name if there.locale else language
    head = HEAD.format(name=name, language=language, plurals=there.plural_forms)
    return head.encode() + file.getvalue().lstrip(b"\n")


def main() -> None:
    """Update all files, and say what each lacks."""
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        path = Path(__file__).with_name(f"{language}.po")
        path.write_bytes(updated(language))
        lacks = sum(1 for message in read(language) if message.id and not message.string)
        print(f"{path.relative_to(ROOT)}: {lacks} texts without a translation")  # noqa: T201


if __name__ == "__main__":
    main()
