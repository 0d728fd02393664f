"""The parts of the page made of numbers: sizes, scores, the best and worst classes, times."""

from wordclass.report.card_sections import bars
from wordclass.report.demo_classifiers import step_of
from wordclass.report.findings import ClassifierScores, Findings
from wordclass.report.markup import Markup, tag

_N_RANKED = 6  # classes shown at each end


def number_section(findings: Findings) -> Markup:
    """Show how much there is of everything, and the main score, as large numbers."""
    sizes, first = findings.sizes, findings.classifiers[0]
    shown = [
        (f"{sizes.train_docs:,}", "documents to learn from"),
        (f"{sizes.test_docs:,}", "documents to test"),
        (f"{sizes.terms:,}", "terms, each with a vector"),
        (f"{sizes.dimensions:,}", "dimensions, one a class"),
        (f"{sum(findings.seconds.values()):.0f} s", "for everything on this page"),
        (f"{first.accuracy:.1%}", "of the test documents classified right"),
    ]
    boxes = [tag("div", tag("dt", what), tag("dd", value)) for value, what in shown]
    return tag("section", tag("dl", boxes, class_="numbers"))


def score_section(findings: Findings) -> Markup:
    """Show how good the classifiers are, and which classes are easy and hard."""
    explained = (
        "The classifier linear looks at the words of a text beside its word-class scores, and "
        "chooses its settings on training documents that it holds out. A support vector machine on "
        "tf-idf is the baseline that is hard to beat. The classifier nearest needs no training: it "
        "adds up the vectors of a text's words, and the highest dimension wins."
    )
    first = findings.classifiers[0]
    ranked = first.ranked()
    n_shown = min(_N_RANKED, len(ranked) // 2)
    best, worst = ranked[:n_shown], ranked[len(ranked) - n_shown :]
    return tag(
        "section",
        tag("h2", "How well this tells the classes apart"),
        tag("p", explained),
        tag("div", _classifiers(findings), _chosen(findings), class_="narrow"),
        tag("h3", f"Easy and hard classes, by F1 of {first.name}"),
        tag("div", _classes("Best", best, first), _classes("Worst", worst, first), class_="pair"),
    )


def time_section(findings: Findings) -> Markup:
    """Show the seconds of each step."""
    return tag(
        "section",
        tag("h2", "Where the time went"),
        tag("div", bars(list(findings.seconds.items()), unit=" s"), class_="times"),
    )


def _classifiers(findings: Findings) -> Markup:
    rows = []
    for each in findings.classifiers:
        shares = [f"{value:.1%}" for value in (each.macro_f1, each.micro_f1, each.accuracy)]
        seconds = f"{findings.seconds.get(step_of(each.name), 0.0):.1f}"
        rows.append((each.name, [*shares, seconds]))
    return _table(["Classifier", "macro F1", "micro F1", "accuracy", "seconds"], rows)


def _chosen(findings: Findings) -> Markup:
    shown = ", ".join(f"{name} {value}" for name, value in findings.settings.items())
    return tag("p", f"What {findings.classifiers[0].name} chose: {shown}.", class_="note")


def _classes(title: str, names: list[str], scores: ClassifierScores) -> Markup:
    rows = []
    for name in names:
        each = scores.by_class[name]
        shares = [f"{each[key]:.0%}" for key in ("f1", "precision", "recall")]
        rows.append((name, [*shares, f"{each['n_true']:,.0f}"]))
    return _table([title, "F1", "precision", "recall", "texts"], rows)


def _table(heads: list[str], rows: list[tuple[str, list[str]]]) -> Markup:
    body = [
        tag("tr", tag("th", name, scope="row"), [tag("td", cell) for cell in cells])
        for name, cells in rows
    ]
    return tag(
        "table",
        tag("thead", tag("tr", [tag("th", head, scope="col") for head in heads])),
        tag("tbody", body),
    )
