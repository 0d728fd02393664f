"""Docstrings of installed packages, read from their source files and converted to prose.

The files are parsed and not imported, because an import has side effects, needs optional packages
and would make the corpus depend on other installed packages.
"""

import ast
import gc
import importlib.util
import re
import sysconfig
import warnings
from collections.abc import Collection, Iterable, Iterator
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from wordclass import progress

_PACKAGES = ("numpy", "scipy", "sklearn")
# tests, copies of other projects (numpy._utils holds an old `inspect`), and tools that are not part
# of the library itself
_TESTS = {"test", "testing", "tests"}
_COPIES = {"_utils", "array_api_compat", "array_api_extra", "externals"}
_TOOLS = {"_pyinstaller", "_typing", "code_generators", "distutils", "f2py", "typing"}
_DROPPED_FILES = {"__main__", "conftest", "setup"}

_CUT_SECTIONS = {"see also", "references", "examples", "example", "methods", "attributes"}
_UNDERLINE = re.compile(r"\s*([-=~^*#+\"'`])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\. ?(\S|$)")
_PROMPT = re.compile(r"\s*(>>>|In \[\d+\]:)")
# a paragraph with one of these words is about the file, not about the object
_LEGAL = ("copyright", "license", "licence", "warranty", "all rights reserved")
_CREDIT = re.compile(r"^[ \t]*([Aa]uthors?:|([Ww]ritten|[Cc]ontributed) by).*", re.MULTILINE)

# applied in this order, as one combined pattern takes twice the time
_NOISE = (
    re.compile(r":[\w:+-]+:`[^`]*`|\[\w+\]_"),  # roles with their targets, footnotes
    re.compile(r"%\(\w+\)[a-z]|\$?\{\w*\}"),  # templates
    re.compile(r"(?<![\w.+@-])[\w.+-]+(?:://|@\w)[^\s<>)\]`]*"),  # URLs, addresses
    re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.\w+)+"),  # dotted paths
    re.compile(r"[Ss]cikit[-_]learn\w*"),  # the other name of sklearn
    re.compile(r"`_{1,2}(?!\w)|[`|]|\*\*|::(?=\s|$)|>>>|<\s*>|[-=~+^]{3,}"),  # markup
)
# sentences such as "Read more in the :ref:`User Guide <...>`." have no content of their own
_POINTER = re.compile(r"[^.]*:(?:ref|doc):`[^`]*`[^.]*\.?")
# punctuation between spaces, which belonged to removed text
_ORPHAN = re.compile(r"[^\w=<>+/]+|[^\w\s]{3,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2}")


class SourceFile(NamedTuple):
    """A file of Python source, the module it defines and the area it belongs to."""

    area: str
    module: str
    path: Path


class Docstring(NamedTuple):
    """The docstring of a public object.

    `name` is the qualified name within the module, and "" for the module itself.
    """

    area: str
    module: str
    name: str
    text: str

    @property
    def owner(self) -> str:
        """Module and top-level object. A method belongs to its class."""
        return f"{self.module}:{self.name.partition('.')[0]}"


def read_all(areas: Collection[str]) -> list[Docstring]:
    """Read the docstrings of all public objects of some areas, sorted by area, module and name.

    Parameters
    ----------
    areas : collection of str
        Names of modules or packages. A module belongs to the longest of these names that it starts
        with, so "numpy" does not include "numpy.ma" if both are areas.
    """
    docstrings: list[Docstring] = []
    was_enabled = gc.isenabled()
    # the collector would walk the syntax trees, which have no cycles, and take a third of the time
    gc.disable()
    try:
        for file in progress.track(find_files(areas), "reading docstrings"):
            docstrings += read_file(file)
    finally:
        if was_enabled:
            gc.enable()
    # sorting is stable, so definitions of the same name keep their order
    return sorted(docstrings, key=lambda docstring: docstring[:3])


def find_files(areas: Collection[str]) -> list[SourceFile]:
    """List the source files of some areas, sorted by module, without visiting other files."""
    files = []
    for root, package, path in _candidates(areas):
        relative_path = path.relative_to(root)
        is_package = relative_path.stem == "__init__"
        parts = (relative_path.parent if is_package else relative_path.with_suffix("")).parts
        module = ".".join(filter(None, (package, *parts))).removeprefix("_py")
        # files such as _bws_test.py hold statistical tests and are kept
        is_test = relative_path.stem.startswith("test_")
        is_foreign = {*relative_path.parts} & (_TESTS | _COPIES | _TOOLS)
        is_dropped = is_test or is_foreign or relative_path.stem in _DROPPED_FILES
        area = _area_of(module, areas)
        if area and not is_dropped:
            files.append(SourceFile(area, module, path))
    return sorted(files, key=lambda file: (file.module, str(file.path)))


def _candidates(areas: Collection[str]) -> Iterator[tuple[Path, str, Path]]:
    """Yield (root, package, path) of all files at or below the areas."""
    packages = {area.partition(".")[0] for area in areas} & set(_PACKAGES)
    standard = Path(sysconfig.get_paths()["stdlib"])
    for name in (area for area in areas if area.partition(".")[0] not in packages):
        # the docstrings of modules such as decimal.py are in _pydecimal.py
        modules = (standard / f"{name}.py", standard / f"_py{name}.py")
        for path in (*filter(Path.is_file, modules), *(standard / name).rglob("*.py")):
            yield standard, "", path
    for package in packages:
        # find_spec does not import a top-level package
        spec = importlib.util.find_spec(package)
        for location in (spec and spec.submodule_search_locations) or ():
            for path in Path(location).rglob("*.py"):
                yield Path(location), package, path


def _area_of(module: str, areas: Collection[str]) -> str:
    while module and module not in areas:
        module = module.rpartition(".")[0]
    return module


def read_file(file: SourceFile) -> Iterator[Docstring]:
    """Read the docstrings of the public objects of a file, or none if the file cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the parsed code
            tree = ast.parse(file.path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    is_public = not file.module.rpartition(".")[2].startswith("_")
    if is_public and (text := ast.get_docstring(tree)):
        yield Docstring(file.area, file.module, "", text)
    for name, text in _documented(tree, ""):
        if not any(part.startswith("_") for part in name.split(".")):
            yield Docstring(file.area, file.module, name, text)


def _documented(node: ast.AST, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield names and docstrings of all definitions in a module or class, at any depth."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if text := ast.get_docstring(child):
                yield prefix + child.name, text
            if isinstance(child, ast.ClassDef):
                yield from _documented(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Expr):
            yield from _read_newdoc(child.value)
        elif isinstance(child, ast.stmt | ast.excepthandler):
            yield from _documented(child, prefix)


def _read_newdoc(call: ast.expr) -> Iterator[tuple[str, str]]:
    """Read the docstrings of a compiled object from a literal call of `add_newdoc`.

    numpy calls it with (module, object, text), (module, object, (method, text)) or a list of such
    pairs, scipy with (object, text).
    """
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "add_newdoc":
        return
    try:
        *_, name, docs = (ast.literal_eval(argument) for argument in call.args)
    except (TypeError, ValueError):  # the text is computed or missing
        return
    for entry in docs if isinstance(docs, list) else [docs]:
        match entry:
            case str(text):
                yield f"{name}", cleandoc(text)
            case (str(method), str(text)):
                yield f"{name}.{method}", cleandoc(text)


def words_of(names: Iterable[str]) -> frozenset[str]:
    """Split names into the words that reveal them: their parts, and the parts of these.

    Examples
    --------
    >>> sorted(words_of(["email", "sklearn.linear_model"]))
    ['email', 'linear', 'linear_model', 'model', 'sklearn']
    """
    parts = {part for name in names for part in name.lower().split(".")}
    return frozenset(parts.union(*(part.split("_") for part in parts)) - {""})


def clean(docstring: str, hidden_words: frozenset[str]) -> str:
    """Return the prose of a docstring on one line.

    Parameters
    ----------
    docstring
        The docstring without indentation, as `inspect.cleandoc` returns it.
    hidden_words
        Words to leave out, in lower case. They are the same for all documents, because leaving out
        only the class of the document would reveal it.
    """
    lines = _without_code(_without_directives(_without_sections(docstring.splitlines())))
    prose = " ".join(_without_asides(lines))
    for pattern in _NOISE:
        prose = pattern.sub(" ", prose)
    prose = _WORD.sub(lambda word: "" if word[0].lower() in hidden_words else word[0], prose)
    return " ".join(piece for piece in prose.split() if not _ORPHAN.fullmatch(piece))


def count_words(text: str) -> int:
    """Count the words, which are pieces between spaces with two letters in a row."""
    return sum(_LETTERS.search(piece) is not None for piece in text.split())


def _without_sections(lines: list[str]) -> Iterator[str]:
    """Leave out sections such as See Also, and the headings of all sections."""
    is_cut = False
    for line, below in pairwise([*lines, ""]):
        if line.strip() and _UNDERLINE.fullmatch(below):
            is_cut = line.strip().rstrip(":").lower() in _CUT_SECTIONS
        elif not is_cut and not _UNDERLINE.fullmatch(line):
            yield line


def _without_directives(lines: Iterable[str]) -> Iterator[str]:
    """Leave out directives, footnotes and comments of reStructuredText with their content."""
    indent: int | None = None  # of the current directive
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        if indent is None and _DIRECTIVE.match(line):
            indent = depth
        if indent is None:
            yield line


def _without_code(lines: Iterable[str]) -> list[str]:
    """Leave out examples with a prompt, their output and the line that announces them.

    The output ends at an empty line.
    """
    prose: list[str] = []
    is_code = False
    for line in lines:
        if not is_code and _PROMPT.match(line):
            is_code = True
            while prose and not prose[-1].strip():
                prose.pop()
            if prose and prose[-1].rstrip().endswith(":"):
                prose.pop()
        elif not line.strip():
            is_code = False
        if not is_code:
            prose.append(line)
    return prose


def _without_asides(lines: list[str]) -> Iterator[str]:
    """Yield the paragraphs, without legal ones and without references to other pages."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        lowered = paragraph.lower()
        if not any(word in lowered for word in _LEGAL):
            uncredited = _CREDIT.sub(" ", paragraph)
            has_pointer = ":ref:" in paragraph or ":doc:" in paragraph
            yield _POINTER.sub(" ", uncredited) if has_pointer else uncredited
