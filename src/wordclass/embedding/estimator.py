"""Word-class embeddings, as a scikit-learn transformer of texts."""

from collections.abc import Collection, Iterable, Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import (
    Codeframe,
    EncodedLabels,
    check_class_count,
    describe_unknown_name,
    read_labelled_texts,
)
from wordclass.corpus.shards import ShardedCorpus
from wordclass.corpus.splits import fold_numbers
from wordclass.embedding.counts import FoldCounts
from wordclass.embedding.cross_fit import STEP, Embed, cross_fit_features
from wordclass.embedding.sharded_fit import CrossFit, GivenBlocks, learn_in_parts
from wordclass.embedding.state import EmbeddingState, StateBuilder
from wordclass.embedding.vectors import Correlate, Projection, Recipe, RowVectors
from wordclass.engines.engine import open_engine
from wordclass.engines.tasks import Engine
from wordclass.errors import InputError
from wordclass.options import check_int, check_memory
from wordclass.storage.files import as_format_error
from wordclass.storage.metadata import restore_codeframe, restore_options, to_json_options
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze, CharacterAnalyzer
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, TextEstimator, shared_options
from wordclass.vectors.word_vectors import WordVectors

Labels = Iterable[Label] | Iterable[Iterable[Label]] | NDArray[Any] | Sparse | EncodedLabels


@dataclass(kw_only=True, eq=False, repr=False)
class WordClassEmbeddings(TextEstimator, TransformerMixin, BaseEstimator):
    """Word vectors whose every dimension is a class of the user's own task.

    Parameters
    ----------
    correlation : str or callable, default="dot"
        A file name in `correlations/`, or a function from `WordClassCounts` to an array (v, m).
    weighting : str or callable, default="tfidf"
        A file name in `weightings/`, of one that sees no labels, or a function of (occurrences,
        vocabulary).
    shrinkage : float, default=0.0
        Pseudo-count: how many occurrences that know nothing are added to every term; 0 is the
        paper's method, 20 is a good value where rare terms abound.
    projector : str or object, default="pca"
        What projects the columns where there are more than `max_dims`: a file name in
        `projectors/`, or an object with `fit_transform` and `transform`.
    max_dims : int or None, default=300
        More columns than this are projected to so many. None: never.
    min_docs : int or float, default=5
    ngrams : (int, int), default=(1, 1)
    mask_numbers : bool, default=True
    analyzer : "characters" or callable, optional
    stop_words : str or collection of str, optional
        Which terms there are: see `DocumentVectorizer`.
    folds : int, default=10
        For the cross-fitted `fit_transform`.
    seed : int, default=0
        Of these folds, and of the random projector.
    keep_documents : bool, default=False
        Keep the counted documents, so that `partial_fit`, `merge` and `remove` equal a fresh fit.
        Without, vocabulary and document frequencies are frozen at the first fit, and the result
        equals a fit with those.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it. (Where words
        are not counted by native code, as with a function as `analyzer`, these are processes.)

    Attributes
    ----------
    terms_ : list of str
        The rows, sorted by code point.
    classes_ : list
        The classes, sorted.
    columns_ : list
        The columns of `class_vectors_`: the classes, then the extra columns of a file that an older
        version saved.
    vectors_ : float32 array of shape (v, r)
        The embeddings.
    vectorizer_ : DocumentVectorizer
        Fitted: makes X.
    class_vectors_ : float32 array of shape (v, columns), or None
        The same before projection; None where it would be too large to be held (2^28 numbers):
        `top_terms` and `profile` make what they need of it.
    """

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

    # --- learning ---------------------------------------------------------------------------

    def fit(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Learn the embeddings from labelled texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels: one str or int per text; or a list, set or tuple of them per text; or a 0/1
            matrix.
        class_names : iterable of str or int, optional
            The columns of a matrix; for other labels, the whole codeframe.
        """
        listed, encoded = read_labelled_texts(X, y, class_names)
        check_class_count(encoded.codeframe)
        self._adopt(self._learner().learn(listed, encoded))
        return self

    def fit_blocks(self, blocks: Iterable[tuple[Iterable[str], Labels]]) -> Self:
        """Learn the embeddings from labelled texts that come block by block: only sums are held.

        Parameters
        ----------
        blocks : iterable of (texts, labels)
            Pairs of texts and labels. They are gone through twice, so it must be a list, or an
            object that starts anew each time it is iterated over; a generator does not.
            Labels that come as lists are multilabel, unless the object has an attribute
            `is_multilabel` that says otherwise afterwards, as `CorpusReader` has.
        """
        if iter(blocks) is blocks:
            raise InputError("blocks can be gone through only once; expected a list, or the like")
        return self.fit_parts(GivenBlocks([blocks]))

    def fit_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see below
        *,
        engine: str | Engine = "in_sequence",
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """Learn the embeddings from a corpus in parts, by an engine: only sums are held.

        The terms are those of `fit`, and the vectors equal its own but for rounding, whatever the
        parts and their order. The same parts give the same bits, on every engine.

        Parameters
        ----------
        corpus : ShardedCorpus, or what `ShardedCorpus.of` takes
            The parts: files, patterns, addresses; a Dask bag or dataframe, a Spark DataFrame.
        engine : str or engine, default="in_sequence"
            A file name in `engines/`, or what `wc.engine` returned.
        **options
            Of an engine that is named: see `wc.engine`.

        After it, `seen_` tells of the records: `n_docs`, and `n_skipped`, those that could not be
        read.
        """
        with open_engine(engine, **options) as running:
            found = learn_in_parts(self._learner(), _in_parts(corpus), running)
        self._adopt(found.learned)
        self.seen_ = found.seen
        return self

    def fit_transform_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see `fit_parts`
        folder: str | PathLike[str],
        *,
        engine: str | Engine = "in_sequence",
        **options: Any,  # noqa: ANN401
    ) -> list[Path]:
        """Learn from a corpus in parts, and write cross-fitted features of its texts.

        The features of a text are those of `fit_transform`: its fold is a hash of seed and text, so
        it does not depend on the parts.

        Parameters
        ----------
        corpus, engine, **options
            As in `fit_parts`.
        folder : str or path
            Where the features go, one file per part, `part-00000.npy` and so on: float32 arrays of
            shape (documents of the part, r). Workers on other machines must reach it, too.

        Returns
        -------
        list of Path
            The files, in the order of the parts.
        """
        with open_engine(engine, **options) as running:
            given, place = _in_parts(corpus), Path(folder)
            found = learn_in_parts(
                self._learner(), given, running, folds=self.folds, seed=self.seed, n_more=1
            )
            embed = self._adopt(found.learned)
            self.seen_ = found.seen
            vectors = [embed(found.learned.counts - counts) for counts in found.fold_counts]
            writing = CrossFit(
                *(
                    given.without_items(),
                    self.vectorizer_,
                    vectors,
                    self.seed,
                    str(place.absolute()),
                )
            )
            place.mkdir(parents=True, exist_ok=True)
            return found.job.run(writing, "writing features")

    def fit_transform(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Floats32:
        """Learn the embeddings, and return features (n, r) of these texts that are cross-fitted.

        The features of a text are made with embeddings that never saw the texts of its fold, so
        that its own labels are not in them. `transform` of new texts has no such problem.
        """
        listed, encoded = read_labelled_texts(X, y, class_names)
        check_class_count(encoded.codeframe)
        learner = self._learner()
        self._check_features(*encoded.Y.shape)
        learned, weights = learner.learn_weighted(listed, encoded)
        embed = self._adopt(learned)
        folds = fold_numbers(listed, self.folds, self.seed)
        return cross_fit_features(weights, encoded.Y, folds, learner.recipe.count, embed)

    def fit_fractional(
        self, texts: list[str], labels: EncodedLabels, weights: Floats, places: Ints
    ) -> Floats32:
        """Learn from weighted documents, and return their cross-fitted features.

        Parameters
        ----------
        texts : list of str
            Distinct texts.
        labels : EncodedLabels
            The labels of the documents, several of which may share a text.
        weights : array of shape (n,)
            The weight of each document, above 0.
        places : array of shape (n,)
            The place of each document's text.

        Returns
        -------
        array of shape (n, r)
            Features made with embeddings that never saw the labels of the text's fold.
        """
        builder = self._learner()
        state, X = builder.learn_fractional(texts, labels, weights, places)
        embed = self._adopt(state)
        folds = fold_numbers(texts, self.folds, self.seed)[places]
        weighted = sparse.diags(weights, format="csr") @ X
        features = cross_fit_features(weighted, labels.Y, folds, builder.recipe.count, embed)
        return (features / weights[:, None]).astype(np.float32)

    def with_fractional(
        self, texts: list[str], labels: EncodedLabels, weights: Floats | None
    ) -> "WordClassEmbeddings":
        """Return embeddings with more documents, each of which has a weight; terms stay the same.

        Parameters
        ----------
        texts : list of str
            The text of each document.
        labels : EncodedLabels
            The labels of the documents, over the classes of these embeddings.
        weights : array of shape (n,) or None
            The weight of each document. None: all are 1.

        Returns
        -------
        WordClassEmbeddings
            New embeddings; these do not change.
        """
        X = self.vectorizer_.transform(texts)
        if weights is not None:
            X = sparse.diags(weights, format="csr") @ X
        counts = self._learner().recipe.count(X, labels.Y)
        larger = copy(self)
        larger._adopt(self.learned_.plus(counts, labels.codeframe))
        return larger

    def fit_folds(self, texts: Iterable[str], labels: Labels, folds: Ints) -> Floats32:
        """Learn the embeddings, and return those without each fold (folds, v, r).

        What a network reads in training: the tokens of a text have the vectors that never saw the
        texts of its fold. All are projected in the same way.

        The fold (n,) of a text is a number from 0 up; -1: held out. Such a text counts for the
        vocabulary and document frequencies, but nothing is learned from its labels.
        """
        listed, encoded = read_labelled_texts(texts, labels, None)
        check_class_count(encoded.codeframe)
        learner = replace(self._learner(), keep_documents=False)
        learned, X = learner.learn_weighted(listed, encoded)
        n_folds = int(folds.max(initial=-1)) + 1
        counts = FoldCounts(X, encoded.Y, folds, n_folds, learner.recipe.count)
        embed = self._adopt(replace(learned, counts=counts.everything))
        without = (counts.without([fold]) for fold in progress.track(range(n_folds), STEP))
        return np.array([embed(rest).astype(np.float32) for rest in without])

    def partial_fit(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Add labelled texts; classes may be new. The first call is a `fit`."""
        listed, encoded = read_labelled_texts(X, y, class_names)
        learner = self._learner()
        if hasattr(self, "learned_"):
            self._adopt(learner.add(self.learned_, listed, encoded))
        else:
            self._adopt(learner.learn(listed, encoded))
        return self

    def merge(self, other: "WordClassEmbeddings") -> Self:
        """Add all the documents that other embeddings were learned from.

        Raises
        ------
        InputError
            The options differ; or, where documents were not kept, vocabulary or document
            frequencies do.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        ours, theirs = self.get_params(), other.get_params()
        differing = [name for name in ours if name != "n_jobs" and ours[name] != theirs[name]]
        if differing:
            raise InputError(f"the options of the two embeddings differ: {', '.join(differing)}")
        self._adopt(self._learner().merge(self.learned_, other.learned_))
        return self

    def remove(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Take labelled texts out again, as if they had never been there.

        A class without documents is gone, unless it came as a column of a label matrix.

        Raises
        ------
        InputError
            Some of them were not there, or none would be left; nothing was changed.
        """
        check_is_fitted(self)
        listed, encoded = read_labelled_texts(X, y, class_names)
        self._adopt(self._learner().remove(self.learned_, listed, encoded))
        return self

    def _check_features(self, n_docs: int, n_classes: int) -> None:
        """Refuse features (n, r) that would not fit into memory."""
        n_dims = n_classes if self.max_dims is None else min(n_classes, self.max_dims)
        remedy = "use a lower max_dims, or fewer documents at a time"
        what = f"the features of {n_docs:,} documents by {n_dims:,} dimensions"
        check_memory(what, 4 * n_docs * n_dims, remedy)

    def _learner(self) -> StateBuilder:
        """Check the options, and put together what they ask for."""
        check_int("folds", self.folds, 2, 10_000)
        if self.max_dims is not None:
            check_int("max_dims", self.max_dims, 1)
        check_int("seed", self.seed)
        vectorizer = self._vectorizer()
        vectorizer.check_unsupervised()
        recipe = Recipe.of(self.correlation, self.shrinkage)
        return StateBuilder(vectorizer, recipe, self.keep_documents)

    def _vectorizer(self) -> DocumentVectorizer:
        return DocumentVectorizer(**shared_options(self, DocumentVectorizer))

    def _adopt(self, learned: EmbeddingState) -> Embed:
        """Make the embeddings of what was learned; nothing of ours is changed before that.

        Returns what makes the vectors of other counts in the same way, projection included.
        """
        recipe = Recipe.of(self.correlation, self.shrinkage)
        projection = Projection(self.projector, self.max_dims, self.seed)
        is_projected = projection.applies_to(learned.counts.n_classes)
        projection.check_memory(learned.counts.n_terms, learned.counts.n_classes)
        use: Literal["array", "blocks"] = "array"
        if is_projected and projection.reads_blocks:
            use = "blocks"
        S = recipe.vectors(learned.counts, use, np.float64 if is_projected else np.float32)
        if isinstance(S, RowVectors):
            self._set(learned, None, projection.fit_rows(S))
        else:
            vectors = projection.fit(S, learned.counts.known)
            class_vectors = S.astype(np.float32, copy=False)
            self._set(learned, class_vectors, class_vectors if vectors is S else vectors)
        return lambda counts: projection.of(recipe.embed(counts), counts.known)

    def _set(
        self, learned: EmbeddingState, class_vectors: Floats32 | None, vectors: Floats | Floats32
    ) -> None:
        """Set the fitted attributes; the two arrays are one where nothing was projected.

        Class vectors that would be too large are made some at a time, of the sums.
        """
        self.learned_ = learned
        self.vectorizer_ = self._vectorizer().with_vocabulary(learned.vocabulary)
        self.terms_ = learned.vocabulary.terms
        self.classes_ = list(learned.codeframe.classes)
        self.columns_ = [*self.classes_, *learned.extra_columns]
        self.class_vectors_: Any = class_vectors
        self.vectors_: Floats32 = vectors.astype(np.float32, copy=False)

    # --- using ------------------------------------------------------------------------------

    def transform(self, X: Iterable[str]) -> Floats32:
        """Return the features (n, r) of texts: their weights times the embeddings."""
        check_is_fitted(self)
        self.vectorizer_.n_jobs = self.n_jobs  # may have been set after learning or loading
        weights = self.vectorizer_.transform(X).astype(np.float32)
        return (weights @ self.vectors_).astype(np.float32, copy=False)

    def top_terms(self, name: Label, n: int = 10) -> list[tuple[str, float]]:
        """Return the terms that speak most for a class, best first, with their scores."""
        check_is_fitted(self)
        if name not in self.columns_:
            raise InputError(describe_unknown_name("class", name, self.columns_))
        scores = self._scores_for(self.columns_.index(name))
        best = np.argsort(-scores, kind="stable")[: max(n, 0)]
        return [(self.terms_[j], float(scores[j])) for j in best]

    def profile(self, term: str, n: int | None = None) -> list[tuple[Label, float]]:
        """Return the classes a term speaks for, best first; an unseen term has zeros.

        A word that is no term is looked up as `written` has it: "SCSI" where texts are lowercased.
        """
        row = self._row(self.written(term))
        scores = np.zeros(len(self.classes_)) if row is None else self._scores_of(row)
        order = np.argsort(-scores[: len(self.classes_)], kind="stable")[:n]
        return [(self.classes_[j], float(scores[j])) for j in order]

    def _scores_for(self, column: int) -> Floats32:
        """Return the scores (v,) of all terms for a column of the class vectors."""
        if self.class_vectors_ is not None:
            return np.asarray(self.class_vectors_[:, column])
        counts = self.learned_.counts
        beside = {column, (column + 1) % counts.n_classes}  # two: see `Recipe.embed`
        dropped = ~np.isin(np.arange(counts.n_classes), [*beside])
        recipe = Recipe.of(self.correlation, self.shrinkage)
        S = recipe.embed(counts.without_classes(dropped), np.float32)
        return np.asarray(S[:, sorted(beside).index(column)])

    def _scores_of(self, row: int) -> Floats32:
        """Return the scores of a term for all columns of the class vectors."""
        if self.class_vectors_ is not None:
            return np.asarray(self.class_vectors_[row])
        recipe = Recipe.of(self.correlation, self.shrinkage)
        S = recipe.vectors(self.learned_.counts, "rows").rows(slice(row, row + 1))
        return np.asarray(S[0], dtype=np.float32)

    def written(self, word: str) -> str:
        """Return a word as the analyzer writes it, unless it is a term as it stands.

        What the analyzer takes for several terms, or for none, is returned as it stands too; so is
        every word where terms are n-grams of characters.
        """
        analyze = self.vectorizer_.build_analyzer()
        if word in self or isinstance(analyze, CharacterAnalyzer):
            return word
        longest = max(analyze(word), key=len, default=word)
        return longest if len(longest.split()) == len(word.split()) else word

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # what was learned is large, and replaced rather than changed: a copy of a classifier that
        # was given these embeddings shares it
        made: Self = copy(self).set_params(**deepcopy(self.get_params(deep=False), memo))
        return made

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

    def __bool__(self) -> bool:
        return True  # an estimator is there, however many terms it has

    def __iter__(self) -> Iterator[str]:
        check_is_fitted(self)
        return iter(self.terms_)

    def _row(self, term: str) -> int | None:
        check_is_fitted(self)
        if not isinstance(term, str):
            raise TypeError(f"a term is a str, not a {type(term).__name__}")
        return self.learned_.vocabulary.index.get(term)

    def to_word_vectors(self) -> WordVectors:
        """Return the embeddings as plain word vectors, with the names of their columns."""
        check_is_fitted(self)
        names = None if self._is_projected else tuple(self.columns_)
        return WordVectors.of(self.terms_, self.vectors_, names)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the columns that `transform` returns."""
        check_is_fitted(self)
        if self._is_projected:
            return np.array([f"wce{j}" for j in range(self.vectors_.shape[1])], dtype=object)
        return np.array([str(name) for name in self.columns_], dtype=object)

    @property
    def _is_projected(self) -> bool:
        return self.vectors_ is not self.class_vectors_

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file with everything inside; it appears when it is complete."""
        parts = self.to_state()
        codeframe = self.learned_.codeframe
        told = {
            "options": to_json_options(self.get_params()),
            "classes": codeframe.classes,
            "kind": codeframe.kind,
            "matrix_columns": codeframe.matrix_columns,
            "wordclass": metadata.version("wordclass"),
        }
        (ModelState.of(told) | parts).write(Path(path), "wce")

    @classmethod
    def load(cls, path: str | PathLike[str], **functions: object) -> "WordClassEmbeddings":
        """Read what `save` wrote.

        A function (`analyzer`, `weighting`, `correlation`) or projector of the user's own is not
        in the file, only its name: it must be given again, as `load(path, analyzer=...)`.
        """
        place = Path(path)
        parts = ModelState.read(place, "wce")
        with as_format_error(place, "not complete"):
            told = parts.metadata
            options = restore_options(place, told["options"], functions)
            codeframe = restore_codeframe(told["classes"], told["kind"], told["matrix_columns"])
            return cls(**options).from_state(codeframe, parts)

    def to_state(self) -> ModelState:
        """Return what is stored of these embeddings beside options and codeframe."""
        check_is_fitted(self)
        vectors = self.vectors_ if self._is_projected else None
        own = ModelState.of(class_vectors=self.class_vectors_, vectors=vectors)
        return self.learned_.to_state() | own

    def from_state(self, codeframe: Codeframe, parts: ModelState) -> Self:
        """Become fitted by what `to_state` returned; the options are checked as by `fit`."""
        self._learner()
        learned = EmbeddingState.from_state(codeframe, parts)
        class_vectors, vectors = parts.take(
            class_vectors="float32? terms columns", vectors="float32? terms dimensions"
        ).values()
        if class_vectors is None and vectors is None:
            raise InputError("there are no vectors")
        self._set(learned, class_vectors, class_vectors if vectors is None else vectors)
        return self


def _in_parts(corpus: Any) -> Any:  # noqa: ANN401 - see `fit_parts`
    return corpus if hasattr(corpus, "conclude") else ShardedCorpus.of(corpus)
