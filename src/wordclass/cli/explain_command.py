"""The command `explain`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.cli import arguments
from wordclass.cli.arguments import ModelFolder
from wordclass.cli.command import Settings, command
from wordclass.cli.models import EncoderPath, load_model
from wordclass.cli.output import standard_output
from wordclass.cli.predict_commands import read_input_lines
from wordclass.tables import escape_control_characters, join_lines

if TYPE_CHECKING:
    from rich.text import Text

    from wordclass.corpus.documents import Label
    from wordclass.decision.explanation import Explanation

_COLOR_FOR = (0, 130, 60)  # red, green and blue of the word with the largest contribution
_COLOR_AGAINST = (190, 40, 40)
_GRAY = 140  # red, green and blue of a word that contributes nothing
_MIN_COLORED_STRENGTH = 0.15  # of the largest contribution


@command(
    "Look",
    uses=("encoding",),
    examples="""
wordclass explain model/ "the moon orbits the earth"
wordclass explain model/ --class sci.space < letter.txt
""",
)
def explain(
    settings: Settings,
    model: ModelFolder,
    text: Annotated[
        str,
        typer.Argument(metavar="[TEXT]", help="Text to explain. Use - for standard input."),
    ] = "-",
    name: Annotated[str | None, "--class", "CLASS", "Explain this class, predicted or not."] = None,
    n: Annotated[
        int, typer.Option("-n", metavar="N", help="Number of terms to show per label.")
    ] = 10,
    color: Annotated[
        bool | None,
        typer.Option(
            "--color/--no-color",
            help="Whether to print the text in color. By default on a terminal.",
        ),
    ] = None,
    encoder: EncoderPath = None,
) -> None:
    """Show how much each word contributes to the labels of a text.

    The contributions of the terms and the intercept sum to the score of a label.
    """
    loaded = load_model(model, encoder)
    if text == "-":
        text = "\n".join(line for block in read_input_lines(settings.encoding) for line in block)
    explanation = loaded.explanation(text)
    labels = explanation.labels
    if name is not None:
        labels = (arguments.find_class(name, explanation.codeframe.classes),)
    predictions = loaded.predictions_of(explanation.scores[None])
    (values,) = predictions.values
    scores = {
        str(label): round(float(values[explanation.codeframe.column(label)]), 6) for label in labels
    }
    best = max(labels, key=lambda label: explanation.account(label)["score"])
    if settings.as_json:
        settings.show(_to_dict(explanation, labels, scores, best, n), "")
        return
    kind = "probability" if predictions.has_probabilities else "score"
    head = [f"{label}  {kind} {score:.4f}" for label, score in scores.items()]
    head += [_format_path(explanation, label) for label in labels if explanation.path(label)]
    if best not in explanation.predicted:
        predicted = ", ".join(map(str, explanation.predicted)) or "no label"
        head.insert(0, f"predicted: {predicted}")
    _print(head, _format_terms(explanation, labels, n), color, explanation, best)


def _to_dict(
    explanation: "Explanation",
    labels: "Sequence[Label]",
    scores: dict[str, float],
    best: "Label",
    n: int,
) -> dict[str, Any]:
    return {
        "labels": list(explanation.predicted),
        "scores": scores,
        "accounts": {str(label): explanation.account(label) for label in labels},
        "terms": {str(label): explanation.top(label, n) for label in labels},
        "paths": {str(label): explanation.path(label) for label in labels},
        "words": {str(best): [list(word) for word in explanation.per_word(best)]},
    }


def _format_path(explanation: "Explanation", label: "Label") -> str:
    """Write the path to a class in a tree of classes."""
    steps = [f"{name or '(no name)'} {share:.4f}" for name, share in explanation.path(label)]
    return f"path: {' > '.join(steps)}"


def _format_terms(explanation: "Explanation", labels: "Sequence[Label]", n: int) -> list[str]:
    """Write the contributions of the terms to the score of each label."""
    from wordclass.tables import format_scores

    if not explanation.terms:
        return ["the model knows no word of this text"]
    lines: list[str] = []
    for label in labels:
        score, intercept, total = explanation.account(label).values()
        lines += ["", str(label), *format_scores(explanation.top(label, n)).split("\n")]
        summand = f"{total:.4f} of {len(explanation.terms)} terms"
        lines.append(f"score {score:.4f} = intercept {intercept:.4f} + {summand}")
    return lines


def _print(
    head: list[str],
    terms: list[str],
    color: bool | None,
    explanation: "Explanation",
    best: "Label",
) -> None:
    """Print an explanation, with the text in color if that is wanted and possible."""
    with standard_output() as stream:
        stream.write(join_lines(head))
        is_colored = color
        if color is None:
            is_colored = stream.isatty() and not os.environ.get("NO_COLOR")
        if is_colored and explanation.terms:
            from rich.console import Console

            system: Any = "truecolor" if color else "auto"
            console = Console(file=stream, force_terminal=True, color_system=system, soft_wrap=True)
            console.print()
            console.print(_color_words(explanation, best))
        stream.write(join_lines(terms))


def _color_words(explanation: "Explanation", label: "Label") -> "Text":
    """Return the text with words colored by their contribution to the score of a label."""
    from rich.text import Text

    words = [word for word in explanation.per_word(label) if word.start is not None]
    largest = max((abs(word.contribution) for word in words), default=0.0)
    colored = Text()
    end = 0
    for word in words:
        strength = abs(word.contribution) / largest if largest else 0.0
        if word.end is None or strength < _MIN_COLORED_STRENGTH:
            continue
        color = _COLOR_FOR if word.contribution > 0 else _COLOR_AGAINST
        mixed = ",".join(str(round(_GRAY + (part - _GRAY) * strength)) for part in color)
        before = explanation.text[end : word.start]
        written = explanation.text[word.start : word.end]
        colored.append(escape_control_characters(before))
        colored.append(escape_control_characters(written), f"bold rgb({mixed})")
        end = word.end
    return colored.append(escape_control_characters(explanation.text[end:]))
