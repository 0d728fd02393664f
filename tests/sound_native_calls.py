"""One call of every native function with valid arguments."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from wordclass.native import extension

N_CLASSES = 20
N_TERMS = 40
WINDOWS = (2, 3)
CHANNELS = 4


@dataclass(frozen=True)
class Call:
    """A call of a native function with a description of its arguments.

    Parameters
    ----------
    name
        The name, such as "engine.tfidf". Each call of a method has its own object.
    make
        Returns the function. It is called right before the function.
    arguments
        The arguments in order, as {name: value}.
    ends
        The names of row pointers.
    indices
        The names of indices, each with the number of valid ones.
    lengths
        The names of arrays that must not have another length.
    """

    name: str
    make: Any
    arguments: dict[str, Any]
    ends: tuple[str, ...] = ()
    indices: tuple[tuple[str, int], ...] = ()
    lengths: tuple[str, ...] = ()

    def __call__(self):
        return self.make()(*self.arguments.values())

    def with_argument(self, name, value):
        return replace(self, arguments={**self.arguments, name: value})


def calls(n_docs=60, n_threads=2, seed=0):
    """Return {name: Call}. More documents are more work, which more threads can share."""
    all_calls = [
        *_text_calls(n_docs, n_threads, seed),
        *_sum_calls(n_docs, seed),
        *_solver_calls(n_docs, n_threads, seed),
        *_convolution_calls(n_docs, n_threads, seed),
        *_pte_calls(n_docs, seed),
    ]
    return {call.name: call for call in all_calls}


def _texts(n_docs, seed):
    generator = np.random.default_rng(seed)
    words = np.array([f"word{k}" for k in range(N_TERMS - 4)] + ["ééé", "Σίσυφος", "中文", "12.5"])
    return [" ".join(words[generator.integers(0, len(words), 30)]) for _ in range(n_docs)]


def _text_calls(n_docs, n_threads, seed):
    from wordclass.text.analyzer import Analyzer
    from wordclass.text.counting import NativeCountedTexts

    engine = extension.engine
    texts = _texts(n_docs, seed)
    NativeCountedTexts(["\U00010400"], Analyzer(), 1)  # every character is known
    options = engine.options(True, True, 1, 2, ["word1"])
    plain = engine.options(True, True, 1, 1, [])
    documents = engine.Documents(texts)

    def counted():
        return engine.CountedTexts(documents, plain, n_threads)

    def counter():
        counter = engine.TermCounter(plain, n_threads)
        counter.add(documents)
        return counter

    n_terms = len(counted().doc_freq())
    fixed = engine.FixedVocabulary(["word1", "word2", "word1 word2"], options)
    Y = _labels(n_docs, seed)
    columns = np.arange(n_terms, dtype=np.int32)
    columns[::3] = -1
    tables = {"idf": np.ones(n_terms), "damped": np.arange(100.0)}
    values = np.random.default_rng(seed).normal(size=(50, 3)).round(4)
    lines = "".join(f"w{k} {a} {b} {c}\n" for k, (a, b, c) in enumerate(values)) * n_docs
    block = lines.encode() + b"bad\n"
    yield from (
        Call(
            "engine.learn_characters",
            lambda: engine.learn_characters,
            {"first": 0x110000, "folded": np.zeros(0, np.uint32)},
        ),
        Call(
            "engine.learn_visible_characters",
            lambda: engine.learn_visible_characters,
            {"first": 0x110000, "folded": np.zeros(0, np.uint32)},
        ),
        Call(
            "engine.character_options",
            lambda: engine.character_options,
            {"lowercase": True, "shortest": 2, "longest": 5},
        ),
        Call(
            "engine.options",
            lambda: engine.options,
            dict(mask_numbers=True, lowercase=True, shortest=1, longest=3, stop_words=["aa"]),
        ),
        Call("engine.Documents", lambda: engine.Documents, {"texts": texts}),
        Call("engine.Documents.width", lambda: documents.width, {}),
        Call("engine.Documents.special", lambda: documents.special, {}),
        Call(
            "engine.Documents.replace",
            lambda: engine.Documents(texts).replace,
            {"k": 0, "prepared": "éé aa"},
        ),
        Call(
            "engine.CountedTexts",
            lambda: engine.CountedTexts,
            {"documents": documents, "options": options, "n_threads": n_threads},
        ),
        Call("engine.TermTable.doc_freq", lambda: counted().doc_freq, {}),
        Call("engine.TermTable.term_freq", lambda: counted().term_freq, {}),
        Call(
            "engine.TermTable.sorted",
            lambda: counted().sorted,
            {"ids": np.arange(n_terms)},
            indices=(("ids", n_terms),),
        ),
        Call(
            "engine.CountedTexts.occurrences",
            lambda: counted().occurrences,
            {"column_of": columns, "n_columns": n_terms},
            lengths=("column_of",),
        ),
        Call(
            "engine.CountedTexts.tfidf_rows",
            lambda: counted().tfidf_rows,
            {"column_of": columns, **tables},
            lengths=("column_of",),
        ),
        Call(
            "engine.CountedTexts.tfidf_sums",
            lambda: counted().tfidf_sums,
            {
                **{"column_of": columns, **tables},
                **{"classes": Y.indices, "class_ends": Y.indptr.astype(np.int64)},
                **{"n_classes": N_CLASSES, "of_weights": True, "of_documents": True},
            },
            ends=("class_ends",),
            indices=(("classes", N_CLASSES),),
            lengths=("column_of", "classes"),
        ),
        Call(
            "engine.TermCounter",
            lambda: engine.TermCounter,
            {"options": options, "n_threads": n_threads},
        ),
        Call("engine.TermCounter.add", lambda: counter().add, {"documents": documents}),
        Call("engine.TermCounter.finish", lambda: counter().finish, {}),
        Call(
            "engine.FixedVocabulary",
            lambda: engine.FixedVocabulary,
            {"terms": ["aa", "bb", "aa bb"], "options": options, "order": np.array([2, 0, 1])},
            indices=(("order", 3),),
            lengths=("order",),
        ),
        Call(
            "engine.FixedVocabulary.count",
            lambda: fixed.count,
            {"documents": documents, "n_threads": n_threads},
        ),
        Call(
            "engine.FixedVocabulary.weighted_sums",
            lambda: fixed.weighted_sums,
            {
                **{"documents": documents, "idf": np.ones(3), "damped": np.arange(100.0)},
                **{"weights": np.ones((3, 2), np.float32), "intercept": np.ones(2, np.float32)},
                **{"n_threads": n_threads},
            },
            lengths=("idf", "intercept"),
        ),
        Call(
            "engine.FixedVocabulary.index",
            lambda: engine.FixedVocabulary(["word1", "word2"], plain).index,
            {"documents": documents, "n_threads": n_threads},
        ),
        Call(
            "text_reader.TextReader",
            lambda: extension.text_reader.TextReader,
            {"n_dims": 3, "requested": [b"aa", b"bb"]},
        ),
        Call(
            "text_reader.TextReader.read",
            lambda: extension.text_reader.TextReader(3, None).read,
            {"bytes": block},
        ),
    )


def _labels(n_docs, seed):
    """Return Y (n, m), one class per document."""
    classes = np.random.default_rng(seed).integers(0, N_CLASSES, n_docs)
    return sparse.csr_matrix(np.eye(N_CLASSES, dtype=np.float32)[classes])


def _documents(n_docs, seed):
    """Return X (n, v) as values, columns and row pointers."""
    generator = np.random.default_rng(seed)
    X = sparse.random(n_docs, N_TERMS, 0.2, "csr", rng=generator)
    return X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64)


def _sum_calls(n_docs, seed):
    values, columns, ends = _documents(n_docs, seed)
    Y = _labels(n_docs, seed)
    yield Call(
        "engine.tfidf",
        lambda: extension.engine.tfidf,
        {
            **{"counts": np.ones(len(values), np.int32), "columns": columns, "ends": ends},
            **{"idf": np.ones(N_TERMS), "damped": np.array([0.0, 1.0])},
        },
        ends=("ends",),
        indices=(("columns", N_TERMS), ("counts", 2)),
        lengths=("counts", "columns"),
    )
    yield Call(
        "engine.sum_documents",
        lambda: extension.engine.sum_documents,
        {
            **{"weights": values, "columns": columns, "ends": ends},
            **{"classes": Y.indices, "class_ends": Y.indptr.astype(np.int64)},
            **{"n_terms": N_TERMS, "n_classes": N_CLASSES},
            **{"of_weights": True, "of_documents": True},
        },
        ends=("ends", "class_ends"),
        indices=(("columns", N_TERMS), ("classes", N_CLASSES)),
        lengths=("weights", "columns", "classes"),
    )


def _solver_calls(n_docs, n_threads, seed):
    solver = extension.solver
    generator = np.random.default_rng(seed)
    values, columns, starts = _documents(n_docs, seed)
    block = generator.normal(size=(n_docs, 2)).astype(np.float32)
    by_class = sparse.csc_matrix(_labels(n_docs, seed))
    features = {
        **{"values": values.astype(np.float32), "columns": columns, "starts": starts},
        **{"block": block, "n_columns": N_TERMS},
    }
    task_arguments = {
        "members": by_class.indices.astype(np.int32),
        "starts": by_class.indptr.astype(np.int64),
        **{"positive_cost": np.ones(N_CLASSES), "negative_cost": np.ones(N_CLASSES)},
        **{"doc_cost": np.ones(n_docs), "own": np.ones((n_docs, N_CLASSES), np.float32)},
        **{"rows": np.arange(n_docs, dtype=np.int32), "C": np.ones(N_CLASSES)},
        **{"tolerance": 0.1, "max_passes": 20, "n_threads": n_threads},
    }
    documents = solver.documents(*features.values())
    task = solver.task(*task_arguments.values())
    X = sparse.csr_matrix((values, columns, starts), shape=(n_docs, N_TERMS))
    products = (X @ X.T).toarray().astype(np.float32)
    test_rows = np.arange(n_docs, dtype=np.int32)
    yield from (
        Call(
            "solver.documents",
            lambda: solver.documents,
            features,
            ends=("starts",),
            indices=(("columns", N_TERMS),),
            lengths=("values", "columns", "block"),
        ),
        Call(
            "solver.task",
            lambda: solver.task,
            task_arguments,
            ends=("starts",),
            indices=(("members", n_docs), ("rows", n_docs)),
            lengths=("positive_cost", "negative_cost", "doc_cost", "own", "members"),
        ),
        Call("solver.solve", lambda: solver.solve, {"documents": documents, "task": task}),
        Call(
            "solver.solve_products",
            lambda: solver.solve_products,
            {"products": products, "task": task},
            lengths=("products",),
        ),
        Call(
            "solver.validate",
            lambda: solver.validate,
            {"documents": documents, "task": task, "test_rows": test_rows},
            indices=(("test_rows", n_docs),),
        ),
        Call(
            "solver.validate_products",
            lambda: solver.validate_products,
            {"products": products, "task": task, "test_rows": test_rows},
            indices=(("test_rows", n_docs),),
            lengths=("products",),
        ),
        Call(
            "solver.multiply",
            lambda: solver.multiply,
            {
                **{"values": values, "columns": columns, "starts": starts},
                "weights": generator.normal(size=(N_TERMS, N_CLASSES)).astype(np.float32),
                "intercept": np.zeros(N_CLASSES, np.float32),
                "n_threads": n_threads,
            },
            ends=("starts",),
            indices=(("columns", N_TERMS),),
            lengths=("values", "columns", "intercept"),
        ),
        Call(
            "solver.multiply_pruned",
            lambda: solver.multiply_pruned,
            {
                **{"values": values, "columns": columns, "starts": starts, "rows": test_rows},
                "terms": np.arange(0, N_TERMS, 2, dtype=np.int32),
                "ends": np.arange(len(range(0, N_TERMS, 2)) + 1),
                "classes": np.zeros(len(range(0, N_TERMS, 2)), np.int32),
                "weights": np.ones(len(range(0, N_TERMS, 2)), np.float32),
                "intercept": np.zeros(N_CLASSES, np.float32),
                "n_columns": N_TERMS,
            },
            ends=("starts", "ends"),
            indices=(
                ("columns", N_TERMS),
                ("rows", n_docs),
                ("terms", N_TERMS),
                ("classes", N_CLASSES),
            ),
            lengths=("values", "columns", "weights"),
        ),
        Call(
            "solver.multiply_sparse",
            lambda: solver.multiply_sparse,
            {
                **{"values": values, "columns": columns, "starts": starts},
                **{"table_values": X.T.tocsr().data, "table_columns": X.T.tocsr().indices},
                **{"table_starts": X.T.tocsr().indptr.astype(np.int64), "n_columns": n_docs},
            },
            ends=("starts", "table_starts"),
            indices=(("columns", N_TERMS), ("table_columns", n_docs)),
            lengths=("values", "columns", "table_values", "table_columns"),
        ),
    )


def calls_with_working_sets(n_threads, seed=0, **changes):
    """Yield calls of the solver with many documents, few of them at the margin of a class."""
    all_calls = {call.name: call for call in _solver_calls(2_500, n_threads, seed)}
    arguments = all_calls["solver.task"].arguments
    signs = 2 * _labels(len(arguments["doc_cost"]), seed).toarray() - 1
    class_features = signs * np.random.default_rng(seed).uniform(1, 5, signs.shape)
    task = extension.solver.task(
        *{**arguments, "own": class_features.astype(np.float32), **changes}.values()
    )
    for name in ("solver.solve", "solver.validate"):
        yield replace(all_calls[name].with_argument("task", task), name=f"{name} with working sets")


def _convolution_calls(n_docs, n_threads, seed):
    generator = np.random.default_rng(seed)
    ends = np.concatenate([[0], np.cumsum(generator.integers(0, 9, n_docs))])
    n_tokens = ends[-1]
    n_columns = sum(WINDOWS) * CHANNELS
    n_outputs = len(WINDOWS) * CHANNELS

    def normal(*shape):
        return generator.normal(size=shape).astype(np.float32)

    texts = {"words": generator.integers(0, N_TERMS, n_tokens, dtype=np.int32), "ends": ends}
    filters = {"windows": np.array(WINDOWS), "channels": CHANNELS}
    yield Call(
        "convolution.strongest",
        lambda: extension.convolution.strongest,
        {
            **{"table": normal(N_TERMS, n_columns), "words": texts["words"]},
            **{"tokens": normal(n_tokens, n_columns), "ends": ends, **filters},
            **{"bias": normal(n_outputs), "left_padding": generator.integers(0, 4, n_docs)},
            "n_threads": n_threads,
        },
        ends=("ends",),
        indices=(("words", N_TERMS),),
        lengths=("words", "tokens", "windows", "bias", "left_padding"),
    )
    yield Call(
        "convolution.gradients",
        lambda: extension.convolution.gradients,
        {
            "slopes": normal(n_docs, n_outputs),
            "positions": generator.integers(-3, 9, (n_docs, n_outputs), dtype=np.int32),
            **{**texts, **filters},
            **{"word_rows": normal(N_TERMS, 320), "token_rows": normal(n_tokens, 20)},
            **{"word_weights": normal(n_columns, 320), "token_weights": normal(n_columns, 20)},
            **{"needs_words": True, "needs_tokens": True, "n_threads": n_threads},
        },
        ends=("ends",),
        indices=(("words", N_TERMS),),
        lengths=(
            *("slopes", "positions", "words", "windows"),
            *("token_rows", "word_weights", "token_weights"),
        ),
    )


def _pte_calls(n_docs, seed):
    generator = np.random.default_rng(seed)
    n_edges = 4 * n_docs
    ends = np.array([0, n_docs, 4 * n_docs])
    edges = {
        "words": generator.integers(0, N_TERMS, n_edges, dtype=np.int32),
        "contexts": generator.integers(0, n_docs, n_edges, dtype=np.int32),
    }
    arguments = {
        "word_vectors": generator.normal(size=(N_TERMS, 5)).astype(np.float32),
        "context_vectors": generator.normal(size=(n_docs, 5)).astype(np.float32),
        **{**edges, "weights": generator.uniform(0, 3, n_edges), "ends": ends},
        **{"noise": generator.uniform(0, 3, (2, N_TERMS)), "n_negatives": 3, "rate": 0.1},
        **{"n_steps": 100 * n_docs, "seed": seed},
    }

    def training():
        return extension.pte.Training(*arguments.values())

    yield Call(
        "pte.alias_table", lambda: extension.pte.alias_table, {"weights": arguments["weights"]}
    )
    yield Call(
        "pte.Training",
        lambda: extension.pte.Training,
        arguments,
        ends=("ends",),
        indices=(("words", N_TERMS), ("contexts", n_docs)),
        lengths=("words", "contexts", "weights", "noise"),
    )
    yield Call("pte.Training.run", lambda: training().run, {"n_steps": 50 * n_docs})
    yield Call("pte.Training.word_vectors", lambda: training().word_vectors, {})
    yield Call("pte.Training.context_vectors", lambda: training().context_vectors, {})


def list_names():
    """Return the names of all native functions, classes and methods, as in `calls`."""
    for part in ("engine", "text_reader", "solver", "convolution", "pte"):
        for name, member in vars(getattr(extension, part)).items():
            if name.startswith("_"):
                continue
            if not inspect.isclass(member):
                yield f"{part}.{name}"
                continue
            if type(vars(member)["__init__"]).__name__ == "nb_method":  # it can be made from Python
                yield f"{part}.{name}"
            methods = (key for key, value in vars(member).items() if callable(value))
            yield from (f"{part}.{name}.{key}" for key in methods if key[0] != "_")
