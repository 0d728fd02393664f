"""A run that trains: makes a classifier of its learner and variant, or a peer, and tests it."""

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

_MOST_WATCHED = 10_000  # texts whose F1 is measured while a network is trained
_MOST_TIMED = 256  # texts that are encoded to know the seconds of all
_MOST_RANDOM = 300  # random dimensions beside pretrained ones, as word-class ones are at most
_CHOSEN = ("C", "ngrams", "shrinkage", "block_weight")  # where "auto", by a search in `fit`
_F1 = ("macro_f1", "micro_f1")


def train(
    run: Run,
    options: Mapping[str, Any],
    dataset: Dataset,
    vectors: Mapping[str, Any],
    usage: Usage,
    checkpoint: Path,
) -> tuple[dict[str, Any], Sparse, Sparse]:
    """Train and test a classifier.

    Parameters
    ----------
    run : Run
    options : dict
        Its options; where it needs the runs of a search, those of the best one.
    dataset : Dataset
    vectors : dict
        Options: "vectors", the pretrained ones, where the variant has some; "other", the
        embeddings of other tasks, where there are some.
    usage : Usage
        Is told of the steps "encode", "select", "fit" and "predict".
    checkpoint : Path
        From which the training of a network goes on.

    Returns
    -------
    facts : dict
        Fields of a `RunResult`.
    predicted, truth : sparse matrices (n, m)
        Which classes the test texts were given, and which they have.
    """
    if run.learner == PEER:
        asked = run.variant, dataset.train, dataset.test.texts, run.seed, options
        labels, times, usage.versions = peers.predict(*asked)
        usage.seconds |= times
        facts, classes = dict[str, Any](), [*encode_labels(dataset.train.labels).codeframe.classes]
    else:
        labels, facts, classes = _train_own(run, options, dataset, vectors, usage, checkpoint)
    truth, predicted, codeframe, n_dropped = align_labels(dataset.test.labels, labels, classes)
    found = score(truth, predicted, codeframe, n_dropped)
    measures = (*_F1, "accuracy", "macro_f1_with_positives", "n_dropped")
    scores = {name: getattr(found, name) for name in measures} | facts.pop("validation", {})
    counts = {
        "names": classes,
        "tp": found.true_positives.tolist(),
        "fp": (found.n_predicted - found.true_positives).tolist(),
        "fn": (found.n_true - found.true_positives).tolist(),
    }
    return {"scores": scores, "classes": counts, **facts}, predicted, truth


def _train_own(
    run: Run,
    options: Mapping[str, Any],
    dataset: Dataset,
    vectors: Mapping[str, Any],
    usage: Usage,
    checkpoint: Path,
) -> tuple[Any, dict[str, Any], list[Any]]:
    """Train a classifier of ours; return the labels of the test texts, facts, and the classes."""
    texts, labels = dataset.train.texts, dataset.train.labels
    given = {**_all_options(run, options, dataset), **vectors}
    watch = _Watch(dataset)
    if run.learner in NETWORKS:
        given |= {"checkpoint": checkpoint, "on_epoch": watch}
    model = make_classifier(run.learner, **given)
    if encoder := given.get("encoder"):
        _encode(encoder, [*texts, *dataset.test.texts], usage)
    settings = dict(options) if run.needs else {}
    if any(is_auto(model.get_params(deep=False).get(name)) for name in _CHOSEN):
        with usage.step("select"):
            settings = _choice_of(model.fit(texts, labels))
        model.set_params(**settings)
    with usage.step("fit"):
        watch.cpu_before = cpu_seconds()
        model.fit(texts, labels)
        cpu_left = cpu_seconds() - watch.cpu_before
    if run.learner in NETWORKS:  # also what was spent before it was stopped; not the watching
        spent = sum(epoch["cpu_seconds"] for epoch in model.history_)
        usage.seconds["fit_cpu"] = spent + cpu_left
    with usage.step("predict"):
        predicted = model.predict(dataset.test.texts)
    history = getattr(model, "history_", None)
    facts = {
        "validation": _validation(model),
        "history": None if history is None else [_as_kept(epoch) for epoch in history],
        "best_epoch": getattr(model, "best_epoch_", None),
        "settings": {
            name: display_option(each) for name, each in to_json_options(settings).items()
        },
    }
    return predicted, facts, model.classes_.tolist()


def _encode(encoder: str, texts: Sequence[str], usage: Usage) -> None:
    """Fill the cache of an encoder, so that the other steps read it, and time its work.

    What was encoded before costs nothing here, so the time is that of a sample, for all texts.
    """
    with usage.step("encode"):
        SentenceEncoder.of(encoder).vectors(texts)
    uncached = replace(SentenceEncoder.of(encoder), fingerprint="")
    uncached.vectors(texts[:1])  # which reads the model
    sample = texts[:: -(-len(texts) // _MOST_TIMED)]
    before = time.process_time()
    uncached.vectors(sample)
    usage.seconds["encode_cpu"] = (time.process_time() - before) * len(texts) / len(sample)


def _all_options(run: Run, given: Mapping[str, Any], dataset: Dataset) -> dict[str, Any]:
    """Return the options of the classifier: variant, presets, plan, and what every run has."""
    options = {**VARIANTS[run.learner][run.variant], **given, "seed": run.seed}
    if run.learner in (*NETWORKS, "fasttext"):
        options["protocol"] = run.protocol
    if options.get("random_dims") == "classes":
        options["random_dims"] = min(len(dataset.classes), _MOST_RANDOM)
    of_embeddings = EMBEDDING_OPTIONS.get(run.learner, ())
    if own := {name: options.pop(name) for name in of_embeddings if name in options}:
        options["wce"] = own
    return {name: tuple(each) if isinstance(each, list) else each for name, each in options.items()}


@dataclass
class _Watch:
    """Measures the epochs of a network, and the seconds of the processor that each took."""

    dataset: Dataset
    cpu_before: float = 0.0

    def __call__(self, epoch: Any) -> dict[str, float]:  # noqa: ANN401 - needs torch
        """Measure the F1 of training and test texts, after the first epochs and every fifth."""
        found = {"cpu_seconds": cpu_seconds() - self.cpu_before}
        if epoch.epoch <= 3 or epoch.epoch % 5 == 0:
            for name, corpus in (("train", self.dataset.train), ("test", self.dataset.test)):
                step = -(-len(corpus) // _MOST_WATCHED)
                predicted = epoch.predict(corpus.texts[::step])
                scores = evaluate(corpus.labels[::step], predicted, self.dataset.classes)
                found |= {f"{name}_{measure}": getattr(scores, measure) for measure in _F1}
        self.cpu_before = cpu_seconds()
        return found


def _choice_of(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the settings that a classifier chose by itself."""
    if hasattr(model, "settings_"):
        return dict(model.settings_)
    C = model.C_.tolist()
    return {"C": C[0] if len(set(C)) == 1 else C}


def _validation(model: Any) -> dict[str, float]:  # noqa: ANN401
    """Return the scores of validation texts: of the best epoch, or of the fitted fastText."""
    if hasattr(model, "history_"):
        found = {name: model.history_[model.best_epoch_ - 1][name] for name in _F1}
    else:
        scores = getattr(model, "validation_", None)
        found = {name: getattr(scores, name, None) for name in _F1}
    return {f"validation_{name}": each for name, each in found.items() if each is not None}


def _as_kept(epoch: Mapping[str, Any]) -> dict[str, Any]:
    return {f"validation_{name}" if name in _F1 else name: each for name, each in epoch.items()}
