import numpy as np
import pytest
import reference_networks

torch = pytest.importorskip("torch")

from wordclass.errors import InputError  # noqa: E402
from wordclass.network.embedding_layer import SupervisedDropout  # noqa: E402

BLOCKS = {"pretrained": slice(0, 3), "word_class": slice(3, 8), "random": slice(8, 10)}
N_DRAWS = 20_000
KINDS = {
    "word_class": {"word_class": 0.5},
    "random": {"random": 0.2},
    "two": {"word_class": 0.5, "random": 0.2},
    "all": 0.3,
}


@pytest.fixture(autouse=True)
def _numbers_of_this_test_alone():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def rate_of(name, rates):
    return rates.get(name, 0.0) if isinstance(rates, dict) else rates


def scale_of(rates):
    dropped = sum(rate_of(name, rates) * (at.stop - at.start) for name, at in BLOCKS.items())
    return 1 / (1 - dropped / 10)


def test_it_is_the_papers_formula_element_by_element():
    blocks = {"pretrained": slice(0, 3), "word_class": slice(3, 8)}
    E = torch.randn(6, 4, 8)
    dropped = SupervisedDropout(blocks, {"word_class": 0.4})(E)
    mask = dropped[..., 3:] != 0
    assert 0 < mask.sum() < mask.numel()
    for row, actual, row_mask in zip(
        E.view(-1, 8), dropped.view(-1, 8), mask.view(-1, 5), strict=True
    ):
        u = row[:3].tolist()
        s = row[3:].tolist()
        expected = reference_networks.supervised_dropout(u, s, row_mask.tolist(), 0.4)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_in_expectation_dropped_blocks_shrink_and_the_others_grow(kind):
    rates = KINDS[kind]
    drawn = SupervisedDropout(BLOCKS, rates)(torch.ones(N_DRAWS, 10)).double()
    for name, place in BLOCKS.items():
        rate = rate_of(name, rates)
        mean = drawn[:, place].mean(dim=0)
        expected = scale_of(rates) * (1 - rate)
        # 5 deviations of a mean of Bernoulli draws
        deviation = scale_of(rates) * (rate * (1 - rate) / N_DRAWS) ** 0.5
        assert (mean - expected).abs().max() <= 5 * deviation + 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_over_all_columns_is_preserved(kind):
    drawn = SupervisedDropout(BLOCKS, KINDS[kind])(torch.ones(N_DRAWS, 10)).double()
    assert drawn.mean().item() == pytest.approx(1, abs=0.01)


def test_elements_are_dropped_independently():
    drawn = SupervisedDropout(BLOCKS, {"word_class": 0.5})(torch.ones(N_DRAWS, 1, 10))
    mask = (drawn[:, 0, 3:8] != 0).double()
    correlations = torch.corrcoef(mask.T) - torch.eye(5)
    assert correlations.abs().max() < 5 / N_DRAWS**0.5


def test_one_rate_for_all_columns_is_ordinary_dropout():
    drawn = SupervisedDropout(BLOCKS, 0.3)(torch.ones(200, 10))
    torch.testing.assert_close(drawn.unique(), torch.tensor([0.0, 1 / 0.7]))


@pytest.mark.parametrize("rates", [None, 0, 0.0, {}, {"word_class": 0.0}])
def test_without_a_rate_nothing_is_dropped_or_scaled(rates):
    E = torch.randn(5, 10)
    assert SupervisedDropout(BLOCKS, rates)(E) is E


@pytest.mark.parametrize("rates", KINDS.values())
def test_outside_training_nothing_is_dropped_or_scaled(rates):
    E = torch.randn(5, 10)
    assert SupervisedDropout(BLOCKS, rates).eval()(E) is E


def test_the_input_is_unchanged_and_gradients_pass_at_remaining_elements():
    E = torch.randn(5, 10, requires_grad=True)
    before = E.detach().clone()
    dropped = SupervisedDropout(BLOCKS, {"word_class": 0.5})(E)
    dropped.sum().backward()
    assert torch.equal(E.detach(), before)
    torch.testing.assert_close(E.grad, torch.where(dropped != 0, scale_of(KINDS["word_class"]), 0))


def test_its_gradients_are_those_of_its_function():
    drop = SupervisedDropout(BLOCKS, {"word_class": 0.5, "random": 0.1})

    def with_fixed_numbers(vectors):
        torch.manual_seed(7)
        return drop(vectors)

    E = torch.randn(2, 3, 10, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(with_fixed_numbers, E)


def test_half_precision_stays_half_precision():
    drawn = SupervisedDropout(BLOCKS, {"word_class": 0.5})(torch.ones(3, 10, dtype=torch.bfloat16))
    assert drawn.dtype == torch.bfloat16


def test_a_block_that_this_matrix_lacks_is_ignored_and_one_that_no_matrix_has_is_an_error():
    E = torch.randn(5, 3)
    assert SupervisedDropout({"pretrained": slice(0, 3)}, {"word_class": 0.5})(E) is E
    with pytest.raises(InputError, match="the block 'wordclass'; expected one of pretrained"):
        SupervisedDropout(BLOCKS, {"wordclass": 0.5})


@pytest.mark.parametrize("rate", [1, -0.1, "0.5", float("nan"), True])
def test_an_impossible_rate_is_an_error(rate):
    with pytest.raises(InputError, match="expected a number from 0 to below 1"):
        SupervisedDropout(BLOCKS, {"word_class": rate})


def test_vectors_of_another_width_are_an_error():
    with pytest.raises(InputError, match="the vectors have 9 columns; expected 10"):
        SupervisedDropout(BLOCKS, 0.5)(torch.ones(2, 9))
    assert repr(SupervisedDropout(BLOCKS, {"random": 0.5})) == "SupervisedDropout(random 0.5)"
