import gc
import subprocess
import sys

from wordclass import progress
from wordclass.datasets import _docstring_files, _docstring_sources
from wordclass.datasets._docstring_files import SourceFile
from wordclass.datasets._docstring_sources import Docstring, read_file

MODULE = '''
"""The module."""
import sys

def public(): "A function."
async def waits(): "A coroutine."
def _private(): "Not this."
def silent(): pass

class Shape:
    """A class."""
    def __init__(self): "Not this."
    def area(self):
        "A method."
        def inner(): "Not this."
    class Point: "A class in a class."

class _Hidden:
    "Not this."
    def method(self): "Nor this."

if sys.platform == "win32":
    def windows(): "Under if."
try:
    import nothing
except ImportError:
    def fallback(): "Under except."

add_newdoc("numpy.core", "zeros", """
    An array
    of zeros.
    """)
add_newdoc("numpy.core", "ndarray", ("dot", "A method by pair."))
add_newdoc("numpy.core", "ndarray", [("all", "One of a list."), ("_any", "Not this.")])
add_newdoc("gamma", "Of scipy.")
add_newdoc("numpy.core", "sum", computed("not this"))
add_newdoc("numpy.core", "cos", None)
add_newdoc()
other("numpy.core", "tan", "Not this.")
'''


def read(tmp_path, source, module="pkg.shapes"):
    path = tmp_path / "source.py"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return list(read_file(SourceFile("pkg", module, path)))


def test_public_objects_are_read_and_private_ones_are_not(tmp_path):
    assert {doc.name: doc.text for doc in read(tmp_path, MODULE)} == {
        "": "The module.",
        "public": "A function.",
        "waits": "A coroutine.",
        "Shape": "A class.",
        "Shape.area": "A method.",
        "Shape.Point": "A class in a class.",
        "windows": "Under if.",
        "fallback": "Under except.",
        "zeros": "An array\nof zeros.",
        "ndarray.dot": "A method by pair.",
        "ndarray.all": "One of a list.",
        "gamma": "Of scipy.",
    }


def test_a_private_module_has_public_objects(tmp_path):
    found = read(tmp_path, '"""Not this."""\ndef f(): "This."', module="pkg._shapes")
    assert found == [Docstring("pkg", "pkg._shapes", "f", "This.")]


def test_a_method_belongs_to_its_class():
    assert Docstring("a", "a.b", "C.D.e", "").owner == Docstring("a", "a.b", "C", "").owner
    assert Docstring("a", "a.b", "C", "").owner != Docstring("a", "a.b", "f", "").owner


def test_a_file_that_does_not_parse_is_passed_over(tmp_path):
    assert read(tmp_path, "def f(:") == []
    assert read(tmp_path, b'"""\xff\xfe"""') == []
    assert read(tmp_path, b'"null \0"') == []
    assert list(read_file(SourceFile("a", "a", tmp_path / "missing.py"))) == []


def test_the_encoding_is_the_one_the_file_declares(tmp_path):
    source = '# -*- coding: latin-1 -*-\n"""Größe."""'.encode("latin-1")
    assert [doc.text for doc in read(tmp_path, source)] == ["Größe."]


def test_doubtful_escapes_in_other_peoples_code_warn_nobody(tmp_path):
    assert [doc.text for doc in read(tmp_path, r'"""\d"""')] == [r"\d"]


def test_documents_are_sorted_and_progress_is_told(tmp_path, monkeypatch):
    for name, text in {"zoo": "def b(): 'B.'\ndef a(): 'A.'", "ape": "'Ape.'"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(_docstring_files.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    told = []
    with progress.told_to(lambda *step: told.append(step)):
        found = _docstring_sources.read_all(("zoo", "ape"))
    assert [doc.text for doc in found] == ["Ape.", "A.", "B."]
    assert told[-1] == ("reading docstrings", 2, 2)
    assert gc.isenabled()


def test_nothing_is_imported():
    code = """if True:
        import sys
        from wordclass.datasets import _docstring_sources
        before = set(sys.modules)
        found = _docstring_sources.read_all(("numpy.ma", "scipy.cluster", "sklearn.cluster"))
        new = set(sys.modules) - before
        assert len(found) > 100, len(found)
        assert not [name for name in new if name.startswith(("numpy", "scipy", "sklearn"))], new
    """
    subprocess.run([sys.executable, "-c", code], check=True)
