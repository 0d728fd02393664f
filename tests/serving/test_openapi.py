"""Requests that schemathesis generates from the OpenAPI document."""

import subprocess
import sys

import pytest
from explored_models import model
from running_service import running

pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    hosts = tmp_path_factory.mktemp("described")
    model("linear").save(hosts / "news")
    with running(hosts, hosts / "news", "--quiet") as service:
        yield service


@pytest.mark.parametrize(
    "n_examples", [10, pytest.param(300, marks=pytest.mark.slow)], ids=lambda n: f"{n} examples"
)
def test_the_service_follows_its_document(service, tmp_path, n_examples):
    # schemathesis does not expect by itself that bodies can be too large
    refusals = [400, 401, 404, 405, 408, 413, 415]
    config = tmp_path / "schemathesis.toml"
    config.write_text(f"[checks]\nnegative_data_rejection.expected-statuses = {refusals}\n")
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run",
         f"{service.address}openapi.json",
         "--max-examples", str(n_examples), "--seed", "1", "--no-color",
         "--request-timeout", "60",
         "--suppress-health-check", "all"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    output = "\n".join(line[:300] for line in run.stdout.splitlines())
    assert run.returncode == 0, output[-8000:] + run.stderr[-2000:]
    assert service.get("/health").status_code == 200
