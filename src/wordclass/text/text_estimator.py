"""Base class of all estimators that read texts."""

from typing import Any


class TextEstimator:
    """Base class that tells scikit-learn that an estimator reads texts.

    It must precede the mixins of scikit-learn in the list of base classes.
    """

    def _needs_labels(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - a type of scikit-learn
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        tags.target_tags.required = self._needs_labels()
        return tags
