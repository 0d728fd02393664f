"""Read the docstrings of the installed packages from their source files.

The files are parsed, not imported: importing has side effects, needs optional packages and would
make the corpus depend on what else is installed.
"""

import ast
import gc
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import cleandoc

from wordclass import progress
from wordclass.datasets._docstring_files import SourceFile, find_files

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Docstring:
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
    """Read the docstrings of all public objects of some areas, sorted by area, module and name."""
    found: list[Docstring] = []
    with _collector_at_rest():
        for file in progress.over(find_files(areas), "reading docstrings"):
            found += read_file(file)
    # stable: of two definitions with one name, the first in the file comes first
    return sorted(found, key=lambda doc: (doc.area, doc.module, doc.name))


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep the garbage collector from walking the syntax trees, which hold no cycles.

    It would do so again and again while they grow: a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
        yield Docstring(file.area, file.module, name, text)


def _documented(node: ast.AST, prefix: str) -> Iterator[tuple[str, str]]:
    """Go through the definitions in a module or class, also those under `if` and `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition):
            if child.name.startswith("_"):
                continue
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
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return
    if call.func.id != "add_newdoc":
        return
    try:
        *_, name, said = (ast.literal_eval(argument) for argument in call.args)
    except (TypeError, ValueError):  # the text is computed, or there is none
        return
    for entry in said if isinstance(said, list) else [said]:
        match entry:
            case str(text):
                yield from _if_public(f"{name}", text)
            case (str(method), str(text)):
                yield from _if_public(f"{name}.{method}", text)


def _if_public(name: str, text: str) -> Iterator[tuple[str, str]]:
    if not any(part.startswith("_") for part in name.split(".")):
        yield name, cleandoc(text)
