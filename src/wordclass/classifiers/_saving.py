"""How a classifier is saved as a folder, and restored from one."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats
from wordclass.corpus.labels import Codeframe, check_class_count
from wordclass.corpus.splits import TrainingData
from wordclass.decision.thresholds import Calibration
from wordclass.storage import models
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import ModelState

_FINGERPRINTS, _SHARES = "training.fingerprints", "training.shares"
_LAYOUT = {
    "calibration": "float64? classes 2",
    "share_calibration": "float64? classes 2",
    _FINGERPRINTS: "uint64 texts",
    _SHARES: "float64? classes >=0 <=1",
}
_KEEPS_HIGHEST = "keeps_highest"  # whether the predicted class is the most probable one
_THRESHOLDS = "infinite:float64 classes"  # infinite where a class is never given


class SavedClassifier(BaseEstimator):
    """The fitted attributes of a classifier, and how they are saved and restored."""

    name: ClassVar[str]  # in the catalogue
    version: ClassVar[int] = 1  # of the stored state: higher if older code cannot read it
    packages: ClassVar[tuple[str, ...]] = ()  # required beside those of every classifier

    codeframe_: Codeframe
    training_: TrainingData
    thresholds_: Floats | None
    calibration_: Calibration | None
    share_calibration_: Calibration | None = None
    scores_: Mapping[str, object]
    scorer_: Any  # a Scorer; the docstring of each classifier names its types

    def save(
        self, path: str | PathLike[str], *, scores: Mapping[str, object] | None = None
    ) -> None:
        """Write the model as a folder, which appears when it is complete.

        Parameters
        ----------
        path : str or path
            The folder. A model that is there already is replaced; anything else is not.
        scores : dict, optional
            What is known of the model's quality, to be kept with it; by default `scores_`.
        """
        check_is_fitted(self)
        codeframe, training = self.codeframe_, self.training_
        calibration, of_shares = self.calibration_, self.share_calibration_
        parts = self._to_parts() | ModelState.of(
            {_KEEPS_HIGHEST: calibration is not None and calibration.keeps_highest},
            thresholds=self.thresholds_,
            calibration=None if calibration is None else calibration.parameters,
            share_calibration=None if of_shares is None else of_shares.parameters,
            **{_FINGERPRINTS: training.fingerprints, _SHARES: training.shares},
        )
        about = {
            "classifier": self.name,
            "classifier_version": self.version,
            "settings": to_json_options(self.get_params(deep=False)),
            "labels": codeframe.kind,
            "classes": codeframe.classes,
            "matrix_columns": codeframe.matrix_columns,
            "training": {"n_docs": training.n_docs, "fingerprint": training.fingerprint},
            "scores": dict(self.scores_ if scores is None else scores),
            "fields": getattr(self, "fields_", {}),
        }
        models.write(Path(path), about, parts, self.packages)

    @classmethod
    def restore(cls, options: dict[str, Any], codeframe: Codeframe, parts: ModelState) -> Self:
        """Return a saved classifier with its options and classes."""
        check_class_count(codeframe)
        classifier = cls(**options)
        classifier._set_codeframe(codeframe)
        parts.sizes["classes"] = len(codeframe.classes)
        classifier._from_parts(parts)
        thresholds = {"thresholds": _THRESHOLDS} if codeframe.is_multilabel else {}
        found = parts.take(**_LAYOUT, **thresholds)
        classifier.thresholds_ = found.get("thresholds")
        if classifier.thresholds_ is not None and np.isneginf(classifier.thresholds_).any():
            raise ValueError("a threshold is minus infinity: every text would be of that class")
        is_single_label = not codeframe.is_multilabel
        classifier.calibration_, classifier.share_calibration_ = (
            None if found[name] is None else Calibration(found[name], is_single_label)
            for name in ("calibration", "share_calibration")
        )
        if classifier.calibration_ is not None and parts.metadata.get(_KEEPS_HIGHEST) is True:
            classifier.calibration_ = replace(classifier.calibration_, keeps_highest=True)
        classifier.training_ = TrainingData(found[_FINGERPRINTS], found[_SHARES])
        return classifier

    def _to_parts(self) -> ModelState:
        """Return the state that a saved model stores."""
        state: ModelState = self.scorer_.to_state()
        return state

    @abstractmethod
    def _from_parts(self, parts: ModelState) -> None:
        """Set the fitted attributes from what `_to_parts` returned; `codeframe_` is set already."""

    @abstractmethod
    def _set_codeframe(self, codeframe: Codeframe) -> None:
        """Set `codeframe_` and `classes_`."""
