"""The `wordclass` command: parses, calls one function, prints; no arithmetic in here."""

import os
import sys

from wordclass.errors import WordClassError


def main() -> None:
    """Run the command line, and turn what the user can mend into one line and exit status 1."""
    try:
        # typer is an extra, so it is imported where its absence can be told
        from wordclass import naming

        naming.extra("typer", "for the commands")
        from wordclass.cli.app import app

        app(prog_name="wordclass")
    except WordClassError as error:
        sys.stderr.write(f"wordclass: {error}\n")
        sys.exit(1)
    except BrokenPipeError:
        # whoever read our output (`| head`) has seen enough; keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
