import numpy as np
import pytest
import reference_networks

torch = pytest.importorskip("torch")

from wordclass.errors import InputError  # noqa: E402
from wordclass.network.encoders import cnn  # noqa: E402


def filters_of(encoder):
    return [
        (filters.weight.detach().numpy(), filters.bias.detach().numpy())
        for filters in encoder.filters
    ]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 6, 7, 8, 20])
def test_it_equals_loops_over_windows_whatever_the_length(length):
    encoder = cnn.make(4, channels=5, seed=2)
    text = np.random.default_rng(length).standard_normal((length, 4)).astype(np.float32)
    vectors = torch.zeros(1, length + 2, 4)
    vectors[0, :length] = torch.from_numpy(text)
    with torch.no_grad():
        actual = encoder(vectors, torch.tensor([length]))[0]
    expected = reference_networks.cnn(list(text), filters_of(encoder))
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_windows_and_channels_decide_the_size():
    encoder = cnn.make(4, channels=6, windows=(1, 2))
    assert encoder.output_dim == 12
    assert [filters.weight.shape for filters in encoder.filters] == [(6, 4, 1), (6, 4, 2)]
    assert cnn.make(4).output_dim == 3 * 128


def test_the_first_weights_are_those_of_an_image_of_one_channel_as_in_the_papers_runs():
    encoder = cnn.make(50, channels=40)
    for filters, window in zip(encoder.filters, (3, 5, 7), strict=True):
        width = reference_networks.xavier_width(window * 50, 40 * window * 50)
        assert 0.99 * width < filters.weight.abs().max() <= width
        assert 0.5 / np.sqrt(window * 50) < filters.bias.abs().max() <= 1 / np.sqrt(window * 50)


def test_unmasked_texts_on_the_left_of_which_stands_padding_see_it():
    encoder = cnn.make(4, channels=5, masked=False)
    text = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    padded = np.concatenate([np.zeros((6, 4), np.float32), text])
    expected = reference_networks.cnn(list(padded), filters_of(encoder))
    with torch.no_grad():
        actual = encoder(torch.from_numpy(padded)[None], torch.tensor([3]))[0]
        # too short for the widest window: zeros come before it
        short = encoder(torch.from_numpy(text)[None], torch.tensor([3]))[0]
        same = encoder(torch.from_numpy(padded[-7:])[None], torch.tensor([3]))[0]
    np.testing.assert_allclose(actual, expected, atol=1e-5)
    assert torch.equal(short, same)


@pytest.mark.parametrize("options", [{"windows": ()}, {"windows": (0,)}, {"channels": 0}])
def test_impossible_filters_are_refused(options):
    with pytest.raises(InputError, match="expected"):
        cnn.make(4, **options)
