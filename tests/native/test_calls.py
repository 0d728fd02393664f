"""Native functions raise errors and never crash: invalid arguments, little memory, Ctrl-C."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import native_calls
import numpy as np
import pytest
import sound_native_calls

SCRIPT = Path(native_calls.__file__)
REFUSALS = {"ValueError", "TypeError", "IndexError", "OverflowError", "MemoryError"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")


def run_script(work, **options):
    """Return the outcomes of native calls, which the script makes in separate processes."""
    # a Dask cluster of another test leaves variables that let malloc use up all memory
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")
    }
    process = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), work],
        env={**environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )
    assert process.returncode == 0, process.stderr[-4_000:]
    return json.loads(process.stdout)


def test_every_native_function_has_a_call():
    assert set(sound_native_calls.list_names()) == sound_native_calls.calls(n_docs=5).keys()


@pytest.mark.parametrize("name", [*sound_native_calls.calls(n_docs=5)])
def test_results_do_not_depend_on_the_number_of_threads(name):
    one, three = (
        sound_native_calls.calls(n_docs=300, n_threads=n_threads)[name]() for n_threads in (1, 3)
    )
    if isinstance(one, tuple):
        assert len(one) == len(three)
    for ours, theirs in zip(*map(_arrays, (one, three)), strict=True):
        if name.startswith("engine.TermTable.") or name == "engine.CountedTexts.occurrences":
            continue  # ids have no order
        np.testing.assert_array_equal(ours, theirs)


def test_results_with_working_sets_do_not_depend_on_the_number_of_threads():
    pairs = zip(
        *(sound_native_calls.calls_with_working_sets(n_threads) for n_threads in (1, 3)),
        strict=True,
    )
    for one, three in pairs:
        for ours, theirs in zip(*map(_arrays, (one(), three())), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def _arrays(result):
    if isinstance(result, np.ndarray):
        return [result]
    return [array for part in result for array in _arrays(part)] if type(result) is tuple else []


def test_no_invalid_argument_crashes_and_those_of_a_wrong_shape_are_refused():
    outcomes = run_script("with_invalid_arguments")
    assert len(outcomes) > 1_000
    # on a busy machine, threads may fail to start, as in Python
    allowed = REFUSALS | {"fine", "RuntimeError"}
    assert {
        description for description, (outcome, _) in outcomes.items() if outcome not in allowed
    } == set()
    assert {
        description
        for description, (outcome, must_be_refused) in outcomes.items()
        if must_be_refused and outcome == "fine"
    } == set()


def test_threads_that_cannot_start_are_errors():
    outcomes = run_script("with_little_memory")
    threaded = {
        name
        for name, call in sound_native_calls.calls(n_docs=5).items()
        if "n_threads" in call.arguments
    } - {"engine.TermCounter", "solver.task"}  # these only store the number
    threaded |= {"engine.TermCounter.add", "solver.solve", "solver.solve_products"}
    threaded |= {"solver.validate", "solver.validate_products"}
    for name, by_limit in outcomes.items():
        assert set(by_limit.values()) <= {"fine", "MemoryError", "RuntimeError"}, (name, by_limit)
        if name in threaded:
            assert by_limit[str(1 << 20)] in {"MemoryError", "RuntimeError"}, (name, by_limit)
            assert by_limit[str(1 << 31)] == "fine", (name, by_limit)


def test_memory_that_runs_out_in_a_thread_is_an_error():
    # with small stacks, more threads start before memory runs out
    def small_stacks():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 18, resource.RLIM_INFINITY))

    outcomes = run_script("with_too_little_memory", preexec_fn=small_stacks)
    assert set(outcomes.values()) == {"MemoryError"}, outcomes


def test_an_interrupt_ends_every_long_loop():
    outcomes = run_script("with_interrupts")
    assert len(outcomes) == 2 * 19
    for name, outcome in outcomes.items():
        n_results, seconds = outcome
        assert n_results == 0, name
        # CPU seconds, which do not depend on the load; every call takes a second or more
        assert seconds < 1.5, (name, seconds)
