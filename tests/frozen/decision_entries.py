"""Frozen decisions: prior shift, evaluation and commands."""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from frozen import corpora
from frozen.corpora import TEXTS
from frozen.entry import entry

import wordclass as wc


@entry
def prior_shift():
    results = {}
    for name, data in (("single", corpora.single_label()), ("multi", corpora.multilabel())):
        model = wc.classifier("nearest", min_docs=2, shrinkage=5.0).fit(*data)
        texts = [text for text in corpora.single_label(150, seed=11)[0] if "moon" not in text]
        shift = model.prior_shift(texts)
        labels = model.predict_adjusted(texts, shift)
        results |= {
            f"{name} shares": shift.shares,
            f"{name} interval": shift.interval(n_samples=20),
            f"{name} adjusted": shift.adjust(model.predict_proba(TEXTS)),
            f"{name} labels": labels if isinstance(labels, list) else labels.tolist(),
        }
    return results


@entry
def evaluation():
    results = {}
    for name, data in (("single", corpora.single_label()), ("multi", corpora.multilabel())):
        texts, labels = data
        model = wc.classifier("nearest", min_docs=2).fit(texts[:100], labels[:100])
        scores = wc.evaluate(labels[100:], model.predict(texts[100:]), classes=model.classes_)
        means = [scores.macro_f1, scores.macro_f1_with_positives, scores.micro_f1]
        results[name] = np.array([*means, scores.accuracy, *scores.f1])
    return results


@entry(needs=("typer",))
def commands():
    texts, labels = corpora.single_label(160)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            {"id": k, "text": text, "label": label, "split": "test" if k % 4 == 0 else "train"}
            for k, (text, label) in enumerate(zip(texts, labels, strict=True))
        ]
        data = folder / "docs.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        model = folder / "model"
        settings = ["characters=None", "C=1", "ngrams=1,1"]
        sets = [argument for setting in settings for argument in ("--set", setting)]
        run_command("fit", data, "--split", "train", "-o", folder / "news.wce", "--min-docs", 2)
        run_command("train", data, "-o", model, *sets)
        run_command("predict", model, data, "--split", "test", "-k", 2, "-o", folder / "out.jsonl")
        predicted = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        return {
            "words": run_command("words", folder / "news.wce", "space", "-n", 5, "--json"),
            "profile": run_command("profile", folder / "news.wce", "moon", "--json"),
            "evaluate": run_command("evaluate", model, data, "--json"),
            "explain": run_command("explain", model, TEXTS[0], "--json"),
            "shares": run_command("shares", model, data, "--split", "train", "--json"),
            "predict": predicted,
        }


def run_command(*arguments):
    """Run a command in this process and return the JSON object that it prints, if any."""
    from wordclass.cli import main

    printed = io.StringIO()
    messages = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["wordclass", *map(str, arguments)]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(messages),
    ):
        try:
            main.main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"{arguments[0]}: {messages.getvalue()}") from stop
    return json.loads(printed.getvalue()) if "--json" in arguments else None
