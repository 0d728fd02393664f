"""Vectors of texts, and of tokens in context, from encoders that were trained elsewhere."""
