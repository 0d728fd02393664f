"""A script that trains with fastText in a process of its own. It is never imported.

fastText cannot be stopped while it trains, but a process can. This one ends when its standard input
is closed, which happens when the process that started it is interrupted, killed or finished.
"""

import json
import os
import sys
from threading import Thread


def _exit_with_input() -> None:
    os.read(0, 1)  # unlike sys.stdin.read, it holds no lock that Python needs at exit
    os._exit(1)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    sys.path[:] = order["path"]
    import fasttext  # type: ignore[import-untyped]

    Thread(target=_exit_with_input, daemon=True).start()
    fasttext.train_supervised(**order["arguments"]).save_model(order["model"])
