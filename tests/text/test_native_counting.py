"""The engine against plain Python: no difference in terms or counts, whatever the text is."""

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

# with every line traced the slow loops take twice as long; other tests go through the same lines
pytestmark = pytest.mark.untraced

NGRAMS = [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]
ODD_STOP_WORDS = frozenset(
    {"", " ", "a", "aa", "aa bb", "AA", "numbermask", "ab\0", "ab", "ab\0cd", "\0", "\ud800"}
    | {"ς", "σσ", "i\u0307", "éé", "\U00010428\U00010428", "١", "x" * 10_000, "y" * 16, "z" * 17}
)
STOP_WORDS = [frozenset(), frozenset(ENGLISH_STOP_WORDS), ODD_STOP_WORDS]
OPTIONS = [
    Analyzer(masks, lower, ngrams=ngrams, stop_words=stop_words)
    for masks, lower, ngrams, stop_words in itertools.product(
        (True, False), (True, False), NGRAMS, STOP_WORDS
    )
]
CHARACTERS = [
    CharacterAnalyzer(ngrams, lower)
    for ngrams in [(2, 5), (1, 1), (1, 3), (4, 4), (2, 9), (5, 16), (16, 16), (1, 16)]
    for lower in (True, False)
]
EACH = 20_000 // len(OPTIONS) + 1  # documents, so that all options together have 20,000


def options_of(analyze):
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


def assert_counted_alike(texts, analyze, n_jobs=(1,)):
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


def assert_known_alike(texts, analyze, terms, n_jobs=(1,)):
    vocabulary = vocabulary_of(terms)
    expected = counting.count_known_in_python(texts, analyze, vocabulary.index)
    for threads in n_jobs:
        ours = counting.count_known(texts, analyze, vocabulary, threads)
        assert_same_matrix(ours, expected)


def assert_indexed_alike(texts, analyze, terms, n_jobs=(1,)):
    vocabulary = vocabulary_of(terms)
    rows = [[vocabulary.index.get(token, -1) for token in analyze(text)] for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    for threads in n_jobs:
        columns, our_ends = counting.index_texts(texts, analyze, vocabulary, threads)
        np.testing.assert_array_equal(our_ends, ends)
        np.testing.assert_array_equal(columns, list(itertools.chain.from_iterable(rows)))
        assert columns.dtype == np.int32


# --- nasty documents, all options --------------------------------------------------------------


@pytest.mark.parametrize("analyze", OPTIONS, ids=options_of)
def test_every_option_counts_as_plain_python_does(analyze):
    seed = OPTIONS.index(analyze)
    texts = documents(EACH, seed)
    counted = assert_counted_alike(texts, analyze, (None, 2, 5))
    known = [*counted.terms[::3], "", " ", "never seen", "aa  bb", " aa", "aa ", "ab\0", "\ud800"]
    known = sorted(set(known))
    assert_known_alike(documents(EACH // 2, seed + 1000) + texts[::2], analyze, known, (1, 2, 5))


@pytest.mark.parametrize("analyze", OPTIONS[::7], ids=options_of)
def test_short_texts_are_counted_by_a_large_vocabulary_as_plain_python_does(analyze):
    texts = documents(40, seed=29)
    terms = {*counting.count_in_python(texts, analyze).terms, *(f"term{k}" for k in range(9_000))}
    for text in texts:
        assert_known_alike([text, "", f"{text} {text}"], analyze, sorted(terms))


@pytest.mark.parametrize("stop_words", STOP_WORDS, ids=len)
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("masks", [True, False])
def test_every_token_has_the_column_of_its_term_or_none(masks, lowercase, stop_words):
    analyze = Analyzer(masks, lowercase, stop_words=stop_words)
    texts = documents(400, seed=7)
    terms = counting.count_in_python(texts[::2], analyze).terms[::2]
    odd = ["", "ab\0", "the", "zz top", "\udc80"]
    assert_indexed_alike(texts, analyze, sorted({*terms, *odd}), (1, 2, 5))


@pytest.mark.parametrize("ngrams", NGRAMS[1:])
def test_ngrams_have_no_order_so_they_have_no_ids(ngrams):
    with pytest.raises(wc.InputError, match="single words"):
        counting.index_texts(["aa bb"], Analyzer(ngrams=ngrams), vocabulary_of(["aa"]), 1)


@pytest.mark.parametrize("n_jobs", [None, 2, 5])
@pytest.mark.parametrize("analyze", OPTIONS[::5], ids=options_of)
def test_terms_that_come_block_by_block_are_counted_as_plain_python_does(analyze, n_jobs):
    ours, expected = NativeTermCounter(analyze, n_jobs), counting.PythonTermCounter(analyze)
    texts = documents(400, seed=13)
    for start, end in itertools.pairwise([0, 1, 1, 3, 200, 201, 400]):
        ours.add(texts[start:end])
        expected.add(texts[start:end])
    one, other = (Vocabulary.of(each.finished(), 2, 0.9, 300)[0] for each in (ours, expected))
    assert one.terms == other.terms
    assert one.agrees_with(other)


@pytest.mark.parametrize("ngrams", NGRAMS)
@pytest.mark.parametrize("stop_words", [frozenset(), frozenset({"ab", "cd"})], ids=len)
def test_numbers_of_one_digit_leave_room_for_all_their_ngrams(ngrams, stop_words):
    analyze = Analyzer(ngrams=ngrams, stop_words=stop_words)
    # a number is a word of one character: more terms a character than words have
    for text in spliced_with_numbers():
        counted = assert_counted_alike([text], analyze)
        assert_known_alike([text], analyze, counted.terms)


@pytest.mark.slow
def test_a_million_documents_count_as_plain_python_does():
    for batch in range(100):
        analyze = OPTIONS[batch * 7 % len(OPTIONS)]
        texts = documents(10_000, seed=100_000 + batch)
        counted = assert_counted_alike(texts, analyze, (1, 3))
        assert_known_alike(texts[::10], analyze, counted.terms[::2])
        assert_indexed_alike(texts[1::20], Analyzer(), counted.terms[::5])


# --- n-grams of characters ---------------------------------------------------------------------


def of_characters(analyze):
    return f"{'lower' if analyze.lowercase else 'case'}-{analyze.ngrams[0]}to{analyze.ngrams[1]}"


@pytest.mark.parametrize("analyze", CHARACTERS, ids=of_characters)
def test_characters_are_counted_as_plain_python_does(analyze):
    texts = documents(240, seed=CHARACTERS.index(analyze))
    counted = assert_counted_alike(texts, analyze, (None, 3))
    odd = ["", " ", "  ", "a b", "A ", " a", "never seen", "ab\0", "\ud800"]
    known = sorted({*counted.terms[::3], *odd})
    assert_known_alike(texts[::2] + documents(80, seed=99), analyze, known, (1, 3))


@pytest.mark.parametrize(("lowercase", "more"), [(True, ""), (False, "\U0010ffff")])
def test_every_code_point_is_white_space_or_not_and_lowercased_as_python_does(lowercase, more):
    every = [chr(code) for code in range(0x110000)]
    texts = ["a".join(every[k : k + 16]) + more for k in range(0, len(every), 16)]
    assert_counted_alike(texts, CharacterAnalyzer((1, 1), lowercase))


@pytest.mark.parametrize("size", [*range(1, 41), *range(59, 70), 127, 128, 129, 1_000])
def test_characters_of_words_of_every_length_at_every_place(size):
    for letter in "aZ~é中\U00010400":
        word = letter * (size - 1) + "x"
        texts = [word, f"{word} ", f"\t{word}", f"{' ' * (size % 9)}{word}{word[:-1]}", word * 2]
        for analyze in (CharacterAnalyzer(), CharacterAnalyzer((1, 16), lowercase=False)):
            assert_counted_alike([*texts, " ".join(texts)], analyze)


@pytest.mark.parametrize("analyze", CHARACTERS[::2], ids=of_characters)
def test_words_of_one_character_leave_room_for_all_their_ngrams(analyze):
    # the most n-grams a character, all of them distinct
    letters = [chr(0x4E00 + k) for k in range(301)]
    for n in (1, 2, 3, 8, 300, 301):
        for glue in ("", " ", "\0"):
            counted = assert_counted_alike([glue.join(letters[:n])], analyze)
            assert_known_alike([glue.join(letters[:n])], analyze, counted.terms)


def test_more_words_than_are_remembered_are_counted_all_the_same():
    keys = np.random.default_rng(0).integers(0, 2**40, 8_000).tolist()
    words = [f"{key:040b}" for key in keys]
    texts = [" ".join(words[k : k + 500]) for k in (*range(0, len(words), 500), 0, 7_500)]
    analyze = CharacterAnalyzer((1, 16))
    assert len(words) * len(analyze(words[0])) > 2**22  # n-grams that the engine remembers
    assert_counted_alike(texts, analyze)


@pytest.mark.parametrize("n_jobs", [None, 3])
@pytest.mark.parametrize("analyze", CHARACTERS[::3], ids=of_characters)
def test_characters_that_come_block_by_block_are_counted_as_plain_python_does(analyze, n_jobs):
    ours, expected = NativeTermCounter(analyze, n_jobs), counting.PythonTermCounter(analyze)
    texts = documents(120, seed=14)
    for start, end in itertools.pairwise([0, 1, 1, 3, 90, 120]):
        ours.add(texts[start:end])
        expected.add(texts[start:end])
    one, other = (Vocabulary.of(each.finished(), 2, 0.9, 300)[0] for each in (ours, expected))
    assert one.terms == other.terms
    assert one.agrees_with(other)


@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["a"], ["a\0", "\ud800", "bb a"]], ids=str)
def test_few_texts_of_characters(texts):
    for analyze in CHARACTERS[:4]:
        assert_counted_alike(texts, analyze, (1, 5))
        for terms in ([], [" a"], [" ", " a", "a "]):
            assert_known_alike(texts, analyze, terms, (1, 5))


def test_a_short_text_is_counted_by_a_large_vocabulary_of_characters():
    terms = sorted({*CharacterAnalyzer()("some Text here"), *(f"{k}" for k in range(20_000))})
    assert_known_alike(["some text, 123 some", ""], CharacterAnalyzer(), terms)


def test_words_and_characters_of_one_vocabulary_do_not_mix():
    vocabulary = vocabulary_of(["aa", "aa bb", "bb", "a b"])
    for analyze in (Analyzer(ngrams=(1, 2)), CharacterAnalyzer((1, 9)), Analyzer()):
        ours = counting.count_known(["aa bb a b"], analyze, vocabulary)
        expected = counting.count_known_in_python(["aa bb a b"], analyze, vocabulary.index)
        assert_same_matrix(ours, expected)


def test_characters_have_no_ids():
    with pytest.raises(wc.InputError, match="sequences of words, which analyzer='characters'"):
        counting.index_texts(["aa bb"], CharacterAnalyzer(), vocabulary_of(["aa"]), 1)


def test_half_as_much_text_can_be_cut_into_characters_at_once():
    text = "a " * 5_000_000
    with pytest.raises(wc.InputError, match="4 GB"):
        NativeCountedTexts([text] * 430, CharacterAnalyzer(), 1)


def test_characters_do_not_depend_on_the_number_of_threads():
    texts = documents(800, seed=12)
    X, *others = (
        wc.DocumentVectorizer(
            analyzer="characters", ngrams=(2, 5), n_jobs=n_jobs, min_docs=2
        ).fit_transform(texts)
        for n_jobs in (None, 2, 7)
    )
    for other in others:
        assert X.data.tobytes() == other.data.tobytes()
        np.testing.assert_array_equal(X.indices, other.indices)


# --- every character ---------------------------------------------------------------------------


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("width", ["own", "four bytes"])
def test_every_code_point_is_a_word_character_or_not_and_lowercased_as_python_does(
    lowercase, width
):
    """Each between letters, so that it splits a word or not: a document for each 16 of them."""
    analyze = Analyzer(lowercase=lowercase, mask_numbers=False)
    more = "" if width == "own" else "\U0010ffff"
    glued = [f"a{char}b" for char in map(chr, range(0x110000))]
    texts = [" ".join(glued[k : k + 16]) + more for k in range(0, len(glued), 16)]
    known = {token for text in texts[::3] for token in analyze(text)}
    assert_indexed_alike(texts, analyze, sorted(known))
    assert_counted_alike(texts, analyze)


@pytest.mark.parametrize("char", ["\u0130", "\u03a3", "\ud800", "\U00010400", "\u0660", "\0"])
@pytest.mark.parametrize("frame", ["{}", "a{}", "{}b", "1{}", "{}1", "1.{}", "{}.1", "{0}{0}"])
def test_an_odd_character_beside_letters_and_numbers(char, frame):
    texts = [frame.format(char), f"x {frame.format(char)} y", frame.format(char) * 9]
    for analyze in OPTIONS[:: len(STOP_WORDS)]:
        assert_counted_alike(texts, analyze)


@pytest.mark.parametrize("size", [*range(1, 41), 63, 64, 65, 127, 128, 129, 4095, 4096, 10_000])
def test_words_of_every_length_at_every_place(size):
    words = [letter * size for letter in "aZé中\U00010400"]
    for word in words:
        texts = [word, f"{word} ", f" {word}", f"{'.' * (size % 9)}{word}", f"{word} {word[:-1]}"]
        texts += [f"1-{word}", f"1{word}", f"{word}1", f"{word}-1", f"{word} {word}x {word}"]
        assert_counted_alike(texts, Analyzer())
        assert_counted_alike(["".join(texts)], Analyzer(lowercase=False))


# --- few, none, many ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, 40, -1])
@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["a"], ["aa", "", "bb aa"]], ids=str)
def test_few_texts_and_more_threads_than_texts(texts, n_jobs):
    for analyze in (Analyzer(), Analyzer(ngrams=(1, 3), stop_words=frozenset({"aa"}))):
        assert_counted_alike(texts, analyze, (n_jobs,))
        for terms in ([], ["aa"], ["aa", "aa bb", "bb"]):
            assert_known_alike(texts, analyze, terms, (n_jobs,))
        assert_indexed_alike(texts, Analyzer(), ["aa"], (n_jobs,))


def test_a_silly_number_of_threads_still_counts():
    assert_counted_alike(["aa bb", "cc"], Analyzer(), (100_000,))


def test_the_bits_do_not_depend_on_the_number_of_threads():
    texts = documents(3_000, seed=11)
    analyze = Analyzer(ngrams=(1, 2))
    X, *others = (
        wc.DocumentVectorizer(ngrams=analyze.ngrams, n_jobs=n_jobs, min_docs=2).fit_transform(texts)
        for n_jobs in (None, 2, 3, 7)
    )
    for other in others:
        assert X.data.tobytes() == other.data.tobytes()
        np.testing.assert_array_equal(X.indices, other.indices)
        np.testing.assert_array_equal(X.indptr, other.indptr)


def test_many_texts_in_many_blocks_with_all_their_words_rare():
    # rows are sorted one by one where a block has few values for many columns
    texts = [f"word{k} w{k % 17} word{k // 2} Éa{k % 5}" for k in range(9_000)]
    assert_counted_alike(texts, Analyzer(), (1, 4))
    terms = sorted({f"word{k}" for k in range(0, 200_000, 7)} | {"w3", "éa4"})
    assert_known_alike(texts, Analyzer(), terms, (1, 4))


def test_a_word_that_comes_a_hundred_thousand_times():
    assert_counted_alike(["aa " * 100_000, "Aa" + " aa" * 70_000 + " é"], Analyzer(ngrams=(1, 2)))


def test_selected_terms_are_sorted_by_code_point():
    texts = ["zz \U00010400a \uffdca \ud800 éa ab a_ a0 ab1 Ab"]
    analyze = Analyzer(lowercase=False, mask_numbers=False)
    counted = NativeCountedTexts(texts, analyze, 1)
    terms, _ = counted.sorted_terms(counted.doc_freq > 0)
    assert terms == sorted(analyze(texts[0]))


@pytest.mark.parametrize("analyze", [Analyzer(), CharacterAnalyzer()], ids=["words", "characters"])
def test_counting_in_several_python_threads_at_once(analyze):
    shards = [documents(300, seed) for seed in range(8)]
    expected = [counting.count_in_python(shard, analyze) for shard in shards]
    found = [None] * len(shards)
    vocabulary = vocabulary_of(expected[0].terms)

    def work(k):
        counted = NativeCountedTexts(shards[k], analyze, 2)
        known = counting.count_known(shards[k], analyze, vocabulary, 2)
        terms, ids = counted.sorted_terms(counted.doc_freq > 0)
        found[k] = terms, counted.occurrences_of(ids), known

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(shards))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for shard, one, expects in zip(shards, found, expected, strict=True):
        assert one[0] == expects.terms
        assert_same_matrix(one[1], expects.occurrences)
        known = counting.count_known_in_python(shard, analyze, vocabulary.index)
        assert_same_matrix(one[2], known)


# --- what cannot be counted --------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [None, b"bytes", 5, float("nan"), ["aa"]])
def test_what_is_no_text_is_an_input_error_that_says_which(wrong):
    texts = ["aa", wrong]
    vocabulary = vocabulary_of(["aa"])
    for attempt in (
        lambda: NativeTermCounter(Analyzer(), 1).add(texts),
        lambda: NativeCountedTexts(texts, Analyzer(), 1),
        lambda: counting.count_known(texts, Analyzer(), vocabulary, 1),
        lambda: counting.index_texts(texts, Analyzer(), vocabulary, 1),
    ):
        with pytest.raises(wc.InputError, match=f"text 1 is a {type(wrong).__name__}, not a str"):
            attempt()


@pytest.mark.parametrize("n_jobs", ["two", 1.5, 0, True])
def test_a_number_of_jobs_that_is_none_is_an_input_error(n_jobs):
    with pytest.raises(wc.InputError):
        NativeCountedTexts(["aa"], Analyzer(), n_jobs)
    with pytest.raises(wc.InputError):
        NativeTermCounter(Analyzer(), n_jobs)


def test_more_text_at_once_than_can_be_counted_is_refused():
    text = "a " * 5_000_000
    with pytest.raises(wc.InputError, match="8 GB"):
        NativeCountedTexts([text] * 860, Analyzer(), 1)


def test_counts_are_handed_over_once():
    counted = NativeCountedTexts(["aa bb"], Analyzer(), 1)
    counted.occurrences_of(np.arange(2))
    with pytest.raises(wc.InputError, match="handed over"):
        counted.occurrences_of(np.arange(2))


@pytest.mark.parametrize("kind", [Analyzer, CharacterAnalyzer])
def test_an_analyzer_that_was_made_to_do_otherwise_is_not_replaced(kind):
    class Shouting(kind):
        def __call__(self, text):
            return text.upper().split()

    assert list(counting.count(["aa bb"], Shouting()).terms) == ["AA", "BB"]


def test_texts_of_a_subclass_of_str_are_texts():
    class Text(str):
        __slots__ = ()

    assert_counted_alike([Text("aa Éé"), np.str_("bb 中文")], Analyzer())


# --- when it is used ---------------------------------------------------------------------------


def test_what_the_engine_serves():
    assert counting.serves(Analyzer(ngrams=(1, 3)))
    assert not counting.serves(Analyzer(ngrams=(1, 4)))
    assert not counting.serves(Analyzer(token_pattern=r"\w+"))
    assert not counting.serves(Analyzer(strip_accents="ascii"))
    assert not counting.serves(str.split)
    assert counting.serves(CharacterAnalyzer((1, 16)))
    assert not counting.serves(CharacterAnalyzer((1, 17)))
    assert not counting.serves(CharacterAnalyzer(strip_accents="ascii"))
    assert isinstance(counting.count(["aa"], Analyzer()), NativeCountedTexts)
    assert isinstance(counting.count(["aa"], str.split), counting.CountedTexts)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_more_rows_than_are_sorted_together_are_sorted_all_the_same(n_jobs):
    words = [f"w{k}" for k in range(50)]
    texts = [" ".join(words[k % 7 : k % 50 + 1 : 1 + k % 3]) for k in range(9_001)]
    ours = wc.DocumentVectorizer(min_docs=2, n_jobs=n_jobs).fit_transform(texts)
    theirs = wc.DocumentVectorizer(min_docs=2, analyzer=lambda text: Analyzer()(text))
    assert ours.has_sorted_indices
    assert (ours != theirs.fit_transform(texts)).nnz == 0


@pytest.mark.slow
def test_more_entries_than_lie_together_are_counted_all_the_same():
    texts = [" ".join(f"w{k * j % 1_000_003}" for j in range(100_000)) for k in range(1, 120)]
    counted = NativeCountedTexts(texts, Analyzer(), 1)
    kept = counted.doc_freq > 0
    terms, places = counted.sorted_terms(kept)
    plain = counting.count_in_python(texts, Analyzer())
    assert terms == plain.terms
    assert (counted.occurrences_of(places) != plain.occurrences).nnz == 0
