"""20 Newsgroups, sorted by date: posts of 1993, single-label, 20 groups."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from wordclass.corpus import Dataset
from wordclass.datasets import _members, _newsgroup_posts
from wordclass.datasets._documents import Document, to_dataset
from wordclass.datasets._download import Download
from wordclass.datasets._source import Sizes, Source
from wordclass.errors import InputError

SOURCE = Source(
    name="newsgroups20",
    title="posts to 20 Usenet groups, split by date",
    url="http://qwone.com/~jason/20Newsgroups/",
    license="none stated by its distributor; posts belong to their authors",
    how_to_get=(
        "Run `wordclass datasets newsgroups20 --download`, or fetch 20news-bydate.tar.gz from "
        "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz"
    ),
    sizes=Sizes(n_train=11_314, n_test=7_532, n_classes=20),
    files=("20news-bydate.tar.gz", "20news-bydate-*", "20news-bydate/20news-bydate-*"),
    downloads=(
        Download(
            "20news-bydate.tar.gz",
            (
                "https://ndownloader.figshare.com/files/5975967",
                "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
            ),
            # as scikit-learn publishes it
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
    is_verified_here=True,
)

_SPLITS = {"20news-bydate-train": "train", "20news-bydate-test": "test"}


def load(home: Path, *, strip: str | Iterable[str] = ("headers", "footers", "quotes")) -> Dataset:
    """Read the posts, in the order in which scikit-learn's `fetch_20newsgroups` gives them.

    Parameters
    ----------
    home
        Where corpora live.
    strip
        What to remove from the posts: any of "headers", "footers" and "quotes", or nothing, ().
        All three leave some texts empty.
    """
    removed = _checked(strip)
    paths = SOURCE.require(home)
    found: dict[str, dict[tuple[str, str], Document]] = {"train": {}, "test": {}}
    for post in _members.read(paths, _is_post, "reading newsgroups20"):
        folder, group, number = post.parts[-3:]
        text = _newsgroup_posts.strip(post.data.decode("latin-1"), removed)
        found[_SPLITS[folder]][group, number] = Document(text, [group])
    train, test = (_in_order(part) for part in found.values())
    return to_dataset("newsgroups20", paths[0], train, test, is_multilabel=False)


def _checked(strip: str | Iterable[str]) -> frozenset[str]:
    chosen = frozenset([strip] if isinstance(strip, str) else strip)
    if unknown := chosen - {"headers", "footers", "quotes"}:
        raise InputError(
            f"strip has {', '.join(sorted(map(repr, unknown)))}; known: headers, footers, quotes"
        )
    return chosen


def _is_post(name: str) -> bool:
    parts = name.split("/")
    return len(parts) >= 3 and parts[-3] in _SPLITS


def _in_order(posts: dict[tuple[str, str], Document]) -> list[Document]:
    """Sort by group and file, then shuffle twice: scikit-learn does on reading and on giving."""
    documents = [posts[key] for key in sorted(posts)]
    for seed in (0, 42):
        order = np.arange(len(documents))
        # the old generator, whose numbers never change
        np.random.RandomState(seed).shuffle(order)
        documents = [documents[k] for k in order]
    return documents
