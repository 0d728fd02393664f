"""The docstrings of the installed packages, read from their source files and turned into prose.

The files are parsed, not imported: importing has side effects, needs optional packages and would
make the corpus depend on what else is installed.
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
# tests, what was copied from elsewhere (numpy._utils holds an old `inspect`), and tools beside the
# library proper
_TESTS = {"test", "testing", "tests"}
_COPIES = {"_utils", "array_api_compat", "array_api_extra", "externals"}
_TOOLS = {"_pyinstaller", "_typing", "code_generators", "distutils", "f2py", "typing"}
_DROPPED_FILES = {"__main__", "conftest", "setup"}

_CUT_SECTIONS = {"see also", "references", "examples", "example", "methods", "attributes"}
_UNDERLINE = re.compile(r"\s*([-=~^*#+\"'`])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\. ?(\S|$)")
_PROMPT = re.compile(r"\s*(>>>|In \[\d+\]:)")
# a paragraph with one of these speaks about the file, not about what the object does
_LEGAL = ("copyright", "license", "licence", "warranty", "all rights reserved")
_CREDIT = re.compile(r"^[ \t]*([Aa]uthors?:|([Ww]ritten|[Cc]ontributed) by).*", re.MULTILINE)

# in this order; one pattern for all takes twice the time
_NOISE = (
    re.compile(r":[\w:+-]+:`[^`]*`|\[\w+\]_"),  # roles with what they point to, footnotes
    re.compile(r"%\(\w+\)[a-z]|\$?\{\w*\}"),  # templates
    re.compile(r"(?<![\w.+@-])[\w.+-]+(?:://|@\w)[^\s<>)\]`]*"),  # URLs, addresses
    re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.\w+)+"),  # dotted paths
    re.compile(r"[Ss]cikit[-_]learn\w*"),  # the other name of sklearn
    re.compile(r"`_{1,2}(?!\w)|[`|]|\*\*|::(?=\s|$)|>>>|<\s*>|[-=~+^]{3,}"),  # markup
)
# "Read more in the :ref:`User Guide <...>`." sends the reader elsewhere and says nothing itself
_POINTER = re.compile(r"[^.]*:(?:ref|doc):`[^`]*`[^.]*\.?")
# punctuation alone between spaces: it belonged to what was removed
_ORPHAN = re.compile(r"[^\w=<>+/]+|[^\w\s]{3,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2}")


class SourceFile(NamedTuple):
    """A file of Python source, the module it defines and the area it belongs to."""

    area: str
    module: str
    path: Path


class Docstring(NamedTuple):
    """What a public object says about itself.

    `name` is the qualified name within the module; that of the module itself is empty.
    """

    area: str
    module: str
    name: str
    text: str

    @property
    def owner(self) -> str:
        """The module and the top-level object: a method belongs to its class."""
        return f"{self.module}:{self.name.partition('.')[0]}"


def read_all(areas: Collection[str]) -> list[Docstring]:
    """Read the docstrings of all public objects of some areas, sorted by area, module and name.

    Parameters
    ----------
    areas : collection of str
        Names of modules or packages. A module belongs to the longest name it starts with, so
        that "numpy" does not hold "numpy.ma" where both are given.
    """
    found: list[Docstring] = []
    was_enabled = gc.isenabled()
    # the collector would walk the syntax trees, which hold no cycles: a third of the time
    gc.disable()
    try:
        for file in progress.track(find_files(areas), "reading docstrings"):
            found += read_file(file)
    finally:
        if was_enabled:
            gc.enable()
    # stable: of two definitions with one name, the first in the file comes first
    return sorted(found, key=lambda docstring: docstring[:3])


def find_files(areas: Collection[str]) -> list[SourceFile]:
    """List the source files of some areas, sorted by module: no other file is looked at."""
    files = []
    for root, package, path in _candidates(areas):
        place = path.relative_to(root)
        parts = place.parent.parts if place.stem == "__init__" else place.with_suffix("").parts
        module = ".".join(filter(None, (package, *parts))).removeprefix("_py")
        # _bws_test.py and the like hold statistical tests
        is_test = place.stem.startswith("test_") or {*place.parts} & (_TESTS | _COPIES | _TOOLS)
        area = _area_of(module, areas)
        if area and not is_test and place.stem not in _DROPPED_FILES:
            files.append(SourceFile(area, module, path))
    return sorted(files, key=lambda file: (file.module, str(file.path)))


def _candidates(areas: Collection[str]) -> Iterator[tuple[Path, str, Path]]:
    """Go through the files at or below the areas: (root, package, path)."""
    packages = {area.partition(".")[0] for area in areas} & set(_PACKAGES)
    standard = Path(sysconfig.get_paths()["stdlib"])
    for name in (area for area in areas if area.partition(".")[0] not in packages):
        # decimal.py and the like hand on to _pydecimal.py, where the docstrings are
        modules = (standard / f"{name}.py", standard / f"_py{name}.py")
        for path in (*filter(Path.is_file, modules), *(standard / name).rglob("*.py")):
            yield standard, "", path
    for package in packages:
        # of a top-level package, find_spec imports nothing
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            for path in Path(place).rglob("*.py"):
                yield Path(place), package, path


def _area_of(module: str, areas: Collection[str]) -> str:
    while module and module not in areas:
        module = module.rpartition(".")[0]
    return module


def read_file(file: SourceFile) -> Iterator[Docstring]:
    """Read the docstrings of the public objects of one file; none where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's code
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
    """Go through the definitions in a module or class, also those under `if` and `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if text := ast.get_docstring(child):
                yield prefix + child.name, text
            if isinstance(child, ast.ClassDef):
                yield from _documented(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Expr):
            yield from _added(child.value)
        elif isinstance(child, ast.stmt | ast.excepthandler):
            yield from _documented(child, prefix)


def _added(call: ast.expr) -> Iterator[tuple[str, str]]:
    """Read what a call of `add_newdoc` says of a compiled object, where it is written out.

    numpy calls it with (place, object, text), (place, object, (method, text)) or a list of such
    pairs, scipy with (object, text).
    """
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "add_newdoc":
        return
    try:
        *_, name, said = (ast.literal_eval(argument) for argument in call.args)
    except (TypeError, ValueError):  # the text is computed, or there is none
        return
    for entry in said if isinstance(said, list) else [said]:
        match entry:
            case str(text):
                yield f"{name}", cleandoc(text)
            case (str(method), str(text)):
                yield f"{name}.{method}", cleandoc(text)


def words_of(names: Iterable[str]) -> frozenset[str]:
    """Split names into the words that give them away: the parts, and the parts of the parts.

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
        Without the indentation of the code, as `inspect.cleandoc` leaves it.
    hidden_words
        Words to leave out, in lower case. They are the same for every document: were only a
        document's own class left out, its absence would give the class away.
    """
    lines = _without_code(_without_directives(_without_sections(docstring.splitlines())))
    prose = " ".join(_without_asides(lines))
    for pattern in _NOISE:
        prose = pattern.sub(" ", prose)
    prose = _WORD.sub(lambda word: "" if word[0].lower() in hidden_words else word[0], prose)
    return " ".join(piece for piece in prose.split() if not _ORPHAN.fullmatch(piece))


def count_words(text: str) -> int:
    """Count the pieces between spaces that hold two letters in a row: numbers are no words."""
    return sum(_LETTERS.search(piece) is not None for piece in text.split())


def _without_sections(lines: list[str]) -> Iterator[str]:
    """Leave out the sections that list other things, and the headings of all sections."""
    is_cut = False
    for line, below in pairwise([*lines, ""]):
        if line.strip() and _UNDERLINE.fullmatch(below):
            is_cut = line.strip().rstrip(":").lower() in _CUT_SECTIONS
        elif not is_cut and not _UNDERLINE.fullmatch(line):
            yield line


def _without_directives(lines: Iterable[str]) -> Iterator[str]:
    """Leave out directives, footnotes and comments of reStructuredText with what is below them."""
    indent: int | None = None  # of the directive we are in
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        if indent is None and _DIRECTIVE.match(line):
            indent = depth
        if indent is None:
            yield line


def _without_code(lines: Iterable[str]) -> list[str]:
    """Leave out what was typed at a prompt, what was answered and the line that announces it.

    The answer ends at an empty line.
    """
    kept: list[str] = []
    is_code = False
    for line in lines:
        if not is_code and _PROMPT.match(line):
            is_code = True
            while kept and not kept[-1].strip():
                kept.pop()
            if kept and kept[-1].rstrip().endswith(":"):
                kept.pop()
        elif not line.strip():
            is_code = False
        if not is_code:
            kept.append(line)
    return kept


def _without_asides(lines: list[str]) -> Iterator[str]:
    """Go through the paragraphs, without those on legal matters and without pointers elsewhere."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        lowered = paragraph.lower()
        if not any(word in lowered for word in _LEGAL):
            uncredited = _CREDIT.sub(" ", paragraph)
            has_pointer = ":ref:" in paragraph or ":doc:" in paragraph
            yield _POINTER.sub(" ", uncredited) if has_pointer else uncredited
