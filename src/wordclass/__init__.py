"""Word-class embeddings: word vectors whose every dimension is a class of your own task.

The public names are resolved on first use, so that importing the package costs next to nothing.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordclass import dask as dask
    from wordclass import spark as spark
    from wordclass import torch as torch
    from wordclass.classifiers import classifier as classifier
    from wordclass.corpus import Dataset as Dataset
    from wordclass.corpus import LabelledCorpus as LabelledCorpus
    from wordclass.corpus import load_dataset as load_dataset
    from wordclass.corpus import read_corpus as read_corpus
    from wordclass.corpus_parts import CorpusParts as CorpusParts
    from wordclass.distillation import distill as distill
    from wordclass.embedding.estimator import WordClassEmbeddings as WordClassEmbeddings
    from wordclass.embedding.matrix import EmbeddingMatrix as EmbeddingMatrix
    from wordclass.embedding.unseen_terms import UnseenTerms as UnseenTerms
    from wordclass.engines import engine as engine
    from wordclass.errors import EngineError as EngineError
    from wordclass.errors import FormatError as FormatError
    from wordclass.errors import InputError as InputError
    from wordclass.errors import MissingDataError as MissingDataError
    from wordclass.errors import MissingExtraError as MissingExtraError
    from wordclass.errors import StorageError as StorageError
    from wordclass.errors import WordClassError as WordClassError
    from wordclass.measures import evaluate as evaluate
    from wordclass.measures import macro_f1 as macro_f1
    from wordclass.measures import micro_f1 as micro_f1
    from wordclass.persistence import load as load
    from wordclass.predictive_text_embedding import pte as pte
    from wordclass.progress import on_progress as on_progress
    from wordclass.text.sequences import IdBatch as IdBatch
    from wordclass.text.vectorizer import DocumentVectorizer as DocumentVectorizer
    from wordclass.tuning import tune as tune
    from wordclass.word_vectors import WordVectors as WordVectors

_HOMES = {
    "CorpusParts": "corpus_parts",
    "Dataset": "corpus",
    "DocumentVectorizer": "text.vectorizer",
    "EmbeddingMatrix": "embedding.matrix",
    "EngineError": "errors",
    "FormatError": "errors",
    "IdBatch": "text.sequences",
    "InputError": "errors",
    "LabelledCorpus": "corpus",
    "MissingDataError": "errors",
    "MissingExtraError": "errors",
    "StorageError": "errors",
    "UnseenTerms": "embedding.unseen_terms",
    "WordClassEmbeddings": "embedding.estimator",
    "WordClassError": "errors",
    "WordVectors": "word_vectors",
    "classifier": "classifiers",
    "distill": "distillation",
    "engine": "engines",
    "evaluate": "measures",
    "load": "persistence",
    "load_dataset": "corpus",
    "macro_f1": "measures",
    "micro_f1": "measures",
    "on_progress": "progress",
    "pte": "predictive_text_embedding",
    "read_corpus": "corpus",
    "tune": "tuning",
}

_OF_EXTRAS = {"dask": "dask", "spark": "pyspark", "torch": "torch"}  # what they need

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public object
    if name == "__version__":
        from importlib.metadata import version

        return version("wordclass")
    if name in _OF_EXTRAS:
        # not in __all__: without the extra it is an error that names the pip command
        from wordclass.naming import extra

        extra(_OF_EXTRAS[name], f"for wordclass.{name}", name)
        return importlib.import_module(f"wordclass.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'wordclass' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"wordclass.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    extra = [name for name, package in _OF_EXTRAS.items() if importlib.util.find_spec(package)]
    return sorted({*globals(), *_HOMES, *extra, "__version__"})
