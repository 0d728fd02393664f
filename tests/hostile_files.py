"""Files that lie: sound ones, changed on purpose and sealed again, so that no checksum tells.

`variants` lists every change of every array and fact of a file; `attack` has a process of its own
write, load and use them one after the other, with little memory and time. What is allowed is an
error of ours, or that all works; another exception, a crash, a hang is a failure, told with the
name of the variant. Run as a program, this file is that process.
"""

import copy
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from made_up import corpus, multilabel_corpus

SECONDS = 10  # for one variant
MEMORY = 1 << 30  # bytes beyond what the process has after its first use of the sound file

TEXTS, LABELS = corpus(24)
MULTILABEL = multilabel_corpus(24)
MORE = corpus(6, seed=1)
ASKED = [TEXTS[0], "orbit of the moon and a rose", "", "never seen 42", " ".join(TEXTS)]
NETWORK = {"min_docs": 2, "max_epochs": 1, "batch_size": 12, "seed": 3}
VECTORS = {"moon": [1.0, 2, 3], "rose": [4, 5, 6.5], "song": [-1, 0, 1], "tax": [0.5, 0, 2]}

# as text in the place of a value, as no writer of JSON would write it
RAW = {
    "nan": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-Infinity",
    "1e999": "1e999",
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
    "deep list": "[" * 100_000 + "]" * 100_000,
    "deep dict": '{"dict":' * 5_000 + "0" + "}" * 5_000,
}
VALUES = {
    "null": None,
    "true": True,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "half": 0.5,
    "1e300": 1e300,
    "a billion": 10**9,
    "2^62": 2**62,
    "-2^63": -(2**63),
    "2^64": 2**64,
    "10^30": 10**30,
    "empty text": "",
    "text": "moon",
    "surrogate": "\ud800",
    "long text": "x" * 100_000,
    "list": [],
    "list of lists": [[], [[]]],
    "numbers": [1, 10**9],
    "dict": {},
    "function": {"function": "os.system"},
    "estimator": {"estimator": "WordClassEmbeddings", "options": {"ngrams": [1, 10**9]}},
    "number": {"number": "nan"},
    "vectors": {"vectors": {"n_terms": 10**15, "n_dims": 10**15}},
    **{name: f"@{name}@" for name in RAW},
}
LISTS = {
    "reversed": lambda found: found[::-1],
    "doubled": lambda found: found + found,
    "without its last": lambda found: found[:-1],
    "its first only": lambda found: found[:1],
    "with one more": lambda found: [*found, *found[:1]],
    "sorted by text": lambda found: sorted(found, key=lambda each: repr(each)[::-1]),
}
TYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool")
SHAPES = {
    "flat": lambda a: a.reshape(-1),
    "an axis more": lambda a: a[None],
    "an axis more behind": lambda a: a[..., None],
    "transposed": lambda a: a.T,
    "without its last row": lambda a: a[:-1],
    "a row more": lambda a: np.concatenate([a, a[:1]]),
    "no rows": lambda a: a[:0],
    "no columns": lambda a: a[..., :0],
    "one number": lambda a: a.ravel()[:1].reshape(()),
    "a thousand rows more": lambda a: np.concatenate([a, np.repeat(a[:1], 1000, axis=0)]),
}
ORDERS = {
    "reversed": lambda a: a[::-1],
    "rolled": lambda a: np.roll(a, 1),
    "sorted downwards": lambda a: -np.sort(-a.astype(np.float64), axis=None).reshape(a.shape),
    "negated": lambda a: -a.astype(np.float64),
    "one more": lambda a: a.astype(np.float64) + 1,
    "doubled": lambda a: a.astype(np.float64) * 2,
    "all the first": lambda a: np.full(a.shape, a.ravel()[0] if a.size else 0),
    "random bits": lambda a: np.frombuffer(
        np.random.default_rng(0).bytes(a.nbytes), a.dtype if a.dtype != bool else np.uint8
    ).reshape(a.shape),
}


@dataclass
class Content:
    """What a file holds: a tree that JSON can hold, and arrays; and what is done to its bytes."""

    told: object
    arrays: dict = field(default_factory=dict)
    tamper: object = None  # from the bytes of the file with the arrays to others

    def changed(self):
        return Content(copy.deepcopy(self.told), {**self.arrays}, self.tamper)


# --- changes ----------------------------------------------------------------------------------


def variants(content, kind):
    """List pairs of a name and a change that makes a content hostile, in a fixed order.

    Changes of arrays, of facts and of bytes take turns, each in an order of its own.
    """
    lists = [[*_of_arrays(content)], [*_of_facts(content)], [*kind.tampered]]
    for changes in lists:
        random.Random(kind.name).shuffle(changes)
    arrays, facts, tampered = map(iter, lists)
    turns = [arrays, facts, arrays, facts, tampered]
    found = []
    while len(found) < sum(map(len, lists)):
        found += [each for each in (next(turn, None) for turn in turns) if each is not None]
    return found


def numbered(listed, content, number, name):
    """Return the name and the content of a variant; past the single changes come pairs of them."""
    two = random.Random(f"{name} {number}")
    chosen = [listed[number]] if number < len(listed) else two.sample(listed, 2)
    made = content.changed()
    for _, change in chosen:
        change(made)
    return " and ".join(told for told, _ in chosen), made


def _of_arrays(content):
    names = sorted(content.arrays)
    for name in names:
        array = content.arrays[name]
        for kind in TYPES:
            if array.dtype.name != kind:
                yield f"{name} as {kind}", _array_change(name, lambda a, kind=kind: _cast(a, kind))
        for told, change in SHAPES.items():
            yield f"{name} {told}", _array_change(name, change)
        orders = {**ORDERS} if array.dtype.kind != "U" else {"reversed": ORDERS["reversed"]}
        for told, change in orders.items():
            yield f"{name} {told}", _array_change(name, lambda a, c=change: _cast(c(a), a.dtype))
        for value in _extremes(array.dtype):
            yield f"{name} all {value}", _array_change(name, _filled(value, everywhere=True))
            yield f"{name} one {value}", _array_change(name, _filled(value, everywhere=False))
        yield f"{name} dropped", lambda made, name=name: made.arrays.pop(name, None)
        yield f"{name} renamed", lambda made, name=name: _renamed(made, name)
        other = names[(names.index(name) + 1) % len(names)]
        yield f"{name} swapped with {other}", lambda made, a=name, b=other: _swapped(made, a, b)


def _array_change(name, change):
    def apply(made):
        if name in made.arrays:
            # not where another change left an array that this one cannot be made to
            impossible = suppress(ValueError, TypeError, OverflowError, IndexError)
            with impossible, np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.arrays[name] = np.ascontiguousarray(change(made.arrays[name]))

    return apply


def _cast(array, dtype):
    if array.dtype.kind == "U" or np.dtype(dtype).kind == "U":
        return array.astype("U") if np.dtype(dtype).kind == "U" else np.zeros(array.shape, dtype)
    return np.asarray(array).astype(dtype)


def _extremes(dtype):
    if dtype.kind == "f":
        return (np.nan, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).min, -1, 0, 1e-42)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return (limits.max, limits.min, limits.max // 2, 0, 1, 5, *([-1] if limits.min else []))
    return (0, 1) if dtype.kind == "b" else ("", "x", "moon")


def _filled(value, everywhere):
    def change(array):
        filled = array.copy()
        filled[... if everywhere else tuple(n // 2 for n in array.shape)] = value
        return filled

    return lambda array: change(array) if array.size else array


def _renamed(made, name):
    if name in made.arrays:
        made.arrays["x" + name] = made.arrays.pop(name)


def _swapped(made, a, b):
    if a in made.arrays and b in made.arrays:
        made.arrays[a], made.arrays[b] = made.arrays[b], made.arrays[a]


def _of_facts(content):
    for place in _places(content.told):
        shown = ".".join(map(str, place))
        if place and place[-1] in ("digest", "bytes"):
            continue
        for name, value in VALUES.items():
            yield f"{shown} is {name}", _fact_change(place, lambda _, value=value: value)
        found = _at(content.told, place)
        if isinstance(found, list):
            for name, change in LISTS.items():
                yield f"{shown} {name}", _fact_change(place, change)
        if type(found) in (int, float):
            yield f"{shown} one more", _fact_change(place, lambda old: old + 1)
            yield f"{shown} negated", _fact_change(place, lambda old: -old)
        if place:
            yield f"{shown} dropped", _fact_change(place, None)


def _places(told, place=()):
    """Give where values are; of a long list only the first two and the last."""
    yield place
    if isinstance(told, dict):
        for key, each in told.items():
            yield from _places(each, (*place, key))
    elif isinstance(told, list):
        for number in sorted({*range(min(2, len(told))), len(told) - 1} - {-1}):
            yield from _places(told[number], (*place, number))


def _at(told, place):
    for key in place:
        told = told[key]
    return told


def _fact_change(place, change):
    def apply(made):
        try:
            if not place:
                made.told = change(made.told)
                return
            holder = _at(made.told, place[:-1])
            if change is None:
                del holder[place[-1]]
            else:
                holder[place[-1]] = change(holder[place[-1]])
        except (KeyError, IndexError, TypeError):  # another change took it away
            return

    return apply


# --- bytes ------------------------------------------------------------------------------------


def as_json(told, **options):
    text = json.dumps(told, **options)
    for name, raw in RAW.items():
        text = text.replace(f'"@{name}@"', raw)
    return text


def safetensors_bytes(told, arrays):
    from safetensors.numpy import save

    return save(arrays, metadata=told)


def _header_change(change):
    """Return a tampering of the header of a safetensors file; `change` gets it parsed."""

    def tamper(content):
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        changed = change(header) or header
        encoded = changed if isinstance(changed, bytes) else as_json(changed).encode()
        return len(encoded).to_bytes(8, "little") + encoded + content[8 + size :]

    return tamper


def _every(key, value):
    def change(header):
        for name in sorted(header.keys() - {"__metadata__"})[:1]:
            header[name][key] = value(header[name][key])

    return _header_change(change)


_SIZE_CHANGES = {
    f"a header of {size} bytes": lambda content, size=size: size.to_bytes(8, "little") + content[8:]
    for size in (0, 1, 2**24, 2**44, 2**63, 2**64 - 1)
}
HEADER_CHANGES = {
    **_SIZE_CHANGES,
    "16 TiB declared": _every("shape", lambda _: [2**44]),
    "a shape beyond 64 bits": _every("shape", lambda _: [2**40, 2**40]),
    "a shape of 400 digits": _every("shape", lambda _: ["@400 digits@"]),
    "a negative shape": _every("shape", lambda _: [-1]),
    "a thousand axes": _every("shape", lambda old: [1] * 1000 + old),
    "16 TiB of offsets": _every("data_offsets", lambda _: [0, 2**44]),
    "offsets reversed": _every("data_offsets", lambda old: old[::-1]),
    "negative offsets": _every("data_offsets", lambda _: [-8, 0]),
    "offsets that overlap": _header_change(
        lambda header: (
            [
                each.update(data_offsets=[0, each["data_offsets"][1] - each["data_offsets"][0]])
                for name, each in header.items()
                if name != "__metadata__"
            ]
            and None
        )
    ),
    "bfloat16": _every("dtype", lambda _: "BF16"),
    "float8": _every("dtype", lambda _: "F8_E4M3"),
    "an unknown type": _every("dtype", lambda _: "O"),
    "a type that is a list": _every("dtype", lambda _: ["F32"]),
    "metadata of numbers": _header_change(lambda header: header.update(__metadata__={"a": 1})),
    "metadata of a list": _header_change(lambda header: header.update(__metadata__=[])),
    "metadata of nulls": _header_change(lambda header: header.update(__metadata__=None)),
    "no metadata": _header_change(lambda header: header.pop("__metadata__") and None),
    "deep metadata": _header_change(lambda header: header.update(__metadata__="@deep list@")),
    "a list for a header": _header_change(lambda header: b"[]"),
    "a deep header": _header_change(lambda header: b"[" * 100_000),
    "a header that is no UTF-8": _header_change(lambda header: b'{"\xff\xfe": {}}'),
    "bytes behind the end": lambda content: content + bytes(1000),
    "nothing": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
}


def tamperings(changes):
    def using(tamper):
        def apply(made):
            made.tamper = tamper

        return apply

    return [(name, using(tamper)) for name, tamper in changes.items()]


def tampered(content, made):
    return made if content.tamper is None else content.tamper(made)


# --- kinds ------------------------------------------------------------------------------------


@dataclass
class Kind:
    """A kind of file: how a sound one is made, read and written, and how it is used.

    `make(path)` makes the sound one; `use(path, calls)` calls `calls(function, ...)` for each use,
    the first of which loads it.
    """

    name: str
    make: object
    use: object
    tampered: list = field(default_factory=list)

    def read(self, path):
        raise NotImplementedError

    def write(self, path, content):
        raise NotImplementedError


class PartsKind(Kind):
    """One file of `Parts.write`."""

    def read(self, path):
        from safetensors import safe_open
        from safetensors.numpy import load

        content = path.read_bytes()
        with safe_open(path, "numpy") as opened:
            told = json.loads(opened.metadata()["wordclass"])
        del told["digest"]
        return Content(told, load(content))

    def write(self, path, content):
        from wordclass.storage.parts import Parts

        text = as_json(content.told, sort_keys=True)
        try:
            told = json.loads(text)
            digest = Parts({}, content.arrays)._digest(told)
            text = json.dumps({**told, "digest": digest}, sort_keys=True)
        except (ValueError, TypeError, RecursionError):
            digest = "not to be had"
        if text.endswith("}"):
            text = f'{text[:-1]}, "digest": "{digest}"}}'
        made = safetensors_bytes({"wordclass": text}, content.arrays)
        path.write_bytes(tampered(content, made))


class ModelKind(Kind):
    """The folder of a classifier."""

    def read(self, path):
        from safetensors.numpy import load

        told = json.loads((path / "manifest.json").read_bytes())
        return Content(told, load((path / "model.safetensors").read_bytes()))

    def write(self, path, content):
        from wordclass.persistence import _KIND
        from wordclass.storage.parts import Parts, digest

        path.mkdir(parents=True, exist_ok=True)
        Parts({}, content.arrays).save(path / "model.safetensors", _KIND)
        made = tampered(content, (path / "model.safetensors").read_bytes())
        told = content.told
        if isinstance(told, dict):
            arrays = told.get("arrays")
            if isinstance(arrays, dict):
                sums = {"bytes": len(made), "digest": digest(made, size=32)}
                told = {**told, "arrays": {**arrays, **sums}}
            told = {**told, "digest": ""}
        text = as_json(told, indent=2).encode()
        sealed = text.replace(b'"digest": ""', f'"digest": "{digest(text)}"'.encode(), 1)
        (path / "manifest.json").write_bytes(sealed)
        (path / "model.safetensors").write_bytes(made)


class NpzKind(Kind):
    """numpy's archive of word vectors."""

    def read(self, path):
        arrays = dict(np.load(path))
        return Content(json.loads(arrays.pop("classes").item()), arrays)

    def write(self, path, content):
        out = io.BytesIO()
        arrays = {**content.arrays, "classes": np.array([as_json(content.told)])}
        np.savez(out, **arrays)
        path.write_bytes(tampered(content, out.getvalue()))


class CacheKind(Kind):
    """A `.wcache` beside the vectors that it was made of."""

    def read(self, path):
        from wordclass import vector_cache as cache

        content = path.with_name(path.name + ".wcache").read_bytes()[: -cache._CHECKSUM]
        end = len(content) - cache._SIZE
        start = end - int.from_bytes(content[end:], "little")
        told = json.loads(content[start:end])
        return Content(told, {"rows": np.frombuffer(content[:start], "<f4")})

    def write(self, path, content):
        from wordclass import vector_cache as cache

        header = as_json(content.told).encode()
        numbers = b"".join(each.tobytes() for each in content.arrays.values())
        made = tampered(content, numbers + header + len(header).to_bytes(cache._SIZE, "little"))
        made += cache._checksum(np.frombuffer(made, np.uint8))
        path.with_name(path.name + ".wcache").write_bytes(made)


class JournalKind(Kind):
    """The journal of `tune`: one line of JSON per trial."""

    def read(self, path):
        return Content([json.loads(line) for line in path.read_bytes().splitlines()])

    def write(self, path, content):
        lines = content.told if isinstance(content.told, list) else [content.told]
        made = b"".join(as_json(line).encode() + b"\n" for line in lines)
        path.write_bytes(tampered(content, made))


# --- how they are used --------------------------------------------------------------------------


def _texts_of(name):
    return MULTILABEL if name in ("linear", "lstm", "fasttext") else (TEXTS, LABELS)


def make_model(name, path):
    import wordclass as wc

    options = {
        "linear": {"C": 1.0, "ngrams": (1, 2), "class_weight": {"space": 2.0}},
        "linear-tree": {"classes": {"space": "sky", "music": "arts", "garden": "arts"}},
        "nearest": {"min_docs": 2, "stop_words": ["the", "and"]},
        "svm": {"min_docs": 2, "C": 1.0, "features": "wce", "wce": {"min_docs": 2}},
        "fasttext": {"epochs": 5, "random_dims": 4},
        "cnn": {**NETWORK, "channels": 4, "windows": (1, 2)},
        "lstm": {**NETWORK, "hidden": 4, "wce": False, "random_dims": 4},
        "attention": {**NETWORK, "hidden": 4, "supervised_dropout": {"word_class": 0.2}},
        "leam": {**NETWORK, "window": 3, "wce": wc.WordClassEmbeddings(min_docs=2)},
    }[name]
    if name == "cnn":
        options["vectors"] = wc.WordVectors.of(VECTORS, list(VECTORS.values()))
    learned = wc.classifier(name.removesuffix("-tree"), **options).fit(*_texts_of(name))
    learned.save(path, scores={"accuracy": 0.5})


def use_model(path, calls):
    import wordclass as wc
    from wordclass.report.file_info import describe

    calls(describe, path)
    model = calls(wc.load, path)
    if model is None:
        return
    for function in (model.predict, model.predict_proba, model.decision_function):
        calls(function, ASKED)
    calls(model.explain, ASKED[1])
    calls(lambda: [model.explanation(ASKED[1]).per_word(each) for each in model.classes_.tolist()])
    calls(model.training_.n_shared, ASKED)
    calls(repr, model)
    calls(
        lambda: (model.save(path.parent / "again"), wc.load(path.parent / "again").predict(ASKED))
    )


EMBEDDINGS = {
    "wce": {},
    "wce-documents": {"keep_documents": True, "correlation": "ppmi"},
    "wce-projected": {"max_dims": 2, "shrinkage": 5.0},
    "wce-structural": {"structural_problems": 3, "keep_documents": True},
    "wce-multilabel": {"correlation": "information_gain"},
}


def make_embeddings(name, path):
    import wordclass as wc

    texts, labels = MULTILABEL if name == "wce-multilabel" else (TEXTS, LABELS)
    wc.WordClassEmbeddings(min_docs=2, **EMBEDDINGS[name]).fit(texts, labels).save(path)


def use_embeddings(path, calls):
    import wordclass as wc
    from wordclass.report.file_info import describe

    load = wc.WordClassEmbeddings.load
    calls(describe, path)
    calls(wc.WordVectors.load, path)
    wce = calls(load, path)
    if wce is None:
        return
    texts, labels = MULTILABEL if wce.learned_.codeframe.is_multilabel else (TEXTS, LABELS)
    calls(wce.transform, ASKED)
    calls(lambda: [wce.top_terms(name) for name in wce.columns_])
    calls(lambda: [wce.profile(term) for term in [*wce.terms_, "never"]])
    calls(wce.to_word_vectors)
    calls(wce.save, path.with_name("again.wce"))
    calls(lambda: wc.EmbeddingMatrix.of(None, wce).index(ASKED))
    calls(lambda: load(path).remove(texts[:2], labels[:2]).transform(ASKED))
    calls(lambda: load(path).remove(texts[:8], labels[:8]).top_terms("space"))
    calls(lambda: load(path).partial_fit(*MORE).transform(ASKED))
    calls(lambda: load(path).partial_fit(["new words"], ["new"]).profile("moon"))
    calls(lambda: load(path).merge(wce).save(path.with_name("merged.wce")))
    sound = path.parent.parent / "original" / path.name
    calls(lambda: load(path).merge(load(sound)).transform(ASKED))


def make_vectors(path):
    import wordclass as wc

    wc.WordVectors.of(VECTORS, list(VECTORS.values()), ["a", "b", 3]).save(path)


def make_cached_vectors(path):
    import wordclass as wc

    wc.WordVectors.of(VECTORS, list(VECTORS.values()), ["a", "b", 3]).save(path, "glove_text")
    wc.WordVectors.load(path, format="glove_text")


def use_vectors(path, calls, format=None):
    import wordclass as wc

    vectors = calls(wc.WordVectors.load, path, format=format)
    calls(wc.WordVectors.load, path, terms=["moon", "never"], format=format)
    if vectors is None:
        return
    for function in (vectors.get, vectors.nearest):
        calls(function, "moon")
    calls(vectors.nearest, vectors.matrix[0] + 1)
    calls(lambda: [vectors[term] for term in vectors])
    calls(lambda: vectors.get("unknownword"))
    calls(vectors.save, path.parent / "again.npz")
    calls(vectors.save, path.parent / "again.vec")
    calls(lambda: wc.EmbeddingMatrix.of(vectors).index(ASKED))
    calls(wc.classifier("svm", min_docs=2, C=1.0, features="vectors", vectors=vectors).fit,
          TEXTS, LABELS)  # fmt: skip


def tune(path):
    from wordclass.tuning import tune

    grid = {"shrinkage": [0.0, 5.0], "ngrams": [(1, 1), (1, 2)]}
    return tune(TEXTS, LABELS, "nearest", grid=grid, options={"min_docs": 2}, journal=path)


def tune_linear(path):
    from wordclass.tuning import tune

    fixed = {"ngrams": (1, 1), "C": 1.0, "block_weight": 0.1}
    grid = {"shrinkage": ["auto", 5.0]}
    return tune(TEXTS, LABELS, "linear", grid=grid, options=fixed, journal=path)


def use_journal(path, calls):
    found = calls(tune, path)
    if found is not None:
        calls(lambda: (found.to_dict(), found.ranked, found.model.predict(ASKED)))
        calls(found.model.save, path.parent / "tuned")


def use_linear_journal(path, calls):
    found = calls(tune_linear, path)
    if found is not None:
        calls(lambda: (found.to_dict(), found.ranked, found.model.predict(ASKED)))


class Killed(BaseException):
    """Ends a training half-way."""


def trained_from(path):
    import wordclass as wc

    options = {**NETWORK, "max_epochs": 3, "channels": 4, "windows": (1, 2), "trainable": True}
    return wc.classifier("cnn", **options, checkpoint=path).fit(TEXTS, LABELS)


def make_checkpoint(path):
    from wordclass.network.checkpoint import Checkpoint

    write, n_left = Checkpoint.write, [2]

    def write_and_die(self, *given):
        write(self, *given)
        n_left[0] -= 1
        if not n_left[0]:
            raise Killed

    Checkpoint.write = write_and_die
    try:
        trained_from(path)
    except Killed:
        return
    finally:
        Checkpoint.write = write


def use_checkpoint(path, calls):
    model = calls(trained_from, path)
    if model is not None:
        calls(model.predict, ASKED)
        calls(model.save, path.parent / "trained")


# --- archives -----------------------------------------------------------------------------------


def _npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _archive(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _with_matrix(descr, shape, data=b"", order="False"):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"

    def tamper(content):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
        others = [each for each in members if each[0] != "matrix.npy"]
        return _archive([("matrix.npy", _npy(header, data)), *others])

    return tamper


def _zip_bomb(n_bytes):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n_bytes // 4}, 1), }}"
    return _archive([("matrix.npy", _npy(header, bytes(n_bytes)))], zipfile.ZIP_DEFLATED)


ARCHIVE_CHANGES = {
    "a pickle": _with_matrix("'|O'", "(4, 3)", b"cos\nsystem\n(S'true'\ntR."),
    "a pickle as a member": lambda content: _archive([("matrix.npy", b"cos\nsystem\n(S'a'\ntR.")]),
    "16 TiB declared": _with_matrix("'<f4'", f"({2**40}, 4)"),
    "beyond 64 bits": _with_matrix("'<f4'", f"({2**62}, 4)"),
    "400 digits": _with_matrix("'<f4'", f"({'9' * 400}, 4)"),
    "a negative shape": _with_matrix("'<f4'", "(-1, 3)", bytes(48)),
    "a shape of floats": _with_matrix("'<f4'", "(4.0, 3)", bytes(48)),
    "rows of nothing": _with_matrix("'<f4'", f"({2**40}, 0)"),
    "no rows but 2^60 columns": _with_matrix("'<f4'", f"(0, {2**60})"),
    "fields": _with_matrix("[('a', '<f4'), ('b', '|O')]", "(4, 3)", bytes(96)),
    "text": _with_matrix("'<U3'", "(4, 3)", bytes(144)),
    "complex": _with_matrix("'<c8'", "(4, 3)", bytes(96)),
    "long double": _with_matrix("'<f16'", "(4, 3)", bytes(192)),
    "dates": _with_matrix("'<M8[s]'", "(4, 3)", bytes(96)),
    "big-endian": _with_matrix("'>f8'", "(4, 3)", bytes(96)),
    "fortran": _with_matrix("'<f4'", "(4, 3)", bytes(48), "True"),
    "a type of 2^31 bytes": _with_matrix(f"'|V{2**31 - 1}'", "(4, 3)"),
    "code in the header": _with_matrix("__import__('os').system('true')", "(4, 3)"),
    "deep header": _with_matrix("(" * 3000 + ")" * 3000, "(4, 3)"),
    "long header": _with_matrix("'<f4'", "(" + "1," * 20_000 + ")"),
    "a bomb": lambda content: _zip_bomb(1 << 28),
    "a bomb beside": lambda content: _archive(
        [("bomb.npy", bytes(1 << 28)), ("matrix.npy", b"")], zipfile.ZIP_DEFLATED
    ),
    "two matrices": lambda content: _archive([("matrix.npy", b""), ("matrix.npy", b"")]),
    "paths": lambda content: _archive([("../matrix.npy", b""), ("/etc/passwd", b"")]),
    "no members": lambda content: _archive([]),
    "an array, no archive": lambda content: _npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", bytes(4)
    ),
    "nothing": lambda content: b"",
}
CACHE_CHANGES = {
    **{
        f"a header of {size} bytes": lambda content, size=size: (
            content[:-8] + size.to_bytes(8, "little")
        )
        for size in (0, 1, 7, 2**20, 2**44, 2**63, 2**64 - 1)
    },
    "nothing": lambda content: b"",
    "a byte more": lambda content: b"\0" + content,
    "a list only": lambda content: b"[]" + (2).to_bytes(8, "little"),
}
JOURNAL_CHANGES = {
    "zeros": lambda content: bytes(100) + b"\n" + content,
    "no UTF-8": lambda content: b'{"key": "\xff"}\n' + content,
    "a deep line": lambda content: b"[" * 100_000 + b"\n" + content,
    "an empty line": lambda content: b"\n" + content,
    "a half line": lambda content: content + b'{"key":',
    "a number": lambda content: b"42\n" + content,
}


def _partial(function, name):
    return lambda path: function(name, path)


HEADERS = tamperings(HEADER_CHANGES)
CLASSIFIERS = ("linear", "nearest", "svm", "fasttext", "cnn", "lstm", "attention", "leam")
KINDS = {
    kind.name: kind
    for kind in [
        *(
            ModelKind(name, _partial(make_model, name), use_model, HEADERS)
            for name in (*CLASSIFIERS, "linear-tree")
        ),
        *(
            PartsKind(name, _partial(make_embeddings, name), use_embeddings, HEADERS)
            for name in EMBEDDINGS
        ),
        NpzKind("npz", make_vectors, use_vectors, tamperings(ARCHIVE_CHANGES)),
        CacheKind(
            "wcache",
            make_cached_vectors,
            lambda path, calls: use_vectors(path, calls, "glove_text"),
            tamperings(CACHE_CHANGES),
        ),
        JournalKind("journal", tune, use_journal, tamperings(JOURNAL_CHANGES)),
        JournalKind("journal-linear", tune_linear, use_linear_journal, tamperings(JOURNAL_CHANGES)),
        PartsKind("checkpoint", make_checkpoint, use_checkpoint, HEADERS),
    ]
}
ENDINGS = {"npz": "file.npz", "checkpoint": "state", "wcache": "file.txt"}


# --- the process that is attacked ---------------------------------------------------------------


class FailedError(Exception):
    """Something foreign was raised."""


def outcome(kind, path):
    """Use a file; return what came of it: "works" or "refused"."""
    from wordclass.errors import FormatError, InputError, WordClassError

    refused = []

    def calls(function, *given, **named):
        try:
            return function(*given, **named)
        except WordClassError as error:
            refused.append(error)
            told = str(error)
            is_load = getattr(function, "__name__", "") == "load"
            is_asked_for = isinstance(error, InputError) and "give it again" in told
            if is_load and not (isinstance(error, FormatError) or is_asked_for):
                raise FailedError(f"load raised {type(error).__name__}: {told[:200]}") from error
            if "\n" in told:
                raise FailedError(f"a message of several lines: {told[:200]!r}") from error
        except MemoryError as error:
            raise FailedError(f"MemoryError in {function}") from error
        return None

    kind.use(path, calls)
    return "refused" if refused else "works"


def place_of(kind, folder):
    folder.mkdir(parents=True, exist_ok=True)
    default = "file.wce" if kind.name.startswith("wce") else "file"
    return folder / ENDINGS.get(
        kind.name.split("-")[0] if kind.name != "wcache" else "wcache", default
    )


def make_sound(name, folder):
    """Make the sound file of a kind; return its place."""
    kind = KINDS[name]
    place = place_of(kind, folder / "original")
    if not place.exists():
        kind.make(place)
    return place


def serve(folder, jobs):
    """Write and use variants one after the other, and tell what came of each on a line."""
    from wordclass import vector_cache

    vector_cache._WORTH_IT = 0
    os.environ["WORDCLASS_HOME"] = str(folder / "home")
    for name in dict.fromkeys(name for name, _ in jobs):
        kind = KINDS[name]
        sound = make_sound(name, folder / name)
        content = kind.read(sound)
        if outcome(kind, _copied(sound, folder / name / "first")) != "works":
            raise AssertionError(f"the sound file of {name} does not work")
        limit_memory()
        listed = variants(content, kind)
        for number in [number for each, number in jobs if each == name]:
            place = _copied(sound, folder / name / "variant")
            told, made = numbered(listed, content, number, name)
            kind.write(place, made)
            tell(kind=name, number=number, name=told)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                found, reason = outcome(kind, place), ""
            except BaseException as error:  # that is what is looked for
                found, reason = "failed", _described(error)
            faulthandler.cancel_dump_traceback_later()
            tell(kind=name, number=number, name=told, outcome=found, reason=reason)


def _copied(sound, folder):
    """Copy a sound file with what stands beside it; the time stays, so a cache is still its own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.parent, folder)
    return folder / sound.name


def _described(error):
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = [
        each for each in traceback.extract_tb(error.__traceback__) if "wordclass/" in each.filename
    ]
    places = [f"{Path(each.filename).name}:{each.lineno}" for each in [*ours[-3:], last]]
    return f"{type(error).__name__}: {str(error)[:300]} ({' '.join(places)})"


def limit_memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def tell(**told):
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


# --- the process that attacks -------------------------------------------------------------------


def attack(folder, jobs):
    """Have processes use variants; return, of each, a dict with its name, outcome and reason.

    `jobs` are pairs of the name of a kind and the number of a variant, kind after kind.
    """
    left, results = list(jobs), []
    while left:
        command = [sys.executable, __file__, str(folder), json.dumps(left)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results += [line for line in lines if "outcome" in line]
        if not lines or (done.returncode and "outcome" in lines[-1]):
            raise AssertionError(f"it did not begin: {done.stderr[-3000:]}")
        last = lines[-1]
        if "outcome" not in last:
            reason = f"ended with {done.returncode}: {done.stderr[-2000:]}"
            results.append({**last, "outcome": "failed", "reason": reason})
        left = left[left.index((last["kind"], last["number"])) + 1 :]
    return results


if __name__ == "__main__":
    serve(Path(sys.argv[1]), [tuple(job) for job in json.loads(sys.argv[2])])
