"""Readers of untrusted corpora in a separate process with a memory limit and a deadline.

`outcomes` returns "read N" or "refused MESSAGE" for each file, or "failed" for other exceptions. A
process that hangs or crashes fails the test. Run as a program, this file is that process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

MEMORY_BYTES = 1 << 30  # beyond that of the process after importing wordclass
DEADLINE_SECONDS = 300  # for all files, to detect a hang


def outcomes(paths, **options):
    """Return the outcome of reading each file by its name."""
    jobs = json.dumps([[*map(str, paths)], options])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, __file__],
        input=jobs,
        capture_output=True,
        text=True,
        env=environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    results = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    assert done.returncode == 0, f"ended after {[*results][-1:]}: {done.stderr[-2000:]}"
    return results


def _outcome(path, options):
    from wordclass.corpus import reader
    from wordclass.errors import FormatError
    from wordclass.vectors import word_vectors

    try:
        if options.get("vectors"):
            content = word_vectors.WordVectors.load(path, cache=False)
        else:
            content = reader.read_corpus(path, **options).texts
    except FormatError as error:
        is_named = Path(path).name in str(error)
        is_one_line = "\n" not in str(error)
        return f"{'refused' if is_named and is_one_line else 'failed'} {error}"
    except Exception as error:  # the test looks for any kind
        return f"failed {type(error).__name__}: {error}"
    return f"read {len(content)}"


def _limit_memory():
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY_BYTES, hard_limit))


def _main():
    import openpyxl  # noqa: F401
    import polars  # noqa: F401

    import wordclass.corpus.formats.xlsx
    import wordclass.vectors.word_vectors  # noqa: F401

    paths, options = json.loads(sys.stdin.read())
    _limit_memory()
    for path in paths:
        result = json.dumps([Path(path).name, _outcome(path, options)])
        sys.stdout.write(result + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
