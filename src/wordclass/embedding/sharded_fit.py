"""Learning from sharded corpora by any engine, in two passes of which only sums are kept.

The first pass counts terms and classes. These are integers, which add up in any order. Then the
terms are selected and their weights are known. The second pass adds up weights, shard by shard, in
an order that depends only on the numbers of the shards.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import add
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Ints, Sparse
from wordclass.corpus.labels import Codeframe, EncodedLabels, check_class_count, read_labelled_texts
from wordclass.corpus.selection import ReadSummary
from wordclass.corpus.shards import ShardedCorpus
from wordclass.corpus.splits import fold_numbers
from wordclass.embedding.counts import FoldCounts, WordClassCounts
from wordclass.embedding.cross_fit import embed_folds, multiply_folds
from wordclass.embedding.state import EmbeddingState, StateBuilder
from wordclass.embedding.updating import Labels, UpdatableEmbeddings
from wordclass.engines.engine import Job, open_engine
from wordclass.engines.tasks import Engine, tree_sum
from wordclass.errors import InputError, StorageError
from wordclass.storage import files
from wordclass.text import counting
from wordclass.text.counting import CountedTerms
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.text.vocabulary import TermCounts

_MAX_HELD_VALUES = 1 << 23  # of X, before they are added up
_NO_CLASSES = Codeframe((), "single")


class Corpus(Protocol):
    """A source of labelled texts: `ShardedCorpus` or `LabelledBlocks`."""

    items: Any

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        summary: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Yield texts and labels of one shard, block by block, and update the summary."""

    def conclude(self, summary: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe of all shards."""

    def without_items(self) -> "Corpus":
        """Return the corpus without its shards, which is all that workers need."""


@dataclass(frozen=True)
class LabelledBlocks:
    """Blocks of texts and labels in memory, as a corpus of one shard.

    Parameters
    ----------
    items : list
        The only item is an iterable of pairs of texts and labels.
    """

    items: Any

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        summary: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Yield texts and labels, block by block, and update the summary."""
        for block_texts, block_labels in item:
            texts, labels = read_labelled_texts(block_texts, block_labels, None)
            summary.n_docs += len(texts)
            yield texts, labels

    def conclude(self, summary: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe, which is single-label if the blocks say so after the iteration."""
        if getattr(self.items[0], "is_multilabel", True):
            return codeframe
        return replace(codeframe, kind="single")

    def without_items(self) -> "LabelledBlocks":
        """Return the blocks themselves, because they are never sent to workers."""
        return self


# --- the first pass ---------------------------------------------------------------------------


@dataclass
class TermsAndClasses:
    """Result of the first pass: terms, classes and a summary of the records. Results add up."""

    terms: CountedTerms
    codeframe: Codeframe
    summary: ReadSummary

    def __add__(self, other: "TermsAndClasses") -> "TermsAndClasses":
        return TermsAndClasses(
            TermCounts.of(self.terms) + TermCounts.of(other.terms),
            _unite(self.codeframe, other.codeframe),
            self.summary + other.summary,
        )

    def __getstate__(self) -> dict[str, Any]:
        # counts of the native engine are converted only if they leave the process
        return {**vars(self), "terms": TermCounts.of(self.terms)}


def _unite(one: Codeframe, other: Codeframe) -> Codeframe:
    """Return the classes of both codeframes. One without classes does not determine the kind."""
    if not one.classes or not other.classes:
        return one if one.classes else other
    return one | other


@dataclass
class CountTerms:
    """Task of an engine that counts the terms and classes of shards.

    Parameters
    ----------
    corpus : Corpus
        The corpus, without its shards.
    vectorizer : DocumentVectorizer
        Vectorizer with checked options.
    """

    corpus: Corpus
    vectorizer: DocumentVectorizer

    def __call__(self, items: Iterable[tuple[int, Any]]) -> TermsAndClasses:
        """Count the terms and classes of consecutive shards."""
        counter = counting.term_counter(self.vectorizer.build_analyzer(), self.vectorizer.n_jobs)
        codeframe = _NO_CLASSES
        summary = ReadSummary()
        for number, item in items:
            for texts, labels in self.corpus.blocks(number, item, summary):
                counter.add(texts)
                codeframe = _unite(codeframe, labels.codeframe)
        return TermsAndClasses(counter.finish(), codeframe, summary)


# --- the second pass --------------------------------------------------------------------------


@dataclass
class FoldSums:
    """Result of the second pass: the sums of each fold. Results add up."""

    n_docs: int
    counts: list[WordClassCounts]

    def __add__(self, other: "FoldSums") -> "FoldSums":
        pairs = zip(self.counts, other.counts, strict=True)
        return FoldSums(self.n_docs + other.n_docs, [one + another for one, another in pairs])


_Rows = tuple[Sparse, Sparse, Ints]  # X, Y and folds of a block


@dataclass
class SumWeights:
    """Task of an engine that adds up the weights of shards.

    Parameters
    ----------
    corpus : Corpus
        The corpus, without its shards.
    vectorizer : DocumentVectorizer
        Vectorizer with the vocabulary of all shards.
    codeframe : Codeframe
        Codeframe of all shards.
    needs : frozenset of str
        Names of the sums of shape (v, m) that are needed.
    folds : int, default=1
        Number of folds with separate sums. 1 means that there is one sum over all documents.
    seed : int, default=0
        Seed of the folds.
    """

    corpus: Corpus
    vectorizer: DocumentVectorizer
    codeframe: Codeframe
    needs: frozenset[str]
    folds: int = 1
    seed: int = 0

    def __call__(self, items: Iterable[tuple[int, Any]]) -> FoldSums:
        """Add up the weights of consecutive shards."""
        return tree_sum((self._sum_shard(number, item) for number, item in items), add)

    def _sum_shard(self, number: int, item: Any) -> FoldSums:  # noqa: ANN401
        held: list[_Rows] = []
        n_values = 0
        sums: FoldSums | None = None
        for texts, labels in self.corpus.blocks(number, item, ReadSummary()):
            X = self.vectorizer.transform(texts)
            held.append((X, labels.align_to(self.codeframe), self._number_folds(texts)))
            n_values += X.nnz
            if n_values > _MAX_HELD_VALUES:
                sums = self._add_rows(sums, held)
                held = []
                n_values = 0
        return self._add_rows(sums, held)

    def _number_folds(self, texts: list[str]) -> Ints:
        if self.folds == 1:
            return np.zeros(len(texts), np.int64)
        return fold_numbers(texts, self.folds, self.seed)

    def _add_rows(self, sums: FoldSums | None, held: list[_Rows]) -> FoldSums:
        """Add the sums of the documents that are held in memory."""
        # an empty block, because there may be no others
        no_X = sparse.csr_matrix((0, len(self.vectorizer.vocabulary_)))
        no_Y = sparse.csr_matrix((0, len(self.codeframe.classes)))
        no_folds = np.zeros(0, np.int64)
        X = sparse.vstack([no_X, *(block_X for block_X, _, _ in held)], format="csr")
        Y = sparse.vstack([no_Y, *(block_Y for _, block_Y, _ in held)], format="csr")
        folds = np.concatenate([no_folds, *(block_folds for _, _, block_folds in held)])
        if self.folds == 1:
            counts = [WordClassCounts.of(X, Y, self.needs)]
        else:
            fold_rows = [np.flatnonzero(folds == fold) for fold in range(self.folds)]
            counts = [WordClassCounts.of(X[rows], Y[rows], self.needs) for rows in fold_rows]
        held_sums = FoldSums(X.shape[0], counts)
        return held_sums if sums is None else sums + held_sums


# --- both passes ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShardedFit:
    """Result of a fit on a sharded corpus.

    Parameters
    ----------
    state : EmbeddingState
        The sums over all documents.
    summary : ReadSummary
        Facts about the records that were read.
    job : Job
        The job, for later passes with the same progress report.
    fold_counts : FoldCounts
        The sums of each fold.
    """

    state: EmbeddingState
    summary: ReadSummary
    job: Job
    fold_counts: FoldCounts


def fit_shards(
    builder: StateBuilder,
    corpus: Corpus,
    engine: Engine,
    *,
    folds: int = 1,
    seed: int = 0,
    n_later_passes: int = 0,
) -> ShardedFit:
    """Learn from a sharded corpus.

    Parameters
    ----------
    builder : StateBuilder
        The resolved options.
    corpus : Corpus
        The corpus.
    engine : Engine
        The engine that reads the shards.
    folds : int, default=1
        Number of folds with separate sums.
    seed : int, default=0
        Seed of the folds.
    n_later_passes : int, default=0
        Number of passes that the caller makes afterwards, for the progress report.
    """
    if builder.keep_documents:
        raise InputError(
            "keep_documents=True needs all texts in memory",
            hint="use fit, or keep_documents=False",
        )
    job = Job(engine, corpus.items, "learning", 2 + n_later_passes)
    reading = corpus.without_items()
    vectorizer = builder.vectorizer.checked()
    first = job.run(CountTerms(reading, vectorizer), "counting words")
    codeframe = corpus.conclude(first.summary, first.codeframe)
    vectorizer.choose_terms(first.terms)
    check_class_count(codeframe)
    task = SumWeights(
        corpus=reading,
        vectorizer=vectorizer,
        codeframe=codeframe,
        needs=builder.recipe.needs,
        folds=folds,
        seed=seed,
    )
    sums = job.run(task, "adding up weights")
    if sums.n_docs != first.summary.n_docs:
        raise StorageError(
            f"the corpus changed while it was read: {first.summary.n_docs:,} documents in the "
            f"first pass, {sums.n_docs:,} in the second",
            hint="start again, and do not change the files meanwhile",
        )
    total = tree_sum(sums.counts, add)
    fold_counts = FoldCounts(total, sums.counts.__getitem__, folds)
    state = EmbeddingState(vectorizer.vocabulary_, codeframe, total)
    return ShardedFit(state, first.summary, job, fold_counts)


# --- features of the documents --------------------------------------------------------------------


@dataclass
class WriteFeatures:
    """Task of an engine that writes cross-fitted features of shards.

    Parameters
    ----------
    corpus : Corpus
        The corpus, without its shards.
    vectorizer : DocumentVectorizer
        Fitted vectorizer.
    fold_vectors : list of arrays of shape (v, r)
        The embeddings without each fold.
    seed : int
        Seed of the folds.
    folder : str
        Folder of the new files.
    """

    corpus: Corpus
    vectorizer: DocumentVectorizer
    fold_vectors: list[Floats]
    seed: int
    folder: str

    def __call__(self, items: Iterable[tuple[int, Any]]) -> list[Path]:
        """Write one file per shard, and return the paths."""
        return [self._write_shard(number, item) for number, item in items]

    def _write_shard(self, number: int, item: Any) -> Path:  # noqa: ANN401
        features = [np.zeros((0, self.fold_vectors[0].shape[1]), np.float32)]
        for texts, _ in self.corpus.blocks(number, item, ReadSummary()):
            X = self.vectorizer.transform(texts)
            folds = fold_numbers(texts, len(self.fold_vectors), self.seed)
            features.append(multiply_folds(X, folds, self.fold_vectors.__getitem__))
        path = Path(self.folder, f"part-{number:05}.npy")
        with files.open_for_writing(path) as stream:
            np.save(stream, np.concatenate(features))
        return path


# --- methods of the estimator ---------------------------------------------------------------------


class ShardedEmbeddings(UpdatableEmbeddings):
    """Base class of `WordClassEmbeddings` with the methods that read sharded corpora."""

    folds: int
    seed: int
    seen_: ReadSummary

    def fit_blocks(self, blocks: Iterable[tuple[Iterable[str], Labels]]) -> Self:
        """Learn the vectors from labelled texts that come in blocks. Only sums are kept.

        Parameters
        ----------
        blocks : iterable of (texts, labels)
            Pairs of texts and labels. They are read twice, so this must be a list, or an object
            that starts from the beginning each time it is iterated over; a generator does not.
            Labels that are lists are multilabel, unless the object has an attribute
            `is_multilabel` that is false after the iteration, like `CorpusReader`.

        Returns
        -------
        WordClassEmbeddings
            The fitted embeddings themselves.

        Raises
        ------
        InputError
            An option, a text or a label is invalid, no term is left, or `blocks` is a generator.

        See Also
        --------
        WordClassEmbeddings.fit_parts : Learn from files.

        Examples
        --------
        >>> import wordclass as wc
        >>> blocks = [(["a moon"], ["sky"]), (["a rose"], ["garden"])]
        >>> wc.WordClassEmbeddings(min_docs=1).fit_blocks(blocks).terms_
        ['moon', 'rose']
        """
        if iter(blocks) is blocks:
            raise InputError(
                "blocks can be iterated over only once",
                expected="a list, or another object that can be iterated over twice",
            )
        return self.fit_parts(LabelledBlocks([blocks]))

    def fit_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see below
        *,
        engine: str | Engine = "in_sequence",
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """Learn the vectors from a sharded corpus by an engine. Only sums are kept.

        The terms are those of `fit`, and the vectors are equal except for rounding, whatever the
        shards and their order. The same shards give the same bits on every engine.

        Parameters
        ----------
        corpus : ShardedCorpus, or argument of `ShardedCorpus.of`
            The shards: files, patterns, addresses, a Dask bag or dataframe, or a Spark DataFrame.
        engine : str or Engine, default="in_sequence"
            Name of the engine, or an engine that `wc.engine` returned.
        **options : object
            Options of an engine that is given by name, see `wc.engine`.

        Returns
        -------
        WordClassEmbeddings
            The fitted embeddings themselves. The attribute `seen_` has the numbers of documents
            and of skipped records.

        Raises
        ------
        InputError
            An option or a record is invalid, or no term is left.
        EngineError
            The engine cannot be reached or failed.
        StorageError
            A file cannot be read, or the corpus changed while it was read.

        See Also
        --------
        ShardedCorpus : A corpus of several files.
        engine : Make an engine.

        Examples
        --------
        >>> import wordclass as wc
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "docs.csv")
        >>> with path.open("w") as file:
        ...     print("text,label", "a moon,sky", "a rose,garden", sep=chr(10), file=file)
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit_parts(path)
        >>> wce.terms_, wce.seen_.n_docs
        (['moon', 'rose'], 2)
        """
        builder = self._make_builder()
        with open_engine(engine, **options) as running:
            fit = fit_shards(builder, _to_sharded(corpus), running)
        self._adopt(builder, fit.state)
        self.seen_ = fit.summary
        return self

    def fit_transform_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see `fit_parts`
        folder: str | PathLike[str],
        *,
        engine: str | Engine = "in_sequence",
        **options: Any,  # noqa: ANN401
    ) -> list[Path]:
        """Learn the vectors from a sharded corpus, and write cross-fitted features of its texts.

        The features of a text equal those of `fit_transform`. Its fold is a hash of seed and text,
        so they do not depend on the shards.

        Parameters
        ----------
        corpus : ShardedCorpus, or argument of `ShardedCorpus.of`
            The shards, see `fit_parts`.
        folder : str or path-like
            Folder of the new files, which the workers of the engine must be able to access.
        engine : str or Engine, default="in_sequence"
            See `fit_parts`.
        **options : object
            See `fit_parts`.

        Returns
        -------
        list of Path
            One file per shard, named "part-00000.npy" and so on: float32 arrays of shape
            (documents of the shard, r).

        Raises
        ------
        InputError
            An option or a record is invalid, or no term is left.
        EngineError
            The engine cannot be reached or failed.
        StorageError
            A file cannot be read or written, or the corpus changed while it was read.

        See Also
        --------
        WordClassEmbeddings.fit_transform : The same for texts in memory.

        Examples
        --------
        >>> import wordclass as wc
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> with (folder / "docs.csv").open("w") as file:
        ...     print("text,label", "a moon,sky", "a rose,garden", sep=chr(10), file=file)
        >>> wce = wc.WordClassEmbeddings(min_docs=1, folds=2)
        >>> files = wce.fit_transform_parts(folder / "docs.csv", folder / "features")
        >>> files[0].name, np.load(files[0]).shape
        ('part-00000.npy', (2, 2))
        """
        builder = self._make_builder()
        sharded = _to_sharded(corpus)
        target = Path(folder)
        with open_engine(engine, **options) as running:
            fit = fit_shards(
                builder, sharded, running, folds=self.folds, seed=self.seed, n_later_passes=1
            )
            embed = self._adopt(builder, fit.state)
            self.seen_ = fit.summary
            task = WriteFeatures(
                corpus=sharded.without_items(),
                vectorizer=self.vectorizer_,
                fold_vectors=list(embed_folds(fit.fold_counts, embed)),
                seed=self.seed,
                folder=str(target.absolute()),
            )
            target.mkdir(parents=True, exist_ok=True)
            return fit.job.run(task, "writing features")


def _to_sharded(corpus: Any) -> Any:  # noqa: ANN401 - see `fit_parts`
    return corpus if hasattr(corpus, "conclude") else ShardedCorpus.of(corpus)
