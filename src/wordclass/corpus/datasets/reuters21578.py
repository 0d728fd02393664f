"""Reuters-21578, the ModApte split: news of 1987, multilabel, 115 topics.

The files are SGML, not XML: control characters stand in them as references, and tags are in
capitals. Whole records are found by their tags, as nothing in the corpus is nested.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._members import Member
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import FormatError

SOURCE = Source(
    name="reuters21578",
    title="news agency stories of 1987 by topic, ModApte split",
    url="http://www.daviddlewis.com/resources/testcollections/reuters21578/",
    license="free for research; copyright of Reuters Ltd. and Carnegie Group, Inc.",
    sizes=Sizes(n_train=9_603, n_test=3_299, n_classes=115),
    files=("reuters21578.tar.gz", "reut2-*.sgm", "reuters21578/reut2-*.sgm"),
    download=Download(
        "reuters21578.tar.gz",
        (
            "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/"
            "reuters21578.tar.gz",
        ),
    ),
    is_verified_here=True,
)

_FILE = re.compile(r"reut2-(\d\d\d)\.sgm")
_RECORD = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_START = re.compile(r"<REUTERS\b")
_ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_UNPROCESSED = re.compile(r'<TEXT TYPE="UNPROC">(.*?)</TEXT>', re.DOTALL)
_SPACE = re.compile(r"\s+")
_SPLITS = {"TRAIN": "train", "TEST": "test"}


def load(home: Path) -> Dataset:
    """Read the 22 files of the corpus, from the archive or unpacked.

    A text is title, body and what was left unprocessed (tables), each on lines of its own.
    Documents that were read by an indexer who found no topic have no label.
    """
    files = list(SOURCE.members(home, lambda name: bool(_FILE.search(name))))
    _check_none_is_missing(files, SOURCE.require(home)[0])
    records = [pair for file in files for pair in _read(file)]
    return SOURCE.to_dataset(home, records, is_multilabel=True)


def _check_none_is_missing(files: list[Member], origin: Path) -> None:
    """Refuse a gap in the numbers of the files; what is behind the last one nobody can tell."""
    found = {int(number) for file in files for number in _FILE.findall(file.name)}
    for number in range(max(found, default=-1)):
        if number not in found:
            raise FormatError(origin, None, f"reut2-{number:03}.sgm is missing; get it again")


def _read(file: Member) -> Iterator[tuple[int, Record]]:
    """Give number and record of the documents that belong to the ModApte split."""
    text = file.data.decode("latin-1")
    end = 0
    for found in _RECORD.finditer(text):
        end = found.end()
        if inner := _START.search(found[2]):
            line = _line(text, found.start(2) + inner.start())
            raise FormatError(file.place, line, "a record begins before the last one has ended")
        attributes = dict(_ATTRIBUTE.findall(found[1]))
        number = attributes.get("NEWID", "")
        if not number.isdecimal():
            raise FormatError(file.place, _line(text, found.start()), "a record has no NEWID")
        split = _SPLITS.get(attributes.get("LEWISSPLIT", ""))
        if split and attributes.get("TOPICS") == "YES":
            yield int(number), _to_record(found[2], split)
    rest = _START.search(text, end)
    if rest or not end:
        line = _line(text, rest.start() if rest else 0)
        reason = "a record has no end" if rest else "there is no <REUTERS> record in it"
        raise FormatError(file.place, line, f"{reason}: damaged, or no file of this corpus")


def _to_record(content: str, split: str) -> Record:
    # two documents have a topic twice
    topics = dict.fromkeys(map(html.unescape, _TOPIC.findall(_first(_TOPICS, content))))
    # references to control characters, such as &#3; at the end of each story, become nothing
    parts = (_first(pattern, content) for pattern in (_TITLE, _BODY, _UNPROCESSED))
    title, body, unprocessed = map(html.unescape, parts)
    return Record(f"{title}\n{_SPACE.sub(' ', body)}\n{unprocessed}", list(topics), split)


def _first(pattern: re.Pattern[str], content: str) -> str:
    found = pattern.search(content)
    return found[1] if found else ""


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
