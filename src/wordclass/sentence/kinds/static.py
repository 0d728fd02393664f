"""Static encoders, such as model2vec and WordLlama: the mean of one vector per subword.

They run no network, so they are a hundred times as fast as a transformer, but ignore the order of
words. Texts of any length are read completely (model2vec itself stops after 512 subwords).
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

_MODULES = {"StaticEmbedding", "Normalize"}  # of sentence-transformers, for static encoders
# the names of the table in model2vec, and in WordLlama and sentence-transformers
_TABLE_NAMES = ("embeddings", "embedding.weight")
_FILE_PATTERNS = (  # table and tokenizer, in a folder of each package
    ("model.safetensors", "tokenizer.json"),
    ("0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"),
    ("weights/*.safetensors", "tokenizers/*.json"),
    ("*.safetensors", "tokenizer.json"),
)
_TOKENS_PER_STEP = 1 << 13  # the vectors of more tokens do not fit into the cache of a CPU


def recognizes(path: Path) -> bool:
    """Return True for a folder with a table whose vectors need no further processing."""
    modules = read_modules(path)
    if modules:
        return {name for name, _ in modules} <= _MODULES
    return not is_transformer(path) and any(any(path.glob(table)) for table, _ in _FILE_PATTERNS)


def files(path: Path) -> list[Path]:
    """Return the table and the tokenizer."""
    for table_pattern, tokenizer_pattern in _FILE_PATTERNS:
        tables = sorted(path.glob(table_pattern))
        tokenizers = sorted(path.glob(tokenizer_pattern))
        if len(tables) == len(tokenizers) == 1:
            return [*tables, *tokenizers]
    raise FormatError(
        path,
        None,
        "it does not contain a static encoder",
        expected="one table (*.safetensors) and its tokenizer.json",
    )


class StaticEncoder:
    """Encoder that averages the vectors of a text's subwords.

    The vector of a text without a known subword is zero.

    Parameters
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        table, tokenizer = files(path)
        self._rows = _read_table(table)
        self._tokenizer = read_tokenizer(tokenizer)
        self._unknown = _unknown_token(self._tokenizer)
        n_tokens = self._tokenizer.get_vocab_size()
        if n_tokens > len(self._rows):
            raise FormatError(
                tokenizer,
                None,
                f"it has {n_tokens:,} tokens, but the table has {len(self._rows):,} vectors",
                expected="one vector per token",
            )

    def encode(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts. The number of threads is ignored."""
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        encoded = [encoding.ids for encoding in encodings]
        lengths = np.array([*map(len, encoded)])
        vectors = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        first = 0
        while first < len(texts):
            # at least one text, and further ones as long as there are few tokens
            n_tokens = np.cumsum(lengths[first:])
            last = first + max(1, int(np.searchsorted(n_tokens, _TOKENS_PER_STEP)))
            vectors[first:last] = self._means(encoded[first:last], lengths[first:last])
            first = last
        return vectors

    def _means(self, encoded: list[list[int]], lengths: Any) -> Floats32:  # noqa: ANN401
        """Return the means (n, d) of the vectors of each text's known tokens."""
        tokens = np.array([token for text_tokens in encoded for token in text_tokens], np.int64)
        owners = np.repeat(np.arange(len(encoded)), lengths)
        is_known = tokens != self._unknown
        tokens = tokens[is_known]
        owners = owners[is_known]
        counts = np.bincount(owners, minlength=len(encoded))
        means = np.zeros((len(encoded), self._rows.shape[1]), np.float32)
        nonempty = np.flatnonzero(counts)
        if len(nonempty):
            starts = (np.cumsum(counts) - counts)[nonempty]
            sums = np.add.reduceat(self._rows[tokens], starts)
            means[nonempty] = sums / counts[nonempty, None]
        return means


def _read_table(path: Path) -> Floats32:
    """Return the weighted vector of each token (tokens, d)."""
    with wrap_foreign_errors(path), safe_open(path, framework="numpy") as arrays:
        stored = {name: arrays.get_tensor(name) for name in arrays.keys()}  # noqa: SIM118
    table = next((stored[name] for name in _TABLE_NAMES if name in stored), None)
    if table is None or table.ndim != 2 or not table.size or table.dtype.kind not in "fiu":
        raise FormatError(
            path,
            None,
            "it does not contain the vectors of tokens",
            expected=f"a table of numbers named {' or '.join(_TABLE_NAMES)}",
        )
    rows = np.asarray(table, np.float32)
    if (mapping := stored.get("mapping")) is not None:  # several tokens may share a row
        is_integer = mapping.ndim == 1 and mapping.dtype.kind in "iu" and mapping.size
        if not is_integer or not 0 <= mapping.min() <= mapping.max() < len(rows):
            raise FormatError(
                path,
                None,
                "the array 'mapping' does not contain row numbers",
                expected=f"integers from 0 to {len(rows) - 1}",
            )
        rows = rows[mapping]
    if (weights := stored.get("weights")) is not None:  # smaller for frequent tokens
        if weights.shape != rows.shape[:1] or weights.dtype.kind not in "fiu":
            raise FormatError(
                path,
                None,
                f"the array 'weights' is {weights.dtype} of shape {weights.shape}",
                expected=f"{len(rows)} numbers, one per token",
            )
        rows = rows * np.asarray(weights, np.float32)[:, None]
    if (invalid_row := find_nonfinite_row(rows)) is not None:
        raise FormatError(
            path,
            None,
            f"the vector of token {invalid_row} holds {NONFINITE_VALUE}",
            expected="finite numbers",
        )
    return rows


def _unknown_token(tokenizer: Any) -> int:  # noqa: ANN401 - of the package tokenizers
    """Return the id of the token for unknown subwords, or -1 if there is none."""
    model = json.loads(tokenizer.to_str())["model"]
    token = model.get("unk_token")
    number = model.get("unk_id") if token is None else tokenizer.token_to_id(token)
    return -1 if number is None else int(number)


make = StaticEncoder
