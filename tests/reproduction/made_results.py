"""Made-up results, for tests of tables, figures and pages."""

import hashlib

import numpy as np
from scipy import sparse

from wordclass.reproduction.runs import RunResult

TRUTH = np.arange(60) % 3


def matrix(labels, n_classes=3):
    shape = (len(labels), n_classes)
    return sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape)


def decisions(n_wrong):
    """Return the predictions of a system that is wrong for the first `n_wrong` documents."""
    labels = TRUTH.copy()
    labels[:n_wrong] = (labels[:n_wrong] + 1) % 3
    return matrix(labels)


def add(results, run, macro=0.5, micro=None, n_wrong=0, **result_fields):
    """Add a result of a run with a macro F1 and other fields."""
    key = hashlib.sha256(run.identity.encode()).hexdigest()[:32]
    scores = {"macro_f1": macro, "micro_f1": macro if micro is None else micro, "accuracy": macro}
    usual = {
        "plan": "made up", "classes": {}, "memory": 1, "history": None, "best_epoch": None,
        "settings": {}, "versions": {"python": "3.11"}, "machine": {"cpu": "<fast>"}, "extra": {},
        "finished": "2026-01-01T00:00:00+00:00", "scores": scores,
        "times": {"fit_cpu": 60.0, "predict_cpu": 2.0, "select": 500.0, "total": 600.0},
        "data": {"fingerprint": run.dataset, "multilabel": False},
        "vectors": None if run.vectors is None else {"name": run.vectors},
    }  # fmt: skip
    run_fields = {
        name: getattr(run, name) for name in ("dataset", "learner", "variant", "seed", "protocol")
    }
    result = RunResult(
        key=key, options=dict(run.options), **run_fields, **{**usual, **result_fields}
    )
    results.save_decisions(key, decisions(n_wrong), matrix(TRUTH), run.dataset)
    results.add(result)
    return result
