"""Runs that train: a classifier or peer of a learner and variant, trained and tested."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordclass.arrays import Sparse
from wordclass.corpus.documents import Dataset
from wordclass.corpus.labels import encode_labels
from wordclass.decision.measures import align_labels, evaluate, score
from wordclass.options import is_auto
from wordclass.reproduction import peers
from wordclass.reproduction.plan import EMBEDDING_OPTIONS, NETWORKS, PEER, VARIANTS
from wordclass.reproduction.rivals.plan_options import make_classifier
from wordclass.reproduction.runs import Run
from wordclass.reproduction.usage import Usage, cpu_seconds
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.storage.metadata import display_option, to_json_options

_MAX_WATCHED_DOCS = 10_000  # documents that are scored while a network trains
_MAX_TIMED_TEXTS = 256  # sample of texts from which the encoding time of all is extrapolated
_MAX_RANDOM_DIMS = 300  # as word-class vectors have at most 300 dimensions
_SEARCHED_OPTIONS = ("C", "ngrams", "shrinkage", "block_weight")  # "auto": `fit` searches them
_F1 = ("macro_f1", "micro_f1")


def train(
    run: Run,
    options: Mapping[str, Any],
    dataset: Dataset,
    vectors: Mapping[str, Any],
    usage: Usage,
    checkpoint: Path,
    unlabelled: Sequence[str] | None = None,
) -> tuple[dict[str, Any], Sparse, Sparse]:
    """Train and test a classifier.

    Parameters
    ----------
    run : Run
        The run.
    options : dict
        The options of the run, or those of the best trial if it has a search.
    dataset : Dataset
        Training and test documents.
    vectors : dict
        Options that hold vectors: "vectors" (pretrained) and "other" (embeddings of other tasks),
        if the run has them.
    usage : Usage
        Measures the steps "encode", "select", "fit" and "predict".
    checkpoint : Path
        The file from which the training of a network resumes.
    unlabelled : list of str, optional
        More texts to learn from, without labels.

    Returns
    -------
    result_fields : dict
        Fields of a `RunResult`.
    predicted, truth : sparse matrices (n, m)
        The predicted and the true classes of the test documents.
    """
    result_fields: dict[str, Any]
    if run.learner == PEER:
        labels, times, usage.versions = peers.predict(
            peer=run.variant,
            train=dataset.train,
            texts=dataset.test.texts,
            seed=run.seed,
            options=options,
        )
        usage.seconds |= times
        result_fields = {}
        classes = [*encode_labels(dataset.train.labels).codeframe.classes]
    else:
        labels, result_fields, classes = _train_classifier(
            run, options, dataset, vectors, usage, checkpoint, unlabelled
        )
    truth, predicted, codeframe, n_dropped = align_labels(dataset.test.labels, labels, classes)
    evaluation = score(truth, predicted, codeframe, n_dropped)
    measures = (*_F1, "accuracy", "macro_f1_with_positives", "n_dropped")
    scores = {name: getattr(evaluation, name) for name in measures}
    scores |= result_fields.pop("validation", {})
    counts = {
        "names": classes,
        "tp": evaluation.true_positives.tolist(),
        "fp": (evaluation.n_predicted - evaluation.true_positives).tolist(),
        "fn": (evaluation.n_true - evaluation.true_positives).tolist(),
    }
    return {"scores": scores, "classes": counts, **result_fields}, predicted, truth


def _train_classifier(
    run: Run,
    options: Mapping[str, Any],
    dataset: Dataset,
    vectors: Mapping[str, Any],
    usage: Usage,
    checkpoint: Path,
    unlabelled: Sequence[str] | None,
) -> tuple[Any, dict[str, Any], list[Any]]:
    """Train a classifier and return test labels, result fields and classes."""
    texts = dataset.train.texts
    labels = dataset.train.labels
    all_options = {**_all_options(run, options, dataset), **vectors}
    watch = _EpochWatch(dataset)
    if run.learner in NETWORKS:
        all_options |= {"checkpoint": checkpoint, "on_epoch": watch}
    model = make_classifier(run.learner, **all_options)
    if encoder := all_options.get("encoder"):
        _time_encoding(encoder, [*texts, *dataset.test.texts], usage)
    settings = dict(options) if run.needs else {}
    if any(is_auto(model.get_params(deep=False).get(name)) for name in _SEARCHED_OPTIONS):
        with usage.step("select"):
            settings = _chosen_settings(model.fit(texts, labels))
        model.set_params(**settings)
    with usage.step("fit"):
        watch.cpu_start = cpu_seconds()
        more = {} if unlabelled is None else {"unlabelled": unlabelled}
        model.fit(texts, labels, **more)
        cpu_after_epochs = cpu_seconds() - watch.cpu_start
    if run.learner in NETWORKS:  # with the epochs before an interruption, without the watching
        cpu_of_epochs = sum(epoch["cpu_seconds"] for epoch in model.history_)
        usage.seconds["fit_cpu"] = cpu_of_epochs + cpu_after_epochs
    with usage.step("predict"):
        predicted = model.predict(dataset.test.texts)
    history = getattr(model, "history_", None)
    if unlabelled is not None:
        settings = {**settings, "unlabelled": model.unlabelled_["method"]}
    result_fields = {
        "validation": _validation_scores(model),
        "history": None if history is None else [_rename_scores(epoch) for epoch in history],
        "best_epoch": getattr(model, "best_epoch_", None),
        "settings": {
            name: display_option(value) for name, value in to_json_options(settings).items()
        },
    }
    return predicted, result_fields, model.classes_.tolist()


def _time_encoding(encoder: str, texts: Sequence[str], usage: Usage) -> None:
    """Fill the cache of an encoder for later steps, and measure how long encoding takes.

    Cached texts cost nothing, so the time is extrapolated from a sample that bypasses the cache.
    """
    with usage.step("encode"):
        SentenceEncoder.of(encoder).vectors(texts)
    uncached = replace(SentenceEncoder.of(encoder), fingerprint="")
    uncached.vectors(texts[:1])  # reads the model, which is not timed
    sample = texts[:: -(-len(texts) // _MAX_TIMED_TEXTS)]
    start = time.process_time()
    uncached.vectors(sample)
    usage.seconds["encode_cpu"] = (time.process_time() - start) * len(texts) / len(sample)


def _all_options(run: Run, options: Mapping[str, Any], dataset: Dataset) -> dict[str, Any]:
    """Merge the options of the variant, the run and the protocol."""
    merged = {**VARIANTS[run.learner][run.variant], **options, "seed": run.seed}
    if run.learner in (*NETWORKS, "fasttext"):
        merged["protocol"] = run.protocol
    if merged.get("random_dims") == "classes":
        merged["random_dims"] = min(len(dataset.classes), _MAX_RANDOM_DIMS)
    embedding_names = EMBEDDING_OPTIONS.get(run.learner, ())
    embedding_options = {name: merged.pop(name) for name in embedding_names if name in merged}
    if embedding_options:
        merged["wce"] = embedding_options
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
    }


@dataclass
class _EpochWatch:
    """Callback of a network that measures the CPU seconds and scores of its epochs."""

    dataset: Dataset
    cpu_start: float = 0.0

    def __call__(self, epoch: Any) -> dict[str, float]:  # noqa: ANN401 - needs torch
        """Return CPU seconds and, after epochs 1 to 3 and every fifth, training and test F1."""
        measured = {"cpu_seconds": cpu_seconds() - self.cpu_start}
        if epoch.epoch <= 3 or epoch.epoch % 5 == 0:
            for name, corpus in (("train", self.dataset.train), ("test", self.dataset.test)):
                step = -(-len(corpus) // _MAX_WATCHED_DOCS)
                predicted = epoch.predict(corpus.texts[::step])
                scores = evaluate(corpus.labels[::step], predicted, self.dataset.classes)
                measured |= {f"{name}_{measure}": getattr(scores, measure) for measure in _F1}
        self.cpu_start = cpu_seconds()
        return measured


def _chosen_settings(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the settings that a classifier chose in `fit`."""
    if hasattr(model, "settings_"):
        return dict(model.settings_)
    C = model.C_.tolist()
    return {"C": C[0] if len(set(C)) == 1 else C}


def _validation_scores(model: Any) -> dict[str, float]:  # noqa: ANN401
    """Return the validation scores of the best epoch of a network, or of a fitted fastText."""
    if hasattr(model, "history_"):
        best_epoch = model.history_[model.best_epoch_ - 1]
        scores = {name: best_epoch[name] for name in _F1}
    else:
        evaluation = getattr(model, "validation_", None)
        scores = {name: getattr(evaluation, name, None) for name in _F1}
    return {f"validation_{name}": value for name, value in scores.items() if value is not None}


def _rename_scores(epoch: Mapping[str, Any]) -> dict[str, Any]:
    """Return an epoch of a history with the names that results use for validation scores."""
    return {f"validation_{name}" if name in _F1 else name: value for name, value in epoch.items()}
