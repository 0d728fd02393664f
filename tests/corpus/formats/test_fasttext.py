import pytest
from columns import columns_of

from wordclass.corpus.formats import fasttext
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError


def read(tmp_path, content, **options):
    (tmp_path / "docs.txt").write_bytes(content.encode("utf-8"))
    return columns_of(fasttext.read(tmp_path / "docs.txt", ReadOptions(**options)))


@pytest.mark.parametrize(
    ("line", "labels", "text"),
    [
        ("__label__a to the moon", ["a"], "to the moon"),
        ("__label__a  __label__b\tto  the moon", ["a", "b"], "to  the moon"),
        ("__label__b __label__a __label__b x", ["b", "a"], "x"),
        ("to the __label__a moon", [], "to the __label__a moon"),
        ("__label__a to __label__b moon", ["a"], "to __label__b moon"),
        ("__label__a", ["a"], ""),
        ("__label__a,b __label__ä x", ["a,b", "ä"], "x"),
        ("__label__a\u00a0b\u2028c x\u2028y\x85z", ["a\u00a0b\u2028c"], "x\u2028y\x85z"),
        ("  __label__a x", ["a"], "x"),
        ("__label__a\0\v__label__b\fx", ["a", "b"], "x"),
        ("__label_a x", [], "__label_a x"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_leading_labels_are_taken_off_and_the_rest_is_the_text(tmp_path, line, labels, text, end):
    records = read(tmp_path, line + end)
    assert (records.labels, records.texts) == ([labels], [text])


def test_blank_lines_are_skipped(tmp_path):
    assert read(tmp_path, "\n__label__a x\r\n\r\n \t\n__label__b y").texts == ["x", "y"]


def test_a_label_without_a_name_is_an_error_with_its_line(tmp_path):
    with pytest.raises(FormatError, match="line 3: a label without a name"):
        read(tmp_path, "__label__a x\n\n__label__ y\n")


@pytest.mark.parametrize("option", ["text_field", "label_field"])
def test_names_of_fields_are_refused(tmp_path, option):
    with pytest.raises(InputError, match=f"{option} 'body' does not apply"):
        read(tmp_path, "__label__a x\n", **{option: "body"})


def test_a_file_of_blank_lines_has_no_records(tmp_path):
    with pytest.raises(FormatError, match="no records"):
        read(tmp_path, "\n\n")
