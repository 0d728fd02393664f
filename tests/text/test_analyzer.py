import pickle
import re

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from nasty_documents import documents
from sklearn.feature_extraction.text import CountVectorizer

import wordclass as wc
from wordclass.text.analyzer import Analyzer, CharacterAnalyzer

TEXTS = st.text(alphabet=st.sampled_from("aAbé1 2.,-_'İΣς\n\u2028٣ﬀ\ud800ß")) | st.text()


def make_analyzer(**options):
    return wc.DocumentVectorizer(**options).build_analyzer()


@given(text=TEXTS)
def test_tokens_are_those_of_the_definition(text):
    assert Analyzer()(text) == reference.tokens(text)


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)])
@pytest.mark.parametrize("stop_words", [None, "english", ["aa", "b1"]])
@given(text=TEXTS)
def test_without_masking_it_is_the_analyzer_of_scikit_learn(ngrams, stop_words, text):
    theirs = CountVectorizer(ngram_range=ngrams, stop_words=stop_words).build_analyzer()
    ours = make_analyzer(ngrams=ngrams, stop_words=stop_words, mask_numbers=False)
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("form", ["unicode", "ascii"])
@given(text=TEXTS)
def test_accents_are_stripped_as_in_scikit_learn(form, text):
    theirs = CountVectorizer(strip_accents=form).build_analyzer()
    assert make_analyzer(strip_accents=form, mask_numbers=False)(text) == theirs(text)


def test_a_custom_token_pattern_and_case_are_respected():
    analyze = make_analyzer(token_pattern=r"#(\w+)", mask_numbers=False)
    assert analyze("#Big #deal now") == ["big", "deal"]
    assert Analyzer(lowercase=False)("Big deal") == ["Big", "deal"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("1,000.50 dollars", ["numbermask", "dollars"]),
        ("in 1999-2001", ["in", "numbermask"]),
        ("v2 and 2x", ["v2", "and", "2x"]),
        ("7-year itch", ["numbermaskyear", "itch"]),
        ("I a", []),
        ("", []),
    ],
)
def test_numbers_become_one_word(text, tokens):
    assert Analyzer()(text) == tokens


def test_lone_surrogates_separate_tokens():
    assert Analyzer()("ab\ud800cd") == ["ab", "cd"]


def test_a_user_defined_analyzer_is_returned_unchanged():
    assert make_analyzer(analyzer=str.split) is str.split


def test_an_analyzer_can_be_pickled_after_use():
    analyzer = Analyzer(ngrams=(1, 2))
    analyzer("warm up")
    assert pickle.loads(pickle.dumps(analyzer))("a text here") == analyzer("a text here")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ngrams": (2, 1)}, "ngrams is (2, 1)"),
        ({"ngrams": (0, 1)}, "ngrams is (0, 1)"),
        ({"ngrams": (1, 10**9)}, "ngrams is (1, 1000000000)"),
        ({"ngrams": 3}, "ngrams is 3"),
        ({"ngrams": "ab"}, "ngrams is 'ab'"),
        ({"stop_words": "french"}, "stop_words is 'french'"),
        ({"stop_words": 5}, "stop_words is 5; expected 'english', a collection of words, or None"),
        ({"stop_words": [["a"]]}, "stop_words contains ['a']"),
        ({"stop_words": [1]}, "stop_words contains 1"),
        ({"strip_accents": "yes"}, "strip_accents is 'yes'"),
        ({"token_pattern": "("}, "is not a valid regular expression"),
        ({"token_pattern": "(a)(b)"}, "more than one capturing group"),
        ({"analyzer": "word"}, "analyzer is 'word'; expected 'characters', a function from a text"),
        ({"analyzer": 5}, "analyzer is 5; expected 'characters', a function from a text"),
        ({"analyzer": ["characters"]}, "analyzer is ['characters']; expected 'characters'"),
        ({"analyzer": "characters", "stop_words": ["a"]}, "do not apply to analyzer='characters'"),
        ({"analyzer": "characters", "ngrams": (2, 1001)}, "ngrams is (2, 1001)"),
        ({"analyzer": "characters", "strip_accents": "yes"}, "strip_accents is 'yes'"),
        ({"analyzer": str.split, "ngrams": (1, 2)}, "do not apply"),
        ({"analyzer": str.split, "stop_words": ["a"]}, "do not apply"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(wc.InputError, match=re.escape(message)):
        make_analyzer(**options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": False, "mask_numbers": False},
        {"strip_accents": "unicode", "ngrams": (1, 3)},
        {"strip_accents": "ascii", "ngrams": (2, 2)},
        {"token_pattern": r"(\w)\w*", "stop_words": frozenset({"a", "t"})},
        {"token_pattern": r"\w(x)?"},
    ],
)
def test_terms_of_tokens_with_spans_are_the_terms_of_the_text(options):
    analyzer = Analyzer(**options)
    for text in documents(300, seed=3):
        tokens = analyzer.tokens(text)
        terms = [term for term, _ in analyzer.terms([token.token for token in tokens])]
        assert terms == list(analyzer(text))
        assert all(0 <= token.start <= token.end <= len(text) for token in tokens)


def test_the_span_of_a_token_refers_to_the_raw_text():
    text = "İstanbul: 12,5 kg Ärger, ﬁne"
    tokens = Analyzer(strip_accents="unicode").tokens(text)
    assert [(token.token, text[token.start : token.end]) for token in tokens] == [
        ("istanbul", "İstanbul"), ("numbermask", "12,5"), ("kg", "kg"), ("arger", "Ärger"),
        ("fine", "ﬁne"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["mask_numbers", "lowercase"])
def test_a_flag_that_is_not_boolean_is_refused(name):
    with pytest.raises(wc.InputError, match=f"{name} is 'maybe'; expected True or False"):
        make_analyzer(**{name: "maybe"})


# --- n-grams of characters ---------------------------------------------------------------------

CHARACTER_NGRAMS = [(2, 5), (1, 1), (1, 3), (3, 3), (4, 20), (1000, 1000)]
EXTRA_SPACES = re.compile("[\0\ud800-\udfff]")  # white space here, but not in scikit-learn


def ngrams_of_scikit_learn(text, **options):
    analyze = CountVectorizer(analyzer="char_wb", **options).build_analyzer()
    return analyze(EXTRA_SPACES.sub(" ", text))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("ngrams", CHARACTER_NGRAMS)
@given(text=TEXTS)
def test_character_ngrams_equal_those_of_scikit_learn(ngrams, lowercase, text):
    ours = make_analyzer(analyzer="characters", ngrams=ngrams, lowercase=lowercase)
    assert ours == CharacterAnalyzer(ngrams, lowercase)
    assert ours(text) == ngrams_of_scikit_learn(text, ngram_range=ngrams, lowercase=lowercase)


@pytest.mark.parametrize("form", ["unicode", "ascii"])
@given(text=TEXTS.map(lambda text: EXTRA_SPACES.sub(" ", text)))
def test_character_ngrams_without_accents_equal_those_of_scikit_learn(form, text):
    ours = make_analyzer(analyzer="characters", ngrams=(2, 4), strip_accents=form)
    assert ours(text) == ngrams_of_scikit_learn(text, ngram_range=(2, 4), strip_accents=form)


def test_character_ngrams_include_numbers_and_stop_words():
    ours = make_analyzer(analyzer="characters", ngrams=(9, 9), mask_numbers=True)
    assert ours("the 12.5") == [" the ", " 12.5 "]
    assert "stop_words" not in ours.__dataclass_fields__


def test_nul_and_lone_surrogates_separate_words_of_character_ngrams():
    assert CharacterAnalyzer((3, 3))("a\0b\ud800c\x1fd") == [" a ", " b ", " c ", " d "]


def test_a_character_analyzer_can_be_hashed_and_pickled():
    analyzer = CharacterAnalyzer((1, 2))
    assert pickle.loads(pickle.dumps(analyzer)) == analyzer
    assert len({analyzer, CharacterAnalyzer((1, 2)), CharacterAnalyzer((1, 3)), Analyzer()}) == 3


def slow_spans(text, shortest, longest, fold):
    """Yield every n-gram with the start and end of its raw characters, by definition."""
    words = []
    word = []
    for k, char in enumerate(text):
        for folded in fold(char):
            if folded.isspace() or EXTRA_SPACES.match(folded):
                words.append(word)
                word = []
            else:
                word.append((folded, k))
    words.append(word)
    for word in words:
        padded = [(" ", None), *word, (" ", None)]
        for size in range(shortest, longest + 1) if word else ():
            for first in range(max(1, len(padded) - size + 1)):
                window = padded[first : first + size]
                inside = [k for _, k in window if k is not None] or [k for _, k in word]
                yield "".join(char for char, _ in window), inside[0], inside[-1] + 1
            if size >= len(padded):
                break


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("form", [None, "unicode", "ascii"])
@pytest.mark.parametrize("ngrams", CHARACTER_NGRAMS)
def test_every_character_ngram_has_the_span_of_its_raw_characters(ngrams, form):
    analyzer = CharacterAnalyzer(ngrams, strip_accents=form)
    fold = CountVectorizer(strip_accents=form, token_pattern=r"(?s).+").build_preprocessor()
    for text in documents(200, seed=4):
        spans = [*analyzer.spans(text)]
        assert [term for term, _, _ in spans] == analyzer(text)
        # the definition folds single characters, so it does not know a final sigma
        without_final_sigma = [(term.replace("ς", "σ"), start, end) for term, start, end in spans]
        expected = slow_spans(text.replace("ς", "σ"), *ngrams, fold)
        assert without_final_sigma == [*expected]


def test_padding_does_not_count_as_text():
    text = "\tİx  é "
    pieces = [(term, text[start:end]) for term, start, end in CharacterAnalyzer((1, 2)).spans(text)]
    assert pieces == [
        (" ", "İx"), ("i", "İ"), ("\u0307", "İ"), ("x", "x"), (" ", "İx"),
        (" i", "İ"), ("i\u0307", "İ"), ("\u0307x", "İx"), ("x ", "x"),
        (" ", "é"), ("é", "é"), (" ", "é"), (" é", "é"), ("é ", "é"),
    ]  # fmt: skip
