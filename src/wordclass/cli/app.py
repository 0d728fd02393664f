"""The commands."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.cli import (
    arguments,
    dataset_commands,
    export_command,
    model_commands,
    tune_command,
    unseen_command,
)
from wordclass.cli.arguments import (
    Data,
    Embeddings,
    LabelField,
    Multilabel,
    Output,
    Separator,
    Split,
    TextField,
)
from wordclass.cli.corpora import CorpusChoice
from wordclass.cli.settings import Settings, command
from wordclass.errors import InputError

app = typer.Typer(
    help="Word-class embeddings: word vectors whose every dimension is a class of your own task.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        import wordclass

        typer.echo(f"wordclass {wordclass.__version__}")
        raise typer.Exit


@command(app)
def fit(
    settings: Settings,
    data: Data,
    output: Output,
    correlation: Annotated[str, typer.Option(help="How a term is compared with a class.")] = "dot",
    weighting: Annotated[str, typer.Option(help="How occurrences are weighted.")] = "tfidf",
    shrinkage: Annotated[float, typer.Option(help="Pull on rare terms; 20 is a good start.")] = 0.0,
    projector: Annotated[str, typer.Option(help="How classes become fewer dimensions.")] = "pca",
    max_dims: Annotated[int, typer.Option(help="More classes are projected; 0: never.")] = 300,
    min_docs: Annotated[int, typer.Option(help="Documents a term must occur in.")] = 5,
    ngrams: Annotated[str, typer.Option(help="Words in a term, such as 1 or 1,2.")] = "1",
    mask_numbers: Annotated[bool, typer.Option(help="Make all numbers one word.")] = True,
    stop_words: Annotated[
        str | None, typer.Option(help="english, or a file with a word a line.")
    ] = None,
    structural_problems: Annotated[
        int, typer.Option(help="Columns to add for telling terms, in binary tasks.")
    ] = 0,
    keep_documents: Annotated[
        bool, typer.Option("--keep-documents", help="Keep the counts, to add and remove exactly.")
    ] = False,
    split: Split = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    label_separator: Separator = ";",
    multilabel: Multilabel = None,
) -> None:
    """Learn word-class embeddings from labelled texts."""
    settings.check_output(output)
    start = time.perf_counter()
    choice = CorpusChoice(
        data, split, text_field, label_field, label_separator, settings.encoding, multilabel
    )

    from wordclass.embedding.estimator import WordClassEmbeddings

    embeddings = WordClassEmbeddings(
        correlation=correlation,
        weighting=weighting,
        shrinkage=shrinkage,
        projector=projector,
        max_dims=max_dims or None,
        min_docs=min_docs,
        ngrams=arguments.ngrams(ngrams),
        mask_numbers=mask_numbers,
        stop_words=arguments.stop_words(stop_words, settings.encoding),
        structural_problems=structural_problems,
        seed=settings.seed,
        keep_documents=keep_documents,
        n_jobs=settings.jobs,
    )
    n_docs = _fit(embeddings, choice)
    embeddings.save(output)
    seconds = time.perf_counter() - start
    result = {
        "output": str(output),
        "n_docs": n_docs,
        "n_classes": len(embeddings.classes_),
        "n_terms": len(embeddings),
        "n_dims": embeddings.vectors_.shape[1],
        "seconds": round(seconds, 3),
    }
    settings.tell(
        result,
        f"{output}: {len(embeddings):,} terms by {result['n_dims']} dimensions, from "
        f"{n_docs:,} documents of {result['n_classes']} classes, in {seconds:.1f} s",
    )


@command(app)
def words(
    settings: Settings,
    embeddings: Embeddings,
    name: Annotated[str, typer.Argument(metavar="CLASS", help="The class.")],
    n: Annotated[int, typer.Option("-n", help="How many.")] = 20,
) -> None:
    """Show the terms that speak for a class."""
    from wordclass.report.tables import scored_lines

    loaded = _load(embeddings)
    # on the command line a class is a str, also where it is an int in the file
    as_text = {str(column): column for column in loaded.columns_}
    best = loaded.top_terms(as_text.get(name, name), n)
    settings.show({"class": name, "words": best}, scored_lines(best))


@command(app)
def profile(
    settings: Settings,
    embeddings: Embeddings,
    word: Annotated[str, typer.Argument(help="A term of the vocabulary.")],
    n: Annotated[int, typer.Option("-n", help="How many classes.")] = 20,
) -> None:
    """Show the classes that a word speaks for."""
    from wordclass.labels import unknown_name
    from wordclass.report.tables import scored_lines

    loaded = _load(embeddings)
    if word not in loaded:
        raise InputError(unknown_name("word", word, loaded.terms_))
    classes = loaded.profile(word, n)
    settings.show({"word": word, "classes": classes}, scored_lines(classes))


@command(app)
def convert(
    settings: Settings,
    source: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any known format.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write them.")],
    format: Annotated[str | None, typer.Option(help="Of OUT, where its ending is silent.")] = None,
    source_format: Annotated[str | None, typer.Option("--from", help="The format of IN.")] = None,
) -> None:
    """Turn word vectors from one format into another."""
    settings.check_output(target)

    from wordclass.word_vectors import WordVectors

    vectors = WordVectors.load(source, format=source_format)
    vectors.save(target, format=format)
    result = {"output": str(target), "n_terms": len(vectors), "n_dims": vectors.n_dims}
    settings.tell(result, f"{target}: {len(vectors):,} terms by {vectors.n_dims} dimensions")


@command(app)
def info(
    settings: Settings,
    path: Annotated[Path, typer.Argument(help="A model, a .wce file, or word vectors.")],
) -> None:
    """Tell what a saved file is, and with which settings it was made."""
    from wordclass.report.file_info import describe

    facts = describe(path)
    width = max(map(len, facts))
    lines = [f"{name:<{width}}  {_as_text(value)}" for name, value in facts.items()]
    settings.show(facts, "\n".join(lines))


@command(app)
def demo(
    settings: Settings,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the report.")] = Path(
        "demo-report"
    ),
    vectors: Annotated[
        Path | None, typer.Option(help="Pretrained vectors to put beside the word-class ones.")
    ] = None,
) -> None:
    """Do the main job end to end on a corpus that is always there, and write a report."""
    settings.check_output(output)

    from wordclass.report import demo

    result = demo.run(output, vectors, settings.seed, settings.jobs)
    settings.show(result.to_dict(), result.to_text())


def _fit(embeddings: Any, choice: CorpusChoice) -> int:  # noqa: ANN401 - WordClassEmbeddings
    """Fit, a large file block by block; return the number of documents."""
    needs_all = embeddings.structural_problems or embeddings.keep_documents
    if choice.is_large and not needs_all:
        blocks = choice.blocks(usual_split="train")
        embeddings.fit_blocks(blocks)
        return blocks.n_docs
    corpus = choice.read(usual_split="train")
    embeddings.fit(corpus.texts, corpus.labels)
    return len(corpus)


def _load(path: Path) -> Any:  # noqa: ANN401 - WordClassEmbeddings, which is slow to import
    from wordclass.embedding.estimator import WordClassEmbeddings

    return WordClassEmbeddings.load(path)


def _as_text(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(str(each) for each in value[:12])
        return shown + (f", ... ({len(value)} in all)" if len(value) > 12 else "")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


model_commands.add_to(app)
tune_command.add_to(app)
export_command.add_to(app)
unseen_command.add_to(app)
dataset_commands.add_to(app)
