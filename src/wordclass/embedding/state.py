"""The state of word-class embeddings, and how documents are added to it and removed from it.

Each step returns a new `EmbeddingState`, so a step that fails changes nothing. The results are
exact.
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
    "term_weight": f"float64 terms >=-{10**100} <={10**100}",  # the square is a finite float, too
    "term_squares": "float64 terms",
}
_MAX_STORED_OCCURRENCES = 1 << 24  # of a term in a document, because tables have this length


def _not_fitted_error(n_missing: int | str, n_removed: int) -> InputError:
    return InputError(
        f"cannot remove {n_removed} documents: {n_missing} of them were not fitted with these "
        "labels",
        hint="give each document the labels with which it was fitted",
    )


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents that are kept by embeddings.

    Parameters
    ----------
    counted : CountedTexts
        Occurrences of all terms, including rare ones.
    labels : EncodedLabels
        Labels of the documents.
    fingerprints : uint64 array of shape (n,)
        Fingerprint of each text.
    """

    counted: CountedTexts
    labels: EncodedLabels
    fingerprints: NDArray[np.uint64]

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
        """Return the documents without others, which have the same texts and labels.

        Terms and classes without remaining documents are dropped, as in a new fit. The columns of a
        label matrix stay, because the user named them.
        """
        n_left_to_remove = Counter(removed._keys())
        remaining_rows = []
        for row, key in enumerate(self._keys()):
            if n_left_to_remove[key] > 0:
                n_left_to_remove[key] -= 1
            else:
                remaining_rows.append(row)
        n_missing = n_left_to_remove.total()
        if n_missing:
            raise _not_fitted_error(n_missing, len(removed.fingerprints))
        remaining = CountedTexts(self.counted.terms, self.counted.occurrences[remaining_rows])
        terms, positions = remaining.sorted_terms(remaining.doc_freq > 0)
        codeframe = self.labels.codeframe
        Y = self.labels.Y[remaining_rows]
        if codeframe.kind != "matrix":
            is_empty = np.bincount(Y.indices, minlength=len(codeframe.classes)) == 0
            codeframe = codeframe.without(is_empty)
            Y = Y[:, np.flatnonzero(~is_empty)]
        return CountedDocuments(
            CountedTexts(terms, remaining.occurrences_of(positions)),
            EncodedLabels(codeframe, Y),
            self.fingerprints[remaining_rows],
        )

    def _keys(self) -> Iterator[tuple[int, tuple[object, ...]]]:
        """Yield the key of each document: fingerprint of the text, and labels."""
        classes = self.labels.codeframe.classes
        Y = self.labels.Y
        for row, fingerprint in enumerate(self.fingerprints.tolist()):
            columns = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
            yield fingerprint, tuple(classes[j] for j in sorted(columns))

    def to_state(self) -> ModelState:
        """Return the state that is stored, without the codeframe."""
        return ModelState.of(
            document_terms=self.counted.terms,
            occurrences=self.counted.occurrences,
            document_labels=self.labels.Y,
            fingerprints=self.fingerprints,
        )

    @classmethod
    def from_state(cls, codeframe: Codeframe, state: ModelState) -> "CountedDocuments":
        """Restore the documents of a stored state."""
        csr_layout = "csr:int32|int64 documents document_terms"
        terms, occurrences, Y, fingerprints = state.take(
            document_terms="sorted:str document_terms",
            occurrences=f"{csr_layout} >=1 <={_MAX_STORED_OCCURRENCES}",
            document_labels=f"csr:float64 documents {len(codeframe.classes)} >=1 <=1",
            fingerprints="uint64 documents",
        ).values()
        return cls(CountedTexts(terms, occurrences), EncodedLabels(codeframe, Y), fingerprints)


@dataclass(frozen=True, eq=False)
class EmbeddingState:
    """Everything that embeddings learn from documents. The vectors are computed from it.

    Parameters
    ----------
    vocabulary : Vocabulary
        The terms.
    codeframe : Codeframe
        The classes.
    counts : WordClassCounts
        The sums, with one column per class and one per extra column.
    documents : CountedDocuments, optional
        The counted documents, if they are kept.
    extra_columns : tuple of str, default=()
        Names of columns that are not classes. They exist only in files of older versions. Such
        embeddings cannot be updated.
    """

    vocabulary: Vocabulary
    codeframe: Codeframe
    counts: WordClassCounts
    documents: CountedDocuments | None = None
    extra_columns: tuple[str, ...] = ()

    def plus(self, counts: WordClassCounts, codeframe: Codeframe) -> "EmbeddingState":
        """Add sums over the same vocabulary and another codeframe."""
        larger = replace(self, codeframe=self.codeframe | codeframe)
        aligned_counts = larger._align(self.counts, self.codeframe)
        return replace(larger, counts=aligned_counts + larger._align(counts, codeframe))

    def minus(
        self, counts: WordClassCounts, codeframe: Codeframe, n_removed: int
    ) -> "EmbeddingState":
        """Subtract sums over the same vocabulary, and drop classes without remaining documents.

        The columns of a label matrix stay, because the user named them.

        Parameters
        ----------
        counts : WordClassCounts
            Sums over the documents to remove.
        codeframe : Codeframe
            Classes of these sums.
        n_removed : int
            Number of the documents, for the message.
        """
        remaining = self.counts - self._align(counts, codeframe)
        if remaining.has_negative():
            raise _not_fitted_error("some", n_removed)
        if self.codeframe.kind == "matrix":
            return replace(self, counts=remaining)
        is_empty = remaining.class_docs == 0
        return replace(
            self,
            codeframe=self.codeframe.without(is_empty),
            counts=remaining.without_classes(is_empty),
        )

    def _align(self, counts: WordClassCounts, codeframe: Codeframe) -> WordClassCounts:
        """Return sums over a smaller codeframe as sums over this codeframe."""
        columns = [self.codeframe.column(label) for label in codeframe.classes]
        return counts.with_classes(columns, len(self.codeframe.classes))

    def check_updatable(self) -> None:
        """Raise an InputError if there are extra columns, whose new values would be unknown."""
        if self.extra_columns:
            raise InputError(
                f"these embeddings have {len(self.extra_columns)} structural columns of an older "
                "version, which can be read but not updated",
                hint="fit new embeddings on all documents",
            )

    def to_state(self) -> ModelState:
        """Return the state that is stored, without the codeframe."""
        metadata = {
            "extra_columns": self.extra_columns,
            "n_docs": self.counts.n_docs,
            "joints": sorted(self.counts.joints),
            "keeps_documents": self.documents is not None,
        }
        joints = {name: to_sparse(joint) for name, joint in self.counts.joints.items()}
        sums = ModelState.of(metadata, **joints) | ModelState.of_fields(self.counts, _SUMS)
        state = self.vocabulary.to_state() | sums
        return state if self.documents is None else state | self.documents.to_state()

    @classmethod
    def from_state(cls, codeframe: Codeframe, state: ModelState) -> "EmbeddingState":
        """Restore a stored state."""
        metadata = state.metadata
        vocabulary = Vocabulary.from_state(state)
        extra_columns = migrations.extra_columns(metadata, vocabulary.terms)
        n_docs = check_number("n_docs", metadata["n_docs"])
        state.sizes["columns"] = len(codeframe.classes) + len(extra_columns)
        state.sizes["documents"] = int(n_docs)
        joints = state.take(**dict.fromkeys(metadata["joints"], "csr:float64 terms columns"))
        counts = WordClassCounts(n_docs, **state.take(**_SUMS), joints=joints)
        documents = None
        if metadata["keeps_documents"]:
            documents = CountedDocuments.from_state(codeframe, state)
        return cls(vocabulary, codeframe, counts, documents, extra_columns)


@dataclass(frozen=True)
class StateBuilder:
    """The resolved options of embeddings, which turn labelled texts into a state.

    Parameters
    ----------
    vectorizer : DocumentVectorizer
        Vectorizer that is fitted when a state is built.
    recipe : Recipe
        The steps from counts to S.
    keep_documents : bool
        Whether the state keeps the counted documents.
    """

    vectorizer: DocumentVectorizer
    recipe: Recipe
    keep_documents: bool

    def build(self, texts: list[str], labels: EncodedLabels) -> EmbeddingState:
        """Learn from labelled texts. X is computed only if the sums cannot be had without it."""
        if self.keep_documents:
            return self.build_with_matrix(texts, labels)[0]
        counts = self.vectorizer.fit_sums(texts, labels.Y, self.recipe.needs)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts)

    def build_with_matrix(
        self, texts: list[str], labels: EncodedLabels
    ) -> tuple[EmbeddingState, Sparse]:
        """Learn from labelled texts, and return the state and X (n, v)."""
        if self.keep_documents:
            return self._build_from_documents(self._count_documents(texts, labels))
        return self._build_from_matrix(self.vectorizer.fit_transform(texts), labels)

    def build_weighted(
        self,
        texts: list[str],
        labels: EncodedLabels,
        weights: Floats,
        text_numbers: Ints | None,
    ) -> tuple[EmbeddingState, Sparse]:
        """Learn from documents with weights. Several documents may share a text.

        Parameters
        ----------
        texts : list of str
            The distinct texts.
        labels : EncodedLabels
            The labels of the documents.
        weights : array of shape (n,)
            The weight of each document, by which its term weights are multiplied.
        text_numbers : array of shape (n,) or None
            The number of each document's text. None means that each document has its own text.

        Returns
        -------
        state : EmbeddingState
            The state.
        X : sparse matrix of shape (n, v)
            The term weights of the documents, not multiplied by the weights of the documents.
        """
        if self.keep_documents or self.recipe.needs - {"joint_weight"}:
            raise InputError(
                "fractional labels need correlation='dot' and keep_documents=False",
                hint="leave out the unlabelled texts or these options",
            )
        X = self.vectorizer.fit_transform(texts)
        if text_numbers is not None:
            X = X[text_numbers]
        counts = self.recipe.count(sparse.diags(weights, format="csr") @ X, labels.Y)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts), X

    def add(self, state: EmbeddingState, texts: list[str], labels: EncodedLabels) -> EmbeddingState:
        """Add labelled texts to a state. Their classes may be new."""
        state.check_updatable()
        if state.documents is not None:
            documents = state.documents + self._count_documents(texts, labels)
            return self._build_from_documents(documents)[0]
        return state.plus(self._count(state, texts, labels), labels.codeframe)

    def merge(self, state: EmbeddingState, other: EmbeddingState) -> EmbeddingState:
        """Combine the states of two sets of documents."""
        state.check_updatable()
        other.check_updatable()
        if state.documents is not None and other.documents is not None:
            return self._build_from_documents(state.documents + other.documents)[0]
        if not state.vocabulary.agrees_with(other.vocabulary):
            raise InputError(
                "the two embeddings have different vocabularies or document frequencies, so their "
                "sums do not add up",
                hint="fit both with keep_documents=True, or add documents by partial_fit",
            )
        return state.plus(other.counts, other.codeframe)

    def remove(
        self, state: EmbeddingState, texts: list[str], labels: EncodedLabels
    ) -> EmbeddingState:
        """Remove labelled texts from a state, as if they had never been added."""
        state.check_updatable()
        if len(texts) >= state.counts.n_docs:
            raise InputError(
                f"cannot remove {len(texts)} of {state.counts.n_docs:g} documents",
                hint="at least one must remain",
            )
        if state.documents is not None:
            remaining = state.documents.without(self._count_documents(texts, labels))
            return self._build_from_documents(remaining)[0]
        counts = self._count(state, texts, labels)
        return state.minus(counts, labels.codeframe, len(texts))

    def _count_documents(self, texts: list[str], labels: EncodedLabels) -> CountedDocuments:
        """Count all terms of texts, so that the documents can be kept."""
        counted = self.vectorizer.count(texts)
        terms, positions = counted.sorted_terms(counted.doc_freq > 0)
        with_all_terms = CountedTexts(terms, counted.occurrences_of(positions))
        return CountedDocuments(with_all_terms, labels, fingerprint_texts(texts))

    def _build_from_documents(self, documents: CountedDocuments) -> tuple[EmbeddingState, Sparse]:
        X = self.vectorizer.fit_transform_counted(documents.counted)
        state, X = self._build_from_matrix(X, documents.labels)
        return replace(state, documents=documents), X

    def _build_from_matrix(self, X: Sparse, labels: EncodedLabels) -> tuple[EmbeddingState, Sparse]:
        counts = self.recipe.count(X, labels.Y)
        return EmbeddingState(self.vectorizer.vocabulary_, labels.codeframe, counts), X

    def _count(
        self, state: EmbeddingState, texts: list[str], labels: EncodedLabels
    ) -> WordClassCounts:
        """Count texts with the vocabulary and document frequencies of a state."""
        X = self.vectorizer.set_vocabulary(state.vocabulary).transform(texts)
        return self.recipe.count(X, labels.Y)
