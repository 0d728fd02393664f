"""Very many classes: `linear` flat and as a tree against PECOS, Omikuji, LIBLINEAR and fastText.

CPU seconds of training and prediction from raw text, one thread each, with P@1 and P@5 beside
them, all in one run. The documents are made up (`synthetic.class_documents`), or EUR-Lex of
WORDCLASS_DATA. The peers live in an environment of their own, which is made on the first run; one
that cannot be installed, or fails, is told as such.

    python benchmarks/bench_classes.py                                    # 20,000 x 2,000
    python benchmarks/bench_classes.py --corpus eurlex
    python benchmarks/bench_classes.py --docs 200000 --classes 20000 --jobs 2 --only tree
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
import venv
from pathlib import Path

import measuring
import numpy as np
import synthetic

import wordclass as wc

OURS = {
    "tree": {"classes": "tree"},
    "flat": {
        **{"classes": "flat", "ngrams": (1, 1), "characters": None},
        **{"shrinkage": 5.0, "block_weight": 0.1, "C": 0.3},
    },
}
PACKAGES = {  # and what is imported of them
    "pecos": ("libpecos", "pecos"),
    "omikuji": ("omikuji", "omikuji"),
    "liblinear": ("scikit-learn", "sklearn"),
    "fasttext": ("fasttext-community", "fasttext"),
}
N_TESTED = 2_000
_EURLEX = measuring.DATA / "eurlex_triples_eurovoc_1504.jsonl.zst"
_ENVIRONMENT = measuring.ROOT / ".cache" / "class-peers"
_SCRIPT = Path(__file__).with_name("class_peers.py")

Corpus = tuple[list[str], list[list[str]]]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=("synthetic", "eurlex"), default="synthetic")
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--classes", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=1, help="threads of ours")
    parser.add_argument("--only", nargs="*", choices=(*OURS, *PACKAGES))
    given = parser.parse_args()
    train, test = corpora(given)
    chosen = given.only or (*OURS, *PACKAGES)
    measured: dict[str, dict[str, object]] = {}
    for name in chosen:
        measured[name] = (
            our(name, train, test, given.jobs) if name in OURS else peer(name, train, test)
        )
    first = measured[chosen[0]].get("fit_cpu_seconds")
    for each in measured.values():
        if isinstance(first, float) and "fit_cpu_seconds" in each:
            each[f"fit_vs_{chosen[0]}"] = each["fit_cpu_seconds"] / first  # type: ignore[operator]
    measuring.print_result(
        "classes",
        corpus=given.corpus,
        n_docs=len(train[0]),
        n_classes=len({label for own in train[1] for label in own}),
        n_tested=len(test[0]),
        **measured,
    )


def corpora(given: argparse.Namespace) -> tuple[Corpus, Corpus]:
    """Return documents to learn from, and others to test with."""
    if given.corpus == "synthetic":
        made = synthetic.class_documents
        return made(given.docs, given.classes), made(N_TESTED, given.classes, draw=1)
    parts = (wc.read_corpus(_EURLEX, split=split) for split in ("train", "test"))
    first, second = ((part.texts, [[*map(str, own)] for own in part.labels]) for part in parts)
    return first, second


def our(name: str, train: Corpus, test: Corpus, n_jobs: int) -> dict[str, object]:
    """Measure one of ours."""
    model = wc.classifier("linear", n_jobs=n_jobs, **OURS[name])
    start, wall = time.process_time(), time.perf_counter()
    model.fit(*train)
    middle, seconds = time.process_time(), time.perf_counter() - wall
    columns, _ = model.top_classes(test[0], 5)
    spent = time.process_time() - middle
    top = [[*map(str, own)] for own in model.classes_[columns].tolist()]
    times = {"fit_cpu_seconds": middle - start, "fit_seconds": seconds}
    return {**times, "predict_cpu_seconds": spent, **precision(top, test[1])}


def peer(name: str, train: Corpus, test: Corpus) -> dict[str, object]:
    """Measure a peer in a process of its own, or tell why it cannot be."""
    python, (package, module) = _ENVIRONMENT / "bin" / "python", PACKAGES[name]
    if not python.exists():
        venv.create(_ENVIRONMENT, with_pip=True)
    known = [python, "-c", f"import sklearn, {module}"]
    if subprocess.run(known, capture_output=True, check=False).returncode:
        install = [python, "-m", "pip", "install", "--quiet", "scikit-learn", package]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"not_installed": last_line(done.stderr)}
    asked = {"peer": name, "texts": train[0], "labels": train[1], "test_texts": test[0]}
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        question, answer = Path(folder, "question.json"), Path(folder, "answer.json")
        question.write_text(json.dumps(asked), encoding="utf-8")
        done = subprocess.run(
            [python, "-P", _SCRIPT, question, answer],
            cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return {"failed": last_line(done.stderr)}
        told = json.loads(answer.read_text(encoding="utf-8"))
    times = {"fit_cpu_seconds": told["fit"], "predict_cpu_seconds": told["predict"]}
    return {**times, **precision(told["top"], test[1])}


def last_line(message: str) -> str:
    """Return the last line of a message that says something."""
    return [*filter(str.strip, message.splitlines()), "it said nothing"][-2:][0]


def precision(top: list[list[str]], labels: list[list[str]]) -> dict[str, float]:
    """Return which share of the best class, and of the five best, is right."""
    pairs = [(own[:5], {*true}) for own, true in zip(top, labels, strict=True)]
    return {
        f"p_at_{k}": float(np.mean([len({*own[:k]} & true) / k for own, true in pairs]))
        for k in (1, 5)
    }


if __name__ == "__main__":
    main()
