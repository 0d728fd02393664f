"""The table of claims in Markdown: verdicts, effects here and in the paper, seeds, p-values."""

from collections.abc import Sequence
from statistics import fmean

from wordclass.reproduction.claims import Claim, Comparison, Evidence, Verdict, Vote
from wordclass.reproduction.statistics import paired_t_test


def claim_table(verdicts: Sequence[tuple[Claim, Verdict]], published: Evidence) -> list[str]:
    """Return a legend and the lines of a table with a row per claim.

    Parameters
    ----------
    verdicts : list of pairs
        Claims and their verdicts.
    published : Evidence
        The tables of the paper for the effects that it published.
    """
    rows = []
    for claim, verdict in verdicts:
        published_votes = [] if claim.votes is None else claim.votes(published)
        rows.append([
            claim.section,
            claim.text,
            f"**{verdict.name}**{_reason(claim, verdict)}",
            _effect(claim, verdict.votes),
            _effect(claim, published_votes) if claim.votes is not None else "",
            _vote_count(verdict.votes),
            _min_seeds(verdict.votes),
            _p_value(verdict.votes),
        ])  # fmt: skip
    heads = ["§", "claim", "verdict", "here", "paper", "cells", "seeds", "p"]
    legend = (
        "*here*, *paper*: mean difference between the two compared sides (mean ratio for "
        "times), here and in the paper's tables for 20 Newsgroups and Reuters. *cells*: "
        "comparisons that support the claim. *seeds*: the smallest number of runs of a "
        "compared cell. *p*: paired t-test over the comparisons."
    )
    return [legend, "", *markdown_table(heads, rows)]


def format_share(value: float) -> str:
    """Format a share with three digits.

    Examples
    --------
    >>> format_share(0.7064)
    '.706'
    """
    return f"{value:.3f}".removeprefix("0")


def format_difference(value: float) -> str:
    """Format a difference of shares with its sign.

    Examples
    --------
    >>> format_difference(-0.012)
    '-.012'
    """
    return f"{'-' if value < 0 else '+'}{format_share(abs(value))}"


def format_hours(hours: float) -> str:
    """Format hours with one digit.

    Examples
    --------
    >>> format_hours(1.25), format_hours(0.01)
    ('1.2', '< 0.1')
    """
    return f"{hours:.1f}" if hours >= 0.05 else "< 0.1"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]


def _reason(claim: Claim, verdict: Verdict) -> str:
    if verdict.name == "not run yet":
        return f" ({format_hours(verdict.hours)} h)"
    if verdict.missing:
        return f": {', '.join(verdict.missing)}"
    return f" ({claim.note})" if claim.note and verdict.name == "does not hold" else ""


def _effect(claim: Claim, votes: Sequence[Vote]) -> str:
    """Write the mean difference of the compared values, or their mean ratio for times."""
    pairs = [(vote.first, vote.second) for vote in votes if vote.first is not None and vote.second]
    if not pairs:
        return ""
    if _is_about_times(claim):
        return f"{fmean(first / second for first, second in pairs):.2g}x"
    return format_difference(fmean(first - second for first, second in pairs))


def _is_about_times(claim: Claim) -> bool:
    if not isinstance(claim.votes, Comparison):
        return False
    names = {**claim.votes.among, **claim.votes.first}.get("plan", ())
    return any(name in ("run_times", "embedding_times") for name in names)


def _vote_count(votes: Sequence[Vote]) -> str:
    return f"{sum(vote.is_yes for vote in votes)} of {len(votes)}" if votes else ""


def _min_seeds(votes: Sequence[Vote]) -> str:
    counts = [vote.n_runs for vote in votes if vote.n_runs]
    return str(min(counts)) if counts else ""


def _p_value(votes: Sequence[Vote]) -> str:
    compared = [vote for vote in votes if vote.first is not None and vote.second is not None]
    firsts = [vote.first for vote in compared if vote.first is not None]
    seconds = [vote.second for vote in compared if vote.second is not None]
    p = paired_t_test(firsts, seconds)
    if p is None:
        return ""
    return "< .001" if p < 0.001 else format_share(p)
