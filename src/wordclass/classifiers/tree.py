"""A tree of classes, for thousands of them: one small linear model per node."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Sparse
from wordclass.classifiers.base import TextClassifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import class_order, fingerprint_texts, stratified_folds
from wordclass.decision.tree_scorer import ClassTree, TreeScorer
from wordclass.errors import InputError
from wordclass.linear.problem import class_costs
from wordclass.linear.search import N_FOLDS
from wordclass.linear.tree import (
    Hierarchy,
    TreeProblem,
    learn,
    rows_of_length_one,
    tree_of_hierarchy,
    tree_of_vectors,
)
from wordclass.options import check_int, check_number, n_threads
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, SupervisedWeight, shared_options

# what `tune` chooses from; what matters most comes first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {"C": (0.3, 1.0, 3.0), "ngrams": ((1, 1), (1, 2)), "min_docs": (1, 2, 3, 5)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeClassifier(TextClassifier):
    """Groups similar classes, and learns small models of groups and of the classes in them.

    A model is learned from the documents that reach its group, which is far cheaper than one
    model per class if there are thousands of classes. The score of a class is the logarithm of its
    probability: the sum over the steps from the top of the tree to the class.

    Parameters
    ----------
    hierarchy : mapping, optional
        From child to parent: a hierarchy that has every class in it. By default classes are
        clustered by their words, into two levels or, above 65,536 classes, more.
    C : float, default=1.0
        How much errors weigh against small weights.
    ngrams : (int, int), default=(1, 1)
    weighting : str, callable or object with `fit`, default="tfidf"
    min_docs : int or float, default=2
    mask_numbers : bool, default=True
    analyzer : callable or "characters", optional
    stop_words : str or collection of str, optional
        Which terms there are, and their weights: see `DocumentVectorizer`.
    class_weight : "balanced", dict or None, default="balanced"
        "balanced": errors on a small class weigh more; None: all weigh the same; or a weight for
        each class that is not to have 1.
    probabilities : bool, default=True
        Whether `predict_proba` is to work.
    seed : int, default=0
        For clusters and folds.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    scorer_ : TreeScorer
        The tree and the weights of its nodes.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green pear", "blue sky", "dark cloud"] * 3
    >>> labels = ["apple", "pear", "sky", "cloud"] * 3
    >>> hierarchy = {"apple": "fruit", "pear": "fruit", "sky": "air", "cloud": "air"}
    >>> model = wc.classifier("tree", hierarchy=hierarchy).fit(texts, labels)
    >>> [step for step, probability in model.explanation("red apple").path("apple")]
    ['fruit', 'apple']
    """

    hierarchy: Hierarchy | None = None
    C: float = 1.0
    ngrams: tuple[int, int] = (1, 1)
    weighting: str | Weight | SupervisedWeight = "tfidf"
    min_docs: int | float = 2
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    class_weight: Literal["balanced"] | Mapping[Label, float] | None = "balanced"
    probabilities: bool = True
    seed: int = 0
    n_jobs: int | None = None

    name = "tree"

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_options()
        vectorizer = self._vectorizer()
        X = vectorizer.fit_transform(texts, labels)
        problem = TreeProblem(
            tree=self._grow(texts, labels, X, vectorizer.vocabulary_.terms, sample_weight),
            X=X,
            Y=labels.Y,
            is_single_label=not labels.codeframe.is_multilabel,
            C=self.C,
            class_weights=class_costs(self.class_weight, labels.codeframe),
            sample_weight=sample_weight,
            n_threads=n_threads(self.n_jobs),
        )
        folds = stratified_folds(texts, labels.Y, N_FOLDS, self.seed)
        model, self.thresholds_ = learn(problem, folds)
        self.calibration_ = self.share_calibration_ = None
        self.scorer_ = TreeScorer(vectorizer, model)

    def _check_options(self) -> None:
        check_int("seed", self.seed)
        check_number("C", self.C, above=0.0)
        if not isinstance(self.hierarchy, Mapping | None):
            raise InputError(
                f"hierarchy is a {type(self.hierarchy).__name__}; expected a mapping from child to "
                "parent, or None"
            )

    def _grow(
        self,
        texts: Sequence[str],
        labels: EncodedLabels,
        X: Sparse,
        terms: Sequence[str],
        sample_weight: Floats | None,
    ) -> ClassTree:
        """Return the tree of the hierarchy, or of clusters of the classes."""
        if self.hierarchy is not None:
            return tree_of_hierarchy(self.hierarchy, labels.codeframe.classes)
        Y = labels.Y if sample_weight is None else sparse.diags(sample_weight) @ labels.Y
        vectors = rows_of_length_one(Y.T @ X)
        rows = np.flatnonzero(np.ones(len(texts)) if sample_weight is None else sample_weight)
        order = class_order(fingerprint_texts(texts)[rows], labels.Y[rows])
        return tree_of_vectors(vectors[order], terms, self.seed).with_classes(order)

    def _vectorizer(self) -> DocumentVectorizer:
        """Return an unfitted vectorizer with the options of the classifier."""
        return DocumentVectorizer(**shared_options(self, DocumentVectorizer))

    def _restore_state(self, state: ModelState) -> None:
        self._check_options()
        class_costs(self.class_weight, self.codeframe_)
        is_single_label = not self.codeframe_.is_multilabel
        self.scorer_ = TreeScorer.from_state(
            self._vectorizer(), state, is_single_label=is_single_label
        )


make = TreeClassifier
