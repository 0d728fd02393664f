"""An explanation on the screen: the text with its words colored, and the terms of each label."""

from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from wordclass.cli.settings import standard_output
from wordclass.explanation import Explanation
from wordclass.report.predictions import shown_scores
from wordclass.report.tables import scored_lines

_FOR, _AGAINST = (0, 130, 60), (190, 40, 40)  # red, green and blue of a word at its strongest
_FAINT = 0.15  # of the strongest: what is below stays uncolored


@dataclass(frozen=True)
class ExplainedText:
    """An explanation, how many terms of it to show, and the scores to show with it."""

    explanation: Explanation
    shown_scores: list[float]  # of its labels: probabilities where there are
    n: int

    @classmethod
    def of(cls, model: Any, text: str, n: int) -> "ExplainedText":  # noqa: ANN401
        """Let a model explain a text."""
        explanation = model.explanation(text)
        (shown,) = shown_scores(model, explanation.scores[None])
        columns = [explanation.codeframe.column(label) for label in explanation.labels]
        return cls(explanation, [round(float(shown[j]), 6) for j in columns], n)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        found = self.explanation
        terms = {str(label): found.top(label, self.n) for label in found.labels}
        best = self._best
        return {
            "labels": list(found.predicted),
            "scores": dict(zip(map(str, found.labels), self.shown_scores, strict=True)),
            "terms": terms,
            "words": {str(best): [list(word) for word in found.per_word(best)]},
        }

    def print(self, color: bool | None) -> None:
        """Print it; in color on a terminal, unless told otherwise."""
        with standard_output() as stream:
            self._print(stream, color)

    def _print(self, stream: TextIO, color: bool | None) -> None:
        console = Console(
            file=stream, force_terminal=color, no_color=color is False, highlight=False,
            soft_wrap=True, color_system="truecolor" if color else "auto",
        )  # fmt: skip
        found = self.explanation
        if not found.predicted:
            console.print(Text("no label; the class with the highest score:"))
        for label, score in zip(found.labels, self.shown_scores, strict=True):
            console.print(Text(f"{label}  {score:.4f}"))
        if not found.terms:
            console.print(Text("no word of this text is known to the model"))
            return
        if console.is_terminal and color is not False:
            console.print()
            console.print(self._colored())
        for label in found.labels:
            console.print(Text(f"\n{label}\n{scored_lines(found.top(label, self.n))}"))

    @property
    def _best(self) -> Any:  # noqa: ANN401 - a label
        found = self.explanation
        return max(found.labels, key=lambda label: found.scores[found.codeframe.column(label)])

    def _colored(self) -> Text:
        """Return the text, its words colored by what they add to the score of the best label."""
        words = self.explanation.per_word(self._best)
        text = Text(self.explanation.text.encode("utf-8", "replace").decode("utf-8"))
        strongest = max((abs(word.contribution) for word in words), default=0.0)
        for word in words:
            strength = abs(word.contribution) / strongest if strongest else 0.0
            if word.start is not None and word.end is not None and strength >= _FAINT:
                color = _FOR if word.contribution > 0 else _AGAINST
                text.stylize(f"bold rgb({_mixed(color, strength)})", word.start, word.end)
        return text


def _mixed(color: tuple[int, int, int], strength: float) -> str:
    gray = 140
    return ",".join(str(round(gray + (part - gray) * strength)) for part in color)
