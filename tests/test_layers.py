"""Who may import whom: the rows of docs/architecture.md, read off the sources."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wordclass"

ROWS = [
    {"errors"},
    {
        "arrays", "checks", "corpus", "counts", "folds", "labels", "measures", "naming", "native",
        "progress", "sentence_cache", "sentence_vectors", "storage", "subwords", "vector_cache",
        "vocabulary", "word_vectors",
    },
    {
        "corpus_formats", "correlations", "encoders", "engines", "linear_solver", "projectors",
        "regressors", "sentence_encoders", "vector_formats", "weightings",
    },
    {"corpus_parts"},
    {"text"},
    {
        "datasets", "distillation", "embedding", "predictive_text_embedding", "prior_shift",
        "thresholds", "token_vectors",
    },
    {"explanation", "network", "persistence", "search"},
    {"classifiers", "torch"},
    {"dask", "spark"},
    {"tuning"},
    {"experiment"},
    {"explorer"},
    {"report", "serving"},
    {"cli"},
    {"__main__"},
]  # fmt: skip
ROW_OF = {part: row for row, parts in enumerate(ROWS) for part in parts}
CATALOGUES = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[-1] == "s"}
CORNERS = {
    "dask": set(),
    "distributed": set(),
    "fsspec": set(),
    "fasttext": {"classifiers"},
    "huggingface_hub": set(),
    "matplotlib": {"report"},
    "onnx": {"network"},
    "onnxruntime": set(),
    "onnxscript": {"network"},
    "openpyxl": set(),
    "polars": {"corpus_formats", "report", "vector_formats"},
    "pyarrow": set(),
    "pyspark": {"engines", "spark"},
    "rich": {"cli"},
    "sentence_transformers": set(),
    "starlette": {"serving"},
    "tokenizers": set(),
    "torch": {"classifiers", "encoders", "network", "regressors"},
    "transformers": set(),
    "typer": {"cli"},
    "uvicorn": {"serving"},
    "uvloop": set(),
    "zstandard": set(),
}


# a script for an environment of other packages, of which wordclass imports the names of peers
SCRIPT = PACKAGE / "experiment" / "peer_script.py"


@functools.cache
def modules():
    return sorted({*PACKAGE.rglob("*.py")} - {PACKAGE / "__init__.py", SCRIPT})


def name_of(path):
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def known():
    return {name_of(each) for each in modules()}


@functools.cache
def imports_of(path):
    """The modules a file imports, as dotted names; `from a import b` counts as a.b and a."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def internal_imports(path):
    for imported in imports_of(path):
        if imported.startswith("wordclass."):
            inner = imported.removeprefix("wordclass.")
            # compiled, and below everything else
            if not inner.startswith("native._native"):
                yield inner if inner in known() else inner.rpartition(".")[0]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_part_imports_lower_rows_only(path):
    own = name_of(path).split(".")[0]
    assert own in ROW_OF, f"{own} has no row: add it to docs/architecture.md and to this test"
    for imported in internal_imports(path):
        part = imported.split(".")[0]
        if part in ("", own):
            continue
        is_lower = ROW_OF[part] < ROW_OF[own]
        # the root files of row 1 are types that use each other
        is_beside = ROW_OF[part] == ROW_OF[own] == 1
        assert is_lower or is_beside, f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("catalogue", sorted(CATALOGUES))
def test_entries_of_a_catalogue_do_not_import_each_other(catalogue):
    for path in (PACKAGE / catalogue).glob("*.py"):
        for imported in internal_imports(path):
            part, _, entry = imported.partition(".")
            if part == catalogue:
                assert entry.startswith("_"), f"{name_of(path)} imports {imported}"


def test_no_files_import_each_other_in_a_circle():
    graph = {name_of(path): set(internal_imports(path)) for path in modules()}
    finished, open_path = set(), []

    def visit(name):
        assert name not in open_path, " -> ".join([*open_path, name])
        if name in finished:
            return
        open_path.append(name)
        for imported in graph.get(name, ()):
            if imported != name:
                visit(imported)
        open_path.pop()
        finished.add(name)

    for name in graph:
        visit(name)


@pytest.mark.parametrize("package", sorted(CORNERS))
def test_a_heavy_package_is_imported_in_its_corner_only(package):
    for path in modules():
        tops = {imported.split(".")[0] for imported in imports_of(path)}
        if package in tops:
            assert name_of(path).split(".")[0] in CORNERS[package], name_of(path)


def test_only_naming_imports_dynamically():
    for path in modules():
        if name_of(path) != "naming":
            assert "importlib" not in {each.split(".")[0] for each in imports_of(path)} or (
                "import_module" not in path.read_text(encoding="utf-8")
            ), name_of(path)


def test_importing_the_package_imports_nothing_heavy():
    heavy = {*CORNERS, "sklearn", "scipy", "numpy", "pandas"}
    code = "import sys, wordclass; print(*(name.split('.')[0] for name in sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(shown.stdout.split())


FITS = """
import sys
import numpy as np
import wordclass as wc
from made_up import corpus

texts, labels = corpus()
vectors = wc.WordVectors.of(["moon", "orbit"], np.ones((2, 3), np.float32))
make = {
    "embeddings": lambda: wc.WordClassEmbeddings(min_docs=2),
    "linear": lambda: wc.classifier("linear"),
    "cnn": lambda: wc.classifier("cnn", vectors=vectors, channels=2, max_epochs=1),
}[sys.argv[1]]
make().fit(texts, labels)
seen, again = set(), make()
sys.setprofile(lambda frame, event, _: seen.add(frame.f_globals.get("__name__", "")))
again.fit(texts, labels)
sys.setprofile(None)
print(*sorted(name for name in seen if name.startswith("wordclass.")))
"""


@pytest.mark.parametrize(("what", "most"), [("embeddings", 14), ("linear", 19), ("cnn", 35)])
def test_a_reader_follows_a_fit_through_few_modules(what, most):
    tests = str(Path(__file__).parent)
    shown = subprocess.run(
        [sys.executable, "-c", FITS, what],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])},
    )  # fmt: skip
    assert len(shown.stdout.split()) <= most, shown.stdout
