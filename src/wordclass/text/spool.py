"""The texts of a corpus in parts, spooled to disk once, and X made of them by an engine.

What learns from texts that are not in memory reads them here: one after the other, some of them, or
part by part on the workers of an engine. The folder must be one that these reach.
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

_BLOCK = 4096  # texts that are worked on at a time


@dataclass(frozen=True)
class SpooledPart:
    """Some texts in a file: their bytes, one after the other, and in another where each ends."""

    path: str
    n_docs: int

    def texts(self, start: int = 0, end: int | None = None) -> list[str]:
        """Read texts by their numbers."""
        content, ends = _mapped(self.path)
        bounds = ends[start : (self.n_docs if end is None else end) + 1].tolist()
        return [
            bytes(content[first:last]).decode("utf-8", "surrogatepass")
            for first, last in pairwise(bounds)
        ]

    def blocks(self) -> Iterator[list[str]]:
        """Read all of them, a few thousand at a time."""
        for start in range(0, self.n_docs, _BLOCK):
            yield self.texts(start, min(start + _BLOCK, self.n_docs))


@lru_cache(maxsize=4)
def _mapped(path: str) -> tuple[Any, Ints]:
    ends: Ints = np.load(f"{path}.ends.npy")
    content: Any = np.memmap(path, np.uint8, "r") if ends[-1] else np.zeros(0, np.uint8)
    return content, ends


def _bytes_of(mapped: tuple[Any, Ints], place: int) -> bytes:
    """Return a text of a mapped file in UTF-8."""
    content, ends = mapped
    return bytes(content[ends[place] : ends[place + 1]])


def _write_part(path: Path, texts: Iterable[bytes]) -> SpooledPart:
    """Write texts in UTF-8 to a file, and where each ends to another."""
    lengths = [0]
    with files.open_for_writing(path) as stream:
        for text in texts:
            lengths.append(stream.write(text))
    with files.open_for_writing(Path(f"{path}.ends.npy")) as stream:
        np.save(stream, np.array([*accumulate(lengths)], np.int64))
    return SpooledPart(str(path), len(lengths) - 1)


@dataclass
class Spooled:
    """What came of spooling parts: the files, the labels of each, and what was seen; adds up."""

    parts: list[SpooledPart]
    labels: list[EncodedLabels]
    seen: ReadSummary

    def __add__(self, other: "Spooled") -> "Spooled":
        labels = self.labels + other.labels
        return Spooled(self.parts + other.parts, labels, self.seen + other.seen)


@dataclass
class SpoolParts:
    """Writes the texts of consecutive parts to files, and keeps their labels.

    Parameters
    ----------
    corpus : ShardedCorpus
        Without its parts.
    folder : str
        Where the files go.
    aside : Holdout, optional
        What is to be kept aside, and so left out.
    """

    corpus: ShardedCorpus
    folder: str
    aside: Holdout | None = None

    def __call__(self, items: Iterable[tuple[int, Any]]) -> Spooled:
        """Spool some parts."""
        return tree_sum((self._of_part(number, item) for number, item in items), add)

    def _of_part(self, number: int, item: Any) -> Spooled:  # noqa: ANN401
        path = Path(self.folder, f"texts-{number:05}")
        seen = ReadSummary()
        labels: list[EncodedLabels] = []
        part = _write_part(path, self._texts(number, item, seen, labels))
        return Spooled([part], labels, seen)

    def _texts(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        seen: ReadSummary,
        labels: list[EncodedLabels],
    ) -> Iterator[bytes]:
        """Yield the texts of a part in UTF-8 and append their labels."""
        for texts, encoded in self.corpus.blocks(number, item, seen):
            is_aside = np.zeros(len(texts), np.bool_)
            if self.aside is not None:
                is_aside = self.aside.contains(texts)
            rows = np.flatnonzero(~is_aside)
            labels.append(EncodedLabels(encoded.codeframe, encoded.Y[rows]))
            for row in rows:
                yield texts[row].encode("utf-8", "surrogatepass")


class SpooledTexts(Sequence[str]):
    """Texts that are on disk, in parts, for an engine to work on.

    Parameters
    ----------
    parts : list of SpooledPart
    folder : Path
        Where X goes, too.
    engine : Engine
    """

    def __init__(self, parts: list[SpooledPart], folder: Path, engine: Engine) -> None:
        self._parts, self._folder, self._engine = parts, folder, engine
        self._ends = [*accumulate(part.n_docs for part in parts)]
        self._numbers = count()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            for block in part.blocks():
                yield from block

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        which = bisect_right(self._ends, number)
        first = self._ends[which] - self._parts[which].n_docs
        (text,) = self._parts[which].texts(number - first, number - first + 1)
        return text

    def reordered(self, order: Ints) -> "SpooledTexts":
        """Return the same texts in another order, in new files of as many texts each.

        The old files are removed.
        """
        mapped = [_mapped.__wrapped__(part.path) for part in self._parts]
        starts = np.array([0, *self._ends])
        sources = np.searchsorted(starts, order, side="right") - 1
        places = (order - starts[sources]).tolist()
        located = zip(sources.tolist(), places, strict=True)
        parts = []
        for part in self._parts:
            path = Path(f"{part.path}-ordered")
            texts = (_bytes_of(mapped[k], place) for k, place in islice(located, part.n_docs))
            parts.append(_write_part(path, texts))
        del mapped
        _mapped.cache_clear()
        for part in self._parts:
            Path(part.path).unlink()
            Path(f"{part.path}.ends.npy").unlink()
        return SpooledTexts(parts, self._folder, self._engine)

    def vectorized(self, vectorizer: Any) -> Sparse:  # noqa: ANN401 - DocumentVectorizer
        """Fit a vectorizer, and return X (n, v), whose values are mapped from a file."""
        job = Job(self._engine, self._parts, "vectorizing", 2)
        counted = job.run(CountSpooled(vectorizer), "counting words")
        vectorizer.choose_terms(counted.terms)
        fitted = vectorizer.with_vocabulary(vectorizer.vocabulary_)
        name = self._folder / f"X-{next(self._numbers)}"
        sizes = job.run(WeighSpooled(fitted, str(name)), "weighing words")
        indptr = np.concatenate([[0], *sizes]).cumsum()
        values, columns = (_joined(name, kind, len(sizes)) for kind in ("values", "columns"))
        if not indptr[-1]:
            return sparse.csr_matrix((len(self), len(fitted.vocabulary_)), dtype=vectorizer.dtype)
        parts = np.memmap(values, vectorizer.dtype, "r"), np.memmap(columns, np.int32, "r"), indptr
        X = sparse.csr_matrix(parts, shape=(len(self), len(fitted.vocabulary_)))
        X.has_sorted_indices = X.has_canonical_format = True
        return X


def _joined(name: Path, kind: str, n_parts: int) -> Path:
    """Put the files of all parts behind each other, and remove them."""
    whole = Path(f"{name}.{kind}")
    with files.open_for_writing(whole) as target:
        for number in range(n_parts):
            part = Path(f"{name}-{number:05}.{kind}")
            with part.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 22)
            part.unlink()
    return whole


@dataclass
class CountedParts:
    """The terms of some parts; adds up."""

    terms: counting.CountedTerms

    def __add__(self, other: "CountedParts") -> "CountedParts":
        return CountedParts(TermCounts.of(self.terms) + TermCounts.of(other.terms))

    def __getstate__(self) -> dict[str, Any]:
        return {"terms": TermCounts.of(self.terms)}


@dataclass
class CountSpooled:
    """Counts the terms of consecutive parts."""

    vectorizer: Any

    def __call__(self, items: Iterable[tuple[int, SpooledPart]]) -> CountedParts:
        """Return the terms of some parts."""
        counter = counting.term_counter(self.vectorizer.build_analyzer(), self.vectorizer.n_jobs)
        for _, part in items:
            for texts in part.blocks():
                counter.add(texts)
        return CountedParts(counter.finish())


@dataclass
class WeighSpooled:
    """Writes the rows of X of consecutive parts: values and columns; returns the rows' lengths."""

    vectorizer: Any
    name: str
    endings: tuple[str, str] = field(default=("values", "columns"))

    def __call__(self, items: Iterable[tuple[int, SpooledPart]]) -> list[Ints]:
        """Write the files of some parts."""
        return [self._of_part(number, part) for number, part in items]

    def _of_part(self, number: int, part: SpooledPart) -> Ints:
        lengths = [np.zeros(0, np.int64)]
        values, columns = (Path(f"{self.name}-{number:05}.{kind}") for kind in self.endings)
        with (
            files.open_for_writing(values) as of_values,
            files.open_for_writing(columns) as of_columns,
        ):
            for texts in part.blocks():
                X = self.vectorizer.transform(texts)
                of_values.write(X.data.tobytes())
                of_columns.write(X.indices.astype(np.int32, copy=False).tobytes())
                lengths.append(np.diff(X.indptr).astype(np.int64))
        return np.concatenate(lengths)


def spool_corpus(
    corpus: ShardedCorpus, engine: Engine, folder: Path, aside: Holdout | None = None
) -> tuple[SpooledTexts, EncodedLabels, ReadSummary]:
    """Spool the texts of a corpus to a folder; return them, their labels, and what was seen."""
    work = SpoolParts(corpus.without_items(), str(folder.absolute()), aside)
    made = Job(engine, corpus.items, "reading", 1).run(work, f"{len(corpus):,} parts")
    codeframe = Codeframe((), "single")
    for labels in made.labels:
        codeframe = codeframe | labels.codeframe if codeframe.classes else labels.codeframe
    Y = sparse.vstack([labels.align_to(codeframe) for labels in made.labels], format="csr")
    concluded = corpus.conclude(made.seen, codeframe)
    return SpooledTexts(made.parts, folder, engine), EncodedLabels(concluded, Y), made.seen
