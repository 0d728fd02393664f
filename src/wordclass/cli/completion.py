"""Values that shells complete: names of catalogue entries."""

from collections.abc import Callable

from wordclass import catalogue


def entry_names(name: str) -> Callable[[str], list[str]]:
    """Return a function that lists the entries of a catalogue that begin with some letters."""

    def complete(incomplete: str) -> list[str]:
        return [entry for entry in catalogue.names(name) if entry.startswith(incomplete)]

    return complete
