"""What every encoder promises: its output is that of the text alone."""

import copy
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from wordclass import catalogue  # noqa: E402
from wordclass.errors import InputError  # noqa: E402
from wordclass.network.modules import encoder  # noqa: E402

NAMES = catalogue.names("encoders")
N_DIMS, N_CLASSES = 5, 3
SMALL = {"n_classes": N_CLASSES, "channels": 4, "hidden": 4, "window": 3}
LENGTHS = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make(name, input_dim=N_DIMS, **options):
    """A small one: of the usual options those that this encoder has."""
    known = inspect.signature(catalogue.entry("encoders", name).make).parameters
    small = {option: value for option, value in SMALL.items() if option in known}
    return encoder(name, input_dim, **small | options).eval()


MADE = {name: make(name) for name in NAMES}


def texts_of(lengths, seed=0):
    generator = np.random.default_rng(seed)
    drawn = [generator.standard_normal((length, N_DIMS)) for length in lengths]
    return [torch.tensor(text, dtype=torch.float32) for text in drawn]


def batch_of(texts, n_places=0, padding=0.0):
    lengths = torch.tensor([len(text) for text in texts])
    n_places = max(1, n_places, *lengths.tolist())
    vectors = torch.full((len(texts), n_places, N_DIMS), padding)
    for row, text in zip(vectors, texts, strict=True):
        row[: len(text)] = text
    return vectors, lengths


def test_all_expected_encoders_exist():
    assert NAMES == ["attention", "cnn", "leam", "lstm", "mean"]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(lengths=LENGTHS, n_more=st.integers(0, 9))
def test_batch_mates_and_padding_do_not_change_an_output(name, lengths, n_more):
    texts = texts_of(lengths)
    with torch.no_grad():
        together = MADE[name](*batch_of(texts, max(lengths) + n_more, padding=torch.nan))
        alone = torch.cat([MADE[name](*batch_of([text])) for text in texts])
    assert together.shape == (len(texts), MADE[name].output_dim)
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_lengths_may_be_an_array_or_a_list(name):
    vectors, lengths = batch_of(texts_of([3, 0, 2]))
    with torch.no_grad():
        expected = MADE[name](vectors, lengths)
        for given_lengths in (lengths.numpy(), lengths.numpy().astype(np.int32), lengths.tolist()):
            assert torch.equal(MADE[name](vectors, given_lengths), expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", [True, False])
def test_a_batch_without_a_single_place_is_one_of_empty_texts(name, masked):
    made = make(name, masked=masked)
    found = made(torch.zeros(2, 0, N_DIMS), [0, 0])
    expected = make(name)(torch.zeros(2, 1, N_DIMS), [0, 0])
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert made(torch.zeros(0, 0, N_DIMS), []).shape == (0, made.output_dim)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(lengths=LENGTHS, random=st.randoms(use_true_random=False))
def test_the_order_of_the_texts_does_not_change_an_output(name, lengths, random):
    texts = texts_of(lengths)
    order = random.sample(range(len(texts)), len(texts))
    with torch.no_grad():
        expected = MADE[name](*batch_of(texts))[order]
        found = MADE[name](*batch_of([texts[k] for k in order]))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_the_padding_reaches_no_gradient(name):
    made = copy.deepcopy(MADE[name])
    vectors, lengths = batch_of(texts_of([0, 3, 9]), padding=torch.nan)
    vectors.requires_grad_()
    made(vectors, lengths).square().sum().backward()
    for text, length in zip(vectors.grad, lengths, strict=True):
        assert not text[length:].any()
        assert torch.isfinite(text).all()
    assert all(torch.isfinite(weight.grad).all() for weight in made.parameters())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", [True, False])
def test_its_gradients_are_those_of_its_function(name, masked):
    made = make(name, masked=masked).double()
    vectors, lengths = batch_of(texts_of([0, 2, 8] if masked else [8, 8]))
    vectors = vectors.double().requires_grad_()
    weights = [weight.requires_grad_() for weight in made.parameters()]

    def function(vectors, *_weights):
        return made(vectors, lengths)

    assert torch.autograd.gradcheck(function, (vectors, *weights))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_empty_texts_and_a_batch_of_none_are_batches_too(name):
    made = MADE[name]
    empty = made(torch.zeros(2, 1, N_DIMS), torch.tensor([0, 0]))
    assert torch.isfinite(empty).all()
    assert torch.equal(empty[0], empty[1])
    none = made(torch.zeros(0, 1, N_DIMS), torch.zeros(0, dtype=torch.int64))
    assert none.shape == (0, made.output_dim)


@pytest.mark.parametrize("name", NAMES)
def test_unmasked_it_reads_everything_and_ignores_the_lengths(name):
    unmasked = make(name, masked=False)
    vectors, lengths = batch_of(texts_of([2, 9]))
    everything = torch.full_like(lengths, vectors.shape[1])
    with torch.no_grad():
        found = unmasked(vectors, lengths)
        assert torch.equal(found, unmasked(vectors, everything))
        torch.testing.assert_close(found, MADE[name](vectors, everything), atol=1e-6, rtol=1e-5)
        assert not torch.allclose(found[0], MADE[name](vectors, lengths)[0])
        # shorter than any window
        assert unmasked(vectors[:, :1], lengths).shape == (2, unmasked.output_dim)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_weights_and_leaves_the_numbers_of_torch_alone(name):
    before = torch.random.get_rng_state()
    one, same, other = make(name, seed=3), make(name, seed=3), make(name, seed=4)
    drawn = make(name, seed=torch.Generator().manual_seed(3))
    assert torch.equal(torch.random.get_rng_state(), before)
    for key, weight in one.state_dict().items():
        assert torch.equal(weight, same.state_dict()[key])
        assert torch.equal(weight, drawn.state_dict()[key])
        assert not torch.equal(weight, other.state_dict()[key])


@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_was_saved_gives_the_same_outputs(name, tmp_path):
    torch.save(make(name, seed=5).state_dict(), tmp_path / "a.pt")
    loaded = make(name)
    loaded.load_state_dict(torch.load(tmp_path / "a.pt"))
    batch = batch_of(texts_of([4, 0, 7]))
    with torch.no_grad():
        assert torch.equal(loaded(*batch), make(name, seed=5)(*batch))
        assert torch.equal(copy.deepcopy(loaded)(*batch), loaded(*batch))


@pytest.mark.parametrize("name", NAMES)
def test_half_precision_is_close(name):
    batch = batch_of(texts_of([4, 0, 7]))
    with torch.no_grad():
        exact = MADE[name](*batch)
        rough = copy.deepcopy(MADE[name]).bfloat16()(batch[0].bfloat16(), batch[1])
    assert rough.dtype == torch.bfloat16
    torch.testing.assert_close(rough.float(), exact, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_impossible_options_are_refused(name):
    with pytest.raises(InputError, match="input_dim is 0; expected"):
        make(name, input_dim=0)
    with pytest.raises(InputError, match=r"input_dim is 2\.0; expected"):
        make(name, input_dim=2.0)
    if list(MADE[name].parameters()):
        with pytest.raises(InputError, match="seed is '1'; expected"):
            make(name, seed="1")


def test_an_unknown_encoder_is_an_error_that_names_those_there_are():
    with pytest.raises(InputError, match="unknown encoder 'cn'"):
        encoder("cn", 3)
