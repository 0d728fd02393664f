"""From the sums of word-class counts to embeddings."""
