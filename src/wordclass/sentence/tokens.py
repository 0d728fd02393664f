"""Vectors of tokens in their context, made by an encoder of texts and kept in files.

An encoder cuts a text into pieces of its own. The vector of one of our tokens is the mean of those
of all pieces that overlap it in the text, and zeros where none does. Of some hundred texts at a
time the vectors are one file in the folder of the caches, which is mapped into memory: work that
was killed goes on behind the last file that was finished, and another fit with the same texts
encodes nothing. The layout of a file: the number of dimensions in 8 bytes; the vectors, token after
token, as little-endian float16; a checksum of both.
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

_VERSION = 1  # of the files, and of how their vectors are made
_TEXTS = 500  # of a file; a multiple of those that networks of the paper's protocol read together
_AT_ONCE = 64  # texts encoded between two reports of progress
_WORTH_KEEPING = 32  # texts: fewer are encoded without a look at the cache
_STEP = "encoding tokens"
_HEADER, _CHECKSUM = 8, 16  # bytes


def require_token_vectors(encoder: SentenceEncoder) -> SentenceEncoder:
    """Return an encoder, or refuse one that has no vectors of tokens."""
    if not encoder.has_subword_vectors:
        raise InputError(
            f"context is {encoder.name}, a {encoder.kind}, which has no vectors of tokens in their "
            "context; expected 'minilm', or a folder of sentence-transformers"
        )
    return encoder


def token_vectors(
    encoder: SentenceEncoder,
    analyze: Analyze,
    texts: Sequence[str],
    max_length: int,
    n_jobs: int | None = None,
) -> Iterator[list[Float16s]]:
    """Give the vectors (t, d) of the tokens of each text, those of 500 texts at a time.

    Parameters
    ----------
    encoder : SentenceEncoder
        One that `checked_for_tokens` returned.
    analyze : Analyzer
        What cuts texts into tokens.
    texts : sequence of str
    max_length : int
        Of a longer text the first so many tokens have vectors; what follows them is not read.
    n_jobs : int, optional
        The number of threads.
    """
    if not isinstance(analyze, Analyzer) or analyze.ngrams != (1, 1):
        raise InputError(
            "context needs to know where in a text its words are, which this analyzer does not "
            "tell; expected None, or a wordclass.text.analyzer.Analyzer of single words"
        )
    for start in range(0, len(texts), _TEXTS):
        some = texts[start : start + _TEXTS]
        found = [analyze.tokens(text)[:max_length] for text in some]
        places = [np.array([each[1:] for each in own], np.int64).reshape(-1, 2) for own in found]
        read = [text[: own[:, 1].max(initial=0)] for text, own in zip(some, places, strict=True)]

        def report(done: int, before: int = start) -> None:
            progress.report(_STEP, before + done, len(texts))

        report(0)
        block = _found_or_made(encoder, read, places, n_jobs, report)
        yield np.split(block, np.cumsum([len(own) for own in places])[:-1])
        report(len(some))


def aligned(tokens: Ints, vectors: Floats32, pieces: Ints) -> Floats32:
    """Return for each token (t, d) the mean of the vectors of pieces that overlap it, or zeros.

    Parameters
    ----------
    tokens, pieces : arrays of shape (t, 2) and (p, 2)
        Where each begins in the text, and where it ends. Pieces that end where they begin stand for
        nothing in the text.
    vectors : array of shape (p, d)
        Of the pieces.
    """
    order = np.argsort(pieces[:, 0], kind="stable")
    order = order[pieces[order, 1] > pieces[order, 0]]
    starts, ends = pieces[order].T
    first = np.searchsorted(np.maximum.accumulate(ends), tokens[:, 0], "right")
    counts = np.maximum(np.searchsorted(starts, tokens[:, 1], "left") - first, 0)
    rows = np.concatenate([[0], np.cumsum(counts)])
    columns = np.arange(rows[-1]) + np.repeat(first - rows[:-1], counts)
    shares = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    mean = sparse.csr_matrix((shares, columns, rows), shape=(len(tokens), len(order)))
    found: Floats32 = mean @ vectors[order]
    return found


def _found_or_made(
    encoder: SentenceEncoder,
    texts: list[str],
    places: list[Ints],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> Float16s:
    """Return the vectors of all tokens of some texts, from their file where there is one."""
    if len(texts) < _WORTH_KEEPING:
        return _made(encoder, texts, places, n_jobs, report)
    pairs = zip(texts, places, strict=True)
    key = digest(f"{_VERSION} {encoder.fingerprint}", *(each for pair in pairs for each in pair))
    path, n_tokens = cache_folder() / f"{key}{TOKENS}", sum(map(len, places))
    found = _mapped(path, n_tokens)
    if found is None:
        made = _made(encoder, texts, places, n_jobs, report)
        _keep(path, made)
        found = _mapped(path, n_tokens)
        return made if found is None else found
    encoder.n_dims = found.shape[1]
    return found


def _made(
    encoder: SentenceEncoder,
    texts: list[str],
    places: list[Ints],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> Float16s:
    # the longest first: batches are padded little, and the time left is told well
    order = sorted(range(len(texts)), key=lambda k: -len(texts[k]))
    found = [np.empty((0, 0), np.float16)] * len(texts)
    for start in range(0, len(order), _AT_ONCE):
        part = order[start : start + _AT_ONCE]
        made = encoder.subword_vectors([texts[k] for k in part], n_jobs)
        for k, (vectors, pieces) in zip(part, made, strict=True):
            with np.errstate(over="ignore"):  # told below
                found[k] = aligned(places[k], vectors, pieces).astype(np.float16)
        report(min(start + _AT_ONCE, len(order)))
    block = np.concatenate(found)
    if not np.isfinite(block).all():
        raise InputError(
            f"the encoder {encoder.name} returned numbers that are not finite as float16"
        )
    encoder.n_dims = block.shape[1]
    return block


# --- files ----------------------------------------------------------------------------------


def _mapped(path: Path, n_tokens: int) -> Float16s | None:
    """Return the vectors that a file holds; None where there is none, or it is damaged."""
    try:
        with open_raw(path) as file:
            content = np.asarray(np.memmap(file, np.uint8, mode="r"))
        body = content[:-_CHECKSUM]
        if content[-_CHECKSUM:].tobytes() == _checksum(body):
            n_dims = int.from_bytes(body[:_HEADER].tobytes(), "little")
            vectors: Float16s = body[_HEADER:].view("<f2").reshape(n_tokens, n_dims)
            with suppress(OSError):
                os.utime(path)  # what was used last is removed last
            return vectors
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):  # among them that of an empty file
        pass
    told = f"{path} is damaged or cannot be read; its vectors are made again"
    warnings.warn(told, CacheWarning, stacklevel=2)
    return None


def _keep(path: Path, vectors: Float16s) -> None:
    """Write a file, which appears when it is complete, and remove old ones if there are many."""
    header = vectors.shape[1].to_bytes(_HEADER, "little")
    content = np.frombuffer(header + vectors.astype("<f2").tobytes(), np.uint8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_atomically(path) as temporary, temporary.open("wb") as out:
            out.write(content.data)
            out.write(_checksum(content))
    except OSError as error:  # StorageError is one
        told = f"{error}; the vectors of tokens are in memory, and not kept"
        warnings.warn(told, CacheWarning, stacklevel=2)
        return
    make_room(path)


def _checksum(content: NDArray[np.uint8]) -> bytes:
    return bytes.fromhex(digest(content, size=_CHECKSUM))
