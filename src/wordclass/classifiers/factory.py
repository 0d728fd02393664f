"""Make a classifier from its name and options."""

from collections.abc import Mapping
from typing import Any

from wordclass import catalogue
from wordclass.errors import InputError


def classifier(name: str, **options: Any) -> Any:  # noqa: ANN401 - whatever the entry makes
    """Make a classifier of texts by its name, with its own options.

    Examples
    --------
    >>> classifier("nearest", shrinkage=20.0)
    NearestClassifier(shrinkage=20.0)
    """
    return catalogue.entry("classifiers", name).make(**options)


def check_options(
    name: str, options: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options for a classifier.

    Parameters
    ----------
    name
        Its name.
    options
        Refused where the classifier does not have one of them.
    shared
        Other options, such as a seed: those are taken that the classifier has and `options` lacks.
    """
    known = classifier(name).get_params(deep=False)
    if unknown := sorted(set(options) - set(known)):
        raise InputError(
            f"the classifier {name!r} has no option {unknown[0]!r}; it has: {', '.join(known)}"
        )
    return {each: value for each, value in shared.items() if each in known} | {**options}
