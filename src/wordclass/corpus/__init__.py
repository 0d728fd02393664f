"""Labelled texts: data types, labels, splits, and how corpora are read from files."""
