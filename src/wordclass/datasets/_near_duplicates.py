"""Find the texts that say nothing new: an earlier one with a word changed here or there."""

from collections import defaultdict
from collections.abc import Sequence

from sklearn.feature_extraction.text import TfidfVectorizer


def distinct(texts: Sequence[str], groups: Sequence[str], limit: float) -> list[int]:
    """Return the positions of the texts that are not near-duplicates, in order.

    Parameters
    ----------
    texts
        Each with at least one word.
    groups
        One a text: only texts of the same group are compared.
    limit
        The largest cosine between tf-idf rows that a text may have with one kept before it.
    """
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)  # (n, v)
    members = defaultdict(list)
    for k, group in enumerate(groups):
        members[group].append(k)
    kept: list[int] = []
    for rows in members.values():
        cosines = (X[rows] @ X[rows].T).toarray()
        chosen: list[int] = []
        for k in range(len(rows)):
            if (cosines[k, chosen] <= limit).all():
                chosen.append(k)
        kept += [rows[k] for k in chosen]
    return sorted(kept)
