"""Sanitizers report no error in native code on hostile input."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from text import test_native_counting

ROOT = Path(__file__).parents[2]
N_DOCS = 20_000

# loads the extension in the first argument instead of the installed one, then compares with Python
FUZZ = """
import importlib.util, os, sys

path, tests, n_docs = sys.argv[1], sys.argv[2], int(sys.argv[3])
name = "wordclass.native._native"
spec = importlib.util.spec_from_file_location(name, path)
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
sys.path[:0] = [tests, os.path.join(tests, "text"), os.path.join(tests, "native")]

from wordclass.native import extension
assert extension.engine is sys.modules[name].engine and sys.modules[name].__spec__.origin == path
import native_calls, sound_native_calls, numpy as np
import test_engine, test_native_counting as fuzz
from nasty_documents import documents, spliced_with_numbers
import wordclass as wc

for analyze in (fuzz.Analyzer(), fuzz.CharacterAnalyzer()):  # before any characters are known
    fuzz.test_several_python_threads_count_at_the_same_time(analyze)
for seed, analyze in enumerate(fuzz.CHARACTERS):
    texts = documents(n_docs // 100, seed + 900)
    counted = fuzz.assert_equal_counts(texts, analyze, (1, 3))
    fuzz.assert_equal_known_counts(texts, analyze, counted.terms[::3], (1, 3))
    fuzz.test_words_of_one_character_fit_with_all_their_ngrams(analyze)
for size in (1, 7, 8, 15, 16, 17, 63, 64, 65, 300):
    fuzz.test_character_ngrams_of_words_of_every_length_at_every_offset(size)
n_docs_per_option = n_docs // len(fuzz.OPTIONS) + 1
for seed, analyze in enumerate(fuzz.OPTIONS):
    texts = documents(n_docs_per_option, seed + 500)
    counted = fuzz.assert_equal_counts(texts, analyze, (1, 3))
    fuzz.assert_equal_known_counts(texts, analyze, counted.terms[::3], (1, 3))
for ngrams in fuzz.NGRAMS:
    for text in spliced_with_numbers():
        fuzz.assert_equal_counts([text], fuzz.Analyzer(ngrams=ngrams))
texts = documents(2_000, 1)
fuzz.assert_equal_columns(texts, fuzz.Analyzer(), counted.terms[::3], (1, 3))
for size in (1, 7, 8, 9, 15, 16, 17, 64, 1000):
    fuzz.test_words_of_every_length_at_every_offset(size)
fuzz.test_short_texts_and_a_large_vocabulary_give_the_counts_of_plain_python(fuzz.OPTIONS[4])
labels = [f"c{k % 5}" for k in range(len(texts))]
wc.WordClassEmbeddings(min_docs=1, n_jobs=3).fit(texts, labels).transform(texts)
names = {}
exec(test_engine.SETUP, names)
for code in (*test_engine.MUST_RAISE, *test_engine.MAY_RAISE):
    # sanitizers report requests for absurd amounts of memory as errors
    if "__new__" in code or "**" in code or "characters(0x400" in code:
        continue
    try:
        exec(code, dict(names))
    except Exception:
        pass
# every function with several sizes, numbers of threads and invalid arguments
called = set()
for seed in range(8):
    for n_threads in (1, 2, 7):
        for call in sound_native_calls.calls(1 + 40 * seed, n_threads, seed).values():
            call()
            called.add(call.name)
        for call in sound_native_calls.calls_with_working_sets(n_threads, seed):
            call()
assert called == set(sound_native_calls.list_names())
for _, call, _ in native_calls.invalid_calls():
    sizes = [value for value in call.arguments.values() if isinstance(value, int)]
    if max(sizes, default=0) > native_calls.MAX_SANITIZED_SIZE:
        continue
    try:
        call()
    except Exception:
        pass
INTERRUPTED = "solver.solve", "solver.solve with working sets", "solver.validate_products"
for call in native_calls.long_calls(3):
    if call.name in (*INTERRUPTED, "engine.CountedTexts"):
        assert native_calls.interrupt(call)[0] == 0, call.name
print("all equal")
"""


@pytest.fixture
def build(tmp_path):
    def built_with(flags):
        for tool in ("g++", "cmake"):
            if shutil.which(tool) is None and not (Path(sys.executable).parent / tool).exists():
                pytest.skip(f"{tool} is not installed")
        cmake = shutil.which("cmake") or str(Path(sys.executable).parent / "cmake")
        configure = [
            cmake,
            *("-S", str(ROOT), "-B", str(tmp_path)),
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DCMAKE_CXX_COMPILER=g++",
            "-DCMAKE_BUILD_TYPE=Debug",
            f"-DCMAKE_CXX_FLAGS={flags} -g1 -fno-omit-frame-pointer",
        ]
        for command in (configure, [cmake, "--build", str(tmp_path)]):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        return next(tmp_path.glob("_native*.so"))

    return built_with


def library(name):
    """Return the path of a library of g++, or skip the test."""
    command = ["g++", f"-print-file-name={name}"]
    path = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        pytest.skip(f"{name} is not installed")
    return path


def run_fuzz(extension, preloaded, n_docs=N_DOCS, **variables):
    environment = {
        **os.environ,
        # libstdc++ follows, so that the sanitizer sees exceptions
        "LD_PRELOAD": " ".join([preloaded, library("libstdc++.so")]),
        "PYTHONMALLOC": "malloc",  # so that it sees every str
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **variables,
    }
    tests = str(ROOT / "tests")
    return subprocess.run(
        [sys.executable, "-c", FUZZ, str(extension), tests, str(n_docs)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1_800,
    )


def test_the_script_uses_functions_that_exist():
    names = set(re.findall(r"fuzz\.(\w+)", FUZZ))
    assert {name for name in names if not hasattr(test_native_counting, name)} == set()


@pytest.mark.slow
def test_native_code_has_no_access_out_of_bounds_and_no_undefined_behavior(build):
    extension = build("-fsanitize=address,undefined -fno-sanitize-recover=all")
    done = run_fuzz(
        extension,
        library("libasan.so"),
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
    )
    assert "runtime error" not in done.stderr, done.stderr[-4_000:]
    assert "ERROR: AddressSanitizer" not in done.stderr, done.stderr[-4_000:]
    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stdout.endswith("all equal\n")


@pytest.mark.slow
def test_native_code_has_no_data_races(build):
    extension = build("-fsanitize=thread")
    try:
        done = run_fuzz(
            extension,
            library("libtsan.so"),
            n_docs=N_DOCS // 4,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the thread sanitizer takes too long here")
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not run on this kernel")
    # Python itself is not built with the sanitizer, so reports outside the extension do not count
    races = [part for part in done.stderr.split("=" * 18) if "_native" in part]
    assert not races, races[0]
    assert done.stdout.endswith("all equal\n"), done.stderr[-4_000:]
