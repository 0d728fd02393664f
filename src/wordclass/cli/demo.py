"""The main job from end to end on a corpus that is always there, with a page to look at."""

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
from wordclass.vectors.word_vectors import WordVectors

CORPUS = "docstrings"
PAGE, RESULT, PICTURE, EMBEDDINGS = "index.html", "result.json", "terms.png", "demo.wce"
FILES = {
    PAGE: "this page",
    PICTURE: "the map as a picture",
    EMBEDDINGS: "the embeddings, for the commands words, profile and info",
    RESULT: "all the numbers",
}
_WHAT = (
    "A word-class embedding is a vector for a word in which every dimension is a class of your own "
    "task. It is counted, not trained: a high value means that the word occurs in documents of "
    "that class far more often than elsewhere. So the numbers can be read, they are there within "
    "seconds, and they can stand beside word vectors that were learned elsewhere."
)
_ABOUT = (
    "On this page they are learned from docstrings of Python's standard library, numpy, scipy and "
    "scikit-learn; a class is the package that a docstring comes from. The names of the packages "
    "were taken out of the texts first."
)
_SHRINKAGE = 20.0
# the default one, which the page is about; the baseline to beat; the one without training
_CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "svm on tf-idf": ("svm", {"features": "tfidf"}),
    "nearest, shrinkage 20": ("nearest", {"shrinkage": 20.0}),
}
_MEASURES = ("macro_f1", "micro_f1", "accuracy")
_N_PER_CLASS = 40  # terms on the map
_N_FEATURED = 6  # classes whose terms the terminal shows
_COLUMNS = 96  # of a line on the terminal, besides its indentation


def run(output: Path, vectors: Path | None = None, seed: int = 0, n_jobs: int = 1) -> JsonObject:
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
    catalogue.import_extra("openTSNE", "to lay out the map of the demo", "opentsne")
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
        with _timed(seconds, _step_of(title)):
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
                **{key: getattr(found, key) for key in _MEASURES},
                "by_class": {str(name): asdict(each) for name, each in found.per_class.items()},
            }
            for title, found in scores.items()
        ],
        "settings": first.settings_,
        "panels": term_map.to_parts()[0]["panels"],
        "seconds": seconds,  # all that differs when the demo is run again
        "notes": [],
    }
    views = Exploration(first, dataset.test, known, source)
    with storage.replace_folder_atomically(output, partial(check_report, output)) as folder:
        _write(folder, facts, embeddings, term_map, views)
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


def _step_of(classifier: str) -> str:
    return f"classifying ({classifier})"


def _write(
    folder: Path,
    facts: JsonObject,
    embeddings: WordClassEmbeddings,
    term_map: TermMap,
    views: Exploration,
) -> None:
    """Write all files; the page cannot tell how long it took to write itself, the result can."""
    embeddings.save(folder / EMBEDDINGS)
    beside = [PICTURE, EMBEDDINGS, RESULT]
    with _timed(facts["seconds"], "drawing the picture"):
        try:
            catalogue.import_extra("matplotlib", "to draw the map of the demo")
            from wordclass.explorer import pictures

            title = f"The terms of {facts['corpus']}, with and without the classes"
            pictures.draw_map(term_map, title, folder / PICTURE)
        except MissingExtraError as error:
            beside.remove(PICTURE)
            facts["notes"].append(f"{PICTURE} was left out: {error}")
    with _timed(facts["seconds"], "writing the page"):
        places = describe_map(term_map.terms, term_map.class_of, term_map.panels, None)
        overview = _overview(facts, [[name, FILES[name]] for name in beside])
        page = export_page(facts["corpus"], views, overview=overview, map_facts=places)
        (folder / PAGE).write_bytes(page)
    result = json.dumps(facts, ensure_ascii=False, indent=1)
    # terms may hold lone surrogates, which no file can
    (folder / RESULT).write_bytes(result.encode("utf-8", "replace"))


def _overview(facts: JsonObject, files: list[list[str]]) -> JsonObject:
    """Return the first view of the page: what this is, and what came out."""
    sizes, first = facts["sizes"], facts["classifiers"][0]
    times = [[step, f"{taken:.1f}"] for step, taken in facts["seconds"].items()]
    return {
        "title": f"Word-class embeddings of {facts['corpus']}",
        "paragraphs": [_WHAT, facts["about"], *facts["notes"]],
        "numbers": [
            ["documents to learn from", f"{sizes['train_docs']:,}"],
            ["documents to test", f"{sizes['test_docs']:,}"],
            ["terms, each with a vector", f"{sizes['terms']:,}"],
            ["dimensions, one per class", f"{sizes['dimensions']:,}"],
            ["of the test documents right", f"{first['accuracy']:.1%}"],
        ],
        "tables": [
            {
                "caption": "The classifiers, on the test documents; the other views are of linear",
                "heads": ["classifier", "macro F1", "micro F1", "accuracy", "seconds"],
                "rows": [
                    [
                        each["name"],
                        *(f"{each[key]:.1%}" for key in _MEASURES),
                        _seconds(facts, each),
                    ]
                    for each in facts["classifiers"]
                ],
            },
            {
                "caption": f"Of a term's {N_NEIGHBORS} nearest neighbors, so many have its class",
                "heads": ["vectors", "share", "what they are"],
                "rows": [
                    [each["title"], f"{each['neighbor_share']:.0%}", each["caption"]]
                    for each in facts["panels"]
                ],
            },
            {"caption": "Where the time went", "heads": ["step", "seconds"], "rows": times},
        ],
        "files": files,
    }


def to_text(facts: JsonObject) -> str:
    """Write what was found for the terminal, in at most a hundred columns."""
    sizes = facts["sizes"]
    corpus = [
        ("documents", f"{sizes['train_docs']:,} to learn from, {sizes['test_docs']:,} to test"),
        ("classes", f"{sizes['classes']:,}"),
        ("terms", f"{sizes['terms']:,}, each a vector of {sizes['dimensions']:,} dimensions"),
    ]
    names = [*facts["top_terms"]]
    featured = names[:: max(len(names) // _N_FEATURED, 1)][:_N_FEATURED]
    terms = [(name, "  ".join(term for term, _ in facts["top_terms"][name])) for name in featured]
    scores = [("", "macro F1  micro F1  accuracy   seconds")]
    for each in facts["classifiers"]:
        figures = "  ".join(f"{each[key]:8.1%}" for key in _MEASURES)
        scores.append((each["name"], f"{figures}{_seconds(facts, each):>10}"))
    panels = [
        (panel["title"], f"{100 * panel['neighbor_share']:5.1f}%  {panel['caption']}")
        for panel in facts["panels"]
    ]
    times = [*facts["seconds"].items(), ("all together", sum(facts["seconds"].values()))]
    chosen = ", ".join(f"{name} {value}" for name, value in facts["settings"].items())
    sections = {
        f"The corpus {facts['corpus']}": align_columns(corpus, _COLUMNS),
        "The most telling terms of some classes": align_columns(terms, _COLUMNS),
        "The classifiers, on the test documents": align_columns(scores),
        f"What {facts['classifiers'][0]['name']} chose": align_columns([("", chosen)], _COLUMNS),
        f"Of a term's {N_NEIGHBORS} nearest neighbors, so many have its class": align_columns(
            panels, _COLUMNS
        ),
        "Time": align_columns([(step, f"{seconds:6.1f} s") for step, seconds in times]),
    }
    written = [
        "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items()
    ]
    return "\n\n".join([*written, "\n".join([f"The report: {facts['report']}", *facts["notes"]])])


def _seconds(facts: JsonObject, classifier: JsonObject) -> str:
    return f"{facts['seconds'][_step_of(classifier['name'])]:.1f}"
