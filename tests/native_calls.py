"""Native calls with invalid arguments, little memory and interrupts.

As a script, it makes each call in a separate process and prints the outcomes as JSON. So a crash is
one failing test, which names the call.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from dataclasses import replace

import numpy as np
from sound_native_calls import N_CLASSES, N_TERMS, calls, calls_with_working_sets

from wordclass.native import extension

MANY_THREADS = 16


# --- invalid arguments -------------------------------------------------------------------------

INTEGERS = (0, -1, 1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63), 2**80)
MAX_SANITIZED_SIZE = 2**24  # sanitizers report larger requests as errors


def invalid_calls(n_threads=2):
    """Yield (problem, call, whether it must be refused) for every argument of every call."""
    for call in calls(n_threads=n_threads).values():
        for name, value in call.arguments.items():
            for problem, wrong, must_raise in _invalid_values(call, name, value):
                yield f"{call.name}, {name}: {problem}", call.with_argument(name, wrong), must_raise


def _invalid_values(call, name, value):
    if not isinstance(value, bool | str | bytes | list):
        yield "None", None, name != "order"
        yield "a str", "aa", True
    if isinstance(value, list | str | bytes):
        yield "None", None, name != "requested"
        yield "a number", 3, True
    if isinstance(value, list):
        yield "a list of numbers", [1, 2], True
        yield "a list of None", [None], True
        yield "a tuple", None if not value else (3,), True
    if isinstance(value, int) and not isinstance(value, bool):
        yield from ((str(number), number, False) for number in INTEGERS)
    if isinstance(value, float):
        yield from ((str(number), number, True) for number in (np.nan, -1.0))
        yield from ((str(number), number, False) for number in (np.inf, 0.0))
    if isinstance(value, np.ndarray):
        yield from _invalid_arrays(call, name, value)


def _invalid_arrays(call, name, array):
    fits_no_other = name in call.lengths or name in call.ends
    yield "empty", array[:0], fits_no_other
    yield "one too few", array[:-1], fits_no_other
    # one more end may be that of an empty row
    yield "one too many", np.concatenate([array, array[-1:]]), name in call.lengths
    yield "one dimension too many", array[..., None], True
    yield "no dimension", np.array(0, array.dtype), True
    yield "other numbers", array.astype(np.complex128), False
    yield "backwards", array[::-1], False
    if array.ndim == 2:
        yield "without columns", array[:, :0], False
        yield "one column too few", array[:, :-1], False
        yield "transposed", np.ascontiguousarray(array.T), False
    if array.dtype.kind in "iu" and array.size:
        yield from _invalid_indices(call, name, array)
    if name in call.ends:
        yield "starts with 1", _put(array, 0, 1), True
        yield "decreases", _put(array, array.size // 2, array[-1] + 1), True
        yield "ends too early", np.append(array[:-1], array[-1] - 1), True
        yield "ends too late", np.append(array[:-1], array[-1] + 1), True
        yield "is near overflow", _put(array, -1, 2**62), True
    if array.dtype.kind == "f" and array.size:
        for number in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300):
            with np.errstate(over="ignore"):
                yield str(number), _put(array, array.size // 2, number), False


def _invalid_indices(call, name, array):
    limits = np.iinfo(array.dtype)
    bound = dict(call.indices).get(name, limits.max)
    must_raise = name in dict(call.indices) or name in call.ends
    for number in (-1, bound, limits.min, limits.max):
        for position in (0, array.size // 2, -1):
            yield f"{number} at {position}", _put(array, position, number), must_raise


def _put(array, position, number):
    changed = array.copy()
    changed.flat[position] = number
    return changed


# --- separate processes ------------------------------------------------------------------


def run_forked(work, limit=None):
    """Call `work` in a forked process and return "fine", the type of the error or the signal."""
    reader, writer = os.pipe()
    before = resource.getrlimit(resource.RLIMIT_AS)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
            work()
            outcome = b"fine"
        except BaseException as error:
            resource.setrlimit(
                resource.RLIMIT_AS, before
            )  # otherwise memory may not suffice for the outcome
            outcome = type(error).__name__.encode()
        os.write(writer, outcome)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        outcome = pipe.read()
    _, status = os.waitpid(child, 0)
    return f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else outcome


def address_space():
    """Return the size of the address space of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def with_invalid_arguments():
    """Return {problem: (outcome, whether the call must be refused)}."""
    limit = address_space() + (1 << 30)
    return {
        problem: (run_forked(call, limit), must_raise)
        for problem, call, must_raise in invalid_calls()
    }


def with_little_memory():
    """Return {call: {free bytes: outcome}} with many threads."""
    limits = [0, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 3 << 22, 5 << 23, 1 << 28, 1 << 31]
    return {
        name: {str(left): run_forked(call, address_space() + left) for left in limits}
        for name, call in calls(n_docs=1_000, n_threads=MANY_THREADS).items()
    }


def with_too_little_memory():
    """Return {call: outcome} of calls that start and then need a gigabyte or more each."""
    all_calls = calls(n_docs=200, n_threads=3)
    arguments = all_calls["solver.documents"].arguments
    wide_documents = extension.solver.documents(*{**arguments, "n_columns": 2**31}.values())
    texts = " ".join(f"{k:x}y" for k in range(8_000_000))
    block = b"".join(b"%d 1 2 3\n" % k for k in range(4_000_000))
    large_calls = {
        # in threads, with two matrices of weights that would fit
        "solver.validate": all_calls["solver.validate"].with_argument("documents", wide_documents),
        "solver.solve": all_calls["solver.solve"].with_argument("documents", wide_documents),
        "engine.sum_documents": all_calls["engine.sum_documents"].with_argument("n_terms", 2**26),
        "engine.CountedTexts": all_calls["engine.CountedTexts"].with_argument(
            "documents", extension.engine.Documents([texts] * 3)
        ),
        "text_reader.TextReader.read": all_calls["text_reader.TextReader.read"].with_argument(
            "bytes", block
        ),
    }
    return {
        name: run_forked(call, address_space() + (3 << 26)) for name, call in large_calls.items()
    }


# --- interrupts --------------------------------------------------------------------------------


def long_calls(n_threads):
    """Yield one call of each long loop, which takes a second or more and little memory."""
    all_calls = calls(n_docs=1_000, n_threads=n_threads)
    endless = {"tolerance": 0.0, "max_passes": 2**31 - 1, "C": np.full(N_CLASSES, 1e6)}
    task = extension.solver.task(*(all_calls["solver.task"].arguments | endless).values())
    for name in ("solve", "solve_products", "validate", "validate_products"):
        yield all_calls[f"solver.{name}"].with_argument("task", task)
    yield from calls_with_working_sets(n_threads, **endless)
    many = extension.engine.Documents(["aa bb " * 20_000] * 50_000)
    known = "FixedVocabulary.count", "FixedVocabulary.weighted_sums"
    for name in ("CountedTexts", *known, "TermCounter.add"):
        yield all_calls[f"engine.{name}"].with_argument("documents", many)
    characters = all_calls["engine.CountedTexts"].with_argument(
        "options", extension.engine.character_options(True, 2, 5)
    )
    for problem, texts in {
        "words": ["aa bb " * 20_000] * 5_000,
        "a word": ["a" * 30_000_000],
    }.items():
        character_call = characters.with_argument("documents", extension.engine.Documents(texts))
        yield replace(character_call, name=f"{character_call.name} of characters, {problem}")
    one = extension.engine.Documents(["aa bb " * 50_000_000])
    yield all_calls["engine.FixedVocabulary.index"].with_argument("documents", one)
    yield all_calls["engine.TermTable.sorted"].with_argument("ids", np.arange(6_000_000) % N_TERMS)
    sums = all_calls["engine.sum_documents"]
    columns = np.tile(np.arange(10_000, dtype=np.int32), 300)
    ends = np.arange(0, len(columns) + 1, 10_000)
    X = (np.ones(len(columns)), columns, ends)
    Y = (columns, ends)
    arguments = zip(sums.arguments, (*X, *Y, 10_000, 10_000, True, False), strict=True)
    yield replace(sums, arguments=dict(arguments))
    line = b" 0.12345" * 999
    block = b"".join(b"%d%b\n" % (k, line) for k in range(60_000))
    yield all_calls["text_reader.TextReader.read"].with_argument("bytes", block)
    strongest = all_calls["convolution.strongest"]
    ends = np.arange(0, 40_000_001, 100_000)
    texts = {
        **{"words": np.zeros(ends[-1], np.int32), "ends": ends},
        **{"tokens": np.zeros((ends[-1], 0), np.float32)},
        **{"left_padding": np.zeros(len(ends) - 1, np.int64)},
    }
    yield replace(strongest, arguments=strongest.arguments | texts)
    gradients = all_calls["convolution.gradients"]
    n_docs = 40_000
    n_outputs = gradients.arguments["slopes"].shape[1]
    ends = np.arange(0, 4 * n_docs + 1, 4)
    texts = {
        "slopes": np.ones((n_docs, n_outputs), np.float32),
        "positions": np.zeros((n_docs, n_outputs), np.int32),
        **{"words": np.zeros(ends[-1], np.int32), "ends": ends},
        **{"token_rows": np.zeros((ends[-1], 20), np.float32)},
    }
    wide_arrays = {"word_rows": np.ones((N_TERMS, 3_200), np.float32)}
    n_columns = len(gradients.arguments["word_weights"])
    wide_arrays["word_weights"] = np.ones((n_columns, 3_200), np.float32)
    yield replace(gradients, arguments=gradients.arguments | texts | wide_arrays)
    training = extension.pte.Training(
        *{**all_calls["pte.Training"].arguments, "n_steps": 2**62}.values()
    )
    steps = {"n_steps": 2**61}
    yield replace(all_calls["pte.Training.run"], make=lambda: training.run, arguments=steps)


def with_interrupts():
    """Return {call and threads: (results, seconds of work between SIGINT and the exception)}."""
    outcomes = {}
    for n_threads in (1, 3):
        for call in long_calls(n_threads):
            outcomes[f"{call.name}, {n_threads}"] = interrupt(call)
    return outcomes


def interrupt(call):
    # A call that is not interrupted leaves a result, because no Python code runs between two calls
    # of `map`.
    function = call.make()
    arguments = [[value] for value in call.arguments.values()]
    results = []
    # a shell starts background processes with Ctrl-C ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.process_time()
    sent = []

    def send():
        while time.process_time() - start < 0.15:
            time.sleep(0.005)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        results.extend(map(function, *arguments))
        outcome = None
    except KeyboardInterrupt:
        outcome = len(results), time.process_time() - sent[0]
    thread.join()
    return outcome


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](), sys.stdout)
