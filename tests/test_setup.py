"""What the targets of the Makefile install."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
        "import sys, wordclass.report.demo, wordclass.report.pictures, wordclass.cli.app\n"
        "from wordclass import classifier\n"
        "classifier('linear'), classifier('svm'), classifier('nearest')\n"
        "others = {'torch', 'fasttext', 'onnx', 'onnxscript', 'zstandard', 'tokenizers', 'dask'}\n"
        "others |= {'sentence_transformers', 'onnxruntime', 'distributed', 'pyspark', 'fsspec'}\n"
        "others &= {*sys.modules}\n"
        "sys.exit(f'imported: {others}' if others else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
