"""Vectors of tokens in context, computed by a sentence encoder and cached in files.

An encoder splits a text into subwords. The vector of a token is the mean of the vectors of all
subwords that overlap it in the text, or zero if there are none. The vectors of each 500 texts form
one file in the cache folder, which is mapped into memory. A killed run resumes after the last
finished file, and another fit with the same texts encodes nothing. A file holds the number of
dimensions (8 bytes), the vectors, token after token, as little-endian float16, and a checksum of
both.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats32, Ints
from wordclass.errors import InputError
from wordclass.sentence.cache import TOKENS, CacheWarning, cache_folder, make_room
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.storage.files import open_raw, replace_atomically
from wordclass.storage.state import digest
from wordclass.text.analyzer import Analyze, Analyzer

Float16s = NDArray[np.float16]

_VERSION = 1  # of the files, and of the way their vectors are computed
_TEXTS_PER_FILE = 500  # a multiple of the batch size of the paper's protocol
_TEXTS_PER_STEP = 64  # encoded between two reports of progress
_MIN_TEXTS_TO_CACHE = 32
_PROGRESS_STEP = "encoding tokens"
_HEADER_BYTES = 8
_CHECKSUM_BYTES = 16


def require_token_vectors(encoder: SentenceEncoder) -> SentenceEncoder:
    """Return the encoder, or raise an InputError if it has no vectors of tokens in context."""
    if not encoder.has_subword_vectors:
        raise InputError(
            f"context is {encoder.name}, which has no vectors of tokens in context (it is of the "
            f"kind {encoder.kind!r})",
            expected="'minilm' or a folder of sentence-transformers",
        )
    return encoder


def token_vectors(
    encoder: SentenceEncoder,
    analyze: Analyze,
    texts: Sequence[str],
    max_length: int,
    n_jobs: int | None = None,
) -> Iterator[list[Float16s]]:
    """Yield the vectors (t, d) of the tokens of each text, for 500 texts at a time.

    Parameters
    ----------
    encoder : SentenceEncoder
        An encoder that `require_token_vectors` accepted.
    analyze : Analyzer
        The analyzer that splits texts into tokens.
    texts : sequence of str
        The texts.
    max_length : int
        The number of tokens of a text that have vectors. The encoder does not read later ones.
    n_jobs : int, optional
        The number of threads.
    """
    if not isinstance(analyze, Analyzer) or analyze.ngrams != (1, 1):
        raise InputError(
            "the analyzer does not give the positions of single words in a text, which the option "
            "context needs",
            expected="None, or a wordclass.text.analyzer.Analyzer of single words",
        )
    for start in range(0, len(texts), _TEXTS_PER_FILE):
        file_texts = texts[start : start + _TEXTS_PER_FILE]
        tokens = [analyze.tokens(text)[:max_length] for text in file_texts]
        spans = [
            np.array([token[1:] for token in text_tokens], np.int64).reshape(-1, 2)
            for text_tokens in tokens
        ]
        cut_texts = [
            text[: text_spans[:, 1].max(initial=0)]
            for text, text_spans in zip(file_texts, spans, strict=True)
        ]

        def report(n_texts: int, n_before: int = start) -> None:
            progress.report(_PROGRESS_STEP, n_before + n_texts, len(texts))

        report(0)
        block = _load_or_encode(encoder, cut_texts, spans, n_jobs, report)
        ends = np.cumsum([len(text_spans) for text_spans in spans])
        yield np.split(block, ends[:-1])
        report(len(file_texts))


def average_subwords(tokens: Ints, vectors: Floats32, subwords: Ints) -> Floats32:
    """Return, for each token, the mean (t, d) of the vectors of all subwords that overlap it.

    Parameters
    ----------
    tokens : array of shape (t, 2)
        The start and end of each token in the text.
    vectors : array of shape (p, d)
        The vectors of the subwords.
    subwords : array of shape (p, 2)
        The start and end of each subword. Subwords of zero length do not belong to the text.
    """
    order = np.argsort(subwords[:, 0], kind="stable")
    order = order[subwords[order, 1] > subwords[order, 0]]
    starts, ends = subwords[order].T
    first = np.searchsorted(np.maximum.accumulate(ends), tokens[:, 0], "right")
    counts = np.maximum(np.searchsorted(starts, tokens[:, 1], "left") - first, 0)
    rows = np.concatenate([[0], np.cumsum(counts)])
    columns = np.arange(rows[-1]) + np.repeat(first - rows[:-1], counts)
    shares = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    mean = sparse.csr_matrix((shares, columns, rows), shape=(len(tokens), len(order)))
    averaged: Floats32 = mean @ vectors[order]
    return averaged


def _load_or_encode(
    encoder: SentenceEncoder,
    texts: list[str],
    spans: list[Ints],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> Float16s:
    """Return the vectors of all tokens of some texts, from their file if it exists."""
    if len(texts) < _MIN_TEXTS_TO_CACHE:
        return _encode(encoder, texts, spans, n_jobs, report)
    contents = [
        content
        for text, text_spans in zip(texts, spans, strict=True)
        for content in (text, text_spans)
    ]
    key = digest(f"{_VERSION} {encoder.fingerprint}", *contents)
    path = cache_folder() / f"{key}{TOKENS}"
    n_tokens = sum(map(len, spans))
    cached = _map_file(path, n_tokens)
    if cached is None:
        encoded = _encode(encoder, texts, spans, n_jobs, report)
        _write_file(path, encoded)
        cached = _map_file(path, n_tokens)
        return encoded if cached is None else cached
    encoder.n_dims = cached.shape[1]
    return cached


def _encode(
    encoder: SentenceEncoder,
    texts: list[str],
    spans: list[Ints],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> Float16s:
    """Return the vectors of all tokens of some texts."""
    # longest texts first: batches need little padding, and the remaining time is predictable
    order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    vectors = [np.empty((0, 0), np.float16)] * len(texts)
    for start in range(0, len(order), _TEXTS_PER_STEP):
        rows = order[start : start + _TEXTS_PER_STEP]
        encoded = encoder.subword_vectors([texts[row] for row in rows], n_jobs)
        for row, (subword_vectors, subwords) in zip(rows, encoded, strict=True):
            averaged = average_subwords(spans[row], subword_vectors, subwords)
            with np.errstate(over="ignore"):  # an overflow is refused below
                vectors[row] = averaged.astype(np.float16)
        report(min(start + _TEXTS_PER_STEP, len(order)))
    block = np.concatenate(vectors)
    if not np.isfinite(block).all():
        raise InputError(
            f"the encoder {encoder.name} returned numbers that are not finite in float16",
            expected="numbers between -65504 and 65504",
        )
    encoder.n_dims = block.shape[1]
    return block


# --- files ----------------------------------------------------------------------------------


def _map_file(path: Path, n_tokens: int) -> Float16s | None:
    """Return the vectors in a file, or None if it is missing or damaged."""
    try:
        with open_raw(path) as file:
            content = np.asarray(np.memmap(file, np.uint8, mode="r"))
        body = content[:-_CHECKSUM_BYTES]
        if content[-_CHECKSUM_BYTES:].tobytes() == _checksum(body):
            n_dims = int.from_bytes(body[:_HEADER_BYTES].tobytes(), "little")
            vectors: Float16s = body[_HEADER_BYTES:].view("<f2").reshape(n_tokens, n_dims)
            with suppress(OSError):
                os.utime(path)  # files that were not used for long are removed first
            return vectors
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):  # an empty file raises ValueError
        pass
    message = f"{path} is damaged or cannot be read; its vectors are computed again"
    warnings.warn(message, CacheWarning, stacklevel=2)
    return None


def _write_file(path: Path, vectors: Float16s) -> None:
    """Write a file atomically and remove old files if the cache is full."""
    header = vectors.shape[1].to_bytes(_HEADER_BYTES, "little")
    content = np.frombuffer(header + vectors.astype("<f2").tobytes(), np.uint8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_atomically(path) as temporary, temporary.open("wb") as out:
            out.write(content.data)
            out.write(_checksum(content))
    except OSError as error:  # including StorageError
        message = f"the vectors of tokens are not cached: {error}"
        warnings.warn(message, CacheWarning, stacklevel=2)
        return
    make_room(path)


def _checksum(content: NDArray[np.uint8]) -> bytes:
    return bytes.fromhex(digest(content, size=_CHECKSUM_BYTES))
