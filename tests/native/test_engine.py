"""The native text engine: its texts, and calls that must raise and never crash."""

import ctypes
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from wordclass.native.extension import engine
from wordclass.text.analyzer import Analyzer
from wordclass.text.counting import NativeCountedTexts


@pytest.fixture(scope="module", autouse=True)
def _every_character_is_known():
    NativeCountedTexts(["\U00010400"], Analyzer(), 1)


def terms_of(documents):
    counted = engine.CountedTexts(documents, engine.options(True, True, 1, 1, []), 1)
    return counted.sorted(np.arange(len(counted.doc_freq())))[1]


def test_texts_with_the_two_characters_that_only_python_lowercases_are_listed():
    texts = ["aa", "\u0130i", "Σα", "é", "αΣ \U00010400", "", "\u0131\u03c3"]
    documents = engine.Documents(texts)
    assert documents.special() == [1, 2, 4]
    documents.replace(2, "now plain")
    assert documents.special() == [1, 4]
    documents.replace(1, "\U00010428 wider")
    documents.replace(4, "")
    assert terms_of(documents) == ["aa", "now", "plain", "wider", "\u0131\u03c3"]


def test_texts_stay_alive_while_they_are_needed():
    texts = [f"{word} {word}x" for word in ("alpha", "été", "中文字", "\U00010428\U00010428")]
    expected = sorted(word for text in texts for word in text.split())
    copies = ["".join([text, ""]) for text in texts]
    documents = engine.Documents(copies)
    copies.clear()
    junk = ["x" * size for size in range(1, 2000)]  # reuses the memory of freed strings
    assert terms_of(documents) == expected
    del junk


def test_a_text_of_four_gigabytes_is_refused():
    # memory that is never written needs no pages
    new = ctypes.pythonapi.PyUnicode_New
    new.argtypes = [ctypes.c_ssize_t, ctypes.c_uint32]
    new.restype = ctypes.py_object
    try:
        huge = new(2**32, 127)
    except MemoryError:
        pytest.skip("no four gigabytes of address space")
    with pytest.raises(ValueError, match="document 1 has 4 GB or more"):
        engine.Documents(["", huge])


def test_an_object_that_one_thread_changes_is_refused_to_another():
    counter = engine.TermCounter(engine.options(True, True, 1, 1, []), 1)
    documents = engine.Documents(["aa bb " * 20_000] * 500)
    messages = []

    def add():
        try:
            counter.add(documents)
        except ValueError as error:
            messages.append(str(error))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(messages) <= {"another thread is using this object"}
    counter.finish()
    assert counter.n_docs == 500 * (4 - len(messages))
    assert counter.doc_freq().tolist() == [counter.n_docs] * 2


# --- calls that must not crash -----------------------------------------------------------------

# Each call runs in its own process, so a crash is one failing test.
SETUP = """
import numpy as np
from wordclass.native.extension import engine as e

def ints(*values): return np.array(values, np.int32)
def longs(*values): return np.array(values, np.int64)
def floats(*values): return np.array(values, np.float64)

options = e.options(True, True, 1, 1, [])
documents = e.Documents(["aa bb", "bb cc"])
counted = e.CountedTexts(documents, options, 1)
fixed = e.FixedVocabulary(["aa", "bb"], options)
fits = [floats(1, 2, 3), ints(0, 1, 0), longs(0, 2, 3), ints(0, 1), longs(0, 1, 2), 2, 2, True]
fits.append(True)
sums = [ints(0, 1, -1), floats(1, 1), floats(0, 1, 2), ints(0, 1), longs(0, 1, 2), 2, True, True]
counter = e.TermCounter(options, 2)
weights = [ints(1, 2, 1), ints(0, 1, 0), longs(0, 2, 3), floats(1, 1), floats(0, 1, 2)]

def put(arguments, place, value):
    return [*arguments[:place], value, *arguments[place + 1:]]
"""
DRIVER = """
import json, os, sys
attempts = json.load(sys.stdin)
names = {}
exec(attempts.pop(""), names)
outcomes = {}
for code in attempts:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            exec(code, names)
            outcome = "fine"
        except BaseException as error:
            outcome = type(error).__name__
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        outcome = pipe.read()
    _, status = os.waitpid(child, 0)
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    outcomes[code] = outcome if not signal else f"killed by signal {signal}"
print(json.dumps(outcomes))
"""
REFUSALS = {"ValueError", "TypeError", "IndexError", "OverflowError", "MemoryError"}

MUST_RAISE = [
    # ids and columns
    "counted.sorted(longs(-1))",
    "counted.sorted(longs(0, 3))",
    "counted.sorted(longs(2**40))",
    "counted.sorted(longs(-2**63))",
    "counted.occurrences(ints(0, 1), 2)",
    "counted.occurrences(ints(0, 1, 2, 3), 4)",
    "counted.occurrences(ints(), 0)",
    "counted.occurrences(ints(0, 1, 2), 2)",
    "counted.occurrences(ints(0, 1, 2), 0)",
    "counted.occurrences(ints(0, 1, 2**31 - 1), 3)",
    "counted.occurrences(ints(0, 1, -2), 3)",
    "counted.occurrences(ints(0, 1, 2), -1)",
    "counted.occurrences(ints(0, 1, -1), 2); counted.occurrences(ints(0, 1, -1), 2)",
    # dimensions and types
    "counted.sorted(np.zeros((2, 2), np.int64))",
    "counted.sorted(np.array(0))",
    "counted.sorted(None)",
    "counted.sorted(['a'])",
    "counted.occurrences(np.zeros((3, 1), np.int32), 3)",
    "counted.occurrences(None, 3)",
    "e.Documents(('aa',))",
    "e.Documents('aa')",
    "e.Documents(None)",
    "e.Documents()",
    "e.Documents([b'aa'])",
    "e.Documents(['aa', None])",
    # documents
    "documents.replace(2, 'aa')",
    "documents.replace(0, None)",
    "documents.replace(0, b'aa')",
    "documents[0]",
    # options
    "e.options(True, True, 0, 1, [])",
    "e.options(True, True, 2, 1, [])",
    "e.options(True, True, -1, 1, [])",
    "e.options(True, True, 1, 1, [None])",
    "e.character_options(True, 0, 1)",
    "e.character_options(True, 3, 2)",
    "e.character_options(True, 1, 17)",
    "e.character_options(True, -1, 2)",
    "e.character_options(True, 1, 2**64)",
    "e.character_options(None, 1, 2)",
    "e.FixedVocabulary(['aa'], e.character_options(True, 1, 2)).index(documents, 1)",
    "e.options(True, True, 1, 1, ['\\ud800'])",
    "e.options(True, True, 1, 1, None)",
    "e.CountedTexts(None, options, 1)",
    "e.CountedTexts(documents, None, 1)",
    "e.CountedTexts(documents, options, -1)",
    "e.CountedTexts(['aa'], options, 1)",
    "e.FixedVocabulary(None, options)",
    "e.FixedVocabulary([1], options)",
    "e.FixedVocabulary(['\\ud800'], options)",
    "e.FixedVocabulary(['aa'], None)",
    "fixed.count(None, 1)",
    "fixed.index(None, 1)",
    "fixed.count(documents, -1)",
    # objects that were never initialized
    "e.CountedTexts.__new__(e.CountedTexts).doc_freq()",
    "e.Documents.__new__(e.Documents).special()",
    "e.FixedVocabulary.__new__(e.FixedVocabulary).count(documents, 1)",
    "e.CountedTexts(e.Documents.__new__(e.Documents), options, 1)",
    "e.CountedTexts(documents, e.Options(), 1)",
    # characters
    "e.learn_characters(0x110000, np.ones(1, np.uint32))",
    "e.learn_characters(0x10fff0, np.ones(17, np.uint32))",
    "e.learn_characters(2**32 - 1, np.ones(2, np.uint32))",
    "e.learn_characters(-1, np.ones(2, np.uint32))",
    "e.learn_visible_characters(0x110000, np.ones(1, np.uint32))",
    "e.learn_visible_characters(0x10fff0, np.ones(17, np.uint32))",
    "e.learn_visible_characters(0, np.full(2, 0x110000, np.uint32))",
    # weights
    "e.tfidf(*put(weights, 0, ints(1, 2)))",
    "e.tfidf(*put(weights, 0, ints(1, 2, 3)))",
    "e.tfidf(*put(weights, 0, ints(1, 2, -1)))",
    "e.tfidf(*put(weights, 1, ints(0, 1)))",
    "e.tfidf(*put(weights, 1, ints(0, 1, 2)))",
    "e.tfidf(*put(weights, 1, ints(0, 1, -1)))",
    "e.tfidf(*put(weights, 1, ints(0, 1, 2**31 - 1)))",
    "e.tfidf(*put(weights, 2, longs()))",
    "e.tfidf(*put(weights, 2, longs(0, 2)))",
    "e.tfidf(*put(weights, 2, longs(0, 2, 4)))",
    "e.tfidf(*put(weights, 2, longs(1, 2, 3)))",
    "e.tfidf(*put(weights, 2, longs(0, 4, 3)))",
    "e.tfidf(*put(weights, 2, longs(0, -1, 3)))",
    "e.tfidf(*put(weights, 2, longs(-2**62, 2, 3)))",
    "e.tfidf(*put(weights, 3, floats()))",
    "e.tfidf(*put(weights, 4, floats()))",
    "e.tfidf(*put(weights, 3, np.ones((2, 2))))",
    "e.tfidf(*put(weights, 3, None))",
    # sums
    *(
        f"e.sum_documents(*put(fits, {place}, {value}))"
        for place, value in (
            *((0, "floats(1, 2)"), (0, "floats()"), (0, "None"), (0, "np.ones((3, 1))")),
            *((1, "ints(0, 1)"), (1, "ints(0, 2, 0)"), (1, "ints(0, -1, 0)")),
            *((2, "longs()"), (2, "longs(0, 3)"), (2, "longs(0, 4, 3)"), (2, "longs(0, 2, 4)")),
            *((2, "longs(-1, 2, 3)"), (2, "longs(0, 2**62, 3)"), (2, "longs(1, 2, 3)")),
            *((3, "ints(0, 2)"), (3, "ints(0, -1)"), (3, "ints()"), (3, "ints(0, 2**31 - 1)")),
            *((4, "longs(0, 1, 3)"), (4, "longs(0, 2)"), (4, "longs()"), (4, "longs(0, 3, 2)")),
            *((5, "1"), (5, "-1"), (5, "None"), (5, "2**62"), (5, "2**64 - 1"), (5, "2**31")),
            *((6, "1"), (6, "0"), (6, "-1"), (6, "2**63"), (6, "2**64 - 1"), (6, "2**31")),
        )
    ),
    "e.sum_documents(*put(put(fits, 5, 2**32), 6, 2**32))",
    "e.sum_documents(*put(put(fits, 5, 2**63), 6, 2))",
    *(
        f"counted.tfidf_sums(*put(sums, {place}, {value}))"
        for place, value in (
            *((0, "ints(0, 1)"), (0, "ints(0, 1, 2)"), (0, "ints(0, 1, -2)"), (0, "ints()")),
            *((1, "floats(1)"), (1, "floats()"), (1, "None"), (1, "np.ones((2, 2))")),
            *((2, "floats(0)"), (2, "floats()")),
            *((3, "ints(0, 2)"), (3, "ints(0, -1)"), (3, "ints(0)"), (3, "ints(0, 1, 1)")),
            *((4, "longs(0, 1)"), (4, "longs(0, 2, 1)"), (4, "longs(0, 1, 3)"), (4, "longs()")),
            *((4, "longs(0, 1, 1, 2)"), (4, "longs(-1, 1, 2)"), (4, "longs(0, 0, 0)")),
            *((5, "1"), (5, "0"), (5, "-1"), (5, "2**63"), (5, "2**31"), (5, "2**64 - 1")),
        )
    ),
    "counted.tfidf_sums(*sums); counted.tfidf_sums(*sums)",
    "counted.tfidf_sums(*sums); counted.occurrences(ints(0, 1, -1), 2)",
    "counted.occurrences(ints(0, 1, -1), 2); counted.tfidf_sums(*sums)",
    # terms counted in blocks
    "e.TermCounter(options, -1)",
    "e.TermCounter(None, 1)",
    "counter.add(None)",
    "counter.add(['aa'])",
    "counter.finish(); counter.add(documents)",
    "counter.add(documents); counter.sorted(longs(0))",
    "counter.add(documents); counter.finish(); counter.sorted(longs(3))",
    "e.TermTable()",
    "e.TermTable.__new__(e.TermTable).doc_freq()",
    "e.TermCounter.__new__(e.TermCounter).finish()",
]
MAY_RAISE = [
    # arrays of another type, which are converted or refused
    "counted.sorted(np.array([0.5, 1.5]))",
    "counted.sorted(ints(0, 1))",
    "counted.sorted(longs(0, 1, 2)[::2])",
    "counted.sorted(longs(0, 0, 0))",
    "counted.occurrences(longs(0, 1, -1), 2)",
    "counted.occurrences(longs(0, 1, 2**32), 2)",
    "counted.occurrences(floats(0, 1, np.nan), 2)",
    "counted.occurrences(ints(1, 1, 1), 2)",
    "counted.occurrences(ints(-1, -1, -1), 2**40)",
    "counted.occurrences(ints(2, 1, 0)[::-1], 3)",
    "e.learn_characters(0x110000, np.zeros(0, np.uint32))",
    # surrogates, spaces and the widest characters instead of lower case
    *(
        f"e.learn_visible_characters(0x400, np.full(9, {code}, np.uint32)); "
        "found = e.CountedTexts(e.Documents(['\\u0400\\u0401 \\u0402']), "
        "e.character_options(True, 1, 16), 1); found.sorted(np.arange(len(found.doc_freq())))"
        for code in ("0xd800", "0x20", "0x10ffff", "0", "2**32 - 1")
    ),
    "e.CountedTexts(e.Documents(['', ' a', '\\ud800\\0']), e.character_options(True, 16, 16), 3)",
    "e.FixedVocabulary(['', ' ', 'a' * 99, '\\0'], e.character_options(False, 1, 16))"
    ".count(documents, 2)",
    "e.learn_characters(0x400, np.full(9, 2**32 - 1, np.uint32)); "
    "e.CountedTexts(e.Documents(['\\u0400\\u0401']), options, 1).sorted(longs(0))",
    "e.tfidf(ints(), ints(), longs(0), floats(), floats())",
    "e.tfidf(ints(), ints(), longs(0, 0, 0), floats(), floats())",
    "e.tfidf(*put(weights, 3, floats(0, 0)))",
    "e.tfidf(*put(weights, 3, floats(np.nan, np.inf)))",
    "e.sum_documents(floats(), ints(), longs(0), ints(), longs(0), 0, 0, True, True)",
    "e.sum_documents(*fits)",
    "e.sum_documents(*put(fits, 0, np.ones(3, np.float32)))",
    "e.sum_documents(*put(fits, 7, False))",
    "counted.tfidf_sums(*sums)",
    "counted.tfidf_sums(*put(sums, 1, floats(0, 0)))",
    "counted.tfidf_sums(*put(sums, 0, ints(1, 1, 1)))",
    "counter.finish(); counter.finish(); counter.sorted(longs()); counter.doc_freq()",
    "[counter.add(documents) for _ in range(50)]; counter.add(e.Documents([])); counter.finish(); "
    "counter.sorted(longs(2, 1, 0))",
    "e.TermCounter(options, 0).add(documents)",
    "e.TermCounter(options, 10**6).add(documents)",
    # extreme numbers of threads, n-grams and words
    "e.CountedTexts(documents, options, 0)",
    "e.CountedTexts(documents, options, 10**6)",
    "e.CountedTexts(documents, options, 2**64 - 1)",
    "e.CountedTexts(e.Documents([]), options, 0)",
    "fixed.count(documents, 0)",
    "fixed.index(documents, 0)",
    "fixed.count(documents, 10**6)",
    "fixed.index(documents, 10**6)",
    "e.CountedTexts(documents, e.options(True, True, 1, 10**6, []), 1)",
    "e.CountedTexts(documents, e.options(True, True, 1, 2**64 - 1, []), 1)",
    "e.CountedTexts(e.Documents(['aa bb c']), e.options(True, True, 1, 2**63, []), 1)",
    "e.CountedTexts(documents, e.options(True, True, 2**64 - 1, 2**64 - 1, []), 1)",
    "e.CountedTexts(e.Documents(['aa bb cc ' * 50]), e.options(True, True, 1, 50, []), 1)"
    ".sorted(longs(*range(50)))",
    "e.CountedTexts(documents, e.options(True, True, 1, 1, ['aa', 'aa', '', '\\0']), 1)",
    "e.FixedVocabulary(['aa', 'aa', 'aa', '', ' ', '  '], options).count(documents, 1)",
    "e.FixedVocabulary([], options).index(documents, 1)",
    "e.FixedVocabulary(['aa bb cc dd ee ff'], e.options(True, True, 1, 3, [])).count(documents, 2)",
    "texts = ['aa', 'bb'] * 1000; held = e.Documents(texts); texts.clear(); "
    "e.CountedTexts(held, options, 2)",
    "held = e.Documents(['aa']); [held.replace(0, 'b' * k) for k in range(200)]; "
    "e.CountedTexts(held, options, 1)",
]


@pytest.fixture(scope="module")
def outcomes():
    attempts = dict.fromkeys(["", *MUST_RAISE, *MAY_RAISE], "")
    attempts[""] = SETUP
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER],
        input=json.dumps(attempts),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(process.stdout)


@pytest.mark.parametrize("code", MUST_RAISE)
def test_a_call_with_invalid_arguments_raises(code, outcomes):
    assert outcomes[code] in REFUSALS


@pytest.mark.parametrize("code", MAY_RAISE)
def test_an_unusual_call_works_or_raises(code, outcomes):
    allowed = {"fine", "RuntimeError", "UnicodeEncodeError", "UnicodeDecodeError"}
    assert outcomes[code] in REFUSALS | allowed
