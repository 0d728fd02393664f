"""A process that trains with fastText: this file is run, never imported.

fastText cannot be stopped once it trains. A process can: this one ends when its standard input
does, which is when whoever started it is interrupted, killed, or no longer interested.
"""

import json
import os
import sys
from threading import Thread


def _end_with_input() -> None:
    os.read(0, 1)  # not sys.stdin.read, which would hold a lock that Python wants when it ends
    os._exit(1)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    sys.path[:] = order["path"]
    import fasttext  # type: ignore[import-untyped]

    Thread(target=_end_with_input, daemon=True).start()
    fasttext.train_supervised(**order["options"]).save_model(order["model"])
