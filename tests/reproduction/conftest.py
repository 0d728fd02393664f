"""Fixtures: a data folder with a small corpus of each kind and small vectors, and an encoder."""

import json

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus, multilabel_corpus
from safetensors.numpy import save_file

import wordclass as wc


def write_corpus(path, texts, labels, test_from):
    with path.open("w", encoding="utf-8") as file:
        for k, (text, doc_labels) in enumerate(zip(texts, labels, strict=True)):
            doc_labels = [doc_labels] if isinstance(doc_labels, str) else doc_labels
            split = "test" if k >= test_from else "train"
            file.write(json.dumps({"text": text, "labels": doc_labels, "split": split}) + "\n")


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    write_corpus(folder / "tiny.jsonl", *corpus(90), 60)
    write_corpus(folder / "many.jsonl", *multilabel_corpus(90), 60)
    words = [word for class_words in WORDS.values() for word in class_words] + COMMON
    matrix = np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)
    wc.WordVectors.of(words, matrix).save(folder / "small.txt")
    monkeypatch.setenv("WORDCLASS_DATA", str(folder))
    return folder


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """Return the folder of an encoder that knows the words of the made-up classes."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path / "encoder"
    folder.mkdir()
    words = [word for class_words in WORDS.values() for word in class_words]
    model = tokenizers.models.WordLevel({"?": 0} | {w: k + 1 for k, w in enumerate(words)}, "?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    of_classes = np.repeat(np.eye(len(WORDS), dtype=np.float32), len(words) // len(WORDS), axis=0)
    table = np.vstack([np.zeros(len(WORDS), np.float32), of_classes])
    save_file({"embeddings": table}, folder / "model.safetensors")
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))
    return str(folder)
