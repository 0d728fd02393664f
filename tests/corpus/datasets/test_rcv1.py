import gzip

import pytest

from wordclass.corpus.datasets import rcv1
from wordclass.corpus.reader import load_dataset
from wordclass.errors import FormatError

STORY = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{number}" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Markets {number}.</title>
<headline>{headline}</headline>
<dateline>MEXICO CITY</dateline>
<text>
<p>First &quot;caf\xe9&quot; of {number}.</p>
<p>Second.</p>
</text>
<copyright>(c) Somebody</copyright>
<metadata>
<codes class="bip:countries:1.0"><code code="MEX"></code></codes>
<codes class="bip:topics:1.0">{codes}</codes>
</metadata>
</newsitem>
"""
EDIT = '<editdetail attribution="Coding Group" action="confirmed" date="1996-08-20"/>'


def story(number, *topics, headline=None):
    codes = "".join(f'<code code="{topic}">{EDIT}</code>' for topic in topics)
    headline = f"Markets {number}." if headline is None else headline
    return STORY.format(number=number, codes=codes, headline=headline).encode("latin-1")


DAYS = {
    "19960820.zip": {
        "2287newsML.xml": story(2287, "M11", "ECAT", headline="Another"),
        "2286newsML.xml": story(2286, "E11", "ECAT"),
        "2285newsML.xml": story(2285, "BEFORE"),
    },
    "19960821.zip": {
        "26150newsML.xml": story(26150, "ECAT"),
        "26151newsML.xml": story(26151, "GCAT", "ECAT"),
        "26152newsML.xml": story(26152),
        "810596newsML.xml": story(810596, "ECAT"),
        "810597newsML.xml": story(810597, "BEHIND"),
    },
}


@pytest.fixture
def home(tmp_path, write_zip):
    for day, stories in DAYS.items():
        write_zip(tmp_path / "rcv1" / day, stories)
    return tmp_path


def test_the_split_is_by_number_and_stories_without_topic_are_left_out(home):
    dataset = rcv1.load(home)
    assert dataset.train.labels == [["E11", "ECAT"], ["ECAT", "M11"], ["ECAT"]]
    assert dataset.test.labels == [["ECAT", "GCAT"], ["ECAT"]]
    assert dataset.classes == ["E11", "ECAT", "M11"]
    assert dataset.is_multilabel


def test_a_text_has_title_and_paragraphs_and_the_headline_if_it_is_another(home):
    first, second, _ = rcv1.load(home).train.texts
    assert first == 'MEXICO: Markets 2286.\nFirst "café" of 2286.\nSecond.'
    assert second == 'MEXICO: Markets 2287.\nAnother\nFirst "café" of 2287.\nSecond.'


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_topics_of_the_corrected_file_are_preferred(home, ending):
    lines = b"E11 2286 1\nECAT 2286 1\nMCAT 2287 1\nGCAT 26152 1\n"
    data = gzip.compress(lines) if ending else lines
    (home / "rcv1" / f"rcv1-v2.topics.qrels{ending}").write_bytes(data)
    dataset = rcv1.load(home)
    assert dataset.train.labels == [["E11", "ECAT"], ["MCAT"]]
    assert dataset.test.labels == [["GCAT"]]


def test_a_damaged_line_of_topics_is_refused(home):
    (home / "rcv1-v2.topics.qrels").write_bytes(b"E11 2286 1\nE11 x 1\n")
    with pytest.raises(FormatError, match=r"topics.qrels, line 2: the line .*; expected a topic"):
        rcv1.load(home)


def test_cds_unpacked_days_and_one_archive_give_the_same(
    home, tmp_path, write_zip, write_folder, write_tar
):
    expected = rcv1.load(home)
    for day, stories in DAYS.items():
        write_folder(tmp_path / "unpacked" / "rcv1" / day.removesuffix(".zip"), stories)
        write_zip(tmp_path / "cds" / "rcv1" / "cd1" / day, stories)
    zips = {f"rcv1/{day}": (home / "rcv1" / day).read_bytes() for day in DAYS}
    write_tar(tmp_path / "packed" / "rcv1.tar.xz", zips, "w:xz")
    for place in ("unpacked", "cds", "packed"):
        assert load_dataset("rcv1", tmp_path / place) == expected


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [(b"<newsitem itemid='2290'>\n<p>", "not well-formed"), (b"<html/>", "no <newsitem>")],
)
def test_a_damaged_story_is_told_with_its_archive(home, write_zip, damaged, reason):
    write_zip(home / "rcv1" / "19960822.zip", {"2290newsML.xml": damaged})
    with pytest.raises(FormatError, match=f"19960822.zip/2290newsML.xml.*{reason}"):
        rcv1.load(home)
