"""The native reader of lines and the one in plain Python give the defined result."""

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
UNUSUAL_CHARACTERS = "\u0085\u2028\u00e9\u6771\U0001f600\0\r\t\x0b\x1c"
TERMS = st.text("ab 17." + UNUSUAL_CHARACTERS, max_size=5).map(str.encode) | st.sampled_from(
    [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\x80a"]
)
UNUSUAL_NUMBERS = [
    "1", "-2.5", "0.24487", "-0.0", ".5", "5.", "+7", "1E2", "1e-45", "3.4028235e38", "16777217",
    "16777217.0000000000000000001", "123456789012345678901234567890", "7.038531e-26", "1e400",
    "nan", "inf", "x", "1_0", "0x1", "1e", "--", "\u0665", "\t1", "",
]  # fmt: skip
NUMBERS = st.one_of(
    st.sampled_from(UNUSUAL_NUMBERS),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
).map(str.encode)
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b" \n", b"\r\n", b" \r \n"])
VALID_LINES = st.builds(
    lambda term, numbers, end: b" ".join([term, *numbers]) + end,
    TERMS,
    st.lists(NUMBERS, min_size=2, max_size=2),
    ENDS,
)
ANY_LINES = st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ") + b"\n")
CONTENTS = st.lists(VALID_LINES | ANY_LINES, min_size=1, max_size=8).map(b"".join)
REQUESTED = st.none() | st.frozensets(
    st.text("ab 17" + UNUSUAL_CHARACTERS + "\ud800\n", max_size=3), max_size=6
)


@contextmanager
def use_reader(kind):
    """Use the native reader or the one in plain Python inside the `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "_has_warned", True)
        if kind == "plain":
            patch.setattr(extension, "text_reader", None)
        yield


def outcome(kind, content, n_dims, requested, cuts=()):
    """Return terms, shape, bits and number of lines, or the line and reason of the error."""
    pieces = content.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(lines)), len(lines)]
    blocks = [b"".join(lines[start:end]) for start, end in pairwise(edges)]
    reports = []
    try:
        with use_reader(kind), progress.on_progress(lambda *report: reports.append(report)):
            vectors = _text.read(PATH, blocks, n_dims, requested)
    except FormatError as error:
        return error.line, error.reason
    return vectors.terms, vectors.matrix.shape, vectors.matrix.tobytes(), reports[-1][1]


def expected_outcome(content, n_dims, requested):
    """Return the defined result of `outcome`, computed line by line and number by number."""
    terms = []
    rows = []
    lines = content.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        term, *fields = line.rstrip(b" \r").rsplit(b" ", n_dims)
        if len(fields) < n_dims:
            problem = f"the line has too few fields ({len(fields) + 1})"
            return number, f"{problem}; expected a term and {n_dims} numbers"
        try:
            name = term.decode()
        except UnicodeDecodeError:
            return number, f"the term {term!r} is not UTF-8"
        if name in terms or not (requested is None or name in requested):
            continue
        terms.append(name)
        rows.append([])
        for field in fields:
            (value,) = _text.parse_numbers([field])
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
@example(b"a 1 2\nb 1 x\nc 1\n", 2, None, set())  # the error names the first invalid line
@example(b"a 1 2\nb 1\nc 1 x\n", 2, None, set())
@example(b"a 1 2\n\xff 1 2\nc 1 x\n", 2, None, set())
@example(b"a nan 2\nb 1 x\n", 2, None, set())
@example(b"a 1 2\nb 1e39 x\n\xff 1 2\n", 2, None, set())
@example(b"a 1 2\na x y\nb 3 4", 2, None, {1})  # the second vector of a term is not parsed
@example(b"\n\n", 2, None, set())
@example(b"a b c 1 2 \r\n  1 2\n 1 2\n", 2, None, set())
@given(CONTENTS, st.integers(1, 3), REQUESTED, st.sets(st.integers(1, 8)))
def test_both_readers_give_the_defined_bits_and_errors(content, n_dims, requested, cuts):
    without_end = content.removesuffix(b"\n")
    for kind in ("native", "plain"):
        expected = expected_outcome(content, n_dims, requested)
        assert outcome(kind, content, n_dims, requested) == expected
        assert outcome(kind, content, n_dims, requested, cuts) == expected
        if without_end:
            expected = expected_outcome(without_end, n_dims, requested)
            assert outcome(kind, without_end, n_dims, requested) == expected


def test_both_readers_agree_on_many_lines_of_many_numbers():
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


def test_terms_of_any_length_with_any_number_of_spaces_are_read():
    for n_spaces in [*range(1, 40), 254, 255, 256, 257, 511, 513]:
        content = b"x" + b" " * n_spaces + b"y 1 2\n"
        assert outcome("native", content, 2, None)[0] == ["x" + " " * n_spaces + "y"]
        assert outcome("native", b"1 " * n_spaces + b"2", n_spaces, None)[0] == ["1"]


def test_a_warning_is_issued_without_the_native_reader(tmp_path, monkeypatch):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\n")
    expected = glove_text.read(path)
    monkeypatch.setattr(extension, "text_reader", None)
    monkeypatch.setattr(extension, "_has_warned", False)
    with pytest.warns(extension.SlowPathWarning, match="the native extension was not built"):
        vectors = glove_text.read(path)
    assert vectors.terms == expected.terms
    assert vectors.matrix.tobytes() == expected.matrix.tobytes()


def test_the_native_reader_is_available():
    assert extension.text_reader is not None


def test_blocks_consist_of_complete_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK_BYTES", 7)
    path = tmp_path / "lines"
    path.write_bytes(b"abc\n\nabcdefghijkl\nab\nabcdefgh\nx")
    with path.open("rb") as stream:
        blocks = list(_text.read_blocks(stream))
    assert b"".join(blocks) == path.read_bytes()
    assert len(blocks) == 3
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_other_threads_run_while_lines_are_read():
    content = b"term" + b" 0.12345" * 100 + b"\n"
    block = b"".join(b"%d" % k + content for k in range(30_000))
    reader = extension.text_reader.TextReader(100, None)
    n_turns = 0
    is_finished = threading.Event()

    def count_turns():
        nonlocal n_turns
        while not is_finished.wait(0.001):
            n_turns += 1

    thread = threading.Thread(target=count_turns)
    thread.start()
    n_turns_before = n_turns
    reader.read(block)
    n_turns_during = n_turns - n_turns_before
    is_finished.set()
    thread.join()
    assert n_turns_during > 3


@pytest.mark.parametrize("arguments", [(0, None), (-1, None), (1, [3]), (1, "ab"), ("1", None)])
def test_invalid_arguments_do_not_crash_the_native_reader(arguments):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        extension.text_reader.TextReader(*arguments)


INVALID = {
    "a single continuation": b"\x80",
    "a continuation after letters": b"ab\xbf",
    "only the first of two": b"\xc3",
    "only the first of three": b"\xe4",
    "two of three": b"\xe4\xb8",
    "only the first of four": b"\xf0",
    "two of four": b"\xf0\x90",
    "three of four": b"\xf0\x90\x90",
    "a letter instead of a continuation": b"\xc3a",
    "a letter instead of the second continuation": b"\xe4\xb8a",
    "a letter instead of the third continuation": b"\xf0\x90\x90a",
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


@pytest.mark.parametrize("invalid", INVALID.values(), ids=INVALID.keys())
@pytest.mark.parametrize("frame", [b"%b", b"aa bb %b", b"%b aa", "é中\U00010400%b".encode()])
def test_a_line_whose_term_is_not_utf8_is_invalid(invalid, frame):
    term = frame % invalid
    with pytest.raises(UnicodeDecodeError):
        term.decode()
    reader = extension.text_reader.TextReader(1, None)
    *_, n_lines, has_invalid_line = reader.read(b"valid 1\n" + term + b" 1\n")
    assert (n_lines, has_invalid_line) == (1, True)


def test_pairs_of_bytes_are_decoded_as_in_python():
    for first in range(256):
        for second in range(0, 256, 5):
            pair = bytes((first, second))
            if set(pair) & set(b" \n\r"):
                continue
            *_, has_invalid_line = extension.text_reader.TextReader(1, None).read(pair + b" 1\n")
            try:
                pair.decode()
            except UnicodeDecodeError:
                assert has_invalid_line
            else:
                assert not has_invalid_line
