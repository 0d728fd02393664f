"""Word-class embeddings with the scikit-learn API: fitting, updating and saving."""

from collections.abc import Collection, Iterable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import (
    Codeframe,
    EncodedLabels,
    check_class_count,
    read_labelled_texts,
)
from wordclass.corpus.splits import fold_numbers
from wordclass.embedding.counts import FoldCounts
from wordclass.embedding.cross_fit import Embed, cross_fit_features, embed_folds
from wordclass.embedding.embedding_options import EMBEDDING_OPTIONS
from wordclass.embedding.sharded_fit import ShardedEmbeddings
from wordclass.embedding.state import EmbeddingState, StateBuilder
from wordclass.embedding.updating import Labels as Labels
from wordclass.embedding.vectors import Correlate, Projection, Recipe, RowVectors
from wordclass.errors import InputError
from wordclass.options import WithOptions, check_memory
from wordclass.storage.files import as_format_error
from wordclass.storage.metadata import restore_codeframe, restore_options
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.text.vectorizer_options import TEXT_OPTIONS


@dataclass(kw_only=True, eq=False, repr=False)
class WordClassEmbeddings(WithOptions, ShardedEmbeddings):
    """Word vectors with one dimension for each class of a classification task.

    The vector of a term says how strongly the term is associated with each class, relative to the
    other terms. It is learned from labelled texts. `wce["moon"]` returns the vector of a term, or
    zeros for an unseen term. `"moon" in wce`, `len(wce)` and iteration refer to the terms.

    Attributes
    ----------
    terms_ : list of str
        The terms in the order of the rows, sorted by code point.
    classes_ : list
        The classes, sorted.
    columns_ : list
        Names of the columns of `class_vectors_`: the classes, and extra columns in files of older
        versions.
    vectors_ : float32 array of shape (v, r)
        The vectors.
    class_vectors_ : float32 array of shape (v, m), or None
        The vectors before projection. None if they would have more than 2^28 numbers; `top_terms`
        and `profile` compute what they need.
    vectorizer_ : DocumentVectorizer
        The fitted vectorizer that computes the weights of terms.
    learned_ : EmbeddingState
        The sums over documents from which the vectors are computed.
    seen_ : ReadSummary
        Numbers of documents and skipped records. It is set by `fit_parts` only.

    See Also
    --------
    DocumentVectorizer : Weights of the terms of texts.
    EmbeddingMatrix : Word vectors and word-class vectors side by side, for networks.
    UnseenTerms : Predicted vectors of terms that are not in the training texts.

    Notes
    -----
    Threads are used by native code. With options that it does not support, such as a function as
    `analyzer`, `n_jobs` is the number of processes.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["bright moon", "full moon", "red rose", "white rose"]
    >>> labels = ["sky", "sky", "garden", "garden"]
    >>> wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    >>> wce.terms_, wce.classes_
    (['moon', 'rose'], ['garden', 'sky'])
    >>> wce["moon"].round(2)
    array([-0.71,  0.71], dtype=float32)
    >>> wce.top_terms("garden", n=1)[0][0]
    'rose'
    """

    options = EMBEDDING_OPTIONS

    correlation: str | Correlate = "dot"
    weighting: str | Weight = "tfidf"
    shrinkage: float = 0.0
    projector: Any = "pca"  # a name, or any object with the two methods
    max_dims: int | None = 300
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    folds: int = 10
    seed: int = 0
    keep_documents: bool = False
    n_jobs: int | None = None

    # --- fitting ----------------------------------------------------------------------------

    def fit(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Learn the vectors from labelled texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels: one str or int per text; a list, set or tuple of them per text, which may be
            empty; or a 0/1 matrix.
        class_names : iterable of str or int, optional
            Names of the columns of a matrix. For other labels, all classes of the task.

        Returns
        -------
        WordClassEmbeddings
            The fitted embeddings themselves.

        Raises
        ------
        InputError
            An option, a text or a label is invalid, or no term is left.

        See Also
        --------
        WordClassEmbeddings.fit_transform : Fit, and return features of the training texts.
        WordClassEmbeddings.partial_fit : Add labelled texts to fitted embeddings.

        Examples
        --------
        >>> wce = WordClassEmbeddings(min_docs=1)
        >>> wce.fit(["a moon", "a rose"], ["sky", "garden"]).terms_
        ['moon', 'rose']
        """
        texts, labels = read_labelled_texts(X, y, class_names)
        check_class_count(labels.codeframe)
        builder = self._make_builder()
        self._adopt(builder, builder.build(texts, labels))
        return self

    def fit_transform(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Floats32:
        """Learn the vectors, and return cross-fitted features of the training texts.

        The features of a text are computed with embeddings that were learned without its fold, so
        they do not depend on the text's own labels.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels, see `fit`.
        class_names : iterable of str or int, optional
            See `fit`.

        Returns
        -------
        float32 array of shape (n, r)
            The features.

        Raises
        ------
        InputError
            An option, a text or a label is invalid, no term is left, or the features do not fit
            into memory.

        See Also
        --------
        WordClassEmbeddings.transform : Features of new texts.

        Examples
        --------
        >>> texts = ["bright moon", "full moon", "red rose", "white rose"]
        >>> wce = WordClassEmbeddings(min_docs=2, folds=2)
        >>> wce.fit_transform(texts, ["sky", "sky", "garden", "garden"]).shape
        (4, 2)
        """
        texts, labels = read_labelled_texts(X, y, class_names)
        check_class_count(labels.codeframe)
        builder = self._make_builder()
        self._check_features(*labels.Y.shape)
        state, weights = builder.build_with_matrix(texts, labels)
        embed = self._adopt(builder, state)
        folds = fold_numbers(texts, self.folds, self.seed)
        return cross_fit_features(weights, labels.Y, folds, builder.recipe.count, embed)

    def fit_folds(self, texts: Iterable[str], labels: Labels, folds: Ints) -> Floats32:
        """Learn the vectors, and return the vectors that are learned without each fold.

        Networks are trained with them: the tokens of a text have vectors that do not depend on the
        labels of the texts in its fold. All folds are projected in the same way.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        labels : iterable or matrix
            The labels, see `fit`.
        folds : int array of shape (n,)
            Fold of each text, from 0 up. Texts of fold -1 are held out: they count for vocabulary
            and document frequencies, but their labels are not used.

        Returns
        -------
        float32 array of shape (folds, v, r)
            The vectors without each fold.

        Raises
        ------
        InputError
            An option, a text or a label is invalid, or no term is left.

        Examples
        --------
        >>> texts = ["bright moon", "full moon", "red rose", "white rose"]
        >>> labels = ["sky", "sky", "garden", "garden"]
        >>> wce = WordClassEmbeddings(min_docs=2)
        >>> wce.fit_folds(texts, labels, np.array([0, 1, 0, 1])).shape
        (2, 2, 2)
        """
        text_list, encoded = read_labelled_texts(texts, labels, None)
        check_class_count(encoded.codeframe)
        builder = replace(self._make_builder(), keep_documents=False)
        state, X = builder.build_with_matrix(text_list, encoded)
        n_folds = int(folds.max(initial=-1)) + 1
        counts = FoldCounts.of(X, encoded.Y, folds, n_folds, builder.recipe.count)
        embed = self._adopt(builder, replace(state, counts=counts.total))
        return np.array([vectors.astype(np.float32) for vectors in embed_folds(counts, embed)])

    def fit_fractional(
        self, texts: list[str], labels: EncodedLabels, weights: Floats, text_numbers: Ints
    ) -> Floats32:
        """Learn the vectors from weighted documents, and return their cross-fitted features.

        Parameters
        ----------
        texts : list of str
            The distinct texts.
        labels : EncodedLabels
            Labels of the documents, several of which may share a text.
        weights : array of shape (n,)
            Weight of each document, above 0.
        text_numbers : int array of shape (n,)
            Number of each document's text.

        Returns
        -------
        float32 array of shape (n, r)
            The features, which do not depend on the labels of the texts in the same fold.

        Raises
        ------
        InputError
            An option is invalid, no term is left, or the correlation needs numbers of documents.

        Examples
        --------
        >>> from wordclass.corpus.labels import encode_labels
        >>> texts = ["bright moon", "red rose"]
        >>> labels = encode_labels(["sky", "garden", "sky"])
        >>> wce = WordClassEmbeddings(min_docs=1)
        >>> weights = np.array([1.0, 0.7, 0.3])
        >>> wce.fit_fractional(texts, labels, weights, np.array([0, 1, 1])).shape
        (3, 2)
        """
        builder = self._make_builder()
        state, X = builder.build_weighted(texts, labels, weights, text_numbers)
        embed = self._adopt(builder, state)
        folds = fold_numbers(texts, self.folds, self.seed)[text_numbers]
        weighted = sparse.diags(weights, format="csr") @ X
        features = cross_fit_features(weighted, labels.Y, folds, builder.recipe.count, embed)
        return (features / weights[:, None]).astype(np.float32)

    def _check_features(self, n_docs: int, n_classes: int) -> None:
        """Raise an InputError if features (n, r) would not fit into memory."""
        n_dims = n_classes if self.max_dims is None else min(n_classes, self.max_dims)
        content = f"the features of {n_docs:,} documents by {n_dims:,} dimensions"
        hint = "use a lower max_dims, or fewer documents at a time"
        check_memory(content, 4 * n_docs * n_dims, hint)

    def _make_builder(self) -> StateBuilder:
        """Check the options and resolve them."""
        self.check_options()
        vectorizer = DocumentVectorizer(**{name: getattr(self, name) for name in TEXT_OPTIONS})
        vectorizer.check_unsupervised()
        recipe = Recipe.of(self.correlation, self.shrinkage)
        return StateBuilder(vectorizer, recipe, self.keep_documents)

    def _adopt(self, builder: StateBuilder, state: EmbeddingState) -> Embed:
        """Compute the vectors of a state, and then set all fitted attributes.

        Returns
        -------
        callable
            Function from other sums to their vectors, with the same projection.
        """
        projection = Projection(self.projector, self.max_dims, self.seed)
        is_projected = projection.applies_to(state.counts.n_classes)
        projection.check_memory(state.counts.n_terms, state.counts.n_classes)
        use: Literal["array", "blocks"] = "array"
        if is_projected and projection.reads_blocks:
            use = "blocks"
        dtype = np.float64 if is_projected else np.float32
        S = builder.recipe.vectors(state.counts, use, dtype)
        if isinstance(S, RowVectors):
            self._set(builder, state, None, projection.fit_rows(S))
        else:
            vectors = projection.fit(S, state.counts.known)
            class_vectors = S.astype(np.float32, copy=False)
            self._set(builder, state, class_vectors, class_vectors if vectors is S else vectors)
        return lambda counts: projection.transform(builder.recipe.embed(counts), counts.known)

    def _set(
        self,
        builder: StateBuilder,
        state: EmbeddingState,
        class_vectors: Floats32 | None,
        vectors: Floats | Floats32,
    ) -> None:
        """Set the fitted attributes. Both arrays are the same object if nothing was projected."""
        if getattr(builder.vectorizer, "vocabulary_", None) is not state.vocabulary:
            builder.vectorizer.set_vocabulary(state.vocabulary)
        self.learned_ = state
        self.vectorizer_ = builder.vectorizer
        self._recipe = builder.recipe
        self.terms_ = state.vocabulary.terms
        self.classes_ = list(state.codeframe.classes)
        self.columns_ = [*self.classes_, *state.extra_columns]
        self.class_vectors_ = class_vectors
        self.vectors_ = vectors.astype(np.float32, copy=False)

    def __bool__(self) -> bool:
        return True  # although it has a length, an estimator without terms is not false

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The fitted attributes are large, and they are replaced rather than changed. A copy of a
        # classifier with these embeddings shares them.
        copied: Self = copy(self).set_params(**deepcopy(self.get_params(deep=False), memo))
        return copied

    # --- saving -----------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | PathLike[str], **functions: object) -> "WordClassEmbeddings":
        """Read embeddings that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.
        **functions : object
            User-defined `analyzer`, `weighting`, `correlation` or `projector`. The file has only
            their names.

        Returns
        -------
        WordClassEmbeddings
            The fitted embeddings.

        Raises
        ------
        FormatError
            The file is damaged or of another kind.
        InputError
            A user-defined function is missing.
        MissingDataError
            The file does not exist.

        See Also
        --------
        WordClassEmbeddings.save : Write the embeddings.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "news.wce")
        >>> WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"]).save(path)
        >>> WordClassEmbeddings.load(path).terms_
        ['moon', 'rose']
        """
        file = Path(path)
        state = ModelState.read(file, "wce")
        with as_format_error(file, "not complete"):
            stored = state.metadata
            options = restore_options(file, stored["options"], functions)
            codeframe = restore_codeframe(
                stored["classes"], stored["kind"], stored["matrix_columns"]
            )
            return cls(**options).from_state(codeframe, state)

    def from_state(self, codeframe: Codeframe, state: ModelState) -> Self:
        """Set the fitted attributes to a stored state.

        Parameters
        ----------
        codeframe : Codeframe
            The classes.
        state : ModelState
            Result of `to_state`.

        Returns
        -------
        WordClassEmbeddings
            The fitted embeddings themselves.

        Raises
        ------
        InputError
            An option is invalid, or the state has no vectors.

        Examples
        --------
        >>> wce = WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> restored = WordClassEmbeddings(min_docs=1)
        >>> restored.from_state(wce.learned_.codeframe, wce.to_state()).terms_
        ['moon', 'rose']
        """
        builder = self._make_builder()
        embedding_state = EmbeddingState.from_state(codeframe, state)
        class_vectors, vectors = state.take(
            class_vectors="float32? terms columns", vectors="float32? terms dimensions"
        ).values()
        if class_vectors is None and vectors is None:
            raise InputError("the stored state has no vectors")
        if vectors is None:
            vectors = class_vectors
        self._set(builder, embedding_state, class_vectors, vectors)
        return self
