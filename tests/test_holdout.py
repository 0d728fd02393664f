import numpy as np
import pytest

from wordclass.errors import InputError
from wordclass.holdout import Holdout

TEXTS = [f"text {k}" for k in range(5_000)]


def test_about_that_share_is_kept_aside_and_always_the_same():
    for share in (0.05, 0.2, 0.9):
        is_aside = Holdout(share).contains(TEXTS)
        assert is_aside.mean() == pytest.approx(share, abs=0.02)
        np.testing.assert_array_equal(Holdout(share).contains(TEXTS[::-1]), is_aside[::-1])


def test_a_larger_share_keeps_the_same_and_more_aside():
    assert not (Holdout(0.1).contains(TEXTS) & ~Holdout(0.3).contains(TEXTS)).any()


def test_another_seed_keeps_others_aside():
    both = Holdout(0.2, seed=1).contains(TEXTS) & Holdout(0.2, seed=2).contains(TEXTS)
    assert both.mean() == pytest.approx(0.04, abs=0.02)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(InputError, match=r"holdout is .*; expected a number above 0 to below 1"):
        Holdout(share)
