import pytest

from wordclass.corpus.datasets import jrc_acquis
from wordclass.corpus.reader import load_dataset
from wordclass.errors import FormatError, InputError

ACT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE TEI.2 SYSTEM "http://example.org/tei.dtd">
<TEI.2 id="jrc{name}-en" n="{name}" lang="en">
<teiHeader lang="en" date.created="2006-01-01">
 <fileDesc><titleStmt><title>JRC-ACQUIS {name}</title></titleStmt></fileDesc>
 <profileDesc><textClass>{codes}<classCode scheme="other">99</classCode></textClass></profileDesc>
</teiHeader>
<text><body>
<head n="1">Title with %eacute%</head>
<div type="body">{paragraphs}</div>
<div type="signature"><p n="9">Signed</p></div>
<div type="annex"><p n="10">Annex</p></div>
</body></text>
</TEI.2>
"""


def act(name, *codes, paragraphs=("First <hi>part</hi>.", "Caf\xe9 &amp; second.")):
    return ACT.format(
        name=name,
        codes="".join(f'<classCode scheme="eurovoc">{code}</classCode>' for code in codes),
        paragraphs="".join(f'<p n="{k}">{text}</p>' for k, text in enumerate(paragraphs)),
    ).encode()


FILES = {
    "en/1958/jrc31958D1006-en.xml": act("31958D1006", "3298", "12"),
    "en/1986/jrc31986R0001-en.xml": act("31986R0001", "12"),
    "en/2005/jrc32005R0002-en.xml": act("32005R0002", "12", "12", "7"),
    "en/2005/jrc32005R0003-en.xml": act("32005R0003"),
    "en/2005/jrc32005R0004-en.xml": act("32005R0004", "12", paragraphs=()),
    "en/2006/jrc22006A0211_01-en.xml": act("22006A0211(01)", "12", "1"),
    "en/2006/jrc22006A0212-en.xml": act("22006A0212", "1"),
    "en/2006/jrc22006A0213-en.xml": act("22006A0213", "7"),
    "en/2007/jrc22007A0001-en.xml": act("22007A0001", "12"),
}


@pytest.fixture
def home(tmp_path, write_tar):
    write_tar(tmp_path / "jrc_acquis" / "jrc-en.tgz", FILES)
    return tmp_path


def test_the_split_is_by_year_and_the_classes_are_those_of_training(home):
    dataset = jrc_acquis.load(home)
    assert dataset.train.labels == [["12", "3298"], ["12"], ["12", "7"]]
    assert dataset.test.labels == [["12"], ["7"]]
    assert dataset.classes == ["12", "3298", "7"]
    assert dataset.is_multilabel


def test_a_text_is_the_body_without_title_signature_and_annex(home):
    assert jrc_acquis.load(home).train.texts[0] == "First part.\nCafé & second."


def test_the_published_runs_began_in_1986_and_left_out_classes_of_one_document(home):
    dataset = load_dataset("jrc_acquis", home, first_year=1986, min_docs_per_class=2)
    assert dataset.train.labels == [["12"], ["12"]]
    assert dataset.test.labels == [["12"]]


def test_all_descriptors_of_test_documents_are_kept_on_demand(home):
    dataset = load_dataset("jrc_acquis", home, min_docs_per_class=0)
    assert dataset.test.labels == [["1", "12"], ["1"], ["7"]]
    assert dataset.classes == ["12", "3298", "7"]
    with pytest.raises(InputError, match="min_docs_per_class is -1; expected an int from 0 up"):
        load_dataset("jrc_acquis", home, min_docs_per_class=-1)


def test_unpacked_folders_give_the_same(home, tmp_path, write_folder):
    write_folder(tmp_path / "other" / "jrc_acquis", FILES)
    assert load_dataset("jrc_acquis", tmp_path / "other") == jrc_acquis.load(home)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("en/1999/jrc31999R1-en.xml", b"<TEI.2>\n<text>", "line 2: not well-formed"),
        ("en/1999/jrc31999R1-en.xml", b"<TEI.2/>", "no <text>"),
        ("en/what/jrcx-en.xml", act("x"), "no year in the folder or name"),
    ],
)
def test_a_damaged_document_is_told_with_its_archive(tmp_path, write_tar, name, data, reason):
    write_tar(tmp_path / "jrc-en.tgz", FILES | {name: data})
    with pytest.raises(FormatError, match=f"jrc-en.tgz/{name}.*{reason}"):
        jrc_acquis.load(tmp_path)


def test_a_year_is_read_off_the_name_where_no_folder_tells_it(tmp_path, write_tar):
    flat = {name.replace("/19", "/x19").replace("/20", "/x20"): FILES[name] for name in FILES}
    write_tar(tmp_path / "jrc-en.tgz", flat)
    assert jrc_acquis.load(tmp_path).train.labels == [["12", "3298"], ["12"], ["12", "7"]]
