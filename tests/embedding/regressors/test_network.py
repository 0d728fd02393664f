import pickle
import subprocess
import sys

import numpy as np
import pytest

from wordclass.embedding.unseen_terms import regressor
from wordclass.errors import InputError

torch = pytest.importorskip("torch")


def planted(n_terms, seed):
    """Targets that no linear map of the rows gives."""
    generator = np.random.default_rng(seed)
    U = generator.normal(size=(n_terms, 5))
    S = np.stack([abs(U[:, 0]), np.maximum(U[:, 1] + U[:, 2], 0), U[:, 3]], axis=1)
    return U, S


U, S = planted(1000, 0)


@pytest.fixture(scope="module")
def fitted():
    return regressor("network", seed=2).fit(U, S)


def test_it_beats_the_mean_and_a_linear_map_where_the_truth_is_bent(fitted):
    rows, truth = planted(500, 1)

    def error(predicted):
        return ((predicted - truth) ** 2).mean()

    network = error(fitted.predict(rows))
    assert network < 0.2 * error(S.mean(axis=0))
    assert network < 0.5 * error(regressor("ridge").fit(U, S).predict(rows))


def test_without_dropout_it_comes_close():
    made = regressor("network", dropout=0.0, learning_rate=1e-2, max_epochs=60).fit(U, S)
    rows, truth = planted(500, 1)
    assert ((made.predict(rows) - truth) ** 2).mean() < 0.02 * truth.var(axis=0).mean()


def test_another_seed_gives_another_network(fitted):
    other = regressor("network", seed=3).fit(U, S)
    assert abs(other.predict(U) - fitted.predict(U)).max() > 1e-3


def test_the_numbers_of_torch_are_left_alone_and_do_not_matter(fitted):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    again = regressor("network", seed=2).fit(U, S)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(again.predict(U), fitted.predict(U))


def test_it_learns_where_gradients_are_switched_off(fitted):
    with torch.no_grad():
        again = regressor("network", seed=2).fit(U, S)
        assert not torch.is_grad_enabled()
    np.testing.assert_array_equal(again.predict(U), fitted.predict(U))


def test_it_has_the_layers_of_the_paper_and_predicts_with_them(fitted):
    (W, b), (W_out, b_out) = fitted.layers_
    assert [each.shape for each in (W, b, W_out, b_out)] == [(5, 64), (64,), (64, 3), (3,)]
    assert (fitted.hidden, fitted.dropout) == (64, 0.5)
    for row, predicted in zip(U[:20], fitted.predict(U[:20]), strict=True):
        units = [max(float(row @ W[:, j] + b[j]), 0.0) for j in range(64)]
        np.testing.assert_allclose(np.dot(units, W_out) + b_out, predicted, rtol=1e-4, atol=1e-5)


def test_training_stops_when_the_terms_kept_aside_say_so():
    generator = np.random.default_rng(0)
    rows, noise = generator.normal(size=(200, 30)), generator.normal(size=(200, 2))
    made = regressor("network", patience=3).fit(rows, noise)
    # noise can be learned by heart, which is what early stopping is there against
    assert made.n_epochs_ < 50
    assert (made.predict(rows) ** 2).mean() < 0.3
    assert regressor("network", max_epochs=2).fit(U, S).n_epochs_ <= 2


def test_the_best_epoch_is_kept_and_not_the_last():
    generator = np.random.default_rng(0)
    rows, noise = generator.normal(size=(100, 20)), generator.normal(size=(100, 2))
    options = {"batch_size": 10, "learning_rate": 1e-2, "dropout": 0.0, "patience": 40}
    patient = regressor("network", **options, max_epochs=60).fit(rows, noise)
    short = regressor("network", **options, max_epochs=patient.n_epochs_).fit(rows, noise)
    assert 0 < patient.n_epochs_ < 40
    np.testing.assert_array_equal(patient.predict(rows), short.predict(rows))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden is 0"),
        ({"batch_size": 1.5}, "batch_size is 1.5"),
        ({"max_epochs": True}, "max_epochs is True"),
        ({"patience": 0}, "patience is 0"),
        ({"dropout": 1}, "dropout is 1"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"learning_rate": np.nan}, "learning_rate is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "x"}, "seed is 'x'"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        regressor("network", **options)


WITHOUT_TORCH = """
import pickle, sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, NotInstalled())
from wordclass import MissingExtraError
from wordclass.embedding.unseen_terms import regressor
assert regressor("ridge").fit([[0], [1]], [[0], [1]]).predict([[1]]).shape == (1, 1)
fitted = pickle.load(open(sys.argv[1], "rb"))
assert fitted.predict([[0.0] * 5]).shape == (1, 3)
for try_it in (lambda: regressor("network"), lambda: fitted.fit([[0], [1]], [[0], [1]])):
    try:
        try_it()
    except MissingExtraError as error:
        assert "pip install 'wordclass[networks]'" in str(error), error
    else:
        raise SystemExit("no error")
"""


def test_without_torch_it_predicts_still_and_says_what_is_missing_to_learn(fitted, tmp_path):
    (tmp_path / "fitted").write_bytes(pickle.dumps(fitted))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "fitted")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_torch_is_imported_only_when_the_network_is_used():
    code = (
        "import sys; from wordclass import catalogue, EmbeddingMatrix; "
        "from wordclass.embedding.unseen_terms import regressor; catalogue.names('regressors'); "
        "regressor('ridge').fit([[0], [1]], [[0], [1]]); print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"
