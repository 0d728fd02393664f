"""Options of plans that classifiers do not have, and the classifiers made with them."""

from collections.abc import Mapping
from typing import Any

from wordclass.classifiers.factory import classifier
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.reproduction.rivals.structural_columns import StructuralEmbeddings
from wordclass.reproduction.rivals.supervised_weighting import CORRELATIONS, SupervisedWeighting
from wordclass.text.vectorizer import shared_options

RIVAL_OPTIONS = ("structural_problems", "over_classes", "cross_fit_weights")
RECORDED = "made by wordclass 0.1, and cannot be repeated by this version"


def is_record(learner: str, variant: str, options: Mapping[str, Any]) -> bool:
    """Return True if only version 0.1 can make a run, so that its result is a record.

    Structural columns can be repeated as columns of word-class vectors, but not beside tf-idf, and
    not with a weight that the search of `linear` chooses. Supervised weights can be repeated unless
    they are cross-fitted, which was the default.
    """
    if options.get("structural_problems"):
        return learner == "linear" or (learner == "svm" and "wce" not in variant)
    is_supervised = str(options.get("weighting")) in CORRELATIONS
    return is_supervised and bool(options.get("cross_fit_weights", True))


def make_classifier(name: str, **options: Any) -> Any:  # noqa: ANN401 - any classifier
    """Return the classifier of a run, with rival methods for the options of `RIVAL_OPTIONS`.

    Raises
    ------
    InputError
        The run is a record: see `is_record`.
    """
    if is_record(name, str(options.get("features")), options):
        raise InputError(f"such a run was {RECORDED}")
    classifier_options = {
        option: value for option, value in options.items() if option not in RIVAL_OPTIONS
    }
    weighting = classifier_options.get("weighting")
    if str(weighting) in CORRELATIONS:
        over_classes = options.get("over_classes", "max")
        classifier_options["weighting"] = SupervisedWeighting(str(weighting), over_classes)
    model = classifier(name, **classifier_options)
    if n_columns := options.get("structural_problems"):
        wce = {
            **shared_options(model, WordClassEmbeddings),
            **_embedding_options(classifier_options),
        }
        model.set_params(wce=StructuralEmbeddings(**wce, structural_problems=n_columns))
    return model


def _embedding_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of the word-class vectors of a run."""
    wce = options.get("wce")
    return wce if isinstance(wce, Mapping) else {}
