"""The commands that train models: train and tune."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from wordclass.cli import arguments
from wordclass.cli.arguments import ModelOutput
from wordclass.cli.command import Settings, command, current_command
from wordclass.cli.completion import entry_names
from wordclass.cli.corpora import Corpus, EngineOptions, Multilabel, Names, report_skipped
from wordclass.errors import InputError
from wordclass.storage import files as storage

if TYPE_CHECKING:
    from wordclass.classifiers.tuning import Trial, Tuned
    from wordclass.corpus.documents import LabelledCorpus
    from wordclass.corpus.shards import ShardedCorpus
    from wordclass.corpus.splits import Holdout

Result = TypeVar("Result")

ClassifierName = Annotated[str, entry_names("classifiers"), "Kind of classifier."]
Vectors = Annotated[Path | None, "Pretrained word vectors."]
OtherTasks = Annotated[
    Names,
    "--also",
    "[NAME=]FILE",
    "Word-class embeddings of another task, a .wce file. Repeat for several.",
]
Options = Annotated[
    Names, "--set", "NAME=VALUE", "Set an option of the classifier. Repeat for several."
]


@command(
    "Learn",
    uses=("force", "seed", "jobs", "encoding"),
    examples="""
wordclass train news.csv -o model/
wordclass train news.csv -o model/ --holdout 0.2
wordclass train news.csv -o model/ --text-field title --text-field body --label-field topic
wordclass train news.csv -o model/ --classifier cnn --vectors glove.6B.100d.txt
wordclass train news.csv -o model/ --set ngrams=1,2 --set encoder=minilm
""",
)
def train(
    corpus: Corpus,
    engine_options: EngineOptions,
    settings: Settings,
    output: ModelOutput,
    classifier: ClassifierName = "linear",
    vectors: Vectors = None,
    also: OtherTasks = None,
    set_: Options = None,
    holdout: Annotated[
        float | None, "SHARE", "Share of the documents to hold out and evaluate on."
    ] = None,
    multilabel: Multilabel = None,
) -> None:
    """Train a classifier on labelled texts.

    A network saves the state of its training in MODEL.checkpoint until the model is written. If it
    is interrupted, the same command resumes. With --engine, the corpus is processed in shards and
    need not fit into memory.
    """
    settings.check_output(output, is_folder=True)
    start = time.perf_counter()

    from wordclass.classifiers import factory
    from wordclass.corpus.splits import Holdout
    from wordclass.storage import models
    from wordclass.vectors.word_vectors import WordVectors

    models.check_replaceable(output)
    held_out = None if holdout is None else Holdout(holdout, settings.seed)
    requested = arguments.parse_options(set_ or []) | _read_other_tasks(classifier, also)
    if vectors is not None:
        requested["vectors"] = None  # checked now, and read when all options are valid
    defaults = {
        "seed": settings.seed,
        "n_jobs": settings.jobs,
        "checkpoint": arguments.path_beside(output, "checkpoint"),
    }
    options = factory.check_options(classifier, requested, defaults)
    if vectors is not None:
        options["vectors"] = WordVectors.load(vectors)
    model = factory.classifier(classifier, **options)
    shards = corpus.shards(engine_options, "train", settings.encoding, multilabel)
    if shards is not None and engine_options.engine:
        fit = _ShardFit(model, shards, engine_options, settings, output, held_out)
        scores = _resume_or_fit(model, settings, fit.run)
        counts: list[str] = []
    else:
        documents, counts = _read(corpus, shards, settings, multilabel)
        scores = _resume_or_fit(model, settings, lambda: _fit(model, documents, held_out))
    if not _is_saving_process(model):
        return
    model.fields_ = corpus.fields
    model.save(output, scores=scores)
    _remove_checkpoint(model)
    _report_training(settings, output, classifier, model, scores, counts, start)


def _read_other_tasks(classifier: str, also: Names) -> dict[str, Any]:
    """Return the option that contains the embeddings of other tasks, if there are any."""
    if not also:
        return {}
    from wordclass.classifiers import factory
    from wordclass.embedding.estimator import WordClassEmbeddings

    if "other" not in factory.classifier(classifier).get_params(deep=False):
        raise InputError(
            f"--also: the classifier {classifier!r} does not read embeddings of other tasks",
            hint="use --classifier linear, svm or a network",
        )
    files = arguments.parse_named_files(also)
    return {"other": {name: WordClassEmbeddings.load(path) for name, path in files.items()}}


def _read(
    corpus: Corpus,
    shards: "ShardedCorpus | None",
    settings: Settings,
    multilabel: bool | None,
) -> "tuple[LabelledCorpus, list[str]]":
    """Read a corpus into memory and describe skipped records and empty texts."""
    from wordclass.corpus.selection import ReadSummary

    summary = ReadSummary()
    if shards is not None:
        documents = shards.read(summary)
        report_skipped(settings, summary)
    else:
        documents = corpus.read("train", settings.encoding, multilabel)
    n_empty = sum(not text.strip() for text in documents.texts)
    counts = [f"{n_empty:,} empty texts"] if n_empty else []
    if summary.n_skipped:
        counts.append(f"{summary.n_skipped:,} records skipped")
    return documents, counts


def _fit(model: Any, corpus: "LabelledCorpus", holdout: "Holdout | None") -> dict[str, Any]:  # noqa: ANN401
    """Fit a classifier and return its quality on the held-out documents."""
    if holdout is None:
        model.fit(corpus.texts, corpus.labels)
        return {}
    from wordclass.batch.evaluation import evaluate_model
    from wordclass.corpus.labels import encode_labels

    chosen = holdout.choose(corpus.texts, encode_labels(corpus.labels).Y)
    is_held_out = chosen.contains(corpus.texts)
    if not is_held_out.any() or is_held_out.all():
        side = "training" if is_held_out.all() else "evaluation"
        raise InputError(
            f"--holdout {holdout.share:g} leaves none of {len(corpus)} documents for {side}",
            hint="use another share or more documents",
        )
    training = corpus.part(~is_held_out)
    model.fit(training.texts, training.labels)
    evaluation = evaluate_model(model, corpus.part(is_held_out))
    return {"holdout": {**_describe_holdout(holdout), **evaluation.to_dict()}}


def _describe_holdout(holdout: "Holdout") -> dict[str, Any]:
    return {"share": holdout.share, "seed": holdout.seed, "is_stratified": True}


@dataclass(frozen=True)
class _ShardFit:
    """A fit of a classifier by an engine."""

    model: Any
    shards: "ShardedCorpus"
    engine_options: EngineOptions
    settings: Settings
    output: Path
    holdout: "Holdout | None"

    def run(self) -> dict[str, Any]:
        """Fit the classifier and return its quality on the held-out documents."""
        from wordclass.batch.sharded import ShardEvaluator, choose_holdout, evaluate_shards

        folder = Path(os.path.abspath(self.output)).parent
        with self.engine_options.open_engine(self.settings) as engine:
            held_out = self.holdout
            if held_out is not None:
                held_out = choose_holdout(self.shards, engine, held_out)
            self.model.fit_parts(self.shards, engine=engine, folder=folder, aside=held_out)
            report_skipped(self.settings, self.model.seen_)
            if held_out is None:
                return {}
            evaluator = ShardEvaluator(self.shards.without_items(), self.model, holdout=held_out)
            _, evaluation = evaluate_shards(self.shards, engine, evaluator)
        return {"holdout": {**_describe_holdout(held_out), **evaluation.to_dict()}}


def _report_training(
    settings: Settings,
    output: Path,
    classifier: str,
    model: Any,  # noqa: ANN401
    scores: dict[str, Any],
    counts: list[str],
    start: float,
) -> None:
    from wordclass.corpus.documents import describe_task

    seconds = time.perf_counter() - start
    is_multilabel = model.codeframe_.is_multilabel
    n_docs = model.training_.n_docs
    n_classes = len(model.classes_)
    result = {
        "output": str(output),
        "classifier": classifier,
        "n_docs": n_docs,
        "n_classes": n_classes,
        "is_multilabel": is_multilabel,
        "seconds": round(seconds, 3),
        **scores,
    }
    details = ", ".join([describe_task(is_multilabel, n_classes), *counts])
    message = f"{output}: {classifier}, from {n_docs:,} documents ({details}), in {seconds:.1f} s"
    if quality := scores.get("holdout"):
        from wordclass.batch.evaluation_report import summarize_scores

        message += f"; on {quality['n_docs']:,} held-out documents: "
        message += summarize_scores(quality, is_multilabel=is_multilabel)
    settings.report(result, message)


def _resume_or_fit(model: Any, settings: Settings, fit: Callable[[], Result]) -> Result:  # noqa: ANN401
    """Run a fit, or resume it if it has a checkpoint.

    If the checkpoint belongs to another training, `--force` starts again.
    """
    if getattr(model, "checkpoint", None) is None:
        return fit()
    from wordclass.network import checkpoint

    path = Path(model.checkpoint)
    is_saving = _is_saving_process(model)
    if not is_saving:
        settings = replace(settings, quiet=True)
    with _explain_how_to_resume(path, settings):
        try:
            return fit()
        except checkpoint.CheckpointError as error:
            if not settings.force:
                raise InputError(error, hint="use --force to start again") from error
        settings.say(f"{path}: from another training, or damaged; starting again")
        if is_saving:
            checkpoint.remove(path)
        return fit()


@contextmanager
def _explain_how_to_resume(path: Path, settings: Settings) -> Iterator[None]:
    if storage.path_exists(path):
        settings.say(f"{path}: state of an interrupted training; resuming")
    try:
        yield
    except KeyboardInterrupt:
        if storage.path_exists(path):
            settings.say(
                "",
                f"{path} contains the training up to its last epoch or minute. To resume:",
                f"  {current_command()}",
            )
        raise


def _is_saving_process(model: Any) -> bool:  # noqa: ANN401
    """Return whether this process saves the model, if several train the same network."""
    if not hasattr(model, "checkpoint"):
        return True
    from wordclass.network.machine import is_first_process

    return is_first_process()


def _remove_checkpoint(model: Any) -> None:  # noqa: ANN401
    if getattr(model, "checkpoint", None) is not None:
        from wordclass.network import checkpoint

        checkpoint.remove(Path(model.checkpoint))


@command(
    "Learn",
    uses=("force", "seed", "jobs", "encoding"),
    examples="""
wordclass tune news.csv -o model/
wordclass tune news.csv -o model/ --budget 1h --target macro_f1
wordclass tune news.csv -o model/ --grid C=0.1,1,10 --grid ngrams=1,1-2
""",
)
def tune(
    corpus: Corpus,
    settings: Settings,
    output: ModelOutput,
    classifier: ClassifierName = "linear",
    budget: Annotated[
        str, "TIME", "Time for all trials, such as 90s, 10m or 1h. Use none to try everything."
    ] = "10m",
    target: Annotated[
        str, "MEASURE", "Measure to maximize: macro_f1, micro_f1, accuracy, or both F1."
    ] = "both",
    grid: Annotated[
        Names,
        "NAME=V1,V2",
        "Values to try, instead of the classifier's own grid. Repeat for several options.",
    ] = None,
    set_: Options = None,
    vectors: Vectors = None,
    also: OtherTasks = None,
    validation: Annotated[float, "SHARE", "Share of the documents for validation."] = 0.2,
    multilabel: Multilabel = None,
) -> None:
    """Find the best settings of a classifier and train it.

    Each trial trains with other settings and is evaluated on validation documents. The best
    settings are trained on all documents. Finished trials are saved in MODEL.trials.jsonl. If the
    command is interrupted, the same command resumes.
    """
    settings.check_output(output, is_folder=True)
    start = time.perf_counter()
    n_seconds = arguments.parse_seconds(budget)

    from wordclass.classifiers import tuning
    from wordclass.storage import models
    from wordclass.vectors.word_vectors import WordVectors

    models.check_replaceable(output)
    journal = arguments.path_beside(output, "trials.jsonl")
    documents = corpus.read("train", settings.encoding, multilabel)
    finished: list[Trial] = []

    def report_trial(trial: "Trial") -> None:
        finished.append(trial)
        settings.say(f"trial {len(finished)}: {_format_trial(trial)}")

    try:
        tuned = tuning.tune(
            documents.texts,
            documents.labels,
            classifier,
            grid=arguments.parse_grid(grid or []),
            options=arguments.parse_options(set_ or []) | _read_other_tasks(classifier, also),
            vectors=None if vectors is None else WordVectors.load(vectors),
            budget=n_seconds,
            target=target,
            validation=validation,
            journal=journal,
            tell=report_trial,
            seed=settings.seed,
            n_jobs=settings.jobs,
        )
    except KeyboardInterrupt:
        if finished:
            settings.say(
                "",
                f"{journal} contains {len(finished)} finished trials. To resume:",
                f"  {current_command()}",
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
    settings.show(result, _summarize(tuned, output, journal))


def _format_trial(trial: "Trial") -> str:
    scores = f"macro F1 {trial.macro_f1:.4f}  micro F1 {trial.micro_f1:.4f}"
    outcome = scores if trial.is_done else f"failed: {trial.message}"
    origin = ", from the journal" if trial.is_resumed else ""
    return f"{outcome}  ({trial.seconds:.1f} s{origin})  {_format_options(trial.resolved)}"


def _format_options(options: dict[str, Any]) -> str:
    """Write options as they would be given to `--set`."""
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in options.items()
    )


def _summarize(tuned: "Tuned", output: Path, journal: Path) -> str:
    from wordclass.batch.evaluation_report import summarize_scores
    from wordclass.corpus.documents import describe_task
    from wordclass.tables import align_columns

    is_multilabel = tuned.model.codeframe_.is_multilabel
    scores = summarize_scores(tuned.ranked[0].to_dict(), is_multilabel=is_multilabel)
    rows = {
        "task": describe_task(is_multilabel, len(tuned.model.classes_)),
        "chosen": _format_options(tuned.best),
        "validation": f"{scores} on {tuned.n_validation:,} documents",
        "trials": f"{len(tuned.trials)}, saved in {journal}",
        "ended": tuned.ended,
        "model": f"{output}, trained on all {tuned.n_train + tuned.n_validation:,} documents",
    }
    return "\n".join(align_columns(rows.items()))
