from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordclass.native import extension
from wordclass.vectors.formats import _text


def nearest_float32(text):
    """Return the nearest float32, with ties to even, computed in exact arithmetic."""
    exact = Fraction(text)
    with np.errstate(over="ignore"):
        guess = np.float32(float(text))
        neighbors = [np.nextafter(guess, np.float32(end)) for end in (-np.inf, np.inf)]

    def distance(candidate):
        value = float(candidate)
        # infinity stands for the number after the largest one
        near = Fraction(2**128 if value > 0 else -(2**128)) if np.isinf(value) else Fraction(value)
        return abs(near - exact), int(candidate.view(np.uint32)) & 1

    best = min([guess, *neighbors], key=distance)
    # a zero has the sign of the text
    return np.copysign(best, np.float32(-1 if text.startswith("-") else 1))


def to_float32(text):
    (number,) = _text.parse_numbers([text.encode()])
    return np.float32(number)


def read_number(reader_class, text):
    """Return the number that a reader parses, or None if it leaves it to `parse_numbers`."""
    block = b"a " + text.encode()
    terms, lines, numbers, unparsed, n_lines, has_invalid_line = reader_class(1, None).read(block)
    assert (terms, list(lines), n_lines, has_invalid_line) == (b"a\n", [0], 1, False)
    if unparsed:
        ((position, line, start, end),) = unparsed
        assert (position, line, block[start:end]) == (0, 0, text.encode().rstrip())
    return None if unparsed else numbers[0]


def read_natively(text):
    return read_number(extension.text_reader.TextReader, text)


def read_in_python(text):
    return read_number(_text.PythonReader, text)


def digits_of(value):
    """Return all digits of the exact decimal expansion of a double."""
    return f"{value:.1100f}".rstrip("0") if abs(value) < 1 else f"{value:.200f}".rstrip("0")


@st.composite
def near_the_middle(draw):
    """Draw a number in the middle between two float32 numbers, or close to it."""
    bits = draw(st.integers(0, 0x7F7FFFFF))
    low, high = np.array([bits, min(bits + 1, 0x7F7FFFFF)], dtype=np.uint32).view(np.float32)
    middle = (float(low) + float(high)) / 2
    sign = draw(st.sampled_from(["", "-", "+"]))
    if draw(st.booleans()):  # as many digits as the native reader handles
        return f"{sign}{middle:.{draw(st.integers(14, 17))}e}"
    shift = draw(st.sampled_from(["", "0", "1", "001", "0" * 30 + "1"]))
    return sign + digits_of(middle) + shift


TEXTS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-10, 10).map(lambda value: f"{value:.5f}"),
    st.from_regex(r"[+-]?[0-9]{1,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,25}(e-?[0-4]?[0-9])?", fullmatch=True),
    near_the_middle(),
)


@example("1e-45")
@example("7.006492321624085e-46")  # half of the smallest number
@example("7.006492321624086e-46")
@example("1.1754943508222875e-38")
@example("3.4028235e38")
@example("3.4028235677973366e38")  # in the middle between the largest number and the next one
@example("340282356779733661637539395458142568447.9999")
@example("-0.0")
@example("-0")
@example("0e99999")
@example("16777217")
@example("16777217.000000000000000000000000000000001")
@example("7.038531e-26")
@example("8.589973e9")  # 8589973504 and 8589972480 are float32; their middle is close
@example("1e400")
@example("1e-400")
@example("0." + "0" * 60 + "1")
@example("123456789012345678")
@example("1234567890123456789")
@example("0.000012345678901234567")
@given(TEXTS)
def test_every_number_becomes_the_nearest_float32(text):
    expected = nearest_float32(text).tobytes()
    assert to_float32(text).tobytes() == expected
    for number in (read_natively(text), read_in_python(text)):
        assert number is None or number.tobytes() == expected


@pytest.mark.parametrize(
    "text", ["-0.24487", "1", "+2.5", "1.", ".5", "1e-7", "3E+5", "0.0", "0.12345678901234567"]
)
def test_common_numbers_are_parsed_by_the_readers(text):
    assert read_natively(text) == read_in_python(text) == np.float32(text)


@pytest.mark.parametrize("text", ["16777217", "16777216.99999999", "1e-42", "1e-45", "3e38"])
def test_ambiguous_numbers_are_not_parsed_by_the_native_reader(text):
    assert read_natively(text) is None
    assert read_in_python(text) in (None, nearest_float32(text))
    assert to_float32(text) == nearest_float32(text)


def test_doubles_close_to_the_middle_of_two_float32_are_rounded_correctly():
    lower = np.abs(np.random.default_rng(0).normal(size=1000).astype(np.float32))
    higher = np.nextafter(lower, np.float32(np.inf))
    middles = (lower.astype(np.float64) + higher) / 2
    for middle, digits in product(middles, [15, 16]):
        for shift in (0, 1, -2):
            text = f"{middle + shift * np.spacing(middle):.{digits}e}"
            number = read_natively(text)
            assert number is None or number == nearest_float32(text)


def test_the_native_reader_rounds_numbers_of_all_sizes_correctly():
    rng = np.random.default_rng(0)
    texts = [
        f"{value:.{digits}{kind}}"
        for value in rng.normal(size=40) * 10.0 ** rng.integers(-30, 30, size=40)
        for digits, kind in product(range(18), "ge")
    ]
    numbers = [read_natively(text) for text in texts]
    n_unparsed = 0
    for text, number in zip(texts, numbers, strict=True):
        if number is None:
            n_unparsed += 1
        else:
            assert number == np.float32(nearest_float32(text))
    assert n_unparsed < len(numbers) / 20


INVALID_NUMBERS = [
    "", "x", "1_0", "_1", "0x10", "1e", "e5", ".", "+", "-", "--1", "+-1", "1.2.3", "1,5", "1e5.0",
    "\u0665", "1d5", "nanx", "infinit", "1\0", "\x001", "1e+", "1e-", "\ufffd", "1f", "1\x80",
]  # fmt: skip


@pytest.mark.parametrize("text", INVALID_NUMBERS)
def test_invalid_numbers_are_not_parsed(text):
    assert _text.parse_numbers([b"1", text.encode(), b"2"]) == [1, None, 2]
    if text:
        assert read_natively(text + " ") is None
        assert read_in_python(text + " ") is None


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "+NaN", "1e39", "-1e400"])
def test_numbers_that_are_not_finite_are_not_parsed_by_the_readers(text):
    assert not np.isfinite(to_float32(text))
    assert read_natively(text) is None
    assert read_in_python(text) is None


def test_the_python_reader_reports_the_positions_of_unparsed_fields():
    block = b"a 1 2 nan\nb \t3 4 x\nc 5 6 7\n"
    _, lines, numbers, unparsed, _, _ = _text.PythonReader(3, None).read(block)
    assert lines == [0, 1, 2]
    fields = [(position, line, block[start:end]) for position, line, start, end in unparsed]
    assert fields == [(2, 0, b"nan"), (3, 1, b"\t3"), (5, 1, b"x")]
    assert numbers[[0, 1, 4, 6, 7, 8]].tolist() == [1, 2, 4, 5, 6, 7]
    assert _text.parse_numbers(field for *_, field in fields[1:]) == [3, None]
    assert len(_text.PythonReader(3, None).read(b"")[2]) == 0
