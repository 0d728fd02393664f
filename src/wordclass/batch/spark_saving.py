"""What all Spark stages of wordclass share: columns, options, and how a stage is saved."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import DoubleType, FloatType

from wordclass.corpus.shards import ShardedCorpus

_MODEL_FOLDER = "learned"  # the saved model inside the folder of a stage


class HasTextCol(Params):
    """A stage that reads a column of texts."""

    textCol: Param[str] = Param(  # noqa: N815 - as pyspark.ml has it
        Params._dummy(), "textCol", "column of texts", TypeConverters.toString
    )

    def getTextCol(self) -> str:  # noqa: N802
        """Return the name of the column of texts.

        Returns
        -------
        str
            The name.

        Examples
        --------
        >>> from wordclass import spark
        >>> spark.TextClassifier(textCol="review").getTextCol()
        'review'
        """
        return str(self.getOrDefault(self.textCol))

    def setTextCol(self, value: str) -> Self:  # noqa: N802
        """Set the name of the column of texts.

        Parameters
        ----------
        value : str
            The name.

        Returns
        -------
        Self
            The stage itself.

        Examples
        --------
        >>> from wordclass import spark
        >>> spark.TextClassifier().setTextCol("review").getTextCol()
        'review'
        """
        return self._set(textCol=value)


class HasOptions(HasTextCol, HasLabelCol):
    """A stage that learns with the options of a wordclass estimator."""

    options: Param[str] = Param(
        Params._dummy(), "options", "options, as JSON", TypeConverters.toString
    )

    def getOptions(self) -> dict[str, Any]:  # noqa: N802
        """Return the options of the estimator.

        Returns
        -------
        dict
            The value of each option that was set, by name.

        Examples
        --------
        >>> from wordclass import spark
        >>> spark.WordClassEmbeddings(min_docs=1).getOptions()
        {'min_docs': 1}
        """
        options: dict[str, Any] = json.loads(self.getOrDefault(self.options))
        return {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the name of the column of labels.

        Parameters
        ----------
        value : str
            The name.

        Returns
        -------
        Self
            The stage itself.

        Examples
        --------
        >>> from wordclass import spark
        >>> spark.TextClassifier().setLabelCol("topic").getLabelCol()
        'topic'
        """
        return self._set(labelCol=value)

    def _corpus(self, dataset: DataFrame) -> ShardedCorpus:
        """Return the texts and labels of a DataFrame as a corpus in shards."""
        text = self.getTextCol()
        label = self.getLabelCol()
        labels = functions.col(label)
        if isinstance(dataset.schema[label].dataType, DoubleType | FloatType):
            message = f"column {label!r} holds a number that is not whole; expected classes"
            is_integer = labels == functions.floor(labels)
            error = functions.raise_error(message).cast("long")
            labels = functions.when(is_integer, labels.cast("long")).otherwise(error)
        table = dataset.select(functions.col(text), labels.alias(label))
        return ShardedCorpus.of(table, text_field=text, label_field=label)  # type: ignore[arg-type]


# --- how stages are saved -------------------------------------------------------------------------


class _Writer(MLWriter):
    """Writer of the parameters of a stage, as Spark does it, and of its model."""

    def __init__(self, stage: Any) -> None:  # noqa: ANN401 - a stage
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write to a path of any file system that Spark reaches."""
        DefaultParamsWriter.saveMetadata(self._stage, path, self.sparkSession)
        if not hasattr(self._stage, "save_model"):
            return
        with TemporaryDirectory(prefix="wordclass-") as folder:
            model_path = Path(folder, _MODEL_FOLDER)
            self._stage.save_model(model_path)
            source = _hadoop_path(model_path.as_uri())
            target = _hadoop_path(f"{path}/{_MODEL_FOLDER}")
            _file_system(target).copyFromLocalFile(False, True, source, target)


class _Reader(MLReader[Any]):
    """Reader of stages that `_Writer` wrote."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a class of stages
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:  # noqa: ANN401 - a stage
        """Read from a path of any file system that Spark reaches."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        stage = self._kind()
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        if hasattr(stage, "load_model"):
            with TemporaryDirectory(prefix="wordclass-") as folder:
                model_path = Path(folder, _MODEL_FOLDER)
                source = _hadoop_path(f"{path}/{_MODEL_FOLDER}")
                target = _hadoop_path(model_path.as_uri())
                # without checksum files of Hadoop, as the files have checksums of their own
                _file_system(source).copyToLocalFile(False, source, target, True)
                stage.load_model(model_path)
        return stage


class SavedStage(MLReadable[Any], MLWritable):
    """A stage that can be saved, alone or in a pipeline."""

    def write(self) -> MLWriter:
        """Return a writer that saves this stage.

        Returns
        -------
        MLWriter
            The writer.

        Examples
        --------
        >>> from pyspark.ml.util import MLWriter
        >>> from wordclass import spark
        >>> isinstance(spark.TextClassifier().write(), MLWriter)
        True
        """
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return a reader that loads a stage of this class.

        Returns
        -------
        MLReader
            The reader.

        Examples
        --------
        >>> from pyspark.ml.util import MLReader
        >>> from wordclass import spark
        >>> isinstance(spark.TextClassifier.read(), MLReader)
        True
        """
        return _Reader(cls)


def _java() -> Any:  # noqa: ANN401 - an object of py4j
    return SparkSession.builder.getOrCreate().sparkContext._jvm


def _hadoop_path(path: str) -> Any:  # noqa: ANN401
    return _java().org.apache.hadoop.fs.Path(path)


def _file_system(path: Any) -> Any:  # noqa: ANN401
    context: Any = SparkSession.builder.getOrCreate().sparkContext
    return path.getFileSystem(context._jsc.hadoopConfiguration())
