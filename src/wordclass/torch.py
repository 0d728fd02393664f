"""Parts for networks of one's own, as `wordclass.torch`: imported on first use; needs torch."""

from wordclass.network.embedding_layer import EmbeddingLayer, SupervisedDropout
from wordclass.network.modules import encoder
from wordclass.network.text_network import TextNetwork as TextClassifier

__all__ = ["EmbeddingLayer", "SupervisedDropout", "TextClassifier", "encoder"]
