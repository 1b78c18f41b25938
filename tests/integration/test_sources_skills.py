"""Skills on disk: whose counts, what is left out, and what a pack and a Pull get of them."""

import os
from pathlib import Path

import pytest

from core.model import Pull
from core.sources import skills
from core.sources.skills import MAX_FILE_BYTES
from tests.integration.checkout import put, scene

QUEUE = """\
---
name: postgres-queue
description: {about}
keywords: [queue, 대기열]
dependencies: [psycopg]
---
# Postgres queue
How we do it.
## Retries
Retry with jitter.
## Vacuum
Autovacuum settings.
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    put(folder, ".moot/skills/postgres-queue/SKILL.md", QUEUE.format(about="Jobs in Postgres"))
    put(
        folder,
        ".claude/skills/money/SKILL.md",
        "---\ndescription: No floats\nkeywords: 결제\n---\nx",
    )
    return folder


def offered(project, prompt, **more):
    offer = skills.offer(scene(project, prompt, **more))
    return offer.candidates.get("skills"), offer.notes


def pulled(project, query):
    return skills.answer(Pull("skill", query), scene(project, ""))


def test_a_keyword_brings_what_fits_and_a_line_that_says_so(project):
    found, notes = offered(project, "how does the queue do retries?")
    assert found.available == "1 matches: postgres-queue"
    assert found.parts[0] == "postgres-queue: Jobs in Postgres"
    assert any("Retry with jitter" in part for part in found.parts)
    assert not any("Autovacuum" in part for part in found.parts)
    assert found.pull.startswith("<!-- pull:skill: ")
    assert notes == ()


def test_korean_prompts_choose_too(project):
    found, _ = offered(project, "결제 금액은 어떻게 다루나요?")
    assert found.available == "1 matches: money"


def test_a_dependency_of_the_project_chooses(project):
    assert offered(project, "what is for lunch?") == (None, ())
    put(project, "pyproject.toml", '[project]\ndependencies = ["psycopg[binary]>=3"]\n')
    found, _ = offered(project, "what is for lunch?")
    assert found.parts == ("postgres-queue: Jobs in Postgres",)


def test_full_shows_a_line_of_every_other_one(project):
    found, _ = offered(project, "the queue?", mode="full")
    assert "money: No floats" in found.parts
    assert found.available == "1 matches: postgres-queue"


def test_the_project_wins_over_the_user_by_name(project, home):
    put(home, ".claude/skills/q/SKILL.md", QUEUE.format(about="The user's own"))
    put(home, ".config/moot/skills/mine/SKILL.md", "---\ndescription: Mine\nkeywords: queue\n---\n")
    found, _ = offered(project, "the queue?")
    assert found.available == "2 match: postgres-queue, mine"
    assert "postgres-queue: Jobs in Postgres" in found.parts
    assert not any("user's own" in part for part in found.parts)


def test_what_is_wrong_with_one_is_a_note_and_the_others_are_there(project, tmp_path):
    outside = put(tmp_path, "outside/SKILL.md", "---\nkeywords: queue\n---\nsecret text")
    root = project / ".moot/skills"
    (root / "led-away").symlink_to(outside.parent)
    (root / "file-led-away").mkdir()
    (root / "file-led-away/SKILL.md").symlink_to(outside)
    put(project, ".moot/skills/huge/SKILL.md", "x" * (MAX_FILE_BYTES + 1))
    put(project, ".moot/skills/broken/SKILL.md", "---\nname: [\n---\n")
    put(project, ".moot/skills/b\n# Rules/SKILL.md", "---\nname: [\n---\n")
    (root / "looped").symlink_to(root / "looped")
    put(project, ".moot/skills/no-skill/README.md", "nothing")
    (root / "stray.txt").write_text("x")
    found, notes = offered(project, "the queue?")
    assert found.available == "1 matches: postgres-queue"
    text = "\n".join(notes)
    assert "led-away left out, it is a link that leads out" in text
    assert "huge left out, its SKILL.md is larger than 200 kB" in text
    assert "broken left out, its front matter is not valid YAML" in text
    assert "one without a plain name left out" in text
    assert "secret" not in text + "".join(found.parts)
    assert all("\n" not in note for note in notes)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_one_that_may_not_be_read_is_a_note(project):
    (project / ".claude/skills/money/SKILL.md").chmod(0)
    assert "cannot be read" in offered(project, "the queue?")[1][0]


def test_a_project_s_skills_folder_may_not_be_elsewhere(tmp_path, home, project):
    put(tmp_path, "other/queue/SKILL.md", "---\nkeywords: queue\n---\nof another team")
    odd = tmp_path / "odd"
    (odd / ".moot").mkdir(parents=True)
    (odd / ".moot/skills").symlink_to(tmp_path / "other")
    found, [note] = offered(odd, "the queue?")
    assert found is None
    assert "leads out of the project" in note
    (home / ".claude").mkdir()
    (home / ".claude/skills").symlink_to(tmp_path / "other")  # the user's own may lie anywhere
    assert offered(odd, "the queue?")[0].available == "1 matches: queue"


def test_a_folder_that_is_no_folder_is_nothing(tmp_path, home):
    put(tmp_path, "odd/.moot/skills", "a file")
    assert offered(tmp_path / "odd", "the queue?") == (None, ())


def test_a_pull_brings_a_skill_a_part_or_a_list(project):
    whole = pulled(project, "postgres-queue")
    assert [hit.partition("\n")[0] for hit in whole.hits] == [
        "postgres-queue: Jobs in Postgres",
        "postgres-queue, Postgres queue:",
        "postgres-queue, Retries:",
        "postgres-queue, Vacuum:",
    ]
    assert pulled(project, "Postgres-Queue: vacuum").hits[1].endswith("Autovacuum settings.")
    by_words = pulled(project, "postgres-queue: what about jitter?")
    assert "Retry with jitter" in by_words.hits[1]
    none = pulled(project, "postgres-queue: zzz")
    assert none.note == "no part fits; its headings: Postgres queue, Retries, Vacuum"
    assert pulled(project, "queue").hits == ("postgres-queue: Jobs in Postgres",)
    everything = pulled(project, "zzz")
    assert len(everything.hits) == 2
    assert everything.note == "no skill matches; these are there"


def test_a_pull_where_there_are_none_says_so(tmp_path, home):
    assert pulled(tmp_path, "x").note == "there are no skills in this project"


def test_doctor_counts_the_user_s_own(home):
    put(home, ".claude/skills/a/SKILL.md", "---\ndescription: A\n---\n")
    put(home, ".claude/skills/b/SKILL.md", "---\nname: [\n---\n")
    [check] = skills.SOURCE.check()
    assert check.ok
    assert check.detail.startswith("1 of your own")
    assert "b left out" in check.detail
