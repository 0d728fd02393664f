"""From the pretrained vector of a term to its word-class vector: one file per kind.

Each file defines `make(**options)`, which returns an object with `fit(U, S)`, which learns from the
vectors (v, q) and (v, r) of the same terms and returns the object, and `predict(U)`, from (k, q) to
float32 (k, r). A prediction depends on its own row alone. All take `seed`; one that draws nothing
ignores it.
"""

from typing import Any

from wordclass import naming


def regressor(name: str, **options: Any) -> Any:  # noqa: ANN401 - whatever the entry makes
    """Make a regressor by its name, with its own options.

    Examples
    --------
    >>> line = regressor("ridge", penalty=1e-9).fit([[0], [1], [2]], [[1], [3], [5]])
    >>> line.predict([[10]]).round(3)
    array([[21.]], dtype=float32)
    """
    return naming.entry("regressors", name).make(**options)
