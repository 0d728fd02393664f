"""The main job from end to end on a corpus that is always there, with a report to look at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordclass.corpus import Dataset, load_dataset
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.report.demo_classifiers import Comparison, compare
from wordclass.report.demo_map import draw_map
from wordclass.report.demo_text import written
from wordclass.report.findings import Findings, PanelFacts, Sizes
from wordclass.report.report_files import FILES, write
from wordclass.report.report_folder import PAGE, check_replaceable, replacing_folder
from wordclass.report.stopwatch import Stopwatch
from wordclass.report.term_map import TermMap
from wordclass.report.word_profiles import telling_profiles
from wordclass.storage import require

CORPUS = "docstrings"
_ABOUT = (
    "On this page they are learned from docstrings of Python's standard library, numpy, scipy and "
    "scikit-learn; a class is the package that a docstring comes from. The names of the packages "
    "were taken out of the texts first."
)
_SHRINKAGE = 20.0


@dataclass(frozen=True)
class DemoResult:
    """What was found, and the folder of the report about it."""

    folder: Path
    findings: Findings

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows."""
        return {"report": str(self.folder / PAGE), **self.findings.to_dict()}

    def to_text(self) -> str:
        """Return what is shown on the terminal."""
        return written(self.findings, self.folder / PAGE)


def run(output: Path, vectors: Path | None = None, seed: int = 0, n_jobs: int = 1) -> DemoResult:
    """Learn from the built-in corpus, test, draw, and write a folder about it.

    Parameters
    ----------
    output
        The folder; an earlier report there is replaced, anything else is an error.
    vectors
        Pretrained vectors to compare with; None: those in `WORDCLASS_DATA`, or else ones learned
        from the corpus without its labels.
    seed, n_jobs
        For all that is random, and the number of processes that count words.
    """
    check_replaceable(output, FILES)
    if vectors is not None:
        require(vectors)
    watch = Stopwatch()
    with watch.step("reading the corpus"):
        dataset = load_dataset(CORPUS)
    return report_on(dataset, _ABOUT, watch, output, vectors, seed, n_jobs)


def report_on(
    dataset: Dataset,
    about: str,
    watch: Stopwatch,
    output: Path,
    vectors: Path | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> DemoResult:
    """Do the same with any single-label data set; `about` says what it is, in words."""
    with watch.step("learning the embeddings"):
        embeddings = WordClassEmbeddings(
            shrinkage=_SHRINKAGE, max_dims=None, seed=seed, n_jobs=n_jobs
        ).fit(dataset.train.texts, dataset.train.labels)
    comparison = compare(dataset, watch, seed, n_jobs)
    with watch.step("laying out the map"):
        term_map = draw_map(dataset.train, embeddings, vectors, seed, n_jobs)
    findings = _find(dataset, about, embeddings, comparison, term_map)
    with replacing_folder(output, FILES) as folder:
        findings = write(folder, findings, embeddings, term_map, watch)
    return DemoResult(output, findings)


def _find(
    dataset: Dataset,
    about: str,
    embeddings: WordClassEmbeddings,
    comparison: Comparison,
    term_map: TermMap,
) -> Findings:
    n_terms, n_dims = embeddings.vectors_.shape
    names = [str(name) for name in embeddings.classes_]
    profiles = telling_profiles(
        embeddings.terms_, names, embeddings.class_vectors_, n_clear=3, n_torn=6
    )
    return Findings(
        corpus=dataset.name,
        about=about,
        seed=embeddings.seed,
        sizes=Sizes(len(dataset.train), len(dataset.test), len(names), n_terms, n_dims),
        top_terms={str(name): embeddings.top_terms(name, 10) for name in embeddings.classes_},
        profiles=profiles,
        classifiers=comparison.classifiers,
        settings=comparison.settings,
        explained=comparison.explained,
        panels=[
            PanelFacts(panel.title, panel.caption, panel.neighbor_share)
            for panel in term_map.panels
        ],
    )
