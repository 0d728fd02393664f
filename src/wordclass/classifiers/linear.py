"""The default classifier: a linear model per class on words, characters and word-class scores."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers._options import (
    CLASS_WEIGHT,
    ENCODER,
    HIERARCHY,
    OTHER,
    PROBABILITIES,
    SEED,
    SHRINKAGE,
    TARGET,
    VECTORS,
)
from wordclass.classifiers.base import TextClassifier
from wordclass.classifiers.factory import classifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import stratified_folds
from wordclass.decision.measures import check_target
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import Calibration, tuned_thresholds
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import check_other_tasks
from wordclass.errors import InputError
from wordclass.linear.features import LinearCorpus, LinearFeatures
from wordclass.linear.problem import class_costs
from wordclass.linear.search import (
    N_FOLDS,
    Documents,
    LinearChoices,
    LinearSettings,
    LinearTrial,
    SettingsSearch,
    restore_settings,
    sample_documents,
)
from wordclass.linear.tree import Hierarchy
from wordclass.options import Option, is_auto, number, one_of
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import CHARACTERS, Analyze, lacks_spaces
from wordclass.text.counting import Weight
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vectorizer_options import NGRAMS, TEXT_OPTIONS
from wordclass.text.weighting import SupervisedWeight
from wordclass.vectors.word_vectors import WordVectors

# the values that `tune` chooses from, the most important option first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {
        "ngrams": ((1, 1), (1, 2), (1, 3)),
        "characters": (None, (2, 5)),
        "min_docs": (1, 2, 3, 5),
        "shrinkage": (0.0, 1.0, 5.0, 20.0, 50.0),
        "block_weight": (0.0, 0.1, 0.3, 1.0),
        "C": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    }
)

# the settings if classes have too few documents for a search; they were good on other documents of
# Banking77 and 20 Newsgroups
_CHOICES_FOR_FEW_DOCS = LinearChoices(
    ngrams=((1, 1),),
    vector_weight=(0.5,),
    other_weight=(0.5,),
    encoder_weight=(3.0,),
    block_weight=(0.0,),
    shrinkage=(5.0,),
    C=(3.0,),
    loss=("softmax",),
)
_MAX_FEW_SHOT_DOCS_PER_CLASS = 16
# of a student whose teacher has the loss "softmax": many fractional documents need another loss
_STUDENT_SETTINGS = {"loss": "squared_hinge", "C": 0.3, "ngrams": (1, 2)}
_NEIGHBOR_NGRAMS = (1, 2)
_NUMERIC_SETTINGS = (
    "shrinkage",
    "block_weight",
    "vector_weight",
    "other_weight",
    "encoder_weight",
    "C",
)
_CHARACTERS_WITHOUT_SPACES = (1, 3)  # in scripts without spaces between words
_MAX_MEAN_CHARS = 300  # of a text: in longer ones words are as good, and characters cost too much
_MAX_TOTAL_CHARS_FREE = 300_000  # of all texts, which cost nothing
_MAX_SOFTMAX_CELLS = 50_000_000  # characters times classes that have one model: 1 GB
_MAX_WEIGHTS = 1 << 28  # terms times classes: n-grams that need more are not tried
_MIN_SEARCH_DOCS = 20  # fewer say nothing about settings
# documents that are scored for thresholds: if there are more, only a fifth of them
_MAX_THRESHOLD_DOCS = 30_000
# documents that are scored for probabilities of single labels: a number per class, within limits
_CALIBRATION_DOCS_PER_CLASS = 1_000
_MIN_CALIBRATION_DOCS = 2_000
_MAX_CALIBRATION_DOCS = 20_000
_MANY_CLASSES = 5_000  # from here on, "auto" groups them in a tree


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(TextClassifier):
    """Classifier with one linear model per class on words, characters and word-class scores.

    For each class, a linear support vector machine sees the weights of the terms of a document, and
    its word-class score X·S for this class, by an S that was learned without the fold of the
    document. S ignores characters. Pretrained vectors add the features X·U, embeddings of
    other tasks their X·S, and an encoder its vector of the whole text. After training, everything
    but the encoder is folded into one weight per term and class, so that prediction is one sparse
    product and explanations are exact.

    Options that are "auto" are chosen by `fit` on held-out documents. Of more than 20,000
    documents, 10,000 are used for that, drawn evenly from the classes; of more than 1,000 classes
    of a multilabel task, an even choice from large to small. If classes have few documents, or
    there are fewer than 20 in all, each of these options has a fixed value.

    Attributes
    ----------
    settings_ : dict
        The chosen settings.
    trials_ : list of dict
        The settings that were tried, with macro and micro F1 on held-out documents.
    scorer_ : LinearScorer, SumScorer or TreeScorer
        The weights.
    has_tree_ : bool
        Whether the classes are grouped in a tree.

    See Also
    --------
    NearestClassifier : Uses the word-class scores alone, without training.
    TreeClassifier : For thousands of classes.
    wordclass.tune : Choose more options, within a time budget.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"]
    >>> model = wc.LinearClassifier().fit(texts, ["food", "food", "air", "air"])
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    >>> model.settings_["ngrams"]
    (1, 1)
    """

    options: ClassVar[Mapping[str, Option]] = {
        **TEXT_OPTIONS,
        "vectors": VECTORS,
        "ngrams": Option(
            'Shortest and longest run of words that makes a term. "auto" tries single words, and '
            "single words with pairs.",
            NGRAMS,
            also=("auto",),
        ),
        "shrinkage": replace(
            SHRINKAGE,
            help="Pseudo-count of the word-class scores, which pulls the scores of rare terms "
            'toward the average. "auto" tries 1, 5 and 20.',
            also=("auto",),
        ),
        "block_weight": Option(
            'Weight of the word-class score beside X. "auto" tries 0, .03 and .1.',
            number(),
            also=("auto",),
        ),
        "vector_weight": Option(
            'Weight of the pretrained vectors beside X. "auto" tries 0 and .5.',
            number(),
            also=("auto",),
        ),
        "other": OTHER,
        "other_weight": Option(
            "Weight of the embeddings of other tasks beside X, if those of each task are scaled to "
            'features of length 1 on average. "auto" tries 0 and .5.',
            number(),
            also=("auto",),
        ),
        "characters": Option(
            "Fewest and most characters of the n-grams of characters that are terms beside the "
            'words. None: only words. "auto" tries (2, 5), with pairs of words, if texts have at '
            "most 300 characters on average, or 300,000 in all; it is (1, 3) in scripts without "
            "spaces between words.",
            replace(NGRAMS, expected="(fewest, most) from 1 to 1,000, such as (2, 5)"),
            also=(None, "auto"),
        ),
        "encoder": ENCODER,
        "encoder_weight": Option(
            'Weight of the vectors of the encoder, of length 1, beside X. "auto" tries 0, .5 and '
            "2.",
            number(),
            also=("auto",),
        ),
        "C": Option(
            "Cost of errors relative to the size of the weights. Larger values fit the training "
            'texts more closely. "auto" tries .1, .3 and 1, and values beyond the end that is '
            "best.",
            number(above=0.0),
            also=("auto",),
        ),
        "loss": Option(
            'The loss. "squared_hinge": a support vector machine per class. "softmax": multinomial '
            "logistic regression, for single labels and without word-class scores, which is better "
            'if classes have few documents. "auto": "softmax" if classes have at most 16 documents '
            "on average, in a single-label task, and if neither C nor block_weight is given. It "
            "has fixed settings instead of a search.",
            one_of("squared_hinge", "softmax", "auto"),
        ),
        "classes": Option(
            'The models. "flat": one model per class. "tree", or a mapping from child to parent: '
            'the classifier "tree" with the same options. "auto": flat below 5,000 classes, '
            "otherwise a tree. A tree uses words alone (no vectors, encoder, characters, "
            'word-class scores or other tasks), without a search: "auto" is `ngrams=(1, 1)` and '
            "`C=1`.",
            HIERARCHY,
            also=("auto", "flat", "tree"),
        ),
        "class_weight": CLASS_WEIGHT,
        "target": replace(TARGET, help=f"{TARGET.help} It decides about settings and thresholds."),
        "probabilities": PROBABILITIES,
        "seed": SEED,
    }

    vectors: WordVectors | None = None
    ngrams: tuple[int, int] | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    block_weight: float | Literal["auto"] = "auto"
    vector_weight: float | Literal["auto"] = "auto"
    other: Mapping[str, WordClassEmbeddings] | None = None
    other_weight: float | Literal["auto"] = "auto"
    characters: tuple[int, int] | Literal["auto"] | None = "auto"
    encoder: str | PathLike[str] | Encode | None = None
    encoder_weight: float | Literal["auto"] = "auto"
    C: float | Literal["auto"] = "auto"
    loss: Literal["squared_hinge", "softmax", "auto"] = "auto"
    weighting: str | Weight | SupervisedWeight = "tfidf"
    min_docs: int | float = 2
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    classes: Literal["auto", "flat", "tree"] | Hierarchy = "auto"
    class_weight: Literal["balanced"] | Mapping[Label, float] | None = "balanced"
    target: str = "both"
    probabilities: bool = True
    seed: int = 0
    n_jobs: int | None = None

    name = "linear"

    def check_options(self) -> None:
        """Raise an InputError if options have values that are not accepted, or contradictory ones.

        `fit` does this first.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.LinearClassifier(C=1.0).check_options()
        """
        super().check_options()
        has_characters = self.characters is not None and not is_auto(self.characters)
        if has_characters and self.analyzer == CHARACTERS:
            raise InputError(
                f"characters is {self.characters!r} beside analyzer='characters'",
                hint="leave one out: both make n-grams of characters",
            )
        if self.classes not in ("auto", "flat") and self._features_beside_words:
            names = " and ".join(self._features_beside_words)
            raise InputError("a tree of classes uses words alone", hint=f"leave out {names}")
        if self.loss == "softmax" and self._has_word_class_scores:
            problem = (
                f"loss='softmax' uses no word-class scores, but block_weight is {self.block_weight}"
            )
            raise InputError(problem, hint="use block_weight=0")

    @property
    def _features_beside_words(self) -> list[str]:
        """The options that ask for other features than words."""
        names = [name for name in ("vectors", "encoder") if getattr(self, name) is not None]
        names += ["other"] if self.other else []
        has_characters = self.characters is not None and not is_auto(self.characters)
        return [*names, "characters"] if has_characters else names

    @property
    def _has_word_class_scores(self) -> bool:
        """Whether an option asks for word-class scores."""
        return not is_auto(self.block_weight) and float(self.block_weight) > 0

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._learn_documents(Documents(texts, labels, sample_weight))

    def _learn_documents(self, documents: Documents) -> None:
        texts = documents.texts
        labels = documents.labels
        self.has_tree_ = self._uses_tree(len(labels.codeframe.classes))
        if self.has_tree_:
            self._learn_tree(documents)
            return
        choices = self._list_choices(texts, self._choose_loss(texts, labels))
        encoder = None if self.encoder is None else SentenceEncoder.of(self.encoder)
        folds = stratified_folds(texts, labels.Y, N_FOLDS, self.seed)
        corpus = self._build_corpus(documents, folds, encoder)
        settings = replace(choices.first, characters=choices.characters[-1])
        trials: list[LinearTrial] = []
        is_searched = settings.loss != "softmax" and not choices.is_fixed
        if is_searched and len(texts) >= _MIN_SEARCH_DOCS:
            sample, sample_folds = sample_documents(
                documents, folds, self.seed, may_drop_classes=self.class_weight == "balanced"
            )
            is_complete = sample is documents
            search = SettingsSearch(
                corpus if is_complete else self._build_corpus(sample, sample_folds, encoder),
                choices,
                check_target(self.target),
                max_terms=_MAX_WEIGHTS // labels.Y.shape[1],
            )
            settings = search.run()
            trials = search.trials
        features = corpus.features(settings)
        n_scored = self._learn_decisions(features, settings)
        self.scorer_ = features.solve(settings)
        if self.calibration_ is not None and not (n_scored or labels.codeframe.is_multilabel):
            # no class has documents on both sides of a split, as if all texts were copies of one:
            # only the frequencies of the classes are known
            scores = self.scorer_.scores(texts)
            offsets = Calibration.fit_offsets(scores, labels.Y, documents.weights)
            self.calibration_ = replace(offsets, keeps_highest=True)
            self.share_calibration_ = offsets
        self.settings_ = settings.to_dict()
        self.trials_ = [trial.to_dict() for trial in trials]

    # --- unlabelled texts ---------------------------------------------------------------------

    def _make_student(self) -> "LinearClassifier":
        """Return an unfitted copy with the settings for learning from fractional labels."""
        student = self._make_teacher()
        if self.settings_["loss"] == "softmax":
            student.set_params(**_STUDENT_SETTINGS)
        return student

    def _neighbor_features(self, texts: list[str]) -> tuple[Sparse, Floats32 | None]:
        """Return the features that decide which texts are similar.

        Parameters
        ----------
        texts : list of str
            The texts.

        Returns
        -------
        X : sparse matrix of shape (n, v)
            Weights of words and pairs of words, and of n-grams of characters if they were chosen.
        vectors : array of shape (n, d) or None
            Weighted vectors of the encoder, if any.
        """
        settings = replace(LinearSettings.from_dict(self.settings_), ngrams=_NEIGHBOR_NGRAMS)
        blocks = [weigher.fit_transform(texts)[1] for weigher in self._make_weighers(settings)]
        vectors = None
        if settings.encoder_weight and self.encoder is not None:
            encoder = SentenceEncoder.of(self.encoder)
            vectors = encoder.vectors(texts, self.n_jobs) * np.float32(settings.encoder_weight)
        return sparse.hstack(blocks, format="csr"), vectors

    # --- a tree of classes --------------------------------------------------------------------

    def _uses_tree(self, n_classes: int) -> bool:
        """Return True if the classes must be grouped in a tree."""
        if is_auto(self.classes):
            return n_classes >= _MANY_CLASSES and not self._features_beside_words
        return self.classes != "flat"

    def _learn_tree(self, documents: Documents) -> None:
        """Learn with the classifier "tree", and adopt its attributes."""
        settings = replace(
            self._list_choices(documents.texts, "squared_hinge").first,
            vector_weight=0.0,
            other_weight=0.0,
            encoder_weight=0.0,
            block_weight=0.0,
            characters=None,
        )
        tree = self._tree_classifier(settings)
        tree._learn(documents.texts, documents.labels, documents.weights)
        self.thresholds_ = tree.thresholds_
        self.calibration_ = self.share_calibration_ = None
        self.scorer_ = tree.scorer_
        self.settings_ = settings.to_dict()
        self.trials_ = []

    def _tree_classifier(self, settings: LinearSettings) -> TextClassifier:
        """Return the classifier "tree" with the options of this one."""
        tree: TextClassifier = classifier("tree")
        names = tree.get_params(deep=False).keys() & self.get_params(deep=False).keys()
        options = {name: getattr(self, name) for name in names}
        hierarchy = self.classes if isinstance(self.classes, Mapping) else None
        options |= {"ngrams": settings.ngrams, "C": settings.C, "hierarchy": hierarchy}
        tree.set_params(**options)
        return tree

    # --- settings -----------------------------------------------------------------------------

    def _list_choices(self, texts: Sequence[str], loss: str) -> LinearChoices:
        """Return the values that each setting may take for some texts."""
        fixed: dict[str, tuple[Any, ...]] = {"characters": self._list_character_sizes(texts)}
        for name in _NUMERIC_SETTINGS:
            if not is_auto(getattr(self, name)):
                fixed[name] = (float(getattr(self, name)),)
        inputs = {"vector_weight": self.vectors, "encoder_weight": self.encoder}
        fixed |= {name: (0.0,) for name, source in inputs.items() if source is None}
        if not self.other:
            fixed["other_weight"] = (0.0,)
        if not is_auto(self.ngrams):
            fixed["ngrams"] = (_to_sizes(self.ngrams),)
        elif self.analyzer is not None:
            # terms of a user-defined function have no n-grams of words
            is_characters = self.analyzer == CHARACTERS
            fixed["ngrams"] = LinearChoices.characters[1:] if is_characters else ((1, 1),)
        return replace(_CHOICES_FOR_FEW_DOCS if loss == "softmax" else LinearChoices(), **fixed)

    def _list_character_sizes(self, texts: Sequence[str]) -> tuple[tuple[int, int] | None, ...]:
        """Return the sizes of n-grams of characters to try, where None stands for words alone."""
        if self.characters is not None and not is_auto(self.characters):
            return (_to_sizes(self.characters),)
        if self.characters is None or self.analyzer is not None:
            return (None,)
        if lacks_spaces(texts):
            return (_CHARACTERS_WITHOUT_SPACES,)
        max_chars = max(_MAX_MEAN_CHARS * len(texts), _MAX_TOTAL_CHARS_FREE)
        return LinearChoices.characters if sum(map(len, texts)) <= max_chars else (None,)

    def _choose_loss(self, texts: Sequence[str], labels: EncodedLabels) -> str:
        """Return the loss: "softmax" if classes have few documents, unless options forbid it."""
        is_multilabel = labels.codeframe.is_multilabel
        if not is_auto(self.loss):
            if self.loss == "softmax" and is_multilabel:
                problem = "loss='softmax' gives one label per text"
                raise InputError(problem, hint="use loss='squared_hinge'")
            return self.loss
        n_docs, n_classes = labels.Y.shape
        has_few_docs = n_docs <= _MAX_FEW_SHOT_DOCS_PER_CLASS * n_classes
        is_small = sum(map(len, texts)) * n_classes <= _MAX_SOFTMAX_CELLS
        is_allowed = is_auto(self.C) and not self._has_word_class_scores and not is_multilabel
        return "softmax" if has_few_docs and is_small and is_allowed else "squared_hinge"

    # --- decisions ----------------------------------------------------------------------------

    def _learn_decisions(self, features: LinearFeatures, settings: LinearSettings) -> int:
        """Set thresholds and calibration by the scores of held-out documents.

        Return the number of held-out documents whose scores are meaningful.
        """
        self.thresholds_ = self.calibration_ = self.share_calibration_ = None
        labels = features.documents.labels
        is_multilabel = labels.codeframe.is_multilabel
        if not is_multilabel and not self.probabilities:
            return 0
        max_docs = _MAX_THRESHOLD_DOCS
        if not is_multilabel:
            max_docs = _CALIBRATION_DOCS_PER_CLASS * labels.Y.shape[1]
            max_docs = min(max(max_docs, _MIN_CALIBRATION_DOCS), _MAX_CALIBRATION_DOCS)
        rows, (scores,) = features.held_out_scores(settings, [settings.C], max_docs)
        weights = features.documents.weights
        is_useful = features.has_useful_score(rows)
        if not is_useful.all():
            rows = rows[is_useful]
            scores = scores[is_useful]
        Y = labels.Y[rows]
        if is_multilabel:
            # the documents that were held out together, unless all were
            groups = features.fifths if features.n_rotations(max_docs) > 1 else features.folds
            target = check_target(self.target)
            self.thresholds_ = tuned_thresholds(scores, Y, groups[rows], target)
        if self.probabilities:
            row_weights = None if weights is None else weights[rows]
            self._calibrate(scores, Y, row_weights, is_single_label=not is_multilabel)
        return len(rows)

    # --- parts of the model -------------------------------------------------------------------

    def _build_corpus(
        self, documents: Documents, folds: Ints, encoder: SentenceEncoder | None
    ) -> LinearCorpus:
        return LinearCorpus(
            documents,
            folds,
            make_weighers=self._make_weighers,
            vectors=self.vectors,
            tasks=check_other_tasks(self.other) if self.other else {},
            encoder=encoder,
            class_weights=class_costs(self.class_weight, documents.labels.codeframe),
            n_jobs=self.n_jobs,
        )

    def _make_weighers(self, settings: LinearSettings) -> list[TermWeigher]:
        """Return the unfitted weighers of words, and of characters if they are used."""
        weighers = [self._new_weigher(ngrams=settings.ngrams)]
        if settings.characters is not None:
            weighers.append(
                self._new_weigher(ngrams=settings.characters, analyzer=CHARACTERS, stop_words=None)
            )
        return weighers

    def _to_state(self) -> ModelState:
        metadata: dict[str, Any] = {"settings": self.settings_, "trials": self.trials_}
        if self.has_tree_:
            metadata["tree"] = True
        return super()._to_state() | ModelState.of(metadata)

    def _restore_state(self, state: ModelState) -> None:
        metadata = state.metadata
        self.settings_ = restore_settings(metadata["settings"])
        self.trials_ = [restore_settings(trial) for trial in metadata["trials"]]
        settings = LinearSettings.from_dict(self.settings_)
        class_costs(self.class_weight, self.codeframe_)
        self.has_tree_ = bool(metadata.get("tree"))
        if self.has_tree_:
            tree = self._tree_classifier(settings)
            tree._set_codeframe(self.codeframe_)
            tree._restore_state(state)
            self.scorer_ = tree.scorer_
            return
        weighers = self._make_weighers(settings)
        words = LinearScorer.from_state(weighers[0], state)
        characters = encoder = None
        if settings.characters is not None:
            characters = LinearScorer.from_state(weighers[1], state.strip_prefix("characters"))
        if settings.encoder_weight:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        self.scorer_ = SumScorer.of(words, characters, encoder)


def _to_sizes(ngrams: Any) -> tuple[int, int]:  # noqa: ANN401 - any pair of integers
    shortest, longest = ngrams
    return int(shortest), int(longest)


make = LinearClassifier
