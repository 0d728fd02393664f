"""What is done to a sound file to make it hostile: changes of arrays, facts and bytes."""

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
        for kind in sorted({*TYPES} - {array.dtype.name}):
            yield f"{name} as {kind}", _array_change(name, lambda a, kind=kind: _cast(a, kind))
        for told, change in SHAPES.items():
            yield f"{name} {told}", _array_change(name, change)
        orders = {**ORDERS} if array.dtype.kind != "U" else {"reversed": ORDERS["reversed"]}
        for told, change in orders.items():
            yield f"{name} {told}", _array_change(name, lambda a, c=change: _cast(c(a), a.dtype))
        for value in _extremes(array.dtype):
            yield f"{name} all {value}", _array_change(name, _filled(value, everywhere=True))
            yield f"{name} one {value}", _array_change(name, _filled(value, everywhere=False))
        for code in CODE_POINTS if array.dtype.kind == "U" else ():
            yield f"{name} with {code:#x}", _array_change(name, _with_code_point(code))
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


def _with_code_point(code):
    """Return a change that puts a number in the place of the first character of some text."""

    def change(array):
        characters = np.ascontiguousarray(array).view(np.uint32).copy()
        characters.ravel()[:1] = code
        return characters.view(array.dtype)

    return lambda array: change(array) if array.size and array.dtype.kind == "U" else array


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


def _with_text(code, order):
    """Return a tampering that puts a number into the JSON of an archive."""

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
