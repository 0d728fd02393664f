"""The page: its files, as a service hands them out, or all in one file that works from disk."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_STATIC = Path(__file__).parent / "static"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


@dataclass(frozen=True)
class Page:
    """The files of the page, to be handed out by a service."""

    @cached_property
    def files(self) -> dict[str, tuple[bytes, str]]:
        """The content of each file, and its media type."""
        return {
            path.name: (path.read_bytes(), _MEDIA[path.suffix])
            for path in sorted(_STATIC.iterdir())
            if path.suffix in _MEDIA
        }
