"""fastText: a text is the mean of its words' vectors, which are learned with the classifier."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers._fasttext_training import (
    DivergedError,
    WordAverage,
    fixed_vocabulary,
    train,
)
from wordclass.classifiers.base import TextClassifier, own_embeddings
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import Split, fold_numbers, paper_split
from wordclass.decision.measures import Scores, score
from wordclass.decision.thresholds import best_thresholds, decide
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.linear.search import Documents
from wordclass.options import check_int, check_number, check_one_of, n_threads
from wordclass.storage.state import ModelState
from wordclass.text import counting
from wordclass.text.analyzer import Analyze
from wordclass.text.vocabulary import select_terms
from wordclass.vectors.word_vectors import WordVectors

# what the paper's validation chose from (section on fastText); it let the dimensions vary too where
# all are random, and the epochs only in 5 and 10 for its two largest data sets
GRID: Mapping[str, Sequence[float]] = MappingProxyType(
    {"lr": (0.05, 0.1, 0.25, 0.5), "epochs": (5, 50, 100, 200)}
)
# learning rate and epochs by kind of vectors and loss. Those without word-class vectors are the
# choice of the paper's authors for 20 Newsgroups. With them it was 5 epochs at .1; our validation
# parts say that .5 is as good there (.740, .741 macro-F1), better on Ohsumed (.454, .418) and on
# Reuters (.669, .592), and that one class against the rest needs 50 epochs (Reuters .694).
_CHOSEN = {
    ("random", "softmax"): (0.5, 200),
    ("random", "ova"): (0.5, 200),
    ("pretrained", "softmax"): (0.05, 200),
    ("pretrained", "ova"): (0.05, 200),
    ("word_class", "softmax"): (0.5, 5),
    ("word_class", "ova"): (0.5, 50),
}
_MOST_WORDS = 600_000_000  # in all epochs together, where their number is not given
_FEWEST_EPOCHS = 10  # however many words: the authors had 5 or 10 on their largest data sets
_HUGE = 100_000  # texts: more than these have so few epochs in the paper's protocol
_LOWEST_LR = 0.02  # no lower one is tried where training diverges
_RANDOM_DIMS = 50
_HELD_OUT = 5  # one text in so many sets the thresholds, where they are tuned


@dataclass(kw_only=True, eq=False, repr=False)
class FastTextClassifier(TextClassifier):
    """Learns vectors of words and classes with fastText, from random or from given word vectors.

    The paper's four variants, all trainable:

    - random: `FastTextClassifier()`
    - pretrained: `vectors=U`
    - pretrained and random: `vectors=U, random_dims=20`
    - pretrained and word-class: `vectors=U, wce=True`

    Training goes through the package fasttext-community; a model that was trained or loaded
    predicts without it. One thread makes the same model every time. A text may be of any length
    (fastText cuts lines at 1,024 words only where it learns without labels). In a multilabel task,
    texts without labels teach fastText nothing, and are left to the word-class embeddings.

    Parameters
    ----------
    vectors : WordVectors, optional
        Pretrained vectors, with which the words of the training texts start. Words seen in none
        of them keep theirs when predicting.
    wce : bool, WordClassEmbeddings or dict, default=False
        True: word-class embeddings beside them. Or embeddings with options of your own, which are
        cloned, then fitted on the training texts; or a dict of just the options that are not to be
        the defaults.
    random_dims : int, optional
        How many random dimensions; None is 50 where there are no other vectors, else 0.
    lr : float, optional
    epochs : int, optional
        Learning rate and passes over the texts. None is what validation chose, the paper's or
        ours: 200 epochs, at .5 where all vectors are random and at .05 where not; on large corpora
        fewer epochs, down to 10, so that 600 million words are read in all. Words that start with
        word-class vectors need 5 epochs at .5, and 50 where the loss is "ova". `GRID` is what the
        paper chose from. Where training diverges at a rate that was not given, half of it is
        tried, and half of that.
    loss : str, optional
        "softmax", or "ova": one against the rest for each class. None is the first for single
        labels, the second, which alone can give several, for multilabel tasks.
    min_count : int, default=1
        Words that occur less often in all texts together are passed over in training.
    unseen : str, optional
        What gives a word-class vector to words that only the pretrained vectors know: "ridge" or
        "network", see `regressors`; None: zeros.
    keep_unseen : bool, default=True
        Keep all pretrained vectors in the model, for texts to come; False: only those of the
        training texts' words.
    min_docs : int or float, default=5
        Words need so many texts (int), or such a share of them (float), to start with word-class
        vectors. Those below start with their pretrained vector, beside which the word-class part
        is zero, or with random numbers where they have none.
    ngrams : (int, int), default=(1, 1)
    mask_numbers : bool, default=True
    analyzer : "characters" or callable, optional
    stop_words : str or collection of str, optional
        What is a word: see `DocumentVectorizer`. Longer n-grams are words of their own here; none
        share a vector, as fastText's own do.
    protocol : "clean" or "paper", default="clean"
        "clean": learns from all texts. "paper": as in the paper's runs, from four fifths of the
        texts, with word-class vectors from all of them; the others validate; 10 epochs, where
        their number is not given, for more than 100,000 texts.
    thresholds : str, default="paper"
        For multilabel tasks. "paper": a class is given where its probability is above one half.
        "tuned": one threshold per class, the best for one fifth of the texts and a model of the
        others; takes twice as long.
    seed : int, default=0
        Of all random numbers.
    n_jobs : int or None, default=1
        Number of threads; None is one, -1 all cores. With more than one, no two models are quite
        the same.

    Attributes
    ----------
    scorer_ : WordAverage
        The vectors of words and classes; also as `model_`.
    validation_ : Scores or None
        In the paper's protocol, how good the model is on the texts that validate. Not saved.
    """

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

    # --- learning ---------------------------------------------------------------------------

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            raise InputError("fastText weighs all texts the same: leave sample_weight out")
        catalogue.import_extra("fasttext", "for the classifier 'fasttext'")
        is_multilabel = labels.codeframe.is_multilabel
        self._check_options()
        if self.unseen is not None and (self.vectors is None or self.wce is False):
            raise InputError("unseen needs both pretrained and word-class vectors")
        if is_multilabel and self.loss == "softmax":
            raise InputError("loss='softmax' gives one label per text; several need 'ova'")
        if self.random_dims is not None and self.vectors is None and self.wce is False:
            check_int("random_dims", self.random_dims, 1)
        documents = Documents(texts, labels)
        loss = self.loss or ("ova" if is_multilabel else "softmax")
        rows, validated = np.arange(len(texts)), np.arange(0)
        if self.protocol == "paper":
            rows, validated = paper_split(len(texts), self.seed)
            self._check_training_scores(labels, len(validated))
        self.thresholds_ = self._thresholds(documents, loss) if is_multilabel else None
        self.scorer_ = self._trained(documents, loss, rows)
        self.loss_, self.calibration_ = loss, None
        self.validation_ = self._validated(documents.part(validated)) if len(validated) else None

    def _validated(self, documents: Documents) -> Scores:
        codeframe, Y = documents.labels.codeframe, documents.labels.Y
        return score(Y, decide(self.scorer_.scores(documents.texts), self.thresholds_), codeframe)

    def _check_options(self) -> None:
        check_one_of("loss", self.loss, ("softmax", "ova", None))
        check_one_of("protocol", self.protocol, ("clean", "paper"))
        check_one_of("thresholds", self.thresholds, ("paper", "tuned"))
        if self.lr is not None:
            check_number("lr", self.lr, above=0.0, hint=", such as .5, or None")
        own_embeddings(self)  # refuses what is none
        if self.epochs is not None:
            check_int("epochs", self.epochs, 1)
        if self.random_dims is not None:
            check_int("random_dims", self.random_dims, 0)
        check_int("min_count", self.min_count, 1)
        check_int("seed", self.seed)

    def _thresholds(self, documents: Documents, loss: str) -> Floats:
        """Return the threshold (m,) of each class; a score of 0 is a probability of one half."""
        if self.thresholds == "paper":
            return np.zeros(documents.labels.Y.shape[1])
        n_texts = len(documents.texts)
        split = Split.of(fold_numbers(documents.texts, _HELD_OUT, self.seed) == 0)
        if not len(split.train) or not len(split.held_out):
            raise InputError(f"{n_texts} texts are too few to tune thresholds on some of them")
        held_out = documents.part(split.held_out)
        self._check_training_scores(documents.labels, len(held_out.texts))
        model = self._trained(documents.part(split.train), loss, np.arange(len(split.train)))
        return best_thresholds(model.scores(held_out.texts), held_out.labels.Y)

    def _trained(self, documents: Documents, loss: str, rows: Ints) -> WordAverage:
        """Learn word-class vectors from all documents, and all else from some rows of them."""
        embeddings = own_embeddings(self)
        if embeddings is not None:
            embeddings.fit(documents.texts, documents.labels)
        taught = documents.part(rows[np.diff(documents.labels.Y.indptr)[rows] > 0])
        analyze = self._new_vectorizer().build_analyzer()
        words, doc_freq, occurrences = self._counted(taught.texts, analyze)
        E = self._given(words, doc_freq, len(taught.texts), embeddings)
        initial = None if E is None else _starts(E, words)
        n_words = int(occurrences.sum())
        settings = self._settings(initial, loss, n_words, len(documents.texts))
        while True:
            try:
                trained = train(occurrences, taught.labels.Y, initial, settings)
                break
            except DivergedError:
                if self.lr is not None or settings["lr"] < _LOWEST_LR:
                    raise
                settings["lr"] /= 2
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

    def _counted(self, texts: list[str], analyze: Analyze) -> tuple[list[str], Ints, Sparse]:
        """Return the words, in how many texts each occurs, and how often in each (n, v)."""
        counted = counting.count(texts, analyze, self.n_jobs)
        kept = select_terms(counted.n_docs, counted.doc_freq, 1, 1.0)
        kept &= counted.term_freq >= self.min_count
        if not kept.any():
            raise InputError(f"no word occurs {self.min_count} times; lower min_count")
        words, ids = counted.sorted_terms(kept)
        return words, counted.doc_freq[ids], counted.occurrences_of(ids)

    def _given(
        self, words: list[str], doc_freq: Ints, n_docs: int, wce: WordClassEmbeddings | None
    ) -> EmbeddingMatrix | None:
        """Return the given vectors of words, also of those outside the texts; None: there are none.

        As in the networks, words below `min_docs` and words of no text have pretrained vectors,
        and zeros beside them (section on networks in the paper), unless `unseen` predicts those.
        """
        if self.vectors is None and wce is None:
            return None
        vocabulary = None
        if wce is None:
            kept = select_terms(n_docs, doc_freq, self.min_docs, 1.0)
            vocabulary = [words[j] for j in np.flatnonzero(kept)]
        return EmbeddingMatrix.of(
            self.vectors, wce, random_dims=self.random_dims or 0, seed=self.seed,
            vocabulary=vocabulary, unseen=self.unseen,
        )  # fmt: skip

    def _settings(
        self, initial: tuple[Ints, Floats32] | None, loss: str, n_words: int, n_texts: int
    ) -> dict[str, Any]:
        """Return what fastText is to do, by its own names."""
        variant = "word_class" if self.wce is not False else "pretrained" if initial else "random"
        lr, epochs = _CHOSEN[variant, loss]
        if self.protocol == "paper":
            epochs = min(epochs, _FEWEST_EPOCHS if n_texts > _HUGE else epochs)
        elif epochs > _FEWEST_EPOCHS:
            epochs = int(np.clip(_MOST_WORDS // max(n_words, 1), _FEWEST_EPOCHS, epochs))
        n_dims = (self.random_dims or _RANDOM_DIMS) if initial is None else initial[1].shape[1]
        return {
            "dim": n_dims,
            "lr": self.lr or lr,
            "epoch": self.epochs or epochs,
            "loss": loss,
            "seed": self.seed % 2**31,
            "thread": n_threads(self.n_jobs),
        }

    # --- using ------------------------------------------------------------------------------

    @property
    def model_(self) -> WordAverage:
        """The scorer."""
        scorer: WordAverage = self.scorer_
        return scorer

    def _restore_state(self, state: ModelState) -> None:
        self._check_options()
        self.scorer_ = WordAverage.from_state(
            state,
            self._new_vectorizer().build_analyzer(),
            self.n_jobs,
            is_single_label=not self.codeframe_.is_multilabel,
        )
        self.loss_ = self.scorer_.loss


def _starts(E: EmbeddingMatrix, words: list[str]) -> tuple[Ints, Floats32]:
    """Return which of the words start with given vectors, and these."""
    rows = np.array([E.row(word) for word in words])
    known = np.flatnonzero(rows != E.unknown)
    return known, E.matrix[rows[known]]


make = FastTextClassifier
