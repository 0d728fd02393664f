"""Where the tests find corpora and small encoders, and how hard hypothesis tries."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# machines are noisy, so no deadlines; CI draws the same examples every time
settings.register_profile("here", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

_ROOT = Path(__file__).parents[1]

pytest_plugins = ("page_fixtures",)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    """Stop coverage where a test says so.

    The mark `no_cover` of pytest-cov has no effect in processes of xdist, in each of which two
    tracers are started and one is stopped.
    """
    if item.get_closest_marker("untraced") is None:
        return (yield)
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture(scope="session")
def shared_data():
    folder = _ROOT / os.environ.get("WORDCLASS_DATA", "../shared/data")

    def find(name):
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}; WORDCLASS_DATA names another folder")
        return folder / name

    return find


@pytest.fixture(scope="session")
def data_home() -> Path:
    """A home for corpora that outlives the run, so that the next one is quick."""
    home = Path(__file__).parent.parent / ".cache" / "tests-home"
    home.mkdir(parents=True, exist_ok=True)
    return home


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory):
    """Keep what is cached out of the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDCLASS_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """Folders of small encoders by kind, each made once; tests that change one copy it."""
    made = {}

    def find(kind):
        if kind not in made:
            import small_encoders

            make = {
                "onnx": small_encoders.onnx_folder,
                "sentence_transformers": small_encoders.bert_folder,
                "static": small_encoders.static_folder,
            }[kind]
            made[kind] = make(tmp_path_factory.mktemp("encoders") / kind)
        return made[kind]

    return find


@pytest.fixture(scope="session")
def dask_client():
    """A Dask cluster of two worker processes, started once."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def spark_session():
    """Spark with two slots and four attempts of a task, started once."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java, which Spark needs (Debian: default-jre)")
    from wordclass.engines import spark

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(_ROOT), str(_ROOT / "tests")]))
        # code that runs for a minute is not worth optimizing
        java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{java}' pyspark-shell")
        with spark.Spark(master="local[2,4]") as engine:
            engine._session.conf.set("spark.sql.shuffle.partitions", "2")
            yield engine._session


@pytest.fixture
def engine_named(request):
    """An engine by name, with two workers; clusters are shared by all tests."""
    import wordclass as wc

    def make(name):
        if name == "dask":
            return wc.engine("dask", client=request.getfixturevalue("dask_client"))
        if name == "spark":
            return wc.engine("spark", session=request.getfixturevalue("spark_session"))
        return wc.engine(name, **({"n_workers": 2} if name == "processes" else {}))

    return make
