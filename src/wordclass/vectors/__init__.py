"""Pretrained word vectors: the type, its file formats, and its cache."""
