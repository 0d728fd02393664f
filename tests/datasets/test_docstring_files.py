from importlib.machinery import ModuleSpec

import pytest

from wordclass.datasets import _docstring_files, docstrings
from wordclass.datasets._docstring_files import find_files


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Lay out a small standard library and a small numpy; return how to put files there."""

    def find_spec(name):
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations.append(str(tmp_path / "packages" / name))
        return spec

    def put(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    paths = {"stdlib": str(tmp_path / "lib")}
    monkeypatch.setattr(_docstring_files.sysconfig, "get_paths", lambda: paths)
    monkeypatch.setattr(_docstring_files.importlib.util, "find_spec", find_spec)
    return put


def found(*areas):
    return [(file.area, file.module) for file in find_files(areas)]


def test_an_area_is_a_file_or_a_folder_or_a_python_twin(installed):
    installed("lib/typing.py", "lib/email/__init__.py", "lib/email/mime/text.py", "lib/_pyio.py")
    installed("lib/other.py", "lib/site-packages/email/x.py")
    assert found("typing", "email", "io") == [
        ("email", "email"),
        ("email", "email.mime.text"),
        ("io", "io"),
        ("typing", "typing"),
    ]


def test_a_module_belongs_to_the_longest_area(installed):
    installed("packages/numpy/_core/numeric.py", "packages/numpy/lib/npyio.py")
    installed("packages/numpy/ma/core.py", "packages/numpy/matlib.py")
    assert found("numpy", "numpy.ma") == [
        ("numpy", "numpy._core.numeric"),
        ("numpy", "numpy.lib.npyio"),
        ("numpy.ma", "numpy.ma.core"),
        ("numpy", "numpy.matlib"),
    ]
    assert found("numpy.ma") == [("numpy.ma", "numpy.ma.core")]


def test_tests_and_tools_are_passed_over(installed):
    installed(
        "packages/scipy/stats/tests/common.py",
        "packages/scipy/stats/test_things.py",
        "packages/scipy/stats/conftest.py",
        "packages/scipy/stats/_bws_test.py",
        "packages/numpy/f2py/rules.py",
        "packages/numpy/testing/print.py",
        "packages/numpy/_utils/_inspect.py",
    )
    assert found("scipy.stats", "numpy") == [("scipy.stats", "scipy.stats._bws_test")]


def test_an_area_that_is_not_there_has_no_files(installed):
    assert found("email", "numpy.ma") == []


def test_every_class_has_files_in_this_python():
    assert {file.area for file in find_files(docstrings.CLASSES)} == set(docstrings.CLASSES)
