import numpy as np
import pytest
import reference_networks
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import corpus

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import wordclass as wc  # noqa: E402
from wordclass import catalogue  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402
from wordclass.network.modules import encoder  # noqa: E402
from wordclass.network.text_network import TextNetwork  # noqa: E402

TEXTS, LABELS = corpus()
CLASSES = sorted(set(LABELS))
TRUTH = torch.tensor([CLASSES.index(label) for label in LABELS])
OPTIONS = {"leam": {"n_classes": len(CLASSES), "window": 3}, "cnn": {"channels": 8}}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


WCE = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
E = wc.EmbeddingMatrix.of(None, WCE, random_dims=5)


def make(name, trainable=False, **options):
    chosen = encoder(name, E.n_dims, **OPTIONS.get(name, {"hidden": 8} if name != "mean" else {}))
    return TextNetwork(EmbeddingLayer(E, trainable), chosen, len(CLASSES), **options)


def test_it_is_a_linear_function_of_what_the_encoder_gives():
    network = make("mean").eval()
    batch = E.index(TEXTS[:4])
    W, b = (weight.detach().numpy() for weight in network.head.parameters())
    with torch.no_grad():
        actual = network(batch.ids, batch.lengths)
    for row, ids, length in zip(actual, batch.ids, batch.lengths, strict=True):
        document = reference_networks.mean(list(E.matrix[ids[:length]]), E.n_dims)
        np.testing.assert_allclose(row, W @ document + b, atol=1e-5)


@pytest.mark.parametrize("name", catalogue.names("encoders"))
@settings(max_examples=10)
@given(
    texts=st.lists(st.sampled_from([*TEXTS, "", "moon", "nobody knows"]), min_size=1, max_size=5)
)
def test_a_text_has_the_scores_it_has_alone(name, texts):
    network = make(name).eval()
    batch = E.index(texts)
    with torch.no_grad():
        together = network(batch.ids, batch.lengths)
        for row, text in zip(together, texts, strict=True):
            alone = E.index([text])
            torch.testing.assert_close(
                row[None], network(alone.ids, alone.lengths), atol=1e-5, rtol=1e-5
            )


@pytest.mark.parametrize("name", catalogue.names("encoders"))
@pytest.mark.parametrize("trainable", [False, True])
def test_it_learns(name, trainable):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make(name, trainable)
        batch = E.index(TEXTS)
        optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(60):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(batch.ids, batch.lengths), TRUTH)
            (loss + network.regularizer()).backward()
            optimizer.step()
    with torch.no_grad():
        actual = network.eval()(batch.ids, batch.lengths).argmax(dim=1)
    assert (actual == TRUTH).float().mean() > 0.9
    assert not network.layer([E.padding]).any()


def test_a_text_is_dropped_out_in_training_only():
    batch = E.index(TEXTS)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make("mean", dropout=0.9)
        network.layer.eval()
        one, other = (network(batch.ids, batch.lengths) for _ in range(2))
        assert not torch.equal(one, other)
        network.eval()
        assert torch.equal(*(network(batch.ids, batch.lengths) for _ in range(2)))


def test_one_generator_draws_encoder_and_head_and_a_state_brings_both_back():
    def drawn(seed):
        generator = torch.Generator().manual_seed(seed)
        chosen = encoder("lstm", E.n_dims, hidden=4, seed=generator)
        return TextNetwork(EmbeddingLayer(E), chosen, 3, seed=generator).eval()

    batch = E.index(TEXTS)
    one = drawn(1)
    same = drawn(1)
    other = drawn(2)
    scores = one(batch.ids, batch.lengths)
    assert torch.equal(scores, same(batch.ids, batch.lengths))
    assert not torch.equal(scores, other(batch.ids, batch.lengths))
    other.load_state_dict(one.state_dict())
    assert torch.equal(scores, other(batch.ids, batch.lengths))


def test_the_first_weights_of_the_head_are_xaviers():
    head = make("mean").head
    width = reference_networks.xavier_width(E.n_dims, len(CLASSES))
    assert 0.7 * width < head.weight.abs().max() <= width


def test_only_leam_adds_to_the_loss():
    assert make("cnn").regularizer().item() == 0
    network = make("leam")
    assert network.regularizer().item() > 0
    assert network.regularizer(is_multilabel=True) != network.regularizer()


def test_what_is_no_encoder_or_no_rate_is_an_error():
    with pytest.raises(wc.InputError, match="the encoder is a Linear without an int output_dim"):
        TextNetwork(EmbeddingLayer(E), nn.Linear(2, 2), 3)
    with pytest.raises(wc.InputError, match="dropout is 1"):
        make("mean", dropout=1)
    with pytest.raises(wc.InputError, match="n_classes is 0"):
        TextNetwork(EmbeddingLayer(E), encoder("mean", E.n_dims), 0)


@pytest.mark.parametrize("name", ["cnn", "lstm", "mean"])
def test_scores_do_not_depend_on_what_else_is_read(name):
    texts = E.sequences([*TEXTS, "", "moon", "moon rose " * 40])
    network = make(name).eval()
    together = network.scores(texts, padding=E.padding)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = network.scores(texts.part(order), padding=E.padding)
    np.testing.assert_allclose(shuffled, together[order], atol=1e-6)
    for row in (0, 60, 61, 62):
        alone = network.scores(texts.part([row]), padding=E.padding)
        np.testing.assert_allclose(alone[0], together[row], atol=1e-6)
    assert not network.training
    assert network.scores(texts.part([]), padding=E.padding).shape == (0, 3)
    assert network.train().scores(texts, padding=E.padding).shape == (63, 3)
    assert network.training
