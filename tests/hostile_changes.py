"""Changes of arrays, metadata and bytes that make a sound file hostile."""

import copy
import io
import json
import random
import struct
import warnings
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

# values that no writer of JSON would write
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
    "reversed": lambda items: items[::-1],
    "doubled": lambda items: items + items,
    "without its last": lambda items: items[:-1],
    "its first only": lambda items: items[:1],
    "with one more": lambda items: [*items, *items[:1]],
    "sorted by text": lambda items: sorted(items, key=lambda item: repr(item)[::-1]),
}
CODE_POINTS = (0, 0xD800, 0x10FFFF, 0x110000, 0x7FFFFFFF, 0xFFFFFFFF)
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
    """The content of a file: metadata for JSON, arrays, and a change of the written bytes."""

    metadata: object
    arrays: dict = field(default_factory=dict)
    tamper: object = None  # from the bytes of the file with the arrays to others

    def copy(self):
        return Content(copy.deepcopy(self.metadata), {**self.arrays}, self.tamper)


# --- changes ----------------------------------------------------------------------------------


def variants(content, kind):
    """List pairs of a name and a change that makes a content hostile, in a fixed order.

    Changes of arrays, of metadata and of bytes alternate, each in a fixed random order.
    """
    lists = [[*_array_changes(content)], [*_metadata_changes(content)], [*kind.tamperings]]
    for changes in lists:
        random.Random(kind.name).shuffle(changes)
    arrays, facts, tampered = map(iter, lists)
    turns = [arrays, facts, arrays, facts, tampered]
    changes_in_turn = []
    while len(changes_in_turn) < sum(map(len, lists)):
        changes_in_turn += [
            change for change in (next(turn, None) for turn in turns) if change is not None
        ]
    return changes_in_turn


def make_variant(changes, content, number, name):
    """Return name and content of a variant. Numbers beyond the list are pairs of changes."""
    generator = random.Random(f"{name} {number}")
    chosen = [changes[number]] if number < len(changes) else generator.sample(changes, 2)
    changed = content.copy()
    for _, change in chosen:
        change(changed)
    return " and ".join(description for description, _ in chosen), changed


def _array_changes(content):
    names = sorted(content.arrays)
    for name in names:
        array = content.arrays[name]
        for kind in sorted({*TYPES} - {array.dtype.name}):
            yield f"{name} as {kind}", _array_change(name, lambda a, kind=kind: _cast(a, kind))
        for description, change in SHAPES.items():
            yield f"{name} {description}", _array_change(name, change)
        orders = {**ORDERS} if array.dtype.kind != "U" else {"reversed": ORDERS["reversed"]}
        for description, change in orders.items():
            yield (
                f"{name} {description}",
                _array_change(name, lambda a, c=change: _cast(c(a), a.dtype)),
            )
        for value in _extremes(array.dtype):
            yield f"{name} all {value}", _array_change(name, _fill(value, everywhere=True))
            yield f"{name} one {value}", _array_change(name, _fill(value, everywhere=False))
        for code in CODE_POINTS if array.dtype.kind == "U" else ():
            yield f"{name} with {code:#x}", _array_change(name, _with_code_point(code))
        yield f"{name} dropped", lambda content, name=name: content.arrays.pop(name, None)
        yield f"{name} renamed", lambda content, name=name: _rename_array(content, name)
        other = names[(names.index(name) + 1) % len(names)]
        yield (
            f"{name} swapped with {other}",
            lambda content, a=name, b=other: _swap_arrays(content, a, b),
        )


def _array_change(name, change):
    def apply(content):
        if name in content.arrays:
            # another change may have left an array that this one does not fit
            impossible = suppress(ValueError, TypeError, OverflowError, IndexError)
            with impossible, np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                content.arrays[name] = np.ascontiguousarray(change(content.arrays[name]))

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


def _with_code_point(code):
    """Return a change that replaces the first character of a text by a number."""

    def change(array):
        characters = np.ascontiguousarray(array).view(np.uint32).copy()
        characters.ravel()[:1] = code
        return characters.view(array.dtype)

    return lambda array: change(array) if array.size and array.dtype.kind == "U" else array


def _fill(value, everywhere):
    def change(array):
        filled = array.copy()
        filled[... if everywhere else tuple(n // 2 for n in array.shape)] = value
        return filled

    return lambda array: change(array) if array.size else array


def _rename_array(content, name):
    if name in content.arrays:
        content.arrays["x" + name] = content.arrays.pop(name)


def _swap_arrays(content, a, b):
    if a in content.arrays and b in content.arrays:
        content.arrays.update({a: content.arrays[b], b: content.arrays[a]})


def _metadata_changes(content):
    for place in _places(content.metadata):
        shown = ".".join(map(str, place))
        if place and place[-1] in ("digest", "bytes"):
            continue
        for name, value in VALUES.items():
            yield f"{shown} is {name}", _metadata_change(place, lambda _, value=value: value)
        current = _at(content.metadata, place)
        if isinstance(current, list):
            for name, change in LISTS.items():
                yield f"{shown} {name}", _metadata_change(place, change)
        if type(current) in (int, float):
            yield f"{shown} one more", _metadata_change(place, lambda old: old + 1)
            yield f"{shown} negated", _metadata_change(place, lambda old: -old)
        if place:
            yield f"{shown} dropped", _metadata_change(place, None)


def _places(tree, place=()):
    """Yield the paths of all values. Of a long list only the first two and the last are used."""
    yield place
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _places(value, (*place, key))
    elif isinstance(tree, list):
        for number in sorted({*range(min(2, len(tree))), len(tree) - 1} - {-1}):
            yield from _places(tree[number], (*place, number))


def _at(tree, place):
    for key in place:
        tree = tree[key]
    return tree


def _metadata_change(place, change):
    def apply(content):
        try:
            if not place:
                content.metadata = change(content.metadata)
                return
            holder = _at(content.metadata, place[:-1])
            if change is None:
                del holder[place[-1]]
            else:
                holder[place[-1]] = change(holder[place[-1]])
        except (KeyError, IndexError, TypeError):  # another change removed it
            return

    return apply


# --- bytes ------------------------------------------------------------------------------------


def as_json(tree, **options):
    text = json.dumps(tree, **options)
    for name, raw in RAW.items():
        text = text.replace(f'"@{name}@"', raw)
    return text


def safetensors_bytes(metadata, arrays):
    from safetensors.numpy import save

    return save(arrays, metadata=metadata)


def _header_change(change):
    """Return a function that changes the parsed header of a safetensors file."""

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
                entry.update(data_offsets=[0, entry["data_offsets"][1] - entry["data_offsets"][0]])
                for name, entry in header.items()
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
        def apply(content):
            content.tamper = tamper

        return apply

    return [(name, using(tamper)) for name, tamper in changes.items()]


def tampered(content, data):
    return data if content.tamper is None else content.tamper(data)


# --- archives -----------------------------------------------------------------------------------


def _npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _archive(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated names
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _with_matrix(descr, shape, data=b"", order="False"):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"

    def tamper(content):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
        other_members = [member for member in members if member[0] != "matrix.npy"]
        return _archive([("matrix.npy", _npy(header, data)), *other_members])

    return tamper


def _zip_bomb(n_bytes):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n_bytes // 4}, 1), }}"
    return _archive([("matrix.npy", _npy(header, bytes(n_bytes)))], zipfile.ZIP_DEFLATED)


def _with_text(code, order):
    """Return a function that puts a number into the JSON of an archive."""

    def tamper(content):
        text = np.array([ord("["), code, ord("]")], f"{order}u4")
        header = f"{{'descr': '{order}U3', 'fortran_order': False, 'shape': (1,), }}"
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members["classes.npy"] = _npy(header, text.tobytes())
        return _archive(members.items())

    return tamper


ARCHIVE_CHANGES = {
    **{
        f"{code:#x} in text of order {order}": _with_text(code, order)
        for code in CODE_POINTS
        for order in "<>"
    },
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
