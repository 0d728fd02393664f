"""Where formats without a place for them keep the names of the dimensions: a side file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordclass.errors import FormatError, StorageError
from wordclass.storage import reading, replacing, uncompressed_name

Names = tuple[str | int, ...]


def sources(path: Path) -> list[Path]:
    """Return the files that decide what is read: a cache of it depends on them."""
    return [path, side_file(path)]


def side_file(path: Path) -> Path:
    """Return the place of the names that go with a file of vectors, compressed or not.

    Examples
    --------
    >>> side_file(Path("news.vec.gz")).name
    'news.vec.classes.json'
    """
    return path.with_name(uncompressed_name(path) + ".classes.json")


def to_json(names: Names) -> str:
    """Write names as a JSON list, in ASCII: lone surrogates survive."""
    return json.dumps(list(names))


def from_json(path: Path, text: str | bytes, n_dims: int) -> Names:
    """Read names that `to_json` wrote; there must be one a dimension."""
    try:
        names = json.loads(text)
    except ValueError as error:
        raise FormatError(path, None, f"the dimension names are no JSON: {error}") from error
    if not isinstance(names, list) or not all(type(name) in (str, int) for name in names):
        raise FormatError(path, None, "expected the dimension names as a JSON list of str or int")
    if len(names) != n_dims:
        raise FormatError(path, None, f"{len(names)} dimension names for {n_dims} dimensions")
    return tuple(names)


def read_beside(path: Path, n_dims: int) -> Names | None:
    """Read the side file of a file of vectors; None where there is none."""
    side = side_file(path)
    if not side.exists():
        return None
    with reading(side) as stream:
        return from_json(side, stream.read(), n_dims)


@contextmanager
def beside(path: Path, names: Names | None) -> Iterator[None]:
    """Replace the side file once the block, which writes the vectors, has ended well.

    Without names, one that is left from other vectors is removed.
    """
    side = side_file(path)
    if names is None:
        yield
        try:
            side.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{side}: names other vectors; remove it: {error}") from error
        return
    with replacing(side) as temporary:
        temporary.write_text(to_json(names), encoding="ascii")
        yield
