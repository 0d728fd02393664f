"""Errors of the engine "dask" when its cluster is missing, silent or outdated."""

import socket
import subprocess
import sys
import time

import pytest

import wordclass as wc

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.xdist_group("clusters")

WORKER = """
import importlib.metadata as metadata, sys
real = metadata.version
def version(name):
    if name != "wordclass":
        return real(name)
    if sys.argv[2] == "none":
        raise metadata.PackageNotFoundError(name)
    return sys.argv[2]
metadata.version = version
from distributed.cli.dask_worker import main
main([sys.argv[1], "--no-nanny", "--nthreads", "1", "--no-dashboard"])
"""


@pytest.fixture
def scheduler():
    """Yield the address of a scheduler, and a function that starts a worker of some version."""
    started = []
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:

        def start(version):
            command = [sys.executable, "-c", WORKER, cluster.scheduler_address, version]
            started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

        yield cluster.scheduler_address, start
        for worker in started:
            worker.kill()
            worker.wait()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("none", r"has no wordclass; install version \S+ there"),
        ("9.9", r"has wordclass 9.9; expected \S+, as here; install version \S+ there"),
    ],
)
def test_a_worker_without_wordclass_or_with_another_version_is_refused(scheduler, version, message):
    address, start = scheduler
    start(version)
    with pytest.raises(wc.EngineError, match=message) as error:
        wc.engine("dask", scheduler=address)
    assert "\n" not in str(error.value)


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch):
    from wordclass.engines import dask

    assert dask._CONNECT_SECONDS <= 25
    monkeypatch.setattr(dask, "_CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.perf_counter()
        with pytest.raises(wc.EngineError, match="not answer within 2 seconds; check the addr"):
            wc.engine("dask", scheduler=f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        assert time.perf_counter() - start < 12
    with pytest.raises(wc.EngineError, match="does not answer"):
        wc.engine("dask", scheduler="tcp://127.0.0.1:1")


def test_a_cluster_without_workers_is_an_error(scheduler, monkeypatch):
    from wordclass.engines import dask

    monkeypatch.setattr(dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(wc.EngineError, match="has no workers"):
        wc.engine("dask", scheduler=scheduler[0])


def test_a_client_together_with_an_address_is_refused(dask_client):
    with pytest.raises(wc.InputError, match="not both"):
        wc.engine("dask", client=dask_client, scheduler="tcp://127.0.0.1:1")


def test_a_cluster_that_the_engine_started_is_closed():
    with wc.engine("dask", n_workers=1) as engine:
        client = engine._client
        assert engine.n_workers == 1
    assert client.status == "closed"
