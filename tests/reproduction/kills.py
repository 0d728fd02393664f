"""Kill a runner at random moments, and read the results that it has in the end."""

import os
import random
import signal
import subprocess
import sys
import time

from wordclass.reproduction.runs import Results


def command(plan, folder, *more):
    arguments = ["-m", "wordclass", "experiment", "run", str(plan), "-o", str(folder), *more]
    return [sys.executable, *arguments]


def kill_repeatedly(plan, folder, n_kills, max_seconds):
    """Kill a runner within `max_seconds`, `n_kills` times, and let the next one end."""
    moments = random.Random(0)
    for _ in range(n_kills):
        process = subprocess.Popen(
            command(plan, folder, "-j", "2", "--quiet"), start_new_session=True
        )
        time.sleep(moments.uniform(0.5, max_seconds))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command(plan, folder, "-j", "2"), check=True, capture_output=True)


def read_outcomes(folder):
    """Return the results without times, by their keys."""
    results = Results(folder)
    outcomes = {}
    for result in results.runs():
        history = [
            {name: value for name, value in epoch.items() if "seconds" not in name}
            for epoch in result.history or []
        ]
        arrays = {}
        if (folder / "predictions" / f"{result.key}.npz").exists():
            stored = results.arrays(result.key)
            arrays = {name: array.tolist() for name, array in stored.items()}
        extra = {} if result.learner == "embedding_times" else result.extra
        outcomes[result.key] = (
            result.identity, result.scores, result.classes, history, result.best_epoch,
            result.settings, extra, result.data, result.vectors, arrays,
        )  # fmt: skip
    assert results.skipped == []
    return outcomes


def leftovers(folder):
    """Return files of a finished plan that are not results."""
    result_names = {"predictions", "runs.jsonl"}
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if path.relative_to(folder).parts[0] not in result_names] + [
        path for path in folder.rglob(".*")
    ]
