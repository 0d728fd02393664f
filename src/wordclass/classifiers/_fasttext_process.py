"""A process that trains with fastText: this file is run, never imported.

fastText cannot be stopped once it trains. A process can: this one ends when its standard input
does, which is when whoever started it is interrupted, killed, or no longer interested.
"""

import json
import os
import sys
import threading


def main(path: list[str], options: dict[str, object], model: str) -> None:
    """Train with these options; write the model to a file."""
    sys.path[:] = path
    import fasttext

    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        fasttext.train_supervised(**options).save_model(model)
    except Exception as error:
        sys.exit(str(error) or type(error).__name__)


def _end_with_input() -> None:
    # not sys.stdin.read, which would hold a lock that Python wants when it ends
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
