"""Native calls with wrong arguments, little memory and interrupts.

As a script it makes calls in processes of their own, and prints what came of each as JSON: a crash
is then one failing test, and says which.
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
from sound_native_calls import N_CLASSES, N_TERMS, calls, calls_with_looks

from wordclass.native import extension

MANY_THREADS = 16


# --- what does not fit -------------------------------------------------------------------------

WHOLE = (0, -1, 1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63), 2**80)
HUGE = 2**24  # what asks for so much is not for sanitizers, which take it for an error


def spoiled_calls(n_threads=2):
    """Yield (what is wrong, call, whether it must be refused), for every argument of every call."""
    for call in calls(n_threads=n_threads).values():
        for name, value in call.arguments.items():
            for what, wrong, must_raise in _spoiled(call, name, value):
                yield f"{call.name}, {name}: {what}", call.spoiled(name, wrong), must_raise


def _spoiled(call, name, value):
    if not isinstance(value, bool | str | bytes | list):
        yield "None", None, name != "order"
        yield "a str", "aa", True
    if isinstance(value, list | str | bytes):
        yield "None", None, name != "wanted"
        yield "a number", 3, True
    if isinstance(value, list):
        yield "a list of numbers", [1, 2], True
        yield "a list of None", [None], True
        yield "a tuple", None if not value else (3,), True
    if isinstance(value, int) and not isinstance(value, bool):
        yield from ((str(number), number, False) for number in WHOLE)
    if isinstance(value, float):
        yield from ((str(number), number, True) for number in (np.nan, -1.0))
        yield from ((str(number), number, False) for number in (np.inf, 0.0))
    if isinstance(value, np.ndarray):
        yield from _spoiled_arrays(call, name, value)


def _spoiled_arrays(call, name, array):
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
        yield "turned", np.ascontiguousarray(array.T), False
    if array.dtype.kind in "iu" and array.size:
        yield from _spoiled_indices(call, name, array)
    if name in call.ends:
        yield "begins with 1", _put(array, 0, 1), True
        yield "falls", _put(array, array.size // 2, array[-1] + 1), True
        yield "ends too early", np.append(array[:-1], array[-1] - 1), True
        yield "ends too late", np.append(array[:-1], array[-1] + 1), True
        yield "is near overflow", _put(array, -1, 2**62), True
    if array.dtype.kind == "f" and array.size:
        for number in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300):
            with np.errstate(over="ignore"):
                yield str(number), _put(array, array.size // 2, number), False


def _spoiled_indices(call, name, array):
    limits = np.iinfo(array.dtype)
    bound = dict(call.indices).get(name, limits.max)
    must_raise = name in dict(call.indices) or name in call.ends
    for number in (-1, bound, limits.min, limits.max):
        for place in (0, array.size // 2, -1):
            yield f"{number} at {place}", _put(array, place, number), must_raise


def _put(array, place, number):
    changed = array.copy()
    changed.flat[place] = number
    return changed


# --- in processes of their own ------------------------------------------------------------------


def outcome_of(work, limit=None):
    """Do something in a forked process; return "fine", the error's type, or the signal."""
    reader, writer = os.pipe()
    before = resource.getrlimit(resource.RLIMIT_AS)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
            work()
            told = b"fine"
        except BaseException as error:
            resource.setrlimit(resource.RLIMIT_AS, before)  # there may be too little to tell of it
            told = type(error).__name__.encode()
        os.write(writer, told)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else told


def address_space():
    """Return how many bytes of it this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def with_spoiled_arguments():
    """Return {what is wrong: (outcome, whether it must be refused)}."""
    limit = address_space() + (1 << 30)
    return {
        what: (outcome_of(call, limit), must_raise) for what, call, must_raise in spoiled_calls()
    }


def with_little_memory():
    """Return {call: {bytes left: outcome}}, with many threads, whose stacks had better be small."""
    limits = [0, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 3 << 22, 5 << 23, 1 << 28, 1 << 31]
    return {
        name: {str(left): outcome_of(call, address_space() + left) for left in limits}
        for name, call in calls(n_docs=1_000, n_threads=MANY_THREADS).items()
    }


def with_more_memory_than_there_is():
    """Return {call: outcome} of calls that start, and then need a gigabyte or more each."""
    every = calls(n_docs=200, n_threads=3)
    given = every["solver.documents"].arguments
    wide = extension.solver.documents(*{**given, "n_columns": 2**31}.values())
    texts = " ".join(f"{k:x}y" for k in range(8_000_000))
    block = b"".join(b"%d 1 2 3\n" % k for k in range(4_000_000))
    needy = {
        # in threads, with two matrices of weights that would fit
        "solver.validate": every["solver.validate"].spoiled("documents", wide),
        "solver.solve": every["solver.solve"].spoiled("documents", wide),
        "engine.sum_documents": every["engine.sum_documents"].spoiled("n_terms", 2**26),
        "engine.CountedTexts": every["engine.CountedTexts"].spoiled(
            "documents", extension.engine.Documents([texts] * 3)
        ),
        "text_reader.TextReader.read": every["text_reader.TextReader.read"].spoiled("bytes", block),
    }
    return {name: outcome_of(call, address_space() + (3 << 26)) for name, call in needy.items()}


# --- interrupts --------------------------------------------------------------------------------


def long_calls(n_threads):
    """Yield one call of each long loop that takes a second or more, in little memory."""
    every = calls(n_docs=1_000, n_threads=n_threads)
    endless = {"tolerance": 0.0, "max_passes": 2**31 - 1, "C": np.full(N_CLASSES, 1e6)}
    task = extension.solver.task(*(every["solver.task"].arguments | endless).values())
    for name in ("solve", "solve_products", "validate", "validate_products"):
        yield every[f"solver.{name}"].spoiled("task", task)
    yield from calls_with_looks(n_threads, **endless)
    many = extension.engine.Documents(["aa bb " * 20_000] * 50_000)
    known = "FixedVocabulary.count", "FixedVocabulary.weighted_sums"
    for name in ("CountedTexts", *known, "TermCounter.add"):
        yield every[f"engine.{name}"].spoiled("documents", many)
    characters = every["engine.CountedTexts"].spoiled(
        "options", extension.engine.character_options(True, 2, 5)
    )
    for what, texts in {
        "words": ["aa bb " * 20_000] * 5_000,
        "a word": ["a" * 30_000_000],
    }.items():
        given = characters.spoiled("documents", extension.engine.Documents(texts))
        yield replace(given, name=f"{given.name} of characters, {what}")
    one = extension.engine.Documents(["aa bb " * 50_000_000])
    yield every["engine.FixedVocabulary.index"].spoiled("documents", one)
    yield every["engine.TermTable.sorted"].spoiled("ids", np.arange(6_000_000) % N_TERMS)
    sums = every["engine.sum_documents"]
    columns = np.tile(np.arange(10_000, dtype=np.int32), 300)
    ends = np.arange(0, len(columns) + 1, 10_000)
    X, Y = (np.ones(len(columns)), columns, ends), (columns, ends)
    given = zip(sums.arguments, (*X, *Y, 10_000, 10_000, True, False), strict=True)
    yield replace(sums, arguments=dict(given))
    line = b" 0.12345" * 999
    block = b"".join(b"%d%b\n" % (k, line) for k in range(60_000))
    yield every["text_reader.TextReader.read"].spoiled("bytes", block)
    strongest = every["convolution.strongest"]
    ends = np.arange(0, 40_000_001, 100_000)
    texts = {
        **{"words": np.zeros(ends[-1], np.int32), "ends": ends},
        **{"tokens": np.zeros((ends[-1], 0), np.float32)},
        **{"left_padding": np.zeros(len(ends) - 1, np.int64)},
    }
    yield replace(strongest, arguments=strongest.arguments | texts)
    gradients = every["convolution.gradients"]
    n_docs, n_outputs = 40_000, gradients.arguments["slopes"].shape[1]
    ends = np.arange(0, 4 * n_docs + 1, 4)
    texts = {
        "slopes": np.ones((n_docs, n_outputs), np.float32),
        "where": np.zeros((n_docs, n_outputs), np.int32),
        **{"words": np.zeros(ends[-1], np.int32), "ends": ends},
        **{"token_rows": np.zeros((ends[-1], 20), np.float32)},
    }
    wide = {name: np.ones((N_TERMS, 3_200), np.float32) for name in ("word_rows",)}
    n_columns = len(gradients.arguments["word_weights"])
    wide["word_weights"] = np.ones((n_columns, 3_200), np.float32)
    yield replace(gradients, arguments=gradients.arguments | texts | wide)
    training = extension.pte.Training(
        *{**every["pte.Training"].arguments, "n_steps": 2**62}.values()
    )
    steps = {"n_steps": 2**61}
    yield replace(every["pte.Training.run"], make=lambda: training.run, arguments=steps)


def with_interrupts():
    """Return {call and threads: (results, seconds of work between SIGINT and the exception)}."""
    found = {}
    for n_threads in (1, 3):
        for call in long_calls(n_threads):
            found[f"{call.name}, {n_threads}"] = interrupted(call)
    return found


def interrupted(call):
    # what ends by itself leaves a result, as no Python runs between a call of `map` and the next
    function, arguments, results = call.make(), [[each] for each in call.arguments.values()], []
    # a shell starts what runs in the background with Ctrl-C ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    start, sent = time.process_time(), []

    def send():
        while time.process_time() - start < 0.15:
            time.sleep(0.005)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        results.extend(map(function, *arguments))
        told = None
    except KeyboardInterrupt:
        told = len(results), time.process_time() - sent[0]
    thread.join()
    return told


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](), sys.stdout)
