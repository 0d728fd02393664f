import copy
import shutil

import numpy as np
import pytest
from made_up import corpus

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import wordclass as wc  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402

TEXTS, LABELS = corpus()
U = wc.WordVectors.of(["tax", "moon", "the", "rose"], np.arange(8).reshape(4, 2) + 1.0)
NAMES = ["pretrained", "word_class", "random"]


@pytest.fixture(scope="module", name="E")
def all_three_blocks():
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    return wc.EmbeddingMatrix.of(U, wce, random_dims=4, seed=3)


@pytest.fixture(scope="module", name="batch")
def texts_of_several_lengths(E):
    return E.index([*TEXTS[:3], "", "moon"])


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weight(layer, name):
    return layer.vectors[name].weight


def train(layer, batch, make_optimizer, n_steps=5):
    optimizer = make_optimizer(layer.parameters())
    for _ in range(n_steps):
        optimizer.zero_grad()
        # not only of the tokens: the padding takes part in the loss too
        (layer(batch.ids) - 1).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("trainable", [False, True, {"word_class": True}])
def test_it_looks_up_rows(E, batch, trainable):
    layer = EmbeddingLayer(E, trainable).eval()
    actual = layer(torch.from_numpy(batch.ids))
    assert actual.shape == (*batch.ids.shape, E.n_dims)
    np.testing.assert_array_equal(actual.detach(), E.matrix[batch.ids])


def test_it_has_the_sizes_that_torchs_own_layer_has(E):
    layer = EmbeddingLayer(E)
    torch_layer = nn.Embedding.from_pretrained(torch.tensor(E.matrix), padding_idx=E.padding)
    for name in ("num_embeddings", "embedding_dim", "padding_idx"):
        assert getattr(layer, name) == getattr(torch_layer, name)
    assert layer.blocks == dict(E.blocks)
    assert f"{len(E)}, {E.n_dims}, padding_idx={E.padding}" in repr(layer)
    assert "2 columns, frozen" in repr(layer)


def test_ids_may_be_tensors_arrays_and_lists_of_any_shape(E):
    layer = EmbeddingLayer(E).eval()
    for ids in (
        [3, 1],
        np.array([3, 1], np.int32),
        torch.tensor([3, 1]),
        torch.tensor([3, 1]).int(),
    ):
        np.testing.assert_array_equal(layer(ids), E.matrix[[3, 1]])
    read_only = np.array([[3]])
    read_only.flags.writeable = False
    assert layer(read_only).shape == (1, 1, E.n_dims)
    assert layer(np.zeros((0, 3), np.int64)).shape == (0, 3, E.n_dims)


@pytest.mark.parametrize("ids", [[[-1]], [[0, 10_000]]])
def test_an_id_that_is_no_row_is_an_error_that_names_it(E, ids):
    with pytest.raises(
        wc.InputError, match=f"the id {ids[0][-1]} is not a row of E; expected ids from 0"
    ):
        EmbeddingLayer(E)(torch.tensor(ids))


@pytest.mark.parametrize("ids", [torch.ones(1, 2), torch.tensor([True]), [0.5]])
def test_ids_that_are_no_whole_numbers_are_an_error(E, ids):
    with pytest.raises(wc.InputError, match="expected integers"):
        EmbeddingLayer(E)(ids)


def test_in_training_the_word_class_block_is_dropped_by_default(E, batch):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = EmbeddingLayer(E)(batch.ids)
    plain = torch.tensor(E.matrix[batch.ids])
    share = 1 - 0.5 * 3 / 9
    torch.testing.assert_close(dropped[..., :2], plain[..., :2] / share)
    is_zero = (dropped == 0) & (plain != 0)
    assert is_zero[..., E.blocks["word_class"]].any()
    assert not is_zero[..., E.blocks["random"]].any()
    assert torch.equal(EmbeddingLayer(E, dropout=None)(batch.ids), plain)


@pytest.mark.parametrize("trainable", [False, True])
def test_a_shift_is_added_to_the_rows_of_its_block_but_not_to_padding(E, batch, trainable):
    layer = EmbeddingLayer(E, trainable).eval()
    shift = torch.linspace(1, 2, batch.ids.size * 3).view(*batch.ids.shape, 3)
    expected = E.matrix[batch.ids].copy()
    for k, length in enumerate(batch.lengths):
        expected[k, :length, E.blocks["word_class"]] += shift[k, :length].numpy()
    actual = layer(batch.ids, {"word_class": shift.double()})
    assert actual.dtype == torch.float32
    np.testing.assert_allclose(actual.detach(), expected, rtol=1e-6)
    assert torch.equal(layer(batch.ids, {}), layer(batch.ids))


def test_vectors_in_context_stand_beside_the_rows_and_come_with_the_batch(E, batch):
    layer = EmbeddingLayer(E, trainable=True, dropout={"context": 0.5}, context=4)
    assert layer.blocks == {**E.blocks, "context": slice(E.n_dims, E.n_dims + 4)}
    assert layer.embedding_dim == E.n_dims + 4
    assert not any("context" in name for name in layer.state_dict())
    assert layer.trained_vectors().keys() == E.blocks.keys()
    torch_layer = torch.linspace(1, 2, batch.ids.size * 4).view(*batch.ids.shape, 4)
    actual = layer.eval()(batch.ids, {"context": torch_layer})
    is_text = torch.from_numpy(batch.ids != E.padding)
    assert torch.equal(actual[..., : E.n_dims], EmbeddingLayer(E).eval()(batch.ids))
    assert torch.equal(actual[..., E.n_dims :], torch_layer * is_text[..., None])
    dropped = layer.train()(batch.ids, {"context": torch_layer})[is_text][:, E.n_dims :] == 0
    assert 0 < dropped.float().mean() < 1
    assert layer.half()(batch.ids, {"context": torch_layer}).dtype == torch.float16
    with pytest.raises(wc.InputError, match="block 'context' are missing; pass them"):
        layer(batch.ids)
    with pytest.raises(wc.InputError, match="vectors of an encoder are not trained"):
        EmbeddingLayer(E, trainable={"context": True}, context=4)


def test_a_shift_is_added_before_dropout(E, batch):
    shift = {"word_class": torch.full((*batch.ids.shape, 3), 100.0)}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = EmbeddingLayer(E, dropout={"word_class": 0.5})(batch.ids, shift)
    block = dropped[..., E.blocks["word_class"]][torch.from_numpy(batch.ids) != E.padding]
    assert (block == 0).any()
    assert (block[block != 0] > 50 / (1 - 0.5 * 3 / 9)).all()


def test_a_shift_of_no_block_or_of_another_shape_is_an_error(E, batch):
    layer = EmbeddingLayer(E)
    with pytest.raises(wc.InputError, match="shift names the block 'glove'; expected one of pre"):
        layer(batch.ids, {"glove": torch.ones(1)})
    with pytest.raises(wc.InputError, match=r"has shape \(2, 3\); expected \(5, .*, 3\), one row"):
        layer(batch.ids, {"word_class": torch.ones(2, 3)})


def test_a_matrix_without_word_class_vectors_needs_no_other_call(batch):
    E = wc.EmbeddingMatrix.of(U)
    assert EmbeddingLayer(E, {"word_class": True})([[0]]).tolist() == [[[1.0, 2.0]]]


@pytest.mark.parametrize("trainable", [False, True, {"random": True}, dict.fromkeys(NAMES, False)])
def test_frozen_blocks_receive_no_gradient_and_do_not_move(E, batch, trainable):
    layer = EmbeddingLayer(E, trainable)
    before = {name: weight(layer, name).detach().clone() for name in NAMES}
    moving = [
        name for name in NAMES if trainable is True or (trainable and trainable.get(name, False))
    ]
    assert [name.split(".")[1] for name, _ in layer.named_parameters()] == moving
    if moving:
        train(layer, batch, torch.optim.Adam)
    for name in NAMES:
        assert torch.equal(weight(layer, name), before[name]) == (name not in moving)
        assert weight(layer, name).requires_grad == (name in moving)
    np.testing.assert_array_equal(E.matrix[:, E.blocks["random"]], before["random"])


OPTIMIZERS = {
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.1, weight_decay=0.1),
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.1, weight_decay=0.1),
    "momentum": lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_padding_stays_zero_whatever_the_optimizer_does(E, batch, name):
    layer = EmbeddingLayer(E, trainable=True)
    train(layer, batch, OPTIMIZERS[name])
    for block in NAMES:
        assert not weight(layer, block)[E.padding].any()
        assert weight(layer, block)[E.unknown].any()
    assert not layer([E.padding]).any()


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_padding_is_looked_up_as_zero_even_where_its_row_was_moved(E, is_compiled):
    layer = EmbeddingLayer(E, trainable=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 1
    look_up = torch.compile(layer, fullgraph=True, backend="eager") if is_compiled else layer
    actual = look_up(torch.tensor([E.padding, 0]))
    assert not actual[0].any()
    actual.sum().backward()
    assert not any(parameter.grad[E.padding].any() for parameter in layer.parameters())


@pytest.mark.parametrize("trainable", [False, True])
def test_shapes_are_found_without_memory(E, trainable):
    layer = EmbeddingLayer(E, trainable).to("meta")
    assert layer(torch.zeros(2, 3, dtype=torch.long, device="meta")).shape == (2, 3, E.n_dims)


def test_a_trainable_block_has_the_gradients_of_its_function(E):
    layer = EmbeddingLayer(E, {"word_class": True}, dropout=None).double()
    ids = torch.tensor([[0, 2, E.padding], [2, 2, 1]])
    assert torch.autograd.gradcheck(lambda _weight: layer(ids), tuple(layer.parameters()))


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("trainable", [False, True, {"word_class": True}])
def test_a_state_goes_from_any_layer_into_any_other_of_these_blocks(
    E, batch, saved, trainable, tmp_path
):
    source = EmbeddingLayer(E, trainable=saved)
    if saved:
        train(source, batch, torch.optim.Adam)
    torch.save(source.state_dict(), tmp_path / "layer.pt")
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    other = wc.EmbeddingMatrix.of(U, wce, random_dims=4, seed=99)
    before = other.matrix.copy()
    target = EmbeddingLayer(other, trainable)
    assert not torch.equal(target.eval()(batch.ids), source.eval()(batch.ids))
    target.load_state_dict(torch.load(tmp_path / "layer.pt"), strict=True)
    assert torch.equal(target(batch.ids), source(batch.ids))
    # loading writes into tensors, but not into the matrix they were made from
    np.testing.assert_array_equal(other.matrix, before)


def test_a_state_of_other_sizes_is_refused_and_changes_nothing(E):
    layer = EmbeddingLayer(E)
    state = {key: value[:-1] for key, value in layer.state_dict().items()}
    with pytest.raises(RuntimeError, match="size mismatch"):
        layer.load_state_dict(state)
    with pytest.raises(RuntimeError, match="Missing key"):
        layer.load_state_dict({})
    np.testing.assert_array_equal(layer.eval()([0, E.padding]), E.matrix[[0, E.padding]])


def test_a_padding_row_that_is_loaded_becomes_zero(E):
    layer = EmbeddingLayer(E)
    layer.load_state_dict({key: value + 1 for key, value in layer.state_dict().items()})
    assert not layer([E.padding]).any()
    np.testing.assert_allclose(layer.eval()([0])[0], E.matrix[0] + 1)


@pytest.mark.parametrize("trainable", [False, True])
def test_the_whole_layer_can_be_copied_and_saved(E, batch, trainable, tmp_path):
    layer = EmbeddingLayer(E, trainable).eval()
    torch.save(layer, tmp_path / "layer.pt")
    loaded = torch.load(tmp_path / "layer.pt", weights_only=False)
    copied = copy.deepcopy(layer)
    for other in (loaded, copied):
        assert torch.equal(other(batch.ids), layer(batch.ids))
        assert weight(other, "random").data_ptr() != weight(layer, "random").data_ptr()


@pytest.mark.parametrize("trainable", [False, {"random": True}])
def test_saving_a_large_layer_writes_its_numbers_once(trainable, tmp_path):
    vectors = np.ones((1000, 50), np.float32)
    large = wc.EmbeddingMatrix.of(
        wc.WordVectors.of([f"w{k}" for k in range(1000)], vectors), random_dims=50
    )
    torch.save(EmbeddingLayer(large, trainable).state_dict(), tmp_path / "layer.pt")
    assert (tmp_path / "layer.pt").stat().st_size < 1.1 * large.matrix.nbytes


def test_frozen_blocks_share_the_memory_of_the_matrix(E):
    layer = EmbeddingLayer(E)
    for name, place in E.blocks.items():
        assert np.shares_memory(weight(layer, name).numpy(), E.matrix[:, place])
    half = EmbeddingLayer(E, {"random": True})
    assert not any(
        np.shares_memory(weight(half, name).detach().numpy(), E.matrix) for name in NAMES
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_precisions_give_rounded_rows(E, batch, dtype):
    layer = EmbeddingLayer(E, {"word_class": True}).to(dtype)
    assert layer(batch.ids).dtype == dtype
    expected = torch.tensor(E.matrix[batch.ids]).to(dtype)
    assert torch.equal(layer.eval()(batch.ids), expected)


@pytest.mark.parametrize("trainable", [False, {"word_class": True}])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_it_can_be_exported_with_a_batch_of_any_size(E, batch, trainable):
    layer = EmbeddingLayer(E, trainable).eval()
    sizes = {0: torch.export.Dim("b"), 1: torch.export.Dim("l")}
    exported = torch.export.export(
        layer, (torch.from_numpy(batch.ids),), dynamic_shapes=({**sizes},)
    ).module()
    for ids in (torch.from_numpy(batch.ids), torch.tensor([[0, 1, 2], [3, 4, E.padding]])):
        torch.testing.assert_close(exported(ids), layer(ids))


@pytest.mark.parametrize("trainable", [False, {"word_class": True}])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_it_is_one_graph_without_breaks(E, batch, trainable):
    layer = EmbeddingLayer(E, trainable)
    ids = torch.from_numpy(batch.ids)
    captured = torch.compile(layer, fullgraph=True, backend="eager")
    assert captured(ids).shape == (*ids.shape, E.n_dims)
    layer.eval()
    torch.testing.assert_close(captured(ids), layer(ids))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs g++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_it_can_be_compiled(E, batch):
    layer = EmbeddingLayer(E, {"word_class": True})
    compiled = torch.compile(layer, fullgraph=True)
    ids = torch.from_numpy(batch.ids)
    compiled(ids).sum().backward()
    assert not weight(layer, "word_class").grad[E.padding].any()
    layer.eval()
    torch.testing.assert_close(compiled(ids), layer(ids))


def test_trainable_and_the_matrix_are_checked(E):
    with pytest.raises(wc.InputError, match="E is a ndarray; expected an EmbeddingMatrix"):
        EmbeddingLayer(E.matrix)
    with pytest.raises(wc.InputError, match="trainable names the block 'glove'"):
        EmbeddingLayer(E, {"glove": True})
    with pytest.raises(wc.InputError, match=r"trainable is {'random': 'no'}"):
        EmbeddingLayer(E, {"random": "no"})


# --- blocks of other tasks ------------------------------------------------------------------------


@pytest.fixture(scope="module", name="several")
def blocks_of_other_tasks():
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    # names of attributes of torch modules, and names that torch forbids
    other = {"items": wce, "a.b": wce, "training": wce}
    return wc.EmbeddingMatrix.of(U, wce, other=other)


def test_blocks_of_other_tasks_may_have_any_name(several, batch):
    layer = EmbeddingLayer(several, {"a.b": True, "items": True}, dropout={"items": 0.5}).eval()
    assert list(layer.blocks) == ["pretrained", "word_class", "items", "a.b", "training"]
    ids = several.index(TEXTS).ids
    np.testing.assert_array_equal(layer(ids).detach(), several.matrix[ids])
    assert {*layer.trained_vectors()} == {"a.b", "items"}
    again = EmbeddingLayer(several, {"a.b": True, "items": True})
    with torch.no_grad():
        layer.block("a.b").weight[0] = 7
    again.load_state_dict(layer.state_dict())
    assert (again.block("a.b").weight[0] == 7).all()
    assert (again.block("items").weight[0] != 7).all()
    torch.testing.assert_close(copy.deepcopy(layer)(ids), layer(ids))


def test_each_block_has_its_dropout_rate_and_other_tasks_have_none_by_default(several):
    ids = np.full((400, 5), several.row("moon"))
    layer = EmbeddingLayer(several)
    assert layer.dropout.rates == {"word_class": 0.5}
    layer = EmbeddingLayer(several, dropout={"word_class": 0.5, "items": 0.2, "a.b": 0})
    shares = {"pretrained": 0, "word_class": 0.5, "items": 0.2, "a.b": 0, "training": 0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        actual = layer(ids)
    for name, share in shares.items():
        dropped = actual[..., layer.blocks[name]] == 0
        assert abs(float(dropped.float().mean()) - share) < 0.02
    share = 1 - (0.5 * 3 + 0.2 * 3) / several.n_dims
    row = several.matrix[several.row("moon")] / share
    np.testing.assert_allclose(actual.amax(dim=(0, 1))[row > 0], row[row > 0], rtol=1e-5)
    with pytest.raises(wc.InputError, match="dropout names the block 'news'; expected one of"):
        EmbeddingLayer(several, dropout={"news": 0.2})


def test_the_state_of_a_layer_with_blocks_of_another_dimension_is_refused(several, E):
    layer = EmbeddingLayer(several)
    wce = wc.WordClassEmbeddings(min_docs=2).fit(*corpus(classes=("space", "garden")))
    small = wc.EmbeddingMatrix.of(U, wce, other={"items": wce, "a.b": wce, "training": wce})
    with pytest.raises(RuntimeError, match="size mismatch"):
        layer.load_state_dict(EmbeddingLayer(small).state_dict())
