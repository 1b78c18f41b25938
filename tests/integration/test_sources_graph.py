"""The graph of a change, by a stand-in that answers as code-review-graph 2.3.9 does.

The tool itself brings 350 MB, so it is no dependency of the tests; with ``MOOT_REAL_GRAPH=1`` and
it on PATH the last test asks the real one.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from core.model import Pull
from core.sources import graph
from core.sources.graph import asks_for_review
from tests.integration.checkout import PAY, checkout, git, program, put, scene

REAL = os.environ.get("MOOT_REAL_GRAPH") == "1" and shutil.which("code-review-graph")


def node(
    root: Path, name: str, first: int, last: int, kind: str = "Function", path: str = "src/pay.py"
):
    file = f"{root}/{path}"
    return {
        "id": first,
        "kind": kind,
        "name": file if kind == "File" else name,
        "qualified_name": file if kind == "File" else f"{file}::{name}",
        "file_path": file,
        "line_start": first,
        "line_end": last,
        "language": "python",
        "parent_name": None,
        "is_test": False,
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = checkout(tmp_path / "shop")
    put(folder, "src/pay.py", PAY.replace("amount, 2", "amount, 3"))
    return folder


@pytest.fixture
def tool(tmp_path: Path, project: Path, monkeypatch):
    """A code-review-graph that answers from files, and keeps what it was called with."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    said = tmp_path / "said"
    changed = [node(project, "", 1, 14, "File"), node(project, "round_money", 12, 14)]
    reached = [node(project, "charge_card", 7, 9), node(project, "", 1, 3, "File", "src/shop.py")]
    reached.append(node(tmp_path / "elsewhere", "outside", 1, 2))
    answers = {
        "impact": {
            "status": "ok",
            "summary": "Blast radius",
            "changed_files": ["src/pay.py"],
            "changed_nodes": changed,
            "impacted_nodes": reached,
        },
        "detect-changes": {
            "summary": "Analyzed 1 changed file(s)",
            "risk_score": 0.5,
            "test_gaps": [
                {
                    "name": "round_money",
                    "file": f"{project}/src/pay.py",
                    "line_start": 12,
                    "line_end": 14,
                }
            ],
            "affected_flows": [
                {
                    "name": "charge_card",
                    "steps": [
                        {"name": "charge_card", "file": f"{project}/src/pay.py"},
                        {"name": "round_money", "file": f"{project}/src/pay.py"},
                    ],
                }
            ],
        },
        "query": {
            "status": "ok",
            "pattern": "callers_of",
            "target": f"{project}/src/pay.py::round_money",
            "results": [node(project, "charge_card", 7, 9)],
        },
    }
    for name, answer in answers.items():
        put(said, name, json.dumps(answer))
    program(
        tmp_path / "bin",
        "code-review-graph",
        f'echo "$CRG_DATA_DIR $@" >> {tmp_path}/calls\ntest "$1" = update || cat {said}/$1',
    )
    return said


def source(tmp_path):
    return graph.source(tmp_path / "moot")


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def offered(tmp_path, project, prompt, **more):
    offer = source(tmp_path).offer(scene(project, prompt, **more))
    found = offer.candidates.get("graph")
    return (found.parts if found else ()), offer.notes


@pytest.mark.parametrize(
    "prompt",
    [
        "please review the PR",
        "code review?",
        "can you review my changes",
        "what would this change break?",
        "what breaks if I do this",
        "이 변경 리뷰해 주세요",
        "코드 리뷰 부탁해요",
        "영향 범위를 알려줘",
        "コードレビューお願いします",
    ],
)
def test_a_review_is_asked_for(prompt):
    assert asks_for_review(prompt)


@pytest.mark.parametrize(
    "prompt", ["my performance review is near", "리뷰 좋은 식당 있나요", "what is for lunch?", ""]
)
def test_no_review_is_asked_for(prompt):
    assert not asks_for_review(prompt)


def test_a_review_is_told_what_the_change_touches(tmp_path, project, tool):
    parts, notes = offered(tmp_path, project, "please review the diff")
    assert notes == ()
    assert parts == (
        "The change (what is not committed) touches:\nsrc/pay.py\nsrc/pay.py:12-14 round_money",
        "What depends on it:\nsrc/pay.py:7-9 charge_card",
        "In these files:\nsrc/shop.py",
        "Changed, and no test reaches it:\nsrc/pay.py:12-14 round_money",
        "Flows that go through it:\ncharge_card > round_money",
    )
    update, impact, changes = calls(tmp_path)
    assert update.endswith(f" update -q --repo {project}")
    assert update.startswith(f"{tmp_path / 'moot' / 'index'}/graph-")
    assert impact.endswith(f" impact --base HEAD --repo {project}")
    assert changes.endswith(f" detect-changes --base HEAD --repo {project}")
    assert not (project / ".code-review-graph").exists()


def test_a_reviewer_or_mode_full_is_told_too(tmp_path, project, tool):
    assert offered(tmp_path, project, "lunch?", personas=("developer", "reviewer"))[0]
    assert offered(tmp_path, project, "lunch?", mode="full")[0]
    assert offered(tmp_path, project, "lunch?") == ((), ())
    assert offered(tmp_path, project, "review the diff", own=True) == ((), ())


def test_the_change_is_what_is_not_committed_else_the_branch_else_the_last_commit(
    tmp_path, project, tool
):
    git(project, "commit", "-q", "-a", "-m", "second")
    assert "the last commit" in offered(tmp_path, project, "code review")[0][0]
    git(project, "checkout", "-q", "-b", "feature")
    put(project, "src/pay.py", PAY)
    git(project, "commit", "-q", "-a", "-m", "third")
    parts, _ = offered(tmp_path, project, "code review")
    assert parts[0].startswith("The change (this branch, 1 commits ahead of main) touches:")
    assert calls(tmp_path)[-2].endswith(f" impact --base main --repo {project}")


def test_a_single_commit_is_no_change(tmp_path, project, tool):
    git(project, "checkout", "-q", "src/pay.py")
    _, [note] = offered(tmp_path, project, "code review")
    assert note == "graph: nothing, there is only one commit"


def test_the_project_s_own_graph_is_read_as_it_is(tmp_path, project, tool):
    put(project, ".code-review-graph/graph.db", "")
    assert offered(tmp_path, project, "code review")[0]
    assert [call.split()[0] for call in calls(tmp_path)] == ["impact", "detect-changes"]


def test_without_the_tool_a_note_where_it_was_wanted(tmp_path, project, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert offered(tmp_path, project, "lunch?") == ((), ())
    assert offered(tmp_path, project, "code review")[1] == (
        "graph: code-review-graph is not installed",
    )
    [check] = source(tmp_path).check()
    assert check.ok
    assert "pipx install" in check.detail
    assert source(tmp_path).kinds == ()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "exit status 1"),
        ("test $1 = update || echo nonsense", "not as documented"),
        ("test $1 = update || echo '[]'", "not as documented"),
        ("test $1 = update || echo '{}'", "touches nothing that the graph knows"),
        ("test $1 = update || echo '{\"changed_nodes\": [1, {}]}'", "touches nothing"),
    ],
)
def test_a_tool_that_fails_is_a_note(tmp_path, project, tool, script, why):
    program(tmp_path / "bin", "code-review-graph", script)
    _, [note] = offered(tmp_path, project, "code review")
    assert why in note


def pulled(tmp_path, project, query):
    return source(tmp_path).answer(Pull("graph", query), scene(project, ""))


def test_a_pull_asks_for_the_change_a_file_or_a_symbol(tmp_path, project, tool):
    assert source(tmp_path).kinds == ("graph",)
    assert "touches" in pulled(tmp_path, project, "change").hits[0]
    file = pulled(tmp_path, project, "src/pay.py")
    assert file.hits[0] == "What depends on it:\nsrc/pay.py:7-9 charge_card"
    assert calls(tmp_path)[-1].endswith(f" impact --files {project}/src/pay.py --repo {project}")
    symbol = pulled(tmp_path, project, "round_money()")
    assert symbol.hits[0] == "src/pay.py::round_money: called by\nsrc/pay.py:7-9 charge_card"
    assert f" query callers_of --repo {project} -- round_money" in calls(tmp_path)[-4]
    put(tool, "query", json.dumps({"status": "not_found", "summary": "none"}))
    assert pulled(tmp_path, project, "zzz").note == "the graph has nothing on it"
    assert "ask for a path" in pulled(tmp_path, project, "--help").note


def test_a_name_of_several_things_brings_each(tmp_path, project, tool):
    several = [node(project, "round_money", 12, 14), node(project, "", 1, 14, "File")]
    put(tool, "query", json.dumps({"status": "ambiguous", "candidates": several}))
    assert pulled(tmp_path, project, "round_money").note == "the graph has nothing on it"
    assert calls(tmp_path)[-1].endswith(f" -- {project}/src/pay.py::round_money")


@pytest.mark.skipif(not REAL, reason="asks the real code-review-graph (MOOT_REAL_GRAPH=1)")
def test_the_real_tool(tmp_path, project):
    parts, notes = offered(tmp_path, project, "please review the diff")
    assert notes == ()
    assert "src/pay.py:12-14 round_money" in parts[0]
    assert "charge_card" in "\n".join(parts)
    assert "called by" in pulled(tmp_path, project, "round_money").hits[0]
    assert not (project / ".code-review-graph").exists()
