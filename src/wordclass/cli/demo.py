"""The demo: train, evaluate and explain classifiers on a built-in corpus, and write a report."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from wordclass import catalogue, progress
from wordclass.classifiers.factory import classifier
from wordclass.corpus.documents import Dataset
from wordclass.corpus.reader import load_dataset
from wordclass.decision.measures import evaluate
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingExtraError
from wordclass.explorer.page import export_page
from wordclass.explorer.term_map import N_NEIGHBORS, TermMap, find_vectors, make_map
from wordclass.explorer.views import Exploration, JsonObject, describe_map
from wordclass.storage import files as storage
from wordclass.tables import align_columns
from wordclass.text.analyzer import display_term
from wordclass.vectors.word_vectors import WordVectors

CORPUS = "docstrings"
PAGE = "index.html"
RESULT = "result.json"
PICTURE = "terms.png"
EMBEDDINGS = "demo.wce"
FILES = {
    PAGE: "this page",
    PICTURE: "the map of the terms",
    EMBEDDINGS: "the embeddings, for the commands words, profile and info",
    RESULT: "all the numbers",
}
_WHAT = (
    "A word-class embedding is a vector for a word in which every dimension is a class of your own "
    "task. It is counted, not trained: a high value means that the word occurs far more often in "
    "documents of that class than elsewhere. So the numbers can be read, they are computed within "
    "seconds, and they can be combined with pretrained word vectors."
)
_ABOUT = (
    "The embeddings on this page are learned from docstrings of Python's standard library, NumPy, "
    "SciPy and scikit-learn. The class of a docstring is its package. The names of the packages "
    "were removed from the texts."
)
_SHRINKAGE = 20.0
# the default classifier, a baseline, and a classifier without training
_CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "svm on tf-idf": ("svm", {"features": "tfidf"}),
    "nearest, shrinkage 20": ("nearest", {"shrinkage": 20.0}),
}
_MEASURES = ("macro_f1", "micro_f1", "accuracy")
_SHOWN_MEASURES = {"accuracy": "accuracy", "macro_f1": "macro F1"}  # micro F1 equals accuracy
_NEIGHBORS_TITLE = f"Share of the {N_NEIGHBORS} nearest neighbors of a term that have its class"
_TERMS_PER_CLASS = 40  # on the map
_MAX_CLASSES_SHOWN = 6  # whose terms are printed
_MAX_LINE_CHARS = 96  # without the indentation


def run(output: Path, vectors: Path | None = None, seed: int = 0, n_jobs: int = 1) -> JsonObject:
    """Train and evaluate classifiers on the built-in corpus, and write a report.

    Parameters
    ----------
    output : Path
        The folder of the report. An existing report is replaced; any other folder is an error.
    vectors : Path, optional
        Pretrained vectors to compare with. By default those in `WORDCLASS_DATA`, or vectors that
        are learned from the corpus without its labels.
    seed : int, default=0
        The seed of everything random.
    n_jobs : int, default=1
        The number of threads that count words.

    Returns
    -------
    dict
        The content of result.json, and the path of the page under "report".
    """
    catalogue.import_extra("openTSNE", "to compute the map of the demo")
    storage.check_folder(output, partial(check_report, output))
    if vectors is not None:
        storage.require_existing(vectors)
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
) -> JsonObject:
    """Write a report about any single-label dataset.

    Parameters
    ----------
    dataset : Dataset
        The dataset, with training and test documents.
    about : str
        A description of the dataset.
    output, vectors, seed, n_jobs
        The arguments of `run`.
    seconds : dict, optional
        The time of earlier steps, to which the time of each step is added.

    Returns
    -------
    dict
        The same as `run` returns.
    """
    seconds = {} if seconds is None else seconds
    with _timed(seconds, "learning the embeddings"):
        embeddings = WordClassEmbeddings(
            shrinkage=_SHRINKAGE, max_dims=None, seed=seed, n_jobs=n_jobs
        ).fit(dataset.train.texts, dataset.train.labels)
    scores = {}
    models = {}
    for title, (name, options) in _CLASSIFIERS.items():
        with _timed(seconds, _step_of(title)):
            model = classifier(name, **options, seed=seed, n_jobs=n_jobs)
            model.fit(dataset.train.texts, dataset.train.labels)
            predicted = model.predict(dataset.test.texts)
        models[title] = model
        scores[title] = evaluate(dataset.test.labels, predicted, dataset.classes)
    with _timed(seconds, "laying out the map"):
        path = find_vectors(vectors)
        pretrained = None if path is None else WordVectors.load(path, embeddings.terms_)
        source = "" if path is None else f"Pretrained vectors ({path.name})"
        term_map = make_map(
            dataset.train, embeddings, pretrained, source, n_per_class=_TERMS_PER_CLASS, seed=seed
        )
    first, *_ = models.values()
    n_terms, n_dims = embeddings.vectors_.shape
    facts: JsonObject = {
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
        "classifiers": [
            {
                "name": title,
                **{key: getattr(measured, key) for key in _MEASURES},
                "by_class": {
                    str(name): asdict(class_scores)
                    for name, class_scores in measured.per_class.items()
                },
            }
            for title, measured in scores.items()
        ],
        "settings": first.settings_,
        "panels": term_map.to_parts()[0]["panels"],
        "seconds": seconds,  # the only part that differs when the demo runs again
        "notes": [],
    }
    views = Exploration(first, dataset.test, pretrained, source)
    with storage.replace_folder_atomically(output, partial(check_report, output)) as folder:
        _write(folder, facts, embeddings, term_map, views)
    return {"report": str(output / PAGE), **facts}


def check_report(folder: Path, names: set[str]) -> None:
    """Raise InputError unless a folder is a report, because replacing it deletes its content."""
    foreign = sorted(names - set(FILES))
    if foreign or not names >= {PAGE, RESULT}:
        reason = f"it contains {foreign[0]}" if foreign else f"{PAGE} or {RESULT} is missing"
        raise InputError(
            f"{folder} is not a report of the demo ({reason})", hint="choose another folder"
        )


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time of the `with` block to `seconds`, and report its progress."""
    progress.report(step, 0, None)
    start = time.perf_counter()
    yield
    seconds[step] = round(time.perf_counter() - start, 3)
    progress.report(step, 1, 1)


def _step_of(classifier: str) -> str:
    return f"classifying ({classifier})"


def _write(
    folder: Path,
    facts: JsonObject,
    embeddings: WordClassEmbeddings,
    term_map: TermMap,
    views: Exploration,
) -> None:
    """Write all files of the report."""
    embeddings.save(folder / EMBEDDINGS)
    written = [PICTURE, EMBEDDINGS, RESULT]
    with _timed(facts["seconds"], "drawing the picture"):
        try:
            catalogue.import_extra("matplotlib", "to draw the map of the demo")
            from wordclass.explorer import pictures

            title = f"The terms of {facts['corpus']}, with and without the classes"
            pictures.draw_map(term_map, title, folder / PICTURE)
        except MissingExtraError as error:
            written.remove(PICTURE)
            facts["notes"].append(f"{PICTURE} is missing: {error}")
    with _timed(facts["seconds"], "writing the page"):
        map_facts = describe_map(term_map.terms, term_map.class_of, term_map.panels, None)
        overview = _overview(facts, [[name, FILES[name]] for name in written])
        page = export_page(facts["corpus"], views, overview=overview, map_facts=map_facts)
        (folder / PAGE).write_bytes(page)
    result = json.dumps(facts, ensure_ascii=False, indent=1)
    # terms may contain lone surrogates, which UTF-8 cannot encode
    (folder / RESULT).write_bytes(result.encode("utf-8", "replace"))


def _overview(facts: JsonObject, files: list[list[str]]) -> JsonObject:
    """Return the first view of the page, which introduces it and shows the results."""
    sizes = facts["sizes"]
    times = [[step, f"{seconds:.1f}"] for step, seconds in facts["seconds"].items()]
    return {
        "title": f"Word-class embeddings of {facts['corpus']}",
        "paragraphs": [_WHAT, facts["about"], *facts["notes"]],
        "numbers": [
            ["training documents", f"{sizes['train_docs']:,}"],
            ["test documents", f"{sizes['test_docs']:,}"],
            ["terms, each with a vector", f"{sizes['terms']:,}"],
            ["dimensions, one per class", f"{sizes['dimensions']:,}"],
            ["accuracy on the test documents", f"{facts['classifiers'][0]['accuracy']:.1%}"],
        ],
        "tables": [
            {
                "caption": "Classifiers on the test documents (the other views show linear)",
                "heads": ["classifier", *_SHOWN_MEASURES.values(), "seconds"],
                "rows": [
                    [
                        result["name"],
                        *(f"{result[key]:.1%}" for key in _SHOWN_MEASURES),
                        _seconds(facts, result),
                    ]
                    for result in facts["classifiers"]
                ],
            },
            {
                "caption": _NEIGHBORS_TITLE,
                "heads": ["vectors", "share", "description"],
                "rows": [
                    [panel["title"], f"{panel['neighbor_share']:.0%}", panel["caption"]]
                    for panel in facts["panels"]
                ],
            },
            {"caption": "Time", "heads": ["step", "seconds"], "rows": times},
        ],
        "files": files,
    }


def to_text(facts: JsonObject) -> str:
    """Write the results for a terminal, in at most a hundred columns."""
    sizes = facts["sizes"]
    corpus = [
        ("documents", f"{sizes['train_docs']:,} for training, {sizes['test_docs']:,} for testing"),
        ("classes", f"{sizes['classes']:,}"),
        ("terms", f"{sizes['terms']:,}, each with {sizes['dimensions']:,} dimensions"),
    ]
    names = [*facts["top_terms"]]
    shown_names = names[:: max(len(names) // _MAX_CLASSES_SHOWN, 1)][:_MAX_CLASSES_SHOWN]
    terms = [
        (name, "  ".join(display_term(term) for term, _ in facts["top_terms"][name]))
        for name in shown_names
    ]
    scores = [("", "  ".join(f"{title:>8}" for title in (*_SHOWN_MEASURES.values(), "seconds")))]
    for result in facts["classifiers"]:
        figures = "  ".join(f"{result[key]:8.1%}" for key in _SHOWN_MEASURES)
        scores.append((result["name"], f"{figures}{_seconds(facts, result):>10}"))
    panels = [
        (panel["title"], f"{100 * panel['neighbor_share']:5.1f}%  {panel['caption']}")
        for panel in facts["panels"]
    ]
    times = [*facts["seconds"].items(), ("total", sum(facts["seconds"].values()))]
    chosen = ", ".join(f"{name} {value}" for name, value in facts["settings"].items())
    sections = {
        f"The corpus {facts['corpus']}": align_columns(corpus, _MAX_LINE_CHARS),
        "The terms with the highest scores of some classes": align_columns(terms, _MAX_LINE_CHARS),
        "The classifiers on the test documents": align_columns(scores),
        f"The settings that {facts['classifiers'][0]['name']} chose": align_columns(
            [("", chosen)], _MAX_LINE_CHARS
        ),
        _NEIGHBORS_TITLE: align_columns(panels, _MAX_LINE_CHARS),
        "Time": align_columns([(step, f"{seconds:6.1f} s") for step, seconds in times]),
    }
    paragraphs = [
        "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items()
    ]
    last = "\n".join([f"The report: {facts['report']}", *facts["notes"]])
    return "\n\n".join([*paragraphs, last])


def _seconds(facts: JsonObject, result: JsonObject) -> str:
    return f"{facts['seconds'][_step_of(result['name'])]:.1f}"
