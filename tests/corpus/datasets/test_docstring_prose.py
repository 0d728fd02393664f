import gc
import subprocess
import sys
from importlib.machinery import ModuleSpec
from inspect import cleandoc

import pytest

from wordclass import progress
from wordclass.corpus.datasets import _docstring_prose, docstrings
from wordclass.corpus.datasets._docstring_prose import (
    Docstring,
    SourceFile,
    clean,
    count_words,
    find_files,
    read_file,
    words_of,
)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Lay out a small standard library and numpy, and return a function that adds files."""

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
    monkeypatch.setattr(_docstring_prose.sysconfig, "get_paths", lambda: paths)
    monkeypatch.setattr(_docstring_prose.importlib.util, "find_spec", find_spec)
    return put


def list_modules(*areas):
    return [(file.area, file.module) for file in find_files(areas)]


def test_an_area_is_a_file_or_a_folder_or_a_python_twin(installed):
    installed("lib/typing.py", "lib/email/__init__.py", "lib/email/mime/text.py", "lib/_pyio.py")
    installed("lib/other.py", "lib/site-packages/email/x.py")
    assert list_modules("typing", "email", "io") == [
        ("email", "email"),
        ("email", "email.mime.text"),
        ("io", "io"),
        ("typing", "typing"),
    ]


def test_a_module_belongs_to_the_longest_area(installed):
    installed("packages/numpy/_core/numeric.py", "packages/numpy/lib/npyio.py")
    installed("packages/numpy/ma/core.py", "packages/numpy/matlib.py")
    assert list_modules("numpy", "numpy.ma") == [
        ("numpy", "numpy._core.numeric"),
        ("numpy", "numpy.lib.npyio"),
        ("numpy.ma", "numpy.ma.core"),
        ("numpy", "numpy.matlib"),
    ]
    assert list_modules("numpy.ma") == [("numpy.ma", "numpy.ma.core")]


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
    assert list_modules("scipy.stats", "numpy") == [("scipy.stats", "scipy.stats._bws_test")]


def test_an_area_that_is_not_there_has_no_files(installed):
    assert list_modules("email", "numpy.ma") == []


def test_every_class_has_files_in_this_python():
    assert {file.area for file in find_files(docstrings.CLASSES)} == set(docstrings.CLASSES)


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
    docstrings = read(tmp_path, '"""Not this."""\ndef f(): "This."', module="pkg._shapes")
    assert docstrings == [Docstring("pkg", "pkg._shapes", "f", "This.")]


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


def test_invalid_escapes_in_the_parsed_code_do_not_warn(tmp_path):
    assert [doc.text for doc in read(tmp_path, r'"""\d"""')] == [r"\d"]


def test_documents_are_sorted_and_progress_is_reported(tmp_path, monkeypatch):
    for name, text in {"zoo": "def b(): 'B.'\ndef a(): 'A.'", "ape": "'Ape.'"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(_docstring_prose.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    reports = []
    with progress.on_progress(lambda *step: reports.append(step)):
        docstrings = _docstring_prose.read_all(("zoo", "ape"))
    assert [doc.text for doc in docstrings] == ["Ape.", "A.", "B."]
    assert reports[-1] == ("reading docstrings", 2, 2)
    assert gc.isenabled()


def test_nothing_is_imported():
    code = """if True:
        import sys
        from wordclass.corpus.datasets import _docstring_prose
        before = set(sys.modules)
        found = _docstring_prose.read_all(("numpy.ma", "scipy.cluster", "sklearn.cluster"))
        new = set(sys.modules) - before
        assert len(found) > 100, len(found)
        assert not [name for name in new if name.startswith(("numpy", "scipy", "sklearn"))], new
    """
    subprocess.run([sys.executable, "-c", code], check=True)


NUMPYDOC = """
    Draw the dendrogram of a linkage.

    Parameters
    ----------
    height : float, optional
        Where to cut.

        .. versionadded:: 1.4
            Before, it was fixed.

    Returns
    -------
    leaves : list

    See Also
    --------
    other : does other things

    Notes
    -----
    It is drawn from the top [1]_.

    References
    ----------
    .. [1] Somebody, "Something", 1999.

    Examples
    --------
    >>> draw(height=3)
    [1, 2]

    A second example in words.
    """


def cleaned(docstring, hidden=()):
    return clean(cleandoc(docstring), frozenset(hidden))


def test_sections_of_prose_stay_and_the_others_go():
    assert cleaned(NUMPYDOC) == (
        "Draw the dendrogram of a linkage. height float, optional Where to cut. "
        "leaves list It is drawn from the top"
    )


@pytest.mark.parametrize("title", ["See Also", "References", "Examples", "Methods", "Attributes"])
def test_a_cut_section_ends_at_the_next_heading(title):
    text = f"First.\n\n{title}\n{'-' * len(title)}\nhidden\n\nNotes\n-----\nLast."
    assert cleaned(text) == "First. Last."


def test_a_prompt_goes_with_its_answer_and_its_announcement():
    text = """
        Move forward.

        Example (for an instance named pen):
        >>> pen.forward(10)
        (10, 0)
        more answer

        Then stop.
        """
    assert cleaned(text) == "Move forward. Then stop."


def test_a_directive_goes_with_what_is_below_it_and_no_further():
    text = """
        Before.

        .. deprecated:: 1.2
           Use something else.

           Really.
        After.
        """
    assert cleaned(text) == "Before. After."


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("See https://example.org/a?b=c for more", "See for more"),
        ("`The page <http://example.org/>`_ says", "The page says"),
        ("write to someone@example.org today", "write to today"),
        ("an instance of :class:`~a.b.Thing` here", "an instance of here"),
        ("the value :math:`x^2` of x", "the value of x"),
        ("calls np.linalg.norm and a_b.c twice", "calls and twice"),
        ("takes %(before)s and {name} too", "takes and too"),
        ("the number 3.14 stays", "the number 3.14 stays"),
        ("an ``x`` or a `y` or **bold**", "an x or a y or bold"),
        ("from scikit-learn and scikit_learn_data too", "from and too"),
        ("first : int or None", "first int or None"),
        ("where x < 3 and y = 4", "where x < 3 and y = 4"),
        ("prose with >>> inside", "prose with inside"),
        ("coef_ keeps its underscore", "coef_ keeps its underscore"),
    ],
)
def test_what_is_no_prose_goes(docstring, expected):
    assert cleaned(docstring) == expected


def test_a_sentence_that_only_points_elsewhere_goes():
    text = "It fits a tree. Read more in the :ref:`User Guide <tree>`. It is quick."
    assert cleaned(text) == "It fits a tree. It is quick."


def test_legal_matters_and_credits_go():
    text = """
        Reads files.

        Copyright (c) 2001 by Somebody.
        All else is forbidden.

        Written by Somebody Else, 1999.
        It is fast, its authors say.
        """
    assert cleaned(text) == "Reads files. It is fast, its authors say."


def test_hidden_words_go_as_whole_words_in_any_case():
    hidden = words_of(["email", "sklearn.linear_model"])
    text = "An Email, the EMAIL-like emails; a linear_model is a Linear model of sklearn, nonlinear"
    assert cleaned(text, hidden) == "An the -like emails; a is a of nonlinear"


def test_words_are_pieces_with_letters():
    assert count_words("one two, 3 4.5 x array-like __doc__ (n,) =") == 4


def test_nothing_is_left_of_an_empty_docstring():
    assert cleaned("") == ""
    assert words_of([]) == frozenset()
