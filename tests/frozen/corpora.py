"""Small corpora, word vectors and functions that the frozen entries learn from.

They are kept apart from the helpers of other tests, so that nobody changes frozen numbers by
changing a helper. Only `random.Random.random` draws numbers: Python guarantees its sequence.
"""

import random

import numpy as np

import wordclass as wc

WORDS = {
    "cooking": ["bread", "butter", "flour", "oven", "pepper", "recipe", "salt", "soup"],
    "garden": ["bloom", "plant", "rose", "seed", "shovel", "soil", "water", "weed"],
    "music": ["chord", "melody", "piano", "rhythm", "sing", "song", "tune", "violin"],
    "space": ["launch", "lunar", "moon", "orbit", "planet", "rocket", "star", "telescope"],
    "été": ["glace", "mer", "plage", "sable", "soleil", "vacances", "voilier", "été"],
}
CLASSES = list(WORDS)
COMMON = ["the", "and", "with", "about", "some", "often", "very", "in 1999", "42", "naïve"]
ALL_WORDS = [word for words in WORDS.values() for word in words]
UNSEEN_WORDS = ["comet", "satellite", "guitar", "drum", "tulip", "basil", "océan", "parasol"]
CHINESE = {"天文": "月球火箭轨道行星望远镜", "园艺": "玫瑰土壤种子浇水开花植物"}
N_DIMS = 6

TEXTS = [
    "the moon and a rocket in orbit",
    "Rose water with some soil, often",
    "a song about the star and the moon",
    "piano melody with violin and a SONG",
    "plage soleil été 1999, la mer",
    "bread butter and salt in the oven with pepper soup",
    "seed plant bloom launch lunar",
    "the comet and a guitar, unheard of",
    "in 1984 the 42 chords of 7",
    "melodies plantings rockets teh mooon",
    "ÉTÉ Straße ΣΊΣΥΦΟΣ İstanbul 月球",
    "word00a word00b shared0x shared0y",
    "word17a word17c shared2x the",
    "月球火箭的轨道",
    "moon \ud800 moon",
    "",
]
EXPLAINED_TEXTS = [TEXTS[0], TEXTS[2], "rose soil word00a and pepper salt, often with the moon"]


def single_label(n_docs=200, classes=tuple(CLASSES), seed=1):
    """Return texts of one label each, and the labels; classes have different sizes."""
    draw = random.Random(seed)
    labels = [_choose(draw, [*classes, classes[0]]) for _ in range(n_docs)]
    return [_write(draw, [label]) for label in labels], labels


def multilabel(n_docs=200, seed=2):
    """Return texts of zero to two labels, and the labels as lists."""
    draw = random.Random(seed)
    labels = [
        sorted({_choose(draw, CLASSES) for _ in range(k % 5 and 1 + k % 2)}) for k in range(n_docs)
    ]
    return [_write(draw, names) for names in labels], labels


def label_matrix(n_docs=200, seed=2):
    """Return the texts of `multilabel`, and their labels as a 0/1 matrix."""
    texts, labels = multilabel(n_docs, seed)
    return texts, np.array([[name in names for name in CLASSES] for names in labels], np.int64)


def many_classes(n_docs=300, n_classes=24, seed=3):
    """Return texts of one of many labels; six classes at a time share some words."""
    draw = random.Random(seed)
    labels = [f"topic {k % n_classes:02}" for k in range(n_docs)]
    texts = []
    for label in labels:
        number = int(label.split()[1])
        own = [f"word{number:02}{letter}" for letter in "abcde"]
        shared = [f"shared{number // 6}{letter}" for letter in "xyz"]
        words = _choose_all(draw, own, 3) + _choose_all(draw, shared, 3)
        words += _choose_all(draw, COMMON, 2) + _choose_all(draw, ALL_WORDS, 1)
        words.append(f"word{int(draw.random() * n_classes):02}a")
        texts.append(" ".join(words))
    return texts, labels


def hierarchy(n_classes=24):
    """Return the parent of every class of `many_classes`."""
    parents = {f"topic {k:02}": f"group {k // 6}" for k in range(n_classes)}
    return parents | {f"group {k}": f"half {k // 2}" for k in range(n_classes // 6)}


def many_labels(n_docs=300):
    """Return the texts of `many_classes`, each with the class and sometimes the next one."""
    texts, labels = many_classes(n_docs, seed=4)
    numbers = [int(label.split()[1]) for label in labels]
    pairs = [[f"topic {number:02}"] for number in numbers]
    for k, pair in enumerate(pairs):
        if k % 3 == 0:
            pair.append(f"topic {(numbers[k] + 1) % 24:02}")
    return texts, pairs


def misspelled(n_docs=160, seed=5):
    """Return short texts whose words are cut at either end: characters tell more than words."""
    draw = random.Random(seed)
    texts, labels = single_label(n_docs, CLASSES[:3], seed)
    cut = [
        " ".join(
            word[int(draw.random() * 2) : len(word) - int(draw.random() * 3)]
            for word in text.split()
        )
        for text in texts
    ]
    return cut, labels


def without_spaces(n_docs=60, seed=6):
    """Return texts in a script that has no spaces between words, and their labels."""
    draw = random.Random(seed)
    labels = [_choose(draw, list(CHINESE)) for _ in range(n_docs)]
    return [
        "".join(_choose_all(draw, list(CHINESE[label] + "的是"), 8)) for label in labels
    ], labels


def word_vectors():
    """Return vectors of most words and of unseen ones: a direction per class, with noise."""
    draw = random.Random(7)
    own_classes = ["space", "space", "music", "music", "garden", "cooking", "été", "été"]
    class_of = {word: name for name, words in WORDS.items() for word in words[1:]}
    class_of |= dict(zip(UNSEEN_WORDS, own_classes, strict=True))
    rows = []
    for name in class_of.values():
        row = [draw.random() - 0.5 for _ in range(N_DIMS)]
        row[CLASSES.index(name)] += 1.0
        rows.append(row)
    return wc.WordVectors.of(list(class_of), np.array(rows, np.float32))


def other_task():
    """Return word-class embeddings of another task, with other classes and texts."""
    texts, labels = single_label(120, seed=8)
    indoors = {"cooking": "indoors", "music": "indoors"}
    places = [indoors.get(label, "outdoors") for label in labels]
    return wc.WordClassEmbeddings(min_docs=2, shrinkage=1.0).fit(texts, places)


def count_letters(texts):
    """Return how often each of ten letters occurs in texts (n, 10): a small encoder."""
    return np.array([[text.lower().count(letter) for letter in "aeiourstlm"] for text in texts])


def split_at_spaces(text):
    """Return the terms of a text: a small analyzer."""
    return text.lower().split()


def square_root_weights(occurrences, vocabulary):
    """Return the square roots of occurrences, less for frequent terms: a small weighting."""
    weights = occurrences.astype(np.float64)
    weights.data = np.sqrt(weights.data) / np.sqrt(vocabulary.doc_freq[occurrences.indices])
    return weights


def share_in_class(counts):
    """Return the share of a term's weight that falls into each class: a small correlation."""
    return counts.joint_weight / np.maximum(counts.term_weight, 1e-12)[:, None]


def _choose(draw, items):
    return items[int(draw.random() * len(items))]


def _choose_all(draw, items, n):
    return [_choose(draw, items) for _ in range(n)]


def _write(draw, labels):
    words = [word for label in labels for word in _choose_all(draw, WORDS[label], 3)]
    words += _choose_all(draw, ALL_WORDS, 2) + _choose_all(draw, COMMON, 3)
    words.append(f"rare{int(draw.random() * 60)}")
    ranked = sorted((draw.random(), word) for word in words)
    return " ".join(word for _, word in ranked)
