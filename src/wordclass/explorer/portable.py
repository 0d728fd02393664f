"""Portable models: one binary file that programs in other languages can read.

The layout is described in `docs/reference/portable-models.md`; `static/wordclass.mjs` reads it.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass.decision.scorers import LinearScorer
from wordclass.errors import InputError
from wordclass.explorer.character_tables import character_tables
from wordclass.storage import files
from wordclass.text.analyzer import TOKEN_PATTERN, Analyzer, CharacterAnalyzer
from wordclass.text.weightings import tfidf

MODEL_FILE = "model.bin"
MODULE_FILE = "wordclass.mjs"

_MODULE_PATH = Path(__file__).parent / "static" / MODULE_FILE
_MAGIC = b"WCMODEL\0"
_VERSION = 1
_ALIGNMENT = 8
_IS_MULTILABEL = 1
_KEEPS_HIGHEST = 2
_IS_COMPLETE = 4
_MAX_SECTION_BYTES = 1 << 31  # readers keep a section in one array
_WEIGHT_TYPES = {"float32": (0, "<f4"), "float16": (1, "<f2")}


@dataclass(frozen=True)
class PortableModel:
    """A model that can be exported, and its linear parts.

    Parameters
    ----------
    model : classifier
        The fitted classifier.
    parts : sequence of LinearScorer
        The weights of words, of characters, or of both, whose scores are added.
    """

    model: Any
    parts: Sequence[LinearScorer]

    @classmethod
    def of(cls, model: Any) -> "PortableModel":  # noqa: ANN401 - any classifier
        """Return the portable form of a classifier.

        Raises
        ------
        InputError
            Readers in other languages cannot compute the scores of this classifier.
        """
        scorer = model.scorer_
        hint = "use wordclass serve or wordclass explore, which need Python"
        if getattr(scorer, "encoder", None) is not None:
            raise InputError("a model with a sentence encoder cannot be exported", hint=hint)
        if not scorer.linear_scorers:
            problem = f"a {model.name!r} model cannot be exported"
            raise InputError(problem, expected="a linear or nearest model", hint=hint)
        for part in scorer.linear_scorers:
            _check_part(part, hint)
        return cls(model, scorer.linear_scorers)

    @property
    def n_terms(self) -> int:
        """The number of terms of all parts."""
        return sum(len(part.weights) for part in self.parts)

    def select_rows(self, n_bytes: int, preferred: Iterable[str], dtype: str) -> list[list[int]]:
        """Return the rows of each part that fit into a number of bytes.

        The preferred words come first, then the terms with the highest document frequencies.
        """
        preferred_words = {*preferred}
        candidates = []
        for number, part in enumerate(self.parts):
            vocabulary = part.weigher.vocabulary
            frequencies = vocabulary.doc_freq.tolist()
            for row, (term, n_docs) in enumerate(zip(vocabulary.terms, frequencies, strict=True)):
                is_preferred = number == 0 and term in preferred_words
                candidates.append((not is_preferred, -n_docs, number, row, len(term.encode())))
        candidates.sort()
        rows: list[list[int]] = [[] for _ in self.parts]
        item_bytes = np.dtype(_WEIGHT_TYPES[dtype][1]).itemsize
        row_bytes = 8 + item_bytes * self.parts[0].weights.shape[1]
        for _, _, number, row, term_bytes in candidates:
            n_bytes -= row_bytes + term_bytes
            if n_bytes < 0:
                break
            rows[number].append(row)
        return [sorted(part_rows) for part_rows in rows]

    def to_bytes(
        self, rows: Sequence[Sequence[int]] | None = None, dtype: str = "float32"
    ) -> bytes:
        """Return the content of a model file.

        Parameters
        ----------
        rows : sequence, optional
            The terms of each part to store. By default all terms are stored.
        dtype : str, default="float32"
            The type of the stored weights, or `float16`, which halves the file and changes scores
            by about 0.0001.
        """
        if rows is None:
            rows = [range(len(part.weights)) for part in self.parts]
        sections = [*self._model_sections(sum(map(len, rows)) == self.n_terms)]
        for number, (part, part_rows) in enumerate(zip(self.parts, rows, strict=True), start=1):
            sections += _part_sections(number, part, [*part_rows], dtype)
        content = bytearray(_MAGIC + struct.pack("<II", _VERSION, len(sections)))
        for tag, number, payload in sections:
            if len(payload) > _MAX_SECTION_BYTES:
                raise InputError(
                    f"the model has {len(payload):,} bytes of weights",
                    expected=f"at most {_MAX_SECTION_BYTES:,}",
                    hint="export a model with fewer terms, such as one of wordclass shrink",
                )
            content += tag.encode() + struct.pack("<IQ", number, len(payload)) + payload
            content += bytes(-len(content) % _ALIGNMENT)
        return bytes(content)

    def _model_sections(self, is_complete: bool) -> Iterable[tuple[str, int, bytes]]:
        model = self.model
        codeframe = model.codeframe_
        calibration = model.calibration_
        flags = _IS_COMPLETE * is_complete
        flags |= _IS_MULTILABEL * codeframe.is_multilabel
        flags |= _KEEPS_HIGHEST * (calibration is not None and calibration.keeps_highest)
        n_classes = len(codeframe.classes)
        intercept = np.sum([part.intercept for part in self.parts], axis=0, dtype=np.float64)
        yield "META", 0, struct.pack("<IIII", n_classes, flags, len(self.parts), self.n_terms)
        yield "CLAS", 0, _pack_strings([str(label) for label in codeframe.classes])
        yield "BIAS", 0, intercept.astype("<f8").tobytes()
        if model.thresholds_ is not None:
            yield "THRE", 0, np.asarray(model.thresholds_, "<f8").tobytes()
        if model.training_.shares is not None:
            # a text without a known term gets only these classes
            is_frequent = model.training_.shares > 0.5
            yield "FREQ", 0, is_frequent.astype(np.uint8).tobytes()
        if calibration is not None:
            yield "CALI", 0, np.asarray(calibration.parameters, "<f8").tobytes()
        tables = character_tables()
        for tag, name in (
            ("WORD", "word"), ("SPAC", "space"), ("CASE", "cased"), ("IGNO", "case_ignorable"),
        ):  # fmt: skip
            yield tag, 0, np.asarray(tables[name], "<u4").tobytes()
        lowercase = [
            [ord(character), *map(ord, lower), 0][:3]
            for character, lower in tables["lower"].items()
        ]
        yield "LOWR", 0, np.asarray(lowercase, "<u4").tobytes()


def export_web(model: Any, folder: Path) -> int:  # noqa: ANN401 - any classifier
    """Write the model file and the JavaScript module that reads it.

    Parameters
    ----------
    model : classifier
        A fitted linear or nearest classifier.
    folder : Path
        The folder to create or to replace.

    Returns
    -------
    int
        The number of bytes of the model file.

    Raises
    ------
    InputError
        The model cannot be exported, or the folder holds other files.
    """
    content = PortableModel.of(model).to_bytes()
    with files.replace_folder_atomically(folder, partial(_check_folder, folder)) as temporary:
        (temporary / MODEL_FILE).write_bytes(content)
        (temporary / MODULE_FILE).write_bytes(_MODULE_PATH.read_bytes())
    return len(content)


def _check_folder(folder: Path, names: set[str]) -> None:
    unknown = sorted(names - {MODEL_FILE, MODULE_FILE})
    if unknown:
        problem = f"{folder} is not an exported model: it holds {unknown[0]}"
        raise InputError(problem, hint="choose another folder")


def _check_part(part: LinearScorer, hint: str) -> None:
    analyze: Any = part.weigher.analyze
    is_supported = isinstance(analyze, CharacterAnalyzer) or (
        isinstance(analyze, Analyzer) and analyze.token_pattern == TOKEN_PATTERN
    )
    if not (is_supported and analyze.lowercase and analyze.strip_accents is None):
        problem = "a model with its own analyzer cannot be exported"
        raise InputError(problem, expected="the default analyzer of words or characters", hint=hint)
    has_factors = part.weigher.vocabulary.factors is not None  # in place of idf
    if part.weigher.weight is not tfidf.weight or has_factors:
        problem = "a model with another weighting than tf-idf cannot be exported"
        raise InputError(problem, expected="weighting='tfidf'", hint=hint)


def _part_sections(
    number: int, part: LinearScorer, rows: list[int], dtype: str
) -> Iterable[tuple[str, int, bytes]]:
    analyze: Any = part.weigher.analyze
    vocabulary = part.weigher.vocabulary
    is_words = isinstance(analyze, Analyzer)
    mask_numbers = is_words and analyze.mask_numbers
    weight_type, numpy_type = _WEIGHT_TYPES[dtype]
    shortest, longest = analyze.ngrams
    values = (
        not is_words,
        shortest,
        longest,
        mask_numbers,
        vocabulary.n_docs,
        len(rows),
        weight_type,
    )
    terms = [vocabulary.terms[row] for row in rows]
    weights: NDArray[Any] = np.ascontiguousarray(part.weights[rows], numpy_type)
    yield "PART", number, struct.pack("<7I", *map(int, values))
    yield "STOP", number, _pack_strings(sorted(analyze.stop_words) if is_words else [])
    yield "TERM", number, _pack_strings(terms)
    yield "DOCF", number, vocabulary.doc_freq[rows].astype("<u4").tobytes()
    yield "WGHT", number, weights.tobytes()


def _pack_strings(strings: Sequence[str]) -> bytes:
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(string) for string in encoded], dtype="<u4")
    return struct.pack("<I", len(strings)) + ends.tobytes() + b"".join(encoded)
