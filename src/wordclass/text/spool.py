"""Texts of a sharded corpus, copied to disk once, from which an engine makes X.

A learner reads texts that do not fit into memory from here: one after the other, by number, or
shard by shard on the workers of an engine. The workers must be able to access the folder.
"""

import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, count, islice, pairwise
from operator import add
from pathlib import Path
from typing import Any, overload

import numpy as np
from scipy import sparse

from wordclass.arrays import Ints, Sparse
from wordclass.corpus.labels import Codeframe, EncodedLabels
from wordclass.corpus.selection import ReadSummary
from wordclass.corpus.shards import ShardedCorpus
from wordclass.corpus.splits import Holdout
from wordclass.engines.engine import Job
from wordclass.engines.tasks import Engine, tree_sum
from wordclass.storage import files
from wordclass.text import counting
from wordclass.text.vocabulary import TermCounts

_BLOCK_TEXTS = 4096  # read at a time
_COPY_BYTES = 1 << 22  # copied at a time


@dataclass(frozen=True)
class SpooledShard:
    """Texts in a file of concatenated bytes. A second file has the end of each text.

    Parameters
    ----------
    path : str
        File with the bytes. The second file has the name `<path>.ends.npy`.
    n_docs : int
        Number of texts.
    """

    path: str
    n_docs: int

    def texts(self, start: int = 0, end: int | None = None) -> list[str]:
        """Read the texts with numbers from `start` up to, but not including, `end`."""
        content, ends = _map_file(self.path)
        bounds = ends[start : (self.n_docs if end is None else end) + 1].tolist()
        return [
            bytes(content[first:last]).decode("utf-8", "surrogatepass")
            for first, last in pairwise(bounds)
        ]

    def blocks(self) -> Iterator[list[str]]:
        """Read all texts, a few thousand at a time."""
        for start in range(0, self.n_docs, _BLOCK_TEXTS):
            yield self.texts(start, min(start + _BLOCK_TEXTS, self.n_docs))


@lru_cache(maxsize=4)
def _map_file(path: str) -> tuple[Any, Ints]:
    """Return the mapped bytes of all texts and the end of each text."""
    ends: Ints = np.load(f"{path}.ends.npy")
    content: Any = np.memmap(path, np.uint8, "r") if ends[-1] else np.zeros(0, np.uint8)
    return content, ends


def _get_bytes(mapped_file: tuple[Any, Ints], number: int) -> bytes:
    """Return a text of a mapped file in UTF-8."""
    content, ends = mapped_file
    return bytes(content[ends[number] : ends[number + 1]])


def _write_shard(path: Path, texts: Iterable[bytes]) -> SpooledShard:
    """Write texts in UTF-8 to a file, and their ends to another."""
    lengths = [0]
    with files.open_for_writing(path) as stream:
        for text in texts:
            lengths.append(stream.write(text))
    with files.open_for_writing(Path(f"{path}.ends.npy")) as stream:
        np.save(stream, np.array([*accumulate(lengths)], np.int64))
    return SpooledShard(str(path), len(lengths) - 1)


@dataclass
class SpooledCorpus:
    """Result of spooling consecutive shards. Results add up.

    Parameters
    ----------
    shards : list of SpooledShard
        The files.
    labels : list of EncodedLabels
        Labels of the texts, block by block.
    summary : ReadSummary
        Facts about the records that were read.
    """

    shards: list[SpooledShard]
    labels: list[EncodedLabels]
    summary: ReadSummary

    def __add__(self, other: "SpooledCorpus") -> "SpooledCorpus":
        return SpooledCorpus(
            self.shards + other.shards, self.labels + other.labels, self.summary + other.summary
        )


@dataclass
class SpoolShards:
    """Task of an engine that writes the texts of shards to files and collects their labels.

    Parameters
    ----------
    corpus : ShardedCorpus
        The corpus, without its shards.
    folder : str
        Folder of the new files.
    holdout : Holdout, optional
        Rule for the documents to leave out.
    """

    corpus: ShardedCorpus
    folder: str
    holdout: Holdout | None = None

    def __call__(self, items: Iterable[tuple[int, Any]]) -> SpooledCorpus:
        """Spool consecutive shards."""
        return tree_sum((self._spool(number, item) for number, item in items), add)

    def _spool(self, number: int, item: Any) -> SpooledCorpus:  # noqa: ANN401
        path = Path(self.folder, f"texts-{number:05}")
        summary = ReadSummary()
        labels: list[EncodedLabels] = []
        shard = _write_shard(path, self._encode_texts(number, item, summary, labels))
        return SpooledCorpus([shard], labels, summary)

    def _encode_texts(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        summary: ReadSummary,
        labels: list[EncodedLabels],
    ) -> Iterator[bytes]:
        """Yield the texts of a shard in UTF-8, and append their labels to `labels`."""
        for texts, encoded in self.corpus.blocks(number, item, summary):
            is_held_out = np.zeros(len(texts), np.bool_)
            if self.holdout is not None:
                is_held_out = self.holdout.contains(texts)
            rows = np.flatnonzero(~is_held_out)
            labels.append(EncodedLabels(encoded.codeframe, encoded.Y[rows]))
            for row in rows:
                yield texts[row].encode("utf-8", "surrogatepass")


class SpooledTexts(Sequence[str]):
    """Sequence of texts on disk that an engine can process shard by shard.

    Parameters
    ----------
    shards : list of SpooledShard
        Files with the texts.
    folder : Path
        Folder for the files of X.
    engine : Engine
        The engine.
    """

    def __init__(self, shards: list[SpooledShard], folder: Path, engine: Engine) -> None:
        self._shards = shards
        self._folder = folder
        self._engine = engine
        self._ends = [*accumulate(shard.n_docs for shard in shards)]
        self._matrix_numbers = count()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[str]:
        for shard in self._shards:
            for block in shard.blocks():
                yield from block

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        shard_number = bisect_right(self._ends, number)
        shard = self._shards[shard_number]
        start = number - (self._ends[shard_number] - shard.n_docs)
        (text,) = shard.texts(start, start + 1)
        return text

    def reordered(self, order: Ints) -> "SpooledTexts":
        """Return the same texts in another order, in new files with the same numbers of texts.

        The old files are removed.
        """
        mapped_files = [_map_file.__wrapped__(shard.path) for shard in self._shards]
        starts = np.array([0, *self._ends])
        file_numbers = np.searchsorted(starts, order, side="right") - 1
        numbers = (order - starts[file_numbers]).tolist()
        locations = zip(file_numbers.tolist(), numbers, strict=True)
        shards = []
        for shard in self._shards:
            path = Path(f"{shard.path}-ordered")
            texts = (
                _get_bytes(mapped_files[k], number) for k, number in islice(locations, shard.n_docs)
            )
            shards.append(_write_shard(path, texts))
        del mapped_files
        _map_file.cache_clear()
        for shard in self._shards:
            Path(shard.path).unlink()
            Path(f"{shard.path}.ends.npy").unlink()
        return SpooledTexts(shards, self._folder, self._engine)

    def vectorize(self, weigher: Any) -> tuple[Any, Sparse]:  # noqa: ANN401 - a TermWeigher
        """Return a fitted weigher and X (n, v), whose values are mapped from a file."""
        job = Job(self._engine, self._shards, "vectorizing", 2)
        counted = job.run(CountSpooledTerms(weigher), "counting words")
        fitted, _ = weigher.fit_counted(counted.terms)
        path = self._folder / f"X-{next(self._matrix_numbers)}"
        row_lengths = job.run(WeighSpooledTexts(fitted, str(path)), "weighing words")
        indptr = np.concatenate([[0], *row_lengths]).cumsum()
        values = _concatenate_files(path, "values", len(row_lengths))
        columns = _concatenate_files(path, "columns", len(row_lengths))
        shape = (len(self), len(fitted.vocabulary))
        if not indptr[-1]:
            return fitted, sparse.csr_matrix(shape, dtype=fitted.dtype)
        X = sparse.csr_matrix(
            (np.memmap(values, fitted.dtype, "r"), np.memmap(columns, np.int32, "r"), indptr),
            shape=shape,
        )
        X.has_sorted_indices = True
        X.has_canonical_format = True
        return fitted, X


def _concatenate_files(path: Path, ending: str, n_shards: int) -> Path:
    """Concatenate the files of all shards, and remove them."""
    target = Path(f"{path}.{ending}")
    with files.open_for_writing(target) as target_stream:
        for number in range(n_shards):
            source = Path(f"{path}-{number:05}.{ending}")
            with source.open("rb") as source_stream:
                shutil.copyfileobj(source_stream, target_stream, _COPY_BYTES)
            source.unlink()
    return target


@dataclass
class SpooledTermCounts:
    """Counts of the terms of consecutive shards. Counts add up."""

    terms: counting.CountedTerms

    def __add__(self, other: "SpooledTermCounts") -> "SpooledTermCounts":
        return SpooledTermCounts(TermCounts.of(self.terms) + TermCounts.of(other.terms))

    def __getstate__(self) -> dict[str, Any]:
        return {"terms": TermCounts.of(self.terms)}


@dataclass
class CountSpooledTerms:
    """Task of an engine that counts the terms of shards.

    Parameters
    ----------
    weigher : TermWeigher
        Has the analyzer.
    """

    weigher: Any

    def __call__(self, items: Iterable[tuple[int, SpooledShard]]) -> SpooledTermCounts:
        """Count the terms of consecutive shards."""
        counter = counting.term_counter(self.weigher.analyze, self.weigher.n_jobs)
        for _, shard in items:
            for texts in shard.blocks():
                counter.add(texts)
        return SpooledTermCounts(counter.finish())


@dataclass
class WeighSpooledTexts:
    """Task of an engine that writes the values and columns of X of shards to files.

    Parameters
    ----------
    weigher : TermWeigher
        The fitted weigher.
    path : str
        Start of the names of the files.
    endings : tuple of str
        Endings of the files of values and of columns.
    """

    weigher: Any
    path: str
    endings: tuple[str, str] = field(default=("values", "columns"))

    def __call__(self, items: Iterable[tuple[int, SpooledShard]]) -> list[Ints]:
        """Write the files of consecutive shards, and return the lengths of their rows."""
        return [self._write_rows(number, shard) for number, shard in items]

    def _write_rows(self, number: int, shard: SpooledShard) -> Ints:
        lengths = [np.zeros(0, np.int64)]
        values, columns = (Path(f"{self.path}-{number:05}.{ending}") for ending in self.endings)
        with (
            files.open_for_writing(values) as value_stream,
            files.open_for_writing(columns) as column_stream,
        ):
            for texts in shard.blocks():
                X = self.weigher.transform(texts)
                value_stream.write(X.data.tobytes())
                column_stream.write(X.indices.astype(np.int32, copy=False).tobytes())
                lengths.append(np.diff(X.indptr).astype(np.int64))
        return np.concatenate(lengths)


def spool_corpus(
    corpus: ShardedCorpus, engine: Engine, folder: Path, holdout: Holdout | None = None
) -> tuple[SpooledTexts, EncodedLabels, ReadSummary]:
    """Copy the texts of a corpus to a folder.

    Parameters
    ----------
    corpus : ShardedCorpus
        The corpus.
    engine : Engine
        The engine that reads and writes.
    folder : Path
        Folder of the new files. The workers of the engine must be able to access it.
    holdout : Holdout, optional
        Rule for the documents to leave out.

    Returns
    -------
    texts : SpooledTexts
        The texts on disk.
    labels : EncodedLabels
        Their labels, in memory.
    summary : ReadSummary
        Facts about the records that were read.
    """
    task = SpoolShards(corpus.without_items(), str(folder.absolute()), holdout)
    spooled = Job(engine, corpus.items, "reading", 1).run(task, f"{len(corpus):,} shards")
    codeframe = Codeframe((), "single")
    for labels in spooled.labels:
        codeframe = codeframe | labels.codeframe if codeframe.classes else labels.codeframe
    Y = sparse.vstack([labels.align_to(codeframe) for labels in spooled.labels], format="csr")
    codeframe = corpus.conclude(spooled.summary, codeframe)
    texts = SpooledTexts(spooled.shards, folder, engine)
    return texts, EncodedLabels(codeframe, Y), spooled.summary
