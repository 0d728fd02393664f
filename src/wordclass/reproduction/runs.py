"""A run, its result, and the folder in which results are kept: `runs.jsonl` and `predictions/`."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Sparse, check_code_points
from wordclass.errors import FormatError, InputError
from wordclass.reproduction import sources
from wordclass.storage import files
from wordclass.storage.compression import ARCHIVE_ERRORS
from wordclass.storage.state import ModelState, digest, parse_json

VERSION = 1  # of results: higher where the same run gives other ones than before


@dataclass(frozen=True)
class Run:
    """One thing to be done.

    Parameters
    ----------
    dataset : str
        A name of the catalogue, or the stem of a corpus file below `WORDCLASS_DATA`; behind a
        colon, classes that are kept of it: "newsgroups20:sci.med+sci.space"; behind an @, how many
        training documents per class the seed draws: "banking77@8".
    learner : str
        A classifier; "peer": one of another package; or what else is to be measured: "counts",
        "embedding_times", "unseen_terms", "map", "prior_shift".
    variant : str, default="default"
        Which vectors it reads.
    seed : int, default=0
    protocol : str, default="clean"
        "clean" or "paper".
    vectors : str, optional
        The name of the pretrained vectors, where the variant has some.
    options : dict, default={}
        Of the classifier, beside what the variant says; as JSON can hold them. "other" has the
        names of data sets, from whose training parts the embeddings of other tasks are learned.
    needs : tuple of Run, default=()
        Runs that must be done before: those of a search, of which the best gives the options.
    """

    dataset: str
    learner: str
    variant: str = "default"
    seed: int = 0
    protocol: str = "clean"
    vectors: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple["Run", ...] = ()

    @property
    def identity(self) -> str:
        """All that was asked for: equal for equal runs, wherever the data are."""
        told = {**vars(self), "needs": [each.identity for each in self.needs]}
        return json.dumps(told, sort_keys=True, allow_nan=False)

    @property
    def key(self) -> str:
        """A checksum of all that the result depends on: the identity, the data, the vectors.

        Raises
        ------
        MissingDataError
            The data or the vectors are not here.
        """
        data = sources.dataset_digest(self.dataset)
        vectors = "" if self.vectors is None else sources.vectors_digest(self.vectors)
        others = map(sources.dataset_digest, self.other)
        return digest(self.identity, data, vectors, str(VERSION), *others)

    @property
    def other(self) -> tuple[str, ...]:
        """The data sets of other tasks that are to help."""
        return tuple(self.options.get("other", ()))

    def __str__(self) -> str:
        named = f"{self.dataset} {self.learner} {self.variant} {self.protocol} seed {self.seed}"
        options = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in self.options.items()
        )
        return f"{named} ({' '.join(options)})" if self.options else named


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came out of a run: one line of `runs.jsonl`.

    Parameters
    ----------
    key : str
        See `Run.key`.
    dataset, learner, variant, seed, protocol, options
        See `Run`.
    needs : list of str, default=[]
        Identities of the runs of the search that chose the settings.
    plan : str
        The plan that it was first done for.
    vectors : dict or None
        "name", "dims" and "digest" of the pretrained vectors.
    data : dict
        "fingerprint", "n_train", "n_test", "n_classes" and "multilabel" of the data set.
    scores : dict
        Of the test part: "macro_f1", "micro_f1", "accuracy", "macro_f1_with_positives" (of the
        classes that have some); "validation_macro_f1", "validation_micro_f1" where there are
        validation texts. Empty where nothing was classified.
    classes : dict
        "names", and of each class "tp", "fp" and "fn" on the test part.
    times : dict
        Seconds of each step: "read", "vectors" (also those of other tasks), "encode" (texts by an
        encoder, where the cache lacks them), "select" (the search inside a classifier), "fit" (with
        the chosen settings), "predict"; "total"; and of each the seconds of the processor,
        "fit_cpu" and so on. "encode_cpu" is what a sample of the texts took, for all of them. The
        time of a network has all its epochs, also those before a stop (but maybe not all of the
        epoch in which it was killed), and not the scoring of training and test texts.
    memory : int
        Peak resident bytes.
    history : list of dict or None
        Of each epoch "epoch", "loss", "seconds", "cpu_seconds", "validation_loss",
        "validation_macro_f1", "validation_micro_f1"; of some epochs also "test_macro_f1",
        "test_micro_f1", "train_macro_f1" and "train_micro_f1", on at most 10,000 texts each; the
        training texts are all of them, those that validate too.
    best_epoch : int or None
    settings : dict
        What was chosen by the classifier itself, or by the search.
    versions, machine : dict
    extra : dict
        What runs other than trainings measured.
    finished : str
        When, in UTC.
    """

    key: str
    dataset: str
    learner: str
    variant: str
    seed: int
    protocol: str
    options: dict[str, Any]
    plan: str
    vectors: dict[str, Any] | None
    data: dict[str, Any]
    times: dict[str, float]
    memory: int
    versions: dict[str, str]
    machine: dict[str, Any]
    finished: str
    scores: dict[str, float] = field(default_factory=dict)
    classes: dict[str, list[Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] | None = None
    best_epoch: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """That of the run."""
        own = {each.name: getattr(self, each.name) for each in fields(Run)}
        name = None if self.vectors is None else self.vectors["name"]
        return json.dumps(own | {"vectors": name}, sort_keys=True)


class Results:
    """A folder with the results of runs; several processes may use it at once.

    Parameters
    ----------
    folder : path
        Need not exist; it is made when the first result comes.

    Attributes
    ----------
    skipped : list of int
        The lines of `runs.jsonl` that are not understood, such as cut ones (a machine that stopped,
        a full disk); known after `runs`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / "runs.jsonl"
        self.skipped: list[int] = []

    # --- reading ----------------------------------------------------------------------------

    def runs(self) -> list[RunResult]:
        """Return all results, in the order in which they came.

        Raises
        ------
        FormatError
            Two lines have one key and different scores.
        """
        found, skipped = _results_in(self.path, files.file_identity(self.path))
        self.skipped = [*skipped]
        return [*found]

    def predictions(self, key: str) -> Sparse:
        """Return which classes (n, m) the run with this key gave to the test texts."""
        found, truth = self._decisions(key), self.truth(key)
        if found.shape != truth.shape:
            reason = f"predictions of shape {found.shape}; expected {truth.shape}"
            raise FormatError(self._place(key), None, reason)
        return found

    def truth(self, key: str) -> Sparse:
        """Return which classes (n, m) the same texts really have."""
        return self._decisions(f"truth-{self.arrays(key).get('truth')}")

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that were kept under this name: the key of a run, mostly."""
        path = self._place(name)
        with (
            files.open_for_reading(path) as file,
            files.as_format_error(path, "not an archive of arrays", *ARCHIVE_ERRORS),
        ):
            files.check_archive(path, file)
            with np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
            for array in arrays.values():
                check_code_points(array)
            return arrays

    def _decisions(self, name: str) -> Sparse:
        arrays = self.arrays(name)
        if arrays.keys().isdisjoint(_LAYOUT):
            raise InputError("the run has no predictions: nothing was classified in it")
        with files.as_format_error(self._place(name), "not predictions"):
            kept = ModelState({}, arrays).take(**_LAYOUT)
            rows = {
                "Y.data": np.ones(len(kept["columns"])),
                "Y.indices": kept["columns"].astype(np.int64),
                "Y.indptr": np.append(0, np.cumsum(kept["counts"], dtype=np.int64)),
                "Y.shape": np.array([len(kept["counts"]), kept["n_classes"]]),
            }
            Y: Sparse = ModelState({}, rows).take(Y="csr:float64 documents classes")["Y"]
        return Y

    def _place(self, name: str) -> Path:
        return self._file("predictions", name, ".npz")

    def _file(self, folder: str, name: str, ending: str = "") -> Path:
        """Return the file of this name in a folder of the results.

        Raises
        ------
        FormatError
            The name, which may come from a file, is a path that leads elsewhere.
        """
        is_plain = name not in ("", ".", "..") and Path(name).name == name and "\0" not in name
        if not is_plain:
            reason = f"{name!r:.80} is no name of a file in {folder}; expected the key of a run"
            raise FormatError(self.folder, None, reason)
        return self.folder / folder / f"{name}{ending}"

    # --- writing ----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the folder, if need be; refuse one that cannot be written."""
        files.check_folder(self.folder, lambda _: None)
        with files.as_storage_error(self.folder, "written"):
            self.folder.mkdir(parents=True, exist_ok=True)
        files.check_writable(self.path)

    def keep(self, name: str, **arrays: NDArray[Any] | str) -> None:
        """Keep arrays under this name."""
        path = self._place(name)
        with files.as_storage_error(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
        with files.open_for_writing(path) as file:
            kept: dict[str, Any] = {each: np.asarray(array) for each, array in arrays.items()}
            np.savez_compressed(file, **kept)

    def keep_decisions(self, key: str, predicted: Sparse, truth: Sparse, fingerprint: str) -> None:
        """Keep the classes (n, m) that test texts were given, and those that they have, once."""
        if not files.path_exists(self._place(f"truth-{fingerprint}")):
            self.keep(f"truth-{fingerprint}", **_compact(truth))
        self.keep(key, **_compact(predicted), truth=fingerprint)

    def add(self, result: RunResult) -> None:
        """Append a result; when this returns it is on disk, and where it fails nothing changed.

        The checkpoint of its training is removed.
        """
        import fcntl  # not on Windows

        checkpoint = self.checkpoint(result.key)
        line = json.dumps(asdict(result), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with files.as_storage_error(self.path, "written", "; run again once that is mended"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                file.seek(max(end - 1, 0))
                start = b"\n" if file.read(1) not in (b"\n", b"") else b""  # after a cut line
                try:
                    left = memoryview(start + line)
                    while left:
                        left = left[file.write(left) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(end)
                    raise
        _remove_file(checkpoint)

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Tell others to leave a run to us, inside the block; False: somebody else has it.

        A claim ends with the process that made it, however that ends. Whoever gets one has to look
        whether the run was finished in the meantime.
        """
        import fcntl  # not on Windows

        path, is_ours = self._file("claims", key), False
        with files.as_storage_error(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        with file:
            with suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # a file that its last owner has deleted by now is no claim
                is_ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
            try:
                yield is_ours
            finally:
                if is_ours:
                    path.unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """Return the file from which the training of a run goes on."""
        return self._file("checkpoints", key)

    def tidy(self) -> None:
        """Remove what killed processes left: claims, unfinished files, checkpoints of no more use.

        What somebody is at work on stays.
        """
        for claim in self.folder.glob("claims/*"):
            if stat.S_ISREG(claim.lstat().st_mode):  # a pipe would be waited for, a link followed
                with self.claimed(claim.name):  # and no longer
                    pass
        for unfinished in self.folder.glob("*/.*.tmp"):
            files.remove_leftovers(unfinished.with_name(unfinished.name[1:].rsplit(".", 2)[0]))
        for result in self.runs():
            _remove_file(self.checkpoint(result.key))


def _remove_file(path: Path) -> None:
    with files.as_storage_error(path, "removed"):
        path.unlink(missing_ok=True)


_KINDS = {each.name: each.type for each in fields(RunResult)}
_KEY = re.compile("[0-9a-f]{32}")  # what `Run.key` makes: it names files, which are deleted
_LAYOUT = {
    "columns": "int16|int32 any >=0",
    "counts": "int16|int32 documents >=0",
    "n_classes": "int64",
}


@lru_cache(maxsize=1)  # a report or a runner asks many times
def _results_in(path: Path, _state: object) -> tuple[list[RunResult], list[int]]:
    """Return the results in a file, and the numbers of the lines that are not understood."""
    found, skipped = dict[str, RunResult](), list[int]()
    content = files.read_content(path) if files.path_exists(path) else b""
    for number, line in enumerate(content.split(b"\n"), start=1):
        result = _result_in(line)
        if result is None:
            skipped += [number] if line.strip() else []
            continue
        first = found.setdefault(result.key, result)
        if (first.scores, first.classes) != (result.scores, result.classes):
            reason = f"another line has the same key {result.key} and different scores"
            raise FormatError(path, number, f"{reason}; remove the wrong one")
    return list(found.values()), skipped


def _result_in(line: bytes) -> RunResult | None:
    """Return the result that a line holds, or None where it is not understood."""
    with suppress(*files.CONTENT_ERRORS):
        stored = parse_json(line)
        result = RunResult(**{name: stored[name] for name in _KINDS.keys() & stored.keys()})
        has_types = all(_is_a(getattr(result, name), kind) for name, kind in _KINDS.items())
        is_understood = has_types and _KEY.fullmatch(result.key) and "total" in result.times
        # vectors without a name have no identity
        if is_understood and result.identity:
            return result
    return None


def _is_a(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type, or one with others inside
    """Tell whether a value of JSON has the type of a field, and what is inside it too."""
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        return any(_is_a(value, each) for each in inner)
    if kind is float:
        return isinstance(value, int | float)
    if not isinstance(value, object if kind is Any else get_origin(kind) or kind):
        return False
    parts: Any = value.values() if isinstance(value, dict) else value
    return not inner or inner[-1] is Any or all(_is_a(each, inner[-1]) for each in parts)


def _compact(Y: Sparse) -> dict[str, NDArray[Any]]:
    """Return a 0/1 matrix (n, m) as small arrays: the columns of each row, and how many."""
    n_classes = Y.shape[1]
    small = np.int16 if n_classes < 2**15 else np.int32
    counts = np.diff(Y.indptr).astype(small)
    return {"columns": Y.indices.astype(small), "counts": counts, "n_classes": np.array(n_classes)}
