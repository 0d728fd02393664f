"""The main job from end to end on a corpus that is always there, with a report to look at."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import naming, progress, storage
from wordclass.arrays import Flags, Floats, Floats32
from wordclass.classifiers import classifier
from wordclass.corpus import Dataset, LabelledCorpus, load_dataset
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingExtraError
from wordclass.experiment.term_map import TermMap, find_vectors, make_map
from wordclass.measures import evaluate
from wordclass.report.demo_report import Facts, step_of, to_page
from wordclass.word_vectors import WordVectors

CORPUS = "docstrings"
PAGE, RESULT, PICTURE, EMBEDDINGS = "index.html", "result.json", "terms.png", "demo.wce"
FILES = {
    PAGE: "this page",
    PICTURE: "the map as a picture",
    EMBEDDINGS: "the embeddings, for the commands words, profile and info",
    RESULT: "all the numbers",
}
_ABOUT = (
    "On this page they are learned from docstrings of Python's standard library, numpy, scipy and "
    "scikit-learn; a class is the package that a docstring comes from. The names of the packages "
    "were taken out of the texts first."
)
_SHRINKAGE = 20.0
# the default one, which explains itself; the baseline to beat; the one without training
_CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "svm on tf-idf": ("svm", {"features": "tfidf"}),
    "nearest, shrinkage 20": ("nearest", {"shrinkage": 20.0}),
}
_MIN_LETTERS = 4  # of a word whose profile is shown
_N_CLASSES = 4  # of a profile
_SHORTEST, _LONGEST = 120, 420  # characters of a text that is read to its end
_N_TERMS = 6  # of an explanation
_N_PER_CLASS = 40  # terms on the map


def run(output: Path, vectors: Path | None = None, seed: int = 0, n_jobs: int = 1) -> Facts:
    """Learn from the built-in corpus, test, draw, and write a folder about it.

    Parameters
    ----------
    output : Path
        The folder; an earlier report there is replaced, anything else is an error.
    vectors : Path, optional
        Pretrained vectors to compare with. By default those in `WORDCLASS_DATA`, or else ones
        learned from the corpus without its labels.
    seed : int, default=0
        Of all that is random.
    n_jobs : int, default=1
        How many threads count words.

    Returns
    -------
    The facts that are shown and kept in result.json, and as `report` the path of the page.
    """
    naming.extra("openTSNE", "to lay out the map of the demo", "opentsne")
    storage.check_folder(output, partial(check_report, output))
    if vectors is not None:
        storage.require(vectors)
    seconds: dict[str, float] = {}
    with _timed(seconds, "reading the corpus"):
        dataset = load_dataset(CORPUS)
    return report_on(dataset, _ABOUT, output, vectors, seed, n_jobs, seconds)


def report_on(
    dataset: Dataset,
    about: str,
    output: Path,
    vectors: Path | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    seconds: dict[str, float] | None = None,
) -> Facts:
    """Do the same with any single-label data set.

    Parameters
    ----------
    dataset : Dataset
        To learn from and to test on.
    about : str
        What it is, in words.
    output, vectors, seed, n_jobs
        As for `run`.
    seconds : dict, optional
        What each step before took; the steps made here are added to it.
    """
    seconds = {} if seconds is None else seconds
    with _timed(seconds, "learning the embeddings"):
        embeddings = WordClassEmbeddings(
            shrinkage=_SHRINKAGE, max_dims=None, seed=seed, n_jobs=n_jobs
        ).fit(dataset.train.texts, dataset.train.labels)
    scores, models = {}, {}
    for title, (name, options) in _CLASSIFIERS.items():
        with _timed(seconds, step_of(title)):
            model = classifier(name, **options, seed=seed, n_jobs=n_jobs)
            model.fit(dataset.train.texts, dataset.train.labels)
            predicted = model.predict(dataset.test.texts)
        models[title] = model
        scores[title] = evaluate(dataset.test.labels, predicted, dataset.classes)
    with _timed(seconds, "laying out the map"):
        path = find_vectors(vectors)
        known = None if path is None else WordVectors.load(path, embeddings.terms_)
        source = "" if path is None else f"Pretrained vectors ({path.name})"
        term_map = make_map(
            dataset.train, embeddings, known, source, n_per_class=_N_PER_CLASS, seed=seed
        )
    first, *_ = models.values()
    n_terms, n_dims = embeddings.vectors_.shape
    facts: Facts = {
        "corpus": dataset.name,
        "about": about,
        "seed": seed,
        "sizes": {
            "train_docs": len(dataset.train),
            "test_docs": len(dataset.test),
            "classes": len(term_map.classes),
            "terms": n_terms,
            "dimensions": n_dims,
        },
        "top_terms": {str(name): embeddings.top_terms(name, 10) for name in embeddings.classes_},
        "profiles": telling_profiles(
            embeddings.terms_, term_map.classes, embeddings.class_vectors_, n_clear=3, n_torn=6
        ),
        "classifiers": [
            {
                "name": title,
                **{key: getattr(found, key) for key in ("macro_f1", "micro_f1", "accuracy")},
                "by_class": {str(name): asdict(each) for name, each in found.per_class.items()},
            }
            for title, found in scores.items()
        ],
        "settings": first.settings_,
        "explained": explained_documents(first, dataset.test),
        "panels": term_map.to_parts()[0]["panels"],
        "seconds": seconds,  # all that differs when the demo is run again
        "notes": [],
    }
    with storage.replacing_folder(output, partial(check_report, output)) as folder:
        _write(folder, facts, embeddings, term_map)
    return {"report": str(output / PAGE), **facts}


def check_report(folder: Path, found: set[str]) -> None:
    """Refuse to replace what is no report: replacing deletes what was there."""
    strange = sorted(found - set(FILES))
    if strange or not found >= {PAGE, RESULT}:
        reason = f"it holds {strange[0]}" if strange else f"it has no {PAGE} or no {RESULT}"
        raise InputError(f"{folder} is no report of the demo ({reason}); choose another folder")


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time of the `with` block to `seconds`; report its beginning and end as progress."""
    progress.report(step, 0, None)
    start = time.perf_counter()
    yield
    seconds[step] = round(time.perf_counter() - start, 3)
    progress.report(step, 1, 1)


def _write(folder: Path, facts: Facts, embeddings: WordClassEmbeddings, term_map: TermMap) -> None:
    """Write all files; the page cannot tell how long it took to write itself, the result can."""
    embeddings.save(folder / EMBEDDINGS)
    beside = [PICTURE, EMBEDDINGS, RESULT]
    with _timed(facts["seconds"], "drawing the picture"):
        try:
            naming.extra("matplotlib", "to draw the map of the demo")
            from wordclass.report import pictures

            title = f"The terms of {facts['corpus']}, with and without the classes"
            pictures.draw_map(term_map, title, folder / PICTURE)
        except MissingExtraError as error:
            beside.remove(PICTURE)
            facts["notes"].append(f"{PICTURE} was left out: {error}")
    with _timed(facts["seconds"], "writing the page"):
        page = to_page(facts, term_map, {name: FILES[name] for name in beside})
        _write_text(folder / PAGE, page)
    _write_text(folder / RESULT, json.dumps(facts, ensure_ascii=False, indent=1))


def _write_text(path: Path, text: str) -> None:
    # terms may hold lone surrogates, which no file can
    path.write_bytes(text.encode("utf-8", "replace"))


def telling_profiles(
    terms: list[str], classes: list[str], class_vectors: Floats32, n_clear: int, n_torn: int
) -> list[Facts]:
    """Choose words that are far ahead in one class, then words that are so in two.

    No class is shown twice within a kind, and only plain words are taken, so that the choice is
    one that a reader understands.
    """
    scores = class_vectors.astype(np.float64)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :_N_CLASSES]  # (v, 4) the best classes
    best = np.take_along_axis(scores, order, axis=1)
    clear = best[:, 0] - best[:, 1]
    torn = best[:, 1] - best[:, 2] if best.shape[1] > 2 else best[:, 1]
    profiles: list[Facts] = []
    for interest, n_words, n_leading in ((clear, n_clear, 1), (torn, n_torn, 2)):
        shown: set[int] = set()
        rows = iter(np.argsort(-interest, kind="stable").tolist())
        while n_words and (row := next(rows, None)) is not None:
            leading = set(order[row, :n_leading].tolist())
            is_plain = terms[row].isalpha() and len(terms[row]) >= _MIN_LETTERS
            if is_plain and not leading & shown:
                shown |= leading
                n_words -= 1
                named = [(classes[j], float(scores[row, j])) for j in order[row].tolist()]
                profiles.append({"word": terms[row], "is_torn": n_leading == 2, "classes": named})
    return profiles


def explained_documents(model: Any, corpus: LabelledCorpus) -> list[Facts]:  # noqa: ANN401
    """Let a single-label classifier explain its surest right label, and its surest mistake.

    Texts of a few lines are preferred.

    Returns
    -------
    Where there is one, a document that is "right" and one that is "mistaken", with the probability
    of its predicted label; where each word begins and ends, and what it adds to the score of that
    label; and the terms that moved this score most and, if mistaken, that of the true label.
    """
    scores = model.class_scores(corpus.texts)
    columns = model.decide(scores).argmax(axis=1)
    probabilities = model.calibrated(scores)[np.arange(len(columns)), columns]
    is_right = model.classes_[columns] == np.asarray(corpus.labels)
    documents = []
    for kind, candidates in (("right", is_right), ("mistaken", ~is_right)):
        if candidates.any():
            k = _surest(probabilities, corpus.texts, candidates)
            found: Facts = {"kind": kind, "probability": round(float(probabilities[k]), 4)}
            documents.append(found | _explained(model, corpus.texts[k], corpus.labels[k]))
    return documents


def _surest(probabilities: Floats, texts: list[str], candidates: Flags) -> int:
    lengths = np.array([len(text) for text in texts])
    fitting = candidates & (lengths >= _SHORTEST) & (lengths <= _LONGEST)
    if not fitting.any():
        fitting = candidates & (lengths == lengths[candidates].min())
    return int(np.where(fitting, probabilities, -1.0).argmax())


def _explained(model: Any, text: str, true: Any) -> Facts:  # noqa: ANN401 - a classifier, a label
    explanation = model.explanation(text)
    (predicted,) = explanation.labels
    words = [
        (word.start, word.end, round(word.contribution, 4))
        for word in explanation.per_word(predicted)
        if word.start is not None
    ]
    terms = {
        str(label): [(term, round(added, 4)) for term, added in explanation.top(label, _N_TERMS)]
        for label in dict.fromkeys((predicted, true))
    }
    labels = {"true": str(true), "predicted": str(predicted)}
    return {"text": text, **labels, "words": words, "terms": terms}
