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
    "space": "orbit moon rocket launch lunar star".split(),
    "garden": "rose soil seed plant water bloom".split(),
    "music": "chord piano song melody violin rhythm".split(),
}
COMMON = "the and with about some often".split()


def corpus(n_docs=60, seed=0, classes=("space", "garden", "music")):
    """Texts that mostly use the words of their class, and their labels."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for k in range(n_docs):
        label = classes[k % len(classes)]
        other = classes[int(generator.integers(len(classes)))]
        words = [
            *generator.choice(WORDS[label], 5),
            *generator.choice(WORDS[other], 1),
            *generator.choice(COMMON, 4),
            f"rare{k}",
        ]
        texts.append(" ".join(generator.permutation(words)))
        labels.append(label)
    return texts, labels


def multilabel_corpus(n_docs=60, seed=0):
    """Texts with none, one or two labels."""
    texts, labels = corpus(n_docs, seed)
    more, second = corpus(n_docs, seed + 1)
    sets = [
        [] if k % 10 == 9 else [a] if k % 3 else sorted({a, b})
        for k, (a, b) in enumerate(zip(labels, reversed(second), strict=True))
    ]
    joined = [f"{a} {b}" for a, b in zip(texts, reversed(more), strict=True)]
    return joined, sets
