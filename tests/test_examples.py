"""Every example runs and prints something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, data_home):
    environment = {**os.environ, "WORDCLASS_HOME": str(data_home)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
