import csv as standard_csv
import io

import pytest
import written
from columns import columns_of

from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.formats import csv
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError


def read(tmp_path, content, **options):
    path = tmp_path / "docs.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return columns_of(csv.read(path, ReadOptions(**options)))


def refusal(tmp_path, content, **options):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, content, **options)
    return caught.value.line, caught.value.reason


def test_cells_are_read_by_the_names_of_their_columns(tmp_path):
    records = read(tmp_path, "id,labels,text\r\n1,a; b ;,hello\r\n2,,5\r\n")
    assert records.texts == ["hello", "5"]
    assert records.labels == [["a", "b"], []]
    assert records.splits is None


def test_the_separator_of_labels_can_be_chosen(tmp_path):
    assert read(tmp_path, "text,label\nx,a;b|c\n", label_separator="|").labels == [["a;b", "c"]]


def test_an_empty_separator_is_refused(tmp_path):
    with pytest.raises(InputError, match="label_separator"):
        read(tmp_path, "text,label\nx,a\n", label_separator="")


def test_a_label_named_twice_in_a_cell_is_kept_once(tmp_path):
    assert read(tmp_path, "text,labels\nx,b;a;b\n").labels == [["b", "a"]]


def test_quoted_cells_keep_their_line_ends_quotes_and_commas(tmp_path):
    records = read(tmp_path, 'text,label\r\n"a\r\nb\nc\rd, ""e""",x\r\n')
    assert records.texts == ['a\r\nb\nc\rd, "e"']


def test_line_separators_of_unicode_do_not_end_a_row(tmp_path):
    assert read(tmp_path, "text,label\na\u2028b\x85c\x1cd,x\n").texts == ["a\u2028b\x85c\x1cd"]


def test_a_column_that_is_not_there_is_an_error_that_lists_the_columns(tmp_path):
    line, reason = refusal(tmp_path, "id,text,topic\n1,x,a\n", label_field="class")
    assert line == 1
    assert "'class'" in reason
    assert "'id', 'text', 'topic'" in reason


def test_a_row_of_another_length_is_an_error_at_the_line_where_it_starts(tmp_path):
    start = 'text,label\n"one\ntwo",a\n\n'
    line, reason = refusal(tmp_path, start + '"three\nfour",b,c\n')
    assert line == 5
    assert "3 cells" in reason
    assert refusal(tmp_path, start + "five\n")[0] == 5


def test_a_quote_that_is_never_closed_is_an_error_at_the_line_where_the_row_starts(tmp_path):
    line, reason = refusal(tmp_path, 'text,label\nx,a\n"open,b\nc,d\ne,f\n')
    assert line == 3
    assert "never closed" in reason


def test_characters_after_a_closing_quote_are_an_error_with_the_line(tmp_path):
    assert refusal(tmp_path, 'text,label\nx,a\n"y"z,b\n')[0] == 3


def test_a_carriage_return_outside_quotes_is_an_error_that_says_so(tmp_path):
    line, reason = refusal(tmp_path, "text,label\nx\ry,a\n")
    assert line == 2
    assert "carriage return" in reason


def test_a_used_column_that_is_there_twice_is_refused_and_an_unused_one_is_not(tmp_path):
    line, reason = refusal(tmp_path, "text,label,text\nx,a,y\n")
    assert line == 1
    assert "2 columns 'text'" in reason
    assert read(tmp_path, "id,text,label,id\n1,x,a,2\n").texts == ["x"]


def test_a_column_split_is_the_split_unless_it_is_the_label(tmp_path):
    content = "text,label,split\nx,a,train\ny,b,test\n"
    assert read(tmp_path, content).splits == ["train", "test"]
    records = read(tmp_path, content, label_field="split")
    assert (records.labels, records.splits) == ([["train"], ["test"]], None)


@pytest.mark.parametrize("content", ["", "\n\r\n", "\ufeff"])
def test_an_empty_file_is_an_error(tmp_path, content):
    assert "empty" in refusal(tmp_path, content)[1]


def test_a_header_without_rows_is_an_error(tmp_path):
    assert "no records" in refusal(tmp_path, "text,label\n\n")[1]


def test_a_byte_order_mark_before_a_quoted_header_is_dropped(tmp_path):
    assert read(tmp_path, b'\xef\xbb\xbf"text","label"\nx,a\n').texts == ["x"]


def test_a_byte_that_is_not_utf8_is_named_with_its_line(tmp_path):
    line, reason = refusal(tmp_path, b"text,label\nx,a\ncaf\xe9,b\n")
    assert line == 3
    assert "0xe9" in reason
    assert read(tmp_path, b"text,label\nx,a\ncaf\xe9,b\n", encoding="latin-1").texts[1] == "café"


def test_a_cell_may_be_longer_than_the_limit_of_the_standard_module(tmp_path):
    before = standard_csv.field_size_limit(1000)
    try:
        assert len(read(tmp_path, f"text,label\n{'x' * 200_000},a\n").texts[0]) == 200_000
    finally:
        standard_csv.field_size_limit(before)


def test_a_truncated_gzip_file_is_an_error(tmp_path):
    path = tmp_path / "x.csv.gz"
    written.write("csv", path, written.of([f"text {k}" for k in range(500)]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="cut short"):
        read_corpus(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(tmp_path, delimiter):
    rows = [["id", "text", "label"], *([str(k), "a, b; c | d\te", "x"] for k in range(3))]
    file = io.StringIO()
    standard_csv.writer(file, delimiter=delimiter).writerows(rows)
    records = read(tmp_path, file.getvalue())
    assert (records.texts, records.labels) == (["a, b; c | d\te"] * 3, [["x"]] * 3)


def test_the_option_delimiter_decides(tmp_path):
    content = "text;label\nx,y;a\n"
    assert read(tmp_path, content).texts == ["x,y"]
    assert refusal(tmp_path, content, delimiter=",")[0] == 1
    assert read(tmp_path, "text\tlabel\nx\ta\n", delimiter="tab").texts == ["x"]
    assert read(tmp_path, "text~label\nx~a\n", delimiter="~").texts == ["x"]
    for bad in ("ab", '"', "\n"):
        with pytest.raises(InputError, match="expected one character"):
            read(tmp_path, content, delimiter=bad)


def test_without_a_header_columns_are_named_by_numbers(tmp_path):
    content = "a,x y\nb,z\n"
    records = read(tmp_path, content, header=False, text_field="2", label_field="1")
    assert (records.texts, records.labels) == (["x y", "z"], [["a"], ["b"]])
    assert "there are: '1', '2'" in refusal(tmp_path, content, header=False)[1]


def test_several_texts_are_joined_by_line_breaks(tmp_path):
    records = read(tmp_path, "title,body,label\nt,b,a\n,c,a\n", text_field=["title", "body"])
    assert records.texts == ["t\nb", "\nc"]
    with pytest.raises(InputError, match="field 'body' is chosen twice"):
        read(tmp_path, "title,body\nt,b\n", text_field=["title", "body"], label_field="body")


def test_columns_of_0_and_1_are_classes(tmp_path):
    content = "text,sci,art\nx,1,0\ny,1,1\nz,0.0,False\nu,,TRUE\n"
    records = read(tmp_path, content, label_field=["sci", "art"])
    assert records.labels == [["sci"], ["sci", "art"], [], ["art"]]
    line, reason = refusal(tmp_path, "text,sci,art\nx,1,maybe\n", label_field=["sci", "art"])
    assert line == 2
    assert "'art' is 'maybe'; expected 0 or 1 in each of several label fields" in reason
    path = tmp_path / "docs.csv"
    path.write_text("text,sci,art\nx,1,0\ny,0,1\n")
    corpus_of_flags = LabelledCorpus(["x", "y"], ["sci", "art"], False)
    assert read_corpus(path, label_field=["sci", "art"]) == corpus_of_flags
    assert read_corpus(path, label_field="sci").labels == ["1", "0"]


@pytest.mark.parametrize("separator", [None, "none"])
def test_cells_are_one_label_where_nothing_separates_labels(tmp_path, separator):
    records = read(tmp_path, "text,label\nx, a; b \ny,\n", label_separator=separator)
    assert records.labels == [["a; b"], []]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["Sales; Returns", "Support"], "'Sales; Returns' was read as several labels, which occur"),
        (["a;b", "c;d", "e"], "which occur in no other cell"),
        (["a|b", "c"], r"looks like several labels, separated by '\|'"),
        (["a|b", "b|c", "c"], r"looks like several labels, separated by '\|'"),
        (["a|b", "a", "b|c", "c"], r"looks like several labels, separated by '\|'"),
        (["a, b", "c, b", "b", "d"], "looks like several labels, separated by ','"),
        (["a, b", "a", "b"], "looks like several labels, separated by ','"),
    ],
)
def test_cells_that_seem_to_have_another_separator_give_a_warning(tmp_path, cells, message):
    rows = "".join(f'x,"{cell}"\n' for cell in cells * 4)
    with pytest.warns(UserWarning, match=f"docs.csv: .*{message}.*label_separator="):
        read(tmp_path, f"text,label\n{rows}")
    read(tmp_path, f"text,label\n{rows}", label_separator=None)  # without a warning


@pytest.mark.parametrize(
    "cells",
    [
        ["a;b", "a", "b"],
        ["a;b", "b;c", "a;c"],
        ["animal;cat", "animal;dog", "plant;rose", "plant;oak"],
        ["Food, Drinks", "Home, Garden", "Home, Kitchen", "Toys"],  # one name each
        ["a;b;c"],
        [""],
    ],
)
def test_cells_as_they_usually_are_give_no_warning(tmp_path, cells):
    n_times = 1 if cells == ["a;b;c"] else 4
    rows = "".join(f'x,"{cell}"\n' for cell in cells * n_times)
    read(tmp_path, f"text,label\n{rows}")  # a warning would be an error


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", ["reuters21578_modapte", "goemotions", "20ng_bydate_stripped"])
def test_real_corpora_give_no_warning(shared_data, tmp_path, name):
    corpus = read_corpus(shared_data(f"{name}.jsonl.zst"))
    lists = corpus.labels if corpus.is_multilabel else [[label] for label in corpus.labels]
    label_lists = [[*map(str, labels)] for labels in lists]
    rows = "".join(f'x,"{";".join(labels)}"\n' for labels in label_lists)
    assert read(tmp_path, f"text,label\n{rows}").labels == label_lists


def test_a_message_lists_a_few_of_many_columns(tmp_path):
    _, reason = refusal(tmp_path, ",".join(f"column {k}" for k in range(20_000)) + "\n")
    assert "'column 0', 'column 1'" in reason
    assert "(20,000 in all)" in reason
    assert len(reason) < 400
    assert len(refusal(tmp_path, "x" * 100_000 + ",y\n")[1]) < 400
