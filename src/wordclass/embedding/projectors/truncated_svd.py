"""Truncated singular value decomposition: PCA without taking off the mean."""

from wordclass.embedding.projectors._eigenvectors import EigenvectorProjector


def make(n_dims: int, seed: int) -> EigenvectorProjector:
    """Return an SVD by the eigenvectors of S'S; the seed plays no part."""
    return EigenvectorProjector(n_dims, is_centered=False)
