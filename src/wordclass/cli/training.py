"""Between the options of `train` and a classifier: which it has, what is kept aside."""

from pathlib import Path
from typing import Any

from wordclass.cli.settings import Settings
from wordclass.corpus import LabelledCorpus
from wordclass.errors import InputError
from wordclass.holdout import Holdout


def make_classifier(
    name: str, options: dict[str, Any], vectors: Path | None, settings: Settings
) -> Any:  # noqa: ANN401 - any classifier of texts
    """Make a classifier; `--seed` and `--jobs` are given to one that has use for them."""
    from wordclass.classifiers import checked_options, classifier

    wanted = {**options} if vectors is None else {**options, "vectors": None}
    given = checked_options(name, wanted, {"seed": settings.seed, "n_jobs": settings.jobs})
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


def kept_aside(model: Path) -> Holdout:
    """Return what training kept aside, as the model remembers it."""
    from wordclass import persistence

    stored = persistence.read_manifest(model)["scores"].get("holdout")
    if stored is None:
        raise InputError(f"{model} was trained without --holdout: nothing was kept aside")
    return Holdout(stored["share"], stored["seed"])
