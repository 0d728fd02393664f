"""JRC-Acquis 3.0, English: law of the European Union, multilabel, EuroVoc descriptors."""

import re
from collections import Counter
from pathlib import Path

from wordclass.corpus import Dataset
from wordclass.datasets import _members, _xml
from wordclass.datasets._documents import Document, to_dataset
from wordclass.datasets._download import Download
from wordclass.datasets._members import Member
from wordclass.datasets._source import Sizes, Source
from wordclass.errors import FormatError, InputError

_URL = "https://wt-public.emm4u.eu/Acquis/JRC-Acquis.3.0/corpus/jrc-en.tgz"

SOURCE = Source(
    name="jrc_acquis",
    title="European Union law to 2006 by EuroVoc descriptor, English",
    url="https://joint-research-centre.ec.europa.eu/language-technology-resources/jrc-acquis_en",
    license="free for research, with acknowledgement of the European Union as the source",
    how_to_get=(
        "Run `wordclass datasets jrc_acquis --download`, or fetch the English part of version "
        f"3.0, jrc-en.tgz, from {_URL}"
    ),
    sizes=Sizes(n_train=13_137, n_test=7_233, n_classes=2_706),
    files=(
        "jrc-en.tgz",
        "jrc-en.tar.gz",
        "en/[12][0-9][0-9][0-9]",
        "jrc-en/[12][0-9][0-9][0-9]",
        "jrc-en/en/[12][0-9][0-9][0-9]",
    ),
    downloads=(Download("jrc-en.tgz", (_URL,)),),
)

_TEST_YEAR = 2006
_FILE = re.compile(r"(?:^|/)jrc[^/]*-en\.xml$")
# the year is the folder's; a file alone says it too, behind the sector of its CELEX number
_YEAR = re.compile(r"(?:^|/)([12]\d{3})/[^/]+$|(?:^|/)jrc.([12]\d{3})[^/]*$")


def load(home: Path, *, first_year: int | None = None, min_docs_per_class: int = 1) -> Dataset:
    """Read the documents of the years up to 2005 for training, and of 2006 for test.

    A text is the body of the document, without its signatures and annexes. Documents without a
    descriptor were not indexed, and are left out.

    Parameters
    ----------
    home
        Where corpora live.
    first_year
        Leave out training documents of earlier years.
    min_docs_per_class
        Leave out descriptors with fewer training documents, in both parts, and documents that
        have no other; 0 keeps all. The published runs had `first_year=1986,
        min_docs_per_class=2`.
    """
    if min_docs_per_class < 0:
        raise InputError(f"min_docs_per_class is {min_docs_per_class}; expected 0 or more")
    paths = SOURCE.require(home)
    train: list[tuple[str, Document]] = []
    test: list[tuple[str, Document]] = []
    for member in _members.read(paths, lambda name: bool(_FILE.search(name)), "reading jrc_acquis"):
        year = _year_of(member)
        if year > _TEST_YEAR or (year < _TEST_YEAR and year < (first_year or 0)):
            continue
        document = _read(member)
        if document.text and document.labels:
            (test if year == _TEST_YEAR else train).append((member.stem, document))
    frequent = _frequent_classes(train, test, min_docs_per_class)
    parts = [_with_classes(part, frequent) for part in (train, test)]
    return to_dataset("jrc_acquis", paths[0], *parts, is_multilabel=True)


def _year_of(member: Member) -> int:
    found = _YEAR.search(member.name)
    if not found:
        raise FormatError(member.place, None, "neither folder nor name tells its year")
    return int(found[1] or found[2])


def _read(member: Member) -> Document:
    root = _xml.parse(member)
    if root.find("./text/body") is None:
        raise FormatError(member.place, None, "no <text> with a <body>: not of JRC-Acquis")
    codes = root.findall("./teiHeader/profileDesc/textClass/classCode[@scheme='eurovoc']")
    paragraphs = _xml.texts_of(root.findall("./text/body/div[@type='body']/p"))
    return Document("\n".join(paragraphs), sorted(set(_xml.texts_of(codes))))


def _frequent_classes(
    train: list[tuple[str, Document]], test: list[tuple[str, Document]], min_docs: int
) -> set[str]:
    counts = Counter(label for _, document in train for label in document.labels)
    known = {label for _, document in (*train, *test) for label in document.labels}
    return {label for label in known if counts[label] >= min_docs}


def _with_classes(documents: list[tuple[str, Document]], classes: set[str]) -> list[Document]:
    """Sort by name, keep only these classes, and only documents that have one."""
    kept = []
    for _, document in sorted(documents, key=lambda pair: pair[0]):
        labels = [label for label in document.labels if label in classes]
        if labels:
            kept.append(Document(document.text, labels))
    return kept
