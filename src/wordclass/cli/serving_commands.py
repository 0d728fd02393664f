"""The commands that put a model on a page or behind HTTP: explore, serve."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass import catalogue
from wordclass.cli.command import Settings, command
from wordclass.cli.corpora import Corpus
from wordclass.errors import InputError
from wordclass.options import check_int, check_number
from wordclass.storage import files
from wordclass.storage.files import read_content

if TYPE_CHECKING:
    from wordclass.explorer.views import Exploration
    from wordclass.serving.app import Limits

Host = Annotated[str, "Address to listen on."]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")]
Names = Annotated[list[str] | None, "A name by which this host may be called; repeatable."]

_MIN_TOKEN_CHARS = 16
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@command
def serve(
    settings: Settings,
    models: Annotated[list[Path], typer.Argument(help="The folders of models.")],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
    token_file: Annotated[
        Path | None, "File of accepted tokens, one per line; lines that begin with # are comments."
    ] = None,
    allow_host: Names = None,
    cors_origin: Annotated[list[str] | None, "A page that may ask from a browser."] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 16 << 20,
    max_text: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = 1_000_000,
    max_batch: Annotated[int, typer.Option(min=1, help="Texts of a request.")] = 2000,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Requests that wait, per process; others get 503.")
    ] = 256,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for an answer.")] = 30.0,
    read_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a request to arrive.")
    ] = 10.0,
) -> None:
    """Serve models over HTTP: predictions, and the words that made them.

    GET /openapi.json tells the routes. SIGHUP reads the models and tokens again, SIGTERM stops.
    """
    catalogue.import_extra("uvicorn", "to serve a model", "serve")
    catalogue.import_extra("starlette", "to serve a model", "serve")
    from wordclass.explorer.views import Exploration
    from wordclass.serving.access import AccessPolicy
    from wordclass.serving.app import Limits
    from wordclass.storage.models import load

    named = _named(models)
    counts = {"body": max_body, "text": max_text, "batch": max_batch, "waiting": max_waiting}
    for name, count in counts.items():
        check_int(f"--max-{name}", count, 1)
    for name, seconds in {"timeout": timeout, "read-timeout": read_timeout}.items():
        check_number(f"--{name}", seconds, above=0.0)  # typer lets NaN and infinity pass
    limits = Limits(
        body_bytes=max_body,
        text_chars=max_text,
        batch_texts=max_batch,
        waiting_requests=max_waiting,
        answer_seconds=timeout,
        body_seconds=read_timeout,
    )

    def read() -> "dict[str, Exploration]":
        return {name: Exploration(load(path)) for name, path in named.items()}

    def access_policy() -> AccessPolicy:
        return AccessPolicy(
            tokens=_tokens(token_file),
            hosts=(host, *(allow_host or ())),
            origins=tuple(cors_origin or ()),
        )

    _run(settings, read, limits, access_policy, host, port, workers, has_page=False)


@command
def explore(
    settings: Settings,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[
        str | None, "Labelled texts, to find mistakes in: a file, or dataset:NAME."
    ] = None,
    output: Annotated[
        Path | None, "--output", "-o", "Write one HTML file that works from disk; else serve."
    ] = None,
    vectors: Annotated[Path | None, "Word vectors to compare the nearest words with."] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: Names = None,
    split: Annotated[str | None, "Part of the data: train, test (usual), all."] = None,
    text_field: Annotated[list[str] | None, "Column of texts."] = None,
    label_field: Annotated[list[str] | None, "Column of labels."] = None,
) -> None:
    """Look at a model: try texts, see what classes and words hang on, find mistakes.

    Without -o the page is served until Ctrl-C; with -o it is one file, which predicts by itself
    where the model is linear or nearest.
    """
    settings.check_output(output)
    if output is None:
        catalogue.import_extra("uvicorn", "to serve the page (-o FILE.html needs nothing)", "serve")
    from wordclass.explorer.views import Exploration
    from wordclass.storage.models import load
    from wordclass.vectors.word_vectors import WordVectors

    def read() -> "dict[str, Exploration]":
        loaded = load(model)
        documents = None
        if data is not None:
            corpus = Corpus([data], split, text_field, label_field=label_field)
            several = loaded.codeframe_.is_multilabel
            documents = corpus.read("test", settings.encoding, several, loaded)
        known = None if vectors is None else WordVectors.load(vectors)
        views = Exploration(loaded, documents, known, "" if vectors is None else vectors.name)
        views.about()  # what is made once is made before the processes part
        return {model.resolve().name: views}

    if output is None:
        from wordclass.serving.access import AccessPolicy
        from wordclass.serving.app import Limits

        hosts = (host, *(allow_host or ()))
        _run(
            settings,
            read,
            Limits(),
            lambda: AccessPolicy(hosts=hosts),
            host,
            port,
            1,
            has_page=True,
        )
        return
    from wordclass.explorer.page import export_page

    ((name, views),) = read().items()
    content = export_page(name, views, seed=settings.seed)
    with files.open_for_writing(output) as stream:
        stream.write(content)
    result = {"output": str(output), "bytes": len(content)}
    settings.tell(result, f"{output}: a page of {len(content):,} bytes about {name}")


def _run(
    settings: Settings,
    read: Any,  # noqa: ANN401 - a function
    limits: "Limits",
    access_policy: Any,  # noqa: ANN401 - a function
    host: str,
    port: int,
    workers: int,
    *,
    has_page: bool,
) -> None:
    from wordclass.explorer.page import Page
    from wordclass.serving.app import Service
    from wordclass.serving.journal import Counters, standard_journal
    from wordclass.serving.processes import Supervisor, open_listening_socket

    journal, counters = standard_journal(quiet=settings.quiet), Counters(2 * workers)

    def make() -> Service:
        return Service(
            read(),
            limits=limits,
            access_policy=access_policy(),
            journal=journal,
            counters=counters,
            page=Page() if has_page else None,
        )

    with open_listening_socket(host, port) as sock:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{sock.getsockname()[1]}/"
        first = [make()]  # before anything is promised
        names = [*first[0].models]
        if host not in _LOOPBACK and not first[0].access_policy.tokens:
            told = f"warning: whoever reaches {host} is served; --token-file asks for a token"
            settings.say(told)
        result = {"address": address, "models": names, "workers": workers}
        settings.tell(result, f"{address} serves {', '.join(names)}; Ctrl-C stops it")
        Supervisor(lambda: first.pop() if first else make(), sock, workers, journal, counters).run()


def _named(models: list[Path]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for path in models:
        name = path.resolve().name
        if name in named:
            told = f"{named[name]} and {path} have the same name {name!r}"
            raise InputError(f"{told}; a model's id is its folder's name: rename one")
        named[name] = path
    return named


def _tokens(path: Path | None) -> tuple[str, ...]:
    """Return the tokens of a file: one per line; lines that begin with # are comments."""
    if path is None:
        return ()
    try:
        content = read_content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    tokens = []
    for number, line in enumerate(content.split("\n"), start=1):
        token = line.strip(" \t\r")
        if token and not token.startswith("#"):
            _check_token(token, f"{path}, line {number}")
            tokens.append(token)
    if not tokens:
        raise InputError(f"{path} holds no token; expected one per line")
    return tuple(tokens)


def _check_token(token: str, place: str) -> None:
    """Refuse what is no token, without showing it."""
    remedy = "expected one token per line, and # before a comment"
    if any(character.isspace() for character in token):
        raise InputError(f"{place}: the token has white space inside; {remedy}")
    if not token.isprintable():
        raise InputError(f"{place}: the token has a character that cannot be printed; {remedy}")
    if len(token) < _MIN_TOKEN_CHARS:
        problem = f"the token has {len(token)} characters"
        remedy = "python -c 'import secrets; print(secrets.token_urlsafe())' prints a good one"
        raise InputError(f"{place}: {problem}; expected at least {_MIN_TOKEN_CHARS}: {remedy}")
