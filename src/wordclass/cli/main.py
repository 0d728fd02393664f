"""The `wordclass` command: parses, calls one function, prints; no arithmetic in here."""

import shlex
import sys
from collections.abc import Sequence

from wordclass.errors import WordClassError
from wordclass.tables import print_to_stderr


def main() -> None:
    """Run the command line, and turn what the user can mend into one line and exit status 1."""
    options: Sequence[str] = ()
    try:
        # typer is an extra, so it is imported where its absence can be told
        from wordclass import catalogue

        catalogue.import_extra("typer", "for the commands")
        from wordclass.cli.app import run

        sys.exit(run())
    except WordClassError as error:
        reason = str(error)
        options = getattr(error, "options", ())
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # torch's own
            raise
        problem, *_ = str(error).split("\n")
        remedy = "fewer documents, classes or terms (a higher min_docs, shorter n-grams) would fit"
        reason = f"out of memory: {problem}"
        if remedy not in problem:
            reason += f"; {remedy}"
    print_to_stderr(f"wordclass: {reason}")
    if options:  # the same command with the suggested options, to be pasted
        print_to_stderr(shlex.join(["wordclass", *sys.argv[1:], *options]))
    sys.exit(1)
