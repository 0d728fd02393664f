"""Corpora in several files, and analyzers that make workers fail."""

import json
import os
import signal
from pathlib import Path

import numpy as np


def write_parts(folder, texts, labels, n_parts, order=None):
    """Write documents to files of JSON lines. `order` names the files in another order."""
    folder.mkdir(parents=True)
    bounds = np.linspace(0, len(texts), n_parts + 1).astype(int)
    names = range(n_parts) if order is None else order
    for name, start, end in zip(names, bounds[:-1], bounds[1:], strict=True):
        rows = zip(texts[start:end], labels[start:end], strict=True)
        lines = (json.dumps({"text": text, "labels": label}) + "\n" for text, label in rows)
        (folder / f"part-{name:03}.jsonl").write_text("".join(lines))
    return folder


def assert_equal_vectors(one, other):
    """Assert equal terms, and vectors that differ by at most 1e-6 or one step of float32."""
    assert one.terms_ == other.terms_
    assert one.classes_ == other.classes_
    assert one.learned_.codeframe == other.learned_.codeframe
    assert one.vectors_.dtype == other.vectors_.dtype == np.float32
    sizes = np.abs(other.vectors_)
    allowed = np.maximum(1e-6 * sizes, np.spacing(np.maximum(sizes, np.float32(1e-3))))
    assert (np.abs(one.vectors_ - other.vectors_) <= allowed).all()


class Failing:
    """Analyzer that splits texts at spaces and fails when it meets a word for the nth time.

    The occurrences are counted in a file that the workers of all attempts share.
    """

    def __init__(self, word, journal, times, *, kills):
        self.word = word
        self.journal = str(journal)
        self.times = times
        self.kills = kills

    def __call__(self, text):
        if self.word in text:
            with Path(self.journal).open("a") as file:
                file.write("x")
            if Path(self.journal).stat().st_size in self.times:
                if self.kills:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("a task that fails")
        return text.split()
