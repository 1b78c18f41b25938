"""The command line: parses arguments, nothing else."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from bridge.secrets import learn_secrets
from config.settings import Settings, SettingsError, load_settings
from core.errors import MootError
from core.redact import redact_within

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Moot puts a team's coding agents into the team's own chat.",
)

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="Settings file (default: $MOOT_CONFIG, ./moot.toml, ~/.config/moot)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        print(f"moot {importlib.metadata.version('moot')}")  # noqa: T201 - the command's output
        raise typer.Exit


@app.callback()
def moot(
    version: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Moot puts a team's coding agents into the team's own chat."""


@app.command()
def run(config: Config = None) -> None:
    """Serve the chats that are switched on, until stopped."""
    from bridge.serve import serve

    settings = _settings(config)
    _finish(serve(settings))


@app.command("try")
def try_(
    config: Config = None,
    once: Annotated[
        str | None, typer.Option("--once", help="Ask this one question, print the thread and exit.")
    ] = None,
) -> None:
    """Open a room in this terminal: no tokens needed, you are the owner."""
    from bridge.trial import ask_once, open_room

    settings = _settings(config)
    if once is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        _fail("moot try needs a terminal; in a script use: moot try --once 'question'")
    _finish(open_room(settings) if once is None else ask_once(settings, once))


@app.command()
def setup(
    platform: Annotated[
        str, typer.Argument(metavar="[slack|discord]", help="Asked for when left out.")
    ] = "",
    config: Config = None,
) -> None:
    """Lead through setting up a chat, step by step, to a first answer in it."""
    from bridge.setup.run import set_up

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        _fail("moot setup needs a terminal; for scripts, docs/how-to has all settings")
    try:
        settings = set_up(platform, config)
    except MootError as error:
        _fail(str(error))
        return
    except (KeyboardInterrupt, EOFError):
        print("\nStopped. What was kept so far is used the next time.", file=sys.stderr)  # noqa: T201
        raise typer.Exit(130) from None
    if settings is not None:
        from bridge.serve import serve

        _finish(serve(settings))


@app.command()
def doctor(config: Config = None, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Check settings, tokens, scopes, engines and stores; every fault comes with its fix."""
    from bridge.doctor import examine, show

    try:
        settings: Settings | SettingsError = load_settings(config)
    except SettingsError as error:
        settings = error
    checks = asyncio.run(examine(settings, config))
    if as_json:
        _print_json(
            [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix} for c in checks]
        )
    else:
        show(checks)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)


engines_app = typer.Typer(invoke_without_command=True)
app.add_typer(engines_app, name="engines")


@engines_app.callback()
def engines(
    context: typer.Context,
    config: Config = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """List the engines: installed, version, signed in; `check` looks closer."""
    from bridge.check import resting_engines
    from bridge.doctor import list_engines, show_engines

    if context.invoked_subcommand is not None:
        context.obj = (config, as_json)
        return
    settings = _settings(config)
    found, default = asyncio.run(_guarded(list_engines(settings)))
    if as_json:
        _print_json(
            [
                {
                    "name": info.name,
                    "installed": info.installed,
                    "version": info.version,
                    "signed_in": info.signed_in,
                    "path": info.path,
                }
                for info in found
            ]
        )
    else:
        show_engines(found, default)
        if resting := asyncio.run(_guarded(resting_engines(settings))):
            print(resting)  # noqa: T201


@engines_app.command("check")
def check_(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Engines; all when left out.")
    ] = None,
    live: Annotated[  # noqa: FBT002
        bool, typer.Option("--live", help="Ask each one a small question, for real.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Look at every engine closely; exit status 1 when one that is set up fails."""
    from bridge import check, logs

    logs.set_up("warning")  # standard output is for the table, or for JSON
    before: tuple[Path | None, bool] = context.obj or (None, False)
    settings = _settings(config or before[0])
    checked = asyncio.run(_guarded(check.check_engines(settings, names or (), live=live)))
    if as_json or before[1]:
        _print_json(check.as_json(checked))
    else:
        check.show_checked(checked, live=live)
    raise typer.Exit(1 if any(one.failed for one in checked) else 0)


@app.command()
def pack(
    run_id: Annotated[
        str, typer.Argument(metavar="RUN", help='A run\'s id, its beginning, or "last".')
    ],
    config: Config = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Show what a run was told, what was left out, and why."""
    from bridge.doctor import read_pack, show_pack

    found = asyncio.run(_guarded(read_pack(_settings(config), run_id)))
    if found is None:
        _fail(
            f"There is no run {run_id!r}, or several begin like that. "
            "`!context` in a thread names its runs."
        )
    elif as_json:
        _print_json(redact_within(found))
    else:
        show_pack(redact_within(found))


@app.command()
def usage(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPAN] [by PART] | budgets",
            help="today, yesterday, week, month, 7d or 2026-11; by day, person, channel, engine, "
            "model or project.",
        ),
    ] = None,
    config: Config = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Show what everybody used (this month, by engine), or how the budgets stand."""
    from rich.console import Console
    from rich.markdown import Markdown

    from bridge.usage_cli import read_usage

    said, found = asyncio.run(_guarded(read_usage(_settings(config), " ".join(words or ()))))
    if as_json:
        _print_json(found)
    else:
        Console().print(Markdown(said))


@app.command()
def audit(
    person: Annotated[str, typer.Option(help="Of one person: slack:U123.")] = "",
    act: Annotated[str, typer.Option(help="Of one kind: ask, stop, allow, deny, forget, …")] = "",
    outcome: Annotated[str, typer.Option(help="done, refused or limited.")] = "",
    channel: Annotated[str, typer.Option(help="In one channel: slack:C123.")] = "",
    since: Annotated[str, typer.Option(help="Not older than this: 12h, 7d.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="So many lines at most.")] = 50,
    config: Config = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Show who did what, and who was refused: the newest first."""
    from bridge import audit_cli

    try:
        wanted = audit_cli.wanted_of(
            person=person, act=act, outcome=outcome, channel=channel, since=since
        )
    except MootError as error:
        _fail(str(error))
        raise
    found = asyncio.run(_guarded(audit_cli.read_audit(_settings(config), wanted, limit)))
    if as_json:
        _print_json(audit_cli.as_json(found))
    else:
        audit_cli.show(found)


memory_app = typer.Typer(no_args_is_help=True, help="How memory stands; build its index anew.")
app.add_typer(memory_app, name="memory")


@memory_app.command("status")
def memory_status(config: Config = None, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Show how many messages, vectors and open jobs there are, and how Chroma stands."""
    from dataclasses import asdict

    from bridge.memory_cli import read_state, say

    state, runs = asyncio.run(_guarded(read_state(_settings(config))))
    if as_json:
        _print_json({**asdict(state), "running": runs})
    else:
        print(say(state))  # noqa: T201


@memory_app.command("rebuild")
def memory_rebuild(config: Config = None) -> None:
    """Build Chroma anew from the vectors in the database; also while Moot runs."""
    from bridge import logs
    from bridge.memory_cli import rebuild

    logs.set_up("warning")
    print(asyncio.run(_guarded(rebuild(_settings(config)))))  # noqa: T201


@app.command("slack-manifest")
def slack_manifest(config: Config = None) -> None:
    """Print the app manifest to paste at Slack when the app is made."""
    from adapters.slack.manifest import manifest

    settings = _settings(config)
    _print_json(manifest(mode=settings.slack.mode))


def main() -> None:
    """The console script."""
    try:
        app()
    except SystemExit as ended:
        _end(ended)


def _end(ended: SystemExit) -> None:
    """End at once with this status.

    A model or Chroma may just be being loaded, on a thread that nobody waits for. Python's own end
    would take such a thread down in the midst of C++ or Rust, which can abort the process.
    """
    if not isinstance(ended.code, int | None):
        raise ended
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads any more: Python has its own way with that
        raise ended from None
    os._exit(ended.code or 0)


def _settings(config: Path | None) -> Settings:
    try:
        settings = load_settings(config)
    except SettingsError as error:
        _fail(str(error))
        raise
    learn_secrets(settings)
    return settings


def _finish(work: Coroutine[Any, Any, int]) -> None:
    try:
        code = asyncio.run(_guarded(work))
    except KeyboardInterrupt:
        code = 130
    raise typer.Exit(code)


async def _guarded(work: Coroutine[Any, Any, Any]) -> Any:
    """A mistake of the user's is one clear line, not a traceback."""
    try:
        return await work
    except* MootError as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        message = str(error)
    _fail(message)
    return None


def _fail(message: str) -> None:
    print(f"moot: {message}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(2)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))  # noqa: T201
