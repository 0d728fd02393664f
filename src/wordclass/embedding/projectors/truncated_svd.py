"""Truncated singular value decomposition (SVD), which is PCA without centering."""

from wordclass.embedding.projectors._eigenvectors import EigenvectorProjector


def make(n_dims: int, seed: int) -> EigenvectorProjector:
    """Return an exact SVD by eigenvectors of S'S. The seed is not used."""
    return EigenvectorProjector(n_dims, is_centered=False)
