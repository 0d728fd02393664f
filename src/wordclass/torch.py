"""Building blocks for your own networks. Needs torch, which is imported on first use."""

from wordclass.network.embedding_layer import EmbeddingLayer, SupervisedDropout
from wordclass.network.modules import encoder
from wordclass.network.text_network import TextNetwork as TextClassifier

__all__ = ["EmbeddingLayer", "SupervisedDropout", "TextClassifier", "encoder"]
