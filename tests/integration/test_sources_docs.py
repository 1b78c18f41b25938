"""Library documentation by a stand-in that answers as chub 0.1.4 does (``--json``).

With ``MOOT_REAL_CHUB=1`` and chub on PATH the last test asks the real one, over a registry that it
builds itself: no network.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.model import Pull
from core.sources import docs
from tests.integration.checkout import program, put, scene

REAL = os.environ.get("MOOT_REAL_CHUB") == "1" and shutil.which("chub")

ENTRY = {
    "id": "acme/pay",
    "name": "pay",
    "description": "Acme payments,\n charge a card",
    "languages": [{"language": "javascript"}, {"language": "python"}],
    "_type": "doc",
}
SEVERAL = 'Multiple languages available for "acme/pay": javascript, python. Specify --lang.'
DOCUMENT = "# Acme pay\nCall `acme.charge(amount)`.\n" + "## More\n" + "text\n" * 2_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "shop"
    put(folder, "pyproject.toml", "[project]\n")
    said = tmp_path / "said"
    put(said, "search", json.dumps({"results": [ENTRY], "total": 1, "query": "charge"}))
    put(said, "get", json.dumps({"error": SEVERAL}))
    document = {"id": "acme/pay", "type": "doc", "content": DOCUMENT, "additionalFiles": ["b.md"]}
    put(said, "get-python", json.dumps(document))
    program(
        tmp_path / "bin",
        "chub",
        f'echo "$@" >> {tmp_path}/calls; env > {tmp_path}/env\n'
        f'case "$*" in *" get --lang python "*) cat {said}/get-python;;\n'
        f'*" get "*) cat {said}/get; exit 1;; *) cat {said}/search;; esac',
    )
    return folder


def pulled(project, query):
    return docs.answer(Pull("docs", query), scene(project, ""))


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def test_words_bring_a_list_of_ids(project, tmp_path):
    result = pulled(project, "charge a  card")
    assert result.hits == ("acme/pay (javascript, python): Acme payments, charge a card",)
    assert "ask for one by its id" in result.note
    assert calls(tmp_path) == ["--json search --limit 8 -- charge a card"]


def test_what_looks_like_an_option_is_none(project, tmp_path):
    pulled(project, "--output /tmp/x")
    assert calls(tmp_path) == ["--json search --limit 8 -- --output /tmp/x"]


def test_an_id_brings_the_document_in_the_project_s_language(project, tmp_path):
    result = pulled(project, "acme/pay")
    assert result.hits[0] == "acme/pay (python); more files of it: b.md"
    assert result.hits[1].startswith("# Acme pay")
    assert "".join(result.hits[1:]) == DOCUMENT
    assert all(len(hit) < 4_000 for hit in result.hits)
    assert calls(tmp_path)[-1] == "--json get --lang python -- acme/pay"


@pytest.mark.parametrize(
    "query", ["acme/pay python", "acme/pay --lang python", "acme/pay in python"]
)
def test_a_language_may_be_said(project, tmp_path, query):
    assert pulled(project, query).hits
    assert calls(tmp_path) == ["--json get --lang python -- acme/pay"]


def test_nothing_of_it_is_told_to_anybody(project, tmp_path, monkeypatch):
    monkeypatch.setenv("CHUB_TELEMETRY", "1")
    pulled(project, "charge")
    env = (tmp_path / "env").read_text()
    assert "CHUB_TELEMETRY=0" in env
    assert "CHUB_FEEDBACK=0" in env


@pytest.mark.parametrize(
    ("script", "note"),
    [
        (
            'echo \'{"error":"Registry not available: <!-- x -->"}\'; exit 1',
            "Registry not available",
        ),
        ("exit 7", "chub: exit status 7"),
        ("echo '[]'", "the output of chub is not as documented"),
        ("echo '{\"results\": [1, null]}'", "there is no documentation on it"),
    ],
)
def test_what_fails_is_told(project, tmp_path, script, note):
    program(tmp_path / "bin", "chub", script)
    result = pulled(project, "charge")
    assert result.hits == ()
    assert note in result.note
    assert "<" not in result.note


def test_without_chub_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert pulled(tmp_path, "x").note == "chub is not installed on this host"
    [check] = docs.check()
    assert check.ok
    assert "npm install -g @aisuite/chub" in check.detail


@pytest.mark.skipif(not REAL, reason="asks the real chub (MOOT_REAL_CHUB=1)")
def test_the_real_tool(tmp_path, monkeypatch):
    front = (
        '---\nname: pay\ndescription: Charge a card\nmetadata:\n  languages: "python"\n'
        '  versions: "2.0.0"\n  source: maintainer\n  tags: "pay"\n---\n# Acme pay\nacme.charge()\n'
    )
    put(tmp_path, "content/acme/docs/pay/DOC.md", front)
    monkeypatch.setenv("CHUB_TELEMETRY", "0")
    monkeypatch.setenv("CHUB_DIR", str(tmp_path / "chub"))
    build = ["chub", "build", str(tmp_path / "content"), "-o", str(tmp_path / "registry")]
    subprocess.run(build, check=True, capture_output=True, timeout=60)
    sources = f"sources:\n  - name: local\n    path: {tmp_path / 'registry'}\n"
    put(tmp_path, "chub/config.yaml", sources)
    found = docs.answer(Pull("docs", "charge a card"), scene(tmp_path, ""))
    assert found.hits == ("acme/pay (python): Charge a card",)
    got = docs.answer(Pull("docs", "acme/pay"), scene(tmp_path, ""))
    assert "acme.charge()" in "".join(got.hits)
    assert "nope" in docs.answer(Pull("docs", "nope/nope"), scene(tmp_path, "")).note
