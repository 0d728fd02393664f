"""The classifier for thousands of classes: a tree with one small linear model per node."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Sparse
from wordclass.classifiers._options import CLASS_WEIGHT, HIERARCHY, PROBABILITIES, SEED
from wordclass.classifiers.base import TextClassifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import class_order, fingerprint_texts, stratified_folds
from wordclass.decision.tree_scorer import ClassTree, TreeScorer
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
from wordclass.options import Option, n_threads, number
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer_options import TEXT_OPTIONS
from wordclass.text.weighting import SupervisedWeight

# the values that `tune` chooses from, the most important option first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {"C": (0.3, 1.0, 3.0), "ngrams": ((1, 1), (1, 2)), "min_docs": (1, 2, 3, 5)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeClassifier(TextClassifier):
    """Classifier that groups similar classes and learns a small model per group.

    A model is learned from the documents that reach its group. This is far cheaper than one model
    per class if there are thousands of classes. The score of a class is the logarithm of its
    probability: the sum over the steps from the root of the tree to the class.

    Attributes
    ----------
    scorer_ : TreeScorer
        The tree and the weights of its nodes.

    See Also
    --------
    LinearClassifier : Uses this classifier if there are 5,000 classes or more.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green pear", "blue sky", "dark cloud"] * 3
    >>> labels = ["apple", "pear", "sky", "cloud"] * 3
    >>> hierarchy = {"apple": "fruit", "pear": "fruit", "sky": "air", "cloud": "air"}
    >>> model = wc.TreeClassifier(hierarchy=hierarchy).fit(texts, labels)
    >>> [step for step, probability in model.explanation("red apple").path("apple")]
    ['fruit', 'apple']
    """

    options: ClassVar[Mapping[str, Option]] = {
        "hierarchy": Option(
            "The parent of each class and of each group of classes. By default classes are "
            "clustered by their words, into two levels, or more above 65,536 classes.",
            HIERARCHY,
            also=(None,),
        ),
        "C": Option(
            "Cost of errors relative to the size of the weights. Larger values fit the training "
            "texts more closely.",
            number(above=0.0),
        ),
        "class_weight": CLASS_WEIGHT,
        "probabilities": PROBABILITIES,
        "seed": SEED,
        **TEXT_OPTIONS,
    }

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
        weigher, X = self._new_weigher().fit_transform(texts, labels)
        problem = TreeProblem(
            tree=self._grow_tree(texts, labels, X, weigher.terms, sample_weight),
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
        self.scorer_ = TreeScorer(weigher, model)

    def _grow_tree(
        self,
        texts: Sequence[str],
        labels: EncodedLabels,
        X: Sparse,
        terms: Sequence[str],
        sample_weight: Floats | None,
    ) -> ClassTree:
        """Return the tree of the hierarchy, or a tree of clusters of similar classes."""
        if self.hierarchy is not None:
            return tree_of_hierarchy(self.hierarchy, labels.codeframe.classes)
        Y = labels.Y if sample_weight is None else sparse.diags(sample_weight) @ labels.Y
        vectors = rows_of_length_one(Y.T @ X)
        rows = np.flatnonzero(np.ones(len(texts)) if sample_weight is None else sample_weight)
        order = class_order(fingerprint_texts(texts)[rows], labels.Y[rows])
        return tree_of_vectors(vectors[order], terms, self.seed).with_classes(order)

    def _restore_state(self, state: ModelState) -> None:
        class_costs(self.class_weight, self.codeframe_)
        is_single_label = not self.codeframe_.is_multilabel
        self.scorer_ = TreeScorer.from_state(
            self._new_weigher(), state, is_single_label=is_single_label
        )


make = TreeClassifier
