import json

import pytest
from columns import columns_of

from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.formats import jsonl
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError

GOOD = '{"text": "x", "labels": ["a"]}'


def read(tmp_path, *lines, **options):
    path = tmp_path / "docs.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8"))
    return columns_of(jsonl.read(path, ReadOptions(**options)))


def refusal(tmp_path, *lines, **options):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, *lines, **options)
    assert caught.value.path == tmp_path / "docs.jsonl"
    assert str(caught.value).startswith(f"{caught.value.path}, line {caught.value.line}: ")
    return caught.value.line, caught.value.reason


def test_a_line_that_is_no_json_is_named_by_file_and_line(tmp_path):
    line, reason = refusal(tmp_path, GOOD, "", '{"text": "x", "labels": ["a"')
    assert line == 3
    assert "not JSON" in reason


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_are_no_json_are_refused(tmp_path, number):
    line, reason = refusal(tmp_path, GOOD, f'{{"text": "x", "labels": ["a"], "score": {number}}}')
    assert line == 2
    assert number in reason


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 10_000])
def test_json_that_python_cannot_take_is_an_error_with_its_line(tmp_path, value):
    assert refusal(tmp_path, GOOD, f'{{"text": "x", "labels": ["a"], "n": {value}}}')[0] == 2


@pytest.mark.parametrize(
    ("line", "description"),
    [
        ("5", "number 5"),
        ("[1]", "a list"),
        ('"text"', "a string"),
        ("null", "null"),
        ("true", "true"),
    ],
)
def test_a_line_that_is_no_object_says_what_it_is(tmp_path, line, description):
    number, reason = refusal(tmp_path, GOOD, line)
    assert number == 2
    assert description in reason
    assert "expected an object" in reason


@pytest.mark.parametrize(
    ("value", "description"),
    [
        ("5", "the number 5"),
        ("0.5", "the number 0.5"),
        ("null", "null"),
        ('["x"]', "a list"),
        ("true", "true"),
        ("{}", "an object"),
    ],
)
def test_a_text_that_is_not_a_string_is_an_error(tmp_path, value, description):
    line, reason = refusal(tmp_path, GOOD, f'{{"text": {value}, "labels": ["a"]}}')
    assert line == 2
    assert reason == f"field 'text' is {description}; expected a string"


@pytest.mark.parametrize(
    ("value", "labels"),
    [('["a", "b"]', ["a", "b"]), ('["b", "a", "b"]', ["b", "a"]), ("[3, 1, 3]", [3, 1]),
     ('"a"', ["a"]), ("7", [7]), ("[]", []), ('[1, "1"]', [1, "1"]), ('""', []),
     ("null", []), ('" "', []), ('[""]', []),
     (f"[{10**30}]", [10**30])],
)  # fmt: skip
def test_labels_are_a_list_or_one_alone_and_each_is_kept_once_in_order(tmp_path, value, labels):
    assert read(tmp_path, f'{{"text": "x", "labels": {value}}}').labels == [labels]


@pytest.mark.parametrize(
    "value", ["true", "1.0", "{}", '["a", null]', "[true]", "[0.5]", '[["a"]]']
)
def test_labels_of_another_type_are_refused(tmp_path, value):
    line, reason = refusal(tmp_path, GOOD, f'{{"text": "x", "labels": {value}}}')
    assert line == 2
    assert "expected strings or whole numbers" in reason


def test_a_field_that_is_not_there_is_named_with_the_fields_there_are(tmp_path):
    line, reason = refusal(tmp_path, "", GOOD, text_field="body")
    assert line == 2
    assert "'body'" in reason
    assert "'text', 'labels'" in reason


def test_a_field_missing_from_a_later_record_is_named_with_its_line(tmp_path):
    line, reason = refusal(tmp_path, GOOD, GOOD, '{"text": "x", "topic": "a"}')
    assert line == 3
    assert "'labels'" in reason
    assert "'text', 'topic'" in reason


def test_without_either_default_label_field_both_are_named_and_the_option(tmp_path):
    _, reason = refusal(tmp_path, '{"text": "x", "topic": "a"}')
    assert "'labels' or 'label'" in reason
    assert "--label-field" in reason


def test_the_field_labels_is_preferred_to_label_and_both_can_be_overruled(tmp_path):
    line = '{"text": "x", "labels": ["a"], "label": "b", "topic": "c"}'
    assert read(tmp_path, line).labels == [["a"]]
    assert read(tmp_path, line, label_field="label").labels == [["b"]]
    assert read(tmp_path, line, label_field="topic", text_field="label").texts == ["b"]


def test_one_field_cannot_be_text_and_label(tmp_path):
    with pytest.raises(InputError, match="chosen twice"):
        read(tmp_path, GOOD, text_field="labels")


def test_splits_are_read_where_every_record_has_one(tmp_path):
    lines = [json.dumps({"text": "x", "label": "a", "split": split}) for split in ("train", "test")]
    assert read(tmp_path, *lines).splits == ["train", "test"]
    assert read(tmp_path, GOOD).splits is None


def test_a_split_that_only_some_records_have_is_an_error_at_the_first_that_differs(tmp_path):
    with_split = '{"text": "x", "labels": ["a"], "split": "train"}'
    assert refusal(tmp_path, GOOD, GOOD, with_split, GOOD)[0] == 3
    assert refusal(tmp_path, with_split, GOOD, with_split)[0] == 2


def test_a_split_that_is_no_string_is_refused(tmp_path):
    line, reason = refusal(tmp_path, '{"text": "x", "labels": ["a"], "split": null}')
    assert line == 1
    assert "'split' is null" in reason


def test_the_field_split_may_be_the_label(tmp_path):
    records = read(tmp_path, '{"text": "x", "split": "a"}', label_field="split")
    assert (records.labels, records.splits) == ([["a"]], None)


def test_blank_lines_carriage_returns_and_a_byte_order_mark_do_not_matter(tmp_path):
    records = read(tmp_path, "\ufeff" + GOOD + "\r", "\r", "  ", GOOD + "\r", "")
    assert records.texts == ["x", "x"]


def test_line_separators_of_unicode_do_not_end_a_line(tmp_path):
    assert read(tmp_path, '{"text": "a\u2028b\x85c", "labels": []}').texts == ["a\u2028b\x85c"]


def test_lone_surrogates_are_legal_and_come_back(tmp_path):
    assert read(tmp_path, r'{"text": "a\udc80", "label": "b"}').texts == ["a\udc80"]
    records = read(tmp_path, r'{"text": "a\udc80 \\udc80 é", "label": "\udfff"}')
    assert (records.texts, records.labels) == (["a\udc80 \\udc80 é"], [["\udfff"]])


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_file_without_records_is_an_error(tmp_path, content):
    with pytest.raises(FormatError, match="no records"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_classes", "is_multilabel"),
    [
        ("20ng_bydate_stripped", 11_314, 7_532, 20, False),
        ("reuters21578_modapte", 9_603, 3_299, 115, True),
    ],
)
def test_the_published_corpora_have_their_sizes(
    shared_data, name, n_train, n_test, n_classes, is_multilabel
):
    path = shared_data(f"{name}.jsonl.zst")
    train, test = read_corpus(path, "train"), read_corpus(path, "test")
    assert (len(train), len(test)) == (n_train, n_test)
    assert train.is_multilabel == test.is_multilabel == is_multilabel
    labels = (
        train.labels if not is_multilabel else [name for names in train.labels for name in names]
    )
    assert len(set(labels)) == n_classes


def test_a_file_may_be_one_array_of_objects(tmp_path):
    path = tmp_path / "docs.json"
    path.write_text(
        json.dumps([{"text": "x", "label": "a"}, {"text": "y", "label": "b"}], indent=1)
    )
    assert read_corpus(path) == LabelledCorpus(["x", "y"], ["a", "b"], False)
    path.write_text('\n[{"text": "x", "label": "a"},\n {"text": "y", "label": null}]\n')
    with pytest.raises(FormatError, match=r"docs\.json: record 2: no label"):
        read_corpus(path)
    path.write_text('\n[{"text": "x", "label": "a"},\n {"text": }]\n')
    with pytest.raises(FormatError, match=r"docs\.json, line 3: not JSON"):
        read_corpus(path)
    path.write_text("[1]")
    with pytest.raises(FormatError, match="record 1: the number 1; expected an object"):
        read_corpus(path)
    path.write_text(GOOD + "\n" + GOOD)
    assert read_corpus(path).texts == ["x", "x"]


def test_texts_of_several_fields_may_be_null_and_flags_are_0_or_1(tmp_path):
    line = '{"title": null, "body": "b", "n": 5, "sci": true, "art": 0.0, "law": 1}'
    records = read(
        tmp_path, line, text_field=["title", "body", "n"], label_field=["sci", "art", "law"]
    )
    assert (records.texts, records.labels) == (["\nb\n5"], [["sci", "law"]])
    flags = {"text_field": "body", "label_field": ["sci", "n"]}
    assert "field 'n' is the number 5" in refusal(tmp_path, line, **flags)[1]
    assert "field 'n' is a list" in refusal(tmp_path, line.replace("5", "[5]"), **flags)[1]
