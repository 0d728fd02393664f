"""The documentation: code runs, links work, pages stay short, and the site needs no network."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import documentation
import httpx
import numpy as np
import pytest
from running_service import running

import wordclass as wc

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")

# data, output, directives of the site, and JavaScript, which tests/explorer runs in a browser
NOT_EXECUTED = {"text", "toml", "ini", "dockerfile", "json", "csv", "js", "{toctree}", "{include}"}

# tests of their own: the tutorial is one shell script, plans of experiments take hours
OWN_TESTS = {"tutorial.md", "experiments.md"}

# written by `wordclass experiment report`, or about it
ABOUT_EXPERIMENTS = {"beyond.md", "experiments.md", "replication.md"}

MAX_LINES = 250
MAX_README_LINES = 120
MAX_PARAGRAPH_LINES = 5
MAX_PROSE_COLUMNS = 130

NO_PROSE = ("#", "|", "```", "![", "<", "    ")


def find_pages() -> list[Path]:
    pages = {*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"}
    return sorted(page for page in pages if "generated" not in page.parts and page.is_file())


def has_code(page: Path) -> bool:
    languages = {block.language for block in documentation.read_blocks(page)}
    return page.name not in OWN_TESTS and not documentation.EXECUTED.isdisjoint(languages)


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


PAGES = find_pages()
HAND_WRITTEN = [page for page in PAGES if page.name not in ABOUT_EXPERIMENTS]
PAGES_WITH_CODE = [
    # these start clusters, which are shared by the tests of one process
    pytest.param(page, marks=pytest.mark.xdist_group("clusters") if page.stem == "cluster" else ())
    for page in PAGES
    if has_code(page)
]


# --- code ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def tickets(tmp_path_factory):
    """A folder with the corpus of the tutorial and a model of it."""
    folder = tmp_path_factory.mktemp("tickets")
    tutorial = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    match = re.search(r"<<'CSV'\n(.*?)^CSV$", tutorial, re.MULTILINE | re.DOTALL)
    (folder / "tickets.csv").write_text(match[1], encoding="utf-8")
    corpus = wc.read_corpus(folder / "tickets.csv")
    wc.classifier("linear").fit(corpus.texts, corpus.labels).save(folder / "tickets")
    return folder


@pytest.fixture
def readers_folder(tickets, tmp_path, monkeypatch):
    """The folder of a reader who has followed the tutorial and downloaded some GloVe vectors."""
    shutil.copytree(tickets, tmp_path, dirs_exist_ok=True)
    corpus = wc.read_corpus(tmp_path / "tickets.csv")
    words = sorted({word for text in corpus.texts for word in text.lower().split()})
    matrix = np.random.default_rng(0).normal(size=(len(words), 20)).astype(np.float32)
    wc.WordVectors.of(words, matrix).save(tmp_path / "glove.6B.100d.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def replacements(request):
    """What a page shows and a test replaces: the port of a service, the address of a cluster."""
    page = request.getfixturevalue("page")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        shown = {"8000": str(unused.getsockname()[1])}
    if page.stem == "cluster":
        request.getfixturevalue("spark_session")
        client = request.getfixturevalue("dask_client")
        shown["tcp://scheduler:8786"] = client.scheduler.address
    return shown


@pytest.mark.filterwarnings("ignore::wordclass.text.vectorizer.ScriptWarning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=page_id)
def test_code_runs_and_prints_what_the_page_shows(
    page, replacements, readers_folder, data_home, monkeypatch
):
    if "docstrings" in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("WORDCLASS_HOME", str(data_home))  # where it is built only once
    documentation.run_page(page, replacements)


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=page_id)
def test_blocks_are_executed_or_data(page):
    for block in documentation.read_blocks(page):
        assert block.language in documentation.EXECUTED | NOT_EXECUTED, f"{page}:{block.line}"


def commands_that_start_services():
    """Return the arguments of `wordclass serve` in the Dockerfile and in the unit of systemd."""
    text = (DOCS / "how-to" / "docker.md").read_text(encoding="utf-8")
    entry_point, command = re.findall(r"^(?:ENTRYPOINT|CMD) \[(.*)\]$", text, re.MULTILINE)
    docker = shlex.split(f"{entry_point}, {command}".replace(",", " "))
    systemd = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1])
    return {"docker": docker, "systemd": systemd}


@pytest.mark.parametrize("name", ["docker", "systemd"])
def test_the_command_lines_for_docker_and_systemd_start_a_service(name, readers_folder):
    pytest.importorskip("uvicorn")
    tokens = readers_folder / "tokens"
    tokens.write_text("a-token-of-enough-characters\n")
    model = readers_folder / "tickets"
    paths = {"/models/news": model, "/srv/models/news": model,
             "/run/secrets/tokens": tokens, "%d/tokens": tokens}  # fmt: skip
    words = [str(paths.get(word, word)) for word in commands_that_start_services()[name]]
    assert Path(words[0]).name == "wordclass"
    assert words[1] == "serve"
    arguments = [word for word in words[2:] if word not in {"--port", "8000"}]
    with running(readers_folder, *arguments) as service:
        address = f"http://127.0.0.1:{service.port}"
        assert httpx.get(f"{address}/health").status_code == 200
        assert httpx.get(f"{address}/models").status_code == 401
        headers = {"Authorization": "Bearer a-token-of-enough-characters"}
        assert httpx.get(f"{address}/models", headers=headers).status_code == 200


def test_the_extras_of_the_dockerfile_exist():
    text = (DOCS / "how-to" / "docker.md").read_text(encoding="utf-8")
    extras = re.search(r"whl\)\[(.*?)\]", text)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= set(project["optional-dependencies"])


# --- form ---------------------------------------------------------------------------------------


def without_blocks(page: Path) -> str:
    return documentation.FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site give to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(page)):
        path, _, anchor = target.partition("#")
        if ":" in path or "generated" in path:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page}: {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{page}: {target}"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=page_id)
def test_pages_are_short(page):
    n_lines = len(page.read_text(encoding="utf-8").splitlines())
    assert n_lines <= (MAX_README_LINES if page.name == "README.md" else MAX_LINES)


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=page_id)
def test_paragraphs_are_short(page):
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\d+\. )", without_blocks(page)):
        lines = paragraph.strip("\n").splitlines()
        if not lines or lines[0].startswith(NO_PROSE):
            continue
        assert len(lines) <= MAX_PARAGRAPH_LINES, f"{page}: {lines[0]}"
        assert max(map(len, lines)) <= MAX_PROSE_COLUMNS, f"{page}: {lines[0]}"


# --- site ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    for package in ("sphinx", "myst_parser", "furo", "numpydoc"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    finished = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
         "-d", folder / "trees", DOCS, folder / "html"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    return folder / "html"


def test_the_site_has_every_page_and_loads_nothing_from_other_hosts(site):
    for page in PAGES:
        if DOCS in page.parents:
            assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()
    external = re.compile(
        r"""<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//
        |<link[^>]*\brel="(?:stylesheet|preload)"[^>]*\bhref="(?:https?:)?//
        |@import\ url\("?http""",
        re.VERBOSE,
    )
    for page in site.rglob("*.html"):
        assert not external.search(page.read_text(encoding="utf-8")), page


def test_the_reference_has_every_public_name_and_every_command(site):
    reference = "".join(
        page.read_text(encoding="utf-8") for page in (site / "reference" / "generated").glob("*")
        if page.suffix == ".html"
    )  # fmt: skip
    for name in wc.__all__:
        assert f">{name}<" in reference, name
    for command in ("train", "evaluate", "predict", "experiment run"):
        assert f"wordclass {command}" in reference
