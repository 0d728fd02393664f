"""What embeddings are made of, and how documents are added to it and taken out: all exact.

Nothing is changed in place: each step returns a new `Learned`, so one that fails changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from wordclass.arrays import Sparse, to_sparse
from wordclass.counts import WordClassCounts, fits_dense_table
from wordclass.embedding.documents import CountedDocuments, fingerprint_texts
from wordclass.embedding.recipe import Recipe
from wordclass.embedding.structural_problems import telling_terms, with_structural_columns
from wordclass.errors import InputError
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.text.counting import CountedTexts
from wordclass.text.native_counting import NativeCountedTexts
from wordclass.text.vectorizer import Counted, DocumentVectorizer
from wordclass.vocabulary import Vocabulary

Block = tuple[list[str], EncodedLabels]


@dataclass(frozen=True, eq=False)
class Learned:
    """All that was learned from documents; the embeddings follow from it.

    The columns of the counts are the classes of the codeframe, then one for each structural term.
    `documents` are the counted documents themselves, where they are to be kept.
    """

    vocabulary: Vocabulary
    codeframe: Codeframe
    structural: tuple[int, ...]  # columns of X
    counts: WordClassCounts
    documents: CountedDocuments | None = None

    def widened(self, counts: WordClassCounts, codeframe: Codeframe) -> WordClassCounts:
        """Move the columns of counts over `codeframe` to those of this codeframe, a larger one."""
        n_classes, n_structural = len(self.codeframe.classes), len(self.structural)
        columns = [self.codeframe.column(label) for label in codeframe.classes]
        behind = range(n_classes, n_classes + n_structural)
        return counts.with_classes([*columns, *behind], n_classes + n_structural)


@dataclass(frozen=True)
class Learner:
    """Learns from labelled texts, by these options."""

    vectorizer: DocumentVectorizer
    recipe: Recipe
    structural_problems: int
    keep_documents: bool

    def learn_sums(self, texts: list[str], labels: EncodedLabels) -> Learned:
        """Learn everything; X is not made where its sums can be had without it."""
        needs_X = self.keep_documents or self.structural_problems
        if needs_X or self.vectorizer.weighting != "tfidf":
            return self.learn(texts, labels)[0]
        counted = self.vectorizer.count(texts)
        if not isinstance(counted, NativeCountedTexts):
            return self._learn(counted, labels)[0]
        places = self.vectorizer.fit_counted(counted)
        vocabulary = self.vectorizer.vocabulary_
        if not fits_dense_table(len(vocabulary), len(labels.codeframe.classes)):
            return self._learn(counted, labels)[0]
        counts = counted.tfidf_counts(places, vocabulary, labels.Y, self.recipe.needs)
        return Learned(vocabulary, labels.codeframe, (), counts)

    def learn(self, texts: list[str], labels: EncodedLabels) -> tuple[Learned, Sparse]:
        """Learn everything, vocabulary included; return it with the X of the texts."""
        if self.keep_documents:
            return self._learn_again(self._documents(texts, labels))
        return self._learn(self.vectorizer.count(texts), labels)

    def learn_blocks(self, blocks: Callable[[], Iterable[Block]]) -> Learned:
        """Learn from texts that come block by block, in two passes; only sums are held.

        The first pass finds the vocabulary and the classes, the second makes the sums.
        """
        codeframe = Codeframe((), "single")

        def texts_of_blocks() -> Iterator[list[str]]:
            nonlocal codeframe
            for texts, labels in blocks():
                codeframe = codeframe | labels.codeframe if codeframe.classes else labels.codeframe
                yield texts

        vocabulary = self.vectorizer.fit_blocks(texts_of_blocks()).vocabulary_
        learned = Learned(vocabulary, codeframe, (), self._no_counts(vocabulary, codeframe))
        for texts, labels in blocks():
            learned = _sum(learned, self._counts(learned, texts, labels), labels.codeframe)
        return learned

    def _no_counts(self, vocabulary: Vocabulary, codeframe: Codeframe) -> WordClassCounts:
        X = to_sparse(np.zeros((0, len(vocabulary))))
        return self.recipe.count(X, to_sparse(np.zeros((0, len(codeframe.classes)))))

    def add(self, learned: Learned, texts: list[str], labels: EncodedLabels) -> Learned:
        """Learn from more texts; their classes may be new."""
        if learned.documents is not None:
            return self._learn_again(learned.documents + self._documents(texts, labels))[0]
        return _sum(learned, self._counts(learned, texts, labels), labels.codeframe)

    def merge(self, learned: Learned, other: Learned) -> Learned:
        """Join what was learned from two sets of documents."""
        if learned.documents is not None and other.documents is not None:
            return self._learn_again(learned.documents + other.documents)[0]
        if not learned.vocabulary.agrees_with(other.vocabulary):
            raise InputError(
                "the two embeddings have different vocabularies or document frequencies, so their "
                "sums do not add up; fit both with keep_documents=True, or grow one by partial_fit"
            )
        if learned.structural != other.structural:
            raise InputError("the two embeddings have different structural columns")
        return _sum(learned, other.counts, other.codeframe)

    def remove(self, learned: Learned, texts: list[str], labels: EncodedLabels) -> Learned:
        """Take texts out, as if they had never been there."""
        if len(texts) >= learned.counts.n_docs:
            raise InputError(
                f"{len(texts)} documents are to be removed of {learned.counts.n_docs:g}: none "
                "would be left"
            )
        if learned.documents is not None:
            rest = learned.documents.without(self._documents(texts, labels))
            return self._learn_again(rest)[0]
        removed = self._counts(learned, texts, labels)
        left = learned.counts - learned.widened(removed, labels.codeframe)
        if left.has_negative():
            raise InputError(
                "some of the documents to remove, with their labels, are not among those that "
                "were fitted; nothing was removed"
            )
        return _without_empty_classes(replace(learned, counts=left))

    def _documents(self, texts: list[str], labels: EncodedLabels) -> CountedDocuments:
        """Count texts so that they can be kept: all terms, and a fingerprint of each text."""
        counted = self.vectorizer.count(texts)
        terms, places = counted.sorted_terms(counted.doc_freq > 0)
        occurrences = counted.occurrences_of(places)
        return CountedDocuments(terms, occurrences, labels, fingerprint_texts(texts))

    def _learn_again(self, documents: CountedDocuments) -> tuple[Learned, Sparse]:
        counted = CountedTexts(documents.terms, documents.occurrences)
        learned, X = self._learn(counted, documents.labels)
        return replace(learned, documents=documents), X

    def _learn(self, counted: Counted, labels: EncodedLabels) -> tuple[Learned, Sparse]:
        X = self.vectorizer.fit_transform_counted(counted)
        structural = telling_terms(X, labels.Y, self.structural_problems)
        learned = Learned(
            self.vectorizer.vocabulary_,
            labels.codeframe,
            tuple(structural),
            self.recipe.count(X, with_structural_columns(X, labels.Y, structural)),
        )
        return learned, X

    def _counts(self, learned: Learned, texts: list[str], labels: EncodedLabels) -> WordClassCounts:
        """Count texts with the vocabulary, document frequencies and structural terms there are."""
        X = self.vectorizer.with_vocabulary(learned.vocabulary).transform(texts)
        return self.recipe.count(X, with_structural_columns(X, labels.Y, learned.structural))


def _sum(learned: Learned, counts: WordClassCounts, codeframe: Codeframe) -> Learned:
    """Add counts over another codeframe, but the same vocabulary."""
    larger = replace(learned, codeframe=learned.codeframe | codeframe)
    ours = larger.widened(learned.counts, learned.codeframe)
    return replace(larger, counts=ours + larger.widened(counts, codeframe))


def _without_empty_classes(learned: Learned) -> Learned:
    """Drop the classes that no document has any more, but not the columns of a label matrix."""
    codeframe = learned.codeframe
    if codeframe.kind == "matrix":
        return learned
    is_gone = learned.counts.class_docs == 0
    is_gone[len(codeframe.classes) :] = False  # structural columns stay
    return replace(
        learned,
        codeframe=codeframe.without(is_gone[: len(codeframe.classes)]),
        counts=learned.counts.without_classes(np.asarray(is_gone)),
    )
