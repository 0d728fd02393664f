"""Fitted word-class embeddings: features of texts, vectors, ranked terms and classes, saving."""

from collections.abc import Iterable, Iterator
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats32
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import describe_unknown_name
from wordclass.embedding.state import EmbeddingState
from wordclass.embedding.vectors import Recipe
from wordclass.errors import InputError
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import CharacterAnalyzer
from wordclass.text.text_estimator import TextEstimator
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors


class FittedEmbeddings(TextEstimator, TransformerMixin, BaseEstimator):
    """Base class of `WordClassEmbeddings` with the methods that use the result of a fit."""

    terms_: list[str]
    classes_: list[Any]
    columns_: list[Any]
    vectors_: Floats32
    class_vectors_: Any
    vectorizer_: DocumentVectorizer
    learned_: EmbeddingState
    n_jobs: int | None
    _recipe: Recipe

    def transform(self, X: Iterable[str]) -> Floats32:
        """Return features of texts: the weights of their terms times the vectors of the terms.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        float32 array of shape (n, r)
            The features. For training texts, they depend on the texts' own labels; use the result
            of `fit_transform` instead.

        Raises
        ------
        InputError
            A text is not a str.

        See Also
        --------
        WordClassEmbeddings.fit_transform : Features of training texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.transform(["moon"]).round(2)
        array([[-0.71,  0.71]], dtype=float32)
        """
        check_is_fitted(self)
        self.vectorizer_.n_jobs = self.n_jobs  # may have changed since fitting or loading
        weights = self.vectorizer_.transform(X).astype(np.float32)
        return (weights @ self.vectors_).astype(np.float32, copy=False)

    def top_terms(self, name: Label, n: int = 10) -> list[tuple[str, float]]:
        """Return the highest-scoring terms of a class, best first.

        Parameters
        ----------
        name : str or int
            The class.
        n : int, default=10
            Maximum number of terms.

        Returns
        -------
        list of (str, float)
            Terms and scores. Scores are z-scores, before projection if the vectors are projected.

        Raises
        ------
        InputError
            The class is unknown.

        See Also
        --------
        WordClassEmbeddings.profile : Scores of a term for all classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> texts = ["bright moon", "full moon", "red rose", "white rose"]
        >>> labels = ["sky", "sky", "garden", "garden"]
        >>> wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
        >>> [(term, round(score, 2)) for term, score in wce.top_terms("sky")]
        [('moon', 0.71), ('rose', -0.71)]
        """
        check_is_fitted(self)
        if name not in self.columns_:
            raise InputError(describe_unknown_name("class", name, self.columns_))
        scores = self._scores_of_column(self.columns_.index(name))
        best = np.argsort(-scores, kind="stable")[: max(n, 0)]
        return [(self.terms_[row], float(scores[row])) for row in best]

    def profile(self, term: str, n: int | None = None) -> list[tuple[Label, float]]:
        """Return the scores of a term for the classes, best first.

        Parameters
        ----------
        term : str
            The term. A word that is not a term is converted to the form in which the analyzer
            writes it, such as lower case.
        n : int, optional
            Maximum number of classes. By default, all classes are returned.

        Returns
        -------
        list of (class, float)
            Classes and scores. All scores of an unseen term are zero.

        See Also
        --------
        WordClassEmbeddings.top_terms : Highest-scoring terms of a class.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> [(name, round(score, 2)) for name, score in wce.profile("Moon")]
        [('sky', 0.71), ('garden', -0.71)]
        """
        row = self._row(self.written(term))
        scores = np.zeros(len(self.classes_)) if row is None else self._scores_of_row(row)
        order = np.argsort(-scores[: len(self.classes_)], kind="stable")[:n]
        return [(self.classes_[j], float(scores[j])) for j in order]

    def _scores_of_column(self, column: int) -> Floats32:
        """Return the scores (v,) of all terms for a column of the class vectors."""
        if self.class_vectors_ is not None:
            return np.asarray(self.class_vectors_[:, column])
        counts = self.learned_.counts
        # a second column is computed because numpy adds up a single column in another order
        columns = sorted({column, (column + 1) % counts.n_classes})
        dropped = ~np.isin(np.arange(counts.n_classes), columns)
        S = self._recipe.vectors(counts.without_classes(dropped), "array", np.float32)
        return np.asarray(S[:, columns.index(column)])

    def _scores_of_row(self, row: int) -> Floats32:
        """Return the scores of a term for all columns of the class vectors."""
        if self.class_vectors_ is not None:
            return np.asarray(self.class_vectors_[row])
        S = self._recipe.vectors(self.learned_.counts, "rows").rows(slice(row, row + 1))
        return np.asarray(S[0], dtype=np.float32)

    def written(self, word: str) -> str:
        """Return a word in the form in which the analyzer writes it.

        Parameters
        ----------
        word : str
            The word.

        Returns
        -------
        str
            The form of the analyzer. The word itself is returned if it is a term, if the analyzer
            cuts it into several terms or none, or if terms are n-grams of characters.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.written("Moon")
        'moon'
        """
        analyze = self.vectorizer_.build_analyzer()
        if word in self or isinstance(analyze, CharacterAnalyzer):
            return word
        longest = max(analyze(word), key=len, default=word)
        return longest if len(longest.split()) == len(word.split()) else word

    def to_word_vectors(self) -> WordVectors:
        """Return the embeddings as word vectors.

        Returns
        -------
        WordVectors
            Terms and vectors. The dimensions have the names of the classes, unless the vectors are
            projected.

        See Also
        --------
        WordVectors.save : Write word vectors to a file.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.to_word_vectors().dimension_names
        ('garden', 'sky')
        """
        check_is_fitted(self)
        names = None if self._is_projected else tuple(self.columns_)
        return WordVectors.of(self.terms_, self.vectors_, names)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features that `transform` returns.

        Parameters
        ----------
        input_features : object, optional
            Not used. It exists for compatibility with scikit-learn.

        Returns
        -------
        array of str
            The classes, or "wce0", "wce1" and so on if the vectors are projected.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.get_feature_names_out().tolist()
        ['garden', 'sky']
        """
        check_is_fitted(self)
        if self._is_projected:
            return np.array([f"wce{j}" for j in range(self.vectors_.shape[1])], dtype=object)
        return np.array([str(name) for name in self.columns_], dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the embeddings to a file, including options, classes and sums.

        An existing file is replaced atomically.

        Parameters
        ----------
        path : str or path-like
            The file, which usually ends in .wce.

        Raises
        ------
        StorageError
            The file cannot be written.

        See Also
        --------
        WordClassEmbeddings.load : Read the embeddings.

        Examples
        --------
        >>> import wordclass as wc
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "news.wce")
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.save(path)
        >>> path.exists()
        True
        """
        state = self.to_state()
        codeframe = self.learned_.codeframe
        model_metadata = {
            "options": to_json_options(self.get_params()),
            "classes": codeframe.classes,
            "kind": codeframe.kind,
            "matrix_columns": codeframe.matrix_columns,
            "wordclass": metadata.version("wordclass"),
        }
        (ModelState.of(model_metadata) | state).write(Path(path), "wce")

    def to_state(self) -> ModelState:
        """Return the state that is stored, without options and codeframe.

        Returns
        -------
        ModelState
            Sums, vocabulary and vectors.

        Examples
        --------
        >>> import wordclass as wc
        >>> wce = wc.WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> wce.to_state().arrays["class_vectors"].shape
        (2, 2)
        """
        check_is_fitted(self)
        vectors = self.vectors_ if self._is_projected else None
        vector_state = ModelState.of(class_vectors=self.class_vectors_, vectors=vectors)
        return self.learned_.to_state() | vector_state

    @property
    def _is_projected(self) -> bool:
        return self.vectors_ is not self.class_vectors_

    def _row(self, term: str) -> int | None:
        check_is_fitted(self)
        if not isinstance(term, str):
            raise TypeError(f"a term is a str, not a {type(term).__name__}")
        return self.learned_.vocabulary.index.get(term)

    def __getitem__(self, term: str) -> Floats32:
        row = self._row(term)
        if row is None:
            return np.zeros(self.vectors_.shape[1], np.float32)
        vector: Floats32 = self.vectors_[row]
        return vector.copy()

    def __contains__(self, term: str) -> bool:
        return self._row(term) is not None

    def __len__(self) -> int:
        check_is_fitted(self)
        return len(self.terms_)

    def __iter__(self) -> Iterator[str]:
        check_is_fitted(self)
        return iter(self.terms_)
