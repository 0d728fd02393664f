import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from wordclass import InputError
from wordclass.corpus.labels import Codeframe, check_class_count, encode_labels, move_columns


def dense(labels, **options):
    return encode_labels(labels, **options).Y.toarray().astype(int).tolist()


SINGLE = ["b", "a", "b"]
SETS = [["b", "a"], [], ["c"]]
MATRIX = [[1, 1, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "labels",
    [
        SINGLE,
        tuple(SINGLE),
        np.array(SINGLE),
        pd.Series(SINGLE, index=[5, 6, 7]),
        pa.array(SINGLE),
        iter(SINGLE),
        np.array(SINGLE, dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_single_labels_come_in_many_forms(labels):
    encoded = encode_labels(labels)
    assert encoded.codeframe == Codeframe(("a", "b"), "single")
    assert encoded.Y.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    "labels",
    [
        SETS,
        [set(labels) for labels in SETS],
        [tuple(labels) for labels in SETS],
        [frozenset(labels) for labels in SETS],
        [np.array(labels, dtype=object) for labels in SETS],
        pd.Series(SETS),
        pa.array(SETS),
        [["b", "a", "b"], [], ["c"]],
    ],
)
def test_multilabel_labels_come_in_many_forms(labels):
    encoded = encode_labels(labels)
    assert encoded.codeframe == Codeframe(("a", "b", "c"), "multilabel")
    assert encoded.Y.toarray().tolist() == MATRIX


@pytest.mark.parametrize(
    "form",
    [np.array, sparse.csr_matrix, sparse.coo_array, lambda m: np.array(m, bool), pd.DataFrame],
)
def test_a_matrix_has_numbered_classes_unless_they_are_named(form):
    encoded = encode_labels(form(MATRIX))
    assert encoded.codeframe.classes == (0, 1, 2)
    assert encoded.Y.toarray().tolist() == MATRIX
    named = encode_labels(form(MATRIX), ["x", "y", "z"])
    assert named.codeframe.classes == ("x", "y", "z")


def test_the_columns_of_a_data_frame_are_the_classes():
    frame = pd.DataFrame(MATRIX, columns=["x", "y", "z"])
    assert encode_labels(frame).codeframe.classes == ("x", "y", "z")


def test_classes_are_sorted_and_a_predicted_matrix_has_the_order_of_the_given_one():
    encoded = encode_labels(np.array(MATRIX), ["c", "a", "b"])
    assert encoded.codeframe.classes == ("a", "b", "c")
    decisions = encoded.Y.toarray().astype(bool)
    assert encoded.codeframe.to_labels(decisions).tolist() == MATRIX


def test_integers_sort_as_numbers_and_numpy_ones_become_plain():
    encoded = encode_labels(np.array([10, 9, 10]))
    assert encoded.codeframe.classes == (9, 10)
    assert all(type(label) is int for label in encoded.codeframe.classes)


def test_true_and_false_are_the_classes_1_and_0():
    assert encode_labels([True, False]).codeframe.classes == (0, 1)
    assert dense(np.array([True, False])) == [[0, 1], [1, 0]]


def test_class_names_fix_the_codeframe():
    assert dense(["b"], class_names=["c", "b", "a"]) == [[0, 1, 0]]
    with pytest.raises(InputError, match="unknown class 'd'"):
        encode_labels(["d"], ["a", "b"])


def test_labels_come_back_in_the_form_they_had():
    single = encode_labels(SINGLE)
    assert single.codeframe.to_labels(single.Y.toarray() > 0).tolist() == SINGLE
    several = encode_labels(SETS)
    back = several.codeframe.to_labels(several.Y.toarray() > 0)
    assert back == [("a", "b"), (), ("c",)]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], "label of document 1 is None"),
        (["a", float("nan")], "label of document 1 is NaN"),
        ([1, np.nan], "label of document 1 is NaN"),
        ([["a"], [None]], "label of document 1 is None"),
        ([["a"], [float("nan")]], "label of document 1 is NaN"),
        ([1.0, 2.0], "1.0, a float"),
        ([b"a"], "b'a', a bytes"),
        (["a", 1], "mix str and int"),
        (["a", "b", ["b"]], r"mix single .*: document 0 has 'a', document 2 has \['b'\]"),
        ([["a"], "b"], r"mix single .*: document 0 has \['a'\], document 1 has 'b'"),
        ("spam", "labels is a str"),
        (None, "labels is a NoneType"),
        (7, "labels is a int"),
        (np.array([[0, 2]]), "holds 2; expected only 0 and 1"),
        (np.array([[0, np.nan]]), "holds nan"),
        (np.array([["x", "y"]]), "holds no numbers"),
        (pd.Series(["a", pd.NA], dtype=object), "NAType"),
    ],
)
def test_labels_that_cannot_be_meant_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        encode_labels(labels)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "2 class_names for a label matrix of 3"),
        (["a", "b", "b"], "repeated name"),
        (["a", 1, "b"], "mix str and int"),
        (["a", None, "b"], "class name is None"),
    ],
)
def test_names_that_do_not_fit_a_matrix_are_refused(names, message):
    with pytest.raises(InputError, match=message):
        encode_labels(np.array(MATRIX), names)


def test_two_columns_of_a_frame_with_the_same_name_are_refused():
    with pytest.raises(InputError, match="two columns of the same name"):
        encode_labels(pd.DataFrame([[1, 0]], columns=["a", "a"]))


def test_codeframes_unite():
    single, several = Codeframe(("a",), "single"), Codeframe(("b",), "multilabel")
    matrix = Codeframe(("a", "b"), "matrix", (1, 0))
    assert single | Codeframe(("b",), "single") == Codeframe(("a", "b"), "single")
    assert single | several == Codeframe(("a", "b"), "multilabel")
    assert matrix | matrix is matrix
    assert matrix | Codeframe(("a", "b"), "single") is matrix
    assert matrix | Codeframe(("b",), "multilabel") == Codeframe(("a", "b"), "multilabel")
    assert (matrix | Codeframe(("c",), "matrix", (0,))).matrix_columns == (0, 1, 2)
    with pytest.raises(InputError, match="mix str and int"):
        _ = single | Codeframe((1,), "single")


def test_the_order_of_a_matrix_shrinks_with_its_classes():
    matrix = Codeframe(("a", "b", "c"), "matrix", (2, 0, 1))
    smaller = matrix.without(np.array([True, False, False]))
    assert smaller == Codeframe(("b", "c"), "matrix", (0, 1))
    several = Codeframe(("a", "b", "c"), "multilabel")
    assert several.without(np.array([False, True, False])) == Codeframe(("a", "c"), "multilabel")


def test_one_class_or_none_is_refused():
    with pytest.raises(InputError, match="only one class, 'a'"):
        check_class_count(encode_labels(["a", "a"]).codeframe)
    with pytest.raises(InputError, match="the labels have no class; expected"):
        check_class_count(encode_labels([[], []]).codeframe)


def test_the_error_for_an_unknown_class_names_close_or_known_classes():
    codeframe = Codeframe(tuple(f"class{k}" for k in range(20)), "single")
    with pytest.raises(InputError, match="close: class7"):
        codeframe.column("clas7")
    with pytest.raises(InputError, match=r"known: class0, .*\.\.\."):
        codeframe.column("zzzzzz")


@pytest.mark.parametrize("labels", [{0: "a", 1: "b"}, {"a", "b"}])
def test_what_has_no_order_is_no_labels(labels):
    with pytest.raises(InputError, match=f"labels is a {type(labels).__name__}; expected"):
        encode_labels(labels)


def test_two_classes_are_enough():
    check_class_count(Codeframe(("a", "b"), "single"))


def test_at_most_eight_classes_are_listed_and_three_close_ones():
    eight, nine = (Codeframe(tuple(f"class{k}" for k in range(n)), "single") for n in (8, 9))
    listed = ", ".join(f"class{k}" for k in range(8))
    with pytest.raises(InputError, match=rf"unknown class 'zz'; known: {listed}$"):
        eight.column("zz")
    with pytest.raises(InputError, match=rf"known: {listed}, \.\.\.$"):
        nine.column("zz")
    with pytest.raises(InputError, match=r"close: class\d, class\d, class\d$"):
        nine.column("class")


def test_columns_move_to_new_places_in_order():
    matrix = sparse.csr_matrix([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    moved = move_columns(matrix, [3, 0, 1], 4)
    assert moved.toarray().tolist() == [[2, 0, 0, 1], [0, 3, 0, 0]]
    assert moved.indices.tolist() == [0, 3, 1]


def test_labels_over_a_larger_codeframe_have_its_columns():
    encoded = encode_labels([["c"], ["a", "c"], []])
    larger = Codeframe(("a", "b", "c", "d"), "multilabel")
    assert encoded.align_to(larger).toarray().tolist() == [[0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    with pytest.raises(InputError, match="unknown class 'c'"):
        encoded.align_to(Codeframe(("a", "b"), "multilabel"))


def test_a_cell_that_is_there_twice_counts_2():
    twice = sparse.csr_matrix(([1.0, 1.0], [0, 0], [0, 2]), shape=(1, 2))
    with pytest.raises(InputError, match="holds 2; expected only 0 and 1"):
        encode_labels(twice)
    assert twice.nnz == 2  # what was given stays as it was


def test_a_zero_that_is_stored_is_no_label():
    stored = sparse.csr_matrix(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    assert encode_labels(stored).Y.indices.tolist() == [1]
    assert stored.nnz == 2


def test_a_column_without_a_name_is_refused():
    with pytest.raises(InputError, match="column name is None; expected a str or int"):
        encode_labels(pd.DataFrame([[1, 0]], columns=pd.Index(["a", None], dtype=object)))


def test_encoded_labels_are_returned_as_they_are():
    encoded = encode_labels(SETS)
    assert encode_labels(encoded) is encoded
    assert encode_labels(encoded, ["x"]) is encoded
    listed = encode_labels(SETS).Y
    assert listed.indices.tolist() == [0, 1, 2]
    assert listed.data.tolist() == [1.0, 1.0, 1.0]


def test_a_matrix_in_its_own_order_needs_no_columns():
    codeframe = Codeframe(("a", "b"), "matrix")
    matrix = codeframe.to_labels(np.array([[True, False]]))
    assert matrix.tolist() == [[1, 0]]
    assert matrix.dtype == np.int8


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_bool_labels_stay_bool(kind):
    labels = [kind(k % 2) for k in range(4)]
    codeframe = encode_labels(labels).codeframe
    assert [*map(type, codeframe.classes)] == [bool, bool]
    assert codeframe.to_labels(encode_labels(labels).Y.toarray() > 0).tolist() == [False, True] * 2
    assert encode_labels([[True], [], [True, False]]).codeframe.classes == (False, True)
    with pytest.raises(InputError, match="classes mix int and bool"):
        encode_labels([True, 0, 5])
