"""The part of the page that explains predictions: texts with their words colored."""

from wordclass.report.explained_documents import ExplainedDocument
from wordclass.report.findings import Findings
from wordclass.report.markup import Markup, join, tag

_FAINT = 0.12  # of the strongest: what is below stays uncolored
_EXPLAINED = (
    "The score of a class is a sum over the words of the text, so every word has its exact share. "
    "Words that speak for the predicted class are green, words against it red, the stronger the "
    "deeper."
)


def explanation_section(findings: Findings, colors: dict[str, int]) -> Markup | None:
    """Show some documents, each with its label and the words that made it."""
    if not findings.explained:
        return None
    name = findings.classifiers[0].name
    return tag(
        "section",
        tag("h2", f"Why {name} said so"),
        tag("p", _EXPLAINED),
        tag("div", [_card(each, colors) for each in findings.explained], class_="pair explained"),
    )


def _card(document: ExplainedDocument, colors: dict[str, int]) -> Markup:
    return tag(
        "article",
        tag("h3", document.predicted),
        tag("p", document.verdict, class_="kind"),
        tag("p", colored(document), class_="text"),
        [_terms(label, terms) for label, terms in document.terms.items()],
        class_=f"card k{colors[document.predicted]}",
    )


def colored(document: ExplainedDocument) -> Markup:
    """Mark the words of a text by what they add; the text itself stays as it is."""
    strongest = max((abs(added) for *_, added in document.words), default=0.0)
    parts: list[str] = []
    place = 0
    for start, end, added in document.words:
        strength = abs(added) / strongest if strongest else 0.0
        if strength < _FAINT:
            continue
        percent = f"--s:{round(100 * strength)}%"
        side = "for" if added > 0 else "against"
        word = document.text[start:end]
        parts += [document.text[place:start], tag("mark", word, class_=side, style=percent)]
        place = end
    return join([*parts, document.text[place:]])


def _terms(label: str, terms: list[tuple[str, float]]) -> Markup:
    shown = ", ".join(f"{term} {added:+.2f}" for term, added in terms)
    return tag("p", tag("strong", label), f": {shown}", class_="terms")
