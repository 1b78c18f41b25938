"""Project facts: the tech stack as the manifest files in the project's folder tell it."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

MAX_MANIFEST_BYTES = 1_000_000
MAX_NAMES = 12


def tech_stack(folder: Path) -> tuple[str, ...]:
    """One line per manifest found in ``folder``, such as ``package.json: Node.js (react, vite)``.

    Reads the folder's own files only, no deeper ones; a manifest that cannot be read is named
    without its contents. Blocking: call it in a thread.
    """
    lines: list[str] = []
    for name, (language, names_of) in _MANIFESTS.items():
        if os.path.isfile(os.path.join(folder, name)):  # noqa: PTH113, PTH118 - each round looks
            names = _names(folder / name, names_of)
            lines.append(f"{name}: {language}" + (f" ({', '.join(names)})" if names else ""))
    return tuple(lines)


def dependencies(folder: Path) -> frozenset[str]:
    """All names that the manifests in ``folder`` depend on, as ``plain_name`` writes them. Blocks.

    Of ``github.com/jackc/pgx/v5``, ``@nestjs/core`` and ``spring-boot:web`` the parts count too.
    """
    found: set[str] = set()
    for name, (_, names_of) in _MANIFESTS.items():
        path = folder / name
        if path.is_file():
            for entry in _all_names(path, names_of):
                found.update(plain_name(part) for part in (entry, *entry.strip("@").split("/")))
    return frozenset(found)


def plain_name(name: str) -> str:
    """A dependency's name in the one way in which names are compared."""
    return re.sub(r"[-_.]+", "-", name.strip().lower())


def _names(path: Path, names_of: Callable[[str], list[str]]) -> list[str]:
    found = _all_names(path, names_of)
    more = [f"and {len(found) - MAX_NAMES} more"] if len(found) > MAX_NAMES else []
    return found[:MAX_NAMES] + more


def _all_names(path: Path, names_of: Callable[[str], list[str]]) -> list[str]:
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            return []
        found = names_of(path.read_text("utf-8", errors="replace"))
    except (OSError, ValueError, AttributeError, TypeError):
        return []  # a half-written manifest is no reason to keep an agent from answering
    clean = (name for name in found if re.fullmatch(r"[\w@./+-]{1,60}", name))
    return list(dict.fromkeys(clean))


def _pyproject(text: str) -> list[str]:
    data: dict[str, Any] = tomllib.loads(text)
    project = data.get("project", {})
    listed = cast(list[str], project.get("dependencies", []))
    groups = cast(dict[str, list[str]], project.get("optional-dependencies", {}))
    more = [entry for group in groups.values() for entry in group]
    poetry = data.get("tool", {}).get("poetry", {}).get("dependencies", {})
    return [*(_requirement(entry) for entry in (*listed, *more)), *poetry]


def _package_json(text: str) -> list[str]:
    data: dict[str, Any] = json.loads(text)
    return [*data.get("dependencies", {}), *data.get("devDependencies", {})]


def _requirements(text: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [_requirement(line) for line in lines if line and not line.startswith("-")]


def _cargo(text: str) -> list[str]:
    return list(tomllib.loads(text).get("dependencies", {}))


def _go(text: str) -> list[str]:
    return re.findall(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v", text, re.MULTILINE)


def _gemfile(text: str) -> list[str]:
    return re.findall(r"^\s*gem\s+[\"']([\w.-]+)[\"']", text, re.MULTILINE)


def _composer(text: str) -> list[str]:
    data: dict[str, Any] = json.loads(text)
    return [name for name in data.get("require", {}) if "/" in name]


def _maven(text: str) -> list[str]:
    within = re.findall(r"<dependency>(.*?)</dependency>", text, re.DOTALL)
    found = (re.search(r"<artifactId>\s*([\w.-]+)\s*</artifactId>", each) for each in within)
    return [match[1] for match in found if match]


def _gradle(text: str) -> list[str]:
    call = r"^\s*\w*(?:[iI]mplementation|api|Only|Runtime)\s*\(?\s*[\"'][\w.-]+:([\w.-]+)[:\"']"
    return re.findall(call, text, re.MULTILINE)


def _mix(text: str) -> list[str]:
    return re.findall(r"^\s*\{:(\w+),", text, re.MULTILINE)


def _requirement(entry: str) -> str:
    return re.split(r"[\s\[<>=!~;@]", entry.strip(), maxsplit=1)[0]


def _nothing(_: str) -> list[str]:
    return []


_MANIFESTS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "pyproject.toml": ("Python", _pyproject),
    "requirements.txt": ("Python", _requirements),
    "package.json": ("Node.js", _package_json),
    "Cargo.toml": ("Rust", _cargo),
    "go.mod": ("Go", _go),
    "pom.xml": ("Java (Maven)", _maven),
    "build.gradle": ("Java (Gradle)", _gradle),
    "build.gradle.kts": ("Kotlin (Gradle)", _gradle),
    "Gemfile": ("Ruby", _gemfile),
    "composer.json": ("PHP", _composer),
    "Package.swift": ("Swift", _nothing),
    "mix.exs": ("Elixir", _mix),
    "CMakeLists.txt": ("C or C++ (CMake)", _nothing),
    "Dockerfile": ("Docker", _nothing),
}
