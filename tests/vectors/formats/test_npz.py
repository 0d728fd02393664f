import json
from itertools import product

import numpy as np
import pytest

from wordclass.errors import FormatError, InputError
from wordclass.vectors.formats import npz
from wordclass.vectors.word_vectors import WordVectors


def write_file(folder, **arrays):
    np.savez(folder / "vectors.npz", **arrays)
    return folder / "vectors.npz"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_a_matrix_of_any_float_type_is_read(tmp_path, dtype):
    path = write_file(tmp_path, matrix=np.array([[0.5, 2]], dtype=dtype), terms=np.array(["a"]))
    vectors = npz.read(path)
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tolist() == [[0.5, 2]]


def test_numpy_can_read_the_written_file(tmp_path):
    npz.write(tmp_path / "out.npz", WordVectors.of(["a", "bc"], np.eye(2), ["x", 4]))
    with np.load(tmp_path / "out.npz", allow_pickle=False) as archive:
        assert archive["terms"].tolist() == ["a", "bc"]
        assert archive["matrix"].dtype == np.float32
        assert json.loads(archive["classes"][0]) == ["x", 4]


@pytest.mark.parametrize("end", ["", "\n"])
def test_terms_can_be_lines_of_a_separate_file(tmp_path, end):
    path = write_file(tmp_path, matrix=np.eye(3))
    terms = ["a\u0085b", "\u2028 c", "d\r"]
    (tmp_path / "vectors.words.txt").write_bytes(("\n".join(terms) + end).encode())
    assert npz.read(path).terms == terms
    assert npz.read(path, frozenset(["d\r"])).matrix.tolist() == [[0, 0, 1]]


def test_all_terms_are_kept_except_those_that_end_in_nul(tmp_path):
    terms = ["", "a b", "a\nb", "\0a", "\ud800"]
    npz.write(tmp_path / "out.npz", WordVectors.of(terms, np.eye(5)))
    assert npz.read(tmp_path / "out.npz").terms == terms
    with pytest.raises(InputError, match="ends in NUL"):
        npz.write(tmp_path / "out.npz", WordVectors.of(["a\0"], [[1.0]]))


def test_one_very_long_term_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "_MAX_TERMS_BYTES", 1000)
    with pytest.raises(InputError, match="300 characters"):
        npz.write(tmp_path / "out.npz", WordVectors.of(["a", "b" * 300], np.eye(2)))


def test_empty_vectors_keep_their_number_of_dimensions(tmp_path):
    npz.write(tmp_path / "out.npz", WordVectors.of([], np.zeros((0, 3))))
    assert npz.read(tmp_path / "out.npz").matrix.shape == (0, 3)


def test_the_first_vector_of_a_repeated_term_is_used(tmp_path):
    vectors = npz.read(write_file(tmp_path, matrix=np.eye(3), terms=np.array(["a", "a", "b"])))
    assert vectors.terms == ["a", "b"]
    assert vectors.matrix.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"terms": np.array(["a"])}, "under the key 'matrix'"),
        ({"matrix": np.ones(3), "terms": np.array(["a"])}, "under the key 'matrix'"),
        ({"matrix": np.array([["x"]]), "terms": np.array(["a"])}, "under the key 'matrix'"),
        ({"matrix": np.ones((1, 0)), "terms": np.array(["a"])}, "under the key 'matrix'"),
        ({"matrix": np.eye(2), "terms": np.array(["a"])}, "1 terms for 2 rows"),
        ({"matrix": np.eye(2), "terms": np.array([1, 2])}, "array of str"),
        ({"matrix": np.eye(2)}, "no key 'terms' and no file"),
        ({"matrix": np.full((1, 1), np.nan), "terms": np.array(["a"])}, "'a' holds a NaN"),
        ({"matrix": np.full((1, 1), 1e300), "terms": np.array(["a"])}, "too large"),
        (
            {"matrix": np.eye(1), "terms": np.array(["a"]), "classes": np.array(["[1, 2]"])},
            "2 dimension names for 1",
        ),
        (
            {"matrix": np.eye(1), "terms": np.array(["a"]), "classes": np.array([1])},
            "one JSON list",
        ),
        ({"matrix": np.eye(1), "terms": np.array(["a"], dtype=object)}, "not an archive"),
    ],
)
def test_the_error_of_invalid_arrays_names_the_problem(tmp_path, arrays, reason):
    with pytest.raises(FormatError, match=reason):
        npz.read(write_file(tmp_path, **arrays))


def test_the_separate_file_must_have_one_utf8_line_per_row(tmp_path):
    path = write_file(tmp_path, matrix=np.eye(2))
    (tmp_path / "vectors.words.txt").write_bytes(b"a\nb\n\n")
    with pytest.raises(FormatError, match="3 terms for 2 rows"):
        npz.read(path)
    (tmp_path / "vectors.words.txt").write_bytes(b"a\n\xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        npz.read(path)


def test_a_changed_byte_of_the_arrays_is_detected(tmp_path):
    path = tmp_path / "out.npz"
    vectors = WordVectors.of(["a", "b"], np.eye(2), ["x", "y"])
    npz.write(path, vectors)
    content = path.read_bytes()
    for position, bit in product(range(len(content)), [0x01, 0x80]):
        damaged = bytearray(content)
        damaged[position] ^= bit
        path.write_bytes(damaged)
        try:
            again = npz.read(path)
        except InputError:
            continue
        assert again.terms == vectors.terms
        assert again.matrix.tobytes() == vectors.matrix.tobytes()
        assert again.dimension_names == vectors.dimension_names


def test_a_file_that_is_not_an_archive_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("moon 1 2\n")
    with pytest.raises(FormatError, match="not an archive"):
        npz.read(tmp_path / "text.npz")
    np.save(tmp_path / "array.npy", np.eye(2))
    with pytest.raises(FormatError, match="not an archive"):
        npz.read(tmp_path / "array.npy")


@pytest.mark.parametrize("code", [0x110000, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("key", ["terms", "classes"])
def test_invalid_code_points_are_refused(tmp_path, code, order, key):
    path = tmp_path / "x.npz"
    text = np.array([[ord("a"), code], [ord("b"), 0]], f"{order}u4").view(f"{order}U2").ravel()
    np.savez(path, **{"matrix": np.ones((2, 2)), "terms": np.array(["a", "b"]), key: text})
    with pytest.raises(
        FormatError, match=f"the text contains {code:#x}, which is not a valid code point"
    ):
        npz.read(path)


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_character_is_read_in_either_byte_order(tmp_path, order):
    terms = ["\U0010ffff", "\ud800", "été", ""]
    arrays = {"matrix": np.ones((4, 2)), "terms": np.array(terms, f"{order}U3")}
    np.savez(tmp_path / "x.npz", **arrays)
    assert list(npz.read(tmp_path / "x.npz").terms) == terms
