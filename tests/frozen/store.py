"""Frozen arrays on disk: one compressed file per entry, and how to compare with it.

An array of more than `MAX_STORED_CELLS` numbers is stored as a sample of evenly spaced numbers,
with its shape and a checksum of all bytes.

Integers, flags and text must be equal. Floats may differ by the tolerance of the entry, relative
to the largest absolute value of the array: other processors round differently. With
WORDCLASS_FROZEN_EXACT=1, for the machine that made the files, every byte must be equal.
"""

import hashlib
import os
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ARRAYS = HERE / "arrays"
SAVED = HERE / "saved"
MAX_STORED_CELLS = 1500
TOLERANCE = 1e-6
EXACT = "WORDCLASS_FROZEN_EXACT"


def is_exact():
    """Return True if the environment asks for equal bytes."""
    return os.environ.get(EXACT, "") not in ("", "0")


def pack(arrays):
    """Return what is stored of named arrays: themselves, or a sample, a shape and a checksum."""
    stored = {}
    for name, array in arrays.items():
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        if array.size <= MAX_STORED_CELLS:
            stored[name] = array
            continue
        step = -(-array.size // MAX_STORED_CELLS)
        digest = hashlib.sha256(array.tobytes()).digest()
        stored[f"{name} (sample)"] = array.reshape(-1)[::step]
        stored[f"{name} (shape)"] = np.array(array.shape)
        stored[f"{name} (sha256)"] = np.frombuffer(digest, np.uint8)
    return stored


def write(path, stored):
    """Write packed arrays; equal arrays give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **stored)


def read(path):
    """Return packed arrays, or None if the file is missing."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def differences(stored, expected, tolerance=TOLERANCE, *, exact=False):
    """Return one line per array that is missing, new or different; none if all agree."""
    lines = [f"{name}: missing now" for name in expected.keys() - stored.keys()]
    lines += [f"{name}: not frozen yet" for name in stored.keys() - expected.keys()]
    for name in sorted(stored.keys() & expected.keys()):
        if name.endswith("(sha256)") and not exact:
            continue
        line = _difference(stored[name], expected[name], tolerance, exact)
        if line:
            lines.append(f"{name}: {line}")
    return sorted(lines)


def _difference(array, expected, tolerance, exact):
    """Return how an array differs from the frozen one; None if it does not."""
    if array.dtype.kind != expected.dtype.kind or array.shape != expected.shape:
        return f"{array.dtype} {array.shape} instead of {expected.dtype} {expected.shape}"
    if array.dtype.kind == "U":
        return None if array == expected else _text_difference(str(array), str(expected))
    if array.dtype.kind != "f":
        n_different = int((array != expected).sum())
        return f"{n_different} of {array.size} numbers differ" if n_different else None
    if array.dtype != expected.dtype:
        return f"{array.dtype} instead of {expected.dtype}"
    bits = f"u{array.dtype.itemsize}"
    n_different = int((array.view(bits) != expected.view(bits)).sum())
    error = largest_error(array, expected)
    if not n_different or (not exact and error <= tolerance):
        return None
    return (
        f"{n_different} of {array.size} numbers differ, by at most {error:.2g} of the largest "
        f"absolute value (allowed: {0.0 if exact else tolerance:g})"
    )


def largest_error(array, expected):
    """Return the largest difference, relative to the largest absolute value that is finite."""
    is_finite = np.isfinite(expected)
    same_elsewhere = np.array_equal(array[~is_finite], expected[~is_finite], equal_nan=True)
    if not same_elsewhere or not np.isfinite(array[is_finite]).all():
        return np.inf
    if not is_finite.any():
        return 0.0
    scale = np.abs(expected[is_finite]).max()
    error = np.abs(array[is_finite].astype(np.float64) - expected[is_finite]).max()
    return float(error / scale) if scale else float(np.inf if error else 0.0)


def _text_difference(text, expected):
    """Return the place where two JSON texts part, with what surrounds it."""
    shortest = min(len(text), len(expected))
    pairs = zip(text, expected, strict=False)
    position = next((k for k, (now, then) in enumerate(pairs) if now != then), shortest)
    around = slice(max(0, position - 30), position + 50)
    return f"now ...{text[around]}..., frozen ...{expected[around]}..."
