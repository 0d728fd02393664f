import gzip
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from wordclass.corpus.datasets import _docstring_prose, docstrings
from wordclass.corpus.datasets._source import Source
from wordclass.corpus.datasets.docstrings import Document
from wordclass.corpus.reader import read_corpus
from wordclass.errors import MissingDataError

THREE_DOCUMENTS = [
    Document("words of the first", "email", "train", "email.message:Message"),
    Document("words of the second", "xml", "train", "xml.dom:Node"),
    Document("wörter des dritten", "email", "test", "email.policy:Policy"),
]


@pytest.fixture(scope="session")
def corpus(data_home):
    return docstrings.load(data_home)


@pytest.fixture(scope="session")
def documents(corpus, data_home):
    return docstrings.read_cache(docstrings.cache_path(data_home))


@pytest.fixture
def builds(monkeypatch):
    """Replace the slow build by one of three documents, and return a list of its calls."""
    calls = []

    def build_three():
        calls.append(1)
        return THREE_DOCUMENTS

    monkeypatch.setattr(docstrings, "build", build_three)
    return calls


def test_there_are_enough_classes_and_documents(corpus):
    assert len(corpus.classes) >= 30
    assert len(corpus.train) + len(corpus.test) >= 4000


def test_every_class_is_in_both_parts(corpus):
    assert corpus.classes == list(docstrings.CLASSES)
    assert set(corpus.train.labels) == set(corpus.test.labels) == set(corpus.classes)
    assert min(Counter(corpus.train.labels).values()) >= 15


def test_about_a_quarter_is_the_test_part(corpus):
    assert 0.2 < len(corpus.test) / (len(corpus.train) + len(corpus.test)) < 0.3


def test_the_classes_are_pinned_and_sorted():
    assert list(docstrings.CLASSES) == sorted(set(docstrings.CLASSES))


def test_it_is_single_label_and_has_a_name(corpus):
    assert not corpus.is_multilabel
    assert corpus.name == "docstrings"
    assert all(isinstance(label, str) for label in corpus.train.labels)


def test_the_source_says_that_nothing_has_to_be_downloaded():
    assert isinstance(docstrings.SOURCE, Source)
    assert "installed packages" in docstrings.SOURCE.how_to_get


def test_no_word_of_a_class_name_is_in_any_text(documents):
    hidden = "|".join(sorted(_docstring_prose.words_of(docstrings.CLASSES)))
    pattern = re.compile(rf"\b(?:{hidden})\b", re.IGNORECASE)
    assert [document.owner for document in documents if pattern.search(document.text)] == []


def test_no_top_level_object_is_in_both_parts(documents):
    splits = defaultdict(set)
    for document in documents:
        splits[document.owner].add(document.split)
    assert all(len(parts) == 1 for parts in splits.values())
    assert any(count > 5 for count in Counter(doc.owner for doc in documents).values())


def test_every_text_has_enough_words_and_no_code_or_address(documents):
    assert min(len(document.text.split()) for document in documents) >= 12
    for sign in (">>>", "http://", "https://", ".. versionadded", ":class:`", "%("):
        assert [document.owner for document in documents if sign in document.text] == []


def test_documents_are_in_the_order_of_areas_and_modules(documents):
    places = [(document.label, document.owner.partition(":")[0]) for document in documents]
    assert places == sorted(places)


def test_the_split_of_an_object_never_changes():
    assert docstrings.split_of("email.message:Message") == "test"
    assert docstrings.split_of("scipy.stats._kde:gaussian_kde") == "train"


def test_the_task_is_neither_trivial_nor_hopeless(corpus):
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=5)
    X = vectorizer.fit_transform(corpus.train.texts)
    model = LinearSVC(random_state=0).fit(X, corpus.train.labels)
    predicted = model.predict(vectorizer.transform(corpus.test.texts))
    assert 0.70 < f1_score(corpus.test.labels, predicted, average="macro") < 0.92


def test_a_second_load_reads_the_cache(tmp_path, builds):
    first = docstrings.load(tmp_path / "new" / "home")
    assert docstrings.load(tmp_path / "new" / "home") == first
    assert len(builds) == 1
    assert first.train.texts == ["words of the first", "words of the second"]
    assert first.train.labels == first.classes == ["email", "xml"]
    assert first.test.texts == ["wörter des dritten"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"no gzip at all",
        lambda content: content[:30] + bytes([content[30] ^ 255]) + content[31:],
        lambda content: gzip.compress(b""),
        lambda content: gzip.compress(b'{"text": "no more than a text"}'),
        lambda content: gzip.compress(b"[1, 2]"),
        lambda content: gzip.compress(b"\xff{"),
    ],
)
def test_a_damaged_cache_is_built_again(tmp_path, builds, damage):
    corpus = docstrings.load(tmp_path)
    path = docstrings.cache_path(tmp_path)
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert docstrings.load(tmp_path) == corpus
    assert len(builds) == 2
    assert path.read_bytes() == content


def test_a_home_that_cannot_be_written_does_no_harm(tmp_path, builds):
    (tmp_path / "file").write_text("in the way")
    home = tmp_path / "file" / "home"
    assert docstrings.load(home) == docstrings.load(home)
    assert len(builds) == 2


def test_a_folder_in_place_of_the_cache_file_does_no_harm(tmp_path, builds):
    docstrings.cache_path(tmp_path).mkdir(parents=True)
    assert len(docstrings.load(tmp_path).train) == 2


def test_other_versions_have_another_cache(tmp_path, monkeypatch):
    before = docstrings.cache_path(tmp_path)
    monkeypatch.setattr(docstrings.importlib.metadata, "version", lambda name: "99")
    assert docstrings.cache_path(tmp_path) != before
    assert docstrings.cache_path(tmp_path).parent == before.parent == tmp_path / "docstrings"


def test_without_any_source_file_the_error_says_so(monkeypatch):
    monkeypatch.setattr(docstrings._docstring_prose, "read_all", lambda areas: [])
    with pytest.raises(MissingDataError, match="no source files"):
        docstrings.build()


@pytest.mark.slow
def test_the_cache_is_what_two_builds_give(documents, tmp_path):
    assert docstrings.build() == documents
    code = """if True:
        import sys
        from pathlib import Path
        from wordclass.corpus.datasets import docstrings
        docstrings.write_cache(Path(sys.argv[1]), docstrings.build())
    """
    path = tmp_path / "built.jsonl.gz"
    # sets of str have another order there
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=True)
    assert docstrings.read_cache(path) == documents


def test_read_corpus_understands_the_cache(tmp_path):
    docstrings.write_cache(docstrings.cache_path(tmp_path), THREE_DOCUMENTS)
    corpus = read_corpus(docstrings.cache_path(tmp_path), "train")
    assert corpus.labels == ["email", "xml"]


LONG = "one long text about the many words that two copies of it share and one that they do not"


def distinct_documents(texts, labels, limit):
    """Return the numbers of the distinct documents."""
    numbered = [
        Document(text, label, "train", str(k))
        for k, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    return [int(document.owner) for document in docstrings.distinct(numbered, limit)]


def test_the_first_of_near_duplicates_stays():
    texts = [LONG, "something else entirely", f"{LONG} indeed", LONG]
    assert distinct_documents(texts, ["a"] * 4, limit=0.9) == [0, 1]


def test_only_texts_of_one_class_are_compared():
    assert distinct_documents([LONG, LONG, LONG], ["a", "b", "a"], limit=0.9) == [0, 1]


def test_a_text_is_compared_with_distinct_documents_only():
    chain = ["a1 a2 a3 a4", "a2 a3 a4 a5", "a3 a4 a5 a6"]
    assert distinct_documents(chain, ["a"] * 3, limit=0.5) == [0, 2]


def test_the_order_stays_across_classes():
    texts = ["red apples", "blue skies", "green fields"]
    assert distinct_documents(texts, ["b", "a", "b"], limit=0.9) == [0, 1, 2]
