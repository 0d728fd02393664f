"""Large corpora made of a small one: real passages, and rare words as real corpora have them."""

from collections.abc import Iterator

import numpy as np

TOKENS_A_PASSAGE = 14
CHARACTERS_A_DOCUMENT = 1_300
RARE_WORDS_A_DOCUMENT = 4
ZIPF_EXPONENT = 1.15  # the vocabulary then grows about as the number of documents to the 0.87
_BATCH = 10_000
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


def _passages(text: str) -> Iterator[str]:
    tokens = text.split(" ")
    for start in range(0, len(tokens), TOKENS_A_PASSAGE):
        yield " ".join(tokens[start : start + TOKENS_A_PASSAGE])
