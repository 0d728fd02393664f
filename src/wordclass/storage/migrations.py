"""How files of older versions are read: what they name that this version does not have."""

from collections.abc import Mapping, Sequence
from typing import Any

from wordclass.options import check_int

# options that no longer exist, with the last version that had them; what was learned with them is
# in the weights and vectors of a file, so they are dropped
REMOVED_OPTIONS: Mapping[str, str] = {
    "structural_problems": "0.1",
    "structural_weight": "0.1",
    "over_classes": "0.1",
    "cross_fit_weights": "0.1",
}
# values that no longer exist, with those that read a file in the same way: the factors of a
# weighting that saw labels are stored with the terms, and tf-idf takes them in the place of idf
RENAMED_VALUES: Mapping[str, Mapping[str, str]] = {
    "weighting": dict.fromkeys(("tf_ig", "tf_chi", "tf_rf", "tf_conf_weight"), "tfidf"),
}


def migrate_options(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored options with the names and values of this version.

    Parameters
    ----------
    stored : mapping
        What `storage.facts.storable` returned, in this version or an older one.
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
    """Return the options of an `svm` of version 0.1.0, where `target` was `scoring`."""
    options = {**stored}
    is_f1 = options.pop("scoring") == "f1"
    options["target"] = "macro_f1" if is_f1 else "accuracy"
    if options["C"] == "search":
        options["C"] = "auto"
    if options["wce"] is None:
        options["wce"] = True
    return options


def migrate_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a search chose or tried, without those that no longer exist."""
    return {name: value for name, value in stored.items() if name not in REMOVED_OPTIONS}


def extra_columns(facts: Mapping[str, Any], terms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of stored embeddings that are no classes.

    Until version 0.1 these were structural columns, stored as the indexes of their terms.
    """
    if "structural" not in facts:
        names = facts["extra_columns"]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the names of its extra columns are not str")
        return tuple(names)
    for index in facts["structural"]:
        check_int("structural", index, 0, len(terms) - 1)
    return tuple(f"has {terms[index]}" for index in facts["structural"])
