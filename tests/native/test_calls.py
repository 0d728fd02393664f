"""Every native function with wrong arguments, little memory and Ctrl-C: errors, never crashes."""

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
REFUSED = {"ValueError", "TypeError", "IndexError", "OverflowError", "MemoryError"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")


def made(work, **options):
    """Return what the script says of some calls, made in processes of their own."""
    # a Dask cluster of another test leaves variables behind, by which malloc uses up all memory
    inherited = {name: each for name, each in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), work],
        env={**inherited, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


def test_every_native_function_has_a_call():
    assert set(sound_native_calls.every_name()) == sound_native_calls.calls(n_docs=5).keys()


@pytest.mark.parametrize("name", [*sound_native_calls.calls(n_docs=5)])
def test_results_do_not_depend_on_the_number_of_threads(name):
    one, three = (
        sound_native_calls.calls(n_docs=300, n_threads=n_threads)[name]() for n_threads in (1, 3)
    )
    if isinstance(one, tuple):
        assert len(one) == len(three)
    for ours, theirs in zip(*map(_arrays, (one, three)), strict=True):
        if name.startswith("engine.TermTable.") or name == "engine.CountedTexts.occurrences":
            continue  # ids are in no order
        np.testing.assert_array_equal(ours, theirs)


def test_looks_at_many_documents_do_not_depend_on_the_number_of_threads():
    every = zip(
        *(sound_native_calls.calls_with_looks(n_threads) for n_threads in (1, 3)), strict=True
    )
    for one, three in every:
        for ours, theirs in zip(*map(_arrays, (one(), three())), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def _arrays(result):
    if isinstance(result, np.ndarray):
        return [result]
    return [array for part in result for array in _arrays(part)] if type(result) is tuple else []


def test_no_wrong_argument_crashes_and_those_that_cannot_fit_are_refused():
    outcomes = made("with_spoiled_arguments")
    assert len(outcomes) > 1_000
    # on a busy machine, a thread more than fits is refused as by Python
    allowed = REFUSED | {"fine", "RuntimeError"}
    assert {what for what, (told, _) in outcomes.items() if told not in allowed} == set()
    assert {what for what, (told, must) in outcomes.items() if must and told == "fine"} == set()


def test_threads_that_cannot_start_are_errors():
    outcomes = made("with_little_memory")
    threaded = {
        name
        for name, call in sound_native_calls.calls(n_docs=5).items()
        if "n_threads" in call.arguments
    } - {"engine.TermCounter", "solver.task"}  # they only remember the number
    threaded |= {"engine.TermCounter.add", "solver.solve", "solver.solve_products"}
    threaded |= {"solver.validate", "solver.validate_products"}
    for name, by_limit in outcomes.items():
        assert set(by_limit.values()) <= {"fine", "MemoryError", "RuntimeError"}, (name, by_limit)
        if name in threaded:
            assert by_limit[str(1 << 20)] in {"MemoryError", "RuntimeError"}, (name, by_limit)
            assert by_limit[str(1 << 31)] == "fine", (name, by_limit)


def test_memory_that_runs_out_in_a_thread_is_an_error():
    # with small stacks more threads start before that
    def small_stacks():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 18, resource.RLIM_INFINITY))

    outcomes = made("with_more_memory_than_there_is", preexec_fn=small_stacks)
    assert set(outcomes.values()) == {"MemoryError"}, outcomes


def test_every_long_loop_is_ended_by_an_interrupt():
    outcomes = made("with_interrupts")
    assert len(outcomes) == 2 * 19
    for name, outcome in outcomes.items():
        n_results, seconds = outcome
        assert n_results == 0, name
        # of work: a busy machine changes nothing; all of them take a second and more
        assert seconds < 1.5, (name, seconds)
