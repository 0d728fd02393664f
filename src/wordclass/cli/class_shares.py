"""Estimated shares of classes among documents without labels, beside those in training."""

from collections.abc import Sequence
from typing import Any

from wordclass.tables import align_columns


def estimate(model: Any, texts: Sequence[str], level: float, seed: int) -> dict[str, Any]:  # noqa: ANN401
    """Return "shares", "trained", and the ends of intervals, "low" and "high", by class.

    Parameters
    ----------
    model
        A fitted classifier with probabilities.
    texts
        At least 50.
    level
        How sure the intervals are.
    seed
        For the bootstrap.
    """
    shift = model.prior_shift(texts)
    low, high = shift.interval(level, seed=seed)
    names = [*map(str, model.classes_.tolist())]
    columns = {"shares": shift.shares, "trained": shift.trained, "low": low, "high": high}
    by_class = {
        key: {name: round(float(each), 6) for name, each in zip(names, values, strict=True)}
        for key, values in columns.items()
    }
    return {**by_class, "level": level, "n_docs": len(texts), "n_classes": len(names)}


def to_text(facts: dict[str, Any], n: int) -> str:
    """Write the n classes with the largest shares, and how many there are; 0: all."""
    shares, trained, low, high = (facts[name] for name in ("shares", "trained", "low", "high"))
    rows = [("class", " share", f"{100 * facts['level']:g}% interval", "in training")]
    for name in sorted(shares, key=lambda name: -shares[name])[: n or None]:
        span = f"{low[name]:.4f} to {high[name]:.4f}"
        rows.append((name, f"{shares[name]:.4f}", span, f"{trained[name]:.4f}"))
    last = f"{facts['n_docs']:,} documents, {facts['n_classes']:,} classes"
    return "\n".join([*align_columns(rows), "", last])
