"""A table with one vector per sub-word, as model2vec and WordLlama have: look up, average.

No network is run, so it is a hundred times as fast as one; the order of the words is lost. Texts
are read to their end, however long (model2vec itself stops after 512 sub-words).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from wordclass.arrays import NONFINITE_VALUE, Floats32, find_nonfinite_row
from wordclass.errors import FormatError
from wordclass.sentence.kinds._files import is_transformer, read_modules, read_tokenizer
from wordclass.storage.files import wrap_foreign_errors

_MODULES = {"StaticEmbedding", "Normalize"}  # of sentence-transformers, for such a table
_NAMES = ("embeddings", "embedding.weight")  # of model2vec; of WordLlama, sentence-transformers
_PLACES = (  # of table and tokenizer, in a folder of each of these
    ("model.safetensors", "tokenizer.json"),
    ("0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"),
    ("weights/*.safetensors", "tokenizers/*.json"),
    ("*.safetensors", "tokenizer.json"),
)
_AT_ONCE = 1 << 13  # tokens whose vectors are looked up together: more leave the cache of a CPU


def recognizes(path: Path) -> bool:
    """Whether a folder has such a table, and nothing that is to be done with its vectors."""
    modules = read_modules(path)
    if modules:
        return {name for name, _ in modules} <= _MODULES
    return not is_transformer(path) and any(any(path.glob(table)) for table, _ in _PLACES)


def files(path: Path) -> list[Path]:
    """Return the table and the tokenizer."""
    for table, tokenizer in _PLACES:
        tables, tokenizers = sorted(path.glob(table)), sorted(path.glob(tokenizer))
        if len(tables) == len(tokenizers) == 1:
            return [*tables, *tokenizers]
    raise FormatError(path, None, "expected one table (*.safetensors) and its tokenizer.json")


class StaticEncoder:
    """Averages the vectors of a text's tokens; a text without any has zeros."""

    def __init__(self, path: Path) -> None:
        table, tokenizer = files(path)
        self._rows = _read_table(table)
        self._tokenizer = read_tokenizer(tokenizer)
        self._unknown = _unknown_token(self._tokenizer)
        n_tokens = self._tokenizer.get_vocab_size()
        if n_tokens > len(self._rows):
            told = f"it knows {n_tokens:,} tokens, and the table has {len(self._rows):,} vectors"
            raise FormatError(tokenizer, None, f"{told}; expected one per token")

    def encode(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts; the number of threads changes nothing."""
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        encoded = [each.ids for each in found]
        lengths = np.array([*map(len, encoded)])
        vectors = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        first = 0
        while first < len(texts):
            # as many texts as have not too many tokens together, but one at least
            last = first + max(1, int(np.searchsorted(np.cumsum(lengths[first:]), _AT_ONCE)))
            vectors[first:last] = self._means(encoded[first:last], lengths[first:last])
            first = last
        return vectors

    def _means(self, encoded: list[list[int]], lengths: Any) -> Floats32:  # noqa: ANN401
        """Return the means (n, d) of the vectors of each text's known tokens."""
        tokens = np.array([token for each in encoded for token in each], np.int64)
        owners = np.repeat(np.arange(len(encoded)), lengths)
        is_known = tokens != self._unknown
        tokens, owners = tokens[is_known], owners[is_known]
        counts = np.bincount(owners, minlength=len(encoded))
        means = np.zeros((len(encoded), self._rows.shape[1]), np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            starts = (np.cumsum(counts) - counts)[filled]
            means[filled] = np.add.reduceat(self._rows[tokens], starts) / counts[filled, None]
        return means


def _read_table(path: Path) -> Floats32:
    """Return the vector of each token (tokens, d), with the weight it has."""
    with wrap_foreign_errors(path), safe_open(path, framework="numpy") as arrays:
        found = {name: arrays.get_tensor(name) for name in arrays.keys()}  # noqa: SIM118
    table = next((found[name] for name in _NAMES if name in found), None)
    if table is None or table.ndim != 2 or not table.size or table.dtype.kind not in "fiu":
        raise FormatError(path, None, f"expected a table of numbers named {' or '.join(_NAMES)}")
    rows = np.asarray(table, np.float32)
    if (mapping := found.get("mapping")) is not None:  # several tokens may share a row
        is_sound = mapping.ndim == 1 and mapping.dtype.kind in "iu" and mapping.size
        if not is_sound or not 0 <= mapping.min() <= mapping.max() < len(rows):
            raise FormatError(path, None, f"mapping holds no rows from 0 to {len(rows) - 1}")
        rows = rows[mapping]
    if (weights := found.get("weights")) is not None:  # frequent tokens count less
        if weights.shape != rows.shape[:1] or weights.dtype.kind not in "fiu":
            raise FormatError(path, None, f"weights: expected {len(rows)} numbers, one per token")
        rows = rows * np.asarray(weights, np.float32)[:, None]
    if (bad := find_nonfinite_row(rows)) is not None:
        raise FormatError(path, None, f"the vector of token {bad} holds {NONFINITE_VALUE}")
    return rows


def _unknown_token(tokenizer: Any) -> int:  # noqa: ANN401 - of the package tokenizers
    """Return the token that stands for what has none, which says nothing; -1: there is none."""
    model = json.loads(tokenizer.to_str())["model"]
    token = model.get("unk_token")
    found = model.get("unk_id") if token is None else tokenizer.token_to_id(token)
    return -1 if found is None else int(found)


make = StaticEncoder
