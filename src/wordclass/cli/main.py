"""The entry point of the `wordclass` command."""

import shlex
import sys
from collections.abc import Sequence

from wordclass.errors import WordClassError
from wordclass.tables import print_to_stderr

_MEMORY_HINT = (
    "use fewer documents, classes or terms (a higher min_docs, shorter n-grams) to need less"
)


def main() -> None:
    """Run the command line.

    An error of the user is printed as one line, and the exit status is 1.
    """
    options: Sequence[str] = ()
    try:
        from wordclass.cli.app import run

        sys.exit(run())
    except WordClassError as error:
        message = str(error)
        options = getattr(error, "options", ())
    except (MemoryError, RuntimeError) as error:
        is_torch_error = "allocate memory" in str(error)
        if isinstance(error, RuntimeError) and not is_torch_error:
            raise
        problem = str(error).split("\n")[0]
        message = f"out of memory: {problem}" if problem else "out of memory"
        if "fewer documents" not in problem:
            message += f"; {_MEMORY_HINT}"
    print_to_stderr(f"wordclass: {message}")
    suggestion = ["wordclass", *sys.argv[1:], *options]
    if options and all(word.isprintable() for word in suggestion):
        print_to_stderr(shlex.join(suggestion))
    sys.exit(1)
