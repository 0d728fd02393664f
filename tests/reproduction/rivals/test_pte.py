import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from made_up import COMMON, WORDS, corpus, multilabel_corpus
from scipy import sparse

import wordclass as wc
from wordclass.native import extension
from wordclass.reproduction.rivals import pte as module

TEXTS, LABELS = corpus()
needs_native = pytest.mark.skipif(extension.pte is None, reason="the extension was not built")
TRAININGS = [
    module.PythonTraining,
    pytest.param(getattr(extension.pte, "Training", None), marks=needs_native, id="native"),
]

# two networks of five words: with three contexts, then with two
N_WORDS = 5
N_CONTEXTS = 5
N_DIMS = 3
WEIGHTS = [
    np.array([[3, 0, 1], [0, 2, 0], [1, 1, 4], [0, 0, 1], [0, 5, 0]], float),
    np.array([[1, 0], [0, 2], [3, 1], [0, 0], [1, 1]], float),
]


def arguments(networks=WEIGHTS, *, n_negatives=2, rate=0.05, n_steps=2_000, seed=0, scale=1.0):
    """Return the arguments of a training, with vectors far from zero."""
    generator = np.random.default_rng(3)
    n_contexts = sum(weights.shape[1] for weights in networks)
    rows = [generator.normal(size=(n, N_DIMS)).astype(np.float32) for n in (N_WORDS, n_contexts)]
    edges = []
    first = 0
    for weights in networks:
        edges.append([(w, c + first, weights[w, c]) for w, c in np.argwhere(weights).tolist()])
        first += weights.shape[1]
    words, contexts, weights = zip(
        *(edge for network_edges in edges for edge in network_edges), strict=True
    )
    return {
        **{"word_vectors": scale * rows[0], "context_vectors": scale * rows[1]},
        **{"words": np.array(words, np.int32), "contexts": np.array(contexts, np.int32)},
        **{"weights": np.array(weights), "ends": np.cumsum([0, *map(len, edges)])},
        "noise": np.array([network.sum(axis=1) ** 0.75 for network in networks]),
        **{"n_negatives": n_negatives, "rate": rate, "n_steps": n_steps, "seed": seed},
    }


def train(kind, settings, *steps):
    training = kind(*settings.values())
    for n_steps in steps or [settings["n_steps"]]:
        training.run(n_steps)
    return training.word_vectors(), training.context_vectors()


# --- networks -----------------------------------------------------------------------------------


@given(
    documents=st.lists(st.lists(st.integers(-1, 4), max_size=9), min_size=1, max_size=5),
    window=st.integers(1, 12),
    data=st.data(),
)
def test_weights_of_edges_are_counts_of_windows_documents_and_labels(documents, window, data):
    label_sets = data.draw(
        st.lists(st.sets(st.integers(0, 2)), min_size=len(documents), max_size=len(documents))
    )
    expected = reference.pte_networks(documents, label_sets, 5, 3, window)
    Y = np.array([[j in label_set for j in range(3)] for label_set in label_sets], float)
    columns = np.array([token for tokens in documents for token in tokens], np.int32)
    ends = np.cumsum([0, *map(len, documents)])
    if not expected[2].any():
        with pytest.raises(wc.InputError, match="no document that has a label has a term"):
            module.networks_of(columns, ends, sparse.csr_matrix(Y), 5, window)
        return
    networks = module.networks_of(columns, ends, sparse.csr_matrix(Y), 5, window)
    for network, expected_network in zip(networks, expected, strict=True):
        np.testing.assert_array_equal(network.toarray(), expected_network)


# --- draws --------------------------------------------------------------------------------------

LISTS = st.lists(st.just(0.0) | st.floats(1e-3, 1e6), min_size=1, max_size=40).filter(any)


@given(weights=LISTS)
def test_a_table_draws_in_proportion_to_weights(weights):
    table = thresholds, aliases = module.alias_table(np.array(weights))
    shares = np.zeros(len(weights))
    for k in range(len(weights)):
        shares[k] += thresholds[k] / len(weights)
        shares[aliases[k]] += (1 - thresholds[k]) / len(weights)
    np.testing.assert_allclose(shares, np.array(weights) / sum(weights), atol=1e-6)
    drawn = module.draw(table, np.linspace(0, 1, 1_000, endpoint=False))
    assert np.array(weights)[drawn].all()
    assert drawn.max() < len(weights)


@needs_native
@given(weights=LISTS)
def test_the_native_table_is_the_same(weights):
    for ours, native_one in zip(
        module.alias_table(np.array(weights)),
        extension.pte.alias_table(np.array(weights)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, native_one)


def test_random_numbers_are_uniform_and_determined_by_their_position():
    numbers = module.uniform(7, 0, 100_000)
    assert 0 <= numbers.min() < numbers.max() < 1
    counts = np.histogram(numbers, 50, (0, 1))[0]
    assert ((counts - 2_000) ** 2 / 2_000).sum() < 90  # chi-square with 49 degrees of freedom
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02
    np.testing.assert_array_equal(module.uniform(7, 500, 10), numbers[500:510])
    assert not np.isin(module.uniform(8, 0, 1_000), numbers).any()
    # the first outputs of SplitMix64 from 0, as its authors' code has them
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    np.testing.assert_array_equal(module.uniform(0, 0, 3), [(x >> 11) / 2**53 for x in expected])


# --- steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TRAININGS)
@pytest.mark.parametrize("which", [0, 1])
def test_the_mean_of_first_steps_is_the_exact_gradient(kind, which):
    n_runs = (600, 3_000)[kind is not module.PythonTraining]
    rate = 0.01
    weights = WEIGHTS[which]
    start = arguments([weights], rate=rate, n_steps=1)
    before = (start["word_vectors"], start["context_vectors"])
    exact = reference.pte_gradient(*before, weights, n_negatives=2)
    moves = [
        [(after - old) / rate for after, old in zip(train(kind, settings), before, strict=True)]
        for settings in ({**start, "seed": seed} for seed in range(n_runs))
    ]
    for moved, expected in zip(zip(*moves, strict=True), exact, strict=True):
        mean = np.mean(moved, axis=0)
        deviation = np.std(moved, axis=0)
        assert (np.abs(mean - expected) < 4.5 * deviation / np.sqrt(n_runs) + 0.01).all()
        assert np.abs(expected).max() > 0.1


@needs_native
@pytest.mark.parametrize("n_negatives", [1, 2, 5])
def test_native_training_takes_the_same_steps_as_python(n_negatives):
    settings = arguments(n_negatives=n_negatives, seed=5)
    for steps in (1, 2, 17, 500):
        python, native = (
            train(kind, settings, steps) for kind in (module.PythonTraining, extension.pte.Training)
        )
        for python_vectors, native_vectors in zip(python, native, strict=True):
            np.testing.assert_allclose(python_vectors, native_vectors, atol=2e-5)
        assert not np.array_equal(python[1], settings["context_vectors"])


@pytest.mark.parametrize("kind", TRAININGS)
def test_steps_can_be_done_in_any_portions_and_become_smaller(kind):
    settings = arguments(n_steps=300)
    at_once = train(kind, settings)
    for vectors, expected in zip(train(kind, settings, 7, 0, 16, 277), at_once, strict=True):
        np.testing.assert_array_equal(vectors, expected)
    training = kind(*settings.values())
    positions = []
    for _ in range(30):
        training.run(10)
        positions.append(training.word_vectors())
    moves = np.abs(np.diff(positions, axis=0)).sum(axis=(1, 2))
    assert moves[-3:].sum() < 0.3 * moves[:3].sum()


@needs_native
def test_native_training_stops_after_its_number_of_steps():
    training = extension.pte.Training(*arguments(n_steps=5).values())
    training.run(4)
    with pytest.raises(ValueError, match="exceeds the remaining ones"):
        training.run(2)


# --- vectors ------------------------------------------------------------------------------------


def mean_cosines(vectors):
    """Return the mean cosine of words of one class, and of words of different classes."""
    known = {name: [word for word in words if word in vectors] for name, words in WORDS.items()}
    units = {
        name: np.array([vectors[word] / np.linalg.norm(vectors[word]) for word in words])
        for name, words in known.items()
    }
    inside = [(rows @ rows.T)[~np.eye(len(rows), dtype=bool)].mean() for rows in units.values()]
    across = [(units[a] @ units[b].T).mean() for a in units for b in units if a != b]
    return np.mean(inside), np.mean(across)


def test_words_of_a_class_have_similar_vectors():
    inside, across = mean_cosines(wc.pte(TEXTS, LABELS, 10, min_docs=2, n_samples=100_000))
    assert inside > across + 0.3


def test_labels_matter():
    shuffled = np.random.default_rng(0).permutation(LABELS).tolist()
    right, wrong = (
        np.subtract(*mean_cosines(wc.pte(TEXTS, labels, 10, min_docs=2, n_samples=50_000)))
        for labels in (LABELS, shuffled)
    )
    assert right > wrong + 0.1


def test_the_same_seed_gives_the_same_bits_and_threads_change_nothing():
    options = {"n_dims": 6, "min_docs": 2, "n_samples": 5_000}
    expected = wc.pte(TEXTS, LABELS, **options)
    for vectors in (
        wc.pte(iter(TEXTS), LABELS, **options),
        wc.pte(TEXTS, LABELS, n_jobs=3, **options),
    ):
        assert list(vectors.terms) == list(expected.terms)
        np.testing.assert_array_equal(vectors.matrix, expected.matrix)
    other = wc.pte(TEXTS, LABELS, seed=1, **options)
    assert not np.allclose(other.matrix, expected.matrix, atol=1e-3)


def test_without_the_extension_vectors_are_the_same_to_rounding(monkeypatch):
    options = {"n_dims": 6, "min_docs": 2, "n_samples": 3_000, "learning_rate": 0.1}
    expected = wc.pte(TEXTS, LABELS, **options)
    monkeypatch.setattr(extension, "pte", None)
    np.testing.assert_allclose(wc.pte(TEXTS, LABELS, **options).matrix, expected.matrix, atol=1e-4)


def test_by_default_edges_are_drawn_in_proportion_to_the_words_of_the_corpus():
    reports = []
    with wc.on_progress(lambda step, done, total: reports.append((step, done, total))):
        wc.pte(["moon sun moon", "sun"], ["a", "b"], 4, min_docs=1)
    n_samples = 4 * module.SAMPLES_PER_TOKEN
    assert ("training vectors", n_samples, n_samples) in reports


def test_documents_without_labels_contribute_to_the_vectors():
    texts, labels = multilabel_corpus()
    extra = ["nova star moon orbit", "nova rocket star lunar"] * 10
    more = wc.pte([*texts, *extra], [*labels, *[[]] * 20], 10, min_docs=2, n_samples=150_000)
    assert "nova" not in wc.pte(texts, labels, 10, min_docs=2, n_samples=10)
    nearest = [term for term, _ in more.nearest("nova", n=4)]
    assert len({*nearest} & {*WORDS["space"]}) >= 3, nearest


def test_labels_may_be_a_matrix_and_a_document_may_have_several():
    texts, labels = multilabel_corpus()
    classes = sorted(WORDS)
    Y = np.array([[name in doc_labels for name in classes] for doc_labels in labels], int)
    options = {"n_dims": 5, "min_docs": 2, "n_samples": 2_000}
    np.testing.assert_array_equal(
        wc.pte(texts, labels, **options).matrix, wc.pte(texts, Y, **options).matrix
    )


def test_empty_texts_and_texts_of_one_word_are_accepted():
    vectors = wc.pte(["moon", "", "rose", "moon", "?"], ["a", "a", "b", "a", "b"], 4, min_docs=1)
    assert list(vectors.terms) == ["moon", "rose"]
    assert vectors.matrix.any()


@pytest.mark.parametrize("name", ["svm", "linear", "cnn"])
def test_classifiers_read_the_vectors(name, tmp_path):
    if name == "cnn":
        pytest.importorskip("torch")
    wc.pte(TEXTS, LABELS, 8, min_docs=2, n_samples=50_000).save(tmp_path / "pte.npz")
    vectors = wc.WordVectors.load(tmp_path / "pte.npz")
    options = {
        "svm": {"features": "vectors"},
        "linear": {"C": 1.0, "shrinkage": 5.0, "ngrams": (1, 1)},
        "cnn": {"max_epochs": 3, "channels": 8, "lr": 0.01},
    }
    clf = wc.classifier(name, vectors=vectors, **options[name]).fit(TEXTS, LABELS)
    words = [" ".join([*WORDS[name][:4], *COMMON[:2]]) for name in sorted(WORDS)]
    assert clf.predict(words).tolist() == sorted(WORDS)


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_dims": 0}, "n_dims is 0"),
        ({"n_dims": 2.5}, "n_dims is 2.5"),
        ({"n_dims": 10**12}, "expected an int from 1 up to 10,000"),
        ({"window": 0}, "window is 0"),
        ({"n_samples": 0}, "n_samples is 0"),
        ({"n_samples": "many"}, "n_samples is 'many'"),
        ({"n_negatives": 0}, "n_negatives is 0"),
        ({"n_negatives": 10**6}, "n_negatives is 1000000; expected an int from 1 up to 1,000"),
        ({"learning_rate": 0}, "learning_rate is 0; expected a number above 0 and below 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"learning_rate": 1e9}, "learning_rate is 1000000000.0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"min_docs": 0}, "min_docs is 0"),
        ({"min_docs": 100}, "no term is left"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"ngrams": (1, 2)}, "single words, not of ngrams"),
        ({"analyzer": "characters"}, "sequences of words"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.pte(TEXTS, LABELS, **options)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["moon", "rose"], [[], []], "no class; expected at least two"),
        (["moon", "rose"], ["a", "a"], "only one class, 'a'"),
        (["moon", "rose"], ["a", None], "label of document 1 is None"),
        (["moon", "rose"], ["a"], "2 texts but 1 labels"),
        ([], [], "no texts"),
        (["", ""], ["a", "b"], "all 2 documents are empty"),
        (["moon", "", ""], [[], ["a"], ["b"]], "no document that has a label has a term"),
        (["moon", "rose"], np.zeros((2, 2)), "no document that has a label has a term"),
    ],
)
def test_documents_that_cannot_be_learned_from_give_one_line(texts, labels, message):
    with pytest.raises(wc.InputError, match=message):
        wc.pte(texts, labels, 3, min_docs=1)


def test_a_wide_window_is_that_of_the_longest_text():
    options = {"n_dims": 5, "min_docs": 2, "n_samples": 1_000}
    widest = wc.pte(TEXTS, LABELS, window=10**9, **options)
    longest = max(len(text.split()) for text in TEXTS)
    np.testing.assert_array_equal(
        widest.matrix, wc.pte(TEXTS, LABELS, window=longest, **options).matrix
    )


def test_vectors_that_overflow_give_one_line():
    options = {"learning_rate": 0.99, "n_negatives": 50, "n_samples": 20_000}
    with pytest.raises(wc.InputError, match="grew without end; lower learning_rate"):
        wc.pte(TEXTS, LABELS, 5, min_docs=2, **options)
