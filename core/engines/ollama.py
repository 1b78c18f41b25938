"""Ollama: a local model behind an HTTP API.

PURE but for ``$OLLAMA_HOST``, read once, and the images of a task.

There are no sessions and no tools: the whole conversation is in the pack, and the model can only
answer. The window is set so that the pack fits, for Ollama silently drops the front of a prompt
that does not (the role, the rules, the task), and the model then invents an answer.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.errors import BadInput, PromptTooLong
from core.model import PERMISSIONS, EngineConfig, EngineTask, EngineTraits, Exit, HttpCall, Usage
from core.streams import JsonObject, LineReader, classify, get, int_of, list_of, text_of
from core.tongue import say

_DEFAULT = "http://127.0.0.1:11434"
_SMALLEST_WINDOW, _LARGEST_WINDOW = 4_096, 131_072
_ANSWER_TOKENS = 2_048
_STEP = 1_024
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
_JSON = {"Content-Type": "application/json"}


class Ollama:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "ollama"
    programs: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    traits = EngineTraits(
        memory_mb=0,
        system_prompt=True,
        local=True,
        reads_files=False,
        permissions=frozenset(PERMISSIONS),  # it has no tools, so it is held to anything
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.base = address(config.base_url or os.environ.get("OLLAMA_HOST", "") or _DEFAULT)

    def start(self, task: EngineTask) -> HttpCall:
        """See ``core.ports.Engine``: asks for the model first where none is named.

        What is text in a task's files stands in its context; images are read here.
        """
        images = images_of(task)
        if model := task.model or self.config.model:
            return self._look(task, model, images)

        def choose(_: int, body: bytes) -> HttpCall:
            names = models(body)
            if not names:
                raise BadInput(f"Ollama at {self.base} has no model yet: `ollama pull NAME`.")
            return self._look(task, names[0], images)

        return HttpCall("GET", f"{self.base}/api/tags", b"", then=choose)

    def _look(self, task: EngineTask, model: str, images: Sequence[bytes]) -> HttpCall:
        """Ask how much the model can hold and whether it sees, then ask it."""

        def ask(_: int, body: bytes) -> HttpCall:
            prompt = _message(task, model, images if sees(body) else (), len(images))
            return self._chat(task, model, window_of(body), prompt)

        asked = json.dumps({"model": model}).encode()
        return HttpCall("POST", f"{self.base}/api/show", asked, _JSON, then=ask)

    def _chat(
        self, task: EngineTask, model: str, largest: int, prompt: Mapping[str, Any]
    ) -> HttpCall:
        fewest, most = tokens(task.context + task.prompt)
        if largest and fewest + _STEP // 4 > largest:
            raise PromptTooLong(f"about {fewest} tokens, but {model} holds {largest}")
        wanted = -(-(most + _ANSWER_TOKENS) // _STEP) * _STEP
        window = min(max(wanted, _SMALLEST_WINDOW), largest or _LARGEST_WINDOW, _LARGEST_WINDOW)
        messages = [prompt]
        if task.context:
            messages.insert(0, {"role": "system", "content": task.context})
        body = {
            "model": model,
            "messages": messages,
            "stream": True,
            "options": {"num_ctx": window},
        }
        return HttpCall("POST", f"{self.base}/api/chat", json.dumps(body).encode(), _JSON)

    def reader(self, task: EngineTask) -> OllamaReader:
        """See ``core.ports.Engine``."""
        return OllamaReader(task, task.model or self.config.model)

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """Told by ``ping``: whether there is a model."""
        del environ, read
        return None

    def ping(
        self, environ: Mapping[str, str]
    ) -> tuple[HttpCall, Callable[[bytes], tuple[bool, str]]]:
        """Ask for the list of models."""
        del environ
        return HttpCall("GET", f"{self.base}/api/tags", b""), self._judge_ping

    def _judge_ping(self, body: bytes) -> tuple[bool, str]:
        names = models(body)
        if not names:
            return False, "no model yet: `ollama pull NAME`"
        if (wanted := self.config.model) and not ({wanted, f"{wanted}:latest"} & set(names)):
            return False, f"the model {wanted} is not there: `ollama pull {wanted}`"
        return True, ", ".join(names[:5])


class OllamaReader(LineReader):
    """See ``core.ports.Reader``."""

    def __init__(self, task: EngineTask, model: str) -> None:
        super().__init__()
        self._heard = False
        self._fewest = tokens(task.context + task.prompt)[0]
        self.fixes = {
            "bad-model": say(
                "Fetch it with `ollama pull {model}`, or set [engines.ollama] model.",
                model=model or "NAME",
            ),
            "bad-config": say(
                "Check [engines.ollama] base_url (or OLLAMA_HOST), and whether a proxy "
                "is in between."
            ),
            "overloaded": say("Start it with `ollama serve`, or set [engines.ollama] base_url."),
        }
        self.handlers = {"": self._line}

    def _line(self, d: JsonObject) -> None:
        self._heard = True
        if error := text_of(d, "error"):
            self.fail(classify(error), error)
            return
        if thought := text_of(d, "message", "thinking"):
            self.emit("thinking", thought)
        self.delta(text_of(d, "message", "content"))
        if get(d, "done") is not True:
            return
        self.message("".join(self.partial))
        read = int_of(d, "prompt_eval_count")
        self.usage = Usage(input_tokens=read, output_tokens=int_of(d, "eval_count"))
        self.emit("usage")
        if read and read < self._fewest // 2:
            detail = f"only {read} tokens of at least {self._fewest} were read"
            self.answer = ""  # it did not see the whole question: what it says is invented
            self.shown.clear()
            self.fail("context-too-long", detail)
        elif text_of(d, "done_reason") == "length":
            self.fail("crashed", "the answer was cut at the end of the model's window")
        self.close(ok=self.error is None)

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        if end.status and end.status >= 400 and not end.why:
            detail = self.error[1] if self.error else f"HTTP status {end.status}"
            self.error = (classify(detail, end.status), detail)
        elif self.error is None and not self.closed and not end.why:
            if self._lines.noise and not self._heard:
                self.fail("bad-config", "what answered there does not speak as Ollama does")
            else:
                self.fail("crashed", end.detail or "the answer broke off before its end")
        return end


def images_of(task: EngineTask) -> list[bytes]:
    """What of a task's files is an image that models take, by what it begins with. Blocking."""
    held = (Path(path).read_bytes() for path in task.files)
    return [data for data in held if data.startswith(_IMAGES) or data[8:12] == b"WEBP"]


def _message(task: EngineTask, model: str, images: Sequence[bytes], there: int) -> dict[str, Any]:
    """The question, with the images where the model takes them; else it is told of them."""
    prompt = task.prompt.replace("\0", "")
    if there and not images:
        prompt += f"\n\n[{there} attached image(s) cannot be shown: {model} takes no images.]"
    message: dict[str, Any] = {"role": "user", "content": prompt}
    if images:
        message["images"] = [base64.b64encode(data).decode() for data in images]
    return message


def sees(body: bytes) -> bool:
    """Whether a model takes images, from an answer to ``/api/show``."""
    try:
        return "vision" in (get(json.loads(body), "capabilities") or ())
    except (ValueError, TypeError):
        return False


def address(text: str) -> str:
    """The base URL that ``base_url`` or ``OLLAMA_HOST`` means (a host, with port, or a URL)."""
    full = text.strip().rstrip("/")
    if "://" not in full:
        full = f"http://{full}"
        if urlsplit(full).port is None:
            full += ":11434"
    return full.replace("//0.0.0.0", "//127.0.0.1")


def models(body: bytes) -> list[str]:
    """The names of the models in an answer to ``/api/tags``."""
    try:
        listed = list_of(json.loads(body), "models")
    except ValueError:
        return []
    return [name for m in listed if (name := text_of(m, "name"))]


def window_of(body: bytes) -> int:
    """How many tokens a model can hold, from an answer to ``/api/show``; 0 where it is not told."""
    try:
        info = get(json.loads(body), "model_info")
    except ValueError:
        return 0
    return int_of(info, f"{text_of(info, 'general.architecture')}.context_length")


def tokens(text: str) -> tuple[int, int]:
    """How many tokens ``text`` is at the least and at the most (Korean takes about one each)."""
    plain = sum(1 for c in text if c < "\x80")
    other = len(text) - plain
    return plain // 5 + other // 2, plain // 3 + other * 3 // 2 + 64


ENGINE = Ollama
