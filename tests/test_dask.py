"""Predictions and features as lazy columns of Dask dataframes."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc

pytestmark = pytest.mark.xdist_group("clusters")


@pytest.fixture
def frame(dask_client):
    import dask.dataframe
    import pandas as pd

    texts, labels = corpus(60)
    table = pd.DataFrame({"body": texts, "topic": labels}, index=range(100, 160))
    return dask.dataframe.from_pandas(table, npartitions=3)


def test_predictions_are_lazy_columns(frame):
    texts, labels = corpus(60)
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    made = wc.dask.predict(model, frame, text_field="body", probability="p")
    assert made.npartitions == 3
    assert [*made.columns] == ["body", "topic", "prediction", "p garden", "p music", "p space"]
    found = made.compute()
    assert (found.dtypes == made.dtypes).all()
    assert found["prediction"].tolist() == model.predict(texts).tolist()
    np.testing.assert_array_equal(found.iloc[:, 3:], model.predict_proba(texts))
    assert found.index.tolist() == [*range(100, 160)]


def test_labels_may_be_tuples_or_numbers(frame):
    texts, _ = corpus(60)
    for labels in (multilabel_corpus(60)[1], [k % 2 for k in range(60)]):
        model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
        made = wc.dask.predict(model, frame, text_field="body")
        assert made.compute()["prediction"].tolist() == [*model.predict(texts)]


def test_features_are_lazy_columns(frame):
    texts, labels = corpus(60)
    wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    made = wc.dask.transform(wce, frame, text_field="body")
    assert [*made.columns] == ["body", "topic", "garden", "music", "space"]
    np.testing.assert_array_equal(made.compute().iloc[:, 2:], wce.transform(texts))


def test_columns_that_are_missing_or_taken_are_refused(frame):
    model = wc.classifier("nearest", min_docs=2).fit(*corpus(60))
    with pytest.raises(
        wc.InputError, match="no column 'text'; there are: 'body', 'topic'; use text_field="
    ):
        wc.dask.predict(model, frame)
    with pytest.raises(wc.InputError, match="already has a column 'topic'"):
        wc.dask.predict(model, frame, text_field="body", prediction="topic")
