"""Who may import whom: the import rule of docs/architecture.md, checked on the sources."""

import ast
import functools
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wordclass"
MAX_FILE_LINES = 600
CATALOGUE_NAMES = {
    "classifiers", "correlations", "datasets", "encoders", "engines", "formats", "kinds",
    "projectors", "regressors", "weightings",
}  # fmt: skip

# from the ground up; a module that is named here stands in another row than its folder
ROWS = [
    {"errors"},
    {"arrays", "catalogue", "native", "options", "progress"},
    {"storage", "engines", "tables"},
    {"corpus"},
    {"embedding.counts", "vectors"},
    {"storage.metadata", "text"},
    {"embedding"},
    {"sentence", "storage.models"},
    {"decision"},
    {"linear", "network"},
    {"classifiers", "torch"},
    {"batch"},
    {"dask", "spark", "explorer"},
    {"serving"},
    {"reproduction"},
    {"cli"},
    {"__main__"},
]
ROW_OF = {part: row for row, parts in enumerate(ROWS) for part in parts}
CATALOGUES = sorted(
    path for path in PACKAGE.rglob("*") if path.is_dir() and path.name in CATALOGUE_NAMES
)
CORNERS = {
    "dask": set(),
    "distributed": set(),
    "fsspec": set(),
    "fasttext": {"classifiers"},
    "huggingface_hub": set(),
    "matplotlib": {"explorer", "reproduction"},
    "onnx": {"network"},
    "onnxruntime": set(),
    "onnxscript": {"network"},
    "openpyxl": set(),
    "polars": {"batch", "corpus", "vectors"},
    "pyarrow": set(),
    "pyspark": {"batch", "engines"},
    "rich": {"cli"},
    "sentence_transformers": set(),
    "starlette": {"serving"},
    "tokenizers": set(),
    "torch": {"classifiers", "embedding", "network"},
    "transformers": set(),
    "typer": {"cli"},
    "uvicorn": {"serving"},
    "uvloop": set(),
    "zstandard": set(),
}


# a script for an environment of other packages, of which wordclass imports the names of peers
SCRIPT = PACKAGE / "reproduction" / "peer_script.py"


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
def imports_of(path, *, at_run_time=False):
    """Return the modules that a file imports; `from a import b` counts as `a.b`.

    With `at_run_time`, imports for type checkers alone are left out.
    """
    imported = []
    nodes = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not (is_for_types and at_run_time):
            nodes += ast.iter_child_nodes(node)
    return imported


def internal_imports(path, *, at_run_time=False):
    for imported in imports_of(path, at_run_time=at_run_time):
        if imported.startswith("wordclass."):
            inner = imported.removeprefix("wordclass.")
            # compiled, and below everything else
            if not inner.startswith("native._native"):
                yield inner if inner in known() else inner.rpartition(".")[0]


def row_of(name):
    """The row of a module: its own, or that of the folder it stands in."""
    while name not in ROW_OF:
        assert "." in name, f"{name} has no row: add it to docs/architecture.md and to this test"
        name = name.rpartition(".")[0]
    return ROW_OF[name]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_imports_lower_rows_only(path):
    own = name_of(path)
    for imported in internal_imports(path):
        if imported and imported.split(".")[0] != own.split(".")[0]:
            is_beside = row_of(imported) == row_of(own) == 1
            assert row_of(imported) < row_of(own) or is_beside, f"{own} imports {imported}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_private_module_of_another_folder_is_imported(path):
    folder = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    for imported in internal_imports(path):
        parent, _, last = imported.rpartition(".")
        assert not last.startswith("_") or parent == folder, f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_an_init_file_holds_no_logic(path):
    if path.name == "__init__.py":
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert all(isinstance(node, ast.Expr | ast.Assign) for node in body), name_of(path)


def test_the_root_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= 12
    folders = [path for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"]
    assert len(folders) <= 17


def test_no_file_is_long():
    root = PACKAGE.parents[1]
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.cpp"), *PACKAGE.rglob("*.h")]
    assert any(path.suffix == ".cpp" for path in sources)
    long_files = {}
    for path in [*sources, *(root / "tests").rglob("*.py")]:
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        if n_lines > MAX_FILE_LINES:
            long_files[str(path.relative_to(root))] = n_lines
    assert not long_files


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_only_the_commands_import_the_experiments(path):
    if name_of(path).split(".")[0] not in ("cli", "reproduction"):
        tops = {imported.split(".")[0] for imported in internal_imports(path)}
        assert "reproduction" not in tops, name_of(path)


@pytest.mark.parametrize("folder", CATALOGUES, ids=lambda folder: folder.name)
def test_entries_of_a_catalogue_do_not_import_each_other(folder):
    catalogue = ".".join(folder.relative_to(PACKAGE).parts)
    package = importlib.import_module(f"wordclass.{catalogue}")
    shared = getattr(package, "SHARED_MODULES", ())
    for path in folder.glob("*.py"):
        for imported in internal_imports(path, at_run_time=True):
            parent, _, entry = imported.rpartition(".")
            if parent == catalogue:
                assert entry.startswith("_") or entry in shared, f"{name_of(path)}: {imported}"


def test_no_files_import_each_other_in_a_circle():
    graph = {name_of(path): set(internal_imports(path, at_run_time=True)) for path in modules()}
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


def test_only_the_catalogue_imports_dynamically():
    for path in modules():
        if name_of(path) != "catalogue":
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


@pytest.mark.parametrize(("what", "most"), [("embeddings", 14), ("linear", 21), ("cnn", 38)])
def test_a_reader_follows_a_fit_through_few_modules(what, most):
    tests = str(Path(__file__).parent)
    shown = subprocess.run(
        [sys.executable, "-c", FITS, what],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])},
    )  # fmt: skip
    assert len(shown.stdout.split()) <= most, shown.stdout
