"""The catalogue of frozen fits: one function per entry, whose name is that of the function.

An entry fits something small with the public interface alone and returns it: a classifier,
embeddings, or a dict of named results. `observation.py` turns that into arrays, `store.py` compares
these with the frozen ones, `freeze.py` freezes them. Anything that is random has a seed, and
everything runs in one thread.

Entries with a `suffix` also store the file that `save` writes. They are forms of models that
`tests/saved_by_0_1_0` lacks.
"""

from frozen import classifier_entries, decision_entries, embedding_entries
from frozen.entry import CATALOGUE

# importing these modules fills the catalogue
MODULES = (embedding_entries, classifier_entries, decision_entries)

__all__ = ["CATALOGUE", "MODULES"]
