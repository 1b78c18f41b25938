"""What can go wrong, in words that say what to do next."""

from __future__ import annotations


class MootError(Exception):
    """Root of everything Moot raises on purpose; the message is fit to be shown to a person."""


class BadInput(MootError):
    """Somebody typed something Moot cannot act on; the message says what would work."""


class PromptTooLong(BadInput):
    """A pack does not fit the window of the model that is to read it; says both sizes."""


class NotAllowed(MootError):
    """The one who acts has no right to; the message says who could give it."""


class BadSettings(MootError):
    """A setting is wrong or missing; the message names the key and the fix."""


class AlreadyRunning(MootError):
    """Another process holds the writer's lock on this storage folder."""


class ChatBusy(MootError):
    """The platform asked to wait ``retry_after_s`` seconds; nothing took effect."""

    def __init__(self, retry_after_s: float, why: str = "rate limited") -> None:
        super().__init__(f"{why}; trying again in {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class ChatUnsure(MootError):
    """The reply was lost (time-out, cut connection, 5xx): the act may have taken effect or not."""


class ChatRefused(MootError):
    """The platform said no, and would again; ``code`` is its own word for why.

    ``closed``: it is about the place, not about what was to be done there: nothing can be posted
    until the place changes (an archived channel, a locked thread, a right taken away).
    """

    def __init__(self, why: str, code: str = "", *, closed: bool = False) -> None:
        super().__init__(why)
        self.code = code
        self.closed = closed
