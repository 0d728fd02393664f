from pathlib import Path

import pytest

from wordclass.datasets._documents import Document, to_dataset
from wordclass.errors import FormatError

ONE, TWO = Document("one", ["b", "a"]), Document("two", ["c"])


def test_classes_are_those_of_training_sorted():
    dataset = to_dataset("made_up", Path("x"), [ONE], [TWO], is_multilabel=True)
    assert dataset.classes == ["a", "b"]
    assert dataset.train.labels == [["b", "a"]]
    assert dataset.test.labels == [["c"]]
    assert dataset.name == "made_up"


def test_single_labels_are_no_lists():
    assert to_dataset("x", Path("x"), [TWO], [TWO], is_multilabel=False).test.labels == ["c"]


@pytest.mark.parametrize(("train", "test"), [([], [ONE]), ([ONE], [])])
def test_an_empty_part_is_refused(train, test):
    with pytest.raises(FormatError, match=r"corpus\.zip: there are no t\w+ documents of made_up"):
        to_dataset("made_up", Path("corpus.zip"), train, test, is_multilabel=True)
