import pytest
from columns import columns_of

from wordclass.corpus.formats import tsv
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError


def read(tmp_path, content, **options):
    (tmp_path / "docs.tsv").write_bytes(content.encode("utf-8"))
    return columns_of(tsv.read(tmp_path / "docs.tsv", ReadOptions(**options)))


def test_cells_are_separated_by_tabs_alone(tmp_path):
    records = read(tmp_path, "text\tlabels\nto, the moon\ta;b\n")
    assert records.texts == ["to, the moon"]
    assert records.labels == [["a", "b"]]


def test_a_quoted_cell_may_hold_tabs_and_line_ends(tmp_path):
    assert read(tmp_path, 'text\tlabel\n"a\tb\nc ""d"""\tx\n').texts == ['a\tb\nc "d"']


def test_a_tab_too_many_is_an_error_with_the_line(tmp_path):
    with pytest.raises(FormatError, match=r"docs\.tsv, line 3: 3 cells"):
        read(tmp_path, "text\tlabel\nx\ta\ny\tb\t\n")
