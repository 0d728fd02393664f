"""Principal components: the directions in which word-class vectors differ most."""

from wordclass.embedding.projectors._eigenvectors import EigenvectorProjector


def make(n_dims: int, seed: int) -> EigenvectorProjector:
    """Return a PCA by the eigenvectors of the m x m covariance; the seed plays no part."""
    return EigenvectorProjector(n_dims, is_centered=True)
