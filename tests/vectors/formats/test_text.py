"""Both readers of lines, the compiled and the plain one, against what a line ought to give."""

import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordclass import progress
from wordclass.errors import FormatError
from wordclass.native import extension
from wordclass.vectors.formats import _text, glove_text

PATH = Path("vectors.txt")
ODD = "\u0085\u2028\u00e9\u6771\U0001f600\0\r\t\x0b\x1c"
TERMS = st.text("ab 17." + ODD, max_size=5).map(str.encode) | st.sampled_from(
    [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\x80a"]
)
ODD_NUMBERS = [
    "1", "-2.5", "0.24487", "-0.0", ".5", "5.", "+7", "1E2", "1e-45", "3.4028235e38", "16777217",
    "16777217.0000000000000000001", "123456789012345678901234567890", "7.038531e-26", "1e400",
    "nan", "inf", "x", "1_0", "0x1", "1e", "--", "\u0665", "\t1", "",
]  # fmt: skip
NUMBERS = st.one_of(
    st.sampled_from(ODD_NUMBERS),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
).map(str.encode)
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b" \n", b"\r\n", b" \r \n"])
GOOD_LINES = st.builds(
    lambda term, numbers, end: b" ".join([term, *numbers]) + end,
    TERMS,
    st.lists(NUMBERS, min_size=2, max_size=2),
    ENDS,
)
ANY_LINES = st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ") + b"\n")
CONTENTS = st.lists(GOOD_LINES | ANY_LINES, min_size=1, max_size=8).map(b"".join)
WANTED = st.none() | st.frozensets(st.text("ab 17" + ODD + "\ud800\n", max_size=3), max_size=6)


@contextmanager
def read_by(kind):
    """Let lines be read by the compiled reader, or by plain Python."""
    compiled, has_warned = extension.text_reader, extension._has_warned
    extension.text_reader, extension._has_warned = (compiled if kind == "native" else None), True
    try:
        yield
    finally:
        extension.text_reader, extension._has_warned = compiled, has_warned


def outcome(kind, content, n_dims, wanted, cuts=()):
    """What comes out of the lines: terms, bits and number of lines; or the error."""
    pieces = content.split(b"\n")
    whole = [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(whole)), len(whole)]
    blocks = [b"".join(whole[start:end]) for start, end in pairwise(edges)]
    heard = []
    try:
        with read_by(kind), progress.on_progress(lambda *told: heard.append(told)):
            vectors = _text.read(PATH, blocks, n_dims, wanted)
    except FormatError as error:
        return error.line, error.reason
    return vectors.terms, vectors.matrix.shape, vectors.matrix.tobytes(), heard[-1][1]


def expected_outcome(content, n_dims, wanted):
    """What `outcome` should be, line by line and number by number."""
    terms, rows, lines = [], [], content.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        term, *fields = line.rstrip(b" \r").rsplit(b" ", n_dims)
        if len(fields) < n_dims:
            return number, f"expected a term and {n_dims} numbers, found {len(fields) + 1} fields"
        try:
            name = term.decode()
        except UnicodeDecodeError:
            return number, f"the term {term!r} is not UTF-8"
        if name in terms or not (wanted is None or name in wanted):
            continue
        terms.append(name)
        rows.append([])
        for field in fields:
            (value,) = _text.to_numbers([field])
            if value is None:
                return number, f"not a number: {field!r}"
            if not np.isfinite(value):
                return number, (
                    f"the vector of {name!r} holds a NaN, an infinity or a number too large "
                    "for float32"
                )
            rows[-1].append(value)
    matrix = np.array(rows, dtype=np.float32).reshape(len(terms), n_dims)
    return terms, matrix.shape, matrix.tobytes(), len(lines)


@settings(max_examples=300)
@example(b"a 1 2\nb 1 x\nc 1\n", 2, None, set())  # the first bad line is named
@example(b"a 1 2\nb 1\nc 1 x\n", 2, None, set())
@example(b"a 1 2\n\xff 1 2\nc 1 x\n", 2, None, set())
@example(b"a nan 2\nb 1 x\n", 2, None, set())
@example(b"a 1 2\nb 1e39 x\n\xff 1 2\n", 2, None, set())
@example(b"a 1 2\na x y\nb 3 4", 2, None, {1})  # of a second vector nothing is read
@example(b"\n\n", 2, None, set())
@example(b"a b c 1 2 \r\n  1 2\n 1 2\n", 2, None, set())
@given(CONTENTS, st.integers(1, 3), WANTED, st.sets(st.integers(1, 8)))
def test_both_readers_give_the_right_bits_and_errors(content, n_dims, wanted, cuts):
    unended = content.removesuffix(b"\n")
    for kind in ("native", "plain"):
        expected = expected_outcome(content, n_dims, wanted)
        assert outcome(kind, content, n_dims, wanted) == expected
        assert outcome(kind, content, n_dims, wanted, cuts) == expected
        if unended:
            expected = expected_outcome(unended, n_dims, wanted)
            assert outcome(kind, unended, n_dims, wanted) == expected


def test_many_lines_of_many_numbers_are_the_same_for_both():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2500, 30)) * 10.0 ** rng.integers(-9, 9, size=(2500, 1))
    forms = ["%.5f", "%g", "%.17g", "%.9e", "%.25f"]
    lines = [
        f"t{k % 2000} " + " ".join(forms[k % len(forms)] % value for value in row)
        for k, row in enumerate(rows)
    ]
    content = "\n".join(lines).encode()
    expected = outcome("plain", content, 30, None)
    assert expected[1] == (2000, 30)
    assert outcome("native", content, 30, None) == expected


def test_terms_of_any_length_and_spaces_of_any_number_are_found():
    for n_spaces in [*range(1, 40), 254, 255, 256, 257, 511, 513]:
        content = b"x" + b" " * n_spaces + b"y 1 2\n"
        assert outcome("native", content, 2, None)[0] == ["x" + " " * n_spaces + "y"]
        assert outcome("native", b"1 " * n_spaces + b"2", n_spaces, None)[0] == ["1"]


def test_without_the_compiled_reader_plain_python_reads_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\n")
    expected = glove_text.read(path)
    monkeypatch.setattr(extension, "text_reader", None)
    monkeypatch.setattr(extension, "_has_warned", False)
    with pytest.warns(extension.SlowPathWarning, match="vectors read by plain Python"):
        vectors = glove_text.read(path)
    assert vectors.terms == expected.terms
    assert vectors.matrix.tobytes() == expected.matrix.tobytes()


def test_the_compiled_reader_is_here_so_that_no_slow_path_hides_a_broken_build():
    assert extension.text_reader is not None


def test_blocks_hold_whole_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK_BYTES", 7)
    path = tmp_path / "lines"
    path.write_bytes(b"abc\n\nabcdefghijkl\nab\nabcdefgh\nx")
    with path.open("rb") as stream:
        blocks = list(_text.blocks_of(stream))
    assert b"".join(blocks) == path.read_bytes()
    assert len(blocks) == 3
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_other_threads_run_while_lines_are_read():
    content = b"term" + b" 0.12345" * 100 + b"\n"
    block = b"".join(b"%d" % k + content for k in range(30_000))
    reader = extension.text_reader.TextReader(100, None)
    n_turns, is_done = 0, threading.Event()

    def count_turns():
        nonlocal n_turns
        while not is_done.wait(0.001):
            n_turns += 1

    thread = threading.Thread(target=count_turns)
    thread.start()
    before = n_turns
    reader.read(block)
    during = n_turns - before
    is_done.set()
    thread.join()
    assert during > 3


@pytest.mark.parametrize("arguments", [(0, None), (-1, None), (1, [3]), (1, "ab"), ("1", None)])
def test_wrong_arguments_are_errors_not_crashes(arguments):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        extension.text_reader.TextReader(*arguments)


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
def test_a_term_that_is_no_utf8_makes_its_line_a_bad_one(wrong, frame):
    term = frame % wrong
    with pytest.raises(UnicodeDecodeError):
        term.decode()
    reader = extension.text_reader.TextReader(1, None)
    *_, n_lines, has_bad_line = reader.read(b"fine 1\n" + term + b" 1\n")
    assert (n_lines, has_bad_line) == (1, True)


def test_every_two_bytes_are_read_as_python_reads_them():
    for first in range(256):
        for second in range(0, 256, 5):
            pair = bytes((first, second))
            if set(pair) & set(b" \n\r"):
                continue
            *_, has_bad_line = extension.text_reader.TextReader(1, None).read(pair + b" 1\n")
            try:
                pair.decode()
            except UnicodeDecodeError:
                assert has_bad_line
            else:
                assert not has_bad_line
