"""The talk with a person at a terminal."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from core.model import Check

WIDEST = 100


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
        """A line that is not shown while it is pasted, without blanks around it."""
        return getpass.getpass(f"{question} (pasting shows nothing): ").strip().strip("'\"")

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
            said = self.ask(question, default)
            values = [value for value, _ in options]
            if said in values:
                return said
            if said.isdecimal() and 0 < int(said) <= len(values):
                return values[int(said) - 1]
            self.tell(f"Please type a number from 1 to {len(values)}.")

    def checks(self, checks: Iterable[Check]) -> None:
        """What was found, one line each; a fault with what to do."""
        for check in checks:
            mark = Text("ok ", style="green") if check.ok else Text("no ", style="bold red")
            self._console.print(mark + Text(f"{check.name}: {check.detail}"), soft_wrap=True)
            if not check.ok and check.fix:
                self._console.print(Text(f"   → {check.fix}"), soft_wrap=True)
