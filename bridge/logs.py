"""structlog: one event a line, JSON where no person reads along; never a prompt, token or text."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, TextIO

import structlog

from core.errors import BadSettings
from core.redact import redact, redact_within

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def set_up(level: str, to_file: Path | None = None) -> None:
    """Log to standard error (``to_file`` in the console, whose screen is the terminal).

    Raises:
        BadSettings: the file cannot be written.
    """
    stream: TextIO = sys.stderr
    if to_file is not None:
        try:
            to_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            stream = to_file.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise BadSettings(
                f"Cannot write {to_file}: {error.strerror}. "
                "Set [storage] dir to a folder you can write."
            ) from None
    people = stream.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
    ]
    # Tracebacks without local variables: those hold messages and tokens.
    if people:
        last: list[structlog.typing.Processor] = [
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
            _no_secrets_in_text,
        ]
    else:
        bare = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [
            structlog.processors.ExceptionRenderer(bare),
            structlog.processors.JSONRenderer(ensure_ascii=False),
            _no_secrets_in_text,
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    # The libraries' own warnings, through the same door; their chatter is not ours to show.
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _without_secrets(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Whatever somebody logs: no token and no key stands in the log."""
    return redact_within(event)


def _no_secrets_in_text(_logger: Any, _method: str, rendered: Any) -> Any:
    """The same for the whole line: for what a traceback says."""
    return redact(rendered) if isinstance(rendered, str) else rendered
