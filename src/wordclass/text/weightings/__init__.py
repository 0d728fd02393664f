"""How occurrences become weights: one file per rule.

Each file defines `weight(occurrences, vocabulary) -> X`: from the occurrences of terms in documents
(sparse, n x v) and what the vocabulary knows of the training documents, to the weights (sparse
float64, n x v). The row of a document depends on that document and the vocabulary only.
"""
