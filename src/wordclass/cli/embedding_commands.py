"""The commands about word vectors: fit, words, profile, nearest, unseen, distill, pte, convert."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass import catalogue
from wordclass.cli import arguments
from wordclass.cli.arguments import Output
from wordclass.cli.command import Settings, command
from wordclass.cli.corpora import Corpus, InParts, Multilabel, Texts, tell_skipped
from wordclass.corpus.documents import describe_task
from wordclass.errors import InputError
from wordclass.storage.files import uncompressed_name

Embeddings = Annotated[Path, typer.Argument(help="A .wce file.")]


@command
def fit(
    corpus: Corpus,
    in_parts: InParts,
    settings: Settings,
    output: Output,
    correlation: Annotated[str, "How a term is compared with a class."] = "dot",
    weighting: Annotated[str, "How occurrences are weighted."] = "tfidf",
    shrinkage: Annotated[float, "Pull on rare terms; 20 is a good start."] = 0.0,
    projector: Annotated[str, "How classes become fewer dimensions."] = "pca",
    max_dims: Annotated[int, "More classes are projected; 0: never."] = 300,
    min_docs: Annotated[int, "Documents a term must occur in."] = 5,
    ngrams: Annotated[str, "Words in a term, such as 1 or 1,2."] = "1",
    mask_numbers: Annotated[bool, "Make all numbers one word."] = True,
    stop_words: Annotated[str | None, "english, or a file with a word per line."] = None,
    keep_documents: Annotated[bool, "Keep the counts, to add and remove exactly."] = False,
    multilabel: Multilabel = None,
) -> None:
    """Learn word-class embeddings from labelled texts.

    A .wce file keeps everything; another ending, such as .vec, the vectors in that format. Several
    files, or --engine, are a corpus in parts, which need not fit into memory.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass.embedding.estimator import WordClassEmbeddings
    from wordclass.vectors.format_detection import format_to_write

    is_wce = output.suffix == "" or uncompressed_name(output).lower().endswith(".wce")
    if not is_wce:
        format_to_write(output, None)
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
        seed=settings.seed,
        keep_documents=keep_documents,
        n_jobs=settings.jobs,
    )
    n_docs, is_multilabel = _fit(embeddings, corpus, in_parts, settings, multilabel)
    (embeddings if is_wce else embeddings.to_word_vectors()).save(output)
    seconds = time.perf_counter() - start
    result = {
        "output": str(output),
        "n_docs": n_docs,
        "n_classes": len(embeddings.classes_),
        "is_multilabel": is_multilabel,
        "n_terms": len(embeddings),
        "n_dims": embeddings.vectors_.shape[1],
        "seconds": round(seconds, 3),
    }
    made = f"{len(embeddings):,} terms by {result['n_dims']} dimensions"
    read = f"{n_docs:,} documents ({describe_task(is_multilabel, len(embeddings.classes_))})"
    settings.tell(result, f"{output}: {made}, from {read}, in {seconds:.1f} s")


def _fit(
    wce: Any,  # noqa: ANN401
    corpus: Corpus,
    in_parts: InParts,
    settings: Settings,
    multilabel: bool | None,
) -> tuple[int, bool]:
    """Fit, a large file in parts; return how many documents, and whether multilabel."""
    in_memory = wce.keep_documents
    parts = corpus.parts(in_parts, "train", settings.encoding, multilabel, or_large=not in_memory)
    if parts is not None:
        with in_parts.opened(settings) as engine:
            wce.fit_parts(parts, engine=engine)
        tell_skipped(settings, wce.seen_)
        return wce.seen_.n_docs, wce.learned_.codeframe.is_multilabel
    documents = corpus.read("train", settings.encoding, multilabel)
    wce.fit(documents.texts, documents.labels)
    return len(documents), documents.is_multilabel


@command
def words(
    settings: Settings,
    embeddings: Embeddings,
    name: Annotated[str, typer.Argument(metavar="CLASS", help="The class.")],
    n: Annotated[int, "-n", "How many."] = 20,
) -> None:
    """Show the terms that speak for a class."""
    from wordclass.tables import format_scores

    loaded = _load(embeddings)
    best = loaded.top_terms(arguments.class_named(name, loaded.columns_), n)
    settings.show({"class": name, "words": best}, format_scores(best))


@command
def profile(
    settings: Settings,
    embeddings: Embeddings,
    word: Annotated[str, typer.Argument(help="A term of the vocabulary.")],
    n: Annotated[int, "-n", "How many classes."] = 20,
) -> None:
    """Show the classes that a word speaks for."""
    from wordclass.corpus.labels import describe_unknown_name
    from wordclass.tables import format_scores

    loaded = _load(embeddings)
    term = loaded.written(word)
    if term not in loaded:
        raise InputError(describe_unknown_name("word", word, loaded.terms_))
    classes = loaded.profile(term, n)
    settings.show({"word": term, "classes": classes}, format_scores(classes))


@command
def nearest(
    settings: Settings,
    vectors: Annotated[Path, typer.Argument(metavar="FILE", help="Vectors in any known format.")],
    word: Annotated[str, typer.Argument(help="A term of the file, or its lower case.")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 10,
) -> None:
    """Show the words whose vectors are nearest to that of a word, by their cosine."""
    from wordclass.tables import format_scores
    from wordclass.vectors.word_vectors import WordVectors

    loaded = WordVectors.load(vectors)
    term = word if word in loaded else word.lower()
    if term not in loaded:
        raise InputError(f"{vectors}: unknown word {word!r}")
    best = loaded.nearest(term, n)
    settings.show({"word": term, "nearest": best}, format_scores(best))


@command
def unseen(
    settings: Settings,
    embeddings: Embeddings,
    vectors: Annotated[Path, typer.Argument(help="Pretrained word vectors.")],
    n: Annotated[int, typer.Option("-n", min=0, help="How many terms.")] = 20,
    name: Annotated[str | None, "--class", "Only for this class; else each term's best."] = None,
    regressor: Annotated[str, "What predicts: ridge or network."] = "ridge",
    output: Annotated[
        Path | None, "--output", "-o", "Where to write the vectors of all these terms."
    ] = None,
) -> None:
    """Predict which classes words speak for that training never saw.

    From their pretrained vectors. Shown are the words with the highest scores, and how well words
    of the vocabulary are predicted when they are kept aside.
    """
    from wordclass.embedding.unseen_terms import UnseenTerms
    from wordclass.tables import align_columns
    from wordclass.vectors.format_detection import format_to_write
    from wordclass.vectors.word_vectors import WordVectors

    catalogue.entry("regressors", regressor)
    settings.check_output(output)
    if output is not None:
        format_to_write(output, None)
    wce = _load(embeddings)
    chosen = None if name is None else arguments.class_named(name, wce.classes_)
    found = UnseenTerms.predict(WordVectors.load(vectors), wce, regressor, seed=settings.seed)
    if not len(found):
        raise InputError(f"{vectors}: all its terms are in the vocabulary of {embeddings}")
    best, quality, n_dims = found.report(n, chosen), found.quality, found.vectors.shape[1]
    result = {
        "regressor": regressor,
        "n_terms": len(found),
        "n_dims": n_dims,
        "n_shared": found.n_shared,
        "n_held_out": 0 if quality is None else quality.n_terms,
        "held_out_r2": None if quality is None else quality.r2,
        "held_out_cosine": None if quality is None else quality.cosine,
        "words": best,
    }
    if output is not None:
        found.to_word_vectors().save(output)
        result = {"output": str(output), **result}
        settings.say(f"{output}: {len(found):,} terms by {n_dims} dimensions")
    lines = align_columns([(term, label, f"{score:5.2f}") for term, label, score in best])
    made = f"{len(found):,} terms predicted by {regressor} from {found.n_shared:,} shared ones"
    measured = "too few to keep one aside and measure"
    if quality is not None:
        scores = f"R2 {quality.r2:.3f}, mean cosine {quality.cosine:.3f}"
        measured = f"on {quality.n_terms:,} of these, held out: {scores}"
    settings.show(result, "\n".join([*lines, f"{made}; {measured}"]))


@command
def distill(
    settings: Settings,
    encoder: Annotated[str, typer.Argument(help="minilm, wordllama, or the folder of a model.")],
    texts: Texts,
    output: Output,
    dims: Annotated[int, "Of the vectors; more than the encoder has: as many as that."] = 300,
    min_docs: Annotated[int, "Documents a term must occur in."] = 5,
    max_terms: Annotated[int | None, "Keep so many, the most frequent."] = None,
    ngrams: Annotated[str, "Words in a term, such as 1 or 1,2."] = "1",
    mask_numbers: Annotated[bool, "Make all numbers one word."] = True,
    stop_words: Annotated[str | None, "english, or a file with a word per line."] = None,
    smoothing: Annotated[float, "Frequent terms are shorter; 0: all as they are."] = 1e-3,
) -> None:
    """Make word vectors of a corpus's own vocabulary from an encoder of texts.

    The ending of the output tells the format: .npz, .vec, .txt and others.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass.sentence.distillation import distill
    from wordclass.sentence.encoder import SentenceEncoder
    from wordclass.text.vectorizer import DocumentVectorizer
    from wordclass.vectors.format_detection import format_to_write

    format_to_write(output, None)
    SentenceEncoder.of(encoder)  # before the corpus is read
    vectorizer = DocumentVectorizer(
        min_docs=min_docs,
        max_terms=max_terms,
        ngrams=arguments.ngrams(ngrams),
        mask_numbers=mask_numbers,
        stop_words=arguments.stop_words(stop_words, settings.encoding),
        n_jobs=settings.jobs,
    )
    blocks = texts.records(texts.blocks("train", settings.encoding, None))
    vectorizer.fit_blocks([record.text for record in block] for block in blocks)
    vocabulary = vectorizer.vocabulary_
    vectors = distill(encoder, vocabulary, dims, smoothing=smoothing or None, n_jobs=settings.jobs)
    vectors.save(output)
    _tell_made(settings, output, vectors, start, n_docs=vocabulary.n_docs, encoder=encoder)


@command
def pte(
    corpus: Corpus,
    settings: Settings,
    output: Output,
    dims: Annotated[int, "Of the vectors."] = 100,
    window: Annotated[int, "How far apart words near each other may be."] = 5,
    samples: Annotated[int | None, "Edges to draw; else 40 for every word of the texts."] = None,
    negatives: Annotated[int, "Words drawn as noise beside every edge."] = 5,
    learning_rate: Annotated[float, "At the start; it falls linearly."] = 0.025,
    min_docs: Annotated[int, "Documents a term must occur in."] = 5,
    max_terms: Annotated[int | None, "Keep so many, the most frequent."] = None,
    mask_numbers: Annotated[bool, "Make all numbers one word."] = True,
    stop_words: Annotated[str | None, "english, or a file with a word per line."] = None,
    multilabel: Multilabel = None,
) -> None:
    """Learn word vectors from labelled texts by PTE, predictive text embedding.

    Documents without labels are learned from too (--on-missing-label empty, where the others have
    one each). The ending of the output tells the format: .npz, .vec, .txt and others.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass.reproduction.rivals.pte import pte
    from wordclass.vectors.format_detection import format_to_write

    format_to_write(output, None)
    documents = corpus.read("train", settings.encoding, multilabel)
    vectors = pte(
        documents.texts,
        documents.labels,
        dims,
        window=window,
        n_samples=samples,
        n_negatives=negatives,
        learning_rate=learning_rate,
        seed=settings.seed,
        n_jobs=settings.jobs,
        min_docs=min_docs,
        max_terms=max_terms,
        mask_numbers=mask_numbers,
        stop_words=arguments.stop_words(stop_words, settings.encoding),
    )
    vectors.save(output)
    _tell_made(settings, output, vectors, start, n_docs=len(documents))


def _tell_made(
    settings: Settings,
    output: Path,
    vectors: Any,  # noqa: ANN401 - WordVectors
    start: float,
    *,
    n_docs: int,
    **more: str,
) -> None:
    """Tell which vectors were written, from how many documents and by what, since the start."""
    seconds = time.perf_counter() - start
    sizes = {"n_docs": n_docs, "n_terms": len(vectors), "n_dims": vectors.n_dims}
    result = {"output": str(output), **more, **sizes, "seconds": round(seconds, 3)}
    made = f"{len(vectors):,} terms by {vectors.n_dims} dimensions"
    by = "".join(f", by {each}" for each in more.values())
    settings.tell(result, f"{output}: {made}{by}, from {n_docs:,} documents, in {seconds:.1f} s")


@command
def convert(
    settings: Settings,
    source: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any known format.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write them.")],
    format: Annotated[str | None, "Of OUT, where its ending is silent."] = None,
    source_format: Annotated[str | None, "--from", "The format of IN."] = None,
) -> None:
    """Turn word vectors from one format into another."""
    settings.check_output(target)

    from wordclass.vectors.word_vectors import WordVectors

    vectors = WordVectors.load(source, format=source_format)
    vectors.save(target, format=format)
    result = {"output": str(target), "n_terms": len(vectors), "n_dims": vectors.n_dims}
    settings.tell(result, f"{target}: {len(vectors):,} terms by {vectors.n_dims} dimensions")


def _load(path: Path) -> Any:  # noqa: ANN401 - WordClassEmbeddings, which is slow to import
    from wordclass.embedding.estimator import WordClassEmbeddings

    return WordClassEmbeddings.load(path)
