"""Quote characters in CSV and TSV files, and rows that cannot be parsed."""

import pytest
from columns import columns_of

import wordclass as wc
from wordclass.corpus.formats import csv, tsv
from wordclass.corpus.selection import ReadOptions, ReadSummary


def read(format, path, content, **options):
    path.write_text(content, newline="")
    return columns_of(format.read(path, ReadOptions(**options)))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('a 5" disk', 'a 5" disk'),
        ('"Stop" he said', '"Stop" he said'),
        ('he said "stop"', 'he said "stop"'),
        ('"never closed', '"never closed'),
        ('"', '"'),
        ('"quoted"', "quoted"),
        ('"a ""b"" c"', 'a "b" c'),
        ('""', ""),
        ('"tab\tinside"', "tab\tinside"),
        ('"two\nlines"', "two\nlines"),
        ('"three\n\n""lines"""', 'three\n\n"lines"'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_quote_in_a_tsv_field_is_text_unless_the_field_begins_and_ends_with_it(
    tmp_path, line, text, end
):
    content = f'text\tlabel\n{line}\ta\n"first\tb\n"second\tc{end}'
    records = read(tsv, tmp_path / "docs.tsv", content)
    assert records.texts == [text, '"first', '"second']
    assert records.labels == [["a"], ["b"], ["c"]]


def test_a_csv_file_with_tabs_follows_the_same_rule(tmp_path):
    records = read(csv, tmp_path / "docs.csv", 'text\tlabel\n"Stop" he said\ta\n')
    assert records.texts == ['"Stop" he said']


def test_the_quote_character_can_be_chosen(tmp_path):
    path = tmp_path / "docs.csv"
    assert read(csv, path, "text,label\n'a, \"b\"',c\n", quote="'").texts == ['a, "b"']
    for none in (None, "none"):
        assert read(csv, path, 'text,label\n"a,b\n', quote=none).texts == ['"a']
        assert read(tsv, path, 'text\tlabel\n"a"\tb\n', quote=none).texts == ['"a"']
    with pytest.raises(wc.InputError, match="quote is 'ab'; expected one character, or none"):
        read(csv, path, "text,label\n", quote="ab")


BAD_ROWS = 'text,label\nx,a\n"open,b\ny,c\n"y"z,b\n\nv,"d\nd"\n"end,e\n'


def test_rows_that_cannot_be_parsed_are_skipped_one_line_at_a_time(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text(BAD_ROWS)
    corpus = wc.ShardedCorpus.of(path, on_bad_record="skip", label_separator=None)
    summary = ReadSummary()
    assert corpus.read(summary).texts == ["x", "y", "v"]
    assert summary.n_skipped == 3
    assert str(summary.first_skipped).startswith(f"{path}, line 3: the row that starts here: ")
    with pytest.raises(wc.FormatError, match="line 3: the row that starts here"):
        wc.read_corpus(path)


def test_many_open_quotes_do_not_read_the_file_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr("wordclass.corpus.cells._MAX_ROW_LINES", 10)
    path = tmp_path / "docs.csv"
    rows = "".join(f'text {k},a\n"open {k}\n' for k in range(300))
    path.write_text(f"text,label\n{rows}")
    summary = ReadSummary()
    corpus = wc.ShardedCorpus.of(path, on_bad_record="skip")
    assert len(corpus.read(summary)) == 300
    assert summary.n_skipped == 300
