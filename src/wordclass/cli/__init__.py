"""The `wordclass` command: parses, calls one function, prints; no arithmetic in here."""

import sys

from wordclass.cli.terminal import say
from wordclass.errors import WordClassError


def main() -> None:
    """Run the command line, and turn what the user can mend into one line and exit status 1."""
    try:
        # typer is an extra, so it is imported where its absence can be told
        from wordclass import naming

        naming.extra("typer", "for the commands")
        from wordclass.cli.app import run

        status = run()
    except WordClassError as error:
        say(f"wordclass: {error}")
        status = 1
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # torch's own
            raise
        reason = str(error).partition("\n")[0]
        fewer = "fewer documents, classes or terms (a higher min_docs, shorter n-grams) would fit"
        say(f"wordclass: out of memory: {reason}; {fewer}")
        status = 1
    sys.exit(status)
