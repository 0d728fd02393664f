"""Files that lie: sound ones, changed on purpose and sealed again, so that no checksum tells.

`variants` lists every change of every array and fact of a file; `attack` has a process of its own
write, load and use them one after the other, with little memory and time. What is allowed is an
error of ours, or that all works; another exception, a crash, a hang is a failure, told with the
name of the variant. Run as a program, this file is that process.
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
    numbered,
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

SECONDS = 10  # for one variant
MEMORY = 1 << 30  # bytes beyond what the process has after its first use of the sound file


# --- kinds ------------------------------------------------------------------------------------


@dataclass
class Kind:
    """A kind of file: how a sound one is made, read and written, and how it is used.

    `make(path)` makes the sound one; `use(path, calls)` calls `calls(function, ...)` for each use,
    the first of which loads it.
    """

    name: str
    make: object
    use: object
    tampered: list = field(default_factory=list)
    seconds: float = SECONDS

    def read(self, path):
        raise NotImplementedError

    def write(self, path, content):
        raise NotImplementedError


class PartsKind(Kind):
    """One file of `ModelState.write`."""

    def read(self, path):
        from safetensors import safe_open
        from safetensors.numpy import load

        content = path.read_bytes()
        with safe_open(path, "numpy") as opened:
            told = json.loads(opened.metadata()["wordclass"])
        del told["digest"]
        return Content(told, load(content))

    def write(self, path, content):
        from wordclass.storage.state import ModelState

        text = as_json(content.told, sort_keys=True)
        try:
            told = json.loads(text)
            digest = ModelState({}, content.arrays)._digest(told)
            text = json.dumps({**told, "digest": digest}, sort_keys=True)
        except (ValueError, TypeError, RecursionError):
            digest = "not to be had"
        if text.endswith("}"):
            text = f'{text[:-1]}, "digest": "{digest}"}}'
        made = safetensors_bytes({"wordclass": text}, content.arrays)
        path.write_bytes(tampered(content, made))


class ModelKind(Kind):
    """The folder of a classifier."""

    def read(self, path):
        from safetensors.numpy import load

        told = json.loads((path / "manifest.json").read_bytes())
        return Content(told, load((path / "model.safetensors").read_bytes()))

    def write(self, path, content):
        from wordclass.storage.models import _KIND
        from wordclass.storage.state import ModelState, digest

        path.mkdir(parents=True, exist_ok=True)
        ModelState({}, content.arrays).save(path / "model.safetensors", _KIND)
        made = tampered(content, (path / "model.safetensors").read_bytes())
        told = content.told
        if isinstance(told, dict):
            arrays = told.get("arrays")
            if isinstance(arrays, dict):
                sums = {"bytes": len(made), "digest": digest(made, size=32)}
                told = {**told, "arrays": {**arrays, **sums}}
            told = {**told, "digest": ""}
        text = as_json(told, indent=2).encode()
        sealed = text.replace(b'"digest": ""', f'"digest": "{digest(text)}"'.encode(), 1)
        (path / "manifest.json").write_bytes(sealed)
        (path / "model.safetensors").write_bytes(made)


class NpzKind(Kind):
    """numpy's archive of word vectors."""

    def read(self, path):
        arrays = dict(np.load(path))
        return Content(json.loads(arrays.pop("classes").item()), arrays)

    def write(self, path, content):
        out = io.BytesIO()
        arrays = {**content.arrays, "classes": np.array([as_json(content.told)])}
        np.savez(out, **arrays)
        path.write_bytes(tampered(content, out.getvalue()))


class CacheKind(Kind):
    """A `.wcache` beside the vectors that it was made of."""

    def read(self, path):
        from wordclass.vectors import cache as cache

        content = path.with_name(path.name + ".wcache").read_bytes()[: -cache._CHECKSUM]
        end = len(content) - cache._SIZE
        start = end - int.from_bytes(content[end:], "little")
        told = json.loads(content[start:end])
        return Content(told, {"rows": np.frombuffer(content[:start], "<f4")})

    def write(self, path, content):
        from wordclass.vectors import cache as cache

        header = as_json(content.told).encode()
        numbers = b"".join(each.tobytes() for each in content.arrays.values())
        made = tampered(content, numbers + header + len(header).to_bytes(cache._SIZE, "little"))
        made += cache._checksum(np.frombuffer(made, np.uint8))
        path.with_name(path.name + ".wcache").write_bytes(made)


class JournalKind(Kind):
    """The journal of `tune`: one line of JSON per trial."""

    def read(self, path):
        return Content([json.loads(line) for line in path.read_bytes().splitlines()])

    def write(self, path, content):
        lines = content.told if isinstance(content.told, list) else [content.told]
        made = b"".join(as_json(line).encode() + b"\n" for line in lines)
        path.write_bytes(tampered(content, made))


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
                seconds=SECONDS * len(COMMANDS),
            )
            for name in ("linear", "nearest", "cnn")
        ),
        *(
            PartsKind(name, _partial(make_embeddings, name), use_embeddings, HEADERS)
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
        PartsKind("checkpoint", make_checkpoint, use_checkpoint, HEADERS),
    ]
}
ENDINGS = {"npz": "file.npz", "checkpoint": "state", "wcache": "file.txt"}


# --- the process that is attacked ---------------------------------------------------------------


def outcome(kind, path):
    """Use a file; return what came of it: "works" or "refused"."""
    from wordclass.errors import FormatError, InputError, WordClassError

    refused = []

    def calls(function, *given, **named):
        try:
            return function(*given, **named)
        except WordClassError as error:
            refused.append(error)
            told = str(error)
            is_load = getattr(function, "__name__", "") == "load"
            is_asked_for = isinstance(error, InputError) and "pass it again" in told
            if is_load and not (isinstance(error, FormatError) or is_asked_for):
                raise FailedError(f"load raised {type(error).__name__}: {told[:200]}") from error
            if "\n" in told:
                raise FailedError(f"a message of several lines: {told[:200]!r}") from error
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
    """Make the sound file of a kind; return its place."""
    kind = KINDS[name]
    place = place_of(kind, folder / "original")
    if not place.exists():
        kind.make(place)
    return place


def serve(folder, jobs):
    """Write and use variants one after the other, and tell what came of each on a line."""
    from wordclass.vectors import cache

    cache._WORTH_IT = 0
    os.environ["WORDCLASS_HOME"] = str(folder / "home")
    for name in dict.fromkeys(name for name, _ in jobs):
        kind = KINDS[name]
        sound = make_sound(name, folder / name)
        content = kind.read(sound)
        if outcome(kind, _copied(sound, folder / name / "first")) != "works":
            raise AssertionError(f"the sound file of {name} does not work")
        limit_memory()
        listed = variants(content, kind)
        for number in [number for each, number in jobs if each == name]:
            place = _copied(sound, folder / name / "variant")
            told, made = numbered(listed, content, number, name)
            kind.write(place, made)
            tell(kind=name, number=number, name=told)
            faulthandler.dump_traceback_later(kind.seconds, exit=True)
            try:
                found, reason = outcome(kind, place), ""
            except BaseException as error:  # that is what is looked for
                found, reason = "failed", _described(error)
            faulthandler.cancel_dump_traceback_later()
            tell(kind=name, number=number, name=told, outcome=found, reason=reason)


def _copied(sound, folder):
    """Copy a sound file with what stands beside it; the time stays, so a cache is still its own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.parent, folder)
    return folder / sound.name


def _described(error):
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = [
        each for each in traceback.extract_tb(error.__traceback__) if "wordclass/" in each.filename
    ]
    places = [f"{Path(each.filename).name}:{each.lineno}" for each in [*ours[-3:], last]]
    return f"{type(error).__name__}: {str(error)[:300]} ({' '.join(places)})"


def limit_memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def tell(**told):
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


# --- the process that attacks -------------------------------------------------------------------


def attack(folder, jobs):
    """Have processes use variants; return, of each, a dict with its name, outcome and reason.

    `jobs` are pairs of the name of a kind and the number of a variant, kind after kind.
    """
    left, results = list(jobs), []
    while left:
        command = [sys.executable, __file__, str(folder), json.dumps(left)]
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
        left = left[left.index((last["kind"], last["number"])) + 1 :]
    return results


if __name__ == "__main__":
    serve(Path(sys.argv[1]), [tuple(job) for job in json.loads(sys.argv[2])])
