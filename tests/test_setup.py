"""What the targets of the Makefile install, and which versions."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def installed_extras(target: str) -> set[str]:
    if shutil.which("make") is None or not (ROOT / "Makefile").is_file():
        pytest.skip("there is no make, or no Makefile: not a checkout")
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    groups = re.findall(r"(?:\.|wordclass)\[([\w,]+)\]", planned)
    return {extra for group in groups for extra in group.split(",")}


def test_the_demo_fetches_only_what_it_uses():
    assert installed_extras("demo") == {"typer", "matplotlib", "opentsne"}


@pytest.mark.parametrize("target", ["setup", "test"])
def test_all_else_gets_every_extra(target):
    assert "all" in installed_extras(target)


@pytest.mark.xdist_group("alone")
def test_groups_of_tests_stay_together(request):
    if not request.config.getoption("loadgroup", False):
        pytest.skip("there are groups with --dist loadgroup only")
    assert request.node.nodeid.endswith("@alone")  # by which one process gets all of a group


def test_the_demo_imports_no_other_extra():
    code = (
        "import sys, wordclass.cli.demo, wordclass.explorer.pictures, wordclass.cli.app\n"
        "from wordclass import classifier\n"
        "classifier('linear'), classifier('svm'), classifier('nearest')\n"
        "others = {'torch', 'fasttext', 'onnx', 'onnxscript', 'zstandard', 'tokenizers', 'dask'}\n"
        "others |= {'sentence_transformers', 'onnxruntime', 'distributed', 'pyspark', 'fsspec'}\n"
        "others &= {*sys.modules}\n"
        "sys.exit(f'imported: {others}' if others else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- requirements and constraints ---------------------------------------------------------------


@pytest.fixture
def project():
    if not (ROOT / "constraints.txt").is_file():
        pytest.skip("there are no constraints: not a checkout")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pinned_versions() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def installed_versions() -> dict[str, str]:
    """Return the versions beside which wordclass was installed, by normalized names."""
    versions = {
        canonicalize_name(distribution.metadata["Name"]): distribution.version
        for distribution in metadata.distributions()
    }
    return {name: version for name, version in versions.items() if name != "wordclass"}


def direct_requirements(project) -> list[Requirement]:
    """Return everything that pyproject.toml and the Makefile ask for by name."""
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    lines = [
        "pip",  # which `make setup` upgrades
        *project["project"]["dependencies"],
        *project["build-system"]["requires"],
        *(line for extra in extras for line in extra),
        *(line for group in groups for line in group if isinstance(line, str)),
    ]
    requirements = [Requirement(line) for line in lines]
    return [requirement for requirement in requirements if requirement.name != "wordclass"]


def required_names(requirements: list[Requirement]) -> set[str]:
    """Return the names of requirements, of what these require, and so on."""
    seen = set()
    waiting = [*requirements]
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            lines = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:  # of another system
            continue
        extras = ["", *requirement.extras]
        for dependency in map(Requirement, lines):
            marker = dependency.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(dependency)
    return {name for name, _ in seen}


def test_every_installed_package_that_the_project_needs_is_pinned(project):
    needed = required_names(direct_requirements(project)) & installed_versions().keys()
    assert needed - pinned_versions().keys() == set()


def test_every_pin_is_needed_by_the_project(project):
    direct = direct_requirements(project)
    missing = {canonicalize_name(each.name) for each in direct} - installed_versions().keys()
    if missing:
        pytest.skip(f"not everything is installed: {', '.join(sorted(missing))}")
    assert pinned_versions().keys() - required_names(direct) == set()


def test_every_pin_satisfies_the_requirements_of_the_project(project):
    pins = pinned_versions()
    for requirement in direct_requirements(project):
        version = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement


def test_no_extra_allows_a_torch_whose_load_executes_code(project):
    floors = [
        Version(specifier.version)
        for requirement in direct_requirements(project)
        if requirement.name == "torch"
        for specifier in requirement.specifier
        if specifier.operator == ">="
    ]
    assert len(floors) == 3
    assert min(floors) >= Version("2.6")  # CVE-2025-32434
