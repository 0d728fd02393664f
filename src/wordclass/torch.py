"""Parts for networks of one's own, as `wordclass.torch`: imported on first use; needs torch."""

from wordclass.encoders import encoder
from wordclass.network.embedding_layer import EmbeddingLayer, SupervisedDropout
from wordclass.network.text_network import TextNetwork as TextClassifier

__all__ = ["EmbeddingLayer", "SupervisedDropout", "TextClassifier", "encoder"]
