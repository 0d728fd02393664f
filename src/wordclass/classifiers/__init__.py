"""Classifiers of texts that follow the scikit-learn API: one file per kind.

Each file defines `make(**options)`, which returns a classifier with `fit(texts, labels)`,
`predict`, `decision_function` and `classes_`. It may define `GRID`, the option values that `tune`
chooses from, the most important options first. A classifier that chooses options itself reports
them in `settings_`.
"""

SHARED_MODULES = ("base", "factory", "network", "tuning")  # these are not entries
