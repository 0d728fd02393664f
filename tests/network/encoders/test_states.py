"""The encoders that run an LSTM."""

import numpy as np
import pytest
import reference_networks

torch = pytest.importorskip("torch")

from wordclass.network.encoders import attention, lstm  # noqa: E402

KINDS = [(lstm, reference_networks.lstm), (attention, reference_networks.attention)]


def weights_of(encoder):
    return [weight.detach().numpy() for weight in encoder.states.lstm.parameters()]


@pytest.mark.parametrize(("kind", "reference"), KINDS)
def test_it_equals_loops_over_tokens(kind, reference):
    encoder = kind.make(4, hidden=6, seed=1)
    lengths = [0, 1, 5, 12]
    vectors = np.random.default_rng(0).standard_normal((4, 12, 4)).astype(np.float32)
    with torch.no_grad():
        actual = encoder(torch.from_numpy(vectors), torch.tensor(lengths))
    for row, text, length in zip(actual, vectors, lengths, strict=True):
        np.testing.assert_allclose(row, reference(text[:length], *weights_of(encoder)), atol=1e-5)


@pytest.mark.parametrize(("kind", "reference"), KINDS)
def test_unmasked_it_begins_in_the_padding_on_the_left_as_the_papers_runs_did(kind, reference):
    encoder = kind.make(4, hidden=6, masked=False, seed=1)
    vectors = np.random.default_rng(0).standard_normal((1, 9, 4)).astype(np.float32)
    vectors[0, :5] = 0
    with torch.no_grad():
        actual = encoder(torch.from_numpy(vectors), torch.tensor([4]))[0]
    np.testing.assert_allclose(actual, reference(vectors[0], *weights_of(encoder)), atol=1e-5)


@pytest.mark.parametrize("kind", [lstm, attention])
def test_an_empty_text_is_zero(kind):
    actual = kind.make(4, hidden=6)(torch.ones(1, 3, 4), torch.tensor([0]))
    assert not actual.any()


def test_the_first_weights_are_xaviers():
    encoder = lstm.make(30, hidden=20)
    input_weight, state_weight, *biases = weights_of(encoder)
    for weight, n_inputs in ((input_weight, 30), (state_weight, 20)):
        width = reference_networks.xavier_width(n_inputs, 80)
        assert 0.99 * width < np.abs(weight).max() <= width
    assert all(np.abs(bias).max() <= 20**-0.5 for bias in biases)
    assert lstm.make(30).output_dim == attention.make(30).output_dim == 256
