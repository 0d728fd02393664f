"""Principal component analysis (PCA) of word-class vectors."""

from wordclass.embedding.projectors._eigenvectors import EigenvectorProjector


def make(n_dims: int, seed: int) -> EigenvectorProjector:
    """Return an exact PCA by eigenvectors of the covariance. The seed is not used."""
    return EigenvectorProjector(n_dims, is_centered=True)
