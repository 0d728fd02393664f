"""Runs, their results, and the folder that stores results: `runs.jsonl` and `predictions/`."""

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

VERSION = 1  # of results; raised when the same run gives other scores than before


@dataclass(frozen=True)
class Run:
    """One fit and test, or one measurement, of an experiment.

    Parameters
    ----------
    dataset : str
        A name from the catalogue, or the stem of a corpus file in `WORDCLASS_DATA`. A colon
        selects classes: "newsgroups20:sci.med+sci.space". An @ gives the number of training
        documents per class that the seed draws: "banking77@8".
    learner : str
        A classifier; "peer" for a classifier of another package; or a measurement: "counts",
        "embedding_times", "unseen_terms", "map", "prior_shift".
    variant : str, default="default"
        The vectors or features that the learner reads.
    seed : int, default=0
        The random seed.
    protocol : str, default="clean"
        "clean" or "paper".
    vectors : str, optional
        The name of the pretrained vectors, if the variant has some.
    options : dict, default={}
        Options of the classifier beyond those of the variant, as JSON values. "other" names data
        sets whose training documents give the embeddings of other tasks.
    needs : tuple of Run, default=()
        Runs that must be finished first: the trials of a search, the best of which gives the
        options.
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
        """The run as JSON: equal for equal runs, wherever the data are."""
        run_fields = {**vars(self), "needs": [needed.identity for needed in self.needs]}
        return json.dumps(run_fields, sort_keys=True, allow_nan=False)

    @property
    def key(self) -> str:
        """A checksum of the identity, the data and the vectors.

        Raises
        ------
        MissingDataError
            The data or the vectors are missing.
        """
        data = sources.dataset_digest(self.dataset)
        vectors = "" if self.vectors is None else sources.vectors_digest(self.vectors)
        other_tasks = map(sources.dataset_digest, self.other)
        return digest(self.identity, data, vectors, str(VERSION), *other_tasks)

    @property
    def other(self) -> tuple[str, ...]:
        """The data sets whose word-class embeddings are added as other tasks."""
        return tuple(self.options.get("other", ()))

    def __str__(self) -> str:
        name = f"{self.dataset} {self.learner} {self.variant} {self.protocol} seed {self.seed}"
        options = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in self.options.items()
        )
        return f"{name} ({' '.join(options)})" if self.options else name


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of a run: one line of `runs.jsonl`.

    Parameters
    ----------
    key : str
        See `Run.key`.
    dataset, learner, variant, seed, protocol, options
        See `Run`.
    needs : list of str, default=[]
        Identities of the trials of the search that chose the settings.
    plan : str
        The plan for which the run was first done.
    vectors : dict or None
        "name", "dims" and "digest" of the pretrained vectors.
    data : dict
        "fingerprint", "n_train", "n_test", "n_classes" and "multilabel" of the data set.
    scores : dict
        Scores on the test documents: "macro_f1", "micro_f1", "accuracy",
        "macro_f1_with_positives" (the mean over classes that occur there). With validation
        documents also "validation_macro_f1" and "validation_micro_f1". Empty for measurements.
    classes : dict
        "names", and the counts "tp", "fp" and "fn" of each class on the test documents.
    times : dict
        Seconds of each step: "read", "vectors" (with those of other tasks), "encode" (texts that
        the cache of the encoder lacks), "select" (the search inside a classifier), "fit" (with the
        chosen settings), "predict" and "total"; and CPU seconds, such as "fit_cpu". "encode_cpu"
        is extrapolated from a sample of the texts. The time of a network covers all epochs, even
        those before an interruption, without the scoring of training and test documents.
    memory : int
        Peak resident memory in bytes.
    history : list of dict or None
        One dict per epoch with "epoch", "loss", "seconds", "cpu_seconds", "validation_loss",
        "validation_macro_f1" and "validation_micro_f1". Some epochs also have "test_macro_f1",
        "test_micro_f1", "train_macro_f1" and "train_micro_f1", on at most 10,000 documents each.
        Training documents include those that validate.
    best_epoch : int or None
        The epoch whose weights were used.
    settings : dict
        The settings that the classifier or the search chose.
    versions, machine : dict
        Versions of packages; processor, number of cores and system.
    extra : dict
        The numbers of a measurement.
    finished : str
        Date and time of the end, in UTC.
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
        """The identity of the run, as `Run.identity`."""
        run_fields = {run_field.name: getattr(self, run_field.name) for run_field in fields(Run)}
        name = None if self.vectors is None else self.vectors["name"]
        return json.dumps(run_fields | {"vectors": name}, sort_keys=True)


class Results:
    """A folder with the results of runs, which several processes can use at the same time.

    Parameters
    ----------
    folder : path
        The folder. It is created with the first result.

    Attributes
    ----------
    skipped : list of int
        Numbers of invalid lines in `runs.jsonl`, such as truncated ones. Set by `runs`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / "runs.jsonl"
        self.skipped: list[int] = []

    # --- reading ----------------------------------------------------------------------------

    def runs(self) -> list[RunResult]:
        """Return all results, oldest first.

        Raises
        ------
        FormatError
            Two lines have the same key and different scores.
        """
        results, skipped = _read_results(self.path, files.file_identity(self.path))
        self.skipped = [*skipped]
        return [*results]

    def predictions(self, key: str) -> Sparse:
        """Return the predicted classes (n, m) of the test documents of a run."""
        predicted = self._decisions(key)
        truth = self.truth(key)
        if predicted.shape != truth.shape:
            raise FormatError(
                self._arrays_path(key),
                None,
                f"predictions of shape {predicted.shape}",
                expected=f"{truth.shape}",
            )
        return predicted

    def truth(self, key: str) -> Sparse:
        """Return the true classes (n, m) of the test documents of a run."""
        return self._decisions(f"truth-{self.arrays(key).get('truth')}")

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays stored under a name, which is usually the key of a run."""
        path = self._arrays_path(name)
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
            raise InputError(
                "the run has no predictions: it is a measurement, and nothing was classified",
                hint="choose a run of a classifier",
            )
        with files.as_format_error(self._arrays_path(name), "not predictions"):
            compact = ModelState({}, arrays).take(**_LAYOUT)
            rows = {
                "Y.data": np.ones(len(compact["columns"])),
                "Y.indices": compact["columns"].astype(np.int64),
                "Y.indptr": np.append(0, np.cumsum(compact["counts"], dtype=np.int64)),
                "Y.shape": np.array([len(compact["counts"]), compact["n_classes"]]),
            }
            Y: Sparse = ModelState({}, rows).take(Y="csr:float64 documents classes")["Y"]
        return Y

    def _arrays_path(self, name: str) -> Path:
        return self._file("predictions", name, ".npz")

    def _file(self, folder: str, name: str, ending: str = "") -> Path:
        """Return the path of a file in a subfolder of the results.

        Raises
        ------
        FormatError
            The name, which may come from an untrusted file, is a path to another folder.
        """
        is_plain = name not in ("", ".", "..") and Path(name).name == name and "\0" not in name
        if not is_plain:
            problem = f"{name!r:.80} is no name of a file in {folder}"
            raise FormatError(self.folder, None, problem, expected="the key of a run")
        return self.folder / folder / f"{name}{ending}"

    # --- writing ----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Create the folder if it is missing, and check that it can be written."""
        files.check_folder(self.folder, lambda _: None)
        with files.as_storage_error(self.folder, "written"):
            self.folder.mkdir(parents=True, exist_ok=True)
        files.check_writable(self.path)

    def save_arrays(self, name: str, **arrays: NDArray[Any] | str) -> None:
        """Store arrays under a name."""
        path = self._arrays_path(name)
        with files.as_storage_error(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
        with files.open_for_writing(path) as file:
            content: dict[str, Any] = {
                array_name: np.asarray(array) for array_name, array in arrays.items()
            }
            np.savez_compressed(file, **content)

    def save_decisions(self, key: str, predicted: Sparse, truth: Sparse, fingerprint: str) -> None:
        """Store predicted classes (n, m) of test documents, and the true ones once per corpus."""
        if not files.path_exists(self._arrays_path(f"truth-{fingerprint}")):
            self.save_arrays(f"truth-{fingerprint}", **_to_compact_arrays(truth))
        self.save_arrays(key, **_to_compact_arrays(predicted), truth=fingerprint)

    def add(self, result: RunResult) -> None:
        """Append a result durably, and remove the checkpoint of its training.

        A failure leaves the file unchanged.
        """
        import fcntl  # not on Windows

        checkpoint = self.checkpoint(result.key)
        line = json.dumps(asdict(result), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with files.as_storage_error(
            self.path, "written", "; repair that and run the same command again"
        ):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                file.seek(max(end - 1, 0))
                is_truncated = file.read(1) not in (b"\n", b"")
                start = b"\n" if is_truncated else b""
                try:
                    unwritten = memoryview(start + line)
                    while unwritten:
                        unwritten = unwritten[file.write(unwritten) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(end)
                    raise
        _remove_file(checkpoint)

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Reserve a run for this process inside the block.

        A claim ends with the process that made it, however that ends. The owner must check whether
        the run was finished in the meantime.

        Yields
        ------
        bool
            True if this process has the claim, False if another process has it.
        """
        import fcntl  # not on Windows

        path = self._file("claims", key)
        is_ours = False
        with files.as_storage_error(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        with file:
            with suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # the last owner may have deleted the file since it was opened
                is_ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
            try:
                yield is_ours
            finally:
                if is_ours:
                    path.unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """Return the file from which the training of a run resumes."""
        return self._file("checkpoints", key)

    def tidy(self) -> None:
        """Remove claims, unfinished files and checkpoints that killed processes left behind.

        Files that a running process uses are left alone.
        """
        for claim in self.folder.glob("claims/*"):
            # opening a pipe would block, and opening a link would leave the folder
            if stat.S_ISREG(claim.lstat().st_mode):
                with self.claimed(claim.name):  # releasing a claim deletes its file
                    pass
        for unfinished in self.folder.glob("*/.*.tmp"):
            files.remove_leftovers(unfinished.with_name(unfinished.name[1:].rsplit(".", 2)[0]))
        for result in self.runs():
            _remove_file(self.checkpoint(result.key))


def _remove_file(path: Path) -> None:
    with files.as_storage_error(path, "removed"):
        path.unlink(missing_ok=True)


_FIELD_TYPES = {result_field.name: result_field.type for result_field in fields(RunResult)}
_KEY = re.compile("[0-9a-f]{32}")  # a key names files that are deleted: nothing else is accepted
_LAYOUT = {
    "columns": "int16|int32 any >=0",
    "counts": "int16|int32 documents >=0",
    "n_classes": "int64",
}


@lru_cache(maxsize=1)  # a report or a runner reads the file many times
def _read_results(path: Path, _identity: object) -> tuple[list[RunResult], list[int]]:
    """Return the results in a file, and the numbers of invalid lines."""
    results = dict[str, RunResult]()
    skipped = list[int]()
    content = files.read_content(path) if files.path_exists(path) else b""
    for number, line in enumerate(content.split(b"\n"), start=1):
        result = _parse_result(line)
        if result is None:
            skipped += [number] if line.strip() else []
            continue
        first = results.setdefault(result.key, result)
        if (first.scores, first.classes) != (result.scores, result.classes):
            raise FormatError(
                path,
                number,
                f"another line has the same key {result.key} and different scores",
                hint="remove the wrong one",
            )
    return list(results.values()), skipped


def _parse_result(line: bytes) -> RunResult | None:
    """Return the result on a line, or None if the line is invalid."""
    with suppress(*files.CONTENT_ERRORS):
        stored = parse_json(line)
        names = _FIELD_TYPES.keys() & stored.keys()
        result = RunResult(**{name: stored[name] for name in names})
        has_types = all(
            _has_type(getattr(result, name), expected) for name, expected in _FIELD_TYPES.items()
        )
        is_valid = has_types and _KEY.fullmatch(result.key) and "total" in result.times
        # the identity fails for vectors without a name
        if is_valid and result.identity:
            return result
    return None


def _has_type(value: object, expected: Any) -> bool:  # noqa: ANN401 - a type, perhaps generic
    """Return True if a JSON value and the values inside it have the type of a field."""
    inner = get_args(expected)
    if isinstance(expected, UnionType):
        return any(_has_type(value, option) for option in inner)
    if expected is float:
        return isinstance(value, int | float)
    if not isinstance(value, object if expected is Any else get_origin(expected) or expected):
        return False
    items: Any = value.values() if isinstance(value, dict) else value
    return not inner or inner[-1] is Any or all(_has_type(item, inner[-1]) for item in items)


def _to_compact_arrays(Y: Sparse) -> dict[str, NDArray[Any]]:
    """Return a 0/1 matrix (n, m) as arrays of small integers: columns, and their counts per row."""
    n_classes = Y.shape[1]
    dtype = np.int16 if n_classes < 2**15 else np.int32
    counts = np.diff(Y.indptr).astype(dtype)
    return {"columns": Y.indices.astype(dtype), "counts": counts, "n_classes": np.array(n_classes)}
