"""Between the options of `train` and a classifier: which it has, what is kept aside, or kept."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from wordclass import storage
from wordclass.cli.settings import Settings
from wordclass.corpus import LabelledCorpus
from wordclass.errors import InputError
from wordclass.folds import Holdout

Result = TypeVar("Result")


def make_classifier(
    name: str, options: dict[str, Any], vectors: Path | None, settings: Settings, checkpoint: Path
) -> Any:  # noqa: ANN401 - any classifier of texts
    """Make a classifier; seed, jobs and checkpoint are given to one that has use for them."""
    from wordclass.classifiers import checked_options, classifier

    wanted = {**options} if vectors is None else {**options, "vectors": None}
    shared = {"seed": settings.seed, "n_jobs": settings.jobs, "checkpoint": checkpoint}
    given = checked_options(name, wanted, shared)
    if vectors is not None:
        from wordclass.word_vectors import WordVectors

        given["vectors"] = WordVectors.load(vectors)
    return classifier(name, **given)


def train_on(
    classifier: Any,  # noqa: ANN401
    corpus: LabelledCorpus,
    aside: Holdout | None,
) -> dict[str, Any]:
    """Fit a classifier; return what is known of its quality from the documents kept aside."""
    if aside is None:
        classifier.fit(corpus.texts, corpus.labels)
        return {}
    from wordclass.report.evaluation import evaluate_model

    is_aside = aside.contains(corpus.texts)
    if not is_aside.any() or is_aside.all():
        raise InputError(
            f"--holdout {aside.share:g} of {len(corpus)} documents leaves none on one side"
        )
    rest = corpus.part(~is_aside)
    classifier.fit(rest.texts, rest.labels)
    found = evaluate_model(classifier, corpus.part(is_aside)).to_dict()
    return {"holdout": {"share": aside.share, "seed": aside.seed, **found}}


class KeptTraining:
    """A training whose state is kept in a file: it goes on from there, and says how to.

    Parameters
    ----------
    classifier
        To be trained. One without the option `checkpoint` is trained as ever.
    settings
        `--force` begins anew where the file is that of another training.
    """

    def __init__(self, classifier: Any, settings: Settings) -> None:  # noqa: ANN401
        checkpoint = getattr(classifier, "checkpoint", None)
        self._path = None if checkpoint is None else Path(checkpoint)
        self._is_network = hasattr(classifier, "checkpoint")
        self._settings = settings

    @property
    def is_ours_to_save(self) -> bool:
        """Whether this process writes the model: of several that train together, one does."""
        if not self._is_network:
            return True
        from wordclass.network.processes import is_first_process

        return is_first_process()

    def run(self, fit: Callable[[], Result]) -> Result:
        """Train."""
        if self._path is None:
            return fit()
        if storage.is_there(self._path):
            self._say(f"{self._path}: the state of a training that was stopped; going on from it")
        try:
            return self._fitted(self._path, fit)
        except KeyboardInterrupt:
            if storage.is_there(self._path):
                command = shlex.join(["wordclass", *sys.argv[1:]])
                self._say(
                    f"\nThe training up to its last epoch, or minute, is kept in {self._path}. To "
                    f"go on from there:\n  {command}"
                )
            raise

    def forget(self) -> None:
        """Delete the file: the model is saved."""
        if self._path is not None:
            from wordclass.network import checkpoint

            checkpoint.remove(self._path)

    def _fitted(self, path: Path, fit: Callable[[], Result]) -> Result:
        from wordclass.network import checkpoint

        try:
            return fit()
        except checkpoint.CheckpointError as error:
            if not self._settings.force:
                raise InputError(f"{error}; --force begins anew") from error
            self._say(f"{path}: of another training, or damaged; beginning anew")
        if self.is_ours_to_save:
            checkpoint.remove(path)
        return fit()

    def _say(self, message: str) -> None:
        if self.is_ours_to_save:
            self._settings.say(message)


def kept_aside(model: Path) -> Holdout:
    """Return what training kept aside, as the model remembers it."""
    from wordclass import persistence

    stored = persistence.read_manifest(model)["scores"].get("holdout")
    if stored is None:
        raise InputError(f"{model} was trained without --holdout: nothing was kept aside")
    return Holdout(stored["share"], stored["seed"])
