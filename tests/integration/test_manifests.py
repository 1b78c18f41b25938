"""What the manifests in a project's folder say: its stack in lines, its dependencies by name."""

from pathlib import Path

import pytest

from core.sources.project import dependencies, plain_name, tech_stack
from tests.integration.checkout import put

MANIFESTS = {
    "pyproject.toml": (
        (
            '[project]\ndependencies = ["psycopg[binary]>=3"]\n'
            '[project.optional-dependencies]\nweb = ["Flask_Login ~= 1"]\n'
        ),
        {"psycopg", "flask-login"},
    ),
    "requirements.txt": ("django==5 # web\n-r other.txt\n\n", {"django"}),
    "package.json": ('{"dependencies": {"@nestjs/core": "1"}}', {"@nestjs/core", "nestjs", "core"}),
    "Cargo.toml": ('[dependencies]\nserde_json = "1"\n', {"serde-json"}),
    "go.mod": ("require github.com/jackc/pgx/v5 v5.1.0\n", {"github-com/jackc/pgx/v5", "pgx"}),
    "Gemfile": ('gem "rails", "~> 8"\n', {"rails"}),
    "composer.json": ('{"require": {"php": ">=8", "laravel/framework": "1"}}', {"laravel"}),
    "pom.xml": (
        (
            "<project><artifactId>own</artifactId><dependency><groupId>a</groupId>"
            "<artifactId>spring-core</artifactId></dependency></project>"
        ),
        {"spring-core"},
    ),
    "build.gradle.kts": ('  implementation("org.acme:jooq:3.1")\n', {"jooq"}),
    "mix.exs": ('  {:phoenix, "~> 1.7"},\n', {"phoenix"}),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_dependencies_are_read_from_each(tmp_path: Path, name):
    text, names = MANIFESTS[name]
    put(tmp_path, name, text)
    found = dependencies(tmp_path)
    assert names <= found
    assert "own" not in found
    assert "php" not in found


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize("text", ["", "{", "[1]", "[null]", "\0", '{"dependencies": 3}'])
def test_a_broken_one_is_named_without_its_contents(tmp_path: Path, name, text):
    put(tmp_path, name, text)
    assert dependencies(tmp_path) == frozenset()
    [line] = tech_stack(tmp_path)
    assert line.startswith(f"{name}: ")


def test_many_are_counted(tmp_path: Path):
    put(tmp_path, "requirements.txt", "\n".join(f"lib{n}" for n in range(30)))
    [line] = tech_stack(tmp_path)
    assert line.endswith("and 18 more)")
    assert len(dependencies(tmp_path)) == 30


def test_names_are_compared_in_one_way():
    assert plain_name(" Flask_SQLAlchemy ") == plain_name("flask-sqlalchemy")
