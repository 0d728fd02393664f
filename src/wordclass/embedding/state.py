"""What embeddings are made of, and how documents are added to it and taken out: all exact.

Each step returns a new `EmbeddingState`, so a step that fails changes nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Floats, Ints, Sparse, to_sparse
from wordclass.corpus.labels import Codeframe, EncodedLabels
from wordclass.corpus.splits import fingerprint_texts
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.vectors import Recipe
from wordclass.errors import InputError
from wordclass.options import check_number
from wordclass.storage import migrations
from wordclass.storage.state import ModelState
from wordclass.text.counting import CountedTexts, merge_counted
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.text.vocabulary import Vocabulary

_SUMS = {
    "class_docs": "float64 columns >=0 <=documents",
    "term_docs": "float64 terms >=0 <=documents",
    "term_weight": f"float64 terms >=-{10**100} <={10**100}",  # its square is a float, too
    "term_squares": "float64 terms",
}
_MOST_OCCURRENCES = 1 << 24  # of a term in one document: there are tables of this length
_NOT_FITTED = "with their labels, are not among those that were fitted; nothing was removed"


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents that are kept: counted texts, labels, and a fingerprint of each text."""

    counted: CountedTexts  # with all terms, also the rare ones
    labels: EncodedLabels
    fingerprints: NDArray[np.uint64]  # (n,)

    def __add__(self, other: "CountedDocuments") -> "CountedDocuments":
        codeframe = self.labels.codeframe | other.labels.codeframe
        Y = sparse.vstack(
            [self.labels.align_to(codeframe), other.labels.align_to(codeframe)], format="csr"
        )
        return CountedDocuments(
            merge_counted([self.counted, other.counted]),
            EncodedLabels(codeframe, Y),
            np.concatenate([self.fingerprints, other.fingerprints]),
        )

    def without(self, removed: "CountedDocuments") -> "CountedDocuments":
        """Take documents out, each once: those with the same text and the same labels.

        Terms and classes that no document has any more are gone too, as in a fresh fit; but the
        columns of a label matrix stay, since the user named them.
        """
        leaving = Counter(removed._keys())
        kept = []
        for k, key in enumerate(self._keys()):
            if leaving[key] > 0:
                leaving[key] -= 1
            else:
                kept.append(k)
        if n_strange := leaving.total():
            n_removed = len(removed.fingerprints)
            raise InputError(f"{n_strange} of the {n_removed} documents to remove, {_NOT_FITTED}")
        rest = CountedTexts(self.counted.terms, self.counted.occurrences[kept])
        terms, places = rest.sorted_terms(rest.doc_freq > 0)
        codeframe, Y = self.labels.codeframe, self.labels.Y[kept]
        if codeframe.kind != "matrix":
            is_gone = np.bincount(Y.indices, minlength=len(codeframe.classes)) == 0
            codeframe, Y = codeframe.without(is_gone), Y[:, np.flatnonzero(~is_gone)]
        return CountedDocuments(
            CountedTexts(terms, rest.occurrences_of(places)),
            EncodedLabels(codeframe, Y),
            self.fingerprints[kept],
        )

    def _keys(self) -> Iterator[tuple[int, tuple[object, ...]]]:
        """Give what makes documents the same: the fingerprint of the text, and the labels."""
        classes, Y = self.labels.codeframe.classes, self.labels.Y
        for k, fingerprint in enumerate(self.fingerprints.tolist()):
            given = Y.indices[Y.indptr[k] : Y.indptr[k + 1]]
            yield fingerprint, tuple(classes[j] for j in sorted(given))

    def to_state(self) -> ModelState:
        """Return what is stored of them: everything but the codeframe."""
        return ModelState.of(
            document_terms=self.counted.terms,
            occurrences=self.counted.occurrences,
            document_labels=self.labels.Y,
            fingerprints=self.fingerprints,
        )

    @classmethod
    def from_state(cls, codeframe: Codeframe, parts: ModelState) -> "CountedDocuments":
        """Return the documents that were stored."""
        terms, occurrences, Y, fingerprints = parts.take(
            document_terms="sorted:str document_terms",
            occurrences=f"csr:int32|int64 documents document_terms >=1 <={_MOST_OCCURRENCES}",
            document_labels=f"csr:float64 documents {len(codeframe.classes)} >=1 <=1",
            fingerprints="uint64 documents",
        ).values()
        return cls(CountedTexts(terms, occurrences), EncodedLabels(codeframe, Y), fingerprints)


@dataclass(frozen=True, eq=False)
class EmbeddingState:
    """All that was learned from documents; the embeddings follow from it.

    Parameters
    ----------
    vocabulary : Vocabulary
    codeframe : Codeframe
    counts : WordClassCounts
        One column per class, then one per extra column.
    documents : CountedDocuments, optional
        The counted documents themselves, if they are to be kept.
    extra_columns : tuple of str, default=()
        Names of columns that are no classes. Only files that an older version saved have some, and
        such embeddings cannot be updated.
    """

    vocabulary: Vocabulary
    codeframe: Codeframe
    counts: WordClassCounts
    documents: CountedDocuments | None = None
    extra_columns: tuple[str, ...] = ()

    def plus(self, counts: WordClassCounts, codeframe: Codeframe) -> "EmbeddingState":
        """Add counts over another codeframe, but the same vocabulary."""
        larger = replace(self, codeframe=self.codeframe | codeframe)
        ours = larger._widened(self.counts, self.codeframe)
        return replace(larger, counts=ours + larger._widened(counts, codeframe))

    def minus(self, counts: WordClassCounts, codeframe: Codeframe) -> "EmbeddingState":
        """Subtract counts; classes that no document has any more are gone.

        The columns of a label matrix stay, since the user named them.
        """
        left = self.counts - self._widened(counts, codeframe)
        if left.has_negative():
            raise InputError(f"some of the documents to remove, {_NOT_FITTED}")
        if self.codeframe.kind == "matrix":
            return replace(self, counts=left)
        is_gone = left.class_docs == 0
        remaining = self.codeframe.without(is_gone)
        return replace(self, codeframe=remaining, counts=left.without_classes(is_gone))

    def _widened(self, counts: WordClassCounts, codeframe: Codeframe) -> WordClassCounts:
        """Move the columns of counts over `codeframe` to those of this codeframe, a larger one."""
        columns = [self.codeframe.column(label) for label in codeframe.classes]
        return counts.with_classes(columns, len(self.codeframe.classes))

    def check_updatable(self) -> None:
        """Refuse embeddings with extra columns, whose values for new documents are unknown."""
        if self.extra_columns:
            raise InputError(
                f"these embeddings have {len(self.extra_columns)} structural columns, which this "
                "version reads but cannot update; fit new embeddings on all documents"
            )

    def to_state(self) -> ModelState:
        """Return what is stored of it: everything but the codeframe."""
        facts = {
            "extra_columns": self.extra_columns,
            "n_docs": self.counts.n_docs,
            "joints": sorted(self.counts.joints),
            "keeps_documents": self.documents is not None,
        }
        joints = {name: to_sparse(joint) for name, joint in self.counts.joints.items()}
        sums = ModelState.of(facts, **joints) | ModelState.of_fields(self.counts, _SUMS)
        parts = self.vocabulary.to_state() | sums
        return parts if self.documents is None else parts | self.documents.to_state()

    @classmethod
    def from_state(cls, codeframe: Codeframe, parts: ModelState) -> "EmbeddingState":
        """Return what was learned and stored."""
        facts = parts.metadata
        vocabulary = Vocabulary.from_state(parts)
        extra_columns = migrations.extra_columns(facts, vocabulary.terms)
        n_docs = check_number("n_docs", facts["n_docs"])
        parts.sizes["columns"] = len(codeframe.classes) + len(extra_columns)
        parts.sizes["documents"] = int(n_docs)
        joints = parts.take(**dict.fromkeys(facts["joints"], "csr:float64 terms columns"))
        counts = WordClassCounts(n_docs, **parts.take(**_SUMS), joints=joints)
        keeps = facts["keeps_documents"]
        documents = CountedDocuments.from_state(codeframe, parts) if keeps else None
        return cls(vocabulary, codeframe, counts, documents, extra_columns)


@dataclass(frozen=True)
class StateBuilder:
    """Learns from labelled texts, by these options."""

    vectorizer: DocumentVectorizer
    recipe: Recipe
    keep_documents: bool

    def learn(self, texts: list[str], labels: EncodedLabels) -> EmbeddingState:
        """Learn everything; X is not made where its sums can be had without it."""
        if self.keep_documents:
            return self.learn_weighted(texts, labels)[0]
        counts = self.vectorizer.fit_sums(texts, labels.Y, self.recipe.needs)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts)

    def learn_weighted(
        self, texts: list[str], labels: EncodedLabels
    ) -> tuple[EmbeddingState, Sparse]:
        """Learn everything, vocabulary included; return it with the X of the texts."""
        if self.keep_documents:
            return self._learn_again(self._documents(texts, labels))
        return self._learn(self.vectorizer.fit_transform(texts), labels)

    def learn_fractional(
        self, texts: list[str], labels: EncodedLabels, weights: Floats, places: Ints | None
    ) -> tuple[EmbeddingState, Sparse]:
        """Learn from weighted documents, several of which may share a text.

        Parameters
        ----------
        texts : list of str
            The distinct texts.
        labels : EncodedLabels
            The labels of the documents.
        weights : array of shape (n,)
            The weight of each document: what its terms weigh is multiplied by it.
        places : array of shape (n,) or None
            The place of each document's text. None: each document has a text of its own.

        Returns
        -------
        state : EmbeddingState
            What was learned.
        X : sparse matrix of shape (n, v)
            The weighted terms of the documents, not multiplied by the weights of the documents.
        """
        if self.keep_documents or self.recipe.needs - {"joint_weight"}:
            raise InputError(
                "fractional labels need correlation='dot' and keep_documents=False",
                hint="leave out the unlabelled texts or these options",
            )
        X = self.vectorizer.fit_transform(texts)
        X = X if places is None else X[places]
        counts = self.recipe.count(sparse.diags(weights, format="csr") @ X, labels.Y)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts), X

    def add(
        self, learned: EmbeddingState, texts: list[str], labels: EncodedLabels
    ) -> EmbeddingState:
        """Learn from more texts; their classes may be new."""
        learned.check_updatable()
        if learned.documents is not None:
            return self._learn_again(learned.documents + self._documents(texts, labels))[0]
        return learned.plus(self._counts(learned, texts, labels), labels.codeframe)

    def merge(self, learned: EmbeddingState, other: EmbeddingState) -> EmbeddingState:
        """Join what was learned from two sets of documents."""
        learned.check_updatable()
        other.check_updatable()
        if learned.documents is not None and other.documents is not None:
            return self._learn_again(learned.documents + other.documents)[0]
        if not learned.vocabulary.agrees_with(other.vocabulary):
            raise InputError(
                "the two embeddings have different vocabularies or document frequencies, so their "
                "sums do not add up; fit both with keep_documents=True, or grow one by partial_fit"
            )
        return learned.plus(other.counts, other.codeframe)

    def remove(
        self, learned: EmbeddingState, texts: list[str], labels: EncodedLabels
    ) -> EmbeddingState:
        """Take texts out, as if they had never been there."""
        learned.check_updatable()
        if len(texts) >= learned.counts.n_docs:
            raise InputError(
                f"{len(texts)} documents are to be removed of {learned.counts.n_docs:g}: none "
                "would be left"
            )
        if learned.documents is not None:
            rest = learned.documents.without(self._documents(texts, labels))
            return self._learn_again(rest)[0]
        return learned.minus(self._counts(learned, texts, labels), labels.codeframe)

    def _documents(self, texts: list[str], labels: EncodedLabels) -> CountedDocuments:
        """Count texts so that they can be kept: all terms, and a fingerprint of each text."""
        counted = self.vectorizer.count(texts)
        terms, places = counted.sorted_terms(counted.doc_freq > 0)
        kept = CountedTexts(terms, counted.occurrences_of(places))
        return CountedDocuments(kept, labels, fingerprint_texts(texts))

    def _learn_again(self, documents: CountedDocuments) -> tuple[EmbeddingState, Sparse]:
        X = self.vectorizer.fit_transform_counted(documents.counted)
        learned, X = self._learn(X, documents.labels)
        return replace(learned, documents=documents), X

    def _learn(self, X: Sparse, labels: EncodedLabels) -> tuple[EmbeddingState, Sparse]:
        counts = self.recipe.count(X, labels.Y)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts), X

    def _counts(
        self, learned: EmbeddingState, texts: list[str], labels: EncodedLabels
    ) -> WordClassCounts:
        """Count texts with the vocabulary and document frequencies of what was learned."""
        X = self.vectorizer.with_vocabulary(learned.vocabulary).transform(texts)
        return self.recipe.count(X, labels.Y)
