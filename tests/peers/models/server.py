"""The server: routes, bookkeeping, and the choice of a reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.peers.models import anthropic, chat, gemini, ollama, responses
from tests.peers.models.conversation import Conversation, Failure, Outcome, RawBody, Reply
from tests.peers.models.scenarios import SCENARIOS
from tests.peers.models.state import Seen, State, example_of, parse_directive, wanted_schema
from tests.peers.models.wire import Cut, sse

READERS = {
    "anthropic": anthropic.read_anthropic,
    "responses": responses.read_responses,
    "chat": chat.read_chat,
    "gemini": gemini.read_gemini,
    "ollama": ollama.read_ollama,
}

WRITERS = {
    "anthropic": (anthropic.anthropic_json, anthropic.anthropic_stream),
    "responses": (responses.responses_json, responses.responses_stream),
    "chat": (chat.chat_json, chat.chat_stream),
    "gemini": (gemini.gemini_json, gemini.gemini_stream),
    "ollama": (ollama.ollama_json, ollama.ollama_stream),
}
ERRORS: dict[str, Callable[[Failure], dict[str, Any]]] = {
    "anthropic": anthropic.anthropic_error,
    "responses": responses.openai_error,
    "chat": responses.openai_error,
    "gemini": gemini.gemini_error,
    "ollama": lambda f: {"error": f.message},
}

_SECRET = {"authorization", "x-api-key", "x-goog-api-key", "cookie"}


class FakeModels:
    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        default: str = "plain",
        log: str | None = None,
        keep_bodies: bool = False,
        ollama_models: tuple[str, ...] = ("fake-local:latest", "fake-coder:7b"),
    ) -> None:
        self.host, self.port = host, port
        self.default = default
        self.state = State()
        self.keep_bodies = keep_bodies
        self.ollama_models = ollama_models
        self._log = Path(log).open("a", buffering=1) if log else None  # noqa: SIM115 - closed by stop()
        self._runner: web.AppRunner | None = None

    # -- life ---------------------------------------------------------------

    async def start(self) -> FakeModels:
        app = web.Application(client_max_size=256 * 2**20)
        add = app.router.add_route
        add("GET", "/_fake/health", self._health)
        add("GET", "/_fake/requests", self._requests)
        add("POST", "/_fake/reset", self._reset)
        add("POST", "/_fake/scenario", self._set_default)
        add("POST", "/v1/messages/count_tokens", self._count_anthropic)
        add("POST", "/v1/messages", self._serve("anthropic"))
        add("POST", "/v1/responses", self._serve("responses"))
        add("POST", "/v1/chat/completions", self._serve("chat"))
        add("GET", "/v1/models", self._models)
        add("GET", "/v1/models/{id:.+}", self._model)
        add("POST", r"/{ver:v1beta\d?|v1alpha}/models/{call:.+}", self._gemini)
        add("POST", "/api/chat", self._serve("ollama"))
        add("POST", "/api/generate", self._serve("ollama"))
        add("GET", "/api/tags", self._tags)
        add("GET", "/api/ps", self._tags)
        add("GET", "/api/version", self._version)
        add("POST", "/api/show", self._show)
        add("POST", "/api/pull", self._pull)
        add("*", "/{rest:.*}", self._unknown)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()
        if self._log:
            self._log.close()

    async def __aenter__(self) -> FakeModels:
        return await self.start()

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def seen(self) -> list[Seen]:
        return self.state.seen

    # -- bookkeeping ----------------------------------------------------------

    def _note(self, request: web.Request, protocol: str, body: bytes = b"") -> Seen:
        headers = {
            k.lower(): ("***" if k.lower() in _SECRET else v) for k, v in request.headers.items()
        }
        seen = Seen(
            len(self.state.seen),
            time.time(),
            request.method,
            request.path,
            request.query_string,
            protocol,
            headers,
            body_bytes=len(body),
        )
        self.state.seen.append(seen)
        return seen

    def _close(self, seen: Seen, status: int) -> None:
        seen.status, seen.done_at = status, time.time()
        if self._log:
            rec = seen.public()
            if self.keep_bodies:
                rec["body"] = seen.body
            self._log.write(json.dumps(rec, ensure_ascii=False) + "\n")

    def _json(
        self, seen: Seen, data: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> web.Response:
        self._close(seen, status)
        return web.json_response(data, status=status, headers=headers)

    # -- the model call -------------------------------------------------------

    def _serve(self, protocol: str, model: str = "", stream: bool | None = None):
        async def handler(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            seen = self._note(request, protocol, body)
            try:
                data = json.loads(body)
                conv = READERS[protocol](data, model)
            except (ValueError, TypeError, KeyError, AttributeError) as err:
                f = Failure(400, "invalid", f"fake_models could not read this request: {err!r}")
                return self._json(seen, ERRORS[protocol](f), 400)
            if stream is not None:
                conv.stream = stream
            seen.body, seen.model, seen.side = data, conv.model, conv.side
            seen.step, seen.tools = conv.step, len(conv.tools)
            try:
                return await self._answer(request, conv, seen)
            except (asyncio.CancelledError, ConnectionResetError):
                seen.aborted = True
                self._close(seen, seen.status or 499)
                raise

        return handler

    def choose(self, conv: Conversation, seen: Seen | None = None) -> Outcome:
        """The reply for a conversation; separate so that tests can call it."""
        if conv.side:
            schema = wanted_schema(conv.raw)
            return Reply(text=json.dumps(example_of(schema)) if schema else "Fake title")
        found = parse_directive(conv.prompt) or parse_directive(f"@@fake {self.default}@@")
        name, args = found or ("plain", {})
        if seen:
            seen.directive = name
        fn = SCENARIOS.get(name)
        if fn is None:
            return Reply(text=f"(fake_models knows no scenario {name!r})")
        return fn(conv, args, self.state)

    async def _answer(
        self, request: web.Request, conv: Conversation, seen: Seen
    ) -> web.StreamResponse:
        out = self.choose(conv, seen)
        if isinstance(out, Failure) and not (out.in_stream and conv.stream):
            headers = {}
            if out.retry_after is not None:
                headers["retry-after"] = f"{out.retry_after:g}"
            return self._json(seen, ERRORS[conv.protocol](out), out.status, headers)
        if isinstance(out, RawBody):
            return await self._raw(request, out, seen)
        make_json, make_stream = WRITERS[conv.protocol]
        if not conv.stream:
            assert isinstance(out, Reply)
            await asyncio.sleep(out.first + out.delay * len(out.deltas()))
            return self._json(seen, make_json(conv, out))
        kind = "application/x-ndjson" if conv.protocol == "ollama" else "text/event-stream"
        resp = web.StreamResponse(headers={"Content-Type": kind, "Cache-Control": "no-cache"})
        if isinstance(out, Reply) and out.first:
            await asyncio.sleep(out.first)
        await resp.prepare(request)
        seen.status = 200
        if isinstance(out, Failure):
            await resp.write(self._stream_error(conv, out))
        else:
            try:
                async for piece in make_stream(conv, out):
                    await resp.write(piece)
            except Cut:
                self._close(seen, 200)
                if request.transport:
                    request.transport.abort()
                return resp
        await resp.write_eof()
        self._close(seen, 200)
        return resp

    @staticmethod
    def _stream_error(conv: Conversation, f: Failure) -> bytes:
        body = ERRORS[conv.protocol](f)
        if conv.protocol == "anthropic":
            return sse(body, "error")
        if conv.protocol == "responses":
            return sse(
                {
                    "type": "response.failed",
                    "sequence_number": 1,
                    "response": {
                        "id": "resp_fake",
                        "object": "response",
                        "status": "failed",
                        "output": [],
                        "error": {"code": body["error"]["code"], "message": f.message},
                    },
                },
                "response.failed",
            )
        if conv.protocol == "ollama":
            return (json.dumps(body) + "\n").encode()
        return sse(body)

    async def _raw(self, request: web.Request, out: RawBody, seen: Seen) -> web.StreamResponse:
        if out.hang:
            await asyncio.sleep(out.hang)
        resp = web.StreamResponse(status=out.status, headers={"Content-Type": out.content_type})
        await resp.prepare(request)
        if out.body:
            await resp.write(out.body)
        await resp.write_eof()
        self._close(seen, out.status)
        return resp

    # -- the rest of each API ---------------------------------------------------

    async def _count_anthropic(self, request: web.Request) -> web.Response:
        body = await request.read()
        seen = self._note(request, "anthropic", body)
        return self._json(seen, {"input_tokens": max(1, len(body) // 4)})

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        model, _, method = request.match_info["call"].rpartition(":")
        if method == "countTokens":
            body = await request.read()
            seen = self._note(request, "gemini", body)
            return self._json(seen, {"totalTokens": max(1, len(body) // 4)})
        return await self._serve("gemini", model, method == "streamGenerateContent")(request)

    async def _models(self, request: web.Request) -> web.Response:
        seen = self._note(request, "models")
        ids = ["fake-model", *self.ollama_models]
        return self._json(
            seen,
            {
                "object": "list",
                "has_more": False,
                "data": [
                    {
                        "id": i,
                        "object": "model",
                        "type": "model",
                        "display_name": i,
                        "created": 0,
                        "owned_by": "fake",
                    }
                    for i in ids
                ],
            },
        )

    async def _model(self, request: web.Request) -> web.Response:
        seen = self._note(request, "models")
        i = request.match_info["id"]
        return self._json(
            seen,
            {
                "id": i,
                "object": "model",
                "type": "model",
                "display_name": i,
                "created": 0,
                "owned_by": "fake",
            },
        )

    async def _tags(self, request: web.Request) -> web.Response:
        seen = self._note(request, "ollama")
        return self._json(
            seen,
            {
                "models": [
                    {
                        "name": n,
                        "model": n,
                        "modified_at": "2026-01-01T00:00:00Z",
                        "size": 1_000_000,
                        "digest": hashlib.sha256(n.encode()).hexdigest(),
                        "details": {
                            "format": "gguf",
                            "family": "fake",
                            "families": ["fake"],
                            "parameter_size": "7B",
                            "quantization_level": "Q4_0",
                        },
                    }
                    for n in self.ollama_models
                ]
            },
        )

    async def _version(self, request: web.Request) -> web.Response:
        return self._json(self._note(request, "ollama"), {"version": "0.30.0"})

    async def _show(self, request: web.Request) -> web.Response:
        body = await request.read()
        seen = self._note(request, "ollama", body)
        name = json.loads(body or b"{}").get("model", "")
        if name not in self.ollama_models:
            return self._json(seen, {"error": f"model '{name}' not found"}, 404)
        return self._json(
            seen,
            {
                "details": {"family": "fake", "parameter_size": "7B"},
                "model_info": {"general.architecture": "fake", "fake.context_length": 32768},
                "capabilities": ["completion", "tools", "thinking", *self.state.more_can],
            },
        )

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        seen = self._note(request, "ollama", await request.read())
        resp = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await resp.prepare(request)
        for status in ("pulling manifest", "verifying sha256 digest", "success"):
            await resp.write((json.dumps({"status": status}) + "\n").encode())
        await resp.write_eof()
        self._close(seen, 200)
        return resp

    async def _unknown(self, request: web.Request) -> web.Response:
        seen = self._note(request, "unknown", await request.read())
        if request.path == "/":
            self._close(seen, 200)
            return web.Response(text="Ollama is running")
        return self._json(
            seen,
            {
                "error": {
                    "type": "not_found_error",
                    "code": 404,
                    "message": f"fake_models has no {request.path}",
                }
            },
            404,
        )

    # -- control ----------------------------------------------------------------

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"ok": True, "requests": len(self.seen)})

    async def _requests(self, request: web.Request) -> web.Response:
        bodies = request.query.get("bodies") == "1"
        return web.json_response(
            [dict(s.public(), **({"body": s.body} if bodies else {})) for s in self.seen]
        )

    async def _reset(self, request: web.Request) -> web.Response:
        self.state.reset()
        return web.json_response({"ok": True})

    async def _set_default(self, request: web.Request) -> web.Response:
        self.default = (await request.json())["directive"]
        return web.json_response({"ok": True, "default": self.default})
