"""From texts to the matrix X: tokens, counts, weights."""
