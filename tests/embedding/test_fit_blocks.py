"""Learning from texts that come block by block equals learning from all of them at once."""

import json
import subprocess
import sys

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.reader import CorpusReader
from wordclass.native import extension
from wordclass.text import counting


def in_blocks(texts, labels, size):
    return [
        (texts[start : start + size], labels[start : start + size])
        for start in range(0, len(texts), size)
    ]


def assert_same(one, other):
    assert (one.terms_, one.classes_) == (other.terms_, other.classes_)
    assert one.learned_.codeframe == other.learned_.codeframe
    np.testing.assert_allclose(one.vectors_, other.vectors_, atol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 60, 100])
@pytest.mark.parametrize("made", [corpus, multilabel_corpus])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngrams": (1, 2), "n_jobs": 2},
        {"correlation": "chi_square", "stop_words": "english"},
        {"analyzer": str.split, "shrinkage": 3.0},
        {"analyzer": "characters", "ngrams": (2, 3), "n_jobs": 2},
    ],
)
def test_blocks_equal_the_whole(size, made, options):
    texts, labels = made()
    whole = wc.WordClassEmbeddings(min_docs=2, **options).fit(texts, labels)
    blocks = in_blocks(texts, labels, size)
    assert_same(wc.WordClassEmbeddings(min_docs=2, **options).fit_blocks(blocks), whole)


def test_the_vocabulary_of_blocks_is_that_of_the_whole_with_all_bounds(monkeypatch):
    texts, _ = corpus()
    for engine in (extension.engine, None):
        monkeypatch.setattr(extension, "engine", engine)
        monkeypatch.setattr(extension, "_has_warned", True)
        for options in ({"min_docs": 3, "max_df": 0.5}, {"min_docs": 0.1, "max_terms": 7}):
            whole = wc.DocumentVectorizer(**options).fit(texts)
            parts = wc.DocumentVectorizer(**options).fit_blocks([texts[:25], texts[25:]])
            assert parts.vocabulary_.agrees_with(whole.vocabulary_)


def test_a_counter_that_is_finished_takes_no_more():
    counter = counting.term_counter(wc.DocumentVectorizer().build_analyzer(), None)
    counter.add(["aa bb"])
    counter.finish()
    with pytest.raises(wc.InputError, match="finished"):
        counter.add(["cc"])


@pytest.mark.parametrize(
    ("blocks", "options", "message"),
    [
        (iter([(["aa"], ["x"])]), {}, "only once"),
        ([(["aa"], ["x"])], {"keep_documents": True}, "needs all texts in memory"),
        ([], {}, "the corpus is empty"),
        ([(["aa aa"], ["x"]), (["aa"], ["x"])], {}, "only one class"),
        ([(["aa"], ["x"]), (["aa"], [5])], {}, "mix str and int"),
        ([(["aa"], ["x"]), (["aa", "bb"], ["y"])], {}, "2 texts but 1 labels"),
    ],
)
def test_blocks_that_cannot_be_used_are_refused(blocks, options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.WordClassEmbeddings(min_docs=1, **options).fit_blocks(blocks)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "docs.jsonl"
    texts, labels = corpus(90)
    rows = zip(texts, labels, ["train"] * 60 + ["test"] * 30, strict=True)
    path.write_text(
        "".join(json.dumps({"text": t, "label": c, "split": s}) + "\n" for t, c, s in rows)
    )
    return path


def test_the_blocks_of_a_file_are_its_corpus(written):
    blocks = CorpusReader(written, default_split="train")
    texts = [text for part, _ in blocks for text in part]
    assert texts == wc.read_corpus(written, split="train").texts
    assert (blocks.n_docs, blocks.is_multilabel) == (60, False)
    everything = CorpusReader(written)
    assert sum(len(part) for part, _ in everything) == 90
    with pytest.raises(
        wc.InputError, match="no record is in split 'dev'; expected one of 'test', 'tr"
    ):
        list(CorpusReader(written, split="dev"))


def test_a_decision_on_the_kind_of_labels_is_kept(written):
    blocks = CorpusReader(written, multilabel=True)
    wce = wc.WordClassEmbeddings().fit_blocks(blocks)
    assert wce.learned_.codeframe.kind == "multilabel"
    wce = wc.WordClassEmbeddings().fit_blocks(CorpusReader(written))
    assert wce.learned_.codeframe.kind == "single"


def test_a_large_file_is_fitted_block_by_block_with_the_same_result(
    written, tmp_path, monkeypatch, capsys
):
    from wordclass.cli import corpora, main

    for limit, name in ((0, "streamed"), (1 << 30, "whole")):
        monkeypatch.setattr(corpora, "_MAX_BYTES_IN_MEMORY", limit)
        monkeypatch.setattr(
            sys, "argv", ["wordclass", "fit", str(written), "-o", str(tmp_path / f"{name}.wce")]
        )
        with pytest.raises(SystemExit):
            main.main()
        assert "from 60 documents (single-label, 3 classes)" in capsys.readouterr().err
    streamed, whole = (
        wc.WordClassEmbeddings.load(tmp_path / f"{name}.wce") for name in ("streamed", "whole")
    )
    assert_same(streamed, whole)


MEMORY = """
import resource, sys
import wordclass as wc
from wordclass.corpus.reader import CorpusReader
from pathlib import Path
wce = wc.WordClassEmbeddings()
wce.fit_blocks([(["aa bb"] * 9, ["x"] * 5 + ["y"] * 4)])  # everything is imported by now
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wce.fit_blocks(CorpusReader(Path(sys.argv[1])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_memory_of_a_streamed_fit_does_not_grow_with_the_documents(tmp_path):
    texts, labels = corpus(200)
    grown = []
    for copies in (10, 40):
        path = tmp_path / f"{copies}.jsonl"
        with path.open("w") as file:
            for _ in range(copies):
                for text, label in zip(texts, labels, strict=True):
                    file.write(json.dumps({"text": text * 60, "label": label}) + "\n")
        shown = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True
        )
        grown.append(int(shown.stdout) / 1024)
    # the files hold some 10 and 40 MB: all in memory would be 30 MB more
    assert grown[1] < grown[0] + 15


def test_a_file_that_changes_between_the_passes_is_refused(written):
    blocks = CorpusReader(written)
    list(blocks)
    written.write_text(written.read_text() + written.read_text())
    with pytest.raises(wc.StorageError, match="changed while it was read"):
        list(blocks)


def test_a_file_that_changes_while_it_is_read_is_refused(written):
    iterator = iter(CorpusReader(written))
    next(iterator)
    written.write_text(written.read_text() * 2)
    with pytest.raises(wc.StorageError, match="changed while it was read"):
        list(iterator)
