"""What really came as a file: whether it is what it is called. Pure.

Nothing is unpacked or decoded: only how a file begins is looked at.
"""

from __future__ import annotations

from core.tongue import say_later

_HEAD = 512
_IMAGES: tuple[tuple[str, bytes, int], ...] = (
    ("PNG", b"\x89PNG\r\n\x1a\n", 0),
    ("JPEG", b"\xff\xd8\xff", 0),
    ("GIF", b"GIF8", 0),
    ("WebP", b"WEBP", 8),
    ("BMP", b"BM", 0),
    ("TIFF", b"II*\0", 0),
    ("TIFF", b"MM\0*", 0),
    ("HEIF", b"ftyp", 4),
    ("icon", b"\0\0\1\0", 0),
)
_PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"BZh", b"\xfd7zXZ")
_DRAWN = ("image/svg", "image/x-xcf", "image/vnd")  # images without such a beginning
_OFFICE = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".jar", ".apk", ".whl")


def not_a_file(name: str, mime: str, data: bytes) -> str:
    """Why what came is not the file that was sent, for agents and people; "" = it may be.

    A store of files that wants one to sign in, or has the file no more, answers with a page.
    """
    if not data:
        return say_later("it is empty")
    head = data[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    page = head.startswith((b"<!doctype html", b"<html"))
    meant = "html" in mime.lower() or name.lower().endswith((".html", ".htm", ".xhtml", ".txt"))
    told_otherwise = bool(mime) and not mime.lower().startswith("text/")
    if page and told_otherwise and not meant:
        return say_later("a web page came in its place")
    return ""


def noted(name: str, mime: str, data: bytes) -> str:
    """What an agent is told of a file that is not what it is called, or is packed; "" = nothing."""
    mime = mime.lower()
    if mime.startswith("image/") and not mime.startswith(_DRAWN) and not _image(data):
        return "sent as an image, which it is not by its contents"
    if data.startswith(_PACKED) and not name.lower().endswith(_OFFICE):
        return "an archive, not unpacked: mind how large it may become"
    return ""


def _image(data: bytes) -> bool:
    return any(data[at : at + len(sign)] == sign for _, sign, at in _IMAGES)
