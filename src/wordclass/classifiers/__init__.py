"""Classifiers of texts with scikit-learn's manners: one file a kind.

Each file defines `make(**options)`, which returns a classifier with `fit(texts, labels)`,
`predict`, `decision_function` and `classes_`.
"""

from typing import Any

from wordclass import naming


def classifier(name: str, **options: Any) -> Any:  # noqa: ANN401 - whatever the entry makes
    """Make a classifier of texts by its name, with its own options.

    Examples
    --------
    >>> classifier("nearest", shrinkage=20.0)
    NearestClassifier(shrinkage=20.0)
    """
    return naming.entry("classifiers", name).make(**options)
