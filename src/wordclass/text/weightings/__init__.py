"""Catalogue of weightings, the rules from occurrences to weights. It has one file per rule.

Each file defines `weight(occurrences, vocabulary) -> X`. It computes the weights X (sparse float64,
n x v) from the occurrences of terms in documents (sparse, n x v) and the vocabulary of the training
documents. The row of a document depends on that document and the vocabulary only.
"""
