import copy
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordclass.errors import FormatError, InputError, MissingDataError, StorageError, WordClassError
from wordclass.vectors import cache
from wordclass.vectors.subwords import Subwords
from wordclass.vectors.word_vectors import WordVectors

VECTORS = WordVectors.of(["moon", "lunar", "tax", "zero"], [[2, 1], [4, 2], [-1, 2], [0, 0]])
SMALL = st.integers(-3, 3).map(float)


def test_the_matrix_is_float32_in_c_order_and_read_only():
    vectors = WordVectors.of(("a", "b"), np.asfortranarray([[1, 2], [3, 4]]))
    assert vectors.terms == ["a", "b"]
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.flags.c_contiguous
    assert not vectors.matrix.flags.writeable
    assert vectors.n_dims == 2


def test_the_array_of_the_caller_is_shared_and_stays_writeable():
    matrix = np.ones((1, 2), dtype=np.float32)
    vectors = WordVectors.of(["a"], matrix)
    assert np.shares_memory(vectors.matrix, matrix)
    assert matrix.flags.writeable


def test_numpy_str_and_int_become_plain_str_and_int():
    vectors = WordVectors.of(np.array(["a"]), [[1.0, 2.0]], np.array([7, 8]))
    assert type(vectors.terms[0]) is str
    assert [type(name) for name in vectors.dimension_names] == [int, int]


@pytest.mark.parametrize(
    ("terms", "matrix", "names", "message"),
    [
        (["a"], [[1.0], [2.0]], None, "1 terms but 2 vectors"),
        (["a", "b", "a"], [[1.0], [2.0], [3.0]], None, "'a' occurs more than once"),
        (["a", 3], [[1.0], [2.0]], None, "term 1 is a int"),
        ("ab", [[1.0], [2.0]], None, "terms is one str"),
        (None, [[1.0]], None, "terms is one NoneType"),
        (["a", "b"], [1.0, 2.0], None, r"shape \(2,\)"),
        (["a"], [[]], None, "at least one column"),
        (["a"], [["x"]], None, "expected a matrix of numbers"),
        (["a"], [[1j]], None, "expected a matrix of numbers"),
        (["a", "b"], [[1.0], [2.0, 3.0]], None, "have different lengths"),
        (["a", "b"], [[1.0], [np.nan]], None, "'b' holds a NaN"),
        (["a", "b"], [[np.inf, -np.inf], [1.0, 1.0]], None, "'a' holds a NaN"),
        (["a"], [[1e39]], None, "too large"),
        (["a"], [[1.0]], ["x", "y"], "2 dimension names for 1"),
        (["a"], [[1.0]], [1.5], "neither a str nor an int"),
        (["a"], [[1.0]], [True], "neither a str nor an int"),
    ],
)
def test_invalid_terms_and_vectors_are_refused(terms, matrix, names, message):
    with pytest.raises(InputError, match=message):
        WordVectors.of(terms, matrix, names)


def test_vectors_may_have_no_terms():
    vectors = WordVectors.of([], np.zeros((0, 3)))
    assert len(vectors) == 0
    assert vectors.nearest([1, 0, 0]) == []


def test_a_term_finds_its_vector():
    assert VECTORS["tax"].tolist() == [-1, 2]
    assert VECTORS.get("tax").tolist() == [-1, 2]
    assert VECTORS.get("sun") is None
    assert VECTORS.get("sun", 0) == 0
    assert "moon" in VECTORS
    assert "sun" not in VECTORS
    assert list(VECTORS) == ["moon", "lunar", "tax", "zero"]
    assert len(VECTORS) == 4
    assert repr(VECTORS) == "<WordVectors of 4 terms, 2 dimensions>"


def test_rows_of_missing_terms_are_minus_one():
    rows = VECTORS.rows(iter(["tax", "sun", "moon", "tax"]))
    assert rows.dtype == np.int64
    assert rows.tolist() == [2, -1, 0, 2]
    assert VECTORS.rows([]).shape == (0,)


def test_an_unknown_term_raises_a_key_error_that_the_commands_can_print():
    with pytest.raises(KeyError) as caught:
        VECTORS["sun"]
    assert isinstance(caught.value, WordClassError)
    assert str(caught.value) == "there is no vector of 'sun'"


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: VECTORS[3],
        lambda: 3 in VECTORS,
        lambda: VECTORS.get(None),
        lambda: VECTORS.rows([b"moon"]),
    ],
)
def test_a_key_that_is_not_a_str_raises_a_type_error(look_up):
    with pytest.raises(TypeError, match="a term is a str"):
        look_up()


def test_a_single_str_is_refused_as_terms():
    with pytest.raises(InputError, match="one str"):
        VECTORS.rows("moon")


def test_nearest_terms_are_sorted_and_exclude_the_term():
    assert VECTORS.nearest("moon") == [("lunar", 1.0), ("tax", 0.0), ("zero", 0.0)]
    assert VECTORS.nearest("moon", n=1) == [("lunar", 1.0)]
    assert VECTORS.nearest(VECTORS["moon"], n=2) == [("moon", 1.0), ("lunar", 1.0)]
    assert VECTORS.nearest([1, -2], n=4)[-1] == ("tax", -1.0)


def test_a_single_term_has_no_nearest_terms():
    assert WordVectors.of(["a"], [[1.0]]).nearest("a") == []


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1e30, 3e38])
def test_cosines_of_very_small_and_very_large_vectors(scale):
    vectors = WordVectors.of(["a", "b"], np.array([[1, 0], [1, 1]]) * scale)
    assert vectors.nearest("a")[0][1] == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("n_terms", [2, 5, 9, 1000])
def test_equal_vectors_are_sorted_by_row(n_terms):
    row = np.random.default_rng(0).normal(size=101).astype(np.float32)
    vectors = WordVectors.of([str(k) for k in range(n_terms)], np.tile(row, (n_terms, 1)))
    assert [term for term, _ in vectors.nearest(row[::-1] + row, n=n_terms)] == vectors.terms


@given(
    arrays(np.float32, st.tuples(st.integers(1, 30), st.just(3)), elements=SMALL),
    arrays(np.float32, 3, elements=SMALL).filter(np.any),
    st.integers(1, 40),
)
def test_nearest_terms_equal_a_sort_of_all_cosines(matrix, query, n):
    vectors = WordVectors.of([str(k) for k in range(len(matrix))], matrix)
    lengths = np.linalg.norm(matrix.astype(float), axis=1) * np.linalg.norm(query.astype(float))
    products = (matrix @ query).astype(float)
    cosines = np.divide(products, lengths, out=np.zeros(len(matrix)), where=lengths > 0)
    expected = sorted((round(-c, 9), k) for k, c in enumerate(cosines.tolist()))[:n]
    nearest = vectors.nearest(query, n)
    assert [int(term) for term, _ in nearest] == [k for _, k in expected]
    assert [cosine for _, cosine in nearest] == pytest.approx([-c for c, _ in expected], abs=1e-8)


@pytest.mark.parametrize("n", [0, -1, 2.0, None, True])
def test_n_must_be_a_positive_integer(n):
    with pytest.raises(InputError, match="an int from 1 up"):
        VECTORS.nearest("moon", n=n)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("zero", "no direction"),
        ([0, 0], "no direction"),
        ([np.nan, 1], "no direction"),
        ([1, 2, 3], "3 numbers; expected 2"),
        (5, "expected a matrix of numbers"),
        (None, "expected a matrix of numbers"),
    ],
)
def test_a_query_without_direction_is_refused(query, message):
    with pytest.raises(InputError, match=message):
        VECTORS.nearest(query)


def test_nearest_terms_of_an_unknown_term_are_refused():
    with pytest.raises(InputError, match="no vector of 'sun'"):
        VECTORS.nearest("sun")


def test_copying_returns_the_same_object():
    assert copy.copy(VECTORS) is VECTORS
    assert copy.deepcopy({"vectors": VECTORS})["vectors"] is VECTORS


def test_pickling_keeps_all_fields_and_drops_caches():
    vectors = WordVectors.of(["a", "b"], [[1.0, 2.0], [0.0, 1.0]], ["x", 5])
    vectors.nearest("a")
    restored = pickle.loads(pickle.dumps(vectors))
    assert restored.terms == vectors.terms
    assert restored.matrix.tolist() == vectors.matrix.tolist()
    assert restored.dimension_names == ("x", 5)
    assert not restored.matrix.flags.writeable
    assert "_unit_rows" not in vars(restored)


def test_subwords_give_vectors_to_other_terms_and_are_pickled():
    subwords = Subwords(np.array([[3.0, 4.0]], dtype=np.float32), 3, 4)
    vectors = WordVectors.of(["moon", "tax"], [[3.0, 4.0], [-4.0, 3.0]], subwords=subwords)
    for copied in (vectors, pickle.loads(pickle.dumps(vectors))):
        assert copied["sun"].tolist() == [3, 4]
        assert copied.get("sun", 0).tolist() == [3, 4]
        assert "sun" not in copied
        assert copied.rows(["sun"]).tolist() == [-1]
        assert copied.nearest("sun") == [("moon", 1.0), ("tax", 0.0)]
        assert copied.get("") is None
        with pytest.raises(KeyError, match="no vector of ''"):
            copied[""]


def test_the_ending_of_a_file_determines_its_format(tmp_path):
    for ending in ["txt", "vec", "bin", "npz", "VEC"]:
        VECTORS.save(tmp_path / f"out.{ending}")
        again = WordVectors.load(str(tmp_path / f"out.{ending}"))
        assert again.terms == VECTORS.terms
        assert again.matrix.tolist() == VECTORS.matrix.tolist()


@pytest.mark.parametrize("name", ["out.txt", "out.vec", "out.w2v", "out"])
@pytest.mark.parametrize("format", ["glove_text", "word2vec_text"])
def test_the_first_line_of_a_text_file_determines_its_format(tmp_path, name, format):
    VECTORS.save(tmp_path / name, format=format)
    assert WordVectors.load(tmp_path / name).terms == VECTORS.terms


def test_vectors_of_one_dimension_are_not_mistaken_for_a_header(tmp_path):
    WordVectors.of(["5", "6"], [[3.0], [4.0]]).save(tmp_path / "out.txt")
    assert WordVectors.load(tmp_path / "out.txt").terms == ["5", "6"]


def test_a_binary_file_with_an_unknown_ending_is_refused(tmp_path):
    VECTORS.save(tmp_path / "out.w2v", format="word2vec_binary")
    with pytest.raises(InputError, match=r"out\.w2v.*\.bin \(word2vec_binary\)"):
        WordVectors.load(tmp_path / "out.w2v")
    assert WordVectors.load(tmp_path / "out.w2v", format="word2vec_binary").terms == VECTORS.terms


def test_the_error_of_text_that_is_not_utf8_names_the_line(tmp_path):
    (tmp_path / "out").write_bytes("caf\u00e9 1 2\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"out, line 1: .*not UTF-8"):
        WordVectors.load(tmp_path / "out")


def test_an_empty_file_is_refused(tmp_path):
    for name, error in [("out.txt", FormatError), ("out.vec", FormatError), ("out", InputError)]:
        (tmp_path / name).touch()
        with pytest.raises(error):
            WordVectors.load(tmp_path / name)


def test_requested_terms_may_be_any_iterable_except_a_str(tmp_path):
    VECTORS.save(tmp_path / "out.vec")
    terms = (term for term in ["tax", "sun", "moon"])
    vectors = WordVectors.load(tmp_path / "out.vec", terms=terms)
    assert vectors.terms == ["moon", "tax"]
    with pytest.raises(InputError, match="one str"):
        WordVectors.load(tmp_path / "out.vec", terms="moon")


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("out.xyz", None, r"expected .*\.txt \(glove_text\)"),
        ("out.txt.gz", None, "not written; leave out .gz"),
        ("out.zst", "glove_text", "not written"),
        ("out.txt", "glove", "did you mean 'glove_text'"),
    ],
)
def test_unknown_and_compressed_output_formats_are_refused(tmp_path, name, format, message):
    with pytest.raises(InputError, match=message):
        VECTORS.save(tmp_path / name, format=format)
    assert list(tmp_path.iterdir()) == []


def test_a_format_that_can_only_be_read_is_refused_for_saving(tmp_path):
    with pytest.raises(InputError, match="cannot be saved as wce"):
        VECTORS.save(tmp_path / "out.wce")


def test_a_missing_file_raises_a_missing_data_error(tmp_path):
    for name in ["no.txt", "no.bin", "no.npz", "no"]:
        with pytest.raises(MissingDataError, match="no such file"):
            WordVectors.load(tmp_path / name)


def test_nearest_terms_of_real_vectors(shared_data):
    vectors = WordVectors.load(shared_data("glove.6B.100d.npz"))
    assert vectors.matrix.shape == (341_479, 100)
    nearest = [term for term, _ in vectors.nearest("moon", n=10)]
    assert {"lunar", "earth", "orbit"} <= set(nearest)
    assert "moon" not in nearest


def test_a_file_that_is_replaced_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "v.vec"
    other = tmp_path / "other.vec"
    path.write_text("2 2\na 1 2\nb 3 4\n")  # in word2vec's format
    other.write_text("a 1 2\nb 3 4\n2 2 2\n"[: path.stat().st_size])  # in GloVe's
    os.utime(path, (1, 1))
    os.utime(other, (1, 1))
    assert other.stat().st_size == path.stat().st_size

    def replace_file(*_):
        other.replace(path)

    monkeypatch.setattr(cache, "make_key", replace_file)
    with pytest.raises(StorageError, match="changed while it was read"):
        WordVectors.load(path)
