import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import _twenty_newsgroups as theirs

from wordclass.corpus.datasets import newsgroups20
from wordclass.corpus.datasets.newsgroups20 import strip_parts
from wordclass.corpus.reader import load_dataset, read_corpus
from wordclass.errors import FormatError, InputError
from wordclass.text.vectorizer import DocumentVectorizer

POST = (
    "From: {number}@x\nSubject: s\n\nIn article 1 he wrote:\n> why\ncaf\xe9 {number}\n\n-- \nme\n"
)


def post(number):
    return POST.format(number=number).encode("latin-1")


FILES = {
    f"20news-bydate-{part}/{group}/{number}": post(number)
    for part, start in (("train", 10), ("test", 20))
    for group in ("sci.space", "rec.autos")
    for number in range(start, start + 3)
}


@pytest.fixture
def home(tmp_path, write_tar):
    write_tar(tmp_path / "20news-bydate.tar.gz", FILES)
    return tmp_path


def test_posts_are_read_without_headers_footers_and_quotes(home):
    dataset = newsgroups20.load(home)
    assert sorted(dataset.train.texts) == sorted(["café 10\n", "café 11\n", "café 12\n"] * 2)
    assert dataset.classes == ["rec.autos", "sci.space"]
    assert not dataset.is_multilabel
    assert sorted(dataset.test.labels) == ["rec.autos"] * 3 + ["sci.space"] * 3


def test_what_to_strip_is_an_option(home):
    dataset = load_dataset("newsgroups20", home, strip=())
    assert set(dataset.train.texts) == {POST.format(number=number) for number in (10, 11, 12)}
    quotes = load_dataset("newsgroups20", home, strip="quotes")
    assert set(quotes.train.texts) == {text.replace("In article 1 he wrote:\n> why\n", "")
                                       for text in dataset.train.texts}  # fmt: skip


def test_an_unknown_thing_to_strip_is_refused(home):
    with pytest.raises(InputError, match="strip has 'feet'; expected any of headers, foo"):
        newsgroups20.load(home, strip=("headers", "feet"))


def test_the_order_is_shuffled_but_always_the_same(home, tmp_path, write_folder):
    first = newsgroups20.load(home)
    assert first.train.labels != sorted(first.train.labels)
    write_folder(tmp_path / "elsewhere", dict(reversed(FILES.items())))
    assert newsgroups20.load(tmp_path / "elsewhere") == first


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_missing_split_is_an_error(tmp_path, write_tar, part):
    files = {name: data for name, data in FILES.items() if part not in name}
    write_tar(tmp_path / "20news-bydate.tar.gz", files)
    with pytest.raises(FormatError, match=r"20news-bydate.tar.gz: there are no t\w+ documents"):
        newsgroups20.load(tmp_path)


ONCE = pytest.mark.xdist_group("newsgroups20")  # one process reads it once


@pytest.fixture(scope="module")
def real(shared_data):
    archive = shared_data("raw/20news-bydate.tar.gz")
    return newsgroups20.load(archive.parent)


@ONCE
def test_the_real_corpus_has_the_published_sizes(real, published_sizes):
    dataset = real
    sizes = published_sizes["newsgroups20"]
    assert len(dataset.train) == sizes["n_train"]
    assert len(dataset.test) == sizes["n_test"]
    assert len(dataset.classes) == sizes["n_classes"]


@ONCE
def test_the_real_corpus_equals_the_one_of_scikit_learn_in_its_order(real, shared_data):
    dataset = real
    for split, part in (("train", dataset.train), ("test", dataset.test)):
        assert part == read_corpus(shared_data("20ng_bydate_stripped.jsonl.zst"), split)


@ONCE
def test_the_real_corpus_has_the_published_vocabulary(real, published_sizes):
    dataset = real
    n_terms = len(DocumentVectorizer().fit(dataset.train.texts).get_feature_names_out())
    assert n_terms == published_sizes["newsgroups20"]["vocabulary"]


LINES = st.sampled_from(
    [
        "", " ", "--", " --- ", "-- me", "text", "From: me", "> quoted", "| quoted",
        " > not quoted",
        "In article <1>", "see In article", "Quoted from x", "he writes:", "she wrote: x", "said:",
        "it says", "writes in", "\t", "\r", "-", "a-b",
    ]
)  # fmt: skip
POSTS = st.lists(LINES, max_size=12).map("\n".join)


@given(POSTS)
def test_each_rule_is_that_of_scikit_learn(post):
    assert strip_parts(post, ["headers"]) == theirs.strip_newsgroup_header(post)
    assert strip_parts(post, ["footers"]) == theirs.strip_newsgroup_footer(post)
    assert strip_parts(post, ["quotes"]) == theirs.strip_newsgroup_quoting(post)


@given(POSTS)
def test_all_rules_together_are_those_of_scikit_learn_in_its_order(post):
    expected = theirs.strip_newsgroup_footer(theirs.strip_newsgroup_header(post))
    expected = theirs.strip_newsgroup_quoting(expected)
    assert strip_parts(post, ["quotes", "footers", "headers"]) == expected


@pytest.mark.parametrize("kinds", [(), ("quotes",), ("headers", "footers")])
def test_only_what_is_named_is_stripped(kinds):
    post = "From: me\n\n> why\nbecause\n\nme"
    remainder = strip_parts(post, kinds)
    assert ("From" in remainder) == ("headers" not in kinds)
    assert ("> why" in remainder) == ("quotes" not in kinds)
    assert remainder.endswith("\n\nme") == ("footers" not in kinds)


def test_a_post_may_be_empty():
    assert strip_parts("", ("headers", "footers", "quotes")) == ""
