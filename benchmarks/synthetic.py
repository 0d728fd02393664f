"""Large corpora made of a small one: real passages, and rare words as real corpora have them.

And corpora of very many classes, made of nothing.
"""

from collections.abc import Iterator

import numpy as np

TOKENS_A_PASSAGE = 14
CHARACTERS_A_DOCUMENT = 1_300
RARE_WORDS_A_DOCUMENT = 4
ZIPF_EXPONENT = 1.15  # the vocabulary then grows about as the number of documents to the 0.87
_BATCH = 10_000
WORDS_OF_A_CLASS, WORDS_OF_A_GROUP, COMMON_WORDS = 12, 60, 20_000
COMMON_IN_A_DOCUMENT = 40
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def documents(texts: list[str], n_docs: int, seed: int = 0) -> Iterator[str]:
    """Make documents of about 1.3 kB by splicing passages of the texts, and rare words.

    Words come as often as in the texts, and new ones never stop coming, so that the dictionary
    grows as it does with a real corpus. The same seed makes the same documents, whatever n_docs.
    """
    passages = [passage for text in texts for passage in _passages(text)]
    characters = sum(map(len, passages)) / len(passages)
    n_passages = max(1, round(CHARACTERS_A_DOCUMENT / (characters + 1)))
    for start in range(0, n_docs, _BATCH):
        generator = np.random.default_rng([seed, start])
        # documents are short and long, about 1.3 kB on average
        sizes = generator.integers(1, 2 * n_passages, _BATCH).tolist()
        chosen = generator.integers(len(passages), size=sum(sizes)).tolist()
        rare = generator.zipf(ZIPF_EXPONENT, (_BATCH, RARE_WORDS_A_DOCUMENT)).tolist()
        place = 0
        for k in range(min(_BATCH, n_docs - start)):
            parts = [passages[number] for number in chosen[place : place + sizes[k]]]
            place += sizes[k]
            yield " ".join([*parts, *map(rare_word, rare[k])])


def rare_word(rank: int) -> str:
    """Return the made-up word of a rank: the rarer, the longer."""
    letters = ["x"]
    while rank:
        rank, letter = divmod(rank, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


def class_documents(
    n_docs: int, n_classes: int, draw: int = 0, seed: int = 0
) -> tuple[list[str], list[list[str]]]:
    """Make documents of one to about six classes, and their labels.

    A class has words of its own, which a few other classes share, and is in a group, which has
    words too; most words of a document are common ones. A third of a document's classes come from
    anywhere, the others from the group of the first. Frequencies of classes and words fall as
    those of real ones.

    Parameters
    ----------
    n_docs, n_classes : int
    draw : int, default=0
        Another draw has other documents of the same classes.
    seed : int, default=0
        Of the classes.
    """
    made = np.random.default_rng([seed, n_classes])
    n_groups = max(2, round(n_classes**0.5))
    group_of = made.integers(n_groups, size=n_classes)
    own_words = made.integers(5 * n_classes, size=(n_classes, WORDS_OF_A_CLASS))
    group_words = made.integers(30 * n_groups, size=(n_groups, WORDS_OF_A_GROUP))
    by_group = [np.flatnonzero(group_of == group) for group in range(n_groups)]
    share = np.cumsum(np.arange(1, n_classes + 1) ** -0.5)
    share /= share[-1]
    random = np.random.default_rng([seed, n_classes, draw + 1])
    texts, labels = [], []
    for _ in range(n_docs):
        classes = np.searchsorted(share, random.random(1 + random.poisson(2)))
        beside = by_group[group_of[classes[0]]]
        is_beside = random.random(len(classes)) < 0.6
        is_beside[0] = False
        classes[is_beside] = beside[random.integers(len(beside), size=is_beside.sum())]
        classes = np.unique(classes)
        places = random.integers(WORDS_OF_A_CLASS, size=(len(classes), 2))
        ranks = np.minimum(random.zipf(1.5, (len(classes), 4)), WORDS_OF_A_GROUP) - 1
        common = np.minimum(random.zipf(1.3, COMMON_IN_A_DOCUMENT), COMMON_WORDS)
        words = [f"c{word}" for word in own_words[classes[:, None], places].ravel().tolist()]
        words += [f"g{word}" for word in group_words[group_of[classes][:, None], ranks].flat]
        words += [f"x{word}" for word in common.tolist()]
        random.shuffle(words)
        texts.append(" ".join(words))
        labels.append([f"class {name}" for name in classes.tolist()])
    return texts, labels


def _passages(text: str) -> Iterator[str]:
    tokens = text.split(" ")
    for start in range(0, len(tokens), TOKENS_A_PASSAGE):
        yield " ".join(tokens[start : start + TOKENS_A_PASSAGE])
