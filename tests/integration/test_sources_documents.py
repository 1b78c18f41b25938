"""A project's documents over real folders: which are read, how they are found, what is brought."""

import os
import time
from pathlib import Path

import pytest

from core.memory.embed.use import Use
from core.model import Pull
from core.sources.code.files import NoCheckout
from core.sources.code.index import Index
from core.sources.code.meaning import Meaning
from core.sources.documents.files import documents
from core.sources.documents.finder import DOCUMENTS, Documents, wants
from tests.integration.checkout import checkout, git, program, put, scene

DEPLOY = """\
# Deploy

Push the tag and wait for the pipeline.

## Rollback

Take the release back: flip the load balancer to the previous colour.

```sh
# not a heading
./flip previous
```

## Night shift

Who wakes up when the pager rings.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = checkout(tmp_path / "shop")
    put(folder, "docs/deploy.md", DEPLOY)
    put(folder, "docs/money.md", "# Money\n\nRefunds are paid within three days.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "docs")
    return folder


@pytest.fixture(autouse=True)
def _no_chub(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.fixture
def search(tmp_path: Path) -> Documents:
    return Documents(tmp_path / "moot")


def listed(project, tmp_path):
    return [file.path for file in documents(project, tmp_path / "moot")]


def pulled(search, project, query):
    return search.answer(Pull("docs", query), scene(project, ""))


# --- what is told ------------------------------------------------------------------------


def test_mode_full_is_told_the_section_with_its_headings_and_lines(search, project):
    offer = search.offer(scene(project, "how do we do a rollback?", mode="full"))
    [first, *_] = offer.candidates["documents"].parts
    assert first.startswith("docs/deploy.md:5-13 Deploy > Rollback\n## Rollback\n")
    assert "# not a heading\n./flip previous" in first
    assert not search.offer(scene(project, "how do we do a rollback?")).candidates


def test_a_pull_brings_sections_lines_documents_and_outlines(search, project):
    assert pulled(search, project, "refunds").hits[0].startswith("docs/money.md:1-3 Money")
    [lines] = pulled(search, project, "docs/deploy.md:7-7").hits
    assert lines.startswith("docs/deploy.md:7-7\nTake the release back")
    [whole] = pulled(search, project, "deploy.md").hits
    assert whole == f"docs/deploy.md:1-16\n{DEPLOY.rstrip()}"
    assert pulled(search, project, "docs/deploy.md:900").note == "that document has 16 lines"
    assert "no document" in pulled(search, project, "src/pay.py:1-3").note
    assert "holds secrets" in pulled(search, project, ".env:1-2").note
    put(project, "docs/long.md", "".join(f"# Part {n}\n\n{'word ' * 40}\n\n" for n in range(90)))
    git(project, "add", "-A")
    result = pulled(search, project, "docs/long.md")
    assert "197-200 Part 49" in result.hits[0]
    assert "outline" in result.note
    [nothing] = [pulled(search, project, "zzzz")]
    assert nothing.hits == ()
    assert "nothing in the project's documents matches" in nothing.note


@pytest.mark.parametrize("query", ["", " ", "-x", '"', "NEAR(", ":1", "docs/deploy.md:9-1", "\0"])
def test_no_query_is_an_error(search, project, query):
    result = pulled(search, project, query)
    assert result.hits or result.note


def test_documents_come_first_and_then_those_of_libraries(search, project, tmp_path):
    entry = '{"results":[{"id":"acme/pay","description":"Acme","languages":[]}]}'
    program(tmp_path / "bin", "chub", f"echo \"$@\" >> {tmp_path}/calls; echo '{entry}'")
    hits = pulled(search, project, "refunds").hits
    assert hits[0].startswith("docs/money.md:1-3")
    assert hits[-1].startswith("Of a library: acme/pay")
    assert pulled(search, project, "docs/money.md").hits[0].startswith("docs/money.md")
    pulled(search, project, "acme/pay python")
    assert (tmp_path / "calls").read_text().splitlines()[-1].startswith("--json get")


def test_a_question_in_korean_finds_an_english_section(project, tmp_path):
    meaning = Meaning(Use)
    search = Documents(tmp_path / "moot", meaning)
    question = "배포를 이전 버전으로 되돌리는 방법"
    assert pulled(search, project, question).hits == ()
    index = Index(tmp_path / "moot", project, DOCUMENTS)
    deadline = time.monotonic() + 60
    while meaning.lacks(index) or meaning.works:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert pulled(search, project, question).hits[0].startswith("docs/deploy.md:5-13")
    meaning.end()


# --- which files -------------------------------------------------------------------------


def test_only_tracked_documents_within_the_project(project, tmp_path):
    outside = put(tmp_path, "outside/secret.md", "# Secret\n")
    (project / "docs/link.md").symlink_to(outside)
    (project / "linked").symlink_to(outside.parent)
    git(project, "add", "-A")
    put(project, "docs/untracked.md", "# No\n")
    assert listed(project, tmp_path) == ["README.md", "docs/deploy.md", "docs/money.md"]


def test_a_folder_that_nothing_tracks_is_read_without_what_it_ignores(search, tmp_path):
    folder = tmp_path / "plain"
    outside = put(tmp_path, "outside/secret.md", "# Secret\n")
    for path in ("README.md", "guide/a.md", "drafts/b.md", "node_modules/c/README.md", "x.py"):
        put(folder, path, "# Way of working\n")
    put(folder, ".gitignore", "drafts/\n")
    (folder / "link.md").symlink_to(outside)
    (folder / "linked").symlink_to(outside.parent)
    assert listed(folder, tmp_path) == ["README.md", "guide/a.md"]
    assert pulled(search, folder, "way of working").hits[0].startswith("README.md:1-1")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore", "README.md", "drafts", "guide", "link.md", "linked", "node_modules", "x.py",
    ]  # fmt: skip
    assert "project's documents" in pulled(search, folder, "zzzz").note


def test_a_channel_s_own_empty_folder_costs_nothing(search, tmp_path):
    own = tmp_path / "own"
    asked = scene(own, "deploy", mode="full", own=True)
    assert not wants(asked)
    own.mkdir()
    assert not wants(asked)
    put(own, "notes.md", "# Deploy\n")
    assert wants(asked)
    assert search.offer(asked).candidates["documents"].parts[0].startswith("notes.md:1-1")
    assert search.offer(scene(tmp_path / "gone", "deploy", mode="full", own=True)).notes == ()


def test_what_cannot_be_listed_is_a_note(search, tmp_path, monkeypatch):
    with pytest.raises(NoCheckout, match="cannot be used"):
        documents(tmp_path / "gone", tmp_path / "moot")
    assert "cannot be used" in pulled(search, tmp_path / "gone", "deploy").note
    [note] = search.offer(scene(tmp_path / "gone", "deploy", mode="full")).notes
    assert note.startswith("docs: not searched")


def test_an_edit_is_found_as_it_is_now(search, project):
    assert pulled(search, project, "refunds").hits
    put(project, "docs/money.md", "# Money\n\nVouchers are paid out.\n")
    assert not any("money" in hit for hit in pulled(search, project, "refunds").hits)
    assert pulled(search, project, "vouchers").hits[0].startswith("docs/money.md:1-3")
    (project / "docs/money.md").unlink()
    assert pulled(search, project, "vouchers").hits == ()
