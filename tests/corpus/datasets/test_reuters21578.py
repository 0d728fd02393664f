import pytest

from wordclass.corpus.datasets import reuters21578
from wordclass.corpus.reader import load_dataset, read_corpus
from wordclass.errors import FormatError
from wordclass.text.vectorizer import DocumentVectorizer

RECORD = """<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" CGISPLIT="X" OLDID="9" NEWID="{number}">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS>{labels}</TOPICS>
<PLACES><D>usa</D></PLACES>
<UNKNOWN>
&#5;&#5;&#5;C T
</UNKNOWN>
<TEXT{kind}>&#2;
{text}
&#3;</TEXT>
</REUTERS>
"""
STORY = """<TITLE>{title}</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>{body}
 Reuter
&#3;</BODY>"""


def record(number, split="TRAIN", labels=(), topics="YES", kind="", text=None):
    text = text or STORY.format(title=f"TITLE {number}", body=f"Words of   story\n    {number}.")
    tags = "".join(f"<D>{label}</D>" for label in labels)
    return RECORD.format(
        number=number, split=split, labels=tags, topics=topics, kind=kind, text=text
    )


def sgml(*records):
    return ('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(records)).encode("latin-1")


FILES = {
    "./reut2-001.sgm": sgml(record(4, "TEST", ["grain", "new"]), record(3, labels=["grain"])),
    "./reut2-000.sgm": sgml(
        record(1, labels=["cocoa", "grain"]),
        record(2, "NOT-USED", ["never"]),
        record(5, topics="NO", labels=["never"]),
        record(6, "TEST"),
    ),
    "./lewis.dtd": b"<!ELEMENT>",
}


@pytest.fixture
def load(tmp_path, write_tar):
    def load_from(files):
        write_tar(tmp_path / "reuters21578" / "reuters21578.tar.gz", files)
        return reuters21578.load(tmp_path)

    return load_from


def test_the_modapte_split_is_read_in_the_order_of_numbers(load):
    dataset = load(FILES)
    assert dataset.train.labels == [["cocoa", "grain"], ["grain"]]
    assert dataset.train.texts[1] == "TITLE 3\nWords of story 3. Reuter \n"
    assert dataset.is_multilabel
    assert dataset.classes == ["cocoa", "grain"]


def test_documents_without_topic_and_labels_unseen_in_training_stay(load):
    assert load(FILES).test.labels == [["grain", "new"], []]


def test_a_topic_that_is_there_twice_is_one(load):
    dataset = load({"reut2-000.sgm": sgml(record(1, labels=["b", "a", "b"]), record(2, "TEST"))})
    assert dataset.train.labels == [["b", "a"]]


def test_unpacked_files_give_the_same(load, tmp_path, write_folder):
    expected = load(FILES)
    write_folder(tmp_path / "other" / "reuters21578", FILES)
    assert load_dataset("reuters21578", tmp_path / "other") == expected


def test_entities_are_characters_and_control_characters_are_nothing(load):
    text = STORY.format(title="A &amp; B &lt;AB>", body="x &lt; y\x02 caf\xe9&#127;")
    dataset = load({"reut2-000.sgm": sgml(record(1, text=text), record(2, "TEST"))})
    assert dataset.train.texts == ["A & B <AB>\nx < y\x02 café Reuter \n"]


def test_unprocessed_text_stands_behind_title_and_body(load):
    table = record(1, kind=' TYPE="UNPROC"', text="RATES\n 1.. 2")
    brief = record(2, "TEST", kind=' TYPE="BRIEF"', text="<TITLE>only this</TITLE>")
    dataset = load({"reut2-000.sgm": sgml(table, brief)})
    assert dataset.train.texts == ["\n\n\nRATES\n 1.. 2\n"]
    assert dataset.test.texts == ["only this\n\n"]


@pytest.mark.parametrize(
    ("damaged", "line", "reason"),
    [
        (sgml(record(1), record(2))[:-40], 17, "has no end"),
        (b"<html>\nnothing here", 1, "no <REUTERS>"),
        (b"", 1, "no <REUTERS>"),
        (sgml(record("x")), 2, "no NEWID"),
        (sgml(record(1).replace("</REUTERS>", ""), record(2)), 17, "before the last one"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(load, damaged, line, reason):
    with pytest.raises(FormatError, match=reason) as caught:
        load({"reut2-000.sgm": damaged})
    assert caught.value.line == line
    assert str(caught.value.path).endswith("reuters21578.tar.gz/reut2-000.sgm")


def test_a_missing_file_is_an_error(load):
    with pytest.raises(FormatError, match=r"reut2-000\.sgm is missing"):
        load({name: data for name, data in FILES.items() if "000" not in name})


def test_an_archive_of_something_else_is_refused(load):
    with pytest.raises(FormatError, match="no training documents of reuters21578"):
        load({"readme.txt": b"another corpus"})


ONCE = pytest.mark.xdist_group("reuters21578")  # which reads it once


@pytest.fixture(scope="module")
def real(shared_data):
    archive = shared_data("raw/reuters21578.tar.gz")
    return reuters21578.load(archive.parent)


@ONCE
def test_the_real_corpus_has_the_published_sizes(real, published_sizes):
    dataset = real
    sizes = published_sizes["reuters21578"]
    assert len(dataset.train) == sizes["n_train"]
    assert len(dataset.test) == sizes["n_test"]
    assert len(dataset.classes) == sizes["n_classes"]
    assert sum(not labels for labels in dataset.train.labels) == 1_828
    assert sum(not labels for labels in dataset.test.labels) == 280


@ONCE
def test_the_real_corpus_equals_the_parsed_one_document_by_document(real, shared_data):
    dataset = real
    for split, part in (("train", dataset.train), ("test", dataset.test)):
        parsed = read_corpus(shared_data("reuters21578_modapte.jsonl.zst"), split, multilabel=True)
        assert part == parsed


@ONCE
def test_the_real_corpus_has_nearly_the_published_vocabulary(real, published_sizes):
    dataset = real
    n_terms = len(DocumentVectorizer().fit(dataset.train.texts).get_feature_names_out())
    assert n_terms == 8_257
    assert abs(n_terms - published_sizes["reuters21578"]["vocabulary"]) < 10
