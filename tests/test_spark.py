"""Stages of a `pyspark.ml` pipeline."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc

pytestmark = [
    pytest.mark.xdist_group("clusters"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]


@pytest.fixture
def frame(spark_session):
    texts, labels = corpus(90)
    rows = [*zip(range(90), texts, labels, strict=True)]
    return spark_session.createDataFrame(rows, "id long, body string, topic string").repartition(3)


def by_id(table, column):
    rows = table.select("id", column).collect()
    return [row[1] for row in sorted(rows, key=lambda row: row[0])]


def test_embeddings_and_a_classifier_are_stages_of_a_pipeline(frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    texts, labels = corpus(90)
    embeddings = wc.spark.WordClassEmbeddings(
        textCol="body", labelCol="topic", outputCol="vectors", min_docs=2, shrinkage=2.0
    )
    classifier = wc.spark.TextClassifier(
        classifier="nearest", textCol="body", labelCol="topic", probabilityCol="shares", min_docs=2
    )
    path = str(tmp_path / "pipeline")
    Pipeline(stages=[embeddings, classifier]).write().save(path)
    fitted = Pipeline.load(path).fit(frame)
    whole = wc.WordClassEmbeddings(min_docs=2, shrinkage=2.0).fit(texts, labels)
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    for each in (fitted, PipelineModel.load(str(tmp_path / "fitted"))):
        made = each.transform(frame).cache()
        assert made.columns == ["id", "body", "topic", "vectors", "prediction", "shares"]
        vectors = [vector.toArray() for vector in by_id(made, "vectors")]
        np.testing.assert_allclose(vectors, whole.transform(texts), rtol=1e-6, atol=1e-6)
        assert by_id(made, "prediction") == model.predict(texts).tolist()
        shares = [vector.toArray() for vector in by_id(made, "shares")]
        np.testing.assert_allclose(shares, model.predict_proba(texts), rtol=1e-9)
    assert fitted.stages[1].classes == ["garden", "music", "space"]


def test_labels_may_be_numbers_or_lists(spark_session):
    texts, labels = multilabel_corpus(60)
    rows = [*zip(range(60), texts, labels, strict=True)]
    table = spark_session.createDataFrame(rows, "id long, text string, label array<string>")
    stage = wc.spark.TextClassifier(classifier="nearest", probabilityCol="")
    made = stage.fit(table).transform(table)
    expected = wc.classifier("nearest").fit(texts, labels).predict(texts)
    assert [tuple(each) for each in by_id(made, "prediction")] == expected
    assert made.columns == ["id", "text", "label", "prediction"]

    texts, labels = corpus(60)
    numbers = [float(["space", "garden", "music"].index(each)) for each in labels]
    rows = [*zip(range(60), texts, numbers, strict=True)]
    table = spark_session.createDataFrame(rows, "id long, text string, label double")
    made = wc.spark.TextClassifier(classifier="nearest").fit(table).transform(table)
    assert dict(made.dtypes)["prediction"] == "double"
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator

    assert MulticlassClassificationEvaluator(metricName="accuracy").evaluate(made) > 0.9


def test_a_model_of_a_folder_is_a_stage(frame, tmp_path):
    texts, labels = corpus(90)
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    model.save(tmp_path / "model")
    stage = wc.spark.TextClassifierModel.of(str(tmp_path / "model"), textCol="body")
    assert by_id(stage.transform(frame), "prediction") == model.predict(texts).tolist()


def test_mistakes_are_told_in_one_line(frame):
    with pytest.raises(TypeError, match="no_such"):
        wc.spark.WordClassEmbeddings(no_such=1)
    with pytest.raises(wc.InputError, match="no_such"):
        wc.spark.TextClassifier(no_such=1)
    stage = wc.spark.TextClassifierModel.of(
        wc.classifier("nearest").fit(*corpus(30)), textCol="body", predictionCol="topic"
    )
    with pytest.raises(wc.InputError, match="already has a column 'topic'"):
        stage.transform(frame)
    wrong = wc.spark.WordClassEmbeddings(textCol="body", labelCol="id", min_docs=1000)
    with pytest.raises(wc.InputError, match="no term is left"):
        wrong.fit(frame)
