"""20 Newsgroups, sorted by date: posts of 1993, single-label, 20 groups."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import InputError

SOURCE = Source(
    name="newsgroups20",
    title="posts to 20 Usenet groups, split by date",
    url="http://qwone.com/~jason/20Newsgroups/",
    license="none stated by its distributor; posts belong to their authors",
    sizes=Sizes(n_train=11_314, n_test=7_532, n_classes=20),
    files=("20news-bydate.tar.gz", "20news-bydate-*", "20news-bydate/20news-bydate-*"),
    download=Download(
        "20news-bydate.tar.gz",
        (
            "https://ndownloader.figshare.com/files/5975967",
            "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
        ),
        # the checksum that scikit-learn publishes
        sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    ),
    is_verified_here=True,
)

_SPLITS = {"20news-bydate-train": "train", "20news-bydate-test": "test"}
_QUOTING = re.compile(r"(?m)^(?:In article|Quoted from|[>|])|writes in|writes:|wrote:|says:|said:")


def load(home: Path, *, strip: str | Iterable[str] = ("headers", "footers", "quotes")) -> Dataset:
    """Read the posts in the order of scikit-learn's `fetch_20newsgroups`.

    Parameters
    ----------
    home : Path
        Folder of corpora.
    strip : str or iterable of str, default=("headers", "footers", "quotes")
        Parts of the posts to remove: any of "headers", "footers" and "quotes", or (). With all
        three some texts become empty.
    """
    removed = {strip} if isinstance(strip, str) else set(strip)
    if unknown := removed - {"headers", "footers", "quotes"}:
        listed = ", ".join(sorted(map(repr, unknown)))
        raise InputError(f"strip has {listed}", expected="any of headers, footers, quotes")
    posts: dict[str, dict[tuple[str, str], Record]] = {"train": {}, "test": {}}
    for post in SOURCE.members(home, _is_post):
        folder, group, number = post.parts[-3:]
        text = strip_parts(post.data.decode("latin-1"), removed)
        posts[_SPLITS[folder]][group, number] = Record(text, [group], _SPLITS[folder])
    records = [record for part in posts.values() for record in _shuffle(part)]
    return SOURCE.to_dataset(home, enumerate(records), is_multilabel=False)


def _is_post(name: str) -> bool:
    parts = name.split("/")
    return len(parts) >= 3 and parts[-3] in _SPLITS


def _shuffle(posts: dict[tuple[str, str], Record]) -> list[Record]:
    """Sort by group and file, then shuffle twice, as scikit-learn does."""
    records = [posts[key] for key in sorted(posts)]
    for seed in (0, 42):
        order = np.arange(len(records))
        # the legacy generator, whose numbers never change
        np.random.RandomState(seed).shuffle(order)
        records = [records[k] for k in order]
    return records


def strip_parts(post: str, kinds: Collection[str]) -> str:
    r"""Remove headers, footers and quotes from a post as scikit-learn does.

    The header ends at the first empty line, or is the whole post if there is none. A footer is
    never the whole post.

    Parameters
    ----------
    post : str
        The text of the post.
    kinds : collection of str
        Any of "headers", "footers" and "quotes".

    Examples
    --------
    >>> strip_parts("From: me\n\n> Why?\nBecause.\n\n-- me", ["headers", "footers", "quotes"])
    'Because.'
    """
    if "headers" in kinds:
        post = post.partition("\n\n")[2]
    if "footers" in kinds:
        # the footer starts after the last line that is blank or consists of dashes
        lines = post.strip().split("\n")
        ends = [k for k, line in enumerate(lines) if k and not line.strip().strip("-")]
        post = "\n".join(lines[: ends[-1]]) if ends else post
    if "quotes" in kinds and _QUOTING.search(post):
        post = "\n".join(line for line in post.split("\n") if not _QUOTING.search(line))
    return post
