"""A loopback stand-in for the model APIs that coding-agent CLIs talk to.

One small aiohttp server speaks five wire protocols, so that the *real* command
line agents can be driven offline in tests and CI:

===========  =======================================================  ===================
protocol     routes                                                   real client
===========  =======================================================  ===================
anthropic    POST /v1/messages, POST /v1/messages/count_tokens        Claude Code
responses    POST /v1/responses                                       Codex
chat         POST /v1/chat/completions, GET /v1/models                OpenCode
gemini       POST /v1beta/models/M:{generateContent,                  Gemini CLI
             streamGenerateContent,countTokens}
ollama       POST /api/chat, /api/generate, /api/show, /api/pull,     ollama clients
             GET /api/tags, /api/ps, /api/version
===========  =======================================================  ===================

How a reply is chosen
---------------------
The server keeps no conversation: like a real model it sees the whole history
in each request.  The last user prompt in that history is searched for a
*directive*::

    @@fake NAME key=value key="value with spaces"@@

and NAME picks a scenario from ``SCENARIOS`` below (``tool``, ``error``,
``slow`` ...).  A prompt with no directive gets the server's default scenario
(``plain``; ``--scenario``, ``POST /_fake/scenario`` or
``FakeModels(default=...)`` change it).  A scenario is a plain function
``(Conversation, args, state) -> Reply | Failure``; the number of tool results
that follow the last user prompt (``conv.step``) says how far a multi-step
scenario has come.  Because the choice travels in the prompt, tests can run in
parallel against one server.

Requests that an agent makes *beside* the user's turn (titles for the session
list, routing classifiers, topic detection ...) are recognised by
``Conversation.side`` and get a harmless canned answer, so an ``error``
directive does not fire in them.

Control routes
--------------
``GET /_fake/requests``   what arrived: JSON list (``Seen.public()``)
``POST /_fake/reset``     forget requests and counters
``POST /_fake/scenario``  {"directive": "error status=429"} sets the default
``GET /_fake/health``     {"ok": true}

Use
---
In a test::

    async with FakeModels() as fake:
        env["ANTHROPIC_BASE_URL"] = fake.url            # Claude Code
        env["GOOGLE_GEMINI_BASE_URL"] = fake.url        # Gemini CLI
        base_url = fake.url + "/v1"                     # Codex, OpenCode
        env["OLLAMA_HOST"] = fake.url                   # ollama clients
        ...
        assert fake.seen[-1].directive == "tool"

From a shell: ``python -m tests.peers.models --port 8099 [--log requests.jsonl]``; the first
line on stdout is ``{"event": "listening", "port": 8099, ...}`` (``--port 0``
takes any free port).

Only aiohttp is needed.  Binds to 127.0.0.1 unless told otherwise.
"""

from tests.peers.models.server import FakeModels

__all__ = ["FakeModels"]
