"""What can go wrong on the way to Discord, as data: matched per request, used up as it happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatch


@dataclass
class Fault:
    """One thing that goes wrong with the next ``times`` requests that match (``None``: for ever).

    ``status`` 0 cuts the connection without an answer, and ``-1`` lets the real answer through
    (after ``delay_s``). ``effect`` says whether the request is carried out first: a cut with
    effect is the post that was made and whose reply was lost.
    """

    method: str
    path: str
    times: int | None = 1
    status: int = 0
    effect: bool = False
    delay_s: float = 0.0
    body: dict[str, object] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hits: int = 0


class Faults:
    """The faults still to come; ``path`` is matched without the API prefix."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def take(self, method: str, path: str) -> Fault | None:
        for fault in self._armed:
            if fault.method in (method, "*") and fnmatch(path, fault.path):
                fault.hits += 1
                if fault.times is not None and fault.hits >= fault.times:
                    self._armed.remove(fault)
                return fault
        return None

    def arm(self, fault: Fault) -> Fault:
        self._armed.append(fault)
        return fault

    def clear(self) -> None:
        self._armed.clear()

    def lose_reply(
        self, method: str = "POST", path: str = "/channels/*/messages", times: int | None = 1
    ) -> Fault:
        """The request takes effect, and the connection is cut instead of an answer."""
        return self.arm(Fault(method, path, times, effect=True))

    def cut(
        self, method: str = "POST", path: str = "/channels/*/messages", times: int | None = 1
    ) -> Fault:
        """The connection is cut before anything took effect."""
        return self.arm(Fault(method, path, times))

    def rate_limit(
        self,
        retry_after_s: float,
        method: str = "POST",
        path: str = "/channels/*/messages",
        times: int | None = 1,
        *,
        via: bool = True,
    ) -> Fault:
        """A 429. Without ``via`` it is Cloudflare's, which discord.py never retries."""
        headers = {
            "Retry-After": str(max(1, round(retry_after_s))),
            "X-RateLimit-Scope": "user",
            "X-RateLimit-Limit": "5",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset-After": str(retry_after_s),
        }
        if via:
            headers["Via"] = "1.1 loopback"
        body: dict[str, object] = {
            "message": "You are being rate limited.",
            "retry_after": retry_after_s,
            "global": False,
        }
        return self.arm(Fault(method, path, times, status=429, body=body, headers=headers))

    def server_error(
        self,
        status: int = 502,
        method: str = "POST",
        path: str = "/channels/*/messages",
        times: int | None = 1,
        *,
        effect: bool = False,
    ) -> Fault:
        return self.arm(
            Fault(method, path, times, status=status, effect=effect, body={"message": "oops"})
        )

    def refuse(
        self, status: int, code: int, message: str, method: str, path: str, times: int | None = 1
    ) -> Fault:
        body: dict[str, object] = {"code": code, "message": message}
        return self.arm(Fault(method, path, times, status=status, body=body))

    def delay(
        self,
        delay_s: float,
        method: str = "POST",
        path: str = "/channels/*/messages",
        times: int | None = 1,
    ) -> Fault:
        """The request is carried out at once, its answer comes late."""
        return self.arm(Fault(method, path, times, status=-1, effect=True, delay_s=delay_s))
