"""The fitted attributes of a classifier, and how they are saved and restored."""

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
from wordclass.options import WithOptions
from wordclass.storage import models
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import ModelState

_FINGERPRINTS = "training.fingerprints"
_SHARES = "training.shares"
_LAYOUT = {
    "calibration": "float64? classes 2",
    "share_calibration": "float64? classes 2",
    _FINGERPRINTS: "uint64 texts",
    _SHARES: "float64? classes >=0 <=1",
}
_THRESHOLDS_LAYOUT = "infinite:float64 classes"  # infinite if a class is never assigned
_UNLABELLED = "unlabelled"  # how unlabelled texts were learned from
_ORIGINAL = "original"  # the prefix of the state before that
_KEEPS_HIGHEST = "keeps_highest"  # whether the predicted class is the most probable one


class SavedClassifier(WithOptions, BaseEstimator):
    """Base class of classifiers that are saved as folders and restored from them."""

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
    original_: Any = None  # the classifier before it learned from unlabelled texts
    unlabelled_: dict[str, Any] | None = None

    def save(
        self, path: str | PathLike[str], *, scores: Mapping[str, object] | None = None
    ) -> None:
        """Write the model to a folder, which appears when it is complete.

        Parameters
        ----------
        path : str or path
            The folder. A model at this place is replaced; anything else is not.
        scores : dict, optional
            The known quality of the model, which is stored with it. By default `scores_`.

        Raises
        ------
        InputError
            The path exists and is not a model.
        StorageError
            The folder cannot be written.

        See Also
        --------
        wordclass.load : Read the model again.

        Examples
        --------
        >>> import tempfile
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     loaded = wc.load(f"{folder}/model")
        >>> loaded.predict(["apple"]).tolist()
        ['food']
        """
        check_is_fitted(self)
        codeframe = self.codeframe_
        training = self.training_
        state = self._to_whole_state()
        if self.original_ is not None:
            state |= self.original_._to_whole_state().add_prefix(_ORIGINAL)
        manifest = {
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
        models.write(Path(path), manifest, state, self.packages)

    def _to_whole_state(self) -> ModelState:
        """Return the state with thresholds, calibrations and hashes of the training texts."""
        training = self.training_
        calibration = self.calibration_
        share_calibration = self.share_calibration_
        metadata: dict[str, Any] = {
            _KEEPS_HIGHEST: calibration is not None and calibration.keeps_highest
        }
        if self.unlabelled_ is not None:
            metadata[_UNLABELLED] = self.unlabelled_
        return self._to_state() | ModelState.of(
            metadata,
            thresholds=self.thresholds_,
            calibration=None if calibration is None else calibration.parameters,
            share_calibration=None if share_calibration is None else share_calibration.parameters,
            **{_FINGERPRINTS: training.fingerprints, _SHARES: training.shares},
        )

    @classmethod
    def restore(cls, options: dict[str, Any], codeframe: Codeframe, state: ModelState) -> Self:
        """Return a saved classifier.

        Most users call `wordclass.load` instead, which reads a folder.

        Parameters
        ----------
        options : dict
            The options of the classifier.
        codeframe : Codeframe
            The classes.
        state : ModelState
            The stored state.

        Returns
        -------
        Self
            The fitted classifier.

        Raises
        ------
        InputError, ValueError
            An option or an array is not valid.

        See Also
        --------
        wordclass.load : Read a model from a folder.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> from wordclass.storage import models
        >>> model = wc.NearestClassifier(min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     manifest, state = models.read(Path(folder, "model"))
        >>> restored = wc.NearestClassifier.restore({"min_docs": 1}, model.codeframe_, state)
        >>> restored.predict(["apple"]).tolist()
        ['food']
        """
        check_class_count(codeframe)
        classifier = cls(**options)
        classifier.check_options()
        classifier._set_codeframe(codeframe)
        state.sizes["classes"] = len(codeframe.classes)
        classifier._restore_state(state)
        thresholds = {"thresholds": _THRESHOLDS_LAYOUT} if codeframe.is_multilabel else {}
        arrays = state.take(**_LAYOUT, **thresholds)
        classifier.thresholds_ = arrays.get("thresholds")
        if classifier.thresholds_ is not None and np.isneginf(classifier.thresholds_).any():
            raise ValueError("a threshold is minus infinity: every text would be of that class")
        is_single_label = not codeframe.is_multilabel
        classifier.calibration_, classifier.share_calibration_ = (
            None if arrays[name] is None else Calibration(arrays[name], is_single_label)
            for name in ("calibration", "share_calibration")
        )
        if classifier.calibration_ is not None and state.metadata.get(_KEEPS_HIGHEST) is True:
            classifier.calibration_ = replace(classifier.calibration_, keeps_highest=True)
        classifier.training_ = TrainingData(arrays[_FINGERPRINTS], arrays[_SHARES])
        classifier.unlabelled_ = state.metadata.get(_UNLABELLED)
        original = state.strip_prefix(_ORIGINAL)
        if original.metadata:
            classifier.original_ = cls.restore(options, codeframe, original)
        return classifier

    def _to_state(self) -> ModelState:
        """Return the state that a saved model stores."""
        state: ModelState = self.scorer_.to_state()
        return state

    @abstractmethod
    def _restore_state(self, state: ModelState) -> None:
        """Set the fitted attributes from a stored state. `codeframe_` is set before."""

    @abstractmethod
    def _set_codeframe(self, codeframe: Codeframe) -> None:
        """Set `codeframe_` and `classes_`."""
