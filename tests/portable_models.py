"""Models and hostile texts for the readers of portable models."""

import random
import sys
import unicodedata
from collections import defaultdict
from functools import cache

import nasty_documents
from made_up import corpus, multilabel_corpus

import wordclass as wc


def merge_surrogates(text):
    """Return a text in which pairs of surrogates are one character, as in a browser."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@cache
def characters_by_kind():
    """Return all characters in groups with the same properties in Python."""
    kinds = defaultdict(list)
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        kind = (
            unicodedata.category(char), char.isalnum(), char.isspace(), char.lower() != char,
            char.upper() != char, len(char.lower()), (char + "\u03a3").lower()[-1],
            ("a" + char + "\u03a3").lower()[-1],
        )  # fmt: skip
        kinds[kind].append(char)
    return [*kinds.values()]


def hostile_texts(n_mixtures, seed):
    """Return texts with every kind of character next to characters that depend on it."""
    chance = random.Random(seed)
    kinds = characters_by_kind()
    texts = nasty_documents.documents(400, seed) + nasty_documents.spliced_with_numbers()[:12]
    for characters in kinds:
        sample = chance.sample(characters, min(4, len(characters)))
        for char in sorted({characters[0], characters[-1], *sample}):
            texts.append(f"moon{char}rose a{char}b 1{char}2 {char} x{char}{char}y {char}7 7{char}")
            texts.append(f"A\u03a3{char} {char}\u03a3 A{char}\u03a3 a\u03a3{char}B {char * 3}")
    for _ in range(n_mixtures):
        pieces = [chance.choice(chance.choice(kinds)) for _ in range(chance.randint(1, 30))]
        pieces += chance.choices(["moon", "Rose", "12.5", "\u03a3", " ", "numbermask"], k=4)
        chance.shuffle(pieces)
        texts.append("".join(pieces))
    return [merge_surrogates(text) for text in texts]


FIXED = {"C": 1.0, "block_weight": 0.0, "vector_weight": 0.0, "min_docs": 1}  # without a search
WORDY = FIXED | {"characters": None, "ngrams": (1, 1)}
MODELS = {
    "words": ("linear", False, WORDY),
    "pairs of words": ("linear", False, WORDY | {"ngrams": (1, 2)}),
    "words and characters": ("linear", False, WORDY | {"characters": (2, 4)}),
    "several labels": ("linear", True, WORDY | {"characters": (1, 3)}),
    "characters": ("linear", False, FIXED | {"analyzer": "characters", "ngrams": (1, 3)}),
    "nearest": ("nearest", False, {"min_docs": 1, "mask_numbers": False}),
}


def fit(name):
    """Return a fitted model and texts to classify."""
    kind, is_multilabel, options = MODELS[name]
    texts, labels = (multilabel_corpus if is_multilabel else corpus)(90, seed=0)
    hostile = hostile_texts(100, seed=2)
    # the model also knows hostile words, so that other tokens would give other scores
    texts = [f"{text} {' '.join(hostile[k::90])[:3000]}" for k, text in enumerate(texts)]
    model = wc.classifier(kind, **options).fit(texts, labels)
    return model, [*hostile[::2], *hostile_texts(100, seed=3)[::2]]
