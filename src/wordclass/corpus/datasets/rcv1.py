"""RCV1-v2 with the LYRL2004 split: news of 1996 and 1997, multilabel, 103 topics."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from wordclass.corpus.datasets import _xml
from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._members import Member
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import FormatError
from wordclass.storage.files import open_for_reading

_DAY = "199[67][01][0-9][0-3][0-9]"

SOURCE = Source(
    name="rcv1",
    title="news agency stories of 1996 and 1997 by topic, LYRL2004 split",
    url="https://trec.nist.gov/data/reuters/reuters.html",
    license="research only, after signing NIST's agreements for organization and individual",
    advice=(
        "The texts may not be redistributed: sign the agreements on "
        "https://trec.nist.gov/data/reuters/reuters.html, and NIST sends RCV1 (365 zip files, "
        "19960820.zip to 19970819.zip, or rcv1.tar.xz). The topics as corrected for RCV1-v2, "
        "rcv1-v2.topics.qrels.gz, may be downloaded: `wordclass datasets rcv1 --download`"
    ),
    sizes=Sizes(n_train=23_149, n_test=781_265, n_classes=101),
    files=(f"{_DAY}.zip", f"*/{_DAY}.zip", "rcv1.tar.xz", "rcv1.tar.gz", _DAY, f"*/{_DAY}"),
    companions=("rcv1-v2.topics.qrels.gz", "rcv1-v2.topics.qrels"),
    download=Download(
        "rcv1-v2.topics.qrels.gz",
        (
            "https://ndownloader.figshare.com/files/5976048",
            "http://www.ai.mit.edu/projects/jmlr/papers/volume5/lewis04a/a08-topic-qrels/"
            "rcv1-v2.topics.qrels.gz",
        ),
        # the checksum that scikit-learn publishes
        sha256="2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
    ),
)

# numbers of stories
_FIRST = 2_286
_LAST_TRAINING = 26_150
_LAST = 810_596
_ITEM = re.compile(r"(?:^|/)(\d+)newsML\.xml$", re.IGNORECASE)


def load(home: Path) -> Dataset:
    """Read the stories sorted by number. Numbers up to 26150 are training documents.

    The file `rcv1-v2.topics.qrels` has the topics and lists the documents of the dataset. If it is
    missing, topics are those in the stories, as in the runs of the paper, and stories without a
    topic are left out.
    """
    companion = SOURCE.find_companion(home)
    topics = _read_topics(companion) if companion else None
    records: dict[int, Record] = {}
    for member in SOURCE.members(home, _is_story_of_split):
        number, record = _read(member, topics)
        if record.labels:
            records[number] = record
    return SOURCE.to_dataset(home, records.items(), is_multilabel=True)


def _is_story_of_split(name: str) -> bool:
    item = _ITEM.search(name)
    return item is not None and _FIRST <= int(item[1]) <= _LAST


def _read(member: Member, topics: Mapping[int, list[str]] | None) -> tuple[int, Record]:
    root = _xml.parse(member)
    item = root.get("itemid", "")
    if root.tag != "newsitem" or not item.isdecimal():
        raise FormatError(
            member.place, None, "no <newsitem> with an itemid", expected="a file of RCV1"
        )
    number = int(item)
    if topics is not None:
        labels = topics.get(number, [])
    else:
        codes = root.iterfind("./metadata/codes[@class='bip:topics:1.0']/code")
        labels = sorted({code.get("code", "") for code in codes} - {""})
    title = " ".join(_xml.texts_of(root.findall("title")))
    headline = " ".join(_xml.texts_of(root.findall("headline")))
    # usually the title is the headline after the country
    headings = [title] if headline in title else [title, headline]
    paragraphs = _xml.texts_of(root.findall("./text/p"))
    text = "\n".join([heading for heading in headings if heading] + paragraphs)
    return number, Record(text, [*labels], "train" if number <= _LAST_TRAINING else "test")


def _read_topics(path: Path) -> dict[int, list[str]]:
    """Read lines of topic, document and a 1, such as `E11 2286 1`."""
    topics: defaultdict[int, list[str]] = defaultdict(list)
    with open_for_reading(path) as lines:
        for k, line in enumerate(lines, start=1):
            fields = line.split()
            if len(fields) != 3 or not fields[1].isdigit():
                raise FormatError(
                    path,
                    k,
                    f"the line {line[:40]!r}",
                    expected="a topic, the number of a document, and 1",
                )
            topics[int(fields[1])].append(fields[0].decode("latin-1"))
    return {number: sorted(labels) for number, labels in topics.items()}
