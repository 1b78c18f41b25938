"""The model server as a program."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from tests.peers.models.scenarios import SCENARIOS
from tests.peers.models.server import FakeModels


async def _main(args: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sig in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sig, stop.set)
    async with FakeModels(
        host=args.host, port=args.port, default=args.scenario, log=args.log, keep_bodies=args.bodies
    ) as fake:
        print(
            json.dumps(
                {"event": "listening", "host": fake.host, "port": fake.port, "url": fake.url}
            ),
            flush=True,
        )
        await stop.wait()


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=0, help="0: any free port")
    p.add_argument("--scenario", default="plain", help='default directive, e.g. "error status=429"')
    p.add_argument("--log", help="append every request to this JSONL file")
    p.add_argument("--bodies", action="store_true", help="put request bodies into the log")
    p.add_argument("--list", action="store_true", help="list the scenarios and exit")
    args = p.parse_args()
    if args.list:
        for name, fn in sorted(SCENARIOS.items()):
            print(f"{name:10} {(fn.__doc__ or '').strip().splitlines()[0] if fn.__doc__ else ''}")
        return
    try:
        asyncio.run(_main(args))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
