"""The talk with a person at a terminal."""

from __future__ import annotations

import getpass
import re
import shutil
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from core.model import Check

WIDEST = 100
# What people copy along with a token: the line of a shell or of a file, quotes, blanks.
_AROUND = " \t\"'`<>,;“”‘’"
_NAME_BEFORE = re.compile(r"^(?:export\s+)?[A-Za-z_][A-Za-z_0-9]*\s*=\s*")


def bare(pasted: str) -> str:
    """PURE: a token as it was pasted, without what was copied along with it."""
    return _NAME_BEFORE.sub("", pasted.strip(_AROUND), count=1).strip(_AROUND)


class Talk:
    """Asks and tells. Lines end where the terminal's do, but for addresses, which stay whole."""

    def __init__(self) -> None:
        width = min(shutil.get_terminal_size().columns, WIDEST)
        self._console = Console(width=width, highlight=False)

    def step(self, number: int, title: str) -> None:
        """Begin a step."""
        self._console.print()
        self._console.print(Text(f"{number}. {title}", style="bold"))

    def tell(self, markdown: str) -> None:
        """Say something; a paragraph that is one address is printed so that it can be copied."""
        for paragraph in markdown.split("\n\n"):
            if paragraph.startswith("https://"):
                self._console.print(Text(paragraph), soft_wrap=True)
            else:
                self._console.print(Markdown(paragraph))

    def ask(self, question: str, default: str = "") -> str:
        """A line; ``default`` when nothing is typed."""
        shown = f" [{default}]" if default else ""
        return input(f"{question}{shown}: ").strip() or default

    def secret(self, question: str) -> str:
        """A line that is not shown while it is pasted; see :func:`bare`."""
        return bare(getpass.getpass(f"{question} (pasting shows nothing): "))

    def yes(self, question: str, *, default: bool = True) -> bool:
        """Yes or no."""
        while True:
            said = input(f"{question} [{'Y/n' if default else 'y/N'}]: ").strip().lower()
            if said in ("", "y", "yes", "n", "no"):
                return said.startswith("y") if said else default
            self.tell("Please answer `y` or `n`.")

    def choose(self, question: str, options: Sequence[tuple[str, str]], default: str) -> str:
        """One of ``options`` ((value, what it means) pairs), by its number or its value."""
        for number, (value, meaning) in enumerate(options, 1):
            self._console.print(Text(f"  {number}  {value}: {meaning}"))
        while True:
            said = self.ask(question, default).strip("\"'`").lower()
            values = [value for value, _ in options]
            if named := [value for value in values if value.lower() == said]:
                return named[0]
            if said.isdecimal() and 0 < int(said) <= len(values):
                return values[int(said) - 1]
            self.tell(f"Please type a number from 1 to {len(values)}, or one of the words.")

    def checks(self, checks: Iterable[Check]) -> None:
        """What was found, one line each; a fault with what to do."""
        for check in checks:
            mark = Text("ok ", style="green") if check.ok else Text("no ", style="bold red")
            self._console.print(mark + Text(f"{check.name}: {check.detail}"), soft_wrap=True)
            if not check.ok and check.fix:
                self._console.print(Text(f"   → {check.fix}"), soft_wrap=True)
