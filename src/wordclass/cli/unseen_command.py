"""The command about terms that training never saw."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.cli.arguments import Embeddings
from wordclass.cli.settings import Settings, command
from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.corpus import Label
    from wordclass.embedding.unseen_terms import UnseenTerms


def add_to(app: typer.Typer) -> None:
    """Make the function below a command of the app."""
    command(app)(unseen)


def unseen(
    settings: Settings,
    embeddings: Embeddings,
    vectors: Annotated[Path, typer.Argument(help="Pretrained word vectors.")],
    n: Annotated[int, typer.Option("-n", min=0, help="How many terms.")] = 20,
    name: Annotated[
        str | None, typer.Option("--class", help="Only for this class; else each term's best.")
    ] = None,
    regressor: Annotated[str, typer.Option(help="What predicts: ridge or network.")] = "ridge",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the vectors of all these terms."),
    ] = None,
) -> None:
    """Predict which classes words speak for that training never saw.

    From their pretrained vectors. Shown are the words with the highest scores, and how well words
    of the vocabulary are predicted when they are kept aside.
    """
    _check_choices(settings, regressor, output)

    from wordclass.embedding.estimator import WordClassEmbeddings
    from wordclass.embedding.unseen_terms import UnseenTerms
    from wordclass.word_vectors import WordVectors

    wce = WordClassEmbeddings.load(embeddings)
    chosen = _class_named(name, wce.classes_)
    found = UnseenTerms.predict(WordVectors.load(vectors), wce, regressor, seed=settings.seed)
    if not len(found):
        raise InputError(f"{vectors}: all its terms are in the vocabulary of {embeddings}")
    best = found.report(n, chosen)
    result = {"regressor": regressor, **_facts(found), "words": best}
    if output is not None:
        found.to_word_vectors().save(output)
        result = {"output": str(output), **result}
        settings.say(f"{output}: {len(found):,} terms by {result['n_dims']} dimensions")
    settings.show(result, "\n".join([*_lines(best), _summary(found, regressor)]))


def _check_choices(settings: Settings, regressor: str, output: Path | None) -> None:
    """Refuse what cannot be done or written, before any work is."""
    from wordclass import naming
    from wordclass.word_vectors import format_to_write

    naming.entry("regressors", regressor)
    if output is not None:
        settings.check_output(output)
        format_to_write(output, None)


def _class_named(name: str | None, classes: "list[Label]") -> "Label | None":
    """Find a class: on the command line it is a str, also where it is an int in the file."""
    from wordclass.labels import unknown_name

    if name is None:
        return None
    as_text = {str(each): each for each in classes}
    if name not in as_text:
        raise InputError(unknown_name("class", name, classes))
    return as_text[name]


def _facts(found: "UnseenTerms") -> dict[str, Any]:
    measured = found.quality
    return {
        "n_terms": len(found),
        "n_dims": found.vectors.shape[1],
        "n_shared": found.n_shared,
        "n_held_out": 0 if measured is None else measured.n_terms,
        "held_out_r2": None if measured is None else measured.r2,
        "held_out_cosine": None if measured is None else measured.cosine,
    }


def _lines(best: "list[tuple[str, Label, float]]") -> list[str]:
    """Write a term, its class and its score on a line."""
    term_width = max((len(term) for term, _, _ in best), default=0)
    class_width = max((len(str(name)) for _, name, _ in best), default=0)
    return [
        f"{term:<{term_width}}  {name!s:<{class_width}}  {score:5.2f}" for term, name, score in best
    ]


def _summary(found: "UnseenTerms", regressor: str) -> str:
    learned = f"{len(found):,} terms predicted by {regressor} from {found.n_shared:,} shared ones"
    if (measured := found.quality) is None:
        return f"{learned}; too few to keep one aside and measure"
    return (
        f"{learned}; on {measured.n_terms:,} of these, held out: R2 {measured.r2:.3f}, "
        f"mean cosine {measured.cosine:.3f}"
    )
