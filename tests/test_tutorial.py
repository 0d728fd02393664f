"""The commands of docs/tutorial.md, run one after the other as a reader would."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_does_what_it_says(tmp_path):
    for package in ("uvicorn", "openTSNE", "typer"):
        pytest.importorskip(package)
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("there is no curl, or no bash")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    blocks = re.findall(r"```bash\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    script = "set -e\n" + "\n".join(blocks).replace("8000", str(port))
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert '"results":[[{"label":"account"' in run.stdout
    assert '"uri":"urn:wordclass:tickets:account"' in run.stdout
    assert '{"models":[{"id":"tickets","classifier":"linear","n_classes":3}]}' in run.stdout
    assert "billing" in run.stdout
    assert "reloaded" in run.stderr
    page = (tmp_path / "tickets.html").read_bytes()
    assert b"password" in page
    assert len(page) < 3_000_000
