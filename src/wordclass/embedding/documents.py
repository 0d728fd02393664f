"""Counted training documents, kept so that more can be added and some taken out, exactly."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Sparse
from wordclass.errors import InputError
from wordclass.labels import EncodedLabels
from wordclass.text.counting import CountedTexts, merge_counted


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Occurrences of all terms, also the rare ones, labels, and a fingerprint of each text."""

    terms: list[str]
    occurrences: Sparse  # (n, all terms)
    labels: EncodedLabels
    fingerprints: NDArray[np.uint64]  # (n,)

    def __add__(self, other: "CountedDocuments") -> "CountedDocuments":
        both = (self, other)
        merged = merge_counted(CountedTexts(each.terms, each.occurrences) for each in both)
        codeframe = self.labels.codeframe | other.labels.codeframe
        Y = sparse.vstack([self.labels.over(codeframe), other.labels.over(codeframe)], format="csr")
        fingerprints = np.concatenate([self.fingerprints, other.fingerprints])
        labels = EncodedLabels(codeframe, Y)
        return CountedDocuments(merged.terms, merged.occurrences, labels, fingerprints)

    def without(self, removed: "CountedDocuments") -> "CountedDocuments":
        """Take documents out, each once: those with the same text and the same labels.

        Terms and classes that no document has any more are gone too, as in a fresh fit; but the
        columns of a label matrix stay, since the user named them.
        """
        leaving = Counter(removed._keys())
        kept = []
        for k, key in enumerate(self._keys()):
            if leaving[key] > 0:
                leaving[key] -= 1
            else:
                kept.append(k)
        if n_strange := leaving.total():
            raise InputError(
                f"{n_strange} of the {len(removed.fingerprints)} documents to remove, with their "
                "labels, are not among those that were fitted; nothing was removed"
            )
        occurrences, Y = self.occurrences[kept], self.labels.Y[kept]
        is_used = np.bincount(occurrences.indices, minlength=len(self.terms)) > 0
        codeframe = self.labels.codeframe
        if codeframe.kind != "matrix":
            is_gone = np.bincount(Y.indices, minlength=len(codeframe.classes)) == 0
            codeframe, Y = codeframe.without(is_gone), Y[:, np.flatnonzero(~is_gone)]
        return CountedDocuments(
            [term for term, used in zip(self.terms, is_used, strict=True) if used],
            occurrences[:, np.flatnonzero(is_used)],
            EncodedLabels(codeframe, Y),
            self.fingerprints[kept],
        )

    def _keys(self) -> Iterable[tuple[int, tuple[object, ...]]]:
        """Give what makes documents the same: the fingerprint of the text, and the labels."""
        classes = self.labels.codeframe.classes
        Y = self.labels.Y
        for k, fingerprint in enumerate(self.fingerprints.tolist()):
            columns = Y.indices[Y.indptr[k] : Y.indptr[k + 1]]
            yield fingerprint, tuple(classes[j] for j in sorted(columns))


def fingerprint_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text, the same on every machine."""
    return np.fromiter((hash_text(text) for text in texts), np.uint64)


def seed_key(seed: int) -> bytes:
    """Return a seed as the key of `hash_text`."""
    try:
        return int(seed).to_bytes(16, "little", signed=True)  # NumPy's integers have no to_bytes
    except OverflowError:
        raise InputError(f"seed is {seed}; expected one between -2**127 and 2**127") from None


def hash_text(text: str, key: bytes = b"") -> int:
    """Return a 64-bit hash of a text; lone surrogates, legal in a str, are no problem."""
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8, key=key).digest(), "little")
