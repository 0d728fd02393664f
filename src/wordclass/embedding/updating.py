"""Updates of fitted word-class embeddings: adding, merging and removing documents."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import EncodedLabels, read_labelled_texts
from wordclass.embedding.cross_fit import Embed
from wordclass.embedding.fitted import FittedEmbeddings
from wordclass.embedding.state import EmbeddingState, StateBuilder
from wordclass.errors import InputError

Labels = Iterable[Label] | Iterable[Iterable[Label]] | NDArray[Any] | Sparse | EncodedLabels


class UpdatableEmbeddings(FittedEmbeddings):
    """Base class of `WordClassEmbeddings` with the methods that add and remove documents."""

    def _make_builder(self) -> StateBuilder:
        """Check the options and resolve them."""
        raise NotImplementedError

    def _adopt(self, builder: StateBuilder, state: EmbeddingState) -> Embed:
        """Compute the vectors of a state, and then set all fitted attributes.

        Returns
        -------
        callable
            Function from other sums to their vectors, with the same projection.
        """
        raise NotImplementedError

    def with_fractional(
        self, texts: list[str], labels: EncodedLabels, weights: Floats | None
    ) -> Self:
        """Return embeddings to which weighted documents were added. The terms stay the same.

        Parameters
        ----------
        texts : list of str
            Text of each document.
        labels : EncodedLabels
            Labels of the documents, with the classes of these embeddings.
        weights : array of shape (n,) or None
            Weight of each document. None means that all weights are 1.

        Returns
        -------
        WordClassEmbeddings
            New embeddings. These do not change.

        Raises
        ------
        InputError
            A text is not a str.

        Examples
        --------
        >>> import numpy as np
        >>> import wordclass as wc
        >>> from wordclass.corpus.labels import encode_labels
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> labels = encode_labels(["sky", "garden"])
        >>> larger = wce.with_fractional(["moon rose"] * 2, labels, np.array([0.9, 0.1]))
        >>> wce.learned_.counts.n_docs, larger.learned_.counts.n_docs
        (2.0, 4.0)
        """
        X = self.vectorizer_.transform(texts)
        if weights is not None:
            X = sparse.diags(weights, format="csr") @ X
        builder = self._make_builder()
        counts = builder.recipe.count(X, labels.Y)
        larger = copy(self)
        larger._adopt(builder, self.learned_.plus(counts, labels.codeframe))
        return larger

    def partial_fit(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Add labelled texts, whose classes may be new. The first call is a `fit`.

        The result is exact: it equals a fit on all texts, with the vocabulary and the document
        frequencies of the first call unless `keep_documents` is true.

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
        WordClassEmbeddings
            The updated embeddings themselves.

        Raises
        ------
        InputError
            An option, a text or a label is invalid. The embeddings have not changed.

        See Also
        --------
        WordClassEmbeddings.remove : Remove labelled texts.
        WordClassEmbeddings.merge : Add the documents of other embeddings.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.partial_fit(["rose moon"], ["poem"]).classes_
        ['garden', 'poem', 'sky']
        """
        texts, labels = read_labelled_texts(X, y, class_names)
        builder = self._make_builder()
        if hasattr(self, "learned_"):
            self._adopt(builder, builder.add(self.learned_, texts, labels))
        else:
            self._adopt(builder, builder.build(texts, labels))
        return self

    def merge(self, other: Self) -> Self:
        """Add all documents from which other embeddings were learned.

        Parameters
        ----------
        other : WordClassEmbeddings
            Fitted embeddings with the same options.

        Returns
        -------
        WordClassEmbeddings
            The updated embeddings themselves.

        Raises
        ------
        InputError
            The options differ; or documents were not kept, and the vocabularies or document
            frequencies differ.

        See Also
        --------
        WordClassEmbeddings.partial_fit : Add labelled texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> options = {"min_docs": 1, "keep_documents": True}
        >>> one = wc.WordClassEmbeddings(**options).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> two = wc.WordClassEmbeddings(**options).fit(["a star", "a tulip"], ["sky", "garden"])
        >>> one.merge(two).terms_
        ['moon', 'rose', 'star', 'tulip']
        """
        check_is_fitted(self)
        check_is_fitted(other)
        options = self.get_params()
        other_options = other.get_params()
        differing = [
            name
            for name, value in options.items()
            if name != "n_jobs" and value != other_options[name]
        ]
        if differing:
            raise InputError(
                f"the two embeddings have different options: {', '.join(differing)}",
                hint="fit both with the same options",
            )
        builder = self._make_builder()
        self._adopt(builder, builder.merge(self.learned_, other.learned_))
        return self

    def remove(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Remove labelled texts, as if they had never been added.

        A class without remaining documents is removed, unless it is a column of a label matrix.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels with which they were added.
        class_names : iterable of str or int, optional
            See `fit`.

        Returns
        -------
        WordClassEmbeddings
            The updated embeddings themselves.

        Raises
        ------
        InputError
            Some of the documents were not fitted, or no document would remain. The embeddings have
            not changed.

        See Also
        --------
        WordClassEmbeddings.partial_fit : Add labelled texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> texts = ["a moon", "a rose", "a tulip"]
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(texts, ["sky", "garden", "shop"])
        >>> wce.remove(["a tulip"], ["shop"]).classes_
        ['garden', 'sky']
        """
        check_is_fitted(self)
        texts, labels = read_labelled_texts(X, y, class_names)
        builder = self._make_builder()
        self._adopt(builder, builder.remove(self.learned_, texts, labels))
        return self
