"""Clusters that an engine starts listen on the loopback interface only."""

import json
import os
import shutil
import socket
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import listening_sockets
import pytest

from wordclass.engines import spark

pytestmark = [
    pytest.mark.xdist_group("clusters"),
    pytest.mark.skipif(not Path("/proc/net/tcp").is_file(), reason="sockets are listed on Linux"),
]

# in a separate process, so that all sockets of its process tree belong to the engine
CODE = """
import json, operator, os, sys
import listening_sockets
import wordclass as wc

def count(items):
    return sum(1 for _ in items)

with wc.engine(sys.argv[1], n_workers=2) as engine:
    assert engine.map_and_add(count, range(6), operator.add, lambda n_items: None) == 6
    print(json.dumps([str(address) for address in listening_sockets.addresses(os.getpid())]))
"""


# a virtual machine that runs for seconds needs no optimizing compiler
JAVA = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"


def listening_addresses(engine):
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_LOCAL_IP"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    environment["PYSPARK_SUBMIT_ARGS"] = JAVA
    run = subprocess.run(
        [sys.executable, "-c", CODE, engine],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    return [ip_address(address) for address in json.loads(run.stdout)]


def require(engine):
    if engine == "spark":
        pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("Spark needs Java, which is not installed (Debian: default-jre)")
    else:
        pytest.importorskip("distributed", reason="the extra 'dask' is not installed")


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_every_socket_of_an_engine_is_on_the_loopback_interface(engine):
    require(engine)
    addresses = listening_addresses(engine)
    assert len(addresses) >= 3  # scheduler and workers, or driver and block manager
    assert [address for address in addresses if not address.is_loopback] == []


def test_another_address_is_used_only_if_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert {*spark._driver_addresses("local[2,4]").values()} == {"127.0.0.1"}
    assert (
        spark._driver_addresses("spark://10.0.0.1:7077") == {}
    )  # its executors must reach the driver
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.0.0.7")
    assert {*spark._driver_addresses("local").values()} == {"10.0.0.7"}


def test_sockets_that_other_machines_reach_are_noticed():
    with socket.create_server(("", 0)):
        assert ip_address("0.0.0.0") in listening_sockets.addresses(os.getpid())
    if socket.has_dualstack_ipv6():
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            assert ip_address("::1") in listening_sockets.addresses(os.getpid())
