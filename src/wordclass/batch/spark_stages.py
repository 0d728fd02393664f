"""Word-class embeddings and classifiers as stages of a `pyspark.ml` pipeline: `wordclass.spark`.

Imported on first use; needs the extra `spark`. `WordClassEmbeddings` and `TextClassifier` are
Estimators, whose `fit` works on the partitions of a DataFrame; what they return are Models, whose
`transform` adds columns to one (`mapInArrow`). Both are saved around wordclass's own files.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasOutputCol,
    HasPredictionCol,
    HasProbabilityCol,
)
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType, StringType, StructType

from wordclass import catalogue
from wordclass.classifiers import factory
from wordclass.corpus.shards import ShardedCorpus
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

_LEARNED = "learned"  # what wordclass wrote, inside the folder of a stage


class HasTextCol(Params):
    """A stage that reads a column of texts."""

    textCol: Param[str] = Param(  # noqa: N815 - as pyspark.ml has it
        Params._dummy(), "textCol", "column of texts", TypeConverters.toString
    )

    def getTextCol(self) -> str:  # noqa: N802
        """Return the name of the column of texts."""
        return str(self.getOrDefault(self.textCol))

    def setTextCol(self, value: str) -> Self:  # noqa: N802
        """Name the column of texts."""
        return self._set(textCol=value)


class HasOptions(HasTextCol, HasLabelCol):
    """A stage that learns, by the options of the class that it stands for."""

    options: Param[str] = Param(
        Params._dummy(), "options", "options, as JSON", TypeConverters.toString
    )

    def getOptions(self) -> dict[str, Any]:  # noqa: N802
        """Return the options."""
        found: dict[str, Any] = json.loads(self.getOrDefault(self.options))
        return {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Name the column of labels."""
        return self._set(labelCol=value)

    def _corpus(self, dataset: DataFrame) -> ShardedCorpus:
        """Return the texts and labels of a DataFrame as a corpus in parts."""
        text, label = self.getTextCol(), self.getLabelCol()
        labels = functions.col(label)
        if isinstance(dataset.schema[label].dataType, DoubleType | FloatType):
            told = f"column {label!r} holds a number that is not whole; expected classes"
            is_whole = labels == functions.floor(labels)
            refused = functions.raise_error(told).cast("long")
            labels = functions.when(is_whole, labels.cast("long")).otherwise(refused)
        table = dataset.select(functions.col(text), labels.alias(label))
        return ShardedCorpus.of(table, text_field=text, label_field=label)  # type: ignore[arg-type]


# --- how stages are saved -------------------------------------------------------------------------


class _Writer(MLWriter):
    """Writes the parameters of a stage as Spark does, and beside them what was learned."""

    def __init__(self, stage: Any) -> None:  # noqa: ANN401 - a stage
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write to a path of any file system that Spark reaches."""
        DefaultParamsWriter.saveMetadata(self._stage, path, self.sparkSession)
        if not hasattr(self._stage, "save_learned"):
            return
        with TemporaryDirectory(prefix="wordclass-") as folder:
            made = Path(folder, _LEARNED)
            self._stage.save_learned(made)
            source, target = _hadoop_path(made.as_uri()), _hadoop_path(f"{path}/{_LEARNED}")
            _file_system(target).copyFromLocalFile(False, True, source, target)


class _Reader(MLReader[Any]):
    """Reads what `_Writer` wrote."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a class of stages
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:  # noqa: ANN401 - a stage
        """Read from a path of any file system that Spark reaches."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        stage = self._kind()
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        if hasattr(stage, "load_learned"):
            with TemporaryDirectory(prefix="wordclass-") as folder:
                place = Path(folder, _LEARNED)
                source, target = _hadoop_path(f"{path}/{_LEARNED}"), _hadoop_path(place.as_uri())
                # without checksums of Hadoop's beside the files, which have their own
                _file_system(source).copyToLocalFile(False, source, target, True)
                stage.load_learned(place)
        return stage


class _Stage(MLReadable[Any], MLWritable):
    """A stage that can be saved, alone or in a pipeline."""

    def write(self) -> MLWriter:
        """Return what saves this stage."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return what loads such a stage."""
        return _Reader(cls)


def _java() -> Any:  # noqa: ANN401 - the other side of py4j
    return SparkSession.builder.getOrCreate().sparkContext._jvm


def _hadoop_path(path: str) -> Any:  # noqa: ANN401
    return _java().org.apache.hadoop.fs.Path(path)


def _file_system(path: Any) -> Any:  # noqa: ANN401
    context: Any = SparkSession.builder.getOrCreate().sparkContext
    return path.getFileSystem(context._jsc.hadoopConfiguration())


# --- embeddings -----------------------------------------------------------------------------------


class WordClassEmbeddings(Estimator["WordClassEmbeddingsModel"], HasOptions, HasOutputCol, _Stage):
    """Learns word-class embeddings from a DataFrame.

    Parameters
    ----------
    textCol : str, default="text"
        Column of texts.
    labelCol : str, default="label"
        Column of labels: strings, whole numbers (also as doubles), or arrays of either.
    outputCol : str, default="features"
        Column of vectors that the model adds: the features of each text.
    **options
        Those of `wordclass.WordClassEmbeddings`.
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
        estimator.WordClassEmbeddings(**options)  # refuses what it does not know
        columns = {"textCol": textCol, "labelCol": labelCol, "outputCol": outputCol}
        self._set(**columns, options=json.dumps(options))

    def _fit(self, dataset: DataFrame) -> "WordClassEmbeddingsModel":
        engine = Spark(session=dataset.sparkSession)
        learned = estimator.WordClassEmbeddings(**self.getOptions())
        learned.fit_parts(self._corpus(dataset), engine=engine)
        return self._copyValues(WordClassEmbeddingsModel(learned))


class WordClassEmbeddingsModel(Model, HasTextCol, HasLabelCol, HasOutputCol, _Stage):
    """Adds the features of texts, by embeddings that were learned.

    Attributes
    ----------
    embeddings : wordclass.WordClassEmbeddings
    """

    options = HasOptions.options

    def __init__(self, embeddings: estimator.WordClassEmbeddings | None = None) -> None:
        super().__init__()
        self.embeddings: Any = embeddings

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        added = {output: ArrayType(FloatType())}
        add = _adding(dataset, self.embeddings, self.getTextCol(), _features, added)
        made = dataset.mapInArrow(add, _extended(dataset.schema, added))
        return made.withColumn(output, array_to_vector(made[output]))

    def save_learned(self, path: Path) -> None:
        """Write the embeddings."""
        self.embeddings.save(path)

    def load_learned(self, path: Path) -> None:
        """Read the embeddings."""
        self.embeddings = estimator.WordClassEmbeddings.load(path)


# --- classifiers ----------------------------------------------------------------------------------


class _Predicts(HasPredictionCol, HasProbabilityCol):
    """A stage that names a column of labels and one of probabilities."""

    numericLabels: Param[bool] = Param(  # noqa: N815
        Params._dummy(), "numericLabels", "labels are doubles", TypeConverters.toBoolean
    )


class TextClassifier(Estimator["TextClassifierModel"], HasOptions, _Predicts, _Stage):
    """Learns a classifier of texts from a DataFrame.

    The executors read the texts and make X; the driver learns from it (see
    `wordclass.classifiers`).

    Parameters
    ----------
    classifier : str, default="linear"
        Its name, as `wordclass.classifier` has it.
    textCol : str, default="text"
        Column of texts.
    labelCol : str, default="label"
        Column of labels: strings, whole numbers (also as doubles), or arrays of strings or whole
        numbers.
    predictionCol : str, default="prediction"
        Column of labels that the model adds, of the type of the labels.
    probabilityCol : str, default="probability"
        Column of vectors that the model adds: how probable each class is, in the order of
        `classes`. "": none.
    folder : str, optional
        Where texts and X are kept while learning: driver and executors must reach it. By default
        the place for temporary files, which will do where Spark runs on one machine.
    **options
        Those of the classifier.
    """

    classifier: Param[str] = Param(
        Params._dummy(), "classifier", "name of the classifier", TypeConverters.toString
    )
    folder: Param[str] = Param(
        Params._dummy(), "folder", "where texts are kept while learning", TypeConverters.toString
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
        made = factory.classifier(self.getOrDefault(self.classifier), **self.getOptions())
        folder = self.getOrDefault(self.folder) or None
        made.fit_parts(self._corpus(dataset), engine=engine, folder=folder)
        kind = dataset.schema[self.getLabelCol()].dataType
        model = self._copyValues(TextClassifierModel(made))
        return model._set(numericLabels=isinstance(kind, DoubleType | FloatType))


class TextClassifierModel(Model, HasTextCol, HasLabelCol, _Predicts, _Stage):
    """Adds labels and probabilities to a DataFrame of texts.

    Attributes
    ----------
    model : classifier
        As `wordclass.classifier` made it, fitted.
    """

    options, classifier, folder = (
        HasOptions.options,
        TextClassifier.classifier,
        TextClassifier.folder,
    )

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
        """Make a stage of a classifier that was fitted anywhere, or of the folder it is in."""
        loaded = models.load(model) if isinstance(model, str | Path) else model
        columns = {"textCol": textCol, "predictionCol": predictionCol}
        return cls(loaded)._set(**columns, probabilityCol=probabilityCol, numericLabels=False)

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the probabilities."""
        return list(self.model.classes_.tolist())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        prediction, probability = self.getPredictionCol(), self.getProbabilityCol()
        is_multilabel = self.model.codeframe_.is_multilabel
        is_number = not isinstance(self.classes[0], str)
        label: Any = LongType() if is_number else StringType()
        if self.getOrDefault(self.numericLabels):
            label = DoubleType()
        added: dict[str, Any] = {prediction: ArrayType(label) if is_multilabel else label}
        if probability:
            added[probability] = ArrayType(DoubleType())
        predict = _predicted if probability else _predicted_alone
        add = _adding(dataset, self.model, self.getTextCol(), predict, added)
        made = dataset.mapInArrow(add, _extended(dataset.schema, added))
        if not probability:
            return made
        return made.withColumn(probability, array_to_vector(made[probability]))

    def save_learned(self, path: Path) -> None:
        """Write the folder of the model."""
        self.model.save(path)

    def load_learned(self, path: Path) -> None:
        """Read the folder of the model."""
        self.model = models.load(path)


# --- what runs on the executors -------------------------------------------------------------------


def _extended(schema: StructType, added: dict[str, Any]) -> StructType:
    """Return a schema with more columns; one that is there already is not replaced."""
    for name in added:
        if name in schema.names:
            raise InputError(f"the DataFrame has a column {name!r} already; name another one")
    extended = StructType([*schema.fields])
    for name, kind in added.items():
        extended.add(name, kind)
    return extended


def _adding(
    dataset: DataFrame,
    model: Any,  # noqa: ANN401 - what was learned
    text: str,
    columns_of: Callable[[Any, list[str]], list[Any]],
    added: dict[str, Any],
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return the function that adds columns to batches of Arrow; the model is sent once."""
    if model is None:
        raise InputError("this model was not fitted, and not loaded")
    shared = dataset.sparkSession.sparkContext.broadcast(model)

    def add(batches: Iterable[Any]) -> Iterator[Any]:
        arrow: Any = catalogue.import_extra("pyarrow", "for wordclass.spark", "spark")
        for batch in batches:
            texts = [each or "" for each in batch.column(text).to_pylist()]
            columns = columns_of(shared.value, texts)
            made = [
                arrow.array(column, _arrow_type(arrow, kind))
                for column, kind in zip(columns, added.values(), strict=True)
            ]
            names = [*batch.schema.names, *added]
            yield arrow.RecordBatch.from_arrays([*batch.columns, *made], names=names)

    return add


def _arrow_type(arrow: Any, kind: Any) -> Any:  # noqa: ANN401 - a module, and types
    if isinstance(kind, ArrayType):
        return arrow.list_(_arrow_type(arrow, kind.elementType))
    names = {"string": "string", "bigint": "int64", "double": "float64", "float": "float32"}
    return getattr(arrow, names[kind.simpleString()])()


def _features(embeddings: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    return [embeddings.transform(texts).tolist()]


def _predicted_alone(model: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    return [_labels(model.predictions(texts))]


def _predicted(model: Any, texts: list[str]) -> list[Any]:  # noqa: ANN401
    predictions: Predictions = model.predictions(texts)
    return [_labels(predictions), predictions.probabilities.tolist()]


def _labels(predictions: Predictions) -> list[Any]:
    """Return a label per text, or a list of labels in a multilabel task."""
    lists = predictions.label_lists
    return lists if predictions.codeframe.is_multilabel else [label for (label,) in lists]
