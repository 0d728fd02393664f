"""Estimated shares of classes among unlabelled documents, next to their shares in training."""

from collections.abc import Sequence
from typing import Any

from wordclass.tables import align_columns


def estimate(model: Any, texts: Sequence[str], level: float, seed: int) -> dict[str, Any]:  # noqa: ANN401
    """Estimate the shares of classes with confidence intervals.

    Parameters
    ----------
    model : estimator
        A fitted classifier with probabilities.
    texts : sequence of str
        The texts, at least 50.
    level : float
        The level of the confidence intervals.
    seed : int
        The seed of the bootstrap.

    Returns
    -------
    dict
        "shares", "trained", "low" and "high" map classes to estimated shares, shares in training,
        and the ends of the confidence intervals.
    """
    shift = model.prior_shift(texts)
    low, high = shift.interval(level, seed=seed)
    names = [*map(str, model.classes_.tolist())]
    columns = {"shares": shift.shares, "trained": shift.trained, "low": low, "high": high}
    by_class = {
        key: {name: round(float(share), 6) for name, share in zip(names, values, strict=True)}
        for key, values in columns.items()
    }
    return {**by_class, "level": level, "n_docs": len(texts), "n_classes": len(names)}


def to_text(result: dict[str, Any], n: int) -> str:
    """Write a table of the n classes with the largest shares, or of all classes if n is 0."""
    shares = result["shares"]
    rows = [("class", " share", f"{100 * result['level']:g}% interval", "in training")]
    for name in sorted(shares, key=lambda name: -shares[name])[: n or None]:
        interval = f"{result['low'][name]:.4f} to {result['high'][name]:.4f}"
        rows.append((name, f"{shares[name]:.4f}", interval, f"{result['trained'][name]:.4f}"))
    sizes = f"{result['n_docs']:,} documents, {result['n_classes']:,} classes"
    return "\n".join([*align_columns(rows), "", sizes])
