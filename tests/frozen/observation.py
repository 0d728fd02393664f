"""What is frozen of a fitted estimator: named arrays, and anything else as JSON text.

Only the public interface is used, and only what a fit determines: no times, no paths.
"""

import json

import numpy as np
from frozen.corpora import EXPLAINED_TEXTS, TEXTS

SETTINGS = (
    "ngrams", "characters", "shrinkage", "block_weight", "vector_weight", "other_weight",
    "encoder_weight", "C", "loss",
)  # fmt: skip
# what a search or a training leaves behind: a saved model need not have it
OF_TRAINING = {"settings", "trials", "history", "best_epoch"}


def as_json(value):
    """Return a value as JSON text; tuples become lists, surrogates escapes."""
    return np.array(json.dumps(value, sort_keys=True, default=_plain))


def observe(subject):
    """Return the named arrays of a classifier, of embeddings, or of a dict of named results."""
    if isinstance(subject, dict):
        return _observe_results(subject)
    return _observe_one(subject)


def _observe_results(results):
    """Return the arrays of every result, named "result array" if there are several."""
    arrays = {}
    for key, result in results.items():
        for name, array in _observe_one(result).items():
            arrays[f"{key} {name}".strip()] = array
    return arrays


def _observe_one(subject):
    if hasattr(subject, "decision_function"):
        return observe_classifier(subject)
    if hasattr(subject, "top_terms"):
        return observe_embeddings(subject)
    if hasattr(subject, "indptr"):
        return observe_sparse(subject)
    if isinstance(subject, np.ndarray):
        return {"": subject}
    return observe_value(subject)


def observe_value(value):
    """Return any JSON value as text with its floats left out, and these as an array."""
    numbers = []
    arrays = {"": as_json(_without_floats(value, numbers))}
    return arrays | ({"numbers": np.array(numbers)} if numbers else {})


def _without_floats(value, numbers):
    """Return a copy of a JSON value with "#" in the place of floats, which are appended."""
    if isinstance(value, float):
        numbers.append(float(value))
        return "#"
    if isinstance(value, dict):
        return {key: _without_floats(value[key], numbers) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_without_floats(item, numbers) for item in value]
    return value


def observe_classifier(model):
    """Return the classes, scores, probabilities, labels, explanations and settings of a model."""
    labels = model.predict(TEXTS)
    arrays = {
        "classes": as_json(list(model.classes_)),
        "predictions": as_json(labels if isinstance(labels, list) else labels.tolist()),
        "scores": model.decision_function(TEXTS),
    }
    if getattr(model, "probabilities", True):
        arrays["probabilities"] = model.predict_proba(TEXTS)
    for attribute in ("thresholds_", "C_", "best_epoch_"):
        value = getattr(model, attribute, None)
        if value is not None:
            arrays[attribute.strip("_")] = np.asarray(value)
    if hasattr(model, "settings_"):
        settings = {name: model.settings_[name] for name in SETTINGS if name in model.settings_}
        arrays["settings"] = as_json(settings)
    for attribute, names in {
        "trials_": ("macro_f1", "micro_f1"),
        "history_": ("loss", "validation_loss", "macro_f1", "micro_f1"),
    }.items():
        rows = [[row[name] for name in names] for row in getattr(model, attribute, None) or []]
        if rows:
            arrays[attribute.strip("_")] = np.array(rows, np.float64)
    return arrays | _observe_explanations(model)


def _observe_explanations(model):
    """Return all terms of some explained texts, sorted, and what each adds to which label."""
    terms = []
    values = []
    for text in EXPLAINED_TEXTS:
        for label, contributions in model.explain(text, n=None).items():
            for term, value in sorted(contributions):
                terms.append([label, term])
                values.append(value)
    return {"explained_terms": as_json(terms), "explained_values": np.array(values)}


def observe_embeddings(wce):
    """Return the terms, classes and vectors of embeddings, and what they make of texts."""
    name = wce.classes_[0]
    top_terms = wce.top_terms(name, 5)
    profile = sorted(wce.profile("moon"))
    return {
        "terms": as_json(wce.terms_),
        "classes": as_json(wce.classes_),
        "vectors": wce.vectors_,
        "transformed": wce.transform(TEXTS),
        "top_terms": as_json([term for term, _ in top_terms]),
        "top_scores": np.array([score for _, score in top_terms]),
        "profile_classes": as_json([label for label, _ in profile]),
        "profile_scores": np.array([score for _, score in profile]),
    }


def observe_loaded(model):
    """Return the arrays of a saved model, and of embeddings after they learn from more texts.

    The embeddings are changed by that.
    """
    arrays = observe(model)
    arrays = {name: array for name, array in arrays.items() if name not in OF_TRAINING}
    if hasattr(model, "partial_fit"):
        added = model.partial_fit(TEXTS, [["music"], []] * (len(TEXTS) // 2))
        arrays |= {"vectors_added": added.vectors_, "terms_added": as_json(added.terms_)}
    return arrays


def observe_sparse(X):
    """Return the arrays of a sparse matrix with rows."""
    return {
        "data": X.data,
        "indices": X.indices.astype(np.int64),
        "indptr": X.indptr.astype(np.int64),
        "shape": np.array(X.shape),
    }


def _plain(value):
    """Return a number of numpy as one of Python."""
    return value.item()
