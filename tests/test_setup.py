"""Tests of what the targets of the Makefile and the extras install, and in which versions."""

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

from wordclass import catalogue

ROOT = Path(__file__).parents[1]


PURPOSES = {"networks", "encoder", "serve", "excel", "plots", "cluster", "fasttext"}
EARLIER_NAMES = {"typer", "zstandard", "openpyxl", "matplotlib", "opentsne", "torch", "onnx"}
EARLIER_NAMES |= {"onnxruntime", "fsspec", "dask", "spark"}


@pytest.fixture
def project():
    if not (ROOT / "constraints.txt").is_file():
        pytest.skip("constraints.txt is missing, so this is not a checkout")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def installed_extras(target: str) -> set[str]:
    """Return the extras that a target of the Makefile installs."""
    if shutil.which("make") is None or not (ROOT / "Makefile").is_file():
        pytest.skip("make or the Makefile is missing, so this is not a checkout")
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    groups = re.findall(r"(?:\.|wordclass)\[([\w,]+)\]", planned)
    return {extra for group in groups for extra in group.split(",")}


def test_the_demo_installs_only_the_extra_that_it_uses():
    assert installed_extras("demo") == {"plots"}


@pytest.mark.parametrize("target", ["setup", "test"])
def test_the_other_targets_install_every_extra(target):
    assert "all" in installed_extras(target)


def test_extras_are_named_after_purposes_and_earlier_names_still_work(project):
    extras = project["project"]["optional-dependencies"]
    assert extras.keys() == PURPOSES | EARLIER_NAMES | {"all"}
    (all_purposes, smaller) = extras["all"]
    assert {*Requirement(all_purposes).extras} == PURPOSES
    assert {*Requirement(smaller).extras} <= EARLIER_NAMES


def test_the_commands_need_no_extra(project):
    core = {Requirement(line).name for line in project["project"]["dependencies"]}
    assert {"typer", "rich"} <= core


def test_errors_name_extras_that_exist(project):
    extras = project["project"]["optional-dependencies"]
    packages = ["torch", "matplotlib", "openTSNE", "openpyxl", "fasttext", "uvicorn", "pyspark"]
    packages += ["starlette", "distributed", "dask", "zstandard", "onnxruntime", "fsspec", "onnx"]
    for package in packages:
        names = required_names([Requirement(f"wordclass[{catalogue.extra_of(package)}]")])
        lines = " ".join(extras[catalogue.extra_of(package)]).lower()
        assert package.lower() in lines or package.lower() in names


@pytest.mark.xdist_group("alone")
def test_groups_of_tests_stay_together(request):
    if not request.config.getoption("loadgroup", False):
        pytest.skip("groups need --dist loadgroup")
    assert request.node.nodeid.endswith("@alone")  # so that one process runs all tests of a group


def test_the_demo_imports_no_other_extra():
    code = (
        "import sys, wordclass.cli.demo, wordclass.explorer.pictures, wordclass.cli.app\n"
        "from wordclass import classifier\n"
        "classifier('linear'), classifier('svm'), classifier('nearest')\n"
        "extras = {'torch', 'fasttext', 'onnx', 'onnxscript', 'zstandard', 'tokenizers', 'dask'}\n"
        "extras |= {'sentence_transformers', 'onnxruntime', 'distributed', 'pyspark', 'fsspec'}\n"
        "extras &= {*sys.modules}\n"
        "sys.exit(f'imported: {extras}' if extras else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- requirements and constraints ---------------------------------------------------------------


def pinned_versions() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def installed_versions() -> dict[str, str]:
    """Return the versions of the other installed packages, by normalized name."""
    versions = {
        canonicalize_name(distribution.metadata["Name"]): distribution.version
        for distribution in metadata.distributions()
    }
    return {name: version for name, version in versions.items() if name != "wordclass"}


def direct_requirements(project) -> list[Requirement]:
    """Return everything that pyproject.toml and the Makefile require by name."""
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    lines = [
        "pip",  # `make setup` upgrades it
        *project["project"]["dependencies"],
        *project["build-system"]["requires"],
        *(line for extra in extras for line in extra),
        *(line for group in groups for line in group if isinstance(line, str)),
    ]
    requirements = [Requirement(line) for line in lines]
    return [requirement for requirement in requirements if requirement.name != "wordclass"]


def required_names(requirements: list[Requirement]) -> set[str]:
    """Return the names of requirements and of everything that they require."""
    visited = set()
    pending = [*requirements]
    while pending:
        requirement = pending.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in visited:
            continue
        visited.add(key)
        try:
            lines = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:  # needed on another system only
            continue
        extras = ["", *requirement.extras]
        for dependency in map(Requirement, lines):
            marker = dependency.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                pending.append(dependency)
    return {name for name, _ in visited}


def test_every_required_package_is_pinned(project):
    needed = required_names(direct_requirements(project)) & installed_versions().keys()
    assert needed - pinned_versions().keys() == set()


def test_every_pin_is_needed_by_the_project(project):
    direct = direct_requirements(project)
    missing = {
        canonicalize_name(requirement.name) for requirement in direct
    } - installed_versions().keys()
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
