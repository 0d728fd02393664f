import datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import written
from columns import columns_of

from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.formats import parquet
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError


def read(tmp_path, columns, **options):
    path = tmp_path / "docs.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return columns_of(parquet.read(path, ReadOptions(**options)))


def refusal(tmp_path, columns, **options):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, columns, **options)
    assert caught.value.line is None
    return caught.value.reason


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pl.Series(["a", "b"]), [["a"], ["b"]]),
        (pl.Series([3, 1], dtype=pl.UInt8), [[3], [1]]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), [["a"], ["b"]]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), [["a"], ["b"]]),
        (pl.Series([["b", "a", "b"], []]), [["b", "a"], []]),
        (pl.Series([[3, -(2**63)], [2]]), [[3, -(2**63)], [2]]),
        (pl.Series([2**64 - 1, 1], dtype=pl.UInt64), [[2**64 - 1], [1]]),
        (pl.Series([["a"], ["b"]], dtype=pl.List(pl.Categorical)), [["a"], ["b"]]),
        (
            pl.Series([["a", "b"], ["c", "d"]], dtype=pl.Array(pl.String, 2)),
            [["a", "b"], ["c", "d"]],
        ),
    ],
)
def test_labels_are_strings_integers_categories_or_lists_of_them(tmp_path, column, labels):
    assert read(tmp_path, {"text": ["x", "y"], "labels": column}).labels == labels


def test_lists_that_are_all_empty_may_have_no_type(tmp_path):
    table = pa.table({"text": ["x"], "labels": pa.array([[]], type=pa.list_(pa.null()))})
    pq.write_table(table, tmp_path / "x.parquet")
    assert read_corpus(tmp_path / "x.parquet", multilabel=True).labels == [[]]


def test_what_pyarrow_writes_is_read(tmp_path):
    table = pa.table({"label": pa.array(["a", "b"]).dictionary_encode(), "text": ["x", "y"]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert read_corpus(tmp_path / "x.parquet") == LabelledCorpus(["x", "y"], ["a", "b"], False)


@pytest.mark.parametrize(
    ("column", "description"),
    [
        ([1.5], "is the number 1.5"),
        ([True], "is true"),
        ([datetime.date(2020, 1, 1)], "is a date"),
        ([[0.5]], "holds the number 0.5"),
        ([[["a"]]], "holds a list"),
        ([b"a"], "is a bytes"),
    ],
)
def test_a_label_of_another_type_is_told_with_its_row(tmp_path, column, description):
    reason = refusal(tmp_path, {"text": ["x"], "label": pl.Series(column)})
    assert reason == f"row 1: field 'label' {description}; expected strings or whole numbers"


@pytest.mark.parametrize(
    ("column", "description"),
    [
        ([5], "the number 5"),
        ([1.5], "the number 1.5"),
        ([b"x"], "a bytes"),
        ([["x"]], "a list"),
        ([None], "null"),
    ],
)
def test_a_text_that_is_no_string_is_told_with_its_row(tmp_path, column, description):
    reason = refusal(tmp_path, {"text": pl.Series(column), "label": ["a"]})
    assert reason == f"row 1: field 'text' is {description}; expected a string"


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"text": ["x", None], "label": ["a", "b"]}, "text"),
        ({"text": ["x", "y"], "labels": [["a"], ["b", None]]}, "labels"),
        ({"text": ["x", "y"], "label": ["a", "b"], "split": ["train", None]}, "split"),
    ],
)
def test_a_null_that_is_no_label_is_an_error_with_its_row(tmp_path, columns, name):
    reason = refusal(tmp_path, columns)
    assert reason.startswith("row 2: ")
    assert f"{name!r}" in reason


@pytest.mark.parametrize(
    "column",
    [pl.Series(["a", None]), pl.Series(["a", None], dtype=pl.Categorical), [["a"], None]],
)
def test_a_null_in_the_column_of_labels_is_no_label(tmp_path, column):
    assert read(tmp_path, {"text": ["x", "y"], "label": column}).labels == [["a"], []]


def test_a_column_that_is_not_there_is_an_error_that_lists_the_columns(tmp_path):
    reason = refusal(
        tmp_path, {"id": [1], "text": ["x"], "topic": ["a"]}, text_field="body", label_field="topic"
    )
    assert "'body'" in reason
    assert "'id', 'text', 'topic'" in reason


def test_splits_are_strings_of_their_own_column(tmp_path):
    columns = {"text": ["x", "y"], "label": ["a", "b"], "split": ["train", "test"]}
    assert read(tmp_path, columns).splits == ["train", "test"]
    assert "'split' is the number 0" in refusal(tmp_path, columns | {"split": [0, 1]})


def test_a_table_without_rows_has_no_records(tmp_path):
    columns = {"text": pl.Series([], dtype=pl.String), "label": pl.Series([], dtype=pl.String)}
    assert "no records" in refusal(tmp_path, columns)


@pytest.mark.parametrize("content", [b"", b"text,label\nx,a\n", b"PAR1", b"PAR1" * 5])
def test_a_file_that_is_no_parquet_is_an_error(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(FormatError, match="not a Parquet file"):
        read_corpus(tmp_path / "x.parquet")


def test_a_parquet_file_cut_short_anywhere_is_an_error(tmp_path):
    path = tmp_path / "x.parquet"
    written.write("parquet", path, written.of([f"text {k}" for k in range(50)]))
    content = path.read_bytes()
    for end in (*range(0, len(content), len(content) // 6), len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(FormatError):
            read_corpus(path)


def test_a_name_with_the_signs_of_a_pattern_is_one_file(tmp_path):
    corpus = LabelledCorpus(["x"], ["a"], False)
    written.write("parquet", tmp_path / "docs[1]*.parquet", corpus)
    assert read_corpus(tmp_path / "docs[1]*.parquet") == corpus


def test_a_damaged_file_ends_in_an_error_and_not_the_process(tmp_path, capfd):
    path = tmp_path / "x.parquet"
    columns = {
        "text": ["t " * (k % 9) + str(k) for k in range(60)],
        "labels": [[str(k % 7)] * (k % 3) for k in range(60)],
        "n": list(range(60)),
    }
    pl.DataFrame(columns).write_parquet(path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    content[839] ^= 1  # a length: polars asks for 2 EB, and aborts
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"damaged one: memory allocation of .* failed") as caught:
        read_corpus(path, multilabel=True)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_every_text_of_valid_unicode_stays(tmp_path):
    texts = ["", " ", "\0", "\r\n", "\ufeffa", "\u2028", "日本 😀", "a" * 70_000]
    assert read(tmp_path, {"text": texts, "label": texts[::-1]}).texts == texts
