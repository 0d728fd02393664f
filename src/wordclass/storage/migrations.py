"""Migrate the options and names that older versions stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from wordclass.options import check_int

# Options that no longer exist, with the last version that had them. They are dropped, because
# their effect is part of the stored weights and vectors.
REMOVED_OPTIONS: Mapping[str, str] = {
    "structural_problems": "0.1",
    "structural_weight": "0.1",
    "over_classes": "0.1",
    "cross_fit_weights": "0.1",
}
# Values that no longer exist, with their replacements. The factors of a supervised weighting are
# stored with the terms, and tf-idf uses them in place of idf.
RENAMED_VALUES: Mapping[str, Mapping[str, str]] = {
    "weighting": dict.fromkeys(("tf_ig", "tf_chi", "tf_rf", "tf_conf_weight"), "tfidf"),
}


def migrate_options(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored options with the names and values of this version.

    Parameters
    ----------
    stored : mapping
        The result of `storage.metadata.to_json_options`, in this version or an older one.
    """
    options = {name: value for name, value in stored.items() if name not in REMOVED_OPTIONS}
    for name, renamed in RENAMED_VALUES.items():
        value = options.get(name)
        if isinstance(value, str):
            options[name] = renamed.get(value, value)
    if "scoring" in options:
        options = _migrate_svm(options)
    for kind in ("options", "dict"):  # embeddings are stored as an estimator, or by their options
        wce = options.get("wce")
        if isinstance(wce, Mapping) and isinstance(wce.get(kind), Mapping):
            options["wce"] = {**wce, kind: migrate_options(wce[kind])}
    return options


def _migrate_svm(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an `svm` of version 0.1.0, which called `target` `scoring`."""
    options = {**stored}
    is_f1 = options.pop("scoring") == "f1"
    options["target"] = "macro_f1" if is_f1 else "accuracy"
    if options["C"] == "search":
        options["C"] = "auto"
    if options["wce"] is None:
        options["wce"] = True
    return options


def migrate_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a search without options that no longer exist."""
    return {name: value for name, value in stored.items() if name not in REMOVED_OPTIONS}


def extra_columns(metadata: Mapping[str, Any], terms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of stored embeddings that are not classes.

    Version 0.1 stored structural columns as the indexes of their terms.
    """
    if "structural" not in metadata:
        names = metadata["extra_columns"]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the names of its extra columns are not str")
        return tuple(names)
    for index in metadata["structural"]:
        check_int("structural", index, 0, len(terms) - 1)
    return tuple(f"has {terms[index]}" for index in metadata["structural"])
