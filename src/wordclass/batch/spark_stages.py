"""Word-class embeddings and classifiers as stages of a `pyspark.ml` pipeline: `wordclass.spark`.

This module is imported on first use and needs the extra `spark`. `WordClassEmbeddings` and
`TextClassifier` are Estimators whose `fit` processes the partitions of a DataFrame. They return
Models whose `transform` adds columns to a DataFrame. A saved stage contains a saved model of
wordclass.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasOutputCol,
    HasPredictionCol,
    HasProbabilityCol,
)
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType, StringType, StructType

from wordclass import catalogue
from wordclass.batch.spark_saving import HasOptions, HasTextCol, SavedStage
from wordclass.classifiers import factory
from wordclass.decision.predictions import Predictions
from wordclass.embedding import estimator
from wordclass.engines.spark import Spark
from wordclass.errors import InputError
from wordclass.storage import models

__all__ = [
    "TextClassifier",
    "TextClassifierModel",
    "WordClassEmbeddings",
    "WordClassEmbeddingsModel",
]

# --- embeddings -----------------------------------------------------------------------------------


class WordClassEmbeddings(
    Estimator["WordClassEmbeddingsModel"], HasOptions, HasOutputCol, SavedStage
):
    """Estimator that learns word-class embeddings from a DataFrame.

    Parameters
    ----------
    textCol : str, default="text"
        Column of texts.
    labelCol : str, default="label"
        Column of labels: strings, whole numbers (also as doubles), or arrays of either.
    outputCol : str, default="features"
        New column with the features of each text.
    **options
        Options of `wordclass.WordClassEmbeddings`.

    See Also
    --------
    wordclass.WordClassEmbeddings : The estimator without Spark.

    Examples
    --------
    >>> from wordclass import spark
    >>> stage = spark.WordClassEmbeddings(textCol="review", min_docs=1)
    >>> stage.getTextCol(), stage.getOutputCol()
    ('review', 'features')
    """

    def __init__(
        self,
        *,
        textCol: str = "text",
        labelCol: str = "label",
        outputCol: str = "features",
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__()
        estimator.WordClassEmbeddings(**options)  # refuses unknown options
        columns = {"textCol": textCol, "labelCol": labelCol, "outputCol": outputCol}
        self._set(**columns, options=json.dumps(options))

    def _fit(self, dataset: DataFrame) -> "WordClassEmbeddingsModel":
        engine = Spark(session=dataset.sparkSession)
        embeddings = estimator.WordClassEmbeddings(**self.getOptions())
        embeddings.fit_parts(self._corpus(dataset), engine=engine)
        return self._copyValues(WordClassEmbeddingsModel(embeddings))


class WordClassEmbeddingsModel(Model, HasTextCol, HasLabelCol, HasOutputCol, SavedStage):
    """Model that adds the features of texts to a DataFrame.

    Parameters
    ----------
    embeddings : wordclass.WordClassEmbeddings, optional
        The fitted embeddings. By default there are none until `load_model` is called.

    Examples
    --------
    >>> import wordclass as wc
    >>> from wordclass import spark
    >>> embeddings = wc.WordClassEmbeddings(min_docs=1)
    >>> _ = embeddings.fit(["red apple", "blue sky"], ["food", "air"])
    >>> spark.WordClassEmbeddingsModel(embeddings).embeddings.min_docs
    1
    """

    options = HasOptions.options

    def __init__(self, embeddings: estimator.WordClassEmbeddings | None = None) -> None:
        super().__init__()
        self.embeddings: Any = embeddings

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        columns = {output: ArrayType(FloatType())}
        add = _make_column_adder(
            dataset, self.embeddings, self.getTextCol(), _compute_features, columns
        )
        frame = dataset.mapInArrow(add, _extend_schema(dataset.schema, columns))
        return frame.withColumn(output, array_to_vector(frame[output]))

    def save_model(self, path: Path) -> None:
        """Write the embeddings to a file.

        Parameters
        ----------
        path : Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> embeddings = wc.WordClassEmbeddings(min_docs=1)
        >>> _ = embeddings.fit(["red apple", "blue sky"], ["food", "air"])
        >>> path = Path(tempfile.mkdtemp(), "embeddings")
        >>> spark.WordClassEmbeddingsModel(embeddings).save_model(path)
        >>> path.exists()
        True
        """
        self.embeddings.save(path)

    def load_model(self, path: Path) -> None:
        """Read the embeddings from a file.

        Parameters
        ----------
        path : Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> embeddings = wc.WordClassEmbeddings(min_docs=1)
        >>> _ = embeddings.fit(["red apple", "blue sky"], ["food", "air"])
        >>> path = Path(tempfile.mkdtemp(), "embeddings")
        >>> embeddings.save(path)
        >>> stage = spark.WordClassEmbeddingsModel()
        >>> stage.load_model(path)
        >>> stage.embeddings.min_docs
        1
        """
        self.embeddings = estimator.WordClassEmbeddings.load(path)


# --- classifiers ----------------------------------------------------------------------------------


class _Predicts(HasPredictionCol, HasProbabilityCol):
    """A stage with a column of predicted labels and one of probabilities."""

    numericLabels: Param[bool] = Param(  # noqa: N815
        Params._dummy(), "numericLabels", "labels are doubles", TypeConverters.toBoolean
    )


class TextClassifier(Estimator["TextClassifierModel"], HasOptions, _Predicts, SavedStage):
    """Estimator that learns a classifier of texts from a DataFrame.

    The executors read the texts and compute X, and the driver learns from it.

    Parameters
    ----------
    classifier : str, default="linear"
        Name of the classifier, as in `wordclass.classifier`.
    textCol : str, default="text"
        Column of texts.
    labelCol : str, default="label"
        Column of labels: strings, whole numbers (also as doubles), or arrays of strings or whole
        numbers.
    predictionCol : str, default="prediction"
        New column of predicted labels, with the type of the training labels.
    probabilityCol : str, default="probability"
        New column with the probability of each class in the order of `classes`. With "" there
        is none.
    folder : str, optional
        Folder for texts and X during training, which driver and executors must reach. By default
        the folder for temporary files, which is sufficient if Spark runs on one machine.
    **options
        Options of the classifier.

    See Also
    --------
    wordclass.classifier : The classifiers without Spark.

    Examples
    --------
    >>> from wordclass import spark
    >>> stage = spark.TextClassifier(classifier="nearest", textCol="review", min_docs=1)
    >>> stage.getTextCol(), stage.getPredictionCol()
    ('review', 'prediction')
    """

    classifier: Param[str] = Param(
        Params._dummy(), "classifier", "name of the classifier", TypeConverters.toString
    )
    folder: Param[str] = Param(
        Params._dummy(), "folder", "folder for texts during training", TypeConverters.toString
    )

    def __init__(
        self,
        *,
        classifier: str = "linear",
        textCol: str = "text",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        folder: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__()
        factory.check_options(classifier, options, {})
        columns = {"textCol": textCol, "labelCol": labelCol, "predictionCol": predictionCol}
        self._set(
            **columns,
            probabilityCol=probabilityCol,
            classifier=classifier,
            folder=folder or "",
            options=json.dumps(options),
        )

    def _fit(self, dataset: DataFrame) -> "TextClassifierModel":
        engine = Spark(session=dataset.sparkSession)
        classifier = factory.classifier(self.getOrDefault(self.classifier), **self.getOptions())
        folder = self.getOrDefault(self.folder) or None
        classifier.fit_parts(self._corpus(dataset), engine=engine, folder=folder)
        kind = dataset.schema[self.getLabelCol()].dataType
        model = self._copyValues(TextClassifierModel(classifier))
        return model._set(numericLabels=isinstance(kind, DoubleType | FloatType))


class TextClassifierModel(Model, HasTextCol, HasLabelCol, _Predicts, SavedStage):
    """Model that adds labels and probabilities to a DataFrame of texts.

    Parameters
    ----------
    model : classifier, optional
        A fitted classifier. By default there is none until `load_model` is called.

    Examples
    --------
    >>> import wordclass as wc
    >>> from wordclass import spark
    >>> model = wc.classifier("nearest", min_docs=1)
    >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
    >>> spark.TextClassifierModel(model).classes
    ['air', 'food']
    """

    options = HasOptions.options
    classifier = TextClassifier.classifier
    folder = TextClassifier.folder

    def __init__(self, model: Any = None) -> None:  # noqa: ANN401 - a classifier
        super().__init__()
        self.model = model

    @classmethod
    def of(
        cls,
        model: Any,  # noqa: ANN401 - a classifier, or its folder
        *,
        textCol: str = "text",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
    ) -> "TextClassifierModel":
        """Make a stage from a fitted classifier.

        Parameters
        ----------
        model : classifier or path-like
            A fitted classifier or the folder of a saved one.
        textCol : str, default="text"
            Column of texts.
        predictionCol : str, default="prediction"
            New column of predicted labels.
        probabilityCol : str, default="probability"
            New column with the probability of each class.

        Returns
        -------
        TextClassifierModel
            The stage.

        Examples
        --------
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> spark.TextClassifierModel.of(model, textCol="review").getTextCol()
        'review'
        """
        loaded = models.load(model) if isinstance(model, str | Path) else model
        columns = {"textCol": textCol, "predictionCol": predictionCol}
        return cls(loaded)._set(**columns, probabilityCol=probabilityCol, numericLabels=False)

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the probabilities.

        Examples
        --------
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> spark.TextClassifierModel.of(model).classes
        ['air', 'food']
        """
        return list(self.model.classes_.tolist())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        prediction = self.getPredictionCol()
        probability = self.getProbabilityCol()
        is_multilabel = self.model.codeframe_.is_multilabel
        is_number = not isinstance(self.classes[0], str)
        label: Any = LongType() if is_number else StringType()
        if self.getOrDefault(self.numericLabels):
            label = DoubleType()
        columns: dict[str, Any] = {prediction: ArrayType(label) if is_multilabel else label}
        if probability:
            columns[probability] = ArrayType(DoubleType())
        compute = _predict_with_probabilities if probability else _predict_labels
        add = _make_column_adder(dataset, self.model, self.getTextCol(), compute, columns)
        frame = dataset.mapInArrow(add, _extend_schema(dataset.schema, columns))
        if not probability:
            return frame
        return frame.withColumn(probability, array_to_vector(frame[probability]))

    def save_model(self, path: Path) -> None:
        """Write the folder of the model.

        Parameters
        ----------
        path : Path
            The folder.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> path = Path(tempfile.mkdtemp(), "model")
        >>> spark.TextClassifierModel(model).save_model(path)
        >>> path.exists()
        True
        """
        self.model.save(path)

    def load_model(self, path: Path) -> None:
        """Read the folder of the model.

        Parameters
        ----------
        path : Path
            The folder.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> from wordclass import spark
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> path = Path(tempfile.mkdtemp(), "model")
        >>> model.save(path)
        >>> stage = spark.TextClassifierModel()
        >>> stage.load_model(path)
        >>> stage.classes
        ['air', 'food']
        """
        self.model = models.load(path)


# --- functions that run on the executors ----------------------------------------------------------


def _extend_schema(schema: StructType, columns: dict[str, Any]) -> StructType:
    """Return a schema with new columns, and refuse to replace an existing one."""
    for name in columns:
        if name in schema.names:
            raise InputError(
                f"the DataFrame already has a column {name!r}",
                hint="choose another name for the new column",
            )
    extended = StructType([*schema.fields])
    for name, kind in columns.items():
        extended.add(name, kind)
    return extended


def _make_column_adder(
    dataset: DataFrame,
    model: Any,  # noqa: ANN401 - a fitted estimator
    text_column: str,
    compute: Callable[[Any, list[str]], list[Any]],
    columns: dict[str, Any],
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that adds columns to batches of Arrow. The model is sent once."""
    if model is None:
        raise InputError("this model is not fitted", hint="call fit or load first")
    shared = dataset.sparkSession.sparkContext.broadcast(model)

    def add(batches: Iterable[Any]) -> Iterator[Any]:
        arrow: Any = catalogue.import_extra("pyarrow", "for wordclass.spark", "spark")
        for batch in batches:
            texts = [text or "" for text in batch.column(text_column).to_pylist()]
            values = compute(shared.value, texts)
            arrays = [
                arrow.array(column, _arrow_type(arrow, kind))
                for column, kind in zip(values, columns.values(), strict=True)
            ]
            names = [*batch.schema.names, *columns]
            yield arrow.RecordBatch.from_arrays([*batch.columns, *arrays], names=names)

    return add


def _arrow_type(arrow: Any, kind: Any) -> Any:  # noqa: ANN401 - a module, and types
    if isinstance(kind, ArrayType):
        return arrow.list_(_arrow_type(arrow, kind.elementType))
    names = {"string": "string", "bigint": "int64", "double": "float64", "float": "float32"}
    return getattr(arrow, names[kind.simpleString()])()


def _compute_features(embeddings: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    return [embeddings.transform(texts).tolist()]


def _predict_labels(model: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    return [_labels(model.predictions(texts))]


def _predict_with_probabilities(model: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    predictions: Predictions = model.predictions(texts)
    return [_labels(predictions), predictions.probabilities.tolist()]


def _labels(predictions: Predictions) -> list[Any]:
    """Return a label per text, or a list of labels in a multilabel task."""
    lists = predictions.label_lists
    return lists if predictions.codeframe.is_multilabel else [label for (label,) in lists]
