"""Embeddings and classifiers as stages of a `pyspark.ml` pipeline. Needs the extra `spark`."""

from wordclass.batch.spark_stages import (
    TextClassifier,
    TextClassifierModel,
    WordClassEmbeddings,
    WordClassEmbeddingsModel,
)

__all__ = [
    "TextClassifier",
    "TextClassifierModel",
    "WordClassEmbeddings",
    "WordClassEmbeddingsModel",
]
