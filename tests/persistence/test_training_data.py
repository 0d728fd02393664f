import numpy as np

from wordclass.persistence import TrainingData


def test_the_fingerprint_does_not_depend_on_the_order_but_on_every_text():
    one = TrainingData.of(["a", "b", "b"])
    assert one.n_docs == 3
    assert one.fingerprint == TrainingData.of(["b", "a", "b"]).fingerprint
    assert one.fingerprint != TrainingData.of(["a", "b"]).fingerprint
    assert one.fingerprint != TrainingData.of(["a", "b", "c"]).fingerprint
    assert (np.diff(one.fingerprints.astype(object)) >= 0).all()


def test_shared_texts_are_counted_and_blank_ones_are_not():
    known = TrainingData.of(["moon", "rose", "", "\ud800"])
    assert known.n_shared(["moon", "moon", "sun", "", "  ", "\ud800"]) == 3
    assert known.n_shared([]) == 0
