"""JRC-Acquis 3.0, English: law of the European Union, multilabel, EuroVoc descriptors."""

import re
from collections import Counter
from pathlib import Path

from wordclass.corpus.datasets import _xml
from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._members import Member
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import FormatError
from wordclass.options import check_int

_URL = "https://wt-public.emm4u.eu/Acquis/JRC-Acquis.3.0/corpus/jrc-en.tgz"
_YYYY = "[12][0-9][0-9][0-9]"

SOURCE = Source(
    name="jrc_acquis",
    title="European Union law to 2006 by EuroVoc descriptor, English",
    url="https://joint-research-centre.ec.europa.eu/language-technology-resources/jrc-acquis_en",
    license="free for research, with acknowledgement of the European Union as the source",
    sizes=Sizes(n_train=13_137, n_test=7_233, n_classes=2_706),
    files=("jrc-en.tgz", "jrc-en.tar.gz", f"en/{_YYYY}", f"jrc-en/{_YYYY}", f"jrc-en/en/{_YYYY}"),
    download=Download("jrc-en.tgz", (_URL,)),
)

_TEST_YEAR = 2006
_FILE = re.compile(r"(?:^|/)jrc[^/]*-en\.xml$")
# the folder names the year, and so does the file name, after the sector of its CELEX number
_YEAR = re.compile(r"(?:^|/)([12]\d{3})/[^/]+$|(?:^|/)jrc.([12]\d{3})[^/]*$")


def load(home: Path, *, first_year: int | None = None, min_docs_per_class: int = 1) -> Dataset:
    """Read the training documents until 2005 and the test documents of 2006.

    A text is the body of the document without signatures and annexes. Documents without a
    descriptor were not indexed and are left out.

    Parameters
    ----------
    home : Path
        Folder of corpora.
    first_year : int, optional
        Leave out training documents of earlier years.
    min_docs_per_class : int, default=1
        Leave out descriptors with fewer training documents, in both splits, and documents without
        other descriptors. With 0 all are kept. The published runs used `first_year=1986,
        min_docs_per_class=2`.
    """
    check_int("min_docs_per_class", min_docs_per_class, 0)
    all_records: list[tuple[str, Record]] = []
    for member in SOURCE.members(home, lambda name: bool(_FILE.search(name))):
        year = _year_of(member)
        if (first_year or 0) <= year < _TEST_YEAR or year == _TEST_YEAR:
            record = _read(member, "test" if year == _TEST_YEAR else "train")
            if record.text and record.labels:
                all_records.append((member.stem, record))
    training = (record.labels for _, record in all_records if record.split == "train")
    counts = Counter(label for labels in training for label in labels)
    records = []
    for name, record in all_records:
        if labels := [label for label in record.labels if counts[label] >= min_docs_per_class]:
            records.append((name, record._replace(labels=labels)))
    return SOURCE.to_dataset(home, records, is_multilabel=True)


def _year_of(member: Member) -> int:
    match = _YEAR.search(member.name)
    if not match:
        raise FormatError(member.place, None, "no year in the folder or name of the file")
    return int(match[1] or match[2])


def _read(member: Member, split: str) -> Record:
    root = _xml.parse(member)
    if root.find("./text/body") is None:
        raise FormatError(
            member.place, None, "no <text> with a <body>", expected="a file of JRC-Acquis"
        )
    codes = root.findall("./teiHeader/profileDesc/textClass/classCode[@scheme='eurovoc']")
    paragraphs = _xml.texts_of(root.findall("./text/body/div[@type='body']/p"))
    return Record("\n".join(paragraphs), sorted(set(_xml.texts_of(codes))), split)
