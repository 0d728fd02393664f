"""The commands that make models: train and tune."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from wordclass.cli import arguments
from wordclass.cli.arguments import Output
from wordclass.cli.command import Settings, command, same_command
from wordclass.cli.corpora import Corpus, InParts, Multilabel, Names, tell_skipped
from wordclass.corpus.documents import LabelledCorpus, describe_task
from wordclass.corpus.selection import ReadSummary
from wordclass.errors import InputError
from wordclass.storage import files as storage

if TYPE_CHECKING:
    from wordclass.classifiers.tuning import Trial, Tuned
    from wordclass.corpus.shards import ShardedCorpus
    from wordclass.corpus.splits import Holdout

Result = TypeVar("Result")

ClassifierName = Annotated[str, "Kind of classifier."]
Vectors = Annotated[Path | None, "Pretrained word vectors."]
Also = Annotated[
    Names, "--also", "Word-class embeddings of another task, a .wce file: FILE or NAME=FILE."
]
Set = Annotated[Names, "--set", "Option of the classifier: name=value, which may be JSON."]


@command
def train(
    corpus: Corpus,
    in_parts: InParts,
    settings: Settings,
    output: Output,
    classifier: ClassifierName = "linear",
    vectors: Vectors = None,
    also: Also = None,
    set_: Set = None,
    holdout: Annotated[float | None, "Share of the documents to keep aside and measure on."] = None,
    multilabel: Multilabel = None,
) -> None:
    """Train a classifier on labelled texts.

    A network keeps the state of its training in OUTPUT.checkpoint until the model is written; the
    same command goes on from there, whatever ended it. With --engine, the corpus is read, counted
    and vectorized in parts, and the model is learned from files beside OUTPUT.
    """
    settings.check_output(output, is_folder=True)
    start = time.perf_counter()

    from wordclass.classifiers import factory
    from wordclass.corpus.splits import Holdout
    from wordclass.storage import models
    from wordclass.vectors.word_vectors import WordVectors

    models.check_replaceable(output)
    aside = None if holdout is None else Holdout(holdout, settings.seed)
    options = arguments.named_values(set_ or []) | ({} if vectors is None else {"vectors": None})
    options |= _other_tasks(classifier, also)
    checkpoint = arguments.beside(output, "checkpoint")
    shared = {"seed": settings.seed, "n_jobs": settings.jobs, "checkpoint": checkpoint}
    given = factory.check_options(classifier, options, shared)
    if vectors is not None:
        given["vectors"] = WordVectors.load(vectors)
    made = factory.classifier(classifier, **given)
    parts, seen = corpus.parts(in_parts, "train", settings.encoding, multilabel), ReadSummary()
    if parts is not None and in_parts.engine:
        asked = parts, in_parts, settings, output, aside
        scores = _kept(made, settings, lambda: _train_in_parts(made, *asked))
    else:
        if parts is not None:
            documents = parts.read(seen)
            tell_skipped(settings, seen)
        else:
            documents = corpus.read("train", settings.encoding, multilabel)
        scores = _kept(made, settings, lambda: _train_on(made, documents, aside))
    is_multilabel = made.codeframe_.is_multilabel
    if not _is_ours_to_save(made):
        return
    made.fields_ = corpus.fields
    made.save(output, scores=scores)
    _forget_checkpoint(made)
    seconds = time.perf_counter() - start
    n_docs, n_classes = made.training_.n_docs, len(made.classes_)
    result = {
        "output": str(output),
        "classifier": classifier,
        "n_docs": n_docs,
        "n_classes": n_classes,
        "is_multilabel": is_multilabel,
        "seconds": round(seconds, 3),
        **scores,
    }
    task = describe_task(is_multilabel, n_classes)
    message = f"{output}: {classifier}, from {n_docs:,} documents ({task}), in {seconds:.1f} s"
    if found := scores.get("holdout"):
        from wordclass.batch.evaluation import accuracy_name

        f1 = f"macro F1 {found['macro_f1']:.4f}, micro F1 {found['micro_f1']:.4f}"
        accuracy = f"{accuracy_name(is_multilabel)} {found['accuracy']:.4f}"
        message += f"; on {found['n_docs']:,} documents kept aside: {f1}, {accuracy}"
    settings.tell(result, message)


def _other_tasks(classifier: str, also: Names) -> dict[str, Any]:
    """Return the option that holds the embeddings of other tasks, if any are given."""
    if not also:
        return {}
    from wordclass.classifiers import factory
    from wordclass.embedding.estimator import WordClassEmbeddings

    if "other" not in factory.classifier(classifier).get_params(deep=False):
        told = f"the classifier {classifier!r} reads no embeddings of other tasks"
        raise InputError(f"{told}; --also is for linear, svm and the networks")
    files = arguments.named_files(also)
    return {"other": {name: WordClassEmbeddings.load(path) for name, path in files.items()}}


def _train_in_parts(
    made: Any,  # noqa: ANN401
    parts: "ShardedCorpus",
    in_parts: InParts,
    settings: Settings,
    output: Path,
    aside: "Holdout | None",
) -> dict[str, Any]:
    """Fit a classifier by an engine; return its quality on the documents kept aside."""
    from wordclass.batch.sharded import ShardEvaluator, choose_holdout, evaluate_shards

    folder = Path(os.path.abspath(output)).parent
    with in_parts.opened(settings) as engine:
        if aside is not None:
            aside = choose_holdout(parts, engine, aside)
        made.fit_parts(parts, engine=engine, folder=folder, aside=aside)
        tell_skipped(settings, made.seen_)
        if aside is None:
            return {}
        work = ShardEvaluator(parts.without_items(), made, holdout=aside)
        _, found = evaluate_shards(parts, engine, work)
    chosen = {"share": aside.share, "seed": aside.seed, "is_stratified": True}
    return {"holdout": {**chosen, **found.to_dict()}}


def _train_on(made: Any, corpus: LabelledCorpus, aside: "Holdout | None") -> dict[str, Any]:  # noqa: ANN401
    """Fit a classifier; return what is known of its quality from the documents kept aside."""
    if aside is None:
        made.fit(corpus.texts, corpus.labels)
        return {}
    from wordclass.batch.evaluation import evaluate_model
    from wordclass.corpus.labels import encode_labels

    is_aside = aside.choose(corpus.texts, encode_labels(corpus.labels).Y).contains(corpus.texts)
    if not is_aside.any() or is_aside.all():
        asked = f"--holdout {aside.share:g} of {len(corpus)} documents"
        raise InputError(f"{asked} leaves none on one side")
    rest = corpus.part(~is_aside)
    made.fit(rest.texts, rest.labels)
    found = evaluate_model(made, corpus.part(is_aside)).to_dict()
    chosen = {"share": aside.share, "seed": aside.seed, "is_stratified": True}
    return {"holdout": {**chosen, **found}}


def _kept(classifier: Any, settings: Settings, fit: Callable[[], Result]) -> Result:  # noqa: ANN401
    """Fit a classifier; one that has a checkpoint goes on from there.

    Where the file is that of another training, `--force` begins anew.
    """
    if getattr(classifier, "checkpoint", None) is None:
        return fit()
    from wordclass.network import checkpoint

    path, is_ours = Path(classifier.checkpoint), _is_ours_to_save(classifier)
    if not is_ours:
        settings = replace(settings, quiet=True)
    with _saying_how_to_go_on(path, settings):
        try:
            return fit()
        except checkpoint.CheckpointError as error:
            if not settings.force:
                raise InputError(f"{error}; --force begins anew") from error
        settings.say(f"{path}: of another training, or damaged; beginning anew")
        if is_ours:
            checkpoint.remove(path)
        return fit()


@contextmanager
def _saying_how_to_go_on(path: Path, settings: Settings) -> Iterator[None]:
    if storage.path_exists(path):
        settings.say(f"{path}: the state of a training that was stopped; going on from it")
    try:
        yield
    except KeyboardInterrupt:
        if storage.path_exists(path):
            kept = f"The training up to its last epoch, or minute, is kept in {path}."
            settings.say("", f"{kept} To go on from there:", f"  {same_command()}")
        raise


def _is_ours_to_save(classifier: Any) -> bool:  # noqa: ANN401
    """Whether this process writes the model: of several that train a network, one does."""
    if not hasattr(classifier, "checkpoint"):
        return True
    from wordclass.network.machine import is_first_process

    return is_first_process()


def _forget_checkpoint(classifier: Any) -> None:  # noqa: ANN401
    if getattr(classifier, "checkpoint", None) is not None:
        from wordclass.network import checkpoint

        checkpoint.remove(Path(classifier.checkpoint))


@command
def tune(
    corpus: Corpus,
    settings: Settings,
    output: Output,
    classifier: ClassifierName = "linear",
    budget: Annotated[str, "Time for all trials: 90s, 10m, 1h; none: try everything."] = "10m",
    target: Annotated[str, "What is best: macro_f1, micro_f1, accuracy, or both F1."] = "both",
    grid: Annotated[
        list[str] | None, "What to choose from, instead of the classifier's own: name=v1,v2."
    ] = None,
    set_: Set = None,
    vectors: Vectors = None,
    also: Also = None,
    validation: Annotated[float, "Share of the documents that decides."] = 0.2,
    multilabel: Multilabel = None,
) -> None:
    """Choose the settings of a classifier on held-out documents, and train it on all.

    Each trial is added to OUTPUT.trials.jsonl as soon as it is over; the same command goes on from
    there, whatever ended it.
    """
    settings.check_output(output, is_folder=True)
    start = time.perf_counter()
    n_seconds = arguments.seconds(budget)

    from wordclass.classifiers import tuning
    from wordclass.storage import models
    from wordclass.vectors.word_vectors import WordVectors

    models.check_replaceable(output)
    journal = arguments.beside(output, "trials.jsonl")
    documents = corpus.read("train", settings.encoding, multilabel)
    told: list[Trial] = []

    def tell(trial: "Trial") -> None:
        told.append(trial)
        settings.say(f"trial {len(told)}: {_written(trial)}")

    try:
        tuned = tuning.tune(
            documents.texts,
            documents.labels,
            classifier,
            grid=arguments.named_choices(grid or []),
            options=arguments.named_values(set_ or []) | _other_tasks(classifier, also),
            vectors=None if vectors is None else WordVectors.load(vectors),
            budget=n_seconds,
            target=target,
            validation=validation,
            journal=journal,
            tell=tell,
            seed=settings.seed,
            n_jobs=settings.jobs,
        )
    except KeyboardInterrupt:
        if told:
            settings.say(
                "",
                f"{len(told)} finished trials are kept in {journal}. To go on from there:",
                f"  {same_command()}",
                "With --budget 0s, the best of them becomes the model.",
            )
        raise
    tuned.model.fields_ = corpus.fields
    tuned.model.save(output, scores={"tuning": tuned.to_dict()})
    result = {
        "output": str(output),
        "trials_file": str(journal),
        "classifier": classifier,
        "n_docs": len(documents),
        "n_classes": len(tuned.model.classes_),
        "is_multilabel": documents.is_multilabel,
        "seconds": round(time.perf_counter() - start, 3),
        **tuned.to_dict(),
        "trials": [trial.to_dict() for trial in tuned.trials],
    }
    settings.show(result, _summary(tuned, output, journal))


def _written(trial: "Trial") -> str:
    scores = f"macro F1 {trial.macro_f1:.4f}  micro F1 {trial.micro_f1:.4f}"
    found = scores if trial.is_done else f"failed: {trial.message}"
    again = ", from the journal" if trial.is_resumed else ""
    return f"{found}  ({trial.seconds:.1f} s{again})  {_as_set(trial.resolved)}"


def _as_set(options: dict[str, Any]) -> str:
    """Write options as they would be given to `--set`."""
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in options.items()
    )


def _summary(tuned: "Tuned", output: Path, journal: Path) -> str:
    from wordclass.batch.evaluation import accuracy_name
    from wordclass.tables import align_columns

    best = tuned.ranked[0]
    rows = {
        "task": describe_task(tuned.model.codeframe_.is_multilabel, len(tuned.model.classes_)),
        "chosen": _as_set(tuned.best),
        "validation": f"macro F1 {best.macro_f1:.4f}, micro F1 {best.micro_f1:.4f}, "
        f"{accuracy_name(tuned.model.codeframe_.is_multilabel)} {best.accuracy:.4f} on "
        f"{tuned.n_validation:,} documents",
        "trials": f"{len(tuned.trials)}, kept in {journal}",
        "ended": tuned.ended,
        "model": f"{output}, fitted on all {tuned.n_train + tuned.n_validation:,} documents",
    }
    return "\n".join(align_columns(rows.items()))
