"""The house keeps its own rules: sizes, seams, documentation."""

import importlib.metadata
import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("bridge", "core", "adapters", "config")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_stays_readable(path):
    assert len(path.read_text("utf-8").splitlines()) <= 420


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_platform_differences_stay_in_adapters(path):
    if "adapters" in path.parts:
        return
    text = path.read_text("utf-8")
    assert not re.search(r"==\s*[\"'](slack|discord|console)[\"']", text)


def test_nobody_else_owns_our_package_names():
    owners = importlib.metadata.packages_distributions()
    assert {name for package in PACKAGES for name in owners.get(package, [])} <= {"moot"}


def test_every_setting_explains_itself():
    """Each key of default.toml has a comment, on its line or above its table."""
    explained = False
    for line in files("config").joinpath("default.toml").read_text("utf-8").splitlines():
        if line.startswith("#"):
            explained = True
        elif line.startswith("["):
            explained = explained and True
        elif not line.strip():
            explained = False
        elif "=" in line:
            assert "#" in line or explained or re.match(r"(path|model|args|env)\s*=", line), line


def test_the_documentation_knows_every_command_and_option():
    from typer.main import get_command

    from bridge.cli import app
    from bridge.commands import COMMANDS
    from bridge.options import OPTIONS

    reference = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
    for name in get_command(app).commands:
        assert f"`moot {name}" in reference
    for name in COMMANDS:
        assert f"!{name}" in reference or f"/{name}" in reference or f"`{name}:" in reference
    for option in OPTIONS:
        assert f"`--{option}`" in reference


def test_links_in_the_documentation_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_path_of_a_machine_and_no_registry_host_is_committed():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    hosts = ("registry." + "npmjs", "files.python" + "hosted", "pypi." + "org")
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not name or not path.is_file() or path.suffix in (".stdout", ".svg", ".png"):
            continue
        text = path.read_text("utf-8", errors="replace")
        for host in hosts:
            assert host not in text, f"{name} names {host}"


def test_the_lists_of_requirements_are_pinned_with_hashes():
    for name in ("run", "dev"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
        pinned = re.findall(r"^([\w.\[\]-]+)==", text, re.MULTILINE)
        assert len(pinned) > 30
        assert text.count("--hash=sha256:") >= len(pinned)


def test_the_version_is_told_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert importlib.metadata.version("moot") == project["version"]
