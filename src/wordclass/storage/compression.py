"""Streams that compress and decompress files, and the limit on their expansion."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from wordclass import catalogue
from wordclass.errors import FormatError
from wordclass.storage.addresses import Address

# zipfile and numpy raise these for a damaged archive: RuntimeError if a wrong bit demands a
# password or a version, MemoryError if a header announces an impossible size
ARCHIVE_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, MemoryError
)  # fmt: skip

# Real corpora compress 3 to 10 times, repetitive JSON about 100 times. A file that expands
# further is probably an attack on the memory, unless the result is small.
MAX_GROWTH = 200
MAX_FREE_BYTES = 64 << 20

_BUFFER_BYTES = 1 << 20
_GZIP_CHUNK_BYTES = 1 << 14  # expands to 16 MB at most
_ZSTD_CHUNK_BYTES = 1 << 10  # expands to 32 MB at most
_GZIP_WINDOW_BITS = 31  # of zlib: with the header and the checksum of gzip


@dataclass
class Growth:
    """A counter that refuses a file whose content is far larger than the file.

    Parameters
    ----------
    path : Path or Address
        The file, for the message.
    n_stored : int, default=0
        Number of bytes of the file that are known so far.
    remedy : str
        Advice for users whose file is legitimate, for the message.
    n_expanded : int, default=0
        Number of bytes of the content so far.
    """

    path: Path | Address
    n_stored: int = 0
    remedy: str = "decompress it first"
    n_expanded: int = 0

    def add(self, n_expanded: int, n_stored: int = 0) -> None:
        """Count bytes of the content, and bytes of the file that were not counted before.

        Raises
        ------
        FormatError
            The content is larger than `MAX_FREE_BYTES` and than `MAX_GROWTH` times the file.
        """
        self.n_expanded += n_expanded
        self.n_stored += n_stored
        if self.n_expanded > self.limit():
            raise self.error()

    def limit(self) -> int:
        """Return the number of bytes that the content may take."""
        return max(MAX_FREE_BYTES, MAX_GROWTH * self.n_stored)

    def error(self) -> FormatError:
        """Return the error for a file that expands too far."""
        problem = f"expands to more than {MAX_GROWTH:,} times its size"
        return FormatError(self.path, None, problem, hint=f"if you trust the file, {self.remedy}")


def decompress_stream(raw: BinaryIO, path: Path | Address, ending: str) -> BinaryIO:
    """Return a stream of the decompressed content of a .gz or .zst file."""
    codec = _gzip_codec() if ending == ".gz" else _zstd_codec(path)
    stream = _ChunkReader(_decompress_chunks(raw, path, codec))
    return cast("BinaryIO", io.BufferedReader(stream, _BUFFER_BYTES))


def compress_stream(raw: BinaryIO, path: Path | Address, ending: str) -> BinaryIO:
    """Return a stream that compresses into a .gz or .zst file.

    The same bytes give the same file. Closing the stream completes the compressed data and leaves
    `raw` open.
    """
    target: Any
    if ending == ".gz":
        target = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
    else:
        zstandard = catalogue.import_extra("zstandard", f"to write {path}")
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        target = compressor.stream_writer(raw, closefd=False)
    return cast("BinaryIO", io.BufferedWriter(_Compressor(target), _BUFFER_BYTES))


class _Codec(NamedTuple):
    """A format of compressed data. A file is a sequence of frames."""

    name: str
    chunk_bytes: int
    start_frame: Callable[[], Any]  # returns an object with decompress, eof and unused_data
    error: type[Exception]
    padding: bytes  # bytes that may follow a frame


def _gzip_codec() -> _Codec:
    def start_frame() -> Any:  # noqa: ANN401 - zlib does not export the type
        return zlib.decompressobj(_GZIP_WINDOW_BITS)

    return _Codec("gzip", _GZIP_CHUNK_BYTES, start_frame, zlib.error, b"\0")


def _zstd_codec(path: Path | Address) -> _Codec:
    zstandard = catalogue.import_extra("zstandard", f"to read {path}")

    def start_frame() -> Any:  # noqa: ANN401 - an optional package
        return zstandard.ZstdDecompressor().decompressobj()

    return _Codec("zstd", _ZSTD_CHUNK_BYTES, start_frame, zstandard.ZstdError, b"")


def _decompress_chunks(raw: BinaryIO, path: Path | Address, codec: _Codec) -> Iterator[bytes]:
    """Decompress a file chunk by chunk.

    A truncated file is an error. `zstandard.stream_reader` would end without one.
    """
    frame = None
    growth = Growth(path)
    while chunk := raw.read(codec.chunk_bytes):
        if frame is None and growth.n_stored > 0:
            chunk = chunk.lstrip(codec.padding)
        growth.add(0, len(chunk))
        while chunk:
            frame = frame or codec.start_frame()
            try:
                content = frame.decompress(chunk)
            except codec.error as error:
                raise FormatError(path, None, f"damaged {codec.name} data: {error}") from error
            yield content
            growth.add(len(content))
            chunk = b""
            if frame.eof:
                chunk = frame.unused_data.lstrip(codec.padding)
                frame = None
    if frame is not None:
        raise FormatError(path, None, f"damaged or cut short: a {codec.name} frame has no end")


class _ChunkReader(io.RawIOBase):
    """A stream over an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = filter(None, chunks)
        self._unread = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(cast("bytearray", buffer)).cast("B")
        self._unread = self._unread or memoryview(next(self._chunks, b""))
        n_bytes = min(len(target), len(self._unread))
        target[:n_bytes] = self._unread[:n_bytes]
        self._unread = self._unread[n_bytes:]
        return n_bytes


class _Compressor(io.RawIOBase):
    """A stream of the standard library around a compressor, which lacks some of its methods.

    It has no `fileno`, because numpy and polars would bypass the compressor and write to the file.
    """

    def __init__(self, target: Any) -> None:  # noqa: ANN401 - of gzip or zstandard
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:  # noqa: ANN401 - any object with a buffer
        self._target.write(content)
        return memoryview(content).nbytes

    def close(self) -> None:
        if not self.closed:
            try:
                self._target.close()
            finally:
                super().close()
