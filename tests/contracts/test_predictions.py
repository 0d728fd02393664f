"""The same text has the same labels and probabilities, whichever way it is predicted."""

import asyncio
import json
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass import catalogue

_NETWORK = {"max_epochs": 2, "batch_size": 20, "lr": 0.02, "max_length": 12, "seed": 1}
OPTIONS = {
    "attention": {**_NETWORK, "hidden": 4},
    "cnn": {**_NETWORK, "channels": 4, "windows": (2,)},
    "fasttext": {"epochs": 5, "random_dims": 4},
    "leam": {**_NETWORK, "window": 3},
    "lstm": {**_NETWORK, "hidden": 4},
    "linear": {"C": 1.0, "ngrams": (1, 1), "shrinkage": 5.0},
    "tree": {"hierarchy": {"space": "sky", "garden": "life", "music": "life"}},
}
TASKS = ["single", "multilabel", "matrix"]
MODELS = [(name, task) for name in catalogue.names("classifiers") for task in TASKS]
TEXTS = [
    "the moon in orbit",
    "roses, soil and a seed: rose rose 12",
    "moon rose guitar",
    "moon rose",
    "guitar",
    "",
    "zzz qqq unheard",
    "МАМА 妈妈 moon\u2028rose © Ünïcode",
]
every_model = pytest.mark.parametrize(("name", "task"), MODELS)
ROUNDED = 1e-6  # what answers in JSON are rounded to


def skewed_corpus():
    """Return documents of which few are of the class "music".

    The class with the highest score need not be the most probable one then.
    """
    pairs = [
        (text, label)
        for number, (text, label) in enumerate(zip(*corpus(90), strict=True))
        if label != "music" or number % 9 == 2
    ]
    return [text for text, _ in pairs], [label for _, label in pairs]


@cache
def fitted(name, task):
    """Return a small model, fitted once."""
    for package in catalogue.entry("classifiers", name).make.packages:
        pytest.importorskip(package.removesuffix("-community"))
    texts, labels = skewed_corpus() if task == "single" else multilabel_corpus(60)
    if task == "matrix":
        names = ["space", "music", "garden"]
        Y = np.array([[int(column in own) for column in names] for own in labels])
        model = wc.classifier(name, min_docs=2, **OPTIONS.get(name, {}))
        return model.fit(texts, Y, class_names=names)
    return wc.classifier(name, min_docs=2, **OPTIONS.get(name, {})).fit(texts, labels)


def predicted_lists(model):
    """Return the labels that `predict` gives to each text, as sorted lists."""
    labels = model.predict(TEXTS)
    if model.codeframe_.kind == "single":
        return [[label] for label in labels.tolist()]
    if model.codeframe_.kind == "multilabel":
        return [[*own] for own in labels]
    names = [model.classes_[column] for column in model.codeframe_.matrix_columns]
    return [
        sorted(name for name, is_own in zip(names, row, strict=True) if is_own) for row in labels
    ]


def check_best(model, results):
    """Check the best classes of each text: pairs of a label and a probability, best first."""
    probabilities = model.predict_proba(TEXTS)
    lists = predicted_lists(model)
    for best, own, labels in zip(results, probabilities, lists, strict=True):
        assert sorted(label for label, _ in best) == model.classes_.tolist()
        if model.codeframe_.kind == "single":
            assert [best[0][0]] == labels
            best_others = best[1:]
        else:
            best_others = best
        values = [value for _, value in best_others]
        assert values == sorted(values, reverse=True)
        columns = [model.codeframe_.column(label) for label, _ in best]
        np.testing.assert_allclose([value for _, value in best], own[columns], atol=ROUNDED)


@every_model
def test_python(name, task):
    model = fitted(name, task)
    predictions = model.predictions(TEXTS)
    assert [*map(str, predictions.labels)] == [*map(str, model.predict(TEXTS))]
    assert type(predictions.labels) is type(model.predict(TEXTS))
    assert predictions.label_lists == predicted_lists(model)
    np.testing.assert_array_equal(predictions.scores, model.class_scores(TEXTS))
    np.testing.assert_array_equal(predictions.probabilities, model.predict_proba(TEXTS))
    assert len(predictions) == len(TEXTS)
    check_best(model, predictions.top(99))
    assert predictions.top(1) == [best[:1] for best in predictions.top(3)]
    (blocks,) = model.prediction_blocks(TEXTS)
    np.testing.assert_array_equal(blocks.decisions, predictions.decisions)
    for number, text in enumerate(TEXTS):
        alone = model.predictions([text])
        assert alone.label_lists == predictions.label_lists[number : number + 1]
        assert set(model.explanation(text).predicted) == {*alone.label_lists[0]}
        np.testing.assert_allclose(
            alone.probabilities, predictions.probabilities[[number]], rtol=1e-5, atol=1e-6
        )
    assert len(model.predictions([]).labels) == 0


@every_model
def test_the_best_columns_are_those_of_all_scores(name, task):
    model = fitted(name, task)
    columns, scores = model.top_classes(TEXTS, 2)
    expected = model.class_scores(TEXTS)
    np.testing.assert_array_equal(columns, np.argsort(-expected, axis=1, kind="stable")[:, :2])
    np.testing.assert_array_equal(scores, np.take_along_axis(expected, columns, axis=1))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folders of models, each saved once."""

    @cache
    def save(name, task):
        folder = tmp_path_factory.mktemp("models") / f"{name}-{task}"
        fitted(name, task).save(folder)
        return folder

    return save


@every_model
def test_the_command(name, task, saved, tmp_path, capsys, monkeypatch):
    pytest.importorskip("typer", reason="the extra 'typer' is not installed")
    from wordclass.cli import main

    model = fitted(name, task)
    data = tmp_path / "docs.jsonl"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    results = {}
    for k in (None, 3):
        options = [] if k is None else ["-k", str(k)]
        arguments = ["wordclass", "predict", str(saved(name, task)), str(data), "--json", *options]
        monkeypatch.setattr("sys.argv", arguments)
        with suppress(SystemExit):
            main.main()
        results[k] = json.loads(capsys.readouterr().out)["predictions"]
    assert [row["labels"] for row in results[None]] == predicted_lists(model)
    assert [row["labels"] for row in results[3]] == predicted_lists(model)
    for row in results[None]:
        assert sorted(row["scores"]) == row["labels"]
    check_best(model, [[*row["scores"].items()] for row in results[3]])


@every_model
def test_the_explorer_and_the_service(name, task, saved):
    from wordclass.explorer.views import Exploration

    model = wc.load(saved(name, task))
    views = Exploration(model)
    assert views.has_probabilities
    facts = views.predict(TEXTS, 3)
    check_best(model, [[(row["label"], row["probability"]) for row in rows] for rows in facts])
    scores = [[row["score"] for row in rows] for rows in facts]
    columns = [[model.codeframe_.column(row["label"]) for row in rows] for rows in facts]
    expected = np.take_along_axis(model.class_scores(TEXTS), np.array(columns), axis=1)
    np.testing.assert_allclose(scores, expected, atol=ROUNDED)
    assert ask_service(views, TEXTS) == facts


def ask_service(views, texts):
    """Return the answer of a service to a request for the three best classes."""
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("starlette", reason="the extra 'serve' is not installed")
    from wordclass.serving.app import Service

    async def ask():
        transport = httpx.ASGITransport(Service({"m": views}))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/models/m/predict", json={"texts": texts, "k": 3})

    return asyncio.run(ask()).json()["results"]


@every_model
def test_dask(name, task):
    frames = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    pandas = pytest.importorskip("pandas")
    frame = frames.from_pandas(pandas.DataFrame({"text": TEXTS}), npartitions=2)
    model = fitted(name, task)
    result = wc.dask.predict(model, frame, probability="p").compute(scheduler="synchronous")
    assert [*map(str, result["prediction"])] == [*map(str, model.predict(TEXTS))]
    expected = model.predict_proba(TEXTS)
    np.testing.assert_allclose(result.iloc[:, 2:], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.xdist_group("clusters")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
def test_spark(spark_session):
    table = spark_session.createDataFrame([*enumerate(TEXTS)], "id long, text string").coalesce(1)
    # a transformation takes a second, so several labels are left to the quick classifiers
    quick = [("linear", "multilabel"), ("nearest", "multilabel"), ("tree", "multilabel")]
    for name, task in [(name, "single") for name in catalogue.names("classifiers")] + quick:
        model = fitted(name, task)
        rows = wc.spark.TextClassifierModel.of(model).transform(table).collect()
        rows.sort(key=lambda row: row["id"])
        labels = [row["prediction"] for row in rows]
        if task == "single":
            labels = [[label] for label in labels]
        assert labels == predicted_lists(model), (name, task)
        probabilities = [row["probability"].toArray() for row in rows]
        expected = model.predict_proba(TEXTS)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-6)
