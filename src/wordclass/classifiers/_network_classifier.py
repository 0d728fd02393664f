"""What the networks share: their options, their data, their training, their use. Needs torch."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Floats32, Sparse, to_sparse
from wordclass.classifiers import _network_options
from wordclass.classifiers._network_texts import TrainingTexts
from wordclass.classifiers._own_embeddings import own_embeddings
from wordclass.classifiers._text_classifier import TextClassifier
from wordclass.corpus import list_texts
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.encoders import encoder
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.measures import Scores, score
from wordclass.native import n_threads
from wordclass.network import device, export, memory, prediction
from wordclass.network.checkpoint import Checkpoint
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.processes import processes
from wordclass.network.text_classifier import TextClassifier as Network
from wordclass.network.training import Judge, Schedule, Training, threads
from wordclass.network.weights import packed, unpack
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.sequences import Sequences, Side
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.thresholds import decided, tuned_thresholds
from wordclass.word_vectors import WordVectors

Protocol = Literal["clean", "paper"]

_RANDOM_DIMS = 200  # where there are no other vectors: what the paper chose for 20 Newsgroups
_PULL = 50.0  # of thresholds toward a common one, at least
_LAST_RATE = 0.3  # on held-out training texts as good as 1 on Reuters, better on 20 Newsgroups
_HUGE = 100_000  # more training texts than this make epochs of
_HUGE_BATCHES = 300  # batches
_NO_PART = ("n_jobs", "checkpoint", "device")  # of what is learned


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(TextClassifier):
    """A network on pretrained, word-class and random vectors, trained with early stopping.

    Parameters
    ----------
    vectors
        Pretrained word vectors, or None.
    wce
        True: word-class embeddings beside them. Or embeddings with options of your own, which are
        cloned, then fitted on the training texts. False: none.
    random_dims
        How many random dimensions; None is 200 where there are no other vectors, else 0.
    trainable
        Whether training changes the vectors: of all blocks, or {block: bool}. Random vectors alone
        are always trained.
    supervised_dropout
        The rate of the dropout on the word-class vectors of each token; where there are none, on
        the random ones beside pretrained ones, as in the paper's runs. {block: rate} for any other
        choice; 0: none.
    dropout
        The rate of the dropout on the vector of a text; None: the paper's, .5 for "cnn" and
        "leam" and 0 for the others.
    max_length
        Of a longer text the first so many words are read.
    batches_per_epoch
        End an epoch after so many batches; None: after all texts; "auto": after 300, as the paper's
        runs on its largest corpus, where there are more than 100,000 texts to train on.
    lr, batch_size, max_epochs, patience
        Of the training: see `Schedule`. One fifth of the texts, at most 20,000, are kept aside to
        validate on; training ends after `patience` epochs without a better macro F1 there, and the
        best weights come back. Then these texts are learned from too, in one more epoch: together
        with all others, or alone in the paper's protocol.
    protocol
        "clean": word-class vectors never see the labels of the text that they read in training,
        nor those of the validation texts; batches are shuffled anew in every epoch; padding is
        never read; multilabel thresholds are tuned on the validation texts; of "cnn" the
        mean of the weights of the best epoch and all later ones is kept. "paper": word-class
        vectors from all texts; batches always the same; padding before the text, and read as text;
        thresholds at one half.
    unseen
        What gives a word-class vector to words that only the pretrained vectors know, when
        predicting: "ridge" or "network", see `regressors`; None: zeros.
    keep_unseen
        Keep all pretrained vectors in the model, for texts to come; False: only those of the
        training texts' words.
    min_docs, mask_numbers, analyzer, stop_words
        Which words have vectors that are learned: see `DocumentVectorizer`. Where embeddings are
        given as `wce`, it is their options that decide.
    checkpoint
        A file that holds the state of the training, so that after a crash another `fit` with the
        same texts and options goes on where it was. It may be deleted once the model is saved.
    device
        "cpu", "cuda", or "auto": a GPU where there is one. Tested on CPUs only.
    seed
        Of all random numbers. The same seed on the same machine makes the same weights.
    n_jobs
        Number of threads; None is one. Another number may change the last digits.

    Attributes
    ----------
    history_ : list of dict
        Of each epoch: "loss"; "validation_loss", "macro_f1" and "micro_f1" of the validation texts;
        "seconds".
    best_epoch_ : int
        The epoch whose weights came back.
    network_ : wordclass.torch.TextClassifier
        The network, in evaluation mode.
    embedding_ : EmbeddingMatrix
        The vectors it reads.
    """

    vectors: WordVectors | None = None
    wce: bool | WordClassEmbeddings = True
    random_dims: int | None = None
    trainable: bool | Mapping[str, bool] = False
    supervised_dropout: float | Mapping[str, float] = 0.5
    dropout: float | None = None
    max_length: int = 500
    lr: float = 1e-3
    batch_size: int = 100
    max_epochs: int = 200
    patience: int = 10
    batches_per_epoch: int | Literal["auto"] | None = "auto"
    protocol: Protocol = "clean"
    unseen: str | None = None
    keep_unseen: bool = True
    min_docs: int | float = 5
    mask_numbers: bool = True
    analyzer: Analyze | None = None
    stop_words: str | Collection[str] | None = None
    checkpoint: str | PathLike[str] | None = None
    device: str = "auto"
    seed: int = 0
    n_jobs: int | None = None

    packages: ClassVar[tuple[str, ...]] = ("torch",)
    _DROPOUT: ClassVar[float] = 0.0
    _AVERAGES: ClassVar[bool] = False  # in the clean protocol: see `Schedule`
    _BY_LENGTH: ClassVar[bool] = True

    @abstractmethod
    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        """Return the options of the encoder."""

    @abstractmethod
    def _need(self, n_dims: int, n_classes: int) -> memory.Need:
        """Return how much memory training needs."""

    @property
    def _n_places(self) -> int:
        """How many words a batch has at most."""
        return self.batch_size * self.max_length

    # --- learning ---------------------------------------------------------------------------

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        _network_options.check(self.get_params(deep=False))
        data = self._data(texts, labels, sample_weight)
        n_classes = len(labels.codeframe.classes)
        memory.check(data.E, self._trainable(data.E), self._need(data.E.n_dims, n_classes))
        layer = EmbeddingLayer(data.E, self._trainable(data.E), self._block_dropout(data.E))
        network = self._around(layer, n_classes).to(device.chosen(self.device))
        schedule = self._schedule(len(data.training))
        with processes() as team:
            training = Training(
                network, data.training, data.validation, schedule,
                self._judge(labels.codeframe),
                seed=self.seed,
                checkpoint=self._checkpoint(data, schedule),
                processes=team,
                n_threads=n_threads(self.n_jobs),
            )  # fmt: skip
            state = training.run()
        self.history_ = [vars(epoch) for epoch in state.history]
        self.best_epoch_ = state.best_epoch
        self.calibration_ = None
        self.thresholds_ = self._thresholds(data, training.validation_scores)
        self._adopt(data.with_trained_rows(layer.cpu()), network.cpu())

    def _data(
        self, texts: list[str], labels: EncodedLabels, weights: Floats | None
    ) -> TrainingTexts:
        return TrainingTexts.of(
            texts,
            labels,
            weights,
            vectors=self.vectors,
            wce=own_embeddings(self.wce, {**self._word_options(), "seed": self.seed}),
            random_dims=self._n_random(),
            unseen=self.unseen,
            keep_unseen=self.keep_unseen,
            vectorizer=DocumentVectorizer(**self._word_options()),
            max_length=self.max_length,
            is_clean=self.protocol == "clean",
            seed=self.seed,
            n_jobs=self.n_jobs,
        )

    def _word_options(self) -> dict[str, Any]:
        """Return which words there are: those of embeddings that were given, or of our options."""
        source = self.wce if isinstance(self.wce, WordClassEmbeddings) else self
        names = ("min_docs", "mask_numbers", "analyzer", "stop_words")
        return {"n_jobs": self.n_jobs, **{name: getattr(source, name) for name in names}}

    def _analyzer(self) -> Analyze:
        return DocumentVectorizer(**self._word_options()).build_analyzer()

    def _n_random(self) -> int:
        has_others = self.vectors is not None or self.wce is not False
        return (0 if has_others else _RANDOM_DIMS) if self.random_dims is None else self.random_dims

    def _around(self, layer: EmbeddingLayer, n_classes: int) -> Network:
        options = self._encoder_options(n_classes)
        seed = int(self.seed) % 2**63  # torch knows no others
        read = encoder(
            self.name, layer.embedding_dim, **options, masked=self._pad == "right", seed=seed
        )
        dropout = self._DROPOUT if self.dropout is None else self.dropout
        return Network(layer, read, n_classes, dropout=dropout, seed=seed + 1)

    def _trainable(self, E: EmbeddingMatrix) -> bool | Mapping[str, bool]:
        return True if set(E.blocks) == {"random"} else self.trainable

    def _block_dropout(self, E: EmbeddingMatrix) -> float | Mapping[str, float]:
        given = self.supervised_dropout
        if isinstance(given, Mapping):
            return given
        if "word_class" in E.blocks:
            return {"word_class": given}
        return {"random": given} if len(E.blocks) > 1 else 0.0

    def _schedule(self, n_texts: int) -> Schedule:
        is_clean = self.protocol == "clean"
        limit = self.batches_per_epoch
        if limit == "auto":
            limit = _HUGE_BATCHES if n_texts > _HUGE else None
        return Schedule(
            lr=self.lr,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batches_per_epoch=limit,
            reshuffles=is_clean,
            by_length=self._BY_LENGTH,
            last_rate=_LAST_RATE if is_clean else 1.0,
            ties_count=not is_clean,
            averages=self._AVERAGES and is_clean,
        )

    def _judge(self, codeframe: Codeframe) -> Judge:
        def judge(scores: Floats32, Y: Sparse) -> Scores:
            if not codeframe.is_multilabel:
                decisions = np.zeros(scores.shape, bool)
                decisions[np.arange(len(scores)), scores.argmax(axis=1)] = True
                return score(Y, to_sparse(decisions), codeframe)
            if self.protocol == "clean":
                return decided(scores, Y, codeframe)
            return score(Y, to_sparse(scores > 0), codeframe)

        return judge

    def _thresholds(self, data: TrainingTexts, scores: Floats32 | None) -> Floats | None:
        Y = data.labels.Y
        if not data.labels.codeframe.is_multilabel:
            return None
        if self.protocol == "paper" or scores is None:
            return np.zeros(Y.shape[1])
        # the last epoch moves the scores: weaker pulls lost .002 to .003 on held-out Reuters texts
        folds = data.validation_folds(self.seed)
        return tuned_thresholds(scores, Y[data.validated], folds, least_pull=_PULL)

    def _checkpoint(self, data: TrainingTexts, schedule: Schedule) -> Checkpoint:
        if self.checkpoint is None:
            return Checkpoint(None, "")
        options = self.get_params(deep=False)
        told = {name: each for name, each in options.items() if name not in _NO_PART}
        told["schedule"] = repr(schedule)  # a later version may go about it differently
        return Checkpoint(Path(self.checkpoint), data.key(self.name, told))

    def _adopt(self, E: EmbeddingMatrix, network: Network) -> None:
        network.layer = EmbeddingLayer(E, trainable=False, dropout=None)
        self.network_ = network.eval().requires_grad_(False)
        self.embedding_ = E

    @property
    def _pad(self) -> Side:
        return "right" if self.protocol == "clean" else "left"

    # --- using ------------------------------------------------------------------------------

    def decision_function(self, texts: Iterable[str]) -> Floats32:
        """Return the logit (n, m) of each class; also for two classes, unlike scikit-learn."""
        check_is_fitted(self)
        listed = list_texts(texts)
        return self._logits(self.embedding_.sequences(listed, self.max_length, n_jobs=self.n_jobs))

    def _logits(self, texts: Sequences) -> Floats32:
        with threads(n_threads(self.n_jobs)):
            return prediction.scores(
                self.network_, texts, len(self.classes_),
                padding=self.embedding_.padding, pad=self._pad,
            )  # fmt: skip

    def calibrated(self, scores: Floats | Floats32) -> Floats:
        """Turn logits (n, m) into probabilities: softmax, or one sigmoid a class."""
        logits = scores.astype(np.float64)
        probabilities: Floats
        if self.thresholds_ is None:
            probabilities = special.softmax(logits, axis=1)
        else:
            probabilities = special.expit(logits)
        return probabilities

    def _contributions(self, text: str) -> tuple[list[str], Floats32, Floats32]:
        """Return, for each word, how much the scores fall when it is blotted out.

        The rest is what is left of the scores; with words that only count together it may be
        large, as a network's scores are no sums.
        """
        E = self.embedding_
        words = list(E.analyze(text))[: self.max_length]
        ids = np.array([E.row(word) for word in words], np.int64)
        known = ids != E.unknown
        distinct = sorted({word for word, is_known in zip(words, known, strict=True) if is_known})
        variants = np.tile(ids, (len(distinct) + 1, 1))
        for number, word in enumerate(distinct, start=1):
            variants[number, ids == E.row(word)] = E.padding
        ends = np.arange(len(variants) + 1) * len(ids)
        logits = self._logits(Sequences(variants.ravel(), ends))
        added = logits[0] - logits[1:]
        return distinct, added, logits[0] - added.sum(axis=0)

    # --- saving -----------------------------------------------------------------------------

    def export(self, path: str | PathLike[str]) -> None:
        """Write the network as .pt2 or .onnx, for programs without wordclass; see `network.export`.

        Beside it, PATH.json says how texts become ids and logits become labels.
        """
        check_is_fitted(self)
        about = export.description(
            self.embedding_, self.codeframe_, self.thresholds_,
            max_length=self.max_length, pad=self._pad,
        )  # fmt: skip
        export.export(self.network_, path, about=about)

    def _to_parts(self) -> Parts:
        weights = {f"network.{name}": each for name, each in packed(self.network_).items()}
        told = {"history": self.history_, "best_epoch": self.best_epoch_}
        return self.embedding_.to_parts() | Parts.of(told, **weights)

    def _from_parts(self, parts: Parts) -> None:
        E = EmbeddingMatrix.from_parts(self._analyzer(), parts)
        network = self._around(EmbeddingLayer(E, False, None), len(self.classes_))
        unpack(network, parts.under("network."))
        self.history_, self.best_epoch_ = parts.facts["history"], parts.facts["best_epoch"]
        self._adopt(E, network)
