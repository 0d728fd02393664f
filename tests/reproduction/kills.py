"""A runner that is killed at random moments, and what is left of its results in the end."""

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


def kill_until_done(plan, folder, n_kills, longest):
    """Start a runner, and kill it with all its processes after so many seconds at most.

    Again and again; then let one end.
    """
    moments = random.Random(0)
    for _ in range(n_kills):
        process = subprocess.Popen(
            command(plan, folder, "-j", "2", "--quiet"), start_new_session=True
        )
        time.sleep(moments.uniform(0.5, longest))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command(plan, folder, "-j", "2"), check=True, capture_output=True)


def what_came_out(folder):
    """The results, times aside, by their keys."""
    results, found = Results(folder), {}
    for result in results.runs():
        history = [
            {name: each for name, each in epoch.items() if "seconds" not in name}
            for epoch in result.history or []
        ]
        kept = {}
        if (folder / "predictions" / f"{result.key}.npz").exists():
            kept = {name: each.tolist() for name, each in results.arrays(result.key).items()}
        extra = {} if result.learner == "embedding_times" else result.extra
        found[result.key] = (
            result.identity, result.scores, result.classes, history, result.best_epoch,
            result.settings, extra, result.data, result.vectors, kept,
        )  # fmt: skip
    assert results.skipped == []
    return found


def leftovers(folder):
    """Files of a finished plan that are no results."""
    kept = {"predictions", "runs.jsonl"}
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if path.relative_to(folder).parts[0] not in kept] + [
        path for path in folder.rglob(".*")
    ]
