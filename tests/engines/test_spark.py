"""Errors of the engine "spark" when its cluster is missing, silent or outdated."""

import os
import socket
import subprocess
import sys

import pytest
from in_parts import write_parts
from made_up import corpus

import wordclass as wc

pytestmark = pytest.mark.xdist_group("clusters")


def test_an_executor_with_another_version_is_refused(spark_session, tmp_path, monkeypatch):
    from wordclass.engines import spark

    parts = write_parts(tmp_path / "parts", *corpus(30), 3)
    engine = wc.engine("spark", session=spark_session)
    # changes the version in the driver, which is this process, but not in the executors
    monkeypatch.setattr(spark.metadata, "version", lambda _name: "9.9")
    with pytest.raises(
        wc.EngineError, match=r"an executor has wordclass \d\S+; expected 9.9, as on"
    ):
        wc.WordClassEmbeddings().fit_parts(parts, engine=engine)


def test_a_master_that_does_not_answer_is_an_error():
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    with pytest.raises(wc.EngineError, match=r"the master spark://127.0.0.1:1 does not answer"):
        wc.engine("spark", master="spark://127.0.0.1:1")


def test_a_session_together_with_an_address_is_refused(spark_session):
    with pytest.raises(wc.InputError, match="not both"):
        wc.engine("spark", session=spark_session, master="local")


def run_python(code, **environment):
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    return process.stdout + process.stderr


@pytest.mark.slow
def test_a_master_that_accepts_but_stays_silent_is_an_error(spark_session):
    del spark_session  # requested only to skip the test without Java
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        code = f"""
import os, time, wordclass as wc
start = time.time()
try:
    wc.engine("spark", master={master!r})
except wc.EngineError as error:
    print("error:", error, time.time() - start < 30, flush=True)
os._exit(0)
"""
        assert f"error: the master {master} does not answer within 20 seconds" in run_python(code)


@pytest.mark.slow
def test_an_executor_without_wordclass_is_refused(spark_session, tmp_path):
    del spark_session  # requested only to skip the test without Java
    parts = write_parts(tmp_path / "parts", *corpus(30), 3)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    code = f"""
import wordclass as wc
try:
    wc.WordClassEmbeddings().fit_parts({str(parts)!r}, engine="spark", n_workers=1)
except wc.EngineError as error:
    print("error:", error)
"""
    # the base Python of this environment, without the packages that are installed in it
    output = run_python(code, PYSPARK_PYTHON=sys.base_prefix + "/bin/python3", PYTHONPATH=packages)
    assert "error: an executor has no wordclass; install version" in output
