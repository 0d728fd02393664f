"""Learning from a corpus in parts, by any engine: two passes, of which only sums are kept.

The first pass counts terms and classes: whole numbers, which add up in any order. Then it is known
which terms are kept, and what they weigh; the second pass adds up weights, part by part, in an
order that follows from the numbers of the parts alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import add
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Ints, Sparse
from wordclass.corpus.labels import Codeframe, EncodedLabels, check_class_count, read_labelled_texts
from wordclass.corpus.selection import ReadSummary
from wordclass.corpus.splits import fold_numbers, fold_splits
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.state import EmbeddingState, StateBuilder
from wordclass.engines.engine import Job
from wordclass.engines.tasks import Engine, tree_sum
from wordclass.errors import InputError, StorageError
from wordclass.storage import files
from wordclass.text import counting
from wordclass.text.counting import CountedTerms
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.text.vocabulary import TermCounts

_MOST_VALUES = 1 << 23  # of X, that are held at a time
_NOTHING = Codeframe((), "single")


class Corpus(Protocol):
    """What can be learned from: `ShardedCorpus`, or blocks that were given."""

    items: Any

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        seen: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Give texts and their labels of one part, block by block."""

    def conclude(self, seen: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe of all parts."""

    def without_items(self) -> "Corpus":
        """Return how the parts are read, without the parts."""


@dataclass(frozen=True)
class GivenBlocks:
    """Blocks of texts and labels, in any form, as a corpus of one part."""

    items: Any

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        seen: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Give texts and their labels, block by block."""
        for given, given_labels in item:
            texts, labels = read_labelled_texts(given, given_labels, None)
            seen.n_docs += len(texts)
            yield texts, labels

    def conclude(self, seen: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe, of single labels where the blocks say so afterwards."""
        if getattr(self.items[0], "is_multilabel", True):
            return codeframe
        return replace(codeframe, kind="single")

    def without_items(self) -> "GivenBlocks":
        """Return itself: there is nothing to be sent anywhere."""
        return self


# --- the first pass ---------------------------------------------------------------------------


@dataclass
class FirstSums:
    """Terms, classes, and what was seen of the records; adds up."""

    terms: CountedTerms
    codeframe: Codeframe
    seen: ReadSummary

    def __add__(self, other: "FirstSums") -> "FirstSums":
        terms = TermCounts.of(self.terms) + TermCounts.of(other.terms)
        return FirstSums(terms, _joined(self.codeframe, other.codeframe), self.seen + other.seen)

    def __getstate__(self) -> dict[str, Any]:
        # what the native engine counted stays in its process until somebody asks for it
        return {**vars(self), "terms": TermCounts.of(self.terms)}


def _joined(one: Codeframe, other: Codeframe) -> Codeframe:
    """Return the classes of both; a part without documents has no kind of labels."""
    if not one.classes or not other.classes:
        return one if one.classes else other
    return one | other


@dataclass
class CountTerms:
    """Counts the terms and classes of consecutive parts."""

    corpus: Corpus
    vectorizer: DocumentVectorizer

    def __call__(self, items: Iterable[tuple[int, Any]]) -> FirstSums:
        """Return the sums over some parts."""
        counter = counting.term_counter(self.vectorizer.build_analyzer(), self.vectorizer.n_jobs)
        codeframe, seen = _NOTHING, ReadSummary()
        for number, item in items:
            for texts, labels in self.corpus.blocks(number, item, seen):
                counter.add(texts)
                codeframe = _joined(codeframe, labels.codeframe)
        return FirstSums(counter.finish(), codeframe, seen)


# --- the second pass --------------------------------------------------------------------------


@dataclass
class SecondSums:
    """The sums of each fold, or of all documents; adds up."""

    n_docs: int
    counts: list[WordClassCounts]

    def __add__(self, other: "SecondSums") -> "SecondSums":
        pairs = zip(self.counts, other.counts, strict=True)
        return SecondSums(self.n_docs + other.n_docs, [one + another for one, another in pairs])


@dataclass
class SumWeights:
    """Adds up the weights of consecutive parts.

    Parameters
    ----------
    corpus : Corpus
    vectorizer : DocumentVectorizer
        Fitted by the vocabulary of all parts.
    codeframe : Codeframe
        Of all parts.
    needs : collection of str
        Which sums of size v x m.
    folds, seed : int
        Of how many folds there are sums, each by itself; 1: of all documents together.
    """

    corpus: Corpus
    vectorizer: DocumentVectorizer
    codeframe: Codeframe
    needs: frozenset[str]
    folds: int = 1
    seed: int = 0

    def __call__(self, items: Iterable[tuple[int, Any]]) -> SecondSums:
        """Return the sums over some parts."""
        return tree_sum((self._of_part(number, item) for number, item in items), add)

    def _of_part(self, number: int, item: Any) -> SecondSums:  # noqa: ANN401
        held, n_values = list[tuple[Sparse, Sparse, Ints]](), 0
        sums: SecondSums | None = None
        for texts, labels in self.corpus.blocks(number, item, ReadSummary()):
            X = self.vectorizer.transform(texts)
            held.append((X, labels.align_to(self.codeframe), self._folds_of(texts)))
            n_values += X.nnz
            if n_values > _MOST_VALUES:
                sums = self._plus(sums, held)
                held, n_values = [], 0
        return self._plus(sums, held)

    def _folds_of(self, texts: list[str]) -> Ints:
        if self.folds == 1:
            return np.zeros(len(texts), np.int64)
        return fold_numbers(texts, self.folds, self.seed)

    def _plus(self, sums: SecondSums | None, held: list[tuple[Sparse, Sparse, Ints]]) -> SecondSums:
        """Add the sums of the documents that are held."""
        nothing = sparse.csr_matrix((0, len(self.vectorizer.vocabulary_)))
        X = sparse.vstack([nothing, *(each for each, _, _ in held)], format="csr")
        none = sparse.csr_matrix((0, len(self.codeframe.classes)))
        Y = sparse.vstack([none, *(each for _, each, _ in held)], format="csr")
        folds = np.concatenate([np.zeros(0, np.int64), *(each for _, _, each in held)])
        by_fold = [np.flatnonzero(folds == fold) for fold in range(self.folds)]
        if self.folds == 1:
            counts = [WordClassCounts.of(X, Y, self.needs)]
        else:
            counts = [WordClassCounts.of(X[rows], Y[rows], self.needs) for rows in by_fold]
        made = SecondSums(X.shape[0], counts)
        return made if sums is None else sums + made


# --- both -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedInParts:
    """What was learned, what was seen on the way, and the sums of each fold, if asked for."""

    learned: EmbeddingState
    seen: ReadSummary
    job: Job
    fold_counts: list[WordClassCounts] = field(default_factory=list)


def learn_in_parts(
    learner: StateBuilder,
    corpus: Corpus,
    engine: Engine,
    *,
    folds: int = 1,
    seed: int = 0,
    n_more: int = 0,
) -> LearnedInParts:
    """Learn from a corpus in parts; see `WordClassEmbeddings.fit_parts`.

    Whoever asks makes `n_more` passes afterwards, with the same account of progress.
    """
    if learner.keep_documents:
        raise InputError("keep_documents needs all texts at once: fit")
    job = Job(engine, corpus.items, "learning", 2 + n_more)
    reading = corpus.without_items()
    first = job.run(CountTerms(reading, learner.vectorizer), "counting words")
    codeframe = corpus.conclude(first.seen, first.codeframe)
    learner.vectorizer.choose_terms(first.terms)
    check_class_count(codeframe)
    vocabulary = learner.vectorizer.vocabulary_
    fitted = learner.vectorizer.with_vocabulary(vocabulary)
    summing = SumWeights(reading, fitted, codeframe, learner.recipe.needs, folds=folds, seed=seed)
    sums = job.run(summing, "adding up weights")
    if sums.n_docs != first.seen.n_docs:
        raise StorageError(
            f"the corpus changed while it was read: {first.seen.n_docs:,} documents in the first "
            f"pass, {sums.n_docs:,} in the next"
        )
    learned = EmbeddingState(vocabulary, codeframe, tree_sum(sums.counts, add))
    return LearnedInParts(learned, first.seen, job, sums.counts if folds > 1 else [])


# --- features of the documents --------------------------------------------------------------------


@dataclass
class CrossFit:
    """Writes the features of consecutive parts, by embeddings that never saw a document's fold.

    Parameters
    ----------
    corpus : Corpus
    vectorizer : DocumentVectorizer
        Fitted.
    vectors : list of arrays of shape (v, r)
        The embeddings without each fold.
    seed : int
        Of the folds.
    folder : str
        Where the files go.
    """

    corpus: Corpus
    vectorizer: DocumentVectorizer
    vectors: list[Floats]
    seed: int
    folder: str

    def __call__(self, items: Iterable[tuple[int, Any]]) -> list[Path]:
        """Write a file for each part, and return their names."""
        return [self._of_part(number, item) for number, item in items]

    def _of_part(self, number: int, item: Any) -> Path:  # noqa: ANN401
        made = [np.zeros((0, self.vectors[0].shape[1]), np.float32)]
        for texts, _ in self.corpus.blocks(number, item, ReadSummary()):
            X = self.vectorizer.transform(texts)
            folds = fold_numbers(texts, len(self.vectors), self.seed)
            features = np.zeros((len(texts), self.vectors[0].shape[1]), np.float32)
            for _, rows in fold_splits(folds):
                features[rows] = X[rows] @ self.vectors[folds[rows[0]]]
            made.append(features)
        path = Path(self.folder, f"part-{number:05}.npy")
        with files.open_for_writing(path) as stream:
            np.save(stream, np.concatenate(made))
        return path
