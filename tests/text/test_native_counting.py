"""The native engine gives the same terms and counts as plain Python for every text."""

import itertools
import threading

import numpy as np
import pytest
from nasty_documents import documents, spliced_with_numbers
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import wordclass as wc
from wordclass.text import counting
from wordclass.text.analyzer import Analyzer, CharacterAnalyzer
from wordclass.text.counting import NativeCountedTexts, NativeTermCounter
from wordclass.text.vocabulary import Vocabulary

# tracing doubles the time of the slow loops, and other tests cover the same lines
pytestmark = pytest.mark.untraced

NGRAMS = [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]
UNUSUAL_STOP_WORDS = frozenset(
    {"", " ", "a", "aa", "aa bb", "AA", "numbermask", "ab\0", "ab", "ab\0cd", "\0", "\ud800"}
    | {"ς", "σσ", "i\u0307", "éé", "\U00010428\U00010428", "١", "x" * 10_000, "y" * 16, "z" * 17}
)
STOP_WORDS = [frozenset(), frozenset(ENGLISH_STOP_WORDS), UNUSUAL_STOP_WORDS]
OPTIONS = [
    Analyzer(mask_numbers, lowercase, ngrams=ngrams, stop_words=stop_words)
    for mask_numbers, lowercase, ngrams, stop_words in itertools.product(
        (True, False), (True, False), NGRAMS, STOP_WORDS
    )
]
CHARACTERS = [
    CharacterAnalyzer(ngrams, lowercase)
    for ngrams in [(2, 5), (1, 1), (1, 3), (4, 4), (2, 9), (5, 16), (16, 16), (1, 16)]
    for lowercase in (True, False)
]
N_DOCS_PER_OPTION = 20_000 // len(OPTIONS) + 1


def describe_words(analyze):
    return (
        f"{'masked' if analyze.mask_numbers else 'raw'}-{'lower' if analyze.lowercase else 'case'}"
        f"-{analyze.ngrams[0]}to{analyze.ngrams[1]}-{len(analyze.stop_words)}stops"
    )


def vocabulary_of(terms):
    ones = np.ones(len(terms), np.int64)
    return Vocabulary(list(terms), ones, ones, 1)


def assert_same_matrix(ours, expected):
    assert ours.shape == expected.shape
    assert ours.has_sorted_indices
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_array_equal(ours.data, expected.data)
    assert ours.data.dtype == expected.data.dtype


def assert_equal_vocabularies(counted, expected):
    vocabulary, _ = Vocabulary.of(counted, min_docs=2, max_df=0.9, max_terms=300)
    expected_vocabulary, _ = Vocabulary.of(expected, min_docs=2, max_df=0.9, max_terms=300)
    assert vocabulary.terms == expected_vocabulary.terms
    assert vocabulary.agrees_with(expected_vocabulary)


def assert_equal_counts(texts, analyze, n_jobs=(1,)):
    expected = counting.count_in_python(texts, analyze)
    for threads in n_jobs:
        counted = NativeCountedTexts(texts, analyze, threads)
        assert counted.n_docs == expected.n_docs
        terms, ids = counted.sorted_terms(counted.doc_freq > 0)
        assert terms == expected.terms
        assert_same_matrix(counted.occurrences_of(ids), expected.occurrences)
        np.testing.assert_array_equal(counted.doc_freq[ids], expected.doc_freq)
        np.testing.assert_array_equal(counted.term_freq[ids], expected.term_freq)
    return expected


def assert_equal_known_counts(texts, analyze, terms, n_jobs=(1,)):
    vocabulary = vocabulary_of(terms)
    expected = counting.count_known_in_python(texts, analyze, vocabulary.index)
    for threads in n_jobs:
        ours = counting.count_known(texts, analyze, vocabulary, threads)
        assert_same_matrix(ours, expected)


def assert_equal_columns(texts, analyze, terms, n_jobs=(1,)):
    vocabulary = vocabulary_of(terms)
    rows = [[vocabulary.index.get(token, -1) for token in analyze(text)] for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    for threads in n_jobs:
        columns, our_ends = counting.index_texts(texts, analyze, vocabulary, threads)
        np.testing.assert_array_equal(our_ends, ends)
        np.testing.assert_array_equal(columns, list(itertools.chain.from_iterable(rows)))
        assert columns.dtype == np.int32


# --- difficult documents, all options ----------------------------------------------------------


@pytest.mark.parametrize("analyze", OPTIONS, ids=describe_words)
def test_counts_equal_those_of_plain_python_for_all_options(analyze):
    seed = OPTIONS.index(analyze)
    texts = documents(N_DOCS_PER_OPTION, seed)
    counted = assert_equal_counts(texts, analyze, (None, 2, 5))
    known = [*counted.terms[::3], "", " ", "never seen", "aa  bb", " aa", "aa ", "ab\0", "\ud800"]
    known = sorted(set(known))
    texts = documents(N_DOCS_PER_OPTION // 2, seed + 1000) + texts[::2]
    assert_equal_known_counts(texts, analyze, known, (1, 2, 5))


@pytest.mark.parametrize("analyze", OPTIONS[::7], ids=describe_words)
def test_short_texts_and_a_large_vocabulary_give_the_counts_of_plain_python(analyze):
    texts = documents(40, seed=29)
    terms = {*counting.count_in_python(texts, analyze).terms, *(f"term{k}" for k in range(9_000))}
    for text in texts:
        assert_equal_known_counts([text, "", f"{text} {text}"], analyze, sorted(terms))


@pytest.mark.parametrize("stop_words", STOP_WORDS, ids=len)
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("mask_numbers", [True, False])
def test_every_token_has_the_column_of_its_term_or_none(mask_numbers, lowercase, stop_words):
    analyze = Analyzer(mask_numbers, lowercase, stop_words=stop_words)
    texts = documents(400, seed=7)
    terms = counting.count_in_python(texts[::2], analyze).terms[::2]
    unusual_terms = ["", "ab\0", "the", "zz top", "\udc80"]
    assert_equal_columns(texts, analyze, sorted({*terms, *unusual_terms}), (1, 2, 5))


@pytest.mark.parametrize("ngrams", NGRAMS[1:])
def test_texts_of_ngrams_have_no_ids(ngrams):
    with pytest.raises(wc.InputError, match="single words"):
        counting.index_texts(["aa bb"], Analyzer(ngrams=ngrams), vocabulary_of(["aa"]), 1)


@pytest.mark.parametrize("n_jobs", [None, 2, 5])
@pytest.mark.parametrize("analyze", OPTIONS[::5], ids=describe_words)
def test_texts_in_blocks_give_the_counts_of_plain_python(analyze, n_jobs):
    ours = NativeTermCounter(analyze, n_jobs)
    expected = counting.PythonTermCounter(analyze)
    texts = documents(400, seed=13)
    for start, end in itertools.pairwise([0, 1, 1, 3, 200, 201, 400]):
        ours.add(texts[start:end])
        expected.add(texts[start:end])
    assert_equal_vocabularies(ours.finish(), expected.finish())


@pytest.mark.parametrize("ngrams", NGRAMS)
@pytest.mark.parametrize("stop_words", [frozenset(), frozenset({"ab", "cd"})], ids=len)
def test_numbers_of_one_digit_fit_with_all_their_ngrams(ngrams, stop_words):
    analyze = Analyzer(ngrams=ngrams, stop_words=stop_words)
    # a number is a word of one character, so there are more terms per character than with words
    for text in spliced_with_numbers():
        counted = assert_equal_counts([text], analyze)
        assert_equal_known_counts([text], analyze, counted.terms)


@pytest.mark.slow
def test_a_million_documents_give_the_counts_of_plain_python():
    for batch in range(100):
        analyze = OPTIONS[batch * 7 % len(OPTIONS)]
        texts = documents(10_000, seed=100_000 + batch)
        counted = assert_equal_counts(texts, analyze, (1, 3))
        assert_equal_known_counts(texts[::10], analyze, counted.terms[::2])
        assert_equal_columns(texts[1::20], Analyzer(), counted.terms[::5])


# --- n-grams of characters ---------------------------------------------------------------------


def describe_characters(analyze):
    return f"{'lower' if analyze.lowercase else 'case'}-{analyze.ngrams[0]}to{analyze.ngrams[1]}"


@pytest.mark.parametrize("analyze", CHARACTERS, ids=describe_characters)
def test_character_ngrams_give_the_counts_of_plain_python(analyze):
    texts = documents(240, seed=CHARACTERS.index(analyze))
    counted = assert_equal_counts(texts, analyze, (None, 3))
    unusual_terms = ["", " ", "  ", "a b", "A ", " a", "never seen", "ab\0", "\ud800"]
    known = sorted({*counted.terms[::3], *unusual_terms})
    assert_equal_known_counts(texts[::2] + documents(80, seed=99), analyze, known, (1, 3))


@pytest.mark.parametrize(("lowercase", "widening"), [(True, ""), (False, "\U0010ffff")])
def test_white_space_and_lower_case_of_all_characters_are_those_of_python(lowercase, widening):
    all_characters = [chr(code) for code in range(0x110000)]
    texts = [
        "a".join(all_characters[k : k + 16]) + widening for k in range(0, len(all_characters), 16)
    ]
    assert_equal_counts(texts, CharacterAnalyzer((1, 1), lowercase))


@pytest.mark.parametrize("size", [*range(1, 41), *range(59, 70), 127, 128, 129, 1_000])
def test_character_ngrams_of_words_of_every_length_at_every_offset(size):
    for letter in "aZ~é中\U00010400":
        word = letter * (size - 1) + "x"
        texts = [word, f"{word} ", f"\t{word}", f"{' ' * (size % 9)}{word}{word[:-1]}", word * 2]
        for analyze in (CharacterAnalyzer(), CharacterAnalyzer((1, 16), lowercase=False)):
            assert_equal_counts([*texts, " ".join(texts)], analyze)


@pytest.mark.parametrize("analyze", CHARACTERS[::2], ids=describe_characters)
def test_words_of_one_character_fit_with_all_their_ngrams(analyze):
    # the largest number of n-grams per character, all of them distinct
    letters = [chr(0x4E00 + k) for k in range(301)]
    for n in (1, 2, 3, 8, 300, 301):
        for glue in ("", " ", "\0"):
            counted = assert_equal_counts([glue.join(letters[:n])], analyze)
            assert_equal_known_counts([glue.join(letters[:n])], analyze, counted.terms)


def test_more_words_than_the_engine_caches_are_counted():
    keys = np.random.default_rng(0).integers(0, 2**40, 8_000).tolist()
    words = [f"{key:040b}" for key in keys]
    texts = [" ".join(words[k : k + 500]) for k in (*range(0, len(words), 500), 0, 7_500)]
    analyze = CharacterAnalyzer((1, 16))
    assert len(words) * len(analyze(words[0])) > 2**22  # n-grams that the engine caches
    assert_equal_counts(texts, analyze)


@pytest.mark.parametrize("n_jobs", [None, 3])
@pytest.mark.parametrize("analyze", CHARACTERS[::3], ids=describe_characters)
def test_character_ngrams_of_texts_in_blocks_give_the_counts_of_plain_python(analyze, n_jobs):
    ours = NativeTermCounter(analyze, n_jobs)
    expected = counting.PythonTermCounter(analyze)
    texts = documents(120, seed=14)
    for start, end in itertools.pairwise([0, 1, 1, 3, 90, 120]):
        ours.add(texts[start:end])
        expected.add(texts[start:end])
    assert_equal_vocabularies(ours.finish(), expected.finish())


@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["a"], ["a\0", "\ud800", "bb a"]], ids=str)
def test_character_ngrams_of_few_texts(texts):
    for analyze in CHARACTERS[:4]:
        assert_equal_counts(texts, analyze, (1, 5))
        for terms in ([], [" a"], [" ", " a", "a "]):
            assert_equal_known_counts(texts, analyze, terms, (1, 5))


def test_character_ngrams_of_a_short_text_with_a_large_vocabulary():
    terms = sorted({*CharacterAnalyzer()("some Text here"), *(f"{k}" for k in range(20_000))})
    assert_equal_known_counts(["some text, 123 some", ""], CharacterAnalyzer(), terms)


def test_words_and_characters_share_a_vocabulary_without_mixing():
    vocabulary = vocabulary_of(["aa", "aa bb", "bb", "a b"])
    for analyze in (Analyzer(ngrams=(1, 2)), CharacterAnalyzer((1, 9)), Analyzer()):
        ours = counting.count_known(["aa bb a b"], analyze, vocabulary)
        expected = counting.count_known_in_python(["aa bb a b"], analyze, vocabulary.index)
        assert_same_matrix(ours, expected)


def test_texts_of_character_ngrams_have_no_ids():
    with pytest.raises(wc.InputError, match="analyzer='characters' does not cut texts into seq"):
        counting.index_texts(["aa bb"], CharacterAnalyzer(), vocabulary_of(["aa"]), 1)


def test_character_ngrams_of_4_gb_of_text_are_refused():
    text = "a " * 5_000_000
    with pytest.raises(wc.InputError, match="4 GB"):
        NativeCountedTexts([text] * 430, CharacterAnalyzer(), 1)


def test_character_ngrams_do_not_depend_on_the_number_of_threads():
    texts = documents(800, seed=12)
    single, *matrices = (
        wc.DocumentVectorizer(
            analyzer="characters", ngrams=(2, 5), n_jobs=n_jobs, min_docs=2
        ).fit_transform(texts)
        for n_jobs in (None, 2, 7)
    )
    for X in matrices:
        assert X.data.tobytes() == single.data.tobytes()
        np.testing.assert_array_equal(X.indices, single.indices)


# --- every character ---------------------------------------------------------------------------


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("width", ["own", "four bytes"])
def test_every_code_point_separates_words_and_is_lowercased_as_in_python(lowercase, width):
    # each code point stands between letters; a document has 16 of them
    analyze = Analyzer(lowercase=lowercase, mask_numbers=False)
    widening = "" if width == "own" else "\U0010ffff"
    glued = [f"a{char}b" for char in map(chr, range(0x110000))]
    texts = [" ".join(glued[k : k + 16]) + widening for k in range(0, len(glued), 16)]
    known = {token for text in texts[::3] for token in analyze(text)}
    assert_equal_columns(texts, analyze, sorted(known))
    assert_equal_counts(texts, analyze)


@pytest.mark.parametrize("char", ["\u0130", "\u03a3", "\ud800", "\U00010400", "\u0660", "\0"])
@pytest.mark.parametrize("frame", ["{}", "a{}", "{}b", "1{}", "{}1", "1.{}", "{}.1", "{0}{0}"])
def test_unusual_characters_next_to_letters_and_numbers(char, frame):
    texts = [frame.format(char), f"x {frame.format(char)} y", frame.format(char) * 9]
    for analyze in OPTIONS[:: len(STOP_WORDS)]:
        assert_equal_counts(texts, analyze)


@pytest.mark.parametrize("size", [*range(1, 41), 63, 64, 65, 127, 128, 129, 4095, 4096, 10_000])
def test_words_of_every_length_at_every_offset(size):
    words = [letter * size for letter in "aZé中\U00010400"]
    for word in words:
        texts = [word, f"{word} ", f" {word}", f"{'.' * (size % 9)}{word}", f"{word} {word[:-1]}"]
        texts += [f"1-{word}", f"1{word}", f"{word}1", f"{word}-1", f"{word} {word}x {word}"]
        assert_equal_counts(texts, Analyzer())
        assert_equal_counts(["".join(texts)], Analyzer(lowercase=False))


# --- small and large inputs --------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, 40, -1])
@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["a"], ["aa", "", "bb aa"]], ids=str)
def test_few_texts_and_more_threads_than_texts(texts, n_jobs):
    for analyze in (Analyzer(), Analyzer(ngrams=(1, 3), stop_words=frozenset({"aa"}))):
        assert_equal_counts(texts, analyze, (n_jobs,))
        for terms in ([], ["aa"], ["aa", "aa bb", "bb"]):
            assert_equal_known_counts(texts, analyze, terms, (n_jobs,))
        assert_equal_columns(texts, Analyzer(), ["aa"], (n_jobs,))


def test_far_more_threads_than_cores_are_accepted():
    assert_equal_counts(["aa bb", "cc"], Analyzer(), (100_000,))


def test_the_bits_do_not_depend_on_the_number_of_threads():
    texts = documents(3_000, seed=11)
    analyze = Analyzer(ngrams=(1, 2))
    single, *matrices = (
        wc.DocumentVectorizer(ngrams=analyze.ngrams, n_jobs=n_jobs, min_docs=2).fit_transform(texts)
        for n_jobs in (None, 2, 3, 7)
    )
    for X in matrices:
        assert X.data.tobytes() == single.data.tobytes()
        np.testing.assert_array_equal(X.indices, single.indices)
        np.testing.assert_array_equal(X.indptr, single.indptr)


def test_many_blocks_of_texts_with_rare_words_only():
    # rows are sorted one by one if a block has few values for many columns
    texts = [f"word{k} w{k % 17} word{k // 2} Éa{k % 5}" for k in range(9_000)]
    assert_equal_counts(texts, Analyzer(), (1, 4))
    terms = sorted({f"word{k}" for k in range(0, 200_000, 7)} | {"w3", "éa4"})
    assert_equal_known_counts(texts, Analyzer(), terms, (1, 4))


def test_a_word_that_occurs_a_hundred_thousand_times():
    assert_equal_counts(["aa " * 100_000, "Aa" + " aa" * 70_000 + " é"], Analyzer(ngrams=(1, 2)))


def test_selected_terms_are_sorted_by_code_point():
    texts = ["zz \U00010400a \uffdca \ud800 éa ab a_ a0 ab1 Ab"]
    analyze = Analyzer(lowercase=False, mask_numbers=False)
    counted = NativeCountedTexts(texts, analyze, 1)
    terms, _ = counted.sorted_terms(counted.doc_freq > 0)
    assert terms == sorted(analyze(texts[0]))


@pytest.mark.parametrize("analyze", [Analyzer(), CharacterAnalyzer()], ids=["words", "characters"])
def test_several_python_threads_count_at_the_same_time(analyze):
    shards = [documents(300, seed) for seed in range(8)]
    expected = [counting.count_in_python(shard, analyze) for shard in shards]
    results = [None] * len(shards)
    vocabulary = vocabulary_of(expected[0].terms)

    def work(k):
        counted = NativeCountedTexts(shards[k], analyze, 2)
        known = counting.count_known(shards[k], analyze, vocabulary, 2)
        terms, ids = counted.sorted_terms(counted.doc_freq > 0)
        results[k] = (terms, counted.occurrences_of(ids), known)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(shards))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for shard, result, counted in zip(shards, results, expected, strict=True):
        terms, occurrences, known = result
        assert terms == counted.terms
        assert_same_matrix(occurrences, counted.occurrences)
        expected_known = counting.count_known_in_python(shard, analyze, vocabulary.index)
        assert_same_matrix(known, expected_known)


# --- invalid inputs ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, b"bytes", 5, float("nan"), ["aa"]])
def test_the_error_of_a_value_that_is_not_a_text_names_its_position(value):
    texts = ["aa", value]
    vocabulary = vocabulary_of(["aa"])
    for attempt in (
        lambda: NativeTermCounter(Analyzer(), 1).add(texts),
        lambda: NativeCountedTexts(texts, Analyzer(), 1),
        lambda: counting.count_known(texts, Analyzer(), vocabulary, 1),
        lambda: counting.index_texts(texts, Analyzer(), vocabulary, 1),
    ):
        with pytest.raises(wc.InputError, match=f"text 1 is a {type(value).__name__}, not a str"):
            attempt()


@pytest.mark.parametrize("n_jobs", ["two", 1.5, 0, True])
def test_an_invalid_number_of_jobs_is_refused(n_jobs):
    with pytest.raises(wc.InputError):
        NativeCountedTexts(["aa"], Analyzer(), n_jobs)
    with pytest.raises(wc.InputError):
        NativeTermCounter(Analyzer(), n_jobs)


def test_8_gb_of_text_are_refused():
    text = "a " * 5_000_000
    with pytest.raises(wc.InputError, match="8 GB"):
        NativeCountedTexts([text] * 860, Analyzer(), 1)


def test_occurrences_are_handed_over_only_once():
    counted = NativeCountedTexts(["aa bb"], Analyzer(), 1)
    counted.occurrences_of(np.arange(2))
    with pytest.raises(wc.InputError, match="the counts were consumed by an earlier call"):
        counted.occurrences_of(np.arange(2))


@pytest.mark.parametrize("kind", [Analyzer, CharacterAnalyzer])
def test_a_subclass_of_an_analyzer_is_not_replaced_by_the_engine(kind):
    class Shouting(kind):
        def __call__(self, text):
            return text.upper().split()

    assert list(counting.count(["aa bb"], Shouting()).terms) == ["AA", "BB"]


def test_texts_may_be_of_a_subclass_of_str():
    class Text(str):
        __slots__ = ()

    assert_equal_counts([Text("aa Éé"), np.str_("bb 中文")], Analyzer())


# --- supported analyzers -----------------------------------------------------------------------


def test_the_engine_is_used_for_the_analyzers_that_it_supports():
    assert counting.has_native_support(Analyzer(ngrams=(1, 3)))
    assert not counting.has_native_support(Analyzer(ngrams=(1, 4)))
    assert not counting.has_native_support(Analyzer(token_pattern=r"\w+"))
    assert not counting.has_native_support(Analyzer(strip_accents="ascii"))
    assert not counting.has_native_support(str.split)
    assert counting.has_native_support(CharacterAnalyzer((1, 16)))
    assert not counting.has_native_support(CharacterAnalyzer((1, 17)))
    assert not counting.has_native_support(CharacterAnalyzer(strip_accents="ascii"))
    assert isinstance(counting.count(["aa"], Analyzer()), NativeCountedTexts)
    assert isinstance(counting.count(["aa"], str.split), counting.CountedTexts)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_of_several_sorting_blocks_are_sorted(n_jobs):
    words = [f"w{k}" for k in range(50)]
    texts = [" ".join(words[k % 7 : k % 50 + 1 : 1 + k % 3]) for k in range(9_001)]
    ours = wc.DocumentVectorizer(min_docs=2, n_jobs=n_jobs).fit_transform(texts)
    theirs = wc.DocumentVectorizer(min_docs=2, analyzer=lambda text: Analyzer()(text))
    assert ours.has_sorted_indices
    assert (ours != theirs.fit_transform(texts)).nnz == 0


@pytest.mark.slow
def test_entries_of_several_tables_are_counted():
    texts = [" ".join(f"w{k * j % 1_000_003}" for j in range(100_000)) for k in range(1, 120)]
    counted = NativeCountedTexts(texts, Analyzer(), 1)
    terms, positions = counted.sorted_terms(counted.doc_freq > 0)
    plain = counting.count_in_python(texts, Analyzer())
    assert terms == plain.terms
    assert (counted.occurrences_of(positions) != plain.occurrences).nnz == 0
