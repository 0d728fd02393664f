"""The commands that put a model on a page or behind HTTP: explore, serve."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass import naming
from wordclass.cli.command import Settings, command
from wordclass.errors import InputError
from wordclass.storage import content_of

if TYPE_CHECKING:
    from wordclass.explorer.views import Exploration
    from wordclass.serving.app import Limits

Host = Annotated[str, "Address to listen on."]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")]
Names = Annotated[list[str] | None, "A name by which this host may be called; repeatable."]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@command
def serve(
    settings: Settings,
    models: Annotated[list[Path], typer.Argument(help="The folders of models.")],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
    token_file: Annotated[Path | None, "Who is served: one token per line."] = None,
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
    naming.extra("uvicorn", "to serve a model", "serve")
    naming.extra("starlette", "to serve a model", "serve")
    from wordclass.explorer.views import Exploration
    from wordclass.persistence import load
    from wordclass.serving.app import Limits, Manners

    named = _named(models)
    limits = Limits(
        body=max_body,
        text=max_text,
        batch=max_batch,
        waiting=max_waiting,
        seconds=timeout,
        body_seconds=read_timeout,
    )

    def read() -> "dict[str, Exploration]":
        return {name: Exploration(load(path)) for name, path in named.items()}

    def manners() -> Manners:
        return Manners(
            tokens=_tokens(token_file),
            hosts=(host, *(allow_host or ())),
            origins=tuple(cors_origin or ()),
        )

    _run(settings, read, limits, manners, host, port, workers, has_page=False)


def _run(
    settings: Settings,
    read: Any,  # noqa: ANN401 - a function
    limits: "Limits",
    manners: Any,  # noqa: ANN401 - a function
    host: str,
    port: int,
    workers: int,
    *,
    has_page: bool,
) -> None:
    from wordclass.explorer.page import Page
    from wordclass.serving.app import Service
    from wordclass.serving.journal import Counters, standard_journal
    from wordclass.serving.processes import Processes, listening

    journal, counters = standard_journal(quiet=settings.quiet), Counters(2 * workers)

    def make() -> Service:
        return Service(
            read(),
            limits=limits,
            manners=manners(),
            journal=journal,
            counters=counters,
            page=Page() if has_page else None,
        )

    with listening(host, port) as sock:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{sock.getsockname()[1]}/"
        first = [make()]  # before anything is promised
        names = [*first[0].models]
        if host not in _LOOPBACK and not first[0].manners.tokens:
            told = f"warning: whoever reaches {host} is served; --token-file asks for a token"
            settings.say(told)
        result = {"address": address, "models": names, "workers": workers}
        settings.tell(result, f"{address} serves {', '.join(names)}; Ctrl-C stops it")
        Processes(lambda: first.pop() if first else make(), sock, workers, journal, counters).run()


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
    if path is None:
        return ()
    tokens = tuple(content_of(path).decode("utf-8", "replace").split())
    if not tokens:
        raise InputError(f"{path} holds no token; expected one per line")
    return tokens
