"""Hostile files: sound files that are changed and get a new checksum.

`variants` lists every change of every array and value of a file. `attack` starts a process that
writes, loads and uses them one after the other with limited memory and time. A `WordClassError` and
success are allowed. Any other exception, a crash or a hang is a failure, reported with the name of
the variant. Run as a program, this file is that process.
"""

import faulthandler
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hostile_changes import (
    ARCHIVE_CHANGES,
    CACHE_CHANGES,
    HEADER_CHANGES,
    JOURNAL_CHANGES,
    Content,
    as_json,
    make_variant,
    safetensors_bytes,
    tampered,
    tamperings,
    variants,
)
from hostile_uses import (
    COMMANDS,
    EMBEDDINGS,
    FailedError,
    make_cached_vectors,
    make_checkpoint,
    make_embeddings,
    make_model,
    make_vectors,
    tune,
    tune_linear,
    use_checkpoint,
    use_embeddings,
    use_journal,
    use_linear_journal,
    use_model,
    use_model_by_commands,
    use_vectors,
)

SECONDS_PER_VARIANT = 10
SPARE_BYTES = 1 << 30  # memory beyond that of the process after the first use of the sound file


# --- kinds ------------------------------------------------------------------------------------


@dataclass
class Kind:
    """A kind of file with functions that make, read, write and use it.

    `make(path)` makes a sound file. `use(path, calls)` calls `calls(function, ...)` for each use,
    the first of which loads the file.
    """

    name: str
    make: object
    use: object
    tamperings: list = field(default_factory=list)
    seconds: float = SECONDS_PER_VARIANT

    def read(self, path):
        raise NotImplementedError

    def write(self, path, content):
        raise NotImplementedError


class StateKind(Kind):
    """One file of `ModelState.write`."""

    def read(self, path):
        from safetensors import safe_open
        from safetensors.numpy import load

        content = path.read_bytes()
        with safe_open(path, "numpy") as opened:
            metadata = json.loads(opened.metadata()["wordclass"])
        del metadata["digest"]
        return Content(metadata, load(content))

    def write(self, path, content):
        from wordclass.storage.state import ModelState

        text = as_json(content.metadata, sort_keys=True)
        try:
            metadata = json.loads(text)
            digest = ModelState({}, content.arrays)._digest(metadata)
            text = json.dumps({**metadata, "digest": digest}, sort_keys=True)
        except (ValueError, TypeError, RecursionError):
            digest = "unknown"
        if text.endswith("}"):
            text = f'{text[:-1]}, "digest": "{digest}"}}'
        data = safetensors_bytes({"wordclass": text}, content.arrays)
        path.write_bytes(tampered(content, data))


class ModelKind(Kind):
    """The folder of a classifier."""

    def read(self, path):
        from safetensors.numpy import load

        manifest = json.loads((path / "manifest.json").read_bytes())
        return Content(manifest, load((path / "model.safetensors").read_bytes()))

    def write(self, path, content):
        from wordclass.storage.models import _KIND
        from wordclass.storage.state import ModelState, digest

        path.mkdir(parents=True, exist_ok=True)
        ModelState({}, content.arrays).save(path / "model.safetensors", _KIND)
        data = tampered(content, (path / "model.safetensors").read_bytes())
        manifest = content.metadata
        if isinstance(manifest, dict):
            arrays = manifest.get("arrays")
            if isinstance(arrays, dict):
                sums = {"bytes": len(data), "digest": digest(data, size=32)}
                manifest = {**manifest, "arrays": {**arrays, **sums}}
            manifest = {**manifest, "digest": ""}
        text = as_json(manifest, indent=2).encode()
        sealed = text.replace(b'"digest": ""', f'"digest": "{digest(text)}"'.encode(), 1)
        (path / "manifest.json").write_bytes(sealed)
        (path / "model.safetensors").write_bytes(data)


class NpzKind(Kind):
    """numpy's archive of word vectors."""

    def read(self, path):
        arrays = dict(np.load(path))
        return Content(json.loads(arrays.pop("classes").item()), arrays)

    def write(self, path, content):
        out = io.BytesIO()
        arrays = {**content.arrays, "classes": np.array([as_json(content.metadata)])}
        np.savez(out, **arrays)
        path.write_bytes(tampered(content, out.getvalue()))


class CacheKind(Kind):
    """A `.wcache` file next to its vectors."""

    def read(self, path):
        from wordclass.vectors import cache

        content = path.with_name(path.name + ".wcache").read_bytes()[: -cache._CHECKSUM_BYTES]
        end = len(content) - cache._SIZE_BYTES
        start = end - int.from_bytes(content[end:], "little")
        header_values = json.loads(content[start:end])
        return Content(header_values, {"rows": np.frombuffer(content[:start], "<f4")})

    def write(self, path, content):
        from wordclass.vectors import cache

        header = as_json(content.metadata).encode()
        numbers = b"".join(array.tobytes() for array in content.arrays.values())
        data = tampered(
            content, numbers + header + len(header).to_bytes(cache._SIZE_BYTES, "little")
        )
        data += cache._checksum(np.frombuffer(data, np.uint8))
        path.with_name(path.name + ".wcache").write_bytes(data)


class JournalKind(Kind):
    """The journal of `tune`: one line of JSON per trial."""

    def read(self, path):
        return Content([json.loads(line) for line in path.read_bytes().splitlines()])

    def write(self, path, content):
        lines = content.metadata if isinstance(content.metadata, list) else [content.metadata]
        data = b"".join(as_json(line).encode() + b"\n" for line in lines)
        path.write_bytes(tampered(content, data))


def _partial(function, name):
    return lambda path: function(name, path)


HEADERS = tamperings(HEADER_CHANGES)
CLASSIFIERS = ("linear", "tree", "nearest", "svm", "fasttext", "cnn", "lstm", "attention", "leam")
KINDS = {
    kind.name: kind
    for kind in [
        *(
            ModelKind(name, _partial(make_model, name), use_model, HEADERS)
            for name in (*CLASSIFIERS, "linear-tree")
        ),
        *(
            ModelKind(
                f"{name}-commands",
                _partial(make_model, name),
                use_model_by_commands,
                seconds=SECONDS_PER_VARIANT * len(COMMANDS),
            )
            for name in ("linear", "nearest", "cnn")
        ),
        *(
            StateKind(name, _partial(make_embeddings, name), use_embeddings, HEADERS)
            for name in EMBEDDINGS
        ),
        NpzKind("npz", make_vectors, use_vectors, tamperings(ARCHIVE_CHANGES)),
        CacheKind(
            "wcache",
            make_cached_vectors,
            lambda path, calls: use_vectors(path, calls, "glove_text"),
            tamperings(CACHE_CHANGES),
        ),
        JournalKind("journal", tune, use_journal, tamperings(JOURNAL_CHANGES)),
        JournalKind("journal-linear", tune_linear, use_linear_journal, tamperings(JOURNAL_CHANGES)),
        StateKind("checkpoint", make_checkpoint, use_checkpoint, HEADERS),
    ]
}
ENDINGS = {"npz": "file.npz", "checkpoint": "state", "wcache": "file.txt"}


# --- the process that is attacked ---------------------------------------------------------------


def outcome(kind, path):
    """Use a file and return "works" or "refused"."""
    from wordclass.errors import FormatError, InputError, WordClassError

    refused = []

    def calls(function, *args, **options):
        try:
            return function(*args, **options)
        except WordClassError as error:
            refused.append(error)
            message = str(error)
            is_load = getattr(function, "__name__", "") == "load"
            is_asked_for = isinstance(error, InputError) and "pass it again" in message
            if is_load and not (isinstance(error, FormatError) or is_asked_for):
                raise FailedError(f"load raised {type(error).__name__}: {message[:200]}") from error
            if "\n" in message:
                raise FailedError(f"a message of several lines: {message[:200]!r}") from error
        except MemoryError as error:
            raise FailedError(f"MemoryError in {function}") from error
        return None

    kind.use(path, calls)
    return "refused" if refused else "works"


def place_of(kind, folder):
    folder.mkdir(parents=True, exist_ok=True)
    default = "file.wce" if kind.name.startswith("wce") else "file"
    return folder / ENDINGS.get(
        kind.name.split("-")[0] if kind.name != "wcache" else "wcache", default
    )


def make_sound(name, folder):
    """Make the sound file of a kind and return its path."""
    kind = KINDS[name]
    place = place_of(kind, folder / "original")
    if not place.exists():
        kind.make(place)
    return place


def serve(folder, jobs):
    """Write and use variants one after the other, and print one line of JSON per variant."""
    from wordclass.vectors import cache

    cache._MIN_FILE_BYTES = 0
    os.environ["WORDCLASS_HOME"] = str(folder / "home")
    for name in dict.fromkeys(name for name, _ in jobs):
        kind = KINDS[name]
        sound = make_sound(name, folder / name)
        content = kind.read(sound)
        if outcome(kind, _copy(sound, folder / name / "first")) != "works":
            raise AssertionError(f"the sound file of {name} does not work")
        limit_memory()
        changes = variants(content, kind)
        for number in [number for job_name, number in jobs if job_name == name]:
            place = _copy(sound, folder / name / "variant")
            description, changed = make_variant(changes, content, number, name)
            kind.write(place, changed)
            report(kind=name, number=number, name=description)
            faulthandler.dump_traceback_later(kind.seconds, exit=True)
            try:
                result = outcome(kind, place)
                reason = ""
            except BaseException as error:  # the test looks for any kind
                result = "failed"
                reason = _describe_error(error)
            faulthandler.cancel_dump_traceback_later()
            report(kind=name, number=number, name=description, outcome=result, reason=reason)


def _copy(sound, folder):
    """Copy a sound file with its folder. Times are kept, so that a cache stays valid."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.parent, folder)
    return folder / sound.name


def _describe_error(error):
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    own_frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "wordclass/" in frame.filename
    ]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in [*own_frames[-3:], last]]
    return f"{type(error).__name__}: {str(error)[:300]} ({' '.join(places)})"


def limit_memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, resource.RLIM_INFINITY))


def report(**facts):
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


# --- the process that attacks -------------------------------------------------------------------


def attack(folder, jobs):
    """Use variants in processes, and return a dict with name, outcome and reason for each.

    `jobs` are pairs of the name of a kind and the number of a variant, kind after kind.
    """
    remaining = list(jobs)
    results = []
    while remaining:
        command = [sys.executable, __file__, str(folder), json.dumps(remaining)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results += [line for line in lines if "outcome" in line]
        if not lines or (done.returncode and "outcome" in lines[-1]):
            raise AssertionError(f"it did not begin: {done.stderr[-3000:]}")
        last = lines[-1]
        if "outcome" not in last:
            reason = f"ended with {done.returncode}: {done.stderr[-2000:]}"
            results.append({**last, "outcome": "failed", "reason": reason})
        remaining = remaining[remaining.index((last["kind"], last["number"])) + 1 :]
    return results


if __name__ == "__main__":
    serve(Path(sys.argv[1]), [tuple(job) for job in json.loads(sys.argv[2])])
