import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

from wordclass.errors import InputError
from wordclass.labels import encode
from wordclass.tuning.validation import Documents


def documents(texts, labels):
    return Documents(list(texts), encode(labels))


def share_of_each_class(part, whole):
    counts = [np.asarray(each.labels.Y.sum(axis=0)).ravel() for each in (part, whole)]
    return counts[0] / counts[1]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
def test_about_that_share_of_every_class_is_kept_to_validate(make, share):
    whole = documents(*make(600))
    train, validation = whole.split(share, seed=1)
    assert len(train.texts) + len(validation.texts) == 600
    assert len(validation.texts) / 600 == pytest.approx(share, abs=0.01)
    assert share_of_each_class(validation, whole) == pytest.approx(share, abs=0.05)


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), min_size=3),
    st.floats(0.01, 0.99),
)
def test_equal_texts_are_on_one_side_and_no_class_is_lost(pairs, share):
    whole = documents([text for text, _ in pairs], [label for _, label in pairs])
    try:
        train, validation = whole.split(share, seed=0)
    except InputError:  # too few documents
        return
    assert not set(train.texts) & set(validation.texts)
    assert len(train.texts) + len(validation.texts) == len(pairs)
    assert (np.asarray(train.labels.Y.sum(axis=0)) > 0).all()


def test_the_checksum_tells_documents_apart():
    texts, labels = corpus()
    own = documents(texts, labels).digest()
    assert documents(texts, labels).digest() == own
    assert documents(texts[::-1], labels[::-1]).digest() != own
    assert documents(["moon", *texts[1:]], labels).digest() != own
    assert documents(texts, [[label] for label in labels]).digest() != own
    assert documents(["a", "b"], ["\ud800", "x"]).digest()


def test_documents_of_which_none_can_be_spared_are_refused():
    with pytest.raises(InputError, match="2 documents are too few"):
        documents(["moon", "rose"], ["space", "garden"]).split(0.5, seed=0)


@pytest.mark.parametrize(("share", "expected"), [(0.001, 0.05), (0.02, 0.05), (0.999, 0.95)])
def test_a_share_near_0_or_1_is_made_the_nearest_there_is(share, expected):
    _, validation = documents(*corpus(600)).split(share, seed=1)
    assert len(validation.texts) / 600 == pytest.approx(expected, abs=0.01)
