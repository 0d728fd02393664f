"""The commands about embeddings: fit, words, profile, nearest, unseen, distill, pte, convert."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass import catalogue
from wordclass.cli import arguments
from wordclass.cli.arguments import MaskNumbers, MaxTerms, MinDocs, Ngrams, Output, StopWords
from wordclass.cli.command import Settings, command
from wordclass.cli.completion import entry_names
from wordclass.cli.corpora import Corpus, EngineOptions, Multilabel, Texts, report_skipped
from wordclass.errors import InputError
from wordclass.storage.files import uncompressed_name

Embeddings = Annotated[Path, "EMBEDDINGS", "Word-class embeddings, a .wce file."]
N_SHOWN = typer.Option("-n", min=1, metavar="N", help="Number of rows to show.")


@command(
    "Learn",
    uses=("force", "seed", "jobs", "encoding"),
    examples="""
wordclass fit news.csv -o news.wce
wordclass fit news.csv -o news.wce --shrinkage 20 --ngrams 1,2
wordclass fit dataset:newsgroups20 -o news.vec
""",
)
def fit(
    corpus: Corpus,
    engine_options: EngineOptions,
    settings: Settings,
    output: Output,
    correlation: Annotated[
        str, entry_names("correlations"), "Measure of association between a term and a class."
    ] = "dot",
    weighting: Annotated[
        str, entry_names("weightings"), "Weighting of the terms of a document."
    ] = "tfidf",
    shrinkage: Annotated[
        float, "Number of pseudo-counts that pull rare terms to the average. Try 20."
    ] = 0.0,
    projector: Annotated[
        str, entry_names("projectors"), "Projection to fewer dimensions, if there are many classes."
    ] = "pca",
    max_dims: Annotated[
        int, "Number of classes above which vectors are projected. Use 0 to never project."
    ] = 300,
    min_docs: MinDocs = 5,
    ngrams: Ngrams = "1",
    mask_numbers: MaskNumbers = True,
    stop_words: StopWords = None,
    keep_documents: Annotated[
        bool, "Keep the term counts of all documents, so that updates are exact."
    ] = False,
    multilabel: Multilabel = None,
) -> None:
    """Learn word-class embeddings from labelled texts.

    A .wce file contains everything. With another ending, such as .vec, only the vectors are
    written, in that format. Several files, or --engine, are processed in shards and need not fit
    into memory.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass.corpus.documents import describe_task
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
        ngrams=arguments.parse_ngrams(ngrams),
        mask_numbers=mask_numbers,
        stop_words=arguments.read_stop_words(stop_words, settings.encoding),
        seed=settings.seed,
        keep_documents=keep_documents,
        n_jobs=settings.jobs,
    )
    n_docs, is_multilabel = _fit(embeddings, corpus, engine_options, settings, multilabel)
    saved = embeddings if is_wce else embeddings.to_word_vectors()
    saved.save(output)
    seconds = time.perf_counter() - start
    n_dims = embeddings.vectors_.shape[1]
    result = {
        "output": str(output),
        "n_docs": n_docs,
        "n_classes": len(embeddings.classes_),
        "is_multilabel": is_multilabel,
        "n_terms": len(embeddings),
        "n_dims": n_dims,
        "seconds": round(seconds, 3),
    }
    sizes = f"{len(embeddings):,} terms with {n_dims} dimensions"
    task = describe_task(is_multilabel, len(embeddings.classes_))
    settings.report(
        result, f"{output}: {sizes}, from {n_docs:,} documents ({task}), in {seconds:.1f} s"
    )


def _fit(
    embeddings: Any,  # noqa: ANN401 - WordClassEmbeddings
    corpus: Corpus,
    engine_options: EngineOptions,
    settings: Settings,
    multilabel: bool | None,
) -> tuple[int, bool]:
    """Fit embeddings, in shards if the corpus is large, and describe the corpus.

    Returns
    -------
    n_docs : int
        The number of documents.
    is_multilabel : bool
        Whether the task is multilabel.
    """
    shards = corpus.shards(
        engine_options,
        "train",
        settings.encoding,
        multilabel,
        or_large=not embeddings.keep_documents,
    )
    if shards is not None:
        with engine_options.open_engine(settings) as engine:
            embeddings.fit_parts(shards, engine=engine)
        report_skipped(settings, embeddings.seen_)
        return embeddings.seen_.n_docs, embeddings.learned_.codeframe.is_multilabel
    documents = corpus.read("train", settings.encoding, multilabel)
    embeddings.fit(documents.texts, documents.labels)
    return len(documents), documents.is_multilabel


@command(
    "Look",
    examples="""
wordclass words news.wce sci.space
wordclass words news.wce sci.space -n 50 --json
""",
)
def words(
    settings: Settings,
    embeddings: Embeddings,
    name: Annotated[str, "CLASS", "Name of a class."],
    n: Annotated[int, N_SHOWN] = 20,
) -> None:
    """Show the terms with the highest scores for a class."""
    from wordclass.tables import format_scores
    from wordclass.text.analyzer import display_term

    loaded = _load(embeddings)
    terms = loaded.top_terms(arguments.find_class(name, loaded.columns_), n)
    rows = [(display_term(term), score) for term, score in terms]
    settings.show({"class": name, "words": rows}, format_scores(rows))


@command(
    "Look",
    examples="""
wordclass profile news.wce orbit
wordclass profile news.wce 1995
""",
)
def profile(
    settings: Settings,
    embeddings: Embeddings,
    word: Annotated[str, "WORD", "Term of the vocabulary."],
    n: Annotated[int, N_SHOWN] = 20,
) -> None:
    """Show the scores of a word for the classes."""
    from wordclass.corpus.labels import describe_unknown_name
    from wordclass.tables import format_scores
    from wordclass.text.analyzer import display_term

    loaded = _load(embeddings)
    term = loaded.written(word)
    if term not in loaded:
        raise InputError(describe_unknown_name("word", word, loaded.terms_))
    classes = loaded.profile(term, n)
    shown = word if display_term(term) != term else term
    settings.show({"word": shown, "classes": classes}, format_scores(classes))


@command(
    "Look",
    examples="""
wordclass nearest news.wce orbit
wordclass nearest glove.6B.100d.txt orbit -n 5
""",
)
def nearest(
    settings: Settings,
    vectors: Annotated[Path, "FILE", "Word vectors in any known format."],
    word: Annotated[str, "WORD", "Word of the file. Its lower case is tried, too."],
    n: Annotated[int, N_SHOWN] = 10,
) -> None:
    """Show the words with the most similar vectors.

    The similarity is the cosine of the angle between two vectors.
    """
    from wordclass.tables import format_scores
    from wordclass.text.analyzer import display_term, mask_and_lower
    from wordclass.vectors.word_vectors import WordVectors

    loaded = WordVectors.load(vectors)
    forms = (word, word.lower(), mask_and_lower(word, True))
    term = next((form for form in forms if form in loaded), None)
    if term is None:
        raise InputError(
            f"{vectors}: unknown word {word!r}", hint="try another spelling or a more common word"
        )
    rows = [(display_term(name), score) for name, score in loaded.nearest(term, n)]
    shown = word if display_term(term) != term else term
    settings.show({"word": shown, "nearest": rows}, format_scores(rows))


@command(
    "Look",
    uses=("force", "seed"),
    examples="""
wordclass unseen news.wce glove.6B.100d.txt
wordclass unseen news.wce glove.6B.100d.txt --class sci.space -n 50
wordclass unseen news.wce glove.6B.100d.txt -o unseen.vec
""",
)
def unseen(
    settings: Settings,
    embeddings: Embeddings,
    vectors: Annotated[Path, "VECTORS", "Pretrained word vectors."],
    n: Annotated[int, typer.Option("-n", min=0, metavar="N", help="Number of terms to show.")] = 20,
    name: Annotated[str | None, "--class", "CLASS", "Show scores for this class only."] = None,
    regressor: Annotated[
        str, entry_names("regressors"), "Regressor that predicts the vectors: ridge or network."
    ] = "ridge",
    output: Annotated[
        Path | None, "--output", "-o", "Output file for the predicted vectors of all terms."
    ] = None,
) -> None:
    """Predict class scores of words that training has not seen.

    The scores are predicted from pretrained vectors. The command shows the words with the highest
    scores, and how well held-out words of the vocabulary are predicted.
    """
    from wordclass.embedding.unseen_terms import UnseenTerms
    from wordclass.tables import align_columns
    from wordclass.vectors.format_detection import format_to_write
    from wordclass.vectors.word_vectors import WordVectors

    catalogue.entry("regressors", regressor)
    settings.check_output(output)
    if output is not None:
        format_to_write(output, None)
    loaded = _load(embeddings)
    label = None if name is None else arguments.find_class(name, loaded.classes_)
    terms = UnseenTerms.predict(WordVectors.load(vectors), loaded, regressor, seed=settings.seed)
    if not len(terms):
        raise InputError(
            f"{vectors}: all its terms are in the vocabulary of {embeddings}",
            hint="use vectors of more words",
        )
    best = terms.report(n, label)
    quality = terms.quality
    n_dims = terms.vectors.shape[1]
    result = {
        "regressor": regressor,
        "n_terms": len(terms),
        "n_dims": n_dims,
        "n_shared": terms.n_shared,
        "n_held_out": 0 if quality is None else quality.n_terms,
        "held_out_r2": None if quality is None else quality.r2,
        "held_out_cosine": None if quality is None else quality.cosine,
        "words": best,
    }
    if output is not None:
        terms.to_word_vectors().save(output)
        result = {"output": str(output), **result}
        settings.say(f"{output}: {len(terms):,} terms with {n_dims} dimensions")
    rows = align_columns([(term, class_name, f"{score:5.2f}") for term, class_name, score in best])
    summary = f"{len(terms):,} terms predicted by {regressor} from {terms.n_shared:,} shared terms"
    measured = "too few shared terms to measure the quality"
    if quality is not None:
        measured = (
            f"on {quality.n_terms:,} held-out terms: "
            f"R2 {quality.r2:.3f}, mean cosine {quality.cosine:.3f}"
        )
    settings.show(result, "\n".join([*rows, f"{summary}; {measured}"]))


@command(
    "Learn",
    uses=("force", "jobs", "encoding"),
    examples="""
wordclass distill minilm news.csv -o news.npz
wordclass train news.csv -o model/ --vectors news.npz
""",
)
def distill(
    encoder: Annotated[str, "ENCODER", "minilm, wordllama, or the folder of a sentence encoder."],
    texts: Texts,
    settings: Settings,
    output: Output,
    dims: Annotated[int, "Largest number of dimensions of the vectors."] = 300,
    min_docs: MinDocs = 5,
    max_terms: MaxTerms = None,
    ngrams: Ngrams = "1",
    mask_numbers: MaskNumbers = True,
    stop_words: StopWords = None,
    smoothing: Annotated[
        float,
        "Smaller numbers shorten the vectors of frequent terms more. Use 0 to keep their lengths.",
    ] = 1e-3,
) -> None:
    """Compute word vectors of a corpus from a sentence encoder.

    The encoder computes one vector per term of the vocabulary. The ending of the output names its
    format: .npz, .vec, .txt and others.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass.sentence.distillation import distill
    from wordclass.sentence.encoder import SentenceEncoder
    from wordclass.text.vectorizer import DocumentVectorizer
    from wordclass.vectors.format_detection import format_to_write

    format_to_write(output, None)
    SentenceEncoder.of(encoder)  # fails before the corpus is read
    vectorizer = DocumentVectorizer(
        min_docs=min_docs,
        max_terms=max_terms,
        ngrams=arguments.parse_ngrams(ngrams),
        mask_numbers=mask_numbers,
        stop_words=arguments.read_stop_words(stop_words, settings.encoding),
        n_jobs=settings.jobs,
    )
    blocks = texts.records(texts.reader("train", settings.encoding, None))
    vectorizer.fit_blocks([record.text for record in block] for block in blocks)
    vocabulary = vectorizer.vocabulary_
    vectors = distill(encoder, vocabulary, dims, smoothing=smoothing or None, n_jobs=settings.jobs)
    vectors.save(output)
    _report_vectors(settings, output, vectors, start, n_docs=vocabulary.n_docs, encoder=encoder)


@command(
    "Reproduce",
    uses=("force", "seed", "jobs", "encoding"),
    examples="""
wordclass pte news.csv -o pte.npz
wordclass pte news.csv -o pte.npz --dims 50 --window 10
""",
)
def pte(
    corpus: Corpus,
    settings: Settings,
    output: Output,
    dims: Annotated[int, "Number of dimensions of the vectors."] = 100,
    window: Annotated[int, "Largest distance between two words of a pair."] = 5,
    samples: Annotated[
        int | None, "Number of edges to draw. By default 40 per word of the texts."
    ] = None,
    negatives: Annotated[int, "Number of noise words per edge."] = 5,
    learning_rate: Annotated[float, "Initial learning rate, which decreases linearly."] = 0.025,
    min_docs: MinDocs = 5,
    max_terms: MaxTerms = None,
    mask_numbers: MaskNumbers = True,
    stop_words: StopWords = None,
    multilabel: Multilabel = None,
) -> None:
    """Learn word vectors by predictive text embedding (PTE).

    PTE is a method to compare with. Texts without labels are used, too, with --on-missing-label
    empty. The ending of the output names its format: .npz, .vec, .txt and others.
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
        stop_words=arguments.read_stop_words(stop_words, settings.encoding),
    )
    vectors.save(output)
    _report_vectors(settings, output, vectors, start, n_docs=len(documents))


def _report_vectors(
    settings: Settings,
    output: Path,
    vectors: Any,  # noqa: ANN401 - WordVectors
    start: float,
    *,
    n_docs: int,
    **source: str,
) -> None:
    """Report the vectors that were written, their source and the time since the start."""
    seconds = time.perf_counter() - start
    sizes = {"n_docs": n_docs, "n_terms": len(vectors), "n_dims": vectors.n_dims}
    result = {"output": str(output), **source, **sizes, "seconds": round(seconds, 3)}
    by = "".join(f", by {name}" for name in source.values())
    settings.report(
        result,
        f"{output}: {len(vectors):,} terms with {vectors.n_dims} dimensions{by}, "
        f"from {n_docs:,} documents, in {seconds:.1f} s",
    )


@command(
    "Data",
    uses=("force",),
    examples="""
wordclass convert news.wce news.vec
wordclass convert glove.6B.100d.txt glove.npz
wordclass convert vectors.dat vectors.out --from word2vec_binary --format glove_text
""",
)
def convert(
    settings: Settings,
    source: Annotated[Path, "IN", "Word vectors in any known format."],
    target: Annotated[Path, "OUT", "Output file."],
    format: Annotated[
        str | None,
        entry_names("vector_formats"),
        "Format of OUT. By default its ending names the format.",
    ] = None,
    source_format: Annotated[
        str | None,
        "--from",
        entry_names("vector_formats"),
        "Format of IN. By default its ending and content decide.",
    ] = None,
) -> None:
    """Convert word vectors from one format to another."""
    settings.check_output(target)

    from wordclass.vectors.word_vectors import WordVectors

    vectors = WordVectors.load(source, format=source_format)
    vectors.save(target, format=format)
    result = {"output": str(target), "n_terms": len(vectors), "n_dims": vectors.n_dims}
    settings.report(result, f"{target}: {len(vectors):,} terms with {vectors.n_dims} dimensions")


def _load(path: Path) -> Any:  # noqa: ANN401 - WordClassEmbeddings, which is slow to import
    from wordclass.embedding.estimator import WordClassEmbeddings

    return WordClassEmbeddings.load(path)
