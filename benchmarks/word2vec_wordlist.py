"""Unpack the Google News vectors of the npm package word2vec-wordlist: `... FILE.json.7z`."""

import json
import lzma
import os
import sys
from pathlib import Path

import numpy as np

import wordclass as wc


def unpack(packed: Path, folder: Path) -> Path:
    """Write the vectors as word2vec-wordlist.npz; words are in capitals, floats hexadecimal."""
    rows = json.loads(lzma.decompress(packed.read_bytes(), format=lzma.FORMAT_ALONE))
    matrix = np.array([np.frombuffer(bytes.fromhex(row), "<f4") for row in rows.values()])
    path = folder / "word2vec-wordlist.npz"
    wc.WordVectors.of([word.lower() for word in rows], matrix).save(path)
    return path


if __name__ == "__main__":
    print(unpack(Path(sys.argv[1]), Path(os.environ["WORDCLASS_DATA"])))
