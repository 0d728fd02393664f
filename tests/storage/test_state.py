import io
import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wordclass.errors import FormatError, StorageError
from wordclass.storage.state import _SAFETENSORS_TYPES, ModelState, digest, parse_json

MATRIX = sparse.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
STATE = ModelState.of(
    {"n_docs": 3}, terms=["moon", "été"], weights=np.ones((2, 3), np.float32), joint=MATRIX,
    thresholds=None,
)  # fmt: skip
LAYOUT = {
    "terms": "str terms",
    "weights": "float32 terms classes",
    "joint": "csr:float64 terms classes",
    "thresholds": "float64? classes",
    "docs": "int64? terms >=0 <=classes",
    "bounds": "infinite:float64? terms",
}


def changed(**arrays):
    """Return the state with some arrays replaced, and without those that are None."""
    replacements = {name.replace("__", "."): array for name, array in arrays.items()}
    merged = {**STATE.arrays, **replacements}
    return ModelState({}, {name: array for name, array in merged.items() if array is not None})


def test_stored_values_are_taken_out():
    values = STATE.take(**LAYOUT)
    assert values["terms"] == ["moon", "été"]
    np.testing.assert_array_equal(values["weights"], np.ones((2, 3)))
    np.testing.assert_array_equal(values["joint"].toarray(), MATRIX.toarray())
    assert values["thresholds"] is None
    assert STATE.sizes == {"terms": 2, "classes": 3}


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=5))
def test_any_strings_are_restored(strings):
    assert ModelState.of(words=strings).take(words="str words") == {"words": strings}


def test_states_are_merged_and_later_values_win():
    both = STATE | ModelState.of({"n_docs": 4, "loss": "softmax"}, C=np.ones(1))
    assert both.metadata == {"n_docs": 4, "loss": "softmax"}
    assert both.arrays.keys() == {*STATE.arrays, "C"}
    assert {name for name in both.arrays if name.startswith("joint.")} == {
        "joint.data", "joint.indices", "joint.indptr", "joint.shape",
    }  # fmt: skip


def test_fields_are_those_of_the_layout():
    assert ModelState.of_fields(MATRIX, {"data": "float64 n"}).arrays["data"] is MATRIX.data


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weights": None}, "weights is missing"),
        ({"joint__indptr": None}, "joint.indptr is missing"),
        ({"weights": np.ones((2, 3))}, "weights is float64 .* expected float32"),
        ({"weights": np.ones(3, np.float32)}, r"weights is float32 \(3,\); expected float32"),
        ({"weights": np.ones((3, 3), np.float32)}, r"expected float32 \(2, 3\): terms, classes"),
        ({"thresholds": np.ones(4)}, r"thresholds is float64 \(4,\); expected float64 \(3,\)"),
        ({"term_ends": np.array([4, 3])}, "does not divide terms"),
        ({"term_ends": np.array([-1, 9])}, "does not divide terms"),
        ({"term_ends": np.array([4, 99])}, "does not divide terms"),
        ({"term_ends": np.array([5, 9], np.int32)}, "term_ends is int32"),
        ({"terms": np.array([255] * 9, np.uint8)}, "codec can't decode"),
        ({"joint__indices": np.array([1, 0, 3], np.int32)}, "joint.indices .* >=0 <=2"),
        ({"joint__indices": np.array([1, 2, 2], np.int32)}, "joint has two values at the same row"),
        ({"joint__indices": np.array([1, 0, 2], np.int8)}, "joint.indices is int8"),
        ({"joint__indptr": np.array([0, 1, 3], np.int8)}, "joint.indptr is int8"),
        ({"joint__data": np.array([1, np.inf, 2])}, "joint.data holds invalid numbers"),
        ({"weights": np.full((2, 3), np.nan, np.float32)}, "weights holds invalid numbers"),
        ({"docs": np.array([1, -1])}, "docs .*; expected finite numbers >=0 <=classes"),
        ({"docs": np.array([1, 4])}, "docs .*; expected finite numbers >=0 <=classes"),
        ({"bounds": np.array([np.nan, 0])}, "bounds holds invalid numbers"),
        ({"joint__indices": np.array([1, -1, 2], np.int32)}, "indices"),
        ({"joint__indices": np.array([1, 0], np.int32)}, "ind"),
        ({"joint__indptr": np.array([0, 4, 3], np.int32)}, "ind"),
        ({"joint__indptr": np.array([1, 2, 3], np.int32)}, "ind"),
        ({"joint__data": np.ones(3, np.float32)}, "joint.data is float32"),
        ({"joint__shape": np.array([2, 4])}, r"joint is float64 \(2, 4\); expected"),
        ({"joint__shape": np.array([2])}, r"joint.shape is int64 \(1,\)"),
    ],
)
def test_values_that_violate_the_layout_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        changed(**arrays).take(**LAYOUT)


def test_unsorted_indices_are_sorted():
    swapped = {
        "joint__indices": np.array([1, 2, 0], np.int32),
        "joint__data": np.array([2.0, 3, 1]),
    }
    matrix = changed(**swapped).take(**LAYOUT)["joint"]
    assert matrix.has_sorted_indices
    np.testing.assert_array_equal(matrix.toarray(), MATRIX.toarray())


def test_infinite_values_are_accepted_if_the_layout_permits_them():
    bounds = np.array([-np.inf, np.inf])
    assert changed(bounds=bounds).take(**LAYOUT)["bounds"] is bounds


def test_strings_may_have_to_be_distinct_or_sorted():
    words = {"sorted": ["a", "b"], "unsorted": ["b", "a"], "twice": ["a", "a"]}
    parts = ModelState.of(**words)
    assert parts.take(sorted="sorted:str n", unsorted="distinct:str n").keys() == {
        "sorted", "unsorted",
    }  # fmt: skip
    for layout in (
        {"unsorted": "sorted:str n"},
        {"twice": "sorted:str n"},
        {"twice": "distinct:str n"},
    ):
        with pytest.raises(ValueError, match="or some occur twice"):
            parts.take(**layout)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[-Infinity]",
        "1e999",
        "9" * 400,
        "9" * 5000,
        "[" * 10**5,
        '{"a":' * 10**5,
        "",
        b"\xff",
    ],
)
def test_json_with_invalid_numbers_or_deep_nesting_is_refused(text):
    with pytest.raises((ValueError, RecursionError), match=r"finite|Expecting|codec|recursion"):
        parse_json(text)


def test_valid_json_is_parsed():
    text = '{"a": [1, -2, 0.5, -1e3, null, true], "b": 18446744073709551616}'
    assert parse_json(text) == {"a": [1, -2, 0.5, -1000.0, None, True], "b": 2**64}
    assert [type(value) for value in parse_json(text)["a"][:4]] == [int, int, float, float]


def test_a_size_may_be_a_number_or_already_known():
    parts = ModelState.of(calibration=np.ones((3, 2)))
    assert parts.take(calibration="float64 classes 2")["calibration"].shape == (3, 2)
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        ModelState({}, parts.arrays).take(calibration="float64 classes 3")
    with pytest.raises(ValueError, match=r"expected float64 \(4, 2\)"):
        ModelState({}, parts.arrays, {"classes": 4}).take(calibration="float64 classes 2")


def test_a_file_restores_the_state_and_its_bytes_are_reproducible(tmp_path):
    path = tmp_path / "x"
    STATE.write(path, "kind")
    again = ModelState.read(path, "kind")
    assert again.metadata == STATE.metadata
    assert again.arrays.keys() == STATE.arrays.keys()
    for name, array in STATE.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].flags.writeable
    shuffled = ModelState(again.metadata, dict(reversed(again.arrays.items())))
    for k, parts in enumerate((again, shuffled)):
        parts.save(tmp_path / f"{k}", "kind")
        assert (tmp_path / f"{k}").read_bytes() == path.read_bytes()


SHAPES = st.lists(st.integers(0, 3), max_size=3)
ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=4),
    st.tuples(st.sampled_from(sorted(_SAFETENSORS_TYPES)), SHAPES, st.booleans()),
    max_size=6,
)


@given(ARRAYS)
def test_the_bytes_are_those_that_safetensors_writes(layouts):
    arrays = {}
    for name, (dtype, shape, is_transposed) in layouts.items():
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        arrays[name] = array.T if is_transposed else array
    parts = ModelState({"words": ["été", "\ud800"]}, arrays)
    stream = io.BytesIO()
    parts._write_to(stream, "kind")
    content = stream.getvalue()
    n_bytes = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + n_bytes])["__metadata__"]
    in_order = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    assert content == safetensors.numpy.save(in_order, metadata)


def test_numbers_of_either_byte_order_are_the_same_file():
    streams = io.BytesIO(), io.BytesIO()
    for stream, order in zip(streams, "<>", strict=True):
        array = np.arange(5, dtype=f"{order}i4")
        ModelState.of(numbers=array)._write_to(stream, "kind")
    tails = [stream.getvalue()[-20:] for stream in streams]
    assert tails[0] == tails[1] == np.arange(5, dtype="<i4").tobytes()


def test_the_existing_file_is_written_to_so_that_its_lock_holds(tmp_path):
    path = tmp_path / "x"
    path.touch()
    path.chmod(0o640)
    before = path.stat()
    STATE.save(path, "kind")
    after = path.stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_an_error_while_writing_is_one_line(tmp_path):
    with pytest.raises(StorageError, match="cannot be written") as raised:
        STATE.save(tmp_path / "missing" / "x", "kind")
    assert "\n" not in str(raised.value)


def test_a_file_of_another_kind_is_refused(tmp_path):
    STATE.write(tmp_path / "x", "kind")
    with pytest.raises(FormatError, match="holds 'kind'; expected 'other'"):
        ModelState.read(tmp_path / "x", "other")


def test_a_checksum_is_of_content_types_and_shapes():
    array = np.arange(6)
    same = digest("a", b"b", array)
    assert same == digest(b"ab", array.copy()) == digest("ab", np.asfortranarray(array))
    assert digest(array[::2]) == digest(array[::2].copy())
    different = (
        digest(array),
        digest("ab", array.reshape(2, 3)),
        digest("ab", array.view(np.uint64)),
    )
    assert len({same, *different}) == 4
    assert digest(np.zeros((0, 3))) != digest(np.zeros((3, 0)))
    assert len(digest("\ud800", size=32)) == 64
