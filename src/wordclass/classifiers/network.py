"""The base class of all networks: their data, training and prediction. Needs PyTorch."""

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
from wordclass.arrays import Floats, Floats32, Sparse
from wordclass.classifiers._network_data import (
    FinishedEpoch,
    TrainingTexts,
    build_fixed_layer,
    count_context_dims,
    epoch_to_dict,
)
from wordclass.classifiers._network_options import NETWORK_OPTIONS
from wordclass.classifiers.base import TextClassifier, make_embeddings
from wordclass.corpus.labels import Codeframe, EncodedLabels
from wordclass.corpus.splits import (
    Split,
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
from wordclass.options import Option, check_int, is_auto, n_threads
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.tokens import Float16s, require_token_vectors, token_vectors
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import ModelState, digest
from wordclass.text.analyzer import NUMBER_MASK, NUMBER_PATTERN, Analyze, Analyzer
from wordclass.text.sequences import Sequences, Side
from wordclass.text.term_weigher import TermWeigher
from wordclass.vectors.word_vectors import WordVectors

_RANDOM_DIMS = 200  # without other vectors: what the paper chose for 20 Newsgroups
_N_THRESHOLD_FOLDS = 5  # of the validation texts, to tune thresholds
_MIN_THRESHOLD_PULL = 50.0  # of thresholds toward a common one
_LAST_RATE = 0.3  # on held-out training texts as good as 1 on Reuters, better on 20 Newsgroups
_MANY_TEXTS = 100_000  # with more training texts, an epoch ends after a number of batches
_BATCHES_PER_EPOCH = 300


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(TextClassifier):
    """Base class of networks on pretrained, word-class and random vectors, with early stopping.

    Attributes
    ----------
    history_ : list of dict
        One entry per epoch: "loss"; "validation_loss", "macro_f1" and "micro_f1" of the validation
        texts; "seconds"; and the numbers that `on_epoch` returned.
    best_epoch_ : int
        The number of the epoch whose weights were restored.
    network_ : wordclass.torch.TextClassifier
        The network, in evaluation mode.
    embedding_ : EmbeddingMatrix
        The vectors of words.
    context_ : SentenceEncoder or None
        The encoder of words in their context, if there is one.
    """

    options: ClassVar[Mapping[str, Option]] = NETWORK_OPTIONS

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
    _SIZE_OPTION: ClassVar[str]  # the option that decides how much memory training needs
    _DEFAULT_DROPOUT: ClassVar[float] = 0.0
    _AVERAGES_WEIGHTS: ClassVar[bool] = False  # in the clean protocol; see `Schedule`

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        """Return the options of the network encoder."""
        return {self._SIZE_OPTION: getattr(self, self._SIZE_OPTION)}

    @abstractmethod
    def _count_numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        """Return the number of trained weights beside vectors, and of numbers made per batch.

        `size` is a value of the option `_SIZE_OPTION`.
        """

    @property
    def _is_clean(self) -> bool:
        return self.protocol == "clean"

    @property
    def _pad(self) -> Side:
        return "right" if self._is_clean else "left"

    # --- options ------------------------------------------------------------------------------

    def check_options(self) -> None:
        """Raise an InputError if options have values that are not accepted, or contradictory ones.

        `fit` does this first.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.CnnClassifier(trainable={"word_class": True}).check_options()
        """
        super().check_options()
        blocks = (*BLOCKS, *list_block_names(self.other))
        resolve_dropout_rates("supervised_dropout", blocks, self.supervised_dropout)
        resolve_trainable(blocks, self.trainable)

    def _check_inputs(self) -> None:
        """Raise an InputError if the device or vectors are missing."""
        machine.choose_device(self.device)
        wce = make_embeddings(self)
        if wce is not None and wce.analyzer is None and wce.ngrams != (1, 1):
            raise InputError(f"wce has ngrams={wce.ngrams}", expected="(1, 1): single words")
        has_words = (
            self.vectors is not None or wce is not None or bool(check_other_tasks(self.other))
        )
        if not has_words and self.random_dims == 0 and self.context is None:
            hint = "give vectors, wce, other, context or random_dims"
            raise InputError("there are no vectors", hint=hint)
        if self.unseen is not None and (self.vectors is None or wce is None):
            problem = f"unseen={self.unseen!r} needs both pretrained and word-class vectors"
            raise InputError(problem, hint="use vectors=WordVectors.load(path) and wce=True")
        if self.unseen is not None and not self.keep_unseen:
            problem = f"unseen={self.unseen!r} is for words that keep_unseen=False leaves out"
            raise InputError(problem, hint="use keep_unseen=True")

    # --- from labelled texts to the input of a network ------------------------------------------

    def _prepare(
        self, texts: list[str], labels: EncodedLabels, weights: Floats | None
    ) -> TrainingTexts:
        encoder = None
        if self.context is not None:
            encoder = require_token_vectors(SentenceEncoder.of(self.context))
        training_rows, validation_rows = self._split(texts, labels)
        self._check_training_scores(labels, len(validation_rows))
        wce = make_embeddings(self)
        fold_vectors = None
        if wce is not None and self._is_clean:
            folds = np.full(len(texts), -1)
            # the labels of the validation texts must not influence the folds
            training_texts = [texts[row] for row in training_rows]
            folds[training_rows] = stratified_folds(
                training_texts, labels.Y[training_rows], wce.folds, wce.seed
            )
            differences = wce.fit_folds(texts, labels, folds)
            differences -= wce.vectors_
            fold_vectors = FoldVectors(differences, folds[training_rows])
        elif wce is not None:
            wce.fit(texts, labels)
        full_matrix = self._build_matrix(texts, wce)
        sequences = full_matrix.sequences(texts, self.max_length, n_jobs=self.n_jobs)
        E, row_numbers = full_matrix.restricted(sequences.ids)
        documents = LabelledSequences(
            texts=Sequences(row_numbers[sequences.ids], sequences.ends),
            Y=labels.Y,
            is_multilabel=labels.codeframe.is_multilabel,
            padding=E.padding,
            pad=self._pad,
            weights=weights,
            context=self._encode_tokens(texts, encoder, E),
        )
        return TrainingTexts(
            full_matrix=full_matrix,
            E=E,
            row_numbers=row_numbers,
            texts=texts,
            labels=labels,
            documents=documents,
            training=documents.part(training_rows, fold_vectors),
            validation=documents.part(validation_rows) if len(validation_rows) else None,
            validation_rows=validation_rows,
            encoder=encoder,
        )

    def _encode_tokens(
        self, texts: list[str], encoder: SentenceEncoder | None, E: EmbeddingMatrix
    ) -> list[Float16s] | None:
        """Return the vectors (t, d) of the tokens of each text, if there is an encoder."""
        if encoder is None:
            return None
        blocks = token_vectors(encoder, E.analyze, texts, self.max_length, self.n_jobs)
        return [vectors for block in blocks for vectors in block]

    def _split(self, texts: list[str], labels: EncodedLabels) -> Split:
        """Return the rows of the training texts and of the validation texts, which may be none."""
        if not self._is_clean:
            return paper_split(len(texts), self.seed)
        return validation_split(texts, labels.Y, self.seed)

    def _new_weigher(self, **changes: Any) -> TermWeigher:  # noqa: ANN401
        """Return an unfitted weigher with the options of `wce`, or of the classifier."""
        names = ("min_docs", "mask_numbers", "analyzer", "stop_words")
        estimator = make_embeddings(self) or self
        options = {name: getattr(estimator, name) for name in names}
        return TermWeigher.of(**options | {"n_jobs": self.n_jobs} | changes)

    def _build_matrix(self, texts: list[str], wce: WordClassEmbeddings | None) -> EmbeddingMatrix:
        """Return all vectors side by side, if they fit into memory."""
        U = self.vectors
        weigher = self._new_weigher()
        tasks = check_other_tasks(self.other)
        n_random = self.random_dims
        has_words = U is not None or wce is not None or bool(tasks)
        if n_random is None:
            n_random = 0 if has_words or self.context is not None else _RANDOM_DIMS
        if not has_words and not n_random:  # words only have vectors in their context
            empty = np.zeros((2, 0), np.float32)
            return EmbeddingMatrix([], [], empty, {}, weigher.analyze)
        vocabulary = None
        if wce is None:
            fitted, _ = weigher.fit_counted(weigher.count(texts))
            terms = vocabulary = fitted.terms
        else:
            terms = wce.terms_
        max_rows = len(terms) + 2
        n_dims = n_random + sum(task.vectors_.shape[1] for task in tasks.values())
        n_dims += 0 if wce is None else wce.vectors_.shape[1]
        n_dims += 0 if U is None else U.n_dims
        if self.keep_unseen:
            max_rows += len(U) if U is not None else 0
            max_rows += sum(map(len, tasks.values()))
        machine.check_vectors_fit(max_rows, n_dims, n_random)
        return EmbeddingMatrix.of(
            U,
            wce,
            other=tasks,
            random_dims=n_random,
            seed=self.seed,
            vocabulary=vocabulary,
            keep_unseen=self.keep_unseen,
            unseen=self.unseen,
            analyzer=weigher.analyze,
        )

    # --- training -----------------------------------------------------------------------------

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_inputs()
        data = self._prepare(texts, labels, sample_weight)
        E = data.E
        codeframe = labels.codeframe
        n_classes = len(codeframe.classes)
        n_context = count_context_dims(data.encoder)
        is_random = set(E.blocks) == {"random"} and not n_context
        is_trained = resolve_trainable(E.blocks, is_random or self.trainable)
        n_trained = sum(E.matrix[:, E.blocks[name]].size for name in E.blocks if is_trained[name])
        machine.check_network_fits(
            n_trained,
            self._SIZE_OPTION,
            getattr(self, self._SIZE_OPTION),
            lambda size: self._count_numbers(size, E.n_dims + n_context, n_classes),
        )
        layer = EmbeddingLayer(E, is_trained, self._choose_dropout(E), n_context)
        network = self._build_network(layer, n_classes).to(machine.choose_device(self.device))
        schedule = self._build_schedule(len(data.training))
        self.calibration_ = self.share_calibration_ = None
        self.thresholds_ = np.zeros(n_classes) if codeframe.is_multilabel else None
        training = Training(
            network,
            data.training,
            data.validation,
            schedule,
            partial(self._measure, codeframe),
            seed=self.seed,
            checkpoint=self._open_checkpoint(data, schedule),
            processes=machine.Processes.started(),
            n_threads=n_threads(self.n_jobs),
            watch=None if self.on_epoch is None else partial(self._report_epoch, data, network),
        )
        state = training.run()
        self.history_ = [epoch_to_dict(epoch) for epoch in state.history]
        self.best_epoch_ = state.best_epoch
        if self._is_clean and training.validation_scores is not None:
            self._learn_decisions(data, training.validation_scores)
        self._set_network(data.with_trained_rows(layer.cpu()), network.cpu(), data.encoder)

    def _build_network(self, layer: EmbeddingLayer, n_classes: int) -> TextNetwork:
        options = self._encoder_options(n_classes)
        seed = int(self.seed) % 2**63  # torch accepts no others
        make = catalogue.entry("encoders", self.name).make
        encoder = make(layer.embedding_dim, **options, masked=self._is_clean, seed=seed)
        dropout = self._DEFAULT_DROPOUT if self.dropout is None else self.dropout
        return TextNetwork(layer, encoder, n_classes, dropout=dropout, seed=seed + 1)

    def _choose_dropout(self, E: EmbeddingMatrix) -> Rates:
        """Return the dropout rates of blocks of E."""
        rates = self.supervised_dropout
        if isinstance(rates, Mapping):
            return rates
        if "word_class" in E.blocks:
            return {"word_class": rates}
        return {"random": rates} if len(E.blocks) > 1 or self.context is not None else 0.0

    def _build_schedule(self, n_texts: int) -> Schedule:
        """Return the options of the training loop as one object."""
        limit: Any = self.batches_per_epoch
        if is_auto(limit):
            limit = _BATCHES_PER_EPOCH if n_texts > _MANY_TEXTS else None
        return Schedule(
            lr=self.lr,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batches_per_epoch=limit,
            reshuffles=self._is_clean,
            last_rate=_LAST_RATE if self._is_clean else 1.0,
            ties_count=not self._is_clean,
            averages=self._AVERAGES_WEIGHTS and self._is_clean,
            full_precision=not self._is_clean,
            target=check_target(self.target),
        )

    def _measure(self, codeframe: Codeframe, scores: Floats32, Y: Sparse) -> Scores:
        """Return the quality of scores (n, m) of validation texts."""
        if codeframe.is_multilabel and self._is_clean:
            return score_decisions(scores, Y, codeframe)
        return score(Y, decide(scores, self.thresholds_), codeframe)

    def _report_epoch(
        self, data: TrainingTexts, network: TextNetwork, epoch: Epoch, scores: Floats32 | None
    ) -> dict[str, float]:
        """Call `on_epoch`, and return the numbers that it returns.

        `scores` (n, m) are those of the validation texts, if there are any.
        """
        codeframe = data.labels.codeframe
        thresholds = self.thresholds_
        if codeframe.is_multilabel and self._is_clean and scores is not None:
            Y = data.labels.Y
            thresholds = best_thresholds(scores, Y[data.validation_rows], np.inf)
            n_members = np.asarray(Y.sum(axis=0), np.float64).ravel()
            thresholds = without_absent_classes(thresholds, n_members)

        def predict(texts: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
            training_layer = network.layer
            E = data.with_trained_rows(training_layer)  # type: ignore[arg-type]
            network.layer = build_fixed_layer(E, data.encoder).to(network.head.weight.device)
            try:
                with progress.on_progress(progress.ignore):
                    logits = self._build_scorer(network, E, data.encoder).scores(texts)
            finally:
                network.layer = training_layer
            return codeframe.to_labels(decide(logits, thresholds))

        finished = FinishedEpoch(epoch.epoch, epoch.loss, epoch.macro_f1, epoch.micro_f1, predict)
        returned = None if self.on_epoch is None else self.on_epoch(finished)
        if returned is None:
            return {}
        with suppress(AttributeError, TypeError, ValueError):
            numbers = {name: float(value) for name, value in returned.items()}
            if np.isfinite([*numbers.values()]).all():
                return numbers
        expected = "a dict of finite numbers, or None"
        raise InputError(f"on_epoch returned {returned!r:.60}", expected=expected)

    def _learn_decisions(self, data: TrainingTexts, scores: Floats32) -> None:
        """Set thresholds and calibration by the scores of the validation texts."""
        rows = data.validation_rows
        Y = data.labels.Y[rows]
        is_multilabel = data.labels.codeframe.is_multilabel
        weights = data.documents.weights
        row_weights = None if weights is None else weights[rows]
        self._calibrate(scores, Y, row_weights, is_single_label=not is_multilabel)
        if is_multilabel:
            texts = [data.texts[row] for row in rows]
            folds = stratified_folds(texts, Y, _N_THRESHOLD_FOLDS, self.seed + 1)
            # the last epoch moves the scores: weaker pulls lost .002 to .003 on held-out Reuters
            self.thresholds_ = tuned_thresholds(scores, Y, folds, least_pull=_MIN_THRESHOLD_PULL)

    def _open_checkpoint(self, data: TrainingTexts, schedule: Schedule) -> Checkpoint:
        """Return the checkpoint file, with a key of everything that the training depends on."""
        if self.checkpoint is None:
            return Checkpoint()
        fingerprint = None if data.encoder is None else data.encoder.fingerprint
        options = to_json_options(self.get_params(deep=False))
        options |= {"device": None, "context": fingerprint}
        # with the schedule, because a later version may train in another way
        described = [self.name, sorted(options.items()), schedule, data.labels.codeframe]
        Y = data.labels.Y
        documents = data.documents
        arrays: list[NDArray[Any]] = [
            fingerprint_texts(data.texts), Y.indices, Y.indptr, data.full_matrix.matrix,
            documents.texts.ids, documents.texts.ends, data.validation_rows,
        ]  # fmt: skip
        arrays += [] if documents.weights is None else [documents.weights]
        return Checkpoint(Path(self.checkpoint), digest(repr(described), *arrays))

    def _set_network(
        self, E: EmbeddingMatrix, network: TextNetwork, encoder: SentenceEncoder | None
    ) -> None:
        """Set the fitted attributes of a network that is not trained any more."""
        network.layer = build_fixed_layer(E, encoder)
        self.network_ = network.eval().requires_grad_(False)
        self.embedding_ = E
        self.context_ = encoder

    # --- prediction ---------------------------------------------------------------------------

    @property
    def scorer_(self) -> NetworkScorer:
        """The scorer of the trained network, with the options for its use.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.CnnClassifier(channels=2, max_epochs=1, max_length=5, min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"] * 5, ["food", "air"] * 5)
        >>> model.scorer_.n_classes
        2
        """
        return self._build_scorer(self.network_, self.embedding_, self.context_)

    def _build_scorer(
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

    def export(self, path: str | PathLike[str]) -> None:
        """Write the network to a file for programs without wordclass.

        A second file, PATH.json, describes how texts become ids and logits become labels.

        Parameters
        ----------
        path : str or path
            The file. Its ending decides about the format: .pt2 (PyTorch) or .onnx.

        Raises
        ------
        InputError
            The network reads vectors in context, which need the encoder.

        See Also
        --------
        save : Write the model for wordclass.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> model = wc.CnnClassifier(channels=2, max_epochs=1, max_length=5, min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"] * 5, ["food", "air"] * 5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.export(f"{folder}/model.pt2")  # doctest: +SKIP
        ...     sorted(path.name for path in Path(folder).iterdir())  # doctest: +SKIP
        ['model.pt2', 'model.pt2.json']
        """
        check_is_fitted(self)
        E = self.embedding_
        thresholds = self.thresholds_
        if self.context_ is not None:
            raise InputError(
                f"a network that reads vectors in context, here of {self.context_.name}, cannot be "
                "exported, because the file would lack the encoder",
                hint="use wordclass itself",
            )
        analyze = E.analyze
        analyzer = None  # a function of the user cannot be described
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
        self.history_ = list(state.metadata["history"])
        self.best_epoch_ = state.metadata["best_epoch"]
        E = EmbeddingMatrix.from_state(self._new_weigher().analyze, state)
        encoder = None
        if self.context is not None:
            encoder = self._reopen_encoder(state.metadata["context"])
        n_classes = len(self.classes_)
        n_dims = E.n_dims + count_context_dims(encoder)
        size = getattr(self, self._SIZE_OPTION)
        n_weights, _ = self._count_numbers(size, n_dims, n_classes)
        if n_weights > sum(array.size for array in state.arrays.values()):
            raise ValueError(f"its weights are fewer than the {n_weights} of its options")
        network = self._build_network(build_fixed_layer(E, encoder), n_classes)
        network.load_arrays(state)
        self._set_network(E, network, encoder)

    def _reopen_encoder(self, description: Mapping[str, Any]) -> SentenceEncoder:
        """Return the encoder that a saved model was trained with."""
        check_int("n_dims", description["n_dims"], 1)
        return require_token_vectors(SentenceEncoder.reopen(self.context, description, "context"))
