"""Plans: which runs make a table or a figure, read from TOML files."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.catalogue import unknown_name_error
from wordclass.errors import InputError
from wordclass.reproduction import peers, sources
from wordclass.reproduction.runs import Run
from wordclass.storage import files
from wordclass.text.vectorizer import DocumentVectorizer

_FOLDER = Path(__file__).with_name("plans")
_PRESETS = Path(__file__).with_name("presets.toml")

NETWORKS = ("cnn", "lstm", "attention", "leam")
PEER = "peer"
MEASUREMENTS = ("counts", "embedding_times", "unseen_terms", "map", "prior_shift")

# what each variant is, in options of the classifier; "classes": as many as there are classes, at
# most 300
_NETWORK: Mapping[str, Mapping[str, Any]] = {
    "random": {"wce": False},
    "vectors": {"wce": False},
    "vectors-trainable": {"wce": False, "trainable": True},
    "vectors+random": {"wce": False, "trainable": True, "random_dims": "classes"},
    "vectors+wce": {"wce": True},
    "vectors+wce-trainable": {"wce": True, "trainable": True},
    "wce": {"wce": True},
    "context": {"wce": False},  # with the option of this name, and no other vectors
}
_OF_WORDS = ("tfidf", "vectors", "vectors+wce", "wce")
_FEATURES = (*_OF_WORDS, *(f"{each}+encoder" for each in _OF_WORDS), "encoder")
# no search: the first settings that `linear` tries, but pairs of words, and a C in the middle; they
# were chosen after searches on banking77, before anything was measured with them
_FIXED = {
    "probabilities": False, "characters": None, "ngrams": (1, 2), "shrinkage": 5.0, "C": 0.3,
    "encoder_weight": 2.0, "other_weight": 0.5,
}  # fmt: skip
VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "svm": {name: {"features": name, "probabilities": False} for name in _FEATURES},
    "fasttext": {  # which always trains its vectors
        "random": {},
        "vectors-trainable": {},
        "vectors+random": {"random_dims": "classes"},
        "vectors+wce-trainable": {"wce": True},
    },
    "linear": {
        "default": {"probabilities": False},
        "words": {"probabilities": False, "characters": None},
        "vectors": {"probabilities": False},
        "fixed": _FIXED,
    },
    "nearest": {"default": {"probabilities": False}},
    **dict.fromkeys(NETWORKS, _NETWORK),
    **{name: {"default": {}} for name in MEASUREMENTS},
    PEER: {name: {} for name in peers.NAMES},
}

# options that a plan gives to the word-class vectors of a classifier, not to the classifier
_OF_EMBEDDINGS = ("correlation", "shrinkage")
EMBEDDING_OPTIONS: Mapping[str, Sequence[str]] = {
    "svm": _OF_EMBEDDINGS,  # which has a weighting itself, and shares it
    **dict.fromkeys(("fasttext", *NETWORKS), (*_OF_EMBEDDINGS, "weighting")),
}
_OF_MEASUREMENTS = {"map": ["n_terms"], "prior_shift": ["classifier"]}  # others: of terms
_OF_RUNS = ("checkpoint", "on_epoch", "protocol", "seed", "trainable", "vectors", "wce")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that a plan lists together: one of each combination.

    Parameters
    ----------
    datasets, learners : list of str
    variants : list of str, default=["default"]
    seeds : list of int, default=[0]
    protocols : list of str, default=["clean"]
    vectors : list of str, default=["glove.6B.100d"]
        Names or paths of pretrained vectors; "corpus": small ones of the data set's own texts;
        "pte": those that PTE learns from its texts and labels; "glove.6B.100d+pte": both.
    options : dict, default={}
        Of the classifiers, instead of those of the presets.
    sweep : dict of lists, default={}
        Options that take one value after the other.
    settings : str, default="presets"
        "presets": the sizes that the paper's authors chose, where they are known; "search": what
        the paper's search finds, on one validation split, by macro F1.
    """

    datasets: Sequence[str]
    learners: Sequence[str]
    variants: Sequence[str] = ("default",)
    seeds: Sequence[int] = (0,)
    protocols: Sequence[str] = ("clean",)
    vectors: Sequence[str] = ("glove.6B.100d",)
    options: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: str = "presets"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Group":
        """Make a group of what a plan tells; refuse fields and names that there are not."""
        known = {each.name: each.type for each in fields(cls)}
        for name, value in facts.items():
            if name not in known:
                raise unknown_name_error("field", name, known)
            whole, part, told = _EXPECTED[known[name]]
            parts = value.values() if isinstance(value, dict) else value
            if not isinstance(value, whole) or not all(isinstance(each, part) for each in parts):
                raise InputError(f"{name} is {value!r}; expected {told}")
        if missing := {"datasets", "learners"} - facts.keys():
            raise InputError(f"{min(missing)} are missing in a group of runs")
        group = cls(**facts)
        for kind, given, choices in [
            *(("learner", each, VARIANTS) for each in group.learners),
            *(
                (f"variant of {learner}", variant, VARIANTS.get(learner, ()))
                for learner, variant in itertools.product(group.learners, group.variants)
            ),
            *(("protocol", each, ("clean", "paper")) for each in group.protocols),
            ("kind of settings", group.settings, ("presets", "search")),
        ]:
            if given not in choices:
                raise unknown_name_error(kind, given, choices)
        group._check_options()
        return group

    def _check_options(self) -> None:
        given = [*self.options.items()]
        given += [(name, each) for name, values in self.sweep.items() for each in values]
        for name, value in given:
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"{name} is {value}; expected a finite number")
            if name == "other" and not (_are_names(value) and value):
                raise InputError(f"other is {value!r}; expected a list of data sets")
            for learner, variant in itertools.product(self.learners, self.variants):
                _check_option(learner, variant, name)
        if self.settings == "search" and "fasttext" in self.learners and "clean" in self.protocols:
            told = "a search needs validation scores"
            raise InputError(f"{told}; fasttext has some in the protocol 'paper' only")

    def runs(self) -> Iterator[Run]:
        """Give the runs, one data set after the other."""
        sweep = [
            dict(zip(self.sweep, values, strict=True))
            for values in itertools.product(*self.sweep.values())
        ]
        for dataset, seed, protocol, learner, variant, swept in itertools.product(
            self.datasets, self.seeds, self.protocols, self.learners, self.variants, sweep
        ):
            needs_vectors = variant.startswith("vectors") or learner in ("map", "unseen_terms")
            for vectors in self.vectors if needs_vectors else (None,):
                own = {**self.options, **swept}
                if variant != "random":  # elsewhere, as many as there are classes, or none
                    own.pop("random_dims", None)
                if self.settings == "search":
                    trials = tuple(
                        Run(dataset, learner, variant, 0, protocol, vectors, own | each)
                        for each in grid(dataset, learner, variant, own)
                    )
                    yield from trials
                    yield Run(dataset, learner, variant, seed, protocol, vectors, own, trials)
                else:
                    own = preset(dataset, learner, variant) | own
                    yield Run(dataset, learner, variant, seed, protocol, vectors, own)


def _check_option(learner: str, variant: str, name: str) -> None:
    """Refuse an option that is not for such runs; which ones classifiers have, they know."""
    if learner in MEASUREMENTS:
        known = _OF_MEASUREMENTS.get(learner) or DocumentVectorizer().get_params(deep=False)
        if name not in known:
            raise unknown_name_error(f"option of {learner}", name, known)
    elif name in _OF_RUNS or name in VARIANTS[learner][variant].keys() - {"random_dims"}:
        raise InputError(f"{name} cannot be an option of {learner}: the run itself sets it")
    elif name in EMBEDDING_OPTIONS.get(learner, ()) and "wce" not in variant:
        told = f"{name} is an option of word-class vectors"
        raise InputError(f"{told}, which the variant {variant} of {learner} does not have")


# what a plan has for a field of a group, by the type of the field
_EXPECTED: Mapping[Any, tuple[type, type, str]] = {
    Sequence[str]: (list, str, "a list of names"),
    Sequence[int]: (list, int, "a list of integers"),
    Mapping[str, Any]: (dict, object, "a table"),
    Mapping[str, Sequence[Any]]: (dict, list, "a table of lists"),
    str: (str, str, "a name"),
}


_FIELDS = ("title", "about", "measures", "pairs", "runs")  # of a plan's file
MEASURES = ("macro_f1", "micro_f1", "accuracy", "run_times", "all_times")  # of runs that train


def _are_names(given: object) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)


@dataclass(frozen=True)
class Plan:
    """The runs of one table or figure.

    Parameters
    ----------
    name : str
    title : str
        What it shows, in one line.
    groups : list of Group
    file : Path, optional
        The file of the user's that it was read from; None: the plan is one of ours.
    measures : list of str, default=("macro_f1", "micro_f1")
        Of `MEASURES`: there is a table of each.
    pairs : list of pairs of str, default=()
        Rows of these tables, their parts with spaces between them, that are compared: what the
        first of a pair adds to the second, and how sure that is.
    about : str, default=""
        What is asked, and what came out: paragraphs for the report.
    """

    name: str
    title: str
    groups: Sequence[Group]
    file: Path | None = None
    measures: Sequence[str] = ("macro_f1", "micro_f1")
    pairs: Sequence[Sequence[str]] = ()
    about: str = ""

    def is_our(self, *names: str) -> bool:
        """Whether it is a plan of ours with one of these names."""
        return self.file is None and self.name in names

    @classmethod
    def read(cls, name: str) -> "Plan":
        """Read a plan of ours by its name, or one of the user's: a TOML file.

        Raises
        ------
        InputError, FormatError
            There is no such plan; it names what is not there, such as a variant.
        """
        is_ours = not name.endswith(".toml")
        if is_ours and name not in names():
            raise unknown_name_error("plan", name, names())
        path = _FOLDER / f"{name}.toml" if is_ours else Path(name)
        with files.as_format_error(path, "not a plan"):
            found = tomllib.loads(files.read_content(path).decode())
            for each in found:
                if each not in _FIELDS:
                    raise unknown_name_error("field", each, _FIELDS)
            groups = found.pop("runs", [])
            if not isinstance(groups, list) or not all(isinstance(each, dict) for each in groups):
                raise InputError("runs is no list of tables; write [[runs]] above each")
            told = {"title": "", **found, "groups": [*map(Group.of, groups)]}
            plan = cls(name=path.stem, file=None if is_ours else path, **told)
            plan._check_tables()
            datasets = {name for run in plan.runs() for name in (run.dataset, *run.other)}
            if not datasets:
                raise InputError("it has no runs")
            for dataset in datasets if not is_ours else ():
                sources.check_dataset(dataset)  # ours name corpora that need not be here
        return plan

    def _check_tables(self) -> None:
        """Refuse a title, measures or pairs that are none; which rows there are, tables know."""
        is_list = isinstance(self.pairs, list | tuple)
        is_paired = is_list and all(_are_names(pair) and len(pair) == 2 for pair in self.pairs)
        for name, told, is_right in [
            ("title", "a text", isinstance(self.title, str)),
            ("about", "a text", isinstance(self.about, str)),
            ("measures", "a list of names", _are_names(self.measures)),
            ("pairs", "a list of pairs of rows", is_paired),
        ]:
            if not is_right:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected {told}")
        for each in self.measures:
            if each not in MEASURES:
                raise unknown_name_error("measure", each, MEASURES)

    def runs(self, only: Mapping[str, Sequence[str]] | None = None) -> list[Run]:
        """Return the runs, each once.

        Parameters
        ----------
        only : dict of lists, optional
            Keep those whose attribute (dataset, learner, variant, seed, protocol, vectors) has one
            of these values; needed runs of those that are kept are kept too.

        Raises
        ------
        InputError
            No run has such a value, or all of them together.
        """
        every = chosen = [run for group in self.groups for run in group.runs()]
        for name, values in (only or {}).items():
            known = {str(getattr(run, name)) for run in every}
            for value in values:
                if value not in known:
                    raise unknown_name_error(f"{name} of the plan {self.name}", value, known)
            chosen = [run for run in chosen if str(getattr(run, name)) in values]
        if only and not chosen:
            raise InputError(f"no run of the plan {self.name} has all that was asked for")
        return list({run.identity: run for last in chosen for run in (*last.needs, last)}.values())


def names() -> list[str]:
    """List the plans that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@cache
def presets() -> dict[str, Any]:
    """Return the authors' settings, as presets.toml has them."""
    return tomllib.loads(_PRESETS.read_text(encoding="utf-8"))


def unavailable(run: Run) -> list[str]:
    """Return what a run needs that cannot be had here, whatever the data folder holds."""
    known = presets()["unavailable"]
    return [known[name] for name in (run.dataset, run.vectors) if name in known]


def preset(dataset: str, learner: str, variant: str) -> dict[str, Any]:
    """Return the options that the paper's authors chose, as far as they are known."""
    known, options = presets(), dict[str, Any]()
    sizes = known["sizes"].get(dataset, {}).get(learner)
    if sizes is not None and variant in known["variants"]:
        options[known["size_of"][learner]] = sizes[known["variants"].index(variant)]
    for own in known["options"]:
        places = {"datasets": dataset, "learners": learner, "variants": variant}
        if all(given in own[name] for name, given in places.items()):
            options |= own["options"]
    return options


def grid(
    dataset: str, learner: str, variant: str, given: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return all settings of the paper's search, for one data set, learner and variant.

    Options that are given have only the value that they have there.

    Raises
    ------
    InputError
        The learner was not searched for settings in this way.
    """
    if learner not in ("fasttext", *NETWORKS[:3]):
        raise InputError(f"the paper's search has no grid for {learner!r}")
    values: dict[str, Sequence[Any]] = dict(catalogue.entry("classifiers", learner).GRID)
    if "+wce" not in variant:
        values.pop("supervised_dropout", None)
    if variant == "random":
        values["random_dims"] = presets()["grid"]["random_dims"]
    if learner == "fasttext" and dataset in presets()["grid"]["large"]:
        values["epochs"] = presets()["grid"]["epochs"]
    values |= {name: [each] for name, each in (given or {}).items() if name in values}
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
