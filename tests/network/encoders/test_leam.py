import numpy as np
import pytest
import reference_networks

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from wordclass.errors import InputError  # noqa: E402
from wordclass.network.encoders import leam  # noqa: E402


def reference(encoder, text):
    labels = encoder.label_vectors.detach().numpy()
    window = encoder.window.weight.detach().numpy()[0, 0]
    return reference_networks.leam(text, labels, window, encoder.label_bias.detach().numpy())


@pytest.mark.parametrize("window", [1, 3, 55])
def test_it_equals_loops_over_words_labels_and_places(window):
    encoder = leam.make(4, n_classes=3, window=window, seed=1)
    lengths = [0, 1, 5, 12]
    vectors = np.random.default_rng(0).standard_normal((4, 12, 4)).astype(np.float32)
    vectors[2, 1] = 0  # a word without a vector
    with torch.no_grad():
        actual = encoder(torch.from_numpy(vectors), torch.tensor(lengths))
    for row, text, length in zip(actual, vectors, lengths, strict=True):
        np.testing.assert_allclose(row, reference(encoder, text[:length]), atol=1e-5)


def test_words_near_a_label_weigh_more():
    encoder = leam.make(2, n_classes=1, window=1)
    with torch.no_grad():
        encoder.label_vectors.copy_(torch.tensor([[1.0, 0.0]]))
        encoder.window.weight.fill_(5.0)
        encoder.label_bias.zero_()
        actual = encoder(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([2]))[0]
    expected = np.exp([5, 0]) / np.exp([5, 0]).sum()
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_a_word_without_a_vector_gets_a_gradient_that_is_no_explosion():
    encoder = leam.make(2, n_classes=3, window=3)
    vectors = torch.tensor([[[0.0, 0.0], [1.0, 2.0]]], requires_grad=True)
    encoder(vectors, torch.tensor([2])).sum().backward()
    assert vectors.grad.abs().max() < 10


def test_the_regularizer_is_the_cross_entropy_of_the_labels_own_vectors():
    encoder = leam.make(4, n_classes=3)
    head = nn.Linear(4, 3)
    with torch.no_grad():
        logits = head(encoder.label_vectors).double().numpy()
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert encoder.regularizer(head).item() == pytest.approx(-np.log(shares.diagonal()).mean())
    yes = reference_networks.sigmoid(logits)
    losses = -np.log(np.where(np.eye(3), yes, 1 - yes))
    assert encoder.regularizer(head, is_multilabel=True).item() == pytest.approx(losses.mean())
    encoder.regularizer(head).backward()
    assert encoder.label_vectors.grad.any()


def test_a_window_has_a_middle_and_classes_have_a_number():
    with pytest.raises(InputError, match="expected an odd number"):
        leam.make(4, n_classes=3, window=4)
    with pytest.raises(InputError, match="n_classes is 0"):
        leam.make(4, n_classes=0)
