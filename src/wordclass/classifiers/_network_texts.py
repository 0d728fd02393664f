"""From labelled texts to what a network is trained on: vectors, ids, a part to validate on."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Flags, Floats, Ints
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.folds import fingerprint_texts, stratified_folds
from wordclass.labels import EncodedLabels
from wordclass.network import memory
from wordclass.network.batches import FoldVectors, LabelledSequences
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.storage.facts import storable
from wordclass.text.sequences import Sequences
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.word_vectors import WordVectors

_PARTS = 5  # one of so many validates
_MOST_VALIDATED = 20_000
_FEWEST_TEXTS = 10  # of fewer, none can be spared


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """All that a network is trained on.

    Parameters
    ----------
    everything
        All rows that the model will have.
    E
        Those that training needs.
    places
        (rows of everything,) where each row is in E.
    labels
        Of all texts.
    texts
        All texts.
    documents
        The same, as rows of E.
    training, validation
        Its two parts; the second is None where texts are too few.
    validated
        (n_validated,) which texts the second has.
    """

    everything: EmbeddingMatrix
    E: EmbeddingMatrix
    places: Ints
    texts: list[str]
    labels: EncodedLabels
    documents: LabelledSequences
    training: LabelledSequences
    validation: LabelledSequences | None
    validated: Ints

    @classmethod
    def of(
        cls,
        texts: list[str],
        labels: EncodedLabels,
        weights: Floats | None,
        *,
        vectors: WordVectors | None,
        wce: WordClassEmbeddings | None,
        random_dims: int,
        unseen: str | None,
        keep_unseen: bool,
        vectorizer: DocumentVectorizer,
        max_length: int,
        is_clean: bool,
        seed: int,
        n_jobs: int | None,
    ) -> "TrainingTexts":
        """Make it; for the options see `NetworkClassifier`."""
        is_validated = _validated(texts, labels, is_clean, seed)
        order = np.arange(len(texts))
        if not is_clean:  # one shuffle, then never again
            order = np.random.default_rng(int(seed) % 2**64).permutation(order)
        trained, validated = order[~is_validated[order]], order[is_validated[order]]
        fold_vectors = vocabulary = None
        if wce is None:
            vocabulary = vectorizer.fit(texts).vocabulary_.terms
        elif is_clean:
            fold_vectors = _cross_fitted(wce, texts, labels, trained)
        else:
            wce.fit(texts, labels)
        terms = vocabulary if wce is None else wce.terms_
        _check_memory(len(terms or []), vectors, wce, random_dims, keep_unseen)
        everything = EmbeddingMatrix.of(
            vectors, wce,
            random_dims=random_dims, seed=seed, vocabulary=vocabulary, keep_unseen=keep_unseen,
            unseen=unseen, analyzer=vectorizer.build_analyzer(),
        )  # fmt: skip
        ids = everything.sequences(texts, max_length, n_jobs=n_jobs)
        E, places = everything.restricted(ids.ids)
        documents = LabelledSequences(
            Sequences(places[ids.ids], ids.ends), labels.Y, labels.codeframe.is_multilabel,
            E.padding, "right" if is_clean else "left", weights,
        )  # fmt: skip
        return cls(
            everything, E, places, texts, labels, documents,
            documents.part(trained, fold_vectors),
            documents.part(validated) if len(validated) else None,
            validated,
        )  # fmt: skip

    def with_trained_rows(self, layer: EmbeddingLayer) -> EmbeddingMatrix:
        """Return all rows, those that training changed with their new vectors."""
        changed = layer.trained_vectors()
        if not changed:
            return self.everything
        vectors = self.E.matrix.copy()
        for name, block in changed.items():
            vectors[:, self.E.blocks[name]] = block
        n_fixed = len(self.E.terms) + 2
        kept = np.flatnonzero(self.places >= n_fixed)
        rows = np.concatenate([np.arange(n_fixed), kept])
        return self.everything.with_vectors(rows, vectors)

    def validation_folds(self, seed: int) -> Ints:
        """Return folds (n_validated,) of the validation texts, to tune thresholds by."""
        texts = [self.texts[row] for row in self.validated]
        return stratified_folds(texts, self.labels.Y[self.validated], _PARTS, seed + 1)

    def key(self, name: str, options: dict[str, Any]) -> str:
        """Return a name of the training: another one where anything differs that it depends on."""
        checksum = blake2b(digest_size=16)
        checksum.update(repr([name, sorted(storable(options).items())]).encode())
        checksum.update(repr(self.labels.codeframe).encode())
        Y, documents = self.labels.Y, self.documents
        arrays: list[NDArray[Any]] = [
            fingerprint_texts(self.texts), Y.indices, Y.indptr, self.everything.matrix,
            documents.texts.ids, documents.texts.ends, self.validated,
        ]  # fmt: skip
        arrays += [] if documents.weights is None else [documents.weights]
        for array in arrays:
            checksum.update(f"{array.dtype} {array.shape}".encode())
            checksum.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        return checksum.hexdigest()


def _validated(texts: list[str], labels: EncodedLabels, is_clean: bool, seed: int) -> Flags:
    """Tell which texts are kept aside to validate on."""
    n_texts = len(texts)
    if n_texts < _FEWEST_TEXTS:
        return np.zeros(n_texts, bool)
    n_parts = max(_PARTS, -(-n_texts // _MOST_VALIDATED))
    if is_clean:
        chosen: Flags = stratified_folds(texts, labels.Y, n_parts, seed) == 0
        # copies of one text stay together: where there are no others, nothing would be left
        return np.zeros(n_texts, bool) if chosen.all() else chosen
    chosen = np.zeros(n_texts, bool)
    drawn = np.random.default_rng(int(seed) % 2**64).permutation(n_texts)
    chosen[drawn[: n_texts // n_parts]] = True
    return chosen


def _cross_fitted(
    wce: WordClassEmbeddings,
    texts: list[str],
    labels: EncodedLabels,
    trained: Ints,
) -> FoldVectors:
    """Fit on the texts that train; return what each fold's vectors differ by from these."""
    folds = np.full(len(texts), -1)
    # from these texts alone: the labels of the others must not even decide about folds
    own = [texts[row] for row in trained]
    folds[trained] = stratified_folds(own, labels.Y[trained], wce.folds, wce.seed)
    made = wce.fit_folds(texts, labels, folds)
    made -= wce.vectors_
    return FoldVectors(made, folds[trained])


def _check_memory(
    n_terms: int,
    vectors: WordVectors | None,
    wce: WordClassEmbeddings | None,
    random_dims: int,
    keep_unseen: bool,
) -> None:
    n_unseen = len(vectors) if vectors is not None and keep_unseen else 0
    n_dims = random_dims + (0 if vectors is None else vectors.n_dims)
    n_dims += 0 if wce is None else wce.vectors_.shape[1]
    memory.check_rows(n_terms + 2 + n_unseen, n_dims, random_dims)
