import copy
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import corpus

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import wordclass as wc  # noqa: E402
from wordclass.native import extension  # noqa: E402
from wordclass.network import word_by_word  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402
from wordclass.network.encoders.cnn import CnnEncoder  # noqa: E402
from wordclass.network.encoders.mean import MeanEncoder  # noqa: E402

TEXTS, LABELS = corpus()
U = wc.WordVectors.of(["tax", "moon", "the", "rose"], np.arange(8).reshape(4, 2) / 4 - 1.0)
WCE = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
E = wc.EmbeddingMatrix.of(U, WCE, random_dims=4, seed=3)
NAMES = ["pretrained", "word_class", "random"]
TRAINABLE = [False, True, {"random": True}, {"word_class": True}]
LENGTHS = [7, 0, 1, 12, 3, 2, 0, 5]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def batch_of(lengths, masked=True, seed=0, n_places=None):
    """Return random ids, padded on the side that the encoder expects."""
    generator = np.random.default_rng(seed)
    n_places = max([1, *lengths]) if n_places is None else n_places
    ids = np.full((len(lengths), n_places), E.padding)
    for row, length in zip(ids, lengths, strict=True):
        place = slice(0, length) if masked else slice(n_places - length, None)
        row[place] = generator.integers(len(E.terms) + 1, size=length)  # the unknown term too
    return torch.from_numpy(ids), torch.tensor(lengths, dtype=torch.int64)


def pair(trainable=False, dropout=None, **options):
    options = {"channels": 5, "windows": (1, 3, 8)} | options
    layer = EmbeddingLayer(E, trainable, dropout)
    return layer, CnnEncoder(E.n_dims, **options)


def parameters_of(*modules):
    return [weight for module in modules for weight in module.parameters()]


def gradients_of(output, weights):
    """Return the gradients of a loss with another slope for every output."""
    slopes = torch.linspace(-1, 2, output.numel()).view_as(output)
    return torch.autograd.grad((output * slopes).sum(), weights, retain_graph=True)


def assert_same(actual, expected, weights):
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    for mine, theirs in zip(
        gradients_of(actual, weights), gradients_of(expected, weights), strict=True
    ):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


# --- against the plain path -------------------------------------------------------------------


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("trainable", TRAINABLE)
def test_it_gives_what_the_encoder_gives_and_the_same_gradients(masked, trainable):
    layer, encoder = pair(trainable, masked=masked)
    ids, lengths = batch_of(LENGTHS, masked)
    weights = parameters_of(layer, encoder)
    actual = word_by_word.encode(layer, encoder, ids, lengths)
    assert actual.shape == (len(LENGTHS), 15)
    assert (actual > 0).any()
    assert_same(actual, encoder(layer(ids), lengths), weights)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(
    "matrix", [E, wc.EmbeddingMatrix([], [], np.zeros((2, 0), np.float32), {}, str.split)]
)
def test_vectors_in_context_come_token_by_token(masked, matrix):
    layer = EmbeddingLayer(matrix, trainable=matrix is E, dropout=None, context=6)
    encoder = CnnEncoder(matrix.n_dims + 6, channels=5, windows=(1, 3, 8), masked=masked)
    assert word_by_word.can_encode(layer, encoder)
    ids, lengths = batch_of(LENGTHS, masked)
    if matrix is not E:
        ids = torch.where(ids == E.padding, matrix.padding, matrix.unknown)
    shift = {"context": torch.randn(sum(LENGTHS), 6, generator=torch.Generator().manual_seed(4))}
    placed = word_by_word.pad_shift(shift, ids != matrix.padding)
    actual = word_by_word.encode(layer, encoder, ids, lengths, {"context": shift["context"].half()})
    expected = encoder(layer(ids, {"context": placed["context"].half()}), lengths)
    assert (actual > 0).any()
    assert_same(actual, expected, parameters_of(layer, encoder))


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    windows=st.lists(st.integers(1, 11), min_size=1, max_size=3),
    channels=st.integers(1, 20),
    masked=st.booleans(),
    extra=st.integers(0, 12),
    seed=st.integers(0, 99),
)
def test_batches_of_all_shapes(lengths, windows, channels, masked, extra, seed):
    layer, encoder = pair(True, windows=windows, channels=channels, masked=masked, seed=seed)
    ids, lengths = batch_of(lengths, masked, seed, max([1, *lengths]) + extra)
    actual = word_by_word.encode(layer, encoder, ids, lengths)
    assert_same(actual, encoder(layer(ids), lengths), parameters_of(layer, encoder))


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("shape", [(0, 1), (0, 4), (3, 0), (3, 1), (3, 20)])
def test_a_batch_without_texts_or_without_tokens(masked, shape):
    layer, encoder = pair(masked=masked)
    ids = torch.full(shape, E.padding)
    lengths = torch.zeros(shape[0], dtype=torch.int64)
    actual = word_by_word.encode(layer, encoder, ids, lengths)
    bias = torch.cat([filters.bias for filters in encoder.filters]).relu()
    torch.testing.assert_close(actual, bias.expand(shape[0], -1))


def test_arrays_and_lengths_that_are_too_large_are_taken_as_the_encoder_takes_them():
    layer, encoder = pair()
    ids, lengths = batch_of(LENGTHS)
    expected = word_by_word.encode(layer, encoder, ids, lengths)
    actual = word_by_word.encode(layer, encoder, ids.numpy(), lengths.numpy())
    assert torch.equal(actual, expected)
    lengths = torch.full_like(lengths, 99)
    actual = word_by_word.encode(layer, encoder, ids.int(), lengths)
    torch.testing.assert_close(actual, encoder(layer(ids), lengths))


@pytest.mark.parametrize("trainable", TRAINABLE)
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("names", [["word_class"], ["pretrained", "random"], NAMES])
def test_a_shift_is_added_token_by_token(names, masked, trainable):
    layer, encoder = pair(trainable, masked=masked)
    ids, lengths = batch_of(LENGTHS, masked)
    is_token = ids != E.padding
    shift = {}
    padded = {}
    for name in names:
        width = E.blocks[name].stop - E.blocks[name].start
        shift[name] = torch.randn(sum(LENGTHS), width, generator=torch.Generator().manual_seed(4))
        padded[name] = torch.full((*ids.shape, width), 77.0)  # ignored at the padding
        padded[name][is_token] = shift[name]
        shift[name].requires_grad_()
        padded[name].requires_grad_()
    actual = word_by_word.encode(layer, encoder, ids, lengths, shift)
    expected = encoder(layer(ids, padded), lengths)
    assert (actual - word_by_word.encode(layer, encoder, ids, lengths)).abs().max() > 0.01
    assert_same(actual, expected, parameters_of(layer, encoder))
    mine = gradients_of(actual, list(shift.values()))
    theirs = gradients_of(expected, list(padded.values()))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other[is_token], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dropout", [{"word_class": 0.5}, {"pretrained": 0.2, "random": 0.4}, 0.3])
@pytest.mark.parametrize("trainable", TRAINABLE)
def test_dropout_is_drawn_for_every_token_and_keeps_the_scale(dropout, trainable):
    layer, encoder = pair(trainable, dropout)
    ids, lengths = batch_of(LENGTHS)
    is_token = ids != E.padding
    shift = {"word_class": torch.linspace(-1, 1, sum(LENGTHS) * 3).view(-1, 3)}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        actual = word_by_word.encode(layer, encoder, ids, lengths, shift)
        torch.manual_seed(5)
        masks = {
            name: torch.empty(sum(LENGTHS), layer.vectors[name].weight.shape[1]).bernoulli_(1 - p)
            for name, p in layer.dropout.rates.items()
        }
    share = 1.0
    vectors = torch.zeros(*ids.shape, E.n_dims)
    for name, place in E.blocks.items():
        rows = layer.vectors[name].weight[ids[is_token]]
        rows = rows + shift[name] if name in shift else rows
        vectors[..., place][is_token] = rows * masks.get(name, 1)
        rate = dropout.get(name, 0) if isinstance(dropout, dict) else dropout
        share -= rate * (place.stop - place.start) / E.n_dims
    assert_same(actual, encoder(vectors / share, lengths), parameters_of(layer, encoder))
    layer.eval()
    actual = word_by_word.encode(layer, encoder, ids, lengths)
    torch.testing.assert_close(actual, encoder(layer(ids), lengths))


@pytest.mark.parametrize("trainable", [False, {"news": True, "shop": True}])
def test_any_number_of_blocks_may_be_dropped(trainable):
    several = wc.EmbeddingMatrix.of(U, WCE, random_dims=4, other={"news": WCE, "shop": WCE})
    rates = {"word_class": 0.5, "news": 0.2, "shop": 0.4}
    layer = EmbeddingLayer(several, trainable, rates)
    encoder = CnnEncoder(several.n_dims, channels=5, windows=(1, 3))
    ids, lengths = batch_of(LENGTHS)
    is_token = ids != several.padding
    with torch.random.fork_rng():
        torch.manual_seed(5)
        actual = word_by_word.encode(layer, encoder, ids, lengths)
        torch.manual_seed(5)
        masks = {
            name: torch.empty(sum(LENGTHS), 3).bernoulli_(1 - rate) for name, rate in rates.items()
        }
    vectors = torch.zeros(*ids.shape, several.n_dims)
    for name, place in several.blocks.items():
        rows = layer.block(name).weight[ids[is_token]]
        vectors[..., place][is_token] = rows * masks.get(name, 1)
    share = 1 - 3 * sum(rates.values()) / several.n_dims
    assert_same(actual, encoder(vectors / share, lengths), parameters_of(layer, encoder))


def test_padding_inside_a_text_is_zero_as_it_is_in_the_layer():
    layer, encoder = pair(True)
    ids, lengths = batch_of([6, 9, 4])
    ids[1, 2:5] = E.padding
    padded = {"word_class": torch.ones(*ids.shape, 3)}
    shift = {"word_class": torch.ones(19, 3)}
    actual = word_by_word.encode(layer, encoder, ids, lengths, shift)
    assert_same(actual, encoder(layer(ids, padded), lengths), parameters_of(layer, encoder))


def test_large_tables_are_made_in_parts(monkeypatch):
    layer, encoder = pair(True, {"word_class": 0.5}, channels=40)
    ids, lengths = batch_of(LENGTHS)
    shift = {"random": torch.ones(sum(LENGTHS), 4)}
    weights = parameters_of(layer, encoder)

    def encoded():
        with torch.random.fork_rng():
            torch.manual_seed(5)
            return word_by_word.encode(layer, encoder, ids, lengths, shift)

    expected = encoded()
    monkeypatch.setattr(word_by_word, "_MAX_TABLE_NUMBERS", 1)
    monkeypatch.setattr(word_by_word, "_MAX_TABLE_TOKENS", 1)
    assert_same(encoded(), expected, weights)


def test_an_encoder_that_reads_padding_reads_it_on_the_right_too():
    layer, encoder = pair(True, masked=False)
    ids, lengths = batch_of(LENGTHS, masked=True)
    shift = {"word_class": torch.ones(sum(LENGTHS), 3)}
    padded = {"word_class": torch.ones(*ids.shape, 3)}
    weights = parameters_of(layer, encoder)
    plain = encoder(layer(ids), lengths)
    assert_same(word_by_word.encode(layer, encoder, ids, lengths), plain, weights)
    actual = word_by_word.encode(layer, encoder, ids, lengths, shift)
    assert_same(actual, encoder(layer(ids, padded), lengths), weights)


@pytest.mark.parametrize("masked", [True, False])
def test_gradients_are_slopes(masked):
    """Numerical differences in float64, through the plain path, along random directions."""
    layer, encoder = pair(True, masked=masked)
    ids, lengths = batch_of([4, 9, 0, 2], masked)
    actual = gradients_of(
        word_by_word.encode(layer, encoder, ids, lengths), parameters_of(layer, encoder)
    )
    layer, encoder = copy.deepcopy(layer).double(), copy.deepcopy(encoder).double()
    generator = torch.Generator().manual_seed(1)
    step = 1e-7

    @torch.no_grad()
    def loss():
        output = encoder(layer(ids), lengths)
        return (output * torch.linspace(-1, 2, output.numel()).view_as(output)).sum().item()

    for weight, slopes in zip(parameters_of(layer, encoder), actual, strict=True):
        way = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        ends = []
        for sign in (1, -1):
            weight.data += sign * step * way
            ends.append(loss())
            weight.data -= sign * step * way
        numerical = (ends[0] - ends[1]) / (2 * step)
        if weight.shape[0] == len(E):  # the plain path, too, keeps the padding at zero
            assert not slopes[E.padding].any()
        assert (slopes * way).sum().item() == pytest.approx(numerical, rel=1e-4, abs=1e-4)


def test_only_what_is_asked_for_has_a_gradient():
    layer, encoder = pair({"random": True})
    for weight in encoder.filters[0].parameters():
        weight.requires_grad_(False)
    ids, lengths = batch_of(LENGTHS)
    word_by_word.encode(layer, encoder, ids, lengths).sum().backward()
    assert all((weight.grad is not None) == weight.requires_grad for weight in encoder.parameters())
    assert layer.vectors["random"].weight.grad.any()
    with torch.no_grad():
        assert not word_by_word.encode(layer, encoder, ids, lengths).requires_grad


def test_what_is_kept_for_the_way_back_does_not_grow_with_tokens_times_filters():
    layer, encoder = pair(False, {"word_class": 0.5}, channels=100)
    ids, lengths = batch_of([300] * 20)
    share = []

    def pack(tensor):
        share.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        word_by_word.encode(layer, encoder, ids, lengths).sum().backward()
    assert 0 < max(share) < 300 * 20 * 12 * 100 / 50


# --- the compiled part ------------------------------------------------------------------------


def problem(seed=0, n_words=6, windows=(2, 3, 9), channels=7, lengths=(5, 0, 1, 11, 3)):
    generator = np.random.default_rng(seed)
    n_tokens = sum(lengths)
    n_columns = sum(windows) * channels
    return {
        "table": generator.normal(size=(n_words, n_columns)).astype(np.float32),
        "words": generator.integers(n_words, size=n_tokens).astype(np.int32),
        "tokens": generator.normal(size=(n_tokens, n_columns)).astype(np.float32),
        "ends": np.cumsum([0, *lengths]),
        "windows": np.array(windows),
        "channels": channels,
        "bias": generator.normal(size=len(windows) * channels).astype(np.float32),
        "left_padding": np.array([0, 4, 2, 0, 50]),
    }


def strongest(inputs, n_threads=1):
    return extension.convolution.strongest(*inputs.values(), n_threads)


def responses_of(inputs, text, number):
    """Every response of one window, {place: (channels,)}, in float64, from the definition."""
    channels = inputs["channels"]
    window = int(inputs["windows"][number])
    column = int(inputs["windows"][:number].sum()) * channels
    start = inputs["ends"][text]
    stop = inputs["ends"][text + 1]
    zeros = int(inputs["left_padding"][text])
    actual = {}
    for place in range(-zeros, max(-zeros, stop - start - window) + 1):
        response = inputs["bias"][number * channels : (number + 1) * channels].astype(np.float64)
        for j in range(window):
            if 0 <= place + j < stop - start:
                columns = slice(column + j * channels, column + (j + 1) * channels)
                token = start + place + j
                for part, row in (("table", inputs["words"][token]), ("tokens", token)):
                    if inputs[part].shape[1]:
                        response += inputs[part][row, columns]
        actual[place] = response
    return actual


@pytest.mark.parametrize("without", [None, "table", "tokens"])
def test_the_greatest_response_is_found_where_it_is(without):
    inputs = problem()
    if without:
        inputs[without] = inputs[without][:, :0].copy()
    best, where = strongest(inputs)
    for text in range(5):
        for number in range(3):
            responses = responses_of(inputs, text, number)
            for channel in range(inputs["channels"]):
                output = number * inputs["channels"] + channel
                greatest = max(values[channel] for values in responses.values())
                assert best[text, output] == pytest.approx(greatest, abs=1e-5)
                # zeros beyond the widest window are not looked at: they change nothing
                place = where[text, output]
                assert responses[place][channel] == pytest.approx(greatest, abs=1e-5)
                assert -9 <= place <= 11


def test_the_first_of_equal_responses_counts():
    inputs = problem(n_words=1, windows=(2,), lengths=(5, 4, 3, 2, 8))
    inputs["tokens"][:] = 0
    inputs["left_padding"][:] = 0
    assert not strongest(inputs)[1].any()


@pytest.mark.parametrize("n_threads", [2, 3, 40])
def test_threads_do_not_change_a_bit(n_threads):
    inputs = problem(lengths=(50, 3, 0, 20, 40), channels=33)
    generator = np.random.default_rng(1)
    best, where = strongest(inputs)
    many, their_where = strongest(inputs, n_threads)
    assert many.tobytes() == best.tobytes()
    assert their_where.tobytes() == where.tobytes()
    slopes = generator.normal(size=best.shape).astype(np.float32)
    n_columns = inputs["table"].shape[1]
    rows = [
        generator.normal(size=shape).astype(np.float32)
        for shape in ((6, 45), (113, 19), (n_columns, 45), (n_columns, 19))
    ]
    texts = (inputs["words"], inputs["ends"], inputs["windows"], inputs["channels"])
    one, other = (
        extension.convolution.gradients(slopes, where, *texts, *rows, True, True, n)
        for n in (1, n_threads)
    )
    for mine, theirs in zip(one, other, strict=True):
        assert mine.any()
        assert mine.tobytes() == theirs.tobytes()


WRONG = {
    "words": (
        np.array([0, 6] + [0] * 18, np.int32),
        "the index 6 is out of range; expected 0 to below 6",
    ),
    "tokens": (
        np.zeros((20, 5), np.float32),
        "the table of tokens and the windows differ in their columns",
    ),
    "table": (
        np.zeros((6, 5), np.float32),
        "the table of words and the windows differ in their columns",
    ),
    "ends": (np.array([0, 9, 3, 20, 20, 20]), "the ends of rows decrease"),
    "bias": (np.zeros(3, np.float32), "the number of biases is wrong; expected one per window"),
    "windows": (np.array([2, 0, 9]), "a window has a width below 1"),
    "left_padding": (np.array([0, -1, 0, 0, 0]), "a left padding is negative"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_compiled_part_refuses_what_does_not_fit(name):
    value, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        strongest(problem() | {name: value})


def test_ends_cover_all_tokens():
    for last in (19, 21):
        with pytest.raises(ValueError, match="the last row does not end with the last entry"):
            strongest(problem() | {"ends": np.array([0, 5, 5, 6, 17, last])})


# --- when it is used ---------------------------------------------------------------------------


def test_it_serves_this_layer_and_this_encoder():
    assert extension.convolution is not None, "the build is broken"
    for trainable in TRAINABLE:
        assert word_by_word.can_encode(*pair(trainable))


def test_other_modules_are_not_accepted():
    class Other(CnnEncoder):
        pass

    layer, encoder = pair()
    assert not word_by_word.can_encode(layer, MeanEncoder(E.n_dims))
    assert not word_by_word.can_encode(layer, Other(E.n_dims))
    assert not word_by_word.can_encode(layer, CnnEncoder(E.n_dims + 1))
    assert not word_by_word.can_encode(nn.Embedding(5, E.n_dims), encoder)
    for dtype in (torch.float64, torch.bfloat16):
        assert not word_by_word.can_encode(layer, pair()[1].to(dtype))
        assert not word_by_word.can_encode(pair()[0].to(dtype), encoder)
    assert not word_by_word.can_encode(layer, pair()[1].to("meta"))
    with torch.autocast("cpu"):
        assert not word_by_word.can_encode(layer, encoder)
    assert word_by_word.can_encode(layer, encoder)


def test_it_does_not_serve_where_somebody_looks_at_the_parts():
    for number, name in ((0, "register_forward_hook"), (1, "register_forward_pre_hook")):
        modules = pair()
        handle = getattr(modules[number], name)(lambda *_arguments: None)
        assert not word_by_word.can_encode(*modules)
        handle.remove()
        assert word_by_word.can_encode(*modules)
    layer, encoder = pair()
    encoder.filters[1].register_full_backward_hook(lambda *_arguments: None)
    assert not word_by_word.can_encode(layer, encoder)
    layer, encoder = pair()
    layer.vectors["random"].register_full_backward_pre_hook(lambda *_arguments: None)
    assert not word_by_word.can_encode(layer, encoder)


class Chosen(nn.Module):
    """Return the result of a network, which uses the fast path if possible."""

    def __init__(self):
        super().__init__()
        self.layer, self.encoder = pair()
        self.served = []

    def forward(self, ids, lengths):
        self.served.append(word_by_word.can_encode(self.layer, self.encoder))
        if self.served[-1]:
            return word_by_word.encode(self.layer, self.encoder, ids, lengths)
        return self.encoder(self.layer(ids), lengths)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::UserWarning")
def test_compiled_exported_and_traced_networks_go_the_plain_way():
    ids, lengths = batch_of(LENGTHS)
    with torch.no_grad():
        expected = Chosen()(ids, lengths)
    exported = torch.export.export(Chosen().eval(), (ids, lengths)).module()
    traced = torch.jit.trace(Chosen().eval(), (ids, lengths), check_trace=False)
    compiled = torch.compile(Chosen(), backend="eager")
    for variant in (exported, traced, compiled):
        torch.testing.assert_close(variant(ids, lengths), expected)
    assert compiled._orig_mod.served[-1] is False


def test_it_does_not_serve_where_the_compiled_part_is_missing(monkeypatch):
    monkeypatch.setattr(extension, "convolution", None)
    layer, encoder = pair()
    assert not word_by_word.can_encode(layer, encoder)
    with pytest.raises(wc.InputError, match="the native convolution was not built"):
        word_by_word.encode(layer, encoder, *batch_of(LENGTHS))


def test_the_compiled_parts_are_found_without_importing_torch():
    code = "import sys; from wordclass.native import extension; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        extension.nothing  # noqa: B018


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("wrong", [-1, 10_000])
def test_an_id_that_is_no_row_is_an_error_that_names_it(masked, wrong):
    ids, lengths = batch_of(LENGTHS, masked)
    ids[3, -1] = wrong
    with pytest.raises(wc.InputError, match=f"the id {wrong} is not a row of E"):
        word_by_word.encode(*pair(masked=masked), ids, lengths)


def test_ids_that_are_no_whole_numbers_are_an_error():
    with pytest.raises(wc.InputError, match="expected integers"):
        word_by_word.encode(*pair(), torch.ones(2, 3), torch.tensor([1, 1]))


@pytest.mark.parametrize(
    ("shift", "message"),
    [
        ({"glove": torch.ones(30, 3)}, "shift names the block 'glove'; expected one of pretrained"),
        (
            {"word_class": torch.ones(29, 3)},
            r"has shape \(29, 3\); expected \(30, 3\), one row",
        ),
        (
            {"word_class": torch.ones(30, 2)},
            r"has shape \(30, 2\); expected \(30, 3\), one row",
        ),
    ],
)
def test_a_shift_that_fits_no_block_is_an_error(shift, message):
    assert sum(LENGTHS) == 30
    with pytest.raises(wc.InputError, match=message):
        word_by_word.encode(*pair(), *batch_of(LENGTHS), shift)
