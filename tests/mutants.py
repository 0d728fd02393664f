"""Change the code in small ways, one at a time, and see whether its tests notice.

    python tests/mutants.py [--jobs 2] [TARGET ...]

A mutant that all tests pass is a survivor: either a test is missing, or the change makes no
difference. A target is a module, or some of its functions: `wordclass.linear.search` or
`wordclass.linear.search:Trial.score,Search`. mutmut 3.8 does not work with pytest 9, and most of
its mutants are changed messages. Here every mutant is one change of the syntax tree, tried in a
fork of one process that has numpy, scikit-learn and pytest loaded.
"""

import argparse
import ast
import importlib.machinery
import importlib.util
import io
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from copy import deepcopy
from pathlib import Path

ROOT = Path(__file__).parents[1]

TUNING = [
    "tests/classifiers/test_tuning.py",
    "-k",
    "not grid_of_a_classifier",
]  # these import torch
# what is changed, and the tests that must notice
TARGETS = {
    "wordclass.decision.thresholds": ["tests/decision/test_thresholds.py"],
    "wordclass.decision.prior_shift": [
        "tests/decision/test_prior_shift.py",
        "-k",
        "not classifier and not quapy and not rare_labels and not at_random and not tree",
    ],
    "wordclass.corpus.labels": ["tests/corpus/test_labels.py", "tests/decision/test_measures.py"],
    "wordclass.decision.measures": ["tests/decision/test_measures.py"],
    "wordclass.linear.search:Documents,Trial,Search,_first_new,_identity,_plain": [
        "tests/linear/test_search.py",
        *TUNING,
    ],
    "wordclass.classifiers.tuning:_grid,_like,split,_run,_reason_to_stop,expected_seconds,"
    "_Trials": TUNING,
    "wordclass.classifiers.linear:LinearClassifier._learn_documents,LinearClassifier._list_choices,"
    "LinearClassifier._learn_decisions": ["tests/classifiers/test_linear.py"],
    "wordclass.linear.search:LinearChoices,SettingsSearch,sample_documents": [
        "tests/classifiers/test_linear.py",
        "tests/classifiers/test_linear_search.py",
    ],
    "wordclass.linear.features:LinearFeatures.trials,LinearFeatures.held_out_scores,"
    "LinearFeatures.n_rotations": [
        "tests/classifiers/test_linear.py",
        "tests/classifiers/test_linear_search.py",
    ],
    "wordclass.classifiers.svm:_search_all,_search_each,_searched,_quality,_splits": [
        "tests/classifiers/test_svm.py",
        "-k",
        "not refused and not threads_changes and not native and not embeddings and not weighted",
    ],
    "wordclass.embedding.vectors:Totals,shrink,standardize,_inverse_deviation": [
        "tests/embedding/test_shrinkage.py",
        "tests/embedding/test_standardize.py",
    ],
}
MOST_CPU_SECONDS = 600  # of the tests as it is; a mutant may take three times as long
PRELOADED = (
    "hypothesis", "numpy", "pandas", "polars", "pyarrow", "pytest", "scipy.optimize",
    "scipy.sparse", "scipy.special", "sklearn.linear_model", "sklearn.model_selection",
    "sklearn.svm",
)  # fmt: skip

Edit = tuple[ast.AST, Callable[[ast.AST], None], str]  # place, what to do, how to tell it
OPERATORS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


# --- the mutants ------------------------------------------------------------------------------


def mutants(source: str, functions: list[str]) -> Iterator[tuple[str, ast.Module]]:
    """Give every mutant of a module, with its place and what was changed."""
    tree = ast.parse(source)
    for number in range(len(list(_edits(tree, functions)))):
        changed = deepcopy(tree)
        node, edit, told = list(_edits(changed, functions))[number]
        line = source.splitlines()[node.lineno - 1].strip()
        edit(node)
        yield f"line {node.lineno}: {told}: {line}", ast.fix_missing_locations(changed)


def _edits(tree: ast.Module, functions: list[str]) -> Iterator[Edit]:
    """Give places in a tree, what to do there, and how to tell it."""
    for node in _chosen(tree, functions):
        for child in _code_of(node):
            yield from _edits_of(child)


def _chosen(tree: ast.Module, functions: list[str]) -> Iterator[ast.AST]:
    if not functions:
        yield from tree.body[1:]  # behind the docstring
    for name in functions:
        body: list[ast.stmt] = tree.body
        for part in name.split("."):
            (found,) = (each for each in body if getattr(each, "name", None) == part)
            body = found.body
        yield found


def _code_of(node: ast.AST) -> Iterator[ast.AST]:
    """Walk over what is executed: no imports, annotations, docstrings, decorators, messages."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.arg):
        return
    if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
        return  # a type
    yield node
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        children = value if isinstance(value, list) else [value]
        for child in children:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not is_text:
                yield from _code_of(child)


def _edits_of(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield node, _swap_comparison, "another comparison"
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield node, _swap_operator, "another operator"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node, _drop_sign, "without its sign"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        yield node, _change_constant, f"another constant than {node.value!r}"
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node, _negate, "the other way round"
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield node, _return_nothing, "returns None"
    if isinstance(node, ast.AugAssign | ast.Raise | ast.Expr | ast.Continue):
        yield node, _do_nothing, "does nothing"


def _swap_comparison(node: ast.Compare) -> None:
    node.ops[0] = OPERATORS[type(node.ops[0])]()


def _swap_operator(node: ast.BinOp | ast.BoolOp | ast.AugAssign) -> None:
    node.op = OPERATORS[type(node.op)]()


def _drop_sign(node: ast.UnaryOp) -> None:
    node.op = ast.UAdd()
    if not isinstance(node.operand, ast.Constant):
        # `not x` and `~x` become x itself, whatever it is
        node.__class__, node.test, node.body, node.orelse = (
            ast.IfExp, ast.Constant(True), node.operand, ast.Constant(None),
        )  # fmt: skip


def _change_constant(node: ast.Constant) -> None:
    value = node.value
    if isinstance(value, bool):
        node.value = not value
    else:
        node.value = f"{value} changed" if isinstance(value, str) else value + 1


def _negate(node: ast.If | ast.IfExp | ast.While) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _return_nothing(node: ast.Return) -> None:
    node.value = ast.Constant(None)


def _do_nothing(node: ast.stmt) -> None:
    place = node.lineno, node.col_offset
    node.__class__ = ast.Pass
    for name in ("target", "op", "value", "exc", "cause"):
        vars(node).pop(name, None)
    node.lineno, node.col_offset = place


# --- trying them ------------------------------------------------------------------------------


def survives(
    module: str, path: Path, tree: ast.Module | None, tests: list[str], most: int = MOST_CPU_SECONDS
) -> bool:
    """Run the tests in a fork, with the module as the tree has it; None: as it is."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return status == 0
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os._exit(_run(module, path, tree, tests))
    finally:
        os._exit(99)


def _run(module: str, path: Path, tree: ast.Module | None, tests: list[str]) -> int:
    import pytest

    code_of = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> object:
        if tree is None or name != module:
            return code_of(loader, name)
        return compile(tree, str(path), "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code
    ignored = "ignore::pytest.PytestAssertRewriteWarning"  # of what is preloaded
    options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no", "-W", ignored]
    return int(pytest.main([*options, "--hypothesis-profile", "mutants", *tests]))


def _quick_hypothesis() -> None:
    """Draw the same examples every time; look for no smaller one when a test fails."""
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutants", deadline=None, max_examples=60, derandomize=True, phases=phases
    )


def judge(target: str, tests: list[str], jobs: int) -> tuple[int, int]:
    """List the mutants of a target that survive; return how many there are, and how many do."""
    module, _, functions = target.partition(":")
    path = Path(importlib.util.find_spec("wordclass").origin).parent
    path = path.joinpath(*module.split(".")[1:]).with_suffix(".py")
    names = [name.strip() for name in functions.split(",")] if functions else []
    before = os.times().children_user
    if not survives(module, path, None, tests):
        sys.exit(f"{target}: its tests fail as it is")
    most = 5 + 3 * int(os.times().children_user - before)
    made = list(mutants(path.read_text(encoding="utf-8"), names))
    alive = 0
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda each: survives(module, path, each[1], tests, most), made)
        for (place, _), is_alive in zip(made, found, strict=True):
            alive += is_alive
            if is_alive:
                print(f"  {place}", flush=True)
    return len(made), alive


def main() -> None:
    """Try all mutants of the targets, and list the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="default: all in TARGETS")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.85, help="share to kill in each")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    for name in PRELOADED:
        importlib.import_module(name)
    _quick_hypothesis()
    with redirect_stdout(io.StringIO()):
        _run("", Path(), None, ["--collect-only", __file__])  # loads pytest's plugins
    n_all, n_alive, worst = 0, 0, 1.0
    for target, tests in TARGETS.items():
        if arguments.targets and not any(target.startswith(each) for each in arguments.targets):
            continue
        start = time.monotonic()
        n_made, alive = judge(target, tests, arguments.jobs)
        n_all, n_alive = n_all + n_made, n_alive + alive
        worst = min(worst, 1 - alive / max(n_made, 1))
        seconds = time.monotonic() - start
        print(f"{target}: {n_made - alive} of {n_made} killed ({seconds:.0f} s)", flush=True)
    killed = 1 - n_alive / max(n_all, 1)
    print(f"{n_all - n_alive} of {n_all} mutants killed: {killed:.1%}; the worst: {worst:.1%}")
    sys.exit(worst < arguments.least)


if __name__ == "__main__":
    main()
