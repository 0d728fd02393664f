import numpy as np
import pytest
import reference_networks

torch = pytest.importorskip("torch")

from wordclass.network.encoders import mean  # noqa: E402


def test_it_is_the_mean_of_the_tokens():
    vectors = np.random.default_rng(0).standard_normal((3, 5, 4)).astype(np.float32)
    actual = mean.make(4)(torch.from_numpy(vectors), torch.tensor([0, 2, 5]))
    for row, text, length in zip(actual, vectors, [0, 2, 5], strict=True):
        np.testing.assert_allclose(row, reference_networks.mean(text[:length], 4), atol=1e-6)


def test_unmasked_it_is_the_mean_of_everything():
    vectors = torch.tensor([[[2.0], [0.0]]])
    assert mean.make(1, masked=False)(vectors, torch.tensor([1])).tolist() == [[1.0]]
