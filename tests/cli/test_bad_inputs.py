"""Generated invalid inputs to the commands: each ends in one line that says what is wrong.

Case number k is always the same one. A tenth of them runs by default, all with `-m slow`.
"""

import gzip
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import written
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.classifiers.factory import classifier
from wordclass.storage import models

N_CASES = 500
MAX_SECONDS = 60

STRANGE = [
    "", " ", "-1", "0", "1.5", "nan", "inf", "-inf", "1e999", "9" * 400, "abc", "None", "true",
    "[]", "{}", "[1,", '{"a": 1}', "[[1, 2], 3]", "[" * 2000, "1,2", "3,1", "1,2,3", '"', "a=b",
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "fake\nwordclass: all is well", "a\rb", "\x9b2J",
    "\u202eabc", "\u2028", "x" * 5000, "é" * 300, "\ud800", "../..", "/", "dataset:nowhere",
]  # fmt: skip
NAMES = [
    "red\x1b[31m", "title\x1b]0;x\x07", "two\nlines", "back\x08", "c1\x9b31m", "bidi\u202e",
    "line\u2028", "x" * 200, "é", "-dash", " ", "sur\udcffrogate",
]  # fmt: skip
ENDINGS = [".jsonl", ".csv", ".tsv", ".parquet", ".ft", ".xlsx", ".jsonl.gz", ".csv.zst"]
VECTORS = ["docs.wce", "vectors.vec", "vectors.txt", "vectors.npz", "vectors.bin"]
CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


# --- sound files to be damaged ----------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Write a corpus in all formats, models of several kinds, and vectors in all formats."""
    folder = tmp_path_factory.mktemp("good")
    texts, labels = corpus(24)
    for ending in ENDINGS:
        plain = ending.removesuffix(".gz").removesuffix(".zst").removeprefix(".")
        format = {"ft": "fasttext"}.get(plain, plain)
        written.write(format, folder / f"docs{ending}", written.of(texts, labels))
    for name in ("nearest", "linear", "svm"):
        wc.classifier(name, min_docs=1).fit(texts, labels).save(folder / name)
    wc.classifier("nearest", min_docs=1).fit(*multilabel_corpus(24)).save(folder / "multilabel")
    wce = wc.WordClassEmbeddings(min_docs=1).fit(texts, labels)
    wce.save(folder / "docs.wce")
    for name in VECTORS[1:]:
        wce.to_word_vectors().save(folder / name)
    return folder


class Maker:
    """Generator of cases by number: a damaged copy of a sound file, or a wrong argument."""

    def __init__(self, number, good, place):
        self.random, self.good, self.place = random.Random(number), good, place
        self.name = "docs"

    def make(self):
        kinds = [
            self.spoiled_corpus, self.spoiled_rows, self.spoiled_vectors, self.spoiled_model,
            self.spoiled_manifest, self.wrong_option, self.wrong_set, self.wrong_place,
            self.hostile_classes, self.no_command,
        ]  # fmt: skip
        return [str(word) for word in self.random.choice(kinds)()]

    def any_of(self, choices):
        return self.random.choice(list(choices))

    def path(self, ending):
        """Return a new path, often with a strange name."""
        stem = self.any_of(NAMES) if self.random.random() < 0.4 else "docs"
        return self.place / f"{stem}{ending}"

    def spoiled(self, content):
        """Return bytes that are truncated, changed, doubled or replaced."""
        k = self.random.randrange(len(content) + 1)
        n = self.random.randrange(1, 9)
        return self.any_of([
            content[:k], content[k:], content[:k] + self.random.randbytes(n) + content[k + n :],
            content[:k] + self.random.randbytes(n) + content[k:], content[:k] + content, b"",
            self.random.randbytes(200), b"\x1b[31m" + content, content.replace(b"\n", b"\r"),
            content.replace(b"e", b"\x9b"), b"[" * 5000, b"\xff\xfe" + content, b"\n" * 300,
            b"\0" * 99, content.replace(b"text", b"\xc2\x9b1m"), content.replace(b":", b""),
            gzip.compress(content)[:-4],
        ])  # fmt: skip

    def on_corpus(self, path):
        output = self.place / "out"
        return self.any_of([
            ["fit", path, "-o", output], ["train", path, "-o", output, "--classifier", "nearest"],
            ["evaluate", self.good / self.any_of(["nearest", "multilabel"]), path],
            ["predict", self.good / "nearest", path, "--json"],
            ["predict", self.good / "nearest", path, "-o", self.place / "out.csv"],
            ["evaluate", self.good / "linear", path, "--errors", self.place / "out.parquet"],
            ["tune", path, "-o", output, "--classifier", "nearest", "--budget", "0s"],
        ])  # fmt: skip

    def spoiled_corpus(self):
        ending = self.any_of(ENDINGS)
        path = self.path(ending)
        content = (self.good / f"docs{ending}").read_bytes()
        if ending.endswith((".gz", ".zst")) and self.random.random() < 0.5:
            content = gzip.decompress(content) if ending.endswith(".gz") else content
            path.write_bytes(gzip.compress(self.spoiled(content)))
        else:
            path.write_bytes(self.spoiled(content))
        return self.on_corpus(path)

    def spoiled_rows(self):
        """Write JSON rows whose fields have wrong types, are missing, or have strange names."""
        values = [None, 1, -1.5, True, [], [[]], {}, "", ["x", 1], {"a": [1]}, 2**70, *STRANGE[24:]]
        rows = [
            {
                self.any_of(["text", "text", "label", "labels", "split", *STRANGE[24:]]):
                self.any_of(["some words", "space", *values])
                for _ in range(3)
            }
            for _ in range(self.any_of([1, 3, 20]))
        ]  # fmt: skip
        path = self.path(".jsonl")
        path.write_text("\n".join(map(json.dumps, rows)))
        return self.on_corpus(path)

    def hostile_classes(self):
        """Write a valid corpus whose classes and words are hostile."""
        path = self.path(".jsonl")
        strange = [text for text in STRANGE if text.strip()]
        rows = [{"text": f"moon {name} rose", "label": name} for name in strange[10:] * 2]
        path.write_text("\n".join(map(json.dumps, rows)))
        output = self.place / "out"
        commands = [
            ["train", path, "-o", output, "--holdout", "0.3", "--classifier", "nearest"],
            ["train", path, "-o", output, "--classifier", "nearest", "--set", "min_docs=1"],
            ["evaluate", self.good / "nearest", path, "--strict-labels"],
            ["predict", self.good / "nearest", path],
            [
                "explain",
                self.good / "nearest",
                self.any_of(strange),
                "--class",
                self.any_of(strange),
            ],
            ["words", self.good / "docs.wce", self.any_of(strange)],
            ["profile", self.good / "docs.wce", self.any_of(strange)],
            ["nearest", self.good / "vectors.vec", self.any_of(strange)],
        ]
        return self.any_of(commands)

    def spoiled_vectors(self):
        name = self.any_of(VECTORS)
        path = self.path(Path(name).suffix)
        path.write_bytes(self.spoiled((self.good / name).read_bytes()))
        data = self.good / "docs.jsonl"
        return self.any_of([
            ["info", path], ["nearest", path, "moon"], ["convert", path, self.place / "out.vec"],
            ["unseen", self.good / "docs.wce", path], ["words", path, "space"],
            ["profile", path, "moon"], ["convert", path, self.path(".xyz")],
            ["train", data, "-o", self.place / "out", "--vectors", path],
        ])  # fmt: skip

    def on_model(self, model):
        data = self.good / "docs.jsonl"
        return self.any_of([
            ["info", model], ["explain", model, "moon rose"], ["predict", model, data],
            ["evaluate", model, data], ["export", model, self.place / "out.onnx"],
            ["evaluate", model, data, "--holdout"],
        ])  # fmt: skip

    def copied_model(self):
        model = self.path("")
        shutil.copytree(self.good / self.any_of(["nearest", "linear", "svm", "multilabel"]), model)
        return model

    def spoiled_model(self):
        model = self.copied_model()
        file = self.any_of(sorted(model.iterdir()))
        if self.random.random() < 0.2:
            file.unlink()
        else:
            file.write_bytes(self.spoiled(file.read_bytes()))
        return self.on_model(model)

    def spoiled_manifest(self):
        """Change a value in a manifest, and seal it with a correct checksum."""
        model = self.copied_model()
        manifest = json.loads((model / "manifest.json").read_text())
        place = self.any_of(
            [manifest, manifest["settings"], manifest["facts"], manifest["training"]]
        )
        if place:
            place[self.any_of(place)] = self.any_of([None, 1, -1, [], {}, [1], *STRANGE])
        manifest["digest"] = ""
        (model / "manifest.json").write_bytes(models.seal_manifest(manifest))
        return self.on_model(model)

    def right_commands(self):
        data, model, wce = (self.good / name for name in ("docs.jsonl", "nearest", "docs.wce"))
        output = self.place / "out"
        return {
            "fit": [data, "-o", output], "words": [wce, "space"], "profile": [wce, "moon"],
            "nearest": [wce, "moon"], "unseen": [wce, self.good / "vectors.vec"],
            "convert": [wce, self.place / "out.vec"], "evaluate": [model, data],
            "train": [data, "-o", output, "--classifier", "nearest"],
            "tune": [data, "-o", output, "--classifier", "nearest", "--budget", "0s"],
            "predict": [model, data], "explain": [model, "moon"], "info": [model], "datasets": [],
        }  # fmt: skip

    def wrong_option(self):
        name, words = self.any_of(self.right_commands().items())
        options = sorted(options_of(name) - {"--download", "--help"})
        option, value = self.any_of([*options, "--nonsense", *STRANGE]), self.any_of(STRANGE)
        return [
            name,
            *words,
            *self.any_of([[option, value], [option], [value], [f"{option}={value}"]]),
        ]

    def wrong_set(self):
        """Set options of a classifier to values of wrong types and sizes."""
        kind = self.any_of(["nearest", "linear", "svm"])
        names = [*classifier(kind).get_params(deep=False), "nonsense", *STRANGE[:3]]
        assignment = f"{self.any_of(names)}={self.any_of(STRANGE)}"
        data, output = self.good / "docs.jsonl", self.place / "out"
        command, option = self.any_of(
            [("train", ["--set"]), ("tune", ["--budget", "0s", "--grid"])]
        )
        return [command, data, "-o", output, "--classifier", kind, *option, assignment]

    def wrong_place(self):
        """Replace a path by a device, a folder, a file in place of a folder, or a missing path."""
        places = [
            "/dev/full", "/dev/null", self.good, self.good / "docs.csv", self.place / "no/where",
            self.good / "docs.csv" / "x", "/proc/self/mem", "", "~", "/", ".", self.path(".jsonl"),
            self.place / ("n" * 300), "nul\0byte",
        ]  # fmt: skip
        name, words = self.any_of(self.right_commands().items())
        k = self.random.randrange(len(words) + 1)
        return [
            name,
            *words[:k],
            self.any_of(places),
            *words[k + 1 :],
            *self.any_of([[], ["--json"]]),
        ]

    def no_command(self):
        return self.any_of(
            [[self.any_of(STRANGE)], ["--nonsense"], ["info"], ["train", "-o"], [""]]
        )


def options_of(name):
    """Return the options of a command, read from its help."""
    if name not in OPTIONS:
        shown = subprocess.run(
            [sys.executable, "-m", "wordclass", name, "--help"], capture_output=True, text=True
        )
        OPTIONS[name] = set(re.findall(r"(--[a-z-]+|-[a-z])\b", shown.stdout))
    return OPTIONS[name]


OPTIONS = {}


# --- checks -----------------------------------------------------------------------------------


@pytest.fixture
def within_time():
    """Stop a case that would run forever."""

    def stop(_number, _frame):
        raise AssertionError(f"took longer than {MAX_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check_output(status, out, err):
    assert status in (0, 1, 2), (status, err)
    for output in (out, err):
        assert not CONTROL.search(output), repr(output)
        output.encode()  # fails for lone surrogates
        for line in output.split("\n"):
            assert len(line) <= 2000 or line.startswith("{"), line
    if status == 1:
        *_, before_last, last, _ = f"\n{err}".split("\n")
        is_command = last.startswith("wordclass ")  # a suggestion to paste
        assert (before_last if is_command else last).startswith("wordclass: "), err
        assert err.count("\nwordclass: ") + err.startswith("wordclass: ") == 1, err
    elif status == 2:
        assert "Error: " in err or err.startswith("Usage: "), err
    assert "Traceback" not in err


def check_written(status, place, before):
    """Check that failed work leaves only journals of trials, and that no file is unfinished."""
    new = {path for path in place.rglob("*") if path not in before}
    assert not [path for path in new if ".tmp" in path.name], new
    if status:
        assert not [path for path in new if "trials.jsonl" not in path.name], new
    for path, content in before.items():
        assert content is None or path.read_bytes() == content, path


@pytest.mark.parametrize(
    "number",
    [
        number if number % 10 == 0 else pytest.param(number, marks=pytest.mark.slow)
        for number in range(N_CASES)
    ],
)
@pytest.mark.usefixtures("within_time")
def test_an_invalid_input_is_reported_in_printable_lines(run, good, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", None)
    arguments = Maker(number, good, tmp_path).make()
    before = {
        path: path.read_bytes() if path.is_file() else None
        for folder in (tmp_path, good)
        for path in folder.rglob("*")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status, out, err = run(*arguments)
    check_output(status, out, err)
    check_written(status, tmp_path, before)


SHELL = [
    ("--help >/dev/full", 1), ("train --help >/dev/full", 1), ("info {good}/nearest >/dev/full", 1),
    ("info {good}/nearest >&-", 1), ("info nowhere 2>&-", 1),
    ("fit {good}/docs.csv -o out.wce 2>/dev/full", 0), ("--nonsense 2>/dev/full", 2),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status"), SHELL)
def test_closed_or_full_streams_cause_no_traceback(good, tmp_path, words, status):
    command = f"{sys.executable} -m wordclass {words.format(good=good)}"
    ended = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 1
