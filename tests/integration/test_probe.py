"""What is said about an engine that is there, half there, or not there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from core.engines.process import probe
from core.model import EngineConfig

PROVIDER = 'model_provider = "a"\n[model_providers.a]\nenv_key = "ACME_KEY"\n'
OWN_PROVIDER = PROVIDER.replace("ACME_KEY", "OPENAI_KEY")
CLIS = ("claude", "codex", "gemini", "opencode")


def engine(name: str, **settings: Any) -> object:
    return import_module(f"core.engines.{name}").ENGINE(EngineConfig(**settings))


def program(folder: Path, name: str, text: str, mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("name", CLIS)
async def test_absent(name: str, tmp_path: Path) -> None:
    info = await probe(engine(name), {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert not info.installed
    assert info.detail == f"{name} was not found"
    assert info.signed_in is (None if name == "opencode" else False)


@pytest.mark.parametrize("name", CLIS)
async def test_found_on_path_with_its_version(name: str, tmp_path: Path) -> None:
    path = program(tmp_path / "bin", name, '#!/bin/sh\necho "tool 1.22.3 (for $SLACK_BOT_TOKEN)"\n')
    env = {"PATH": f"{tmp_path}/bin:/bin:/usr/bin", "HOME": str(tmp_path), "SLACK_BOT_TOKEN": "9.9"}
    info = await probe(engine(name), env)
    assert (info.installed, info.version, info.path) == (True, "1.22.3", str(path))


async def test_a_configured_path_is_the_only_one(tmp_path: Path) -> None:
    program(tmp_path / "bin", "codex", "#!/bin/sh\necho 1.0.0\n")
    mine = program(tmp_path, "my-codex", "#!/bin/sh\necho codex 2.0.0\n")
    env = {"PATH": f"{tmp_path}/bin:/bin", "HOME": str(tmp_path)}
    assert (await probe(engine("codex", path=str(mine)), env)).version == "2.0.0"
    assert not (await probe(engine("codex", path="/no/such/codex"), env)).installed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo a stub without a shebang\n", "no --ignore-scripts"),
        (
            "#!/bin/sh\necho Missing optional dependency >&2\nexit 1\n",
            "optional dependency",
        ),
        ("#!/no/such/node\n", "cannot be started"),
        ("#!/bin/sh\necho no number here\n", "no number here"),
    ],
)
async def test_half_installed_is_not_installed(text: str, words: str, tmp_path: Path) -> None:
    program(tmp_path, "codex", text)
    info = await probe(engine("codex"), {"PATH": f"{tmp_path}:/bin:/usr/bin", "HOME": "/"})
    assert not info.installed
    assert words in info.detail


async def test_the_rehearsal_engine_is_always_there() -> None:
    info = await probe(engine("rehearsal"), {})
    assert (info.installed, info.signed_in) == (True, True)


@pytest.mark.parametrize(
    ("name", "env", "files", "signed_in"),
    [
        ("claude", {"ANTHROPIC_API_KEY": "k"}, {}, True),
        ("claude", {"CLAUDE_CODE_OAUTH_TOKEN": "k"}, {}, True),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, None),
        ("claude", {}, {".claude/.credentials.json": "{}"}, True),
        ("claude", {}, {".claude.json": '{"oauthAccount": {}}'}, None),
        ("claude", {"CLAUDE_CONFIG_DIR": "{home}/c"}, {"c/.credentials.json": "{}"}, True),
        ("claude", {"CLAUDE_CONFIG_DIR": "{home}/c"}, {".claude/.credentials.json": "{}"}, False),
        ("codex", {"CODEX_API_KEY": "k"}, {}, True),
        ("codex", {}, {".codex/auth.json": "{}"}, True),
        ("codex", {"CODEX_HOME": "{home}/x"}, {".codex/auth.json": "{}"}, False),
        ("codex", {}, {".codex/config.toml": 'model = "x"\n'}, False),
        ("codex", {}, {".codex/config.toml": PROVIDER}, False),
        ("codex", {"ACME_KEY": "k"}, {".codex/config.toml": PROVIDER}, False),
        ("codex", {"OPENAI_KEY": "k"}, {".codex/config.toml": OWN_PROVIDER}, True),
        ("gemini", {"GEMINI_API_KEY": "k"}, {}, True),
        ("gemini", {}, {".gemini/oauth_creds.json": "{}"}, True),
        ("gemini", {"GEMINI_CLI_HOME": "{home}/g"}, {".gemini/oauth_creds.json": "{}"}, False),
        ("opencode", {}, {".local/share/opencode/auth.json": '{"x": {}}'}, True),
        ("opencode", {}, {".local/share/opencode/auth.json": "{}"}, None),
        ("opencode", {}, {".config/opencode/opencode.json": '{"provider": {}}'}, True),
    ],
)  # fmt: skip
async def test_signed_in(
    name: str, env: dict[str, str], files: dict[str, str], signed_in: bool | None, tmp_path: Path
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    environ = {k: v.replace("{home}", str(tmp_path)) for k, v in env.items()}
    info = await probe(engine(name), {"PATH": "/nowhere", "HOME": str(tmp_path), **environ})
    assert info.signed_in is signed_in


async def test_a_providers_key_counts_where_codex_may_see_it(tmp_path: Path) -> None:
    program(tmp_path / ".codex", "config.toml", PROVIDER)
    environ = {"PATH": "/nowhere", "HOME": str(tmp_path), "ACME_KEY": "k"}
    assert (await probe(engine("codex", env=("ACME_KEY",)), environ)).signed_in is True
    assert (await probe(engine("codex", env=("ACME_*",)), environ)).signed_in is True
    assert (await probe(engine("codex", env=("OTHER",)), environ)).signed_in is False
