"""Role documents: the project's own before the shipped one, and nothing from elsewhere."""

import os

import pytest

from core.sources.personas import MAX_PERSONA_CHARS, persona_text


@pytest.fixture
def folders(tmp_path):
    own, shipped = tmp_path / "project/.moot/personas", tmp_path / "shipped"
    for folder in (own, shipped):
        folder.mkdir(parents=True)
    (shipped / "critic.md").write_text("Find what is wrong.")
    return own, shipped


def test_the_project_s_own_wins_and_is_cut(folders):
    assert persona_text("critic", folders) == "Find what is wrong."
    (folders[0] / "critic.md").write_text("한" * 9_000)
    assert persona_text("critic", folders) == "한" * MAX_PERSONA_CHARS
    assert persona_text("../critic", folders) == ""


def test_a_link_that_leads_away_is_no_role_document(folders, tmp_path):
    (tmp_path / "credentials").write_text("aws_secret_access_key = hunter2")
    (folders[0] / "critic.md").symlink_to(tmp_path / "credentials")
    assert persona_text("critic", folders) == "Find what is wrong."


def test_a_folder_that_leads_away_is_none(folders, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/critic.md").write_text("private")
    folders[0].rmdir()
    folders[0].symlink_to(tmp_path / "home")
    assert persona_text("critic", folders) == "Find what is wrong."


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_one_that_may_not_be_read_does_not_count(folders):
    (folders[0] / "critic.md").write_text("mine")
    (folders[0] / "critic.md").chmod(0)
    assert persona_text("critic", folders) == "Find what is wrong."
