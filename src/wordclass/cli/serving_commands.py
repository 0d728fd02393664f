"""The commands that serve a model over HTTP or as a page: serve and explore."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordclass import catalogue
from wordclass.cli.arguments import ModelFolder
from wordclass.cli.command import Settings, command
from wordclass.cli.corpora import Corpus, LabelOptions, Names
from wordclass.errors import InputError
from wordclass.options import check_int, check_number
from wordclass.storage import files
from wordclass.storage.files import read_content

if TYPE_CHECKING:
    from wordclass.explorer.views import Exploration
    from wordclass.serving.access import AccessPolicy
    from wordclass.serving.app import Limits

Host = Annotated[str, "ADDRESS", "Address to listen on."]
Port = Annotated[
    int,
    typer.Option(min=0, max=65535, metavar="N", help="Port to listen on. Use 0 for any free port."),
]
AllowedHosts = Annotated[
    Names, "HOST", "Host name under which requests are accepted. Repeat for several."
]

_MIN_TOKEN_CHARS = 16
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@command(
    "Use",
    examples="""
wordclass serve model/
wordclass serve news/ mails/ --port 8080 --workers 4
wordclass serve model/ --host 0.0.0.0 --token-file tokens.txt --allow-host texts.example.org
""",
)
def serve(
    settings: Settings,
    models: Annotated[list[Path], "MODEL...", "Folders of models."],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=256, metavar="N", help="Number of worker processes.")
    ] = 1,
    token_file: Annotated[
        Path | None, "File with one accepted token per line. Lines that begin with # are ignored."
    ] = None,
    allow_host: AllowedHosts = None,
    cors_origin: Annotated[
        Names, "ORIGIN", "Web page that may send requests from a browser. Repeat for several."
    ] = None,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Largest size of a request.")
    ] = 16 << 20,
    max_text: Annotated[
        int, typer.Option(min=1, metavar="N", help="Largest number of characters of a text.")
    ] = 1_000_000,
    max_batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Largest number of texts of a request.")
    ] = 2000,
    max_waiting: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Largest number of waiting requests per worker. More are answered with 503.",
        ),
    ] = 256,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for an answer.")
    ] = 30.0,
    read_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for reading a request.")
    ] = 10.0,
) -> None:
    """Serve models over HTTP.

    The service predicts and explains. GET /openapi.json describes its routes. SIGHUP reloads the
    models and tokens, and SIGTERM stops the service.
    """
    _require_server("to serve a model")
    from wordclass.serving.access import AccessPolicy
    from wordclass.serving.app import Limits

    folders = _name_folders(models)
    limits = {"body": max_body, "text": max_text, "batch": max_batch, "waiting": max_waiting}
    for name, limit in limits.items():
        check_int(f"--max-{name}", limit, 1)
    for name, seconds in {"timeout": timeout, "read-timeout": read_timeout}.items():
        check_number(f"--{name}", seconds, above=0.0)  # typer accepts NaN and infinity

    def load_views() -> "dict[str, Exploration]":
        from wordclass.explorer.views import Exploration
        from wordclass.storage.models import load

        return {name: Exploration(load(folder)) for name, folder in folders.items()}

    def read_access_policy() -> "AccessPolicy":
        return AccessPolicy(
            tokens=_read_tokens(token_file),
            hosts=(host, *(allow_host or ())),
            origins=tuple(cors_origin or ()),
        )

    server = _Server(
        settings=settings,
        load_views=load_views,
        read_access_policy=read_access_policy,
        limits=Limits(
            body_bytes=max_body,
            text_chars=max_text,
            batch_texts=max_batch,
            waiting_requests=max_waiting,
            answer_seconds=timeout,
            body_seconds=read_timeout,
        ),
        host=host,
        port=port,
        n_workers=workers,
        has_page=False,
    )
    server.run()


@command(
    "Look",
    uses=("force", "seed", "encoding"),
    examples="""
wordclass explore model/ --data test.csv
wordclass explore model/ --data test.csv -o page.html
wordclass explore model/ --data news.csv --text-field body --label-field topic
""",
)
def explore(
    settings: Settings,
    model: ModelFolder,
    reading: LabelOptions,
    data: Annotated[
        str | None, "FILE", "Labelled texts to find mistakes in: a file, folder or dataset:NAME."
    ] = None,
    output: Annotated[
        Path | None,
        "--output",
        "-o",
        "FILE.html",
        "Write one HTML file that works without a server.",
    ] = None,
    vectors: Annotated[
        Path | None, "Word vectors whose nearest words are shown for comparison."
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: AllowedHosts = None,
) -> None:
    """Explore a model in the browser.

    The page predicts and explains texts, and shows words of classes, similar classes and mistakes.
    Without -o, it is served until Ctrl-C. With -o, it is a file that also predicts by itself if the
    model is linear or nearest.
    """
    settings.check_output(output)
    if output is None:
        _require_server("to serve the page (-o FILE.html needs no package)")

    def load_views() -> "dict[str, Exploration]":
        return {model.resolve().name: _load_exploration(model, data, reading, vectors, settings)}

    if output is None:
        from wordclass.serving.access import AccessPolicy
        from wordclass.serving.app import Limits

        hosts = (host, *(allow_host or ()))
        server = _Server(
            settings=settings,
            load_views=load_views,
            read_access_policy=lambda: AccessPolicy(hosts=hosts),
            limits=Limits(),
            host=host,
            port=port,
            n_workers=1,
            has_page=True,
        )
        server.run()
        return
    from wordclass.explorer.page import export_page

    ((name, views),) = load_views().items()
    content = export_page(name, views, seed=settings.seed)
    with files.open_for_writing(output) as stream:
        stream.write(content)
    result = {"output": str(output), "bytes": len(content)}
    settings.report(result, f"{output}: page about {name}, {len(content):,} bytes")


def _load_exploration(
    model: Path,
    data: str | None,
    reading: LabelOptions,
    vectors: Path | None,
    settings: Settings,
) -> "Exploration":
    from wordclass.explorer.views import Exploration
    from wordclass.storage.models import load
    from wordclass.vectors.word_vectors import WordVectors

    loaded = load(model)
    documents = None
    if data is not None:
        options = {
            option.name: getattr(reading, option.name) for option in fields(reading) if option.init
        }
        corpus = Corpus(data=[data], **options)
        is_multilabel = loaded.codeframe_.is_multilabel
        documents = corpus.read("test", settings.encoding, is_multilabel, loaded)
    word_vectors = None if vectors is None else WordVectors.load(vectors)
    source = "" if vectors is None else vectors.name
    views = Exploration(loaded, documents, word_vectors, source)
    views.about()  # computed before the process forks
    return views


def _require_server(purpose: str) -> None:
    for package in ("uvicorn", "starlette"):
        catalogue.import_extra(package, purpose)


@dataclass(frozen=True, kw_only=True)
class _Server:
    """A service that is about to start.

    Parameters
    ----------
    settings : Settings
        The shared options.
    load_views : callable
        Function that loads the models, by id.
    read_access_policy : callable
        Function that reads tokens and host names.
    limits : Limits
        The limits of requests.
    host : str
        The address to listen on.
    port : int
        The port to listen on.
    n_workers : int
        The number of worker processes.
    has_page : bool
        Whether the service includes the page.
    """

    settings: Settings
    load_views: "Callable[[], dict[str, Exploration]]"
    read_access_policy: "Callable[[], AccessPolicy]"
    limits: "Limits"
    host: str
    port: int
    n_workers: int
    has_page: bool

    def run(self) -> None:
        """Serve until the process is stopped."""
        from wordclass.explorer.page import Page
        from wordclass.serving.app import Service
        from wordclass.serving.journal import Counters, standard_journal
        from wordclass.serving.processes import Supervisor, open_listening_socket

        journal = standard_journal(quiet=self.settings.quiet)
        counters = Counters(2 * self.n_workers)

        def make_service() -> Service:
            return Service(
                self.load_views(),
                limits=self.limits,
                access_policy=self.read_access_policy(),
                journal=journal,
                counters=counters,
                page=Page() if self.has_page else None,
            )

        with open_listening_socket(self.host, self.port) as sock:
            host = f"[{self.host}]" if ":" in self.host else self.host
            address = f"http://{host}:{sock.getsockname()[1]}/"
            services = [make_service()]  # errors appear before the address is printed
            names = [*services[0].models]
            if self.host not in _LOOPBACK and not services[0].access_policy.tokens:
                self.settings.say(
                    f"warning: everyone who reaches {self.host} can use the service; "
                    "use --token-file to require a token"
                )
            result = {"address": address, "models": names, "workers": self.n_workers}
            self.settings.report(
                result, f"serving {', '.join(names)} at {address}; press Ctrl-C to stop"
            )
            Supervisor(
                make_service=lambda: services.pop() if services else make_service(),
                sock=sock,
                n_workers=self.n_workers,
                journal=journal,
                counters=counters,
            ).run()


def _name_folders(folders: list[Path]) -> dict[str, Path]:
    """Return the folders of models by id, which is the name of the folder."""
    named: dict[str, Path] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in named:
            raise InputError(
                f"{named[name]} and {folder} have the same name {name!r}",
                expected="a different name for each model",
                hint="rename one of the folders",
            )
        named[name] = folder
    return named


def _read_tokens(path: Path | None) -> tuple[str, ...]:
    """Return the tokens of a file with one token per line and comments after #."""
    if path is None:
        return ()
    try:
        content = read_content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start}",
            hint="save the file as UTF-8",
        ) from None
    tokens = []
    for number, line in enumerate(content.split("\n"), start=1):
        token = line.strip(" \t\r")
        if token and not token.startswith("#"):
            _check_token(token, f"{path}, line {number}")
            tokens.append(token)
    if not tokens:
        raise InputError(f"{path} contains no token", expected="one token per line")
    return tuple(tokens)


def _check_token(token: str, place: str) -> None:
    """Raise an error that does not show the token if it is invalid."""
    expected = "one token per line, and comments on lines that begin with #"
    if any(character.isspace() for character in token):
        raise InputError(f"{place}: the token contains white space", expected=expected)
    if not token.isprintable():
        raise InputError(
            f"{place}: the token contains a character that cannot be printed", expected=expected
        )
    if len(token) < _MIN_TOKEN_CHARS:
        raise InputError(
            f"{place}: the token has {len(token)} characters",
            expected=f"at least {_MIN_TOKEN_CHARS}",
            hint="make one with: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
