"""The documents that decide: a share of every class, never in front of a classifier that learns."""

from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b

import numpy as np

from wordclass.arrays import Flags
from wordclass.errors import InputError
from wordclass.folds import fingerprint_texts, stratified_folds
from wordclass.labels import EncodedLabels

_MOST_FOLDS = 20


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts and their labels."""

    texts: list[str]
    labels: EncodedLabels

    def part(self, chosen: Flags) -> "Documents":
        """Return some of them (a flag a document), over the same codeframe."""
        places = np.flatnonzero(chosen)
        labels = EncodedLabels(self.labels.codeframe, self.labels.Y[places])
        return Documents([self.texts[k] for k in places], labels)

    def split(self, share: float, seed: int) -> tuple["Documents", "Documents"]:
        """Return those to learn from, and about this share of every class to validate with.

        The share is rounded to twentieths or larger parts, and none is below one twentieth. Equal
        texts are on the same side. A class none of whose documents would be left to learn
        from keeps them all.
        """
        if not 0.0 < share < 1.0:
            raise InputError(f"validation is {share!r}; expected a share between 0 and 1")
        lowest = Fraction(1, _MOST_FOLDS)
        part = min(max(Fraction(share).limit_denominator(_MOST_FOLDS), lowest), 1 - lowest)
        n_chosen, n_folds = part.numerator, part.denominator
        folds = stratified_folds(self.texts, self.labels.Y, n_folds, seed)
        chosen = [k * n_folds // n_chosen for k in range(n_chosen)]  # spread over a class
        is_validation = self._without_whole_classes(np.isin(folds, chosen))
        if not is_validation.any():
            raise InputError(f"{len(self.texts)} documents are too few to validate with some")
        return self.part(~is_validation), self.part(is_validation)

    def _without_whole_classes(self, is_validation: Flags) -> Flags:
        """Return flags without the documents of classes that have no others."""
        Y = self.labels.Y
        n_left = np.asarray(Y[np.flatnonzero(~is_validation)].sum(axis=0)).ravel()
        is_lost = (n_left == 0).astype(float)
        needed = {self.texts[k] for k in np.flatnonzero((Y @ is_lost > 0) & is_validation)}
        is_needed = np.fromiter((text in needed for text in self.texts), np.bool_)
        kept: Flags = is_validation & ~is_needed
        return kept

    def digest(self) -> str:
        """Return a checksum of texts and labels in their order."""
        checksum = blake2b(digest_size=16)
        checksum.update(fingerprint_texts(self.texts).tobytes())
        Y = self.labels.Y
        checksum.update(repr((self.labels.codeframe, Y.shape)).encode("utf-8", "backslashreplace"))
        for array in (Y.indptr, Y.indices):
            checksum.update(array.astype("<i8").tobytes())
        return checksum.hexdigest()
