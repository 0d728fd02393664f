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
    from wordclass.classifiers.attention import AttentionClassifier as AttentionClassifier
    from wordclass.classifiers.cnn import CnnClassifier as CnnClassifier
    from wordclass.classifiers.factory import classifier as classifier
    from wordclass.classifiers.fasttext import FastTextClassifier as FastTextClassifier
    from wordclass.classifiers.leam import LeamClassifier as LeamClassifier
    from wordclass.classifiers.linear import LinearClassifier as LinearClassifier
    from wordclass.classifiers.lstm import LstmClassifier as LstmClassifier
    from wordclass.classifiers.nearest import NearestClassifier as NearestClassifier
    from wordclass.classifiers.svm import SvmClassifier as SvmClassifier
    from wordclass.classifiers.tree import TreeClassifier as TreeClassifier
    from wordclass.classifiers.tuning import tune as tune
    from wordclass.corpus.documents import Dataset as Dataset
    from wordclass.corpus.documents import LabelledCorpus as LabelledCorpus
    from wordclass.corpus.reader import load_dataset as load_dataset
    from wordclass.corpus.reader import read_corpus as read_corpus
    from wordclass.corpus.shards import ShardedCorpus as ShardedCorpus
    from wordclass.decision.measures import evaluate as evaluate
    from wordclass.decision.measures import macro_f1 as macro_f1
    from wordclass.decision.measures import micro_f1 as micro_f1
    from wordclass.embedding.estimator import WordClassEmbeddings as WordClassEmbeddings
    from wordclass.embedding.matrix import EmbeddingMatrix as EmbeddingMatrix
    from wordclass.embedding.unseen_terms import UnseenTerms as UnseenTerms
    from wordclass.engines.engine import engine as engine
    from wordclass.errors import EngineError as EngineError
    from wordclass.errors import FormatError as FormatError
    from wordclass.errors import InputError as InputError
    from wordclass.errors import MissingDataError as MissingDataError
    from wordclass.errors import MissingExtraError as MissingExtraError
    from wordclass.errors import StorageError as StorageError
    from wordclass.errors import WordClassError as WordClassError
    from wordclass.progress import on_progress as on_progress
    from wordclass.reproduction.rivals.pte import pte as pte
    from wordclass.sentence.distillation import distill as distill
    from wordclass.storage.models import load as load
    from wordclass.text.sequences import IdBatch as IdBatch
    from wordclass.text.vectorizer import DocumentVectorizer as DocumentVectorizer
    from wordclass.vectors.word_vectors import WordVectors as WordVectors

# the module of each public name
_MODULES = {
    "Dataset": "corpus.documents",
    "DocumentVectorizer": "text.vectorizer",
    "EmbeddingMatrix": "embedding.matrix",
    "EngineError": "errors",
    "FastTextClassifier": "classifiers.fasttext",
    "FormatError": "errors",
    "IdBatch": "text.sequences",
    "InputError": "errors",
    "LabelledCorpus": "corpus.documents",
    "LinearClassifier": "classifiers.linear",
    "MissingDataError": "errors",
    "MissingExtraError": "errors",
    "NearestClassifier": "classifiers.nearest",
    "ShardedCorpus": "corpus.shards",
    "StorageError": "errors",
    "SvmClassifier": "classifiers.svm",
    "TreeClassifier": "classifiers.tree",
    "UnseenTerms": "embedding.unseen_terms",
    "WordClassEmbeddings": "embedding.estimator",
    "WordClassError": "errors",
    "WordVectors": "vectors.word_vectors",
    "classifier": "classifiers.factory",
    "distill": "sentence.distillation",
    "engine": "engines.engine",
    "evaluate": "decision.measures",
    "load": "storage.models",
    "load_dataset": "corpus.reader",
    "macro_f1": "decision.measures",
    "micro_f1": "decision.measures",
    "on_progress": "progress",
    "pte": "reproduction.rivals.pte",
    "read_corpus": "corpus.reader",
    "tune": "classifiers.tuning",
}

# earlier names, still accepted
_ALIASES = {"CorpusParts": "ShardedCorpus"}

# names whose package comes with an extra: without it, using them raises an error that names the pip
# command, so they are not in __all__
_PACKAGES = {
    "AttentionClassifier": "torch",
    "CnnClassifier": "torch",
    "LeamClassifier": "torch",
    "LstmClassifier": "torch",
    "dask": "dask",
    "spark": "pyspark",
    "torch": "torch",
}

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public object
    if name == "__version__":
        from importlib.metadata import version

        return version("wordclass")
    if name.endswith("Classifier") and name in _PACKAGES:
        from wordclass.catalogue import entry

        return entry("classifiers", name.removesuffix("Classifier").lower()).make
    if name in _PACKAGES:
        from wordclass.catalogue import import_extra

        import_extra(_PACKAGES[name], f"for wordclass.{name}")
        return importlib.import_module(f"wordclass.{name}")
    if name in _ALIASES:
        return __getattr__(_ALIASES[name])
    if name not in _MODULES:
        raise AttributeError(f"module 'wordclass' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"wordclass.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    installed = {name for name, package in _PACKAGES.items() if importlib.util.find_spec(package)}
    return sorted({*globals(), *_MODULES, *installed, "__version__"})
