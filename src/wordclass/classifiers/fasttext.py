"""The classifier fastText: a text is the mean of its words' vectors, which are learned too."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers._fasttext_training import (
    DivergedError,
    FastTextSettings,
    WordAverage,
    fixed_vocabulary,
    train,
)
from wordclass.classifiers._options import (
    COUNT_OPTIONS,
    KEEP_UNSEEN,
    PROTOCOL,
    SEED,
    UNSEEN,
    VECTORS,
    WCE,
)
from wordclass.classifiers.base import TextClassifier, make_embeddings
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import Split, fold_numbers, paper_split
from wordclass.decision.measures import Scores, score
from wordclass.decision.thresholds import best_thresholds, decide
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.linear.search import Documents
from wordclass.options import Option, integer, n_threads, number, one_of
from wordclass.storage.state import ModelState
from wordclass.text import counting
from wordclass.text.analyzer import Analyze
from wordclass.text.vocabulary import select_terms
from wordclass.vectors.word_vectors import WordVectors

# what the paper's validation chose from (section on fastText). It also varied the dimensions if all
# vectors are random, and only the epochs 5 and 10 for its two largest data sets.
GRID: Mapping[str, Sequence[float]] = MappingProxyType(
    {"lr": (0.05, 0.1, 0.25, 0.5), "epochs": (5, 50, 100, 200)}
)
# Learning rate and epochs by kind of vectors and loss. Those without word-class vectors are the
# choice of the paper's authors for 20 Newsgroups. With them it was 5 epochs at .1; on our
# validation texts .5 is as good there (.740, .741 macro F1), better on Ohsumed (.454, .418) and on
# Reuters (.669, .592), and one class against the rest needs 50 epochs (Reuters .694).
_DEFAULTS = {
    ("random", "softmax"): (0.5, 200),
    ("random", "ova"): (0.5, 200),
    ("pretrained", "softmax"): (0.05, 200),
    ("pretrained", "ova"): (0.05, 200),
    ("word_class", "softmax"): (0.5, 5),
    ("word_class", "ova"): (0.5, 50),
}
_MAX_WORDS = 600_000_000  # in all epochs together, if their number is not an option
_MIN_EPOCHS = 10  # for any number of words: the authors had 5 or 10 on their largest data sets
_MANY_TEXTS = 100_000  # more texts than these have few epochs in the paper's protocol
_MIN_LR = 0.02  # no lower rate is tried if training diverges
_RANDOM_DIMS = 50
_N_THRESHOLD_FOLDS = 5  # one of them sets the thresholds if they are tuned


@dataclass(kw_only=True, eq=False, repr=False)
class FastTextClassifier(TextClassifier):
    """Classifier that learns vectors of words and classes with fastText.

    The words start with random or with given vectors. These are the four variants of the paper:

    - random: `FastTextClassifier()`
    - pretrained: `vectors=U`
    - pretrained and random: `vectors=U, random_dims=20`
    - pretrained and word-class: `vectors=U, wce=True`

    Training uses the package fasttext-community; a fitted model predicts without it. A text may be
    of any length. In a multilabel task, texts without labels only teach the word-class embeddings.

    Attributes
    ----------
    scorer_ : WordAverage
        The vectors of words and classes; also as `model_`.
    loss_ : str
        The loss of the training.
    validation_ : Scores or None
        In the paper's protocol, the quality on the validation texts. It is not saved.

    See Also
    --------
    NearestClassifier : Averages word-class vectors without any training.
    LinearClassifier : The default, which is more accurate.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"]
    >>> model = wc.FastTextClassifier(random_dims=4, epochs=100)
    >>> model = model.fit(texts, ["food", "food", "air", "air"])
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    options: ClassVar[Mapping[str, Option]] = {
        **COUNT_OPTIONS,
        "vectors": replace(
            VECTORS,
            help="Pretrained word vectors, with which the words of the training texts start. Other "
            "words keep theirs for prediction.",
        ),
        "wce": WCE,
        "random_dims": Option(
            "Number of random dimensions. None: 50 if there are no other vectors, otherwise 0.",
            integer(0),
            also=(None,),
        ),
        "lr": Option(
            "Learning rate. None: .05 if words start with pretrained vectors alone, otherwise .5. "
            "If training diverges at this rate, half of it is tried, and half of that.",
            number(above=0.0),
            also=(None,),
        ),
        "epochs": Option(
            "Number of passes over the texts. None: 200, or fewer on large corpora, down to 10, so "
            "that 600 million words are read in all; in the paper's protocol 10 for more than "
            '100,000 texts. With word-class vectors 5, or 50 with the loss "ova".',
            integer(1),
            also=(None,),
        ),
        "loss": Option(
            'The loss: "softmax", or "ova", which trains each class against the rest. None: '
            '"softmax" in single-label tasks, and "ova" in multilabel tasks, which need it.',
            one_of("softmax", "ova", None),
        ),
        "min_count": Option(
            "Words that occur less often in all texts together are ignored in training.",
            integer(1),
        ),
        "unseen": UNSEEN,
        "keep_unseen": KEEP_UNSEEN,
        "min_docs": replace(
            COUNT_OPTIONS["min_docs"],
            help="Words that occur in at least this number of training texts (int), or this share "
            "of them (float), start with word-class vectors. Rarer words start with their "
            "pretrained vector and zeros after it, or with random numbers if they have none.",
        ),
        "protocol": PROTOCOL,
        "thresholds": Option(
            'The thresholds of a multilabel task. "paper": a text has a class if its probability '
            'is above one half. "tuned": the best threshold for each class on one fifth of the '
            "texts and a model of the others, which takes twice as long.",
            one_of("paper", "tuned"),
        ),
        "seed": SEED,
        "n_jobs": replace(
            COUNT_OPTIONS["n_jobs"],
            help="Number of threads; None is one, -1 is all cores. Only with one thread are two "
            "models the same.",
        ),
    }

    vectors: WordVectors | None = None
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = False
    random_dims: int | None = None
    lr: float | None = None
    epochs: int | None = None
    loss: str | None = None
    min_count: int = 1
    unseen: str | None = None
    keep_unseen: bool = True
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    protocol: Literal["clean", "paper"] = "clean"
    thresholds: str = "paper"
    seed: int = 0
    n_jobs: int | None = 1

    name = "fasttext"
    packages = ("fasttext-community",)

    def _check_inputs(self, *, is_multilabel: bool) -> None:
        """Raise an InputError if options contradict each other or the task."""
        if self.unseen is not None and (self.vectors is None or self.wce is False):
            problem = f"unseen={self.unseen!r} needs both pretrained and word-class vectors"
            raise InputError(problem, hint="use vectors=WordVectors.load(path) and wce=True")
        if is_multilabel and self.loss == "softmax":
            raise InputError("loss='softmax' gives one label per text", hint="use loss='ova'")
        if self.random_dims == 0 and self.vectors is None and self.wce is False:
            problem = "random_dims is 0, and there are no other vectors"
            raise InputError(problem, expected="an int from 1 up", hint="or give vectors or wce")

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            problem = "sample_weight has no effect on the classifier 'fasttext'"
            raise InputError(problem, hint="leave it out")
        catalogue.import_extra("fasttext", "for the classifier 'fasttext'")
        is_multilabel = labels.codeframe.is_multilabel
        self._check_inputs(is_multilabel=is_multilabel)
        documents = Documents(texts, labels)
        loss = self.loss or ("ova" if is_multilabel else "softmax")
        rows = np.arange(len(texts))
        validation_rows = np.arange(0)
        if self.protocol == "paper":
            rows, validation_rows = paper_split(len(texts), self.seed)
            self._check_training_scores(labels, len(validation_rows))
        self.thresholds_ = self._learn_thresholds(documents, loss) if is_multilabel else None
        self.scorer_ = self._train(documents, loss, rows)
        self.loss_ = loss
        self.calibration_ = None
        self.validation_ = None
        if len(validation_rows):
            self.validation_ = self._validate(documents.part(validation_rows))

    def _validate(self, documents: Documents) -> Scores:
        """Return the quality of the model on documents."""
        decisions = decide(self.scorer_.scores(documents.texts), self.thresholds_)
        return score(documents.labels.Y, decisions, documents.labels.codeframe)

    def _learn_thresholds(self, documents: Documents, loss: str) -> Floats:
        """Return the threshold (m,) of each class.

        A score of 0 is a probability of one half.
        """
        if self.thresholds == "paper":
            return np.zeros(documents.labels.Y.shape[1])
        folds = fold_numbers(documents.texts, _N_THRESHOLD_FOLDS, self.seed)
        split = Split.of(folds == 0)
        if not len(split.train) or not len(split.held_out):
            problem = f"{len(documents.texts)} texts are too few to tune thresholds on some of them"
            raise InputError(problem, hint="use thresholds='paper'")
        held_out = documents.part(split.held_out)
        self._check_training_scores(documents.labels, len(held_out.texts))
        model = self._train(documents.part(split.train), loss, np.arange(len(split.train)))
        return best_thresholds(model.scores(held_out.texts), held_out.labels.Y)

    def _train(self, documents: Documents, loss: str, rows: Ints) -> WordAverage:
        """Learn word-class vectors from all documents, and the model from some rows of them."""
        embeddings = make_embeddings(self)
        if embeddings is not None:
            embeddings.fit(documents.texts, documents.labels)
        n_labels = np.diff(documents.labels.Y.indptr)
        labelled = documents.part(rows[n_labels[rows] > 0])
        analyze = self._new_weigher().analyze
        words, doc_freq, occurrences = self._count_words(labelled.texts, analyze)
        E = self._start_vectors(words, doc_freq, len(labelled.texts), embeddings)
        initial = None if E is None else _rows_of_words(E, words)
        settings = self._choose_settings(
            initial, loss, n_words=int(occurrences.sum()), n_texts=len(documents.texts)
        )
        while True:
            try:
                trained = train(occurrences, labelled.labels.Y, initial, settings)
                break
            except DivergedError:
                if self.lr is not None or settings.lr < _MIN_LR:
                    raise
                settings = replace(settings, lr=settings.lr / 2)
        model = WordAverage(
            analyze,
            fixed_vocabulary(words),
            *trained,
            self.n_jobs,
            loss,
            is_single_label=not documents.labels.codeframe.is_multilabel,
        )
        has_unseen = self.vectors is not None and self.keep_unseen
        return model.with_unseen(E) if E is not None and has_unseen else model

    def _count_words(self, texts: list[str], analyze: Analyze) -> tuple[list[str], Ints, Sparse]:
        """Return the words, their document frequencies, and their occurrences (n, v)."""
        counted = counting.count(texts, analyze, self.n_jobs)
        is_frequent = select_terms(counted.n_docs, counted.doc_freq, 1, 1.0)
        is_frequent &= counted.term_freq >= self.min_count
        if not is_frequent.any():
            problem = f"no word occurs at least {self.min_count} times"
            raise InputError(problem, hint="use a lower min_count")
        words, ids = counted.sorted_terms(is_frequent)
        return words, counted.doc_freq[ids], counted.occurrences_of(ids)

    def _start_vectors(
        self, words: list[str], doc_freq: Ints, n_docs: int, wce: WordClassEmbeddings | None
    ) -> EmbeddingMatrix | None:
        """Return the vectors that words start with, or None if all are random.

        As in the networks, words below `min_docs` and words of no text have pretrained vectors,
        and zeros beside them (section on networks in the paper), unless `unseen` predicts those.
        """
        if self.vectors is None and wce is None:
            return None
        vocabulary = None
        if wce is None:
            is_frequent = select_terms(n_docs, doc_freq, self.min_docs, 1.0)
            vocabulary = [words[j] for j in np.flatnonzero(is_frequent)]
        return EmbeddingMatrix.of(
            self.vectors,
            wce,
            random_dims=self.random_dims or 0,
            seed=self.seed,
            vocabulary=vocabulary,
            unseen=self.unseen,
        )

    def _choose_settings(
        self, initial: tuple[Ints, Floats32] | None, loss: str, *, n_words: int, n_texts: int
    ) -> FastTextSettings:
        """Return the settings of the training, by options and by the size of the corpus."""
        variant = "random" if initial is None else "pretrained"
        if self.wce is not False:
            variant = "word_class"
        lr, epochs = _DEFAULTS[variant, loss]
        if self.protocol == "paper":
            epochs = min(epochs, _MIN_EPOCHS if n_texts > _MANY_TEXTS else epochs)
        elif epochs > _MIN_EPOCHS:
            epochs = int(np.clip(_MAX_WORDS // max(n_words, 1), _MIN_EPOCHS, epochs))
        return FastTextSettings(
            n_dims=(self.random_dims or _RANDOM_DIMS) if initial is None else initial[1].shape[1],
            lr=self.lr or lr,
            epochs=self.epochs or epochs,
            loss=loss,
            seed=self.seed % 2**31,
            n_threads=n_threads(self.n_jobs),
        )

    @property
    def model_(self) -> WordAverage:
        """The scorer: the vectors of words and classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.FastTextClassifier(random_dims=4, epochs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.model_.terms
        ['apple', 'blue', 'red', 'sky']
        """
        scorer: WordAverage = self.scorer_
        return scorer

    def _restore_state(self, state: ModelState) -> None:
        self.scorer_ = WordAverage.from_state(
            state,
            self._new_weigher().analyze,
            self.n_jobs,
            is_single_label=not self.codeframe_.is_multilabel,
        )
        self.loss_ = self.scorer_.loss


def _rows_of_words(E: EmbeddingMatrix, words: list[str]) -> tuple[Ints, Floats32]:
    """Return the positions of the words that have rows in E, and these rows."""
    rows = np.array([E.row(word) for word in words])
    known = np.flatnonzero(rows != E.unknown)
    return known, E.matrix[rows[known]]


make = FastTextClassifier
