"""Methods of other authors, built on the public API to compare word-class embeddings with them."""
