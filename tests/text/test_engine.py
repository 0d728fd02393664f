"""The compiled engine itself: buffers of UTF-8, and calls that must raise and never crash."""

import json
import subprocess
import sys

import numpy as np
import pytest
from nasty_documents import documents, encodable

from wordclass.native import engine
from wordclass.text.analyzer import Analyzer, mask_and_lower
from wordclass.text.counting import NativeCountedTexts

# --- buffers of UTF-8 --------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _every_character_is_known():
    NativeCountedTexts(["\U00010400"], Analyzer(), 1)


def buffer_of(parts):
    """Return bytes and offsets, as Arrow and numpy hold texts."""
    joined = np.frombuffer(b"".join(parts), np.uint8)
    return joined, np.cumsum([0, *map(len, parts)], dtype=np.int64)


def counted(texts, *, buffer, masks=True, lowercase=True, ngrams=(1, 1), threads=1):
    """Count texts by the engine alone, from a list or from a buffer."""
    held = (
        engine.Documents(*buffer_of([text.encode() for text in texts]))
        if buffer
        else (engine.Documents(texts))
    )
    if lowercase:
        for k in held.special():
            text = held.text(k)
            assert text == texts[k]
            held.replace(k, mask_and_lower(text, masks))
    found = engine.CountedTexts(held, engine.options(masks, lowercase, *ngrams, []), threads)
    ids, terms = found.sorted(np.flatnonzero(found.doc_freq() > 0))
    columns = np.full(found.n_terms, -1, np.int32)
    columns[ids] = np.arange(len(ids))
    return terms, [part.tolist() for part in found.occurrences(columns, len(ids))]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_buffer_is_counted_as_a_list_is(threads, masks, lowercase, ngrams):
    texts = encodable(documents(1_000, seed=21))
    options = {"masks": masks, "lowercase": lowercase, "ngrams": ngrams}
    from_buffer = counted(texts, buffer=True, threads=threads, **options)
    assert from_buffer == counted(texts, buffer=False, **options)


@pytest.mark.parametrize("texts", [[], [""], ["", "", ""], ["aa"], ["", "éé", ""]], ids=str)
def test_small_buffers(texts):
    held = engine.Documents(*buffer_of([text.encode() for text in texts]))
    assert len(held) == len(texts)
    assert counted(texts, buffer=True) == counted(texts, buffer=False)


def test_a_part_of_a_buffer_is_counted_as_arrow_slices_it():
    joined, _ = buffer_of([b"aa bb cc dd"])
    held = engine.Documents(joined, np.array([3, 5, 8]))
    found = engine.CountedTexts(held, engine.options(True, True, 1, 1, []), 1)
    assert found.sorted(np.arange(found.n_terms))[1] == ["bb", "cc"]


def test_texts_with_the_two_characters_that_only_python_lowers_are_told():
    texts = ["aa", "\u0130i", "Σα", "é", "αΣ \U00010400", "", "\u0131\u03c3"]
    for held in (
        engine.Documents(texts),
        engine.Documents(*buffer_of([text.encode() for text in texts])),
    ):
        assert held.special() == [1, 2, 4]
        assert [held.text(k) for k in held.special()] == [texts[k] for k in (1, 2, 4)]
        held.replace(2, "now plain")
        assert held.special() == [1, 4]
        held.replace(1, "\U00010428 wider")
        held.replace(4, "")
        found = engine.CountedTexts(held, engine.options(True, True, 1, 1, []), 1)
        terms = found.sorted(np.arange(found.n_terms))[1]
        assert terms == ["aa", "now", "plain", "wider", "\u0131\u03c3"]


def test_texts_are_held_while_they_are_needed():
    texts = [f"{word} {word}x" for word in ("alpha", "été", "中文字", "\U00010428\U00010428")]
    joined, offsets = buffer_of([text.encode() for text in texts])
    expected = sorted(word for text in texts for word in text.split())
    for given in ([list(texts)], [joined.copy(), offsets.copy()]):
        held = engine.Documents(*given)
        if len(given) == 1:
            given[0].clear()
        del given
        junk = ["x" * size for size in range(1, 2000)]  # takes the place of what was let go
        found = engine.CountedTexts(held, engine.options(True, True, 1, 1, []), 1)
        assert found.sorted(np.arange(found.n_terms))[1] == expected
        del junk


INVALID = {
    "a loose continuation": b"\x80",
    "a loose continuation behind letters": b"ab\xbf",
    "nothing behind the first of two": b"\xc3",
    "nothing behind the first of three": b"\xe4",
    "one of three": b"\xe4\xb8",
    "nothing behind the first of four": b"\xf0",
    "two of four": b"\xf0\x90",
    "three of four": b"\xf0\x90\x90",
    "a letter in the place of a continuation": b"\xc3a",
    "a letter in the place of the second continuation": b"\xe4\xb8a",
    "a letter in the place of the third continuation": b"\xf0\x90\x90a",
    "two first bytes": b"\xc3\xc3\xa9",
    "NUL in two bytes": b"\xc0\x80",
    "a letter in two bytes": b"\xc1\x81",
    "é in three bytes": b"\xe0\x83\xa9",
    "the last of the overlong in three bytes": b"\xe0\x9f\xbf",
    "the last of the overlong in four bytes": b"\xf0\x8f\xbf\xbf",
    "the first surrogate": b"\xed\xa0\x80",
    "the last surrogate": b"\xed\xbf\xbf",
    "a pair of surrogates": b"\xed\xa0\x81\xed\xb0\x80",
    "beyond the last code point": b"\xf4\x90\x80\x80",
    "F5": b"\xf5\x80\x80\x80",
    "F8, five bytes": b"\xf8\x88\x80\x80\x80",
    "FC, six bytes": b"\xfc\x84\x80\x80\x80\x80",
    "FE": b"\xfe",
    "FF": b"\xff",
    "Latin-1": "été".encode("latin-1"),
    "UTF-16": "été".encode("utf-16"),
}


@pytest.mark.parametrize("wrong", INVALID.values(), ids=INVALID.keys())
@pytest.mark.parametrize("frame", [b"%b", b"aa bb %b", b"%b aa", "é中\U00010400%b".encode()])
def test_bytes_that_are_no_utf8_are_refused_with_their_document(wrong, frame):
    with pytest.raises(UnicodeDecodeError):
        (frame % wrong).decode()
    with pytest.raises(ValueError, match="document 2 is not valid UTF-8"):
        engine.Documents(*buffer_of([b"", b"fine", frame % wrong, b"\x80\x80"]))


def test_a_character_cut_in_two_by_the_end_of_its_document_is_refused():
    joined, _ = buffer_of(["aé".encode(), b"bb"])
    with pytest.raises(ValueError, match="document 0 is not valid"):
        engine.Documents(joined, np.array([0, 2, 5]))


def test_every_two_bytes_are_read_as_python_reads_them():
    for first in range(256):
        for second in range(0, 256, 5):
            pair = bytes((first, second))
            try:
                pair.decode()
            except UnicodeDecodeError:
                with pytest.raises(ValueError, match="document 0"):
                    engine.Documents(*buffer_of([pair]))
            else:
                assert len(engine.Documents(*buffer_of([pair]))) == 1


@pytest.mark.parametrize(
    "offsets", [[0, 5], [0, 3, 2], [-1, 2], [2, 1], [0, -1], [0, 2**40], [0, 1, 2, 9]], ids=str
)
def test_offsets_out_of_order_or_out_of_range_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets"):
        engine.Documents(np.frombuffer(b"aabb", np.uint8), np.array(offsets))


def test_no_offsets_at_all_are_refused():
    with pytest.raises(ValueError, match="offsets"):
        engine.Documents(np.frombuffer(b"aabb", np.uint8), np.array([], np.int64))


def test_a_text_of_four_gigabytes_is_refused():
    # memory that is never touched takes no room
    try:
        zeros = np.zeros(2**32, np.uint8)
    except MemoryError:
        pytest.skip("no four gigabytes of address space")
    with pytest.raises(ValueError, match="document 1 has 4 GB or more"):
        engine.Documents(zeros, np.array([0, 0, 2**32]))


# --- calls that must not crash -----------------------------------------------------------------

# Each runs in a process of its own: a crash is then one failing test, and says which.
SETUP = """
import numpy as np
from wordclass.native import engine as e

def ints(*values): return np.array(values, np.int32)
def longs(*values): return np.array(values, np.int64)
def floats(*values): return np.array(values, np.float64)

options = e.options(True, True, 1, 1, [])
documents = e.Documents(["aa bb", "bb cc"])
counted = e.CountedTexts(documents, options, 1)
fixed = e.FixedVocabulary(["aa", "bb"], options)
buffer = np.frombuffer(b"aa bb", np.uint8)
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
            told = "fine"
        except BaseException as error:
            told = type(error).__name__
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    outcomes[code] = told if not signal else f"killed by signal {signal}"
print(json.dumps(outcomes))
"""
REFUSED = {"ValueError", "TypeError", "IndexError", "OverflowError", "MemoryError"}

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
    "e.Documents(buffer)",
    "e.Documents(buffer, None)",
    "e.Documents(buffer.reshape(1, -1), longs(0, 1))",
    "e.Documents(buffer, np.zeros((2, 1), np.int64))",
    # documents
    "documents.text(2)",
    "documents.text(-1)",
    "documents.text(2**64)",
    "documents.replace(2, 'aa')",
    "documents.replace(0, None)",
    "documents.replace(0, b'aa')",
    "documents[0]",
    # options
    "e.options(True, True, 0, 1, [])",
    "e.options(True, True, 2, 1, [])",
    "e.options(True, True, -1, 1, [])",
    "e.options(True, True, 1, 1, [None])",
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
    # objects that were never made
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
    # terms block by block
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
    # of another type: taken over number by number, or refused
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
    "e.Documents(np.array([97, 98]), longs(0, 2))",
    "e.Documents(buffer, ints(0, 5))",
    "e.Documents(buffer, floats(0, 5))",
    "e.Documents(buffer, longs(9))",
    "e.Documents(buffer, longs(-9))",
    "e.Documents(buffer[::2], longs(0, 3))",
    "e.Documents(b'aa bb', longs(0, 5))",
    "e.Documents(bytearray(b'aa bb'), longs(0, 5))",
    "documents.text(0)",
    "e.Documents(['\\ud800 \\u03a3']).text(0)",
    "e.learn_characters(0x110000, np.zeros(0, np.uint32))",
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
    # threads, n-grams and words beyond reason
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER],
        input=json.dumps(attempts),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", MUST_RAISE)
def test_a_call_with_what_does_not_fit_raises(code, outcomes):
    assert outcomes[code] in REFUSED


@pytest.mark.parametrize("code", MAY_RAISE)
def test_a_strange_call_works_or_raises(code, outcomes):
    assert outcomes[code] in REFUSED | {"fine", "RuntimeError", "UnicodeEncodeError"}
