"""Small corpora and matrices that tests make up, and strategies that draw them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

N_DOCS, N_TERMS, N_CLASSES = 7, 5, 3

# eighths add up without rounding, so that sums can be compared to the bit
WEIGHTS = hnp.arrays(
    np.float64, (N_DOCS, N_TERMS), elements=st.integers(0, 24).map(lambda k: k / 8)
)
LABELS = hnp.arrays(np.int8, (N_DOCS, N_CLASSES), elements=st.integers(0, 1))

WORDS = {
    "space": ["orbit", "moon", "rocket", "launch", "lunar", "star"],
    "garden": ["rose", "soil", "seed", "plant", "water", "bloom"],
    "music": ["chord", "piano", "song", "melody", "violin", "rhythm"],
}
COMMON = ["the", "and", "with", "about", "some", "often"]


def corpus(n_docs=60, seed=0, classes=("space", "garden", "music")):
    """Texts that mostly use the words of their class, and their labels."""
    generator = np.random.default_rng(seed)
    labels = [classes[k % len(classes)] for k in range(n_docs)]
    texts = [_text([label], classes, generator, k) for k, label in enumerate(labels)]
    return texts, labels


def multilabel_corpus(n_docs=60, seed=0):
    """Texts with none, one or two labels."""
    classes = ("space", "garden", "music")
    generator = np.random.default_rng(seed)
    sizes = [0 if k % 10 == 9 else 1 + (k % 3 == 0) for k in range(n_docs)]
    labels = [sorted(generator.choice(classes, size, replace=False).tolist()) for size in sizes]
    texts = [_text(names, classes, generator, k) for k, names in enumerate(labels)]
    return texts, labels


def _text(labels, classes, generator, k):
    stray = classes[int(generator.integers(len(classes)))]
    own = [word for label in labels for word in generator.choice(WORDS[label], 5)]
    words = [*own, *generator.choice(WORDS[stray], 1), *generator.choice(COMMON, 4), f"rare{k}"]
    return " ".join(generator.permutation(words))
