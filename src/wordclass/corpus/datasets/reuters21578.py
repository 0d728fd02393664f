"""Reuters-21578, the ModApte split: news of 1987, multilabel, 115 topics.

The files are SGML and not XML: they contain references to control characters, and tags are upper
case. Records are found by their tags, because no elements are nested.
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

    A text has title, body and unprocessed content (tables) on separate lines. Documents to which
    an indexer assigned no topic have no label.
    """
    files = list(SOURCE.members(home, lambda name: bool(_FILE.search(name))))
    _check_none_is_missing(files, SOURCE.require(home)[0])
    records = [pair for file in files for pair in _read(file)]
    return SOURCE.to_dataset(home, records, is_multilabel=True)


def _check_none_is_missing(files: list[Member], origin: Path) -> None:
    """Refuse a gap in the numbers of the files."""
    numbers = {int(number) for file in files for number in _FILE.findall(file.name)}
    for number in range(max(numbers, default=-1)):
        if number not in numbers:
            problem = f"reut2-{number:03}.sgm is missing"
            raise FormatError(origin, None, problem, hint="get it again")


def _read(file: Member) -> Iterator[tuple[int, Record]]:
    """Yield number and record of the documents of the ModApte split."""
    text = file.data.decode("latin-1")
    end = 0
    for match in _RECORD.finditer(text):
        end = match.end()
        if inner := _START.search(match[2]):
            line = _line(text, match.start(2) + inner.start())
            raise FormatError(file.place, line, "a record starts before the last one has ended")
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        number = attributes.get("NEWID", "")
        if not number.isdecimal():
            raise FormatError(file.place, _line(text, match.start()), "a record has no NEWID")
        split = _SPLITS.get(attributes.get("LEWISSPLIT", ""))
        if split and attributes.get("TOPICS") == "YES":
            yield int(number), _to_record(match[2], split)
    unclosed = _START.search(text, end)
    if unclosed or not end:
        line = _line(text, unclosed.start() if unclosed else 0)
        problem = "a record has no end" if unclosed else "there is no <REUTERS> record"
        hint = "check that this is a file of the corpus, and get it again"
        raise FormatError(file.place, line, problem, hint=hint)


def _to_record(content: str, split: str) -> Record:
    # two documents have a repeated topic
    topics = dict.fromkeys(map(html.unescape, _TOPIC.findall(_first(_TOPICS, content))))
    # references to control characters, such as &#3; at the end of each story, are removed
    parts = (_first(pattern, content) for pattern in (_TITLE, _BODY, _UNPROCESSED))
    title, body, unprocessed = map(html.unescape, parts)
    return Record(f"{title}\n{_SPACE.sub(' ', body)}\n{unprocessed}", list(topics), split)


def _first(pattern: re.Pattern[str], content: str) -> str:
    match = pattern.search(content)
    return match[1] if match else ""


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
