"""The OpenAPI document against the service, by schemathesis, which makes up requests."""

import subprocess
import sys

import pytest
from explored_models import model
from running_service import running

pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    made = tmp_path_factory.mktemp("described")
    model("linear").save(made / "news")
    with running(made, made / "news", "--quiet") as found:
        yield found


@pytest.mark.parametrize(
    "n_examples", [10, pytest.param(300, marks=pytest.mark.slow)], ids=lambda n: f"{n} examples"
)
def test_the_service_does_what_its_document_says(service, tmp_path, n_examples):
    # a body that is too large is refused, too, which it does not take for a refusal by itself
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
    told = "\n".join(line[:300] for line in run.stdout.splitlines())
    assert run.returncode == 0, told[-8000:] + run.stderr[-2000:]
    assert service.get("/health").status_code == 200
