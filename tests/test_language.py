"""The language of code and documentation: counts of unclear names and phrases may only fall.

Each ceiling is lowered when the count falls, and never raised.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# words that say nothing about the value that a name holds, at its start or end
EMPTY_WORDS = {
    "asked", "away", "begun", "beyond", "brought", "done", "each", "few", "fewest", "found",
    "given", "gone", "kept", "left", "little", "made", "met", "most", "others", "own", "rest",
    "said", "seen", "soon", "taken", "tells", "these", "those", "told", "wanted", "whole",
}  # fmt: skip

# sides, and words that tools prescribe
PLAIN_NAMES = {"left", "is_left", "left_padding", "done"}

RIDDLES = re.compile(
    r"""\b(
        all\ the\ same | as\ (it|they)\ stands? | beside\ it | (is|are)\ (there\ )?to\ be
        | be\ there | believed | blotted | found\ out | go(es)?\ on\ from | hangs?\ on
        | ha(s|ve)\ no\ part | manners | needs?\ no\ more | not\ surely | no\ use
        | of\ (ours|yours) | of\ the\ user's | see\ to\ it | so\ many\ of
        | some\ at\ a\ time | speaks?\ (for|against) | such\ as\ there
        | tells?\ (nothing|of|whether) | telling\ terms | told | what\ there\ is | where\ it\ serves
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)

# a summary with a semicolon is two sentences, and these words start a riddle
UNCLEAR_SUMMARY = re.compile(
    r"\b(tells? (whether|of)|those|what|whatever|whichever|such as there|so many|of which)\b|;",
    re.IGNORECASE,
)

# kind of finding -> the highest count that is accepted, by area
CEILINGS: dict[str, dict[str, int]] = {
    "src": {"names": 99, "phrases": 15, "summaries": 79, "packed": 36},
    "tests": {"names": 500, "phrases": 15, "summaries": 53, "packed": 141},
    "documentation": {"phrases": 0},
}

AREAS = {
    "src": ["src"],
    "tests": ["tests"],
    "documentation": ["docs", "README.md", "CONTRIBUTING.md"],
}

SELF = Path(__file__).name


def files_of(area: str) -> Iterator[Path]:
    for name in AREAS[area]:
        path = ROOT / name
        paths = [path] if path.is_file() else sorted(path.rglob("*"))
        sources = (file for file in paths if "generated" not in file.parts)
        yield from (file for file in sources if file.suffix in {".py", ".md"} and file.name != SELF)


def is_empty_name(name: str) -> bool:
    words = [word for word in name.lower().split("_") if word]
    if not words or name.strip("_") in PLAIN_NAMES:
        return False
    return not EMPTY_WORDS.isdisjoint({words[0], words[-1]})


def defined_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def summaries(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield docstring.splitlines()[0]


def is_packed(node: ast.AST) -> bool:
    """Return True for an assignment of several values in one statement: `a, b = x, y`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return False
    return isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1


def prose_of(path: Path, text: str) -> str:
    """Return a page, or the comments and strings of a program."""
    if path.suffix == ".md":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    prose = (token.string for token in tokens if token.type in {tokenize.COMMENT, tokenize.STRING})
    return "\n".join(prose)


def findings_of_code(tree: ast.AST) -> Iterator[tuple[str, str]]:
    yield from (("names", name) for name in defined_names(tree) if is_empty_name(name))
    yield from (("summaries", text) for text in summaries(tree) if UNCLEAR_SUMMARY.search(text))
    yield from (("packed", ast.unparse(node)) for node in ast.walk(tree) if is_packed(node))


def findings(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each finding, and its file and words."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        prose = prose_of(path, text)
        hits = [("phrases", match.group()) for match in RIDDLES.finditer(prose)]
        if path.suffix == ".py":
            hits += findings_of_code(ast.parse(text))
        for kind, words in hits:
            yield kind, f"{path.relative_to(ROOT)}: {words}"


@pytest.mark.parametrize("area", AREAS)
def test_unclear_language_becomes_rarer(area):
    if not all((ROOT / name).exists() for name in AREAS[area]):
        pytest.skip("not a checkout")
    places = list(findings(files_of(area)))
    counts = Counter(kind for kind, _ in places)
    for kind, ceiling in CEILINGS[area].items():
        listing = "\n".join(place for place_kind, place in places if place_kind == kind)
        assert counts[kind] <= ceiling, f"{counts[kind]} {kind}, at most {ceiling}:\n{listing}"


@pytest.mark.parametrize(
    ("name", "is_empty"),
    [
        ("told", True), ("labels_given", True), ("_few", True), ("each_class", True),
        ("left", False), ("labels", False), ("given_name_of", True), ("n_kept_rows", False),
    ],
)  # fmt: skip
def test_names_without_content_are_noticed(name, is_empty):
    assert is_empty_name(name) is is_empty


def test_riddles_and_telegrams_are_noticed():
    assert RIDDLES.search("The scores of the user's model.")
    assert RIDDLES.search("Files are not believed.")
    assert UNCLEAR_SUMMARY.search("Return the classes; sorted.")
    assert not UNCLEAR_SUMMARY.search("Return the highest-scoring terms of a class.")
    assert not RIDDLES.search("Return the highest-scoring terms of a class.")


def test_packed_assignments_are_noticed():
    packed, unpacked, called = ast.parse("a, b = x, y\na = x\na, b = f(x)").body
    assert is_packed(packed)
    assert not is_packed(unpacked)
    assert not is_packed(called)
