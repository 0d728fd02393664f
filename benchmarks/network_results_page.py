"""docs/network-results.md: the networks on real data beside the paper's numbers."""

from typing import Any


def page(kept: dict[str, dict[str, Any]]) -> str:
    """Write the page from what there is."""
    lines = ["# Networks", ""]
    for key, found in kept.items():
        lines.append(f"- {key}: {found['macro_f1']:.4f} / {found['micro_f1']:.4f}")
    return "\n".join(lines) + "\n"
