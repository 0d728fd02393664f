"""Find the source files of the installed packages, without importing them."""

import importlib.util
import sysconfig
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_PACKAGES = ("numpy", "scipy", "sklearn")
# tests, what was copied from elsewhere (numpy._utils holds an old `inspect`), and tools beside the
# library proper
_DROPPED_FOLDERS = frozenset(
    {"test", "testing", "tests"}
    | {"_utils", "array_api_compat", "array_api_extra", "externals"}
    | {"_pyinstaller", "_typing", "code_generators", "distutils", "f2py", "typing"}
)
_DROPPED_FILES = frozenset({"__main__", "conftest", "setup"})


@dataclass(frozen=True)
class SourceFile:
    """A file of Python source, the module it defines and the area it belongs to."""

    area: str
    module: str
    path: Path


def find_files(areas: Collection[str]) -> list[SourceFile]:
    """List the source files of some areas, sorted by module: no other file is looked at.

    Parameters
    ----------
    areas
        Names of modules or packages. A module belongs to the longest name it starts with, so
        that "numpy" does not hold "numpy.ma" where both are given.
    """
    files = [
        SourceFile(area, module, path)
        for root, module, path in _modules(areas)
        if (area := _area_of(module, areas)) is not None and not _is_dropped(path.relative_to(root))
    ]
    return sorted(files, key=lambda file: (file.module, str(file.path)))


def _modules(areas: Collection[str]) -> Iterator[tuple[Path, str, Path]]:
    """Go through the files at or below the areas: (root, name of the module, path)."""
    standard = Path(sysconfig.get_paths()["stdlib"])
    for name in sorted({area for area in areas if area.partition(".")[0] not in _PACKAGES}):
        # decimal.py and the like hand on to _pydecimal.py, where the docstrings are
        for path in (standard / f"{name}.py", standard / f"_py{name}.py"):
            if path.is_file():
                yield standard, name, path
        yield from _modules_below(standard / name, standard, "")
    for package in sorted({area.partition(".")[0] for area in areas} & set(_PACKAGES)):
        # of a top-level package, find_spec imports nothing
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            yield from _modules_below(Path(place), Path(place), package)


def _modules_below(folder: Path, root: Path, package: str) -> Iterator[tuple[Path, str, Path]]:
    for path in folder.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        named = parts[:-1] if parts[-1] == "__init__" else parts
        yield root, ".".join((package, *named)).strip("."), path


def _area_of(module: str, areas: Collection[str]) -> str | None:
    while module and module not in areas:
        module = module.rpartition(".")[0]
    return module or None


def _is_dropped(path: Path) -> bool:
    # _bws_test.py and the like hold statistical tests
    is_test = path.stem.startswith("test_")
    return is_test or path.stem in _DROPPED_FILES or not _DROPPED_FOLDERS.isdisjoint(path.parts)
