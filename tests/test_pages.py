"""Every page of the documentation: its code runs, its links lead somewhere, its size is bounded."""

import re
import shutil
from pathlib import Path

import documentation
import numpy as np
import pytest

import wordclass as wc

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")

# languages of blocks that are data or output; other tests run the files among them
NOT_EXECUTED = {"text", "toml", "ini", "dockerfile", "json", "csv", "{toctree}", "{include}"}

# pages with tests of their own: the shell script of the tutorial; plans of experiments; reports
OWN_TESTS = {"tutorial.md", "experiments.md", "replication.md", "beyond.md"}

MAX_LINES = 250
MAX_README_LINES = 120
MAX_PARAGRAPH_LINES = 5

PAGES = sorted({*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"})
PAGES = [page for page in PAGES if "generated" not in page.parts]
WITH_CODE = [
    page
    for page in PAGES
    if page.name not in OWN_TESTS
    and any(block.language in documentation.EXECUTED for block in documentation.read_blocks(page))
]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def tickets(tmp_path_factory):
    """A folder with the corpus of the tutorial and the model that the tutorial trains."""
    folder = tmp_path_factory.mktemp("tickets")
    tutorial = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    match = re.search(r"<<'CSV'\n(.*?)^CSV$", tutorial, re.MULTILINE | re.DOTALL)
    (folder / "tickets.csv").write_text(match[1], encoding="utf-8")
    corpus = wc.read_corpus(folder / "tickets.csv")
    wc.classifier("linear").fit(corpus.texts, corpus.labels).save(folder / "tickets")
    return folder


@pytest.fixture
def readers_folder(tickets, tmp_path, monkeypatch):
    """The current folder of a reader who has followed the tutorial and downloaded GloVe vectors."""
    shutil.copytree(tickets, tmp_path, dirs_exist_ok=True)
    corpus = wc.read_corpus(tmp_path / "tickets.csv")
    words = sorted({word for text in corpus.texts for word in text.lower().split()})
    matrix = np.random.default_rng(0).normal(size=(len(words), 20)).astype(np.float32)
    wc.WordVectors.of(words, matrix).save(tmp_path / "glove.6B.100d.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", WITH_CODE, ids=page_id)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, readers_folder, data_home, monkeypatch):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    documentation.run_page(page, {})


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_is_executed_or_data(page):
    for block in documentation.read_blocks(page):
        language = block.language.partition(" ")[0]
        assert language in documentation.EXECUTED | NOT_EXECUTED, f"{page}:{block.line}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_pages_are_short(page):
    n_lines = len(page.read_text(encoding="utf-8").splitlines())
    assert n_lines <= (MAX_README_LINES if page.name == "README.md" else MAX_LINES)
