"""Plans: TOML files that list the runs of a table or figure."""

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
UNLABELLED = "unlabelled"  # also learns from the training documents that were not drawn
MEASUREMENTS = ("counts", "embedding_times", "unseen_terms", "map", "prior_shift")

# options of the network for each variant; "classes" is the number of classes, at most 300
_NETWORK_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "random": {"wce": False},
    "vectors": {"wce": False},
    "vectors-trainable": {"wce": False, "trainable": True},
    "vectors+random": {"wce": False, "trainable": True, "random_dims": "classes"},
    "vectors+wce": {"wce": True},
    "vectors+wce-trainable": {"wce": True, "trainable": True},
    "wce": {"wce": True},
    "context": {"wce": False},  # a plan adds the option `context`
}
_WORD_FEATURES = ("tfidf", "vectors", "vectors+wce", "wce")
_SVM_FEATURES = (
    *_WORD_FEATURES,
    *(f"{features}+encoder" for features in _WORD_FEATURES),
    "encoder",
)
# `linear` without a search: its first settings, pairs of words and a middle C. They were chosen
# after searches on Banking77, before anything was measured with them.
_FIXED_SETTINGS = {
    "probabilities": False, "characters": None, "ngrams": (1, 2), "shrinkage": 5.0, "C": 0.3,
    "encoder_weight": 2.0, "other_weight": 0.5,
}  # fmt: skip
VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "svm": {name: {"features": name, "probabilities": False} for name in _SVM_FEATURES},
    "fasttext": {  # it always trains its vectors
        "random": {},
        "vectors-trainable": {},
        "vectors+random": {"random_dims": "classes"},
        "vectors+wce-trainable": {"wce": True},
    },
    "linear": {
        "default": {"probabilities": False},
        "words": {"probabilities": False, "characters": None},
        "vectors": {"probabilities": False},
        "fixed": _FIXED_SETTINGS,
        UNLABELLED: {},
    },
    "nearest": {"default": {"probabilities": False}, UNLABELLED: {}},
    **dict.fromkeys(NETWORKS, _NETWORK_VARIANTS),
    **{name: {"default": {}} for name in MEASUREMENTS},
    PEER: {name: {} for name in peers.NAMES},
}

# options that a plan passes to the word-class embeddings of a classifier, not to the classifier
_SVM_EMBEDDING_OPTIONS = ("correlation", "shrinkage")  # an svm shares its own weighting
EMBEDDING_OPTIONS: Mapping[str, Sequence[str]] = {
    "svm": _SVM_EMBEDDING_OPTIONS,
    **dict.fromkeys(("fasttext", *NETWORKS), (*_SVM_EMBEDDING_OPTIONS, "weighting")),
}
# measurements without an entry have the options of `DocumentVectorizer`
_MEASUREMENT_OPTIONS = {"map": ["n_terms"], "prior_shift": ["classifier"]}
_RESERVED_OPTIONS = ("checkpoint", "on_epoch", "protocol", "seed", "trainable", "vectors", "wce")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that a plan lists together: one per combination of the lists.

    Parameters
    ----------
    datasets, learners : list of str
        Names of data sets and learners, as in `Run`.
    variants : list of str, default=["default"]
        The vectors or features that the learners read.
    seeds : list of int, default=[0]
        Random seeds.
    protocols : list of str, default=["clean"]
        "clean", "paper" or both.
    vectors : list of str, default=["glove.6B.100d"]
        Names or paths of pretrained vectors; "corpus": small vectors learned from the texts of
        the data set; "pte": vectors that PTE learns from its texts and labels;
        "glove.6B.100d+pte": both side by side.
    options : dict, default={}
        Options of the classifiers. They take precedence over the presets.
    sweep : dict of lists, default={}
        Options with several values each: one run per combination of values.
    settings : str, default="presets"
        "presets": the sizes that the paper's authors chose, if they are known; "search": the best
        settings of the paper's grid by validation macro F1.
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
    def from_table(cls, table: Mapping[str, Any]) -> "Group":
        """Make a group from a `[[runs]]` table of a plan.

        Raises
        ------
        InputError
            A field or name is unknown, a field is missing, or a value has the wrong type.
        """
        types = {group_field.name: group_field.type for group_field in fields(cls)}
        for name, value in table.items():
            if name not in types:
                raise unknown_name_error("field", name, types)
            container, item_type, expected = _EXPECTED[types[name]]
            items = value.values() if isinstance(value, dict) else value
            is_valid = isinstance(value, container)
            if not is_valid or not all(isinstance(item, item_type) for item in items):
                raise InputError(f"{name} is {value!r}", expected=expected)
        if missing := {"datasets", "learners"} - table.keys():
            name = min(missing)
            raise InputError(f"{name} are missing in a [[runs]] table", hint=f"add {name} = [...]")
        group = cls(**table)
        group._check_names()
        group._check_options()
        return group

    def _check_names(self) -> None:
        choices: list[tuple[str, str, Sequence[str] | Mapping[str, Any]]] = []
        choices += [("learner", learner, VARIANTS) for learner in self.learners]
        choices += [
            (f"variant of {learner}", variant, VARIANTS.get(learner, ()))
            for learner, variant in itertools.product(self.learners, self.variants)
        ]
        choices += [("protocol", protocol, ("clean", "paper")) for protocol in self.protocols]
        choices += [("kind of settings", self.settings, ("presets", "search"))]
        for kind, name, known in choices:
            if name not in known:
                raise unknown_name_error(kind, name, known)

    def _check_options(self) -> None:
        pairs = [*self.options.items()]
        pairs += [(name, value) for name, values in self.sweep.items() for value in values]
        for name, value in pairs:
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"{name} is {value}", expected="a finite number")
            if name == "other" and not (_is_list_of_names(value) and value):
                raise InputError(f"other is {value!r}", expected="a list of data sets")
            for learner, variant in itertools.product(self.learners, self.variants):
                _check_option(learner, variant, name)
        if self.settings == "search" and "fasttext" in self.learners and "clean" in self.protocols:
            raise InputError(
                "a search needs validation scores; fasttext has some in the protocol 'paper' only",
                hint="write protocols = ['paper']",
            )

    def runs(self) -> Iterator[Run]:
        """Yield the runs, one data set after the other."""
        sweep = [
            dict(zip(self.sweep, values, strict=True))
            for values in itertools.product(*self.sweep.values())
        ]
        for dataset, seed, protocol, learner, variant, swept in itertools.product(
            self.datasets, self.seeds, self.protocols, self.learners, self.variants, sweep
        ):
            needs_vectors = variant.startswith("vectors") or learner in ("map", "unseen_terms")
            for vectors in self.vectors if needs_vectors else (None,):
                options = {**self.options, **swept}
                if variant != "random":  # other variants derive it from the number of classes
                    options.pop("random_dims", None)
                if self.settings == "search":
                    trials = tuple(
                        Run(dataset, learner, variant, 0, protocol, vectors, options | settings)
                        for settings in grid(dataset, learner, variant, options)
                    )
                    yield from trials
                    yield Run(dataset, learner, variant, seed, protocol, vectors, options, trials)
                else:
                    options = preset(dataset, learner, variant) | options
                    yield Run(dataset, learner, variant, seed, protocol, vectors, options)


def _check_option(learner: str, variant: str, name: str) -> None:
    """Refuse an option that a run of this learner and variant cannot have."""
    if learner in MEASUREMENTS:
        known = _MEASUREMENT_OPTIONS.get(learner) or DocumentVectorizer().get_params(deep=False)
        if name not in known:
            raise unknown_name_error(f"option of {learner}", name, known)
    elif name in _RESERVED_OPTIONS or name in VARIANTS[learner][variant].keys() - {"random_dims"}:
        raise InputError(
            f"{name} cannot be an option of {learner}: the run itself sets it",
            hint=f"remove {name} and choose learners, variants, seeds, protocols or vectors",
        )
    elif name in EMBEDDING_OPTIONS.get(learner, ()) and "wce" not in variant:
        raise InputError(
            f"{name} is an option of word-class vectors, which the variant {variant} of {learner} "
            "does not have",
            hint="put variants without word-class vectors into a [[runs]] table of their own",
        )


# what a plan must contain for a field of a group, by the type of the field
_EXPECTED: Mapping[Any, tuple[type, type, str]] = {
    Sequence[str]: (list, str, "a list of names"),
    Sequence[int]: (list, int, "a list of integers"),
    Mapping[str, Any]: (dict, object, "a table"),
    Mapping[str, Sequence[Any]]: (dict, list, "a table of lists"),
    str: (str, str, "a name"),
}


_PLAN_FIELDS = ("title", "about", "measures", "pairs", "runs")
CLASS_MEASURES = ("rare_f1", "medium_f1", "frequent_f1")
MEASURES = ("macro_f1", "micro_f1", "accuracy", *CLASS_MEASURES, "run_times", "all_times")


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


@dataclass(frozen=True)
class Plan:
    """The runs of one table or figure.

    Parameters
    ----------
    name : str
        The stem of its file.
    title : str
        One line that says what the plan shows.
    groups : list of Group
        The groups of runs, in the order of the file.
    file : Path, optional
        The plan file of the user. None for a built-in plan.
    measures : list of str, default=("macro_f1", "micro_f1")
        Names from `MEASURES`. Each gives a table.
    pairs : list of pairs of str, default=()
        Pairs of rows to compare. A row is named by its parts, joined by spaces. One more table
        shows what the first row adds to the second, with p-values.
    about : str, default=""
        Paragraphs for the report: the question and the answer.
    """

    name: str
    title: str
    groups: Sequence[Group]
    file: Path | None = None
    measures: Sequence[str] = ("macro_f1", "micro_f1")
    pairs: Sequence[Sequence[str]] = ()
    about: str = ""

    def is_built_in(self, *names: str) -> bool:
        """Return True for a built-in plan with one of these names."""
        return self.file is None and self.name in names

    @classmethod
    def read(cls, name: str) -> "Plan":
        """Read a built-in plan by its name, or a TOML file of the user by its path.

        Raises
        ------
        InputError, FormatError
            The plan does not exist, or it names something unknown, such as a variant.
        """
        is_built_in = not name.endswith(".toml")
        if is_built_in and name not in names():
            raise unknown_name_error("plan", name, names())
        path = _FOLDER / f"{name}.toml" if is_built_in else Path(name)
        with files.as_format_error(path, "not a plan"):
            content = tomllib.loads(files.read_content(path).decode())
            for field_name in content:
                if field_name not in _PLAN_FIELDS:
                    raise unknown_name_error("field", field_name, _PLAN_FIELDS)
            runs_tables = content.pop("runs", [])
            is_list = isinstance(runs_tables, list)
            if not is_list or not all(isinstance(table, dict) for table in runs_tables):
                raise InputError("runs is no list of tables", hint="write [[runs]] above each")
            groups = [Group.from_table(table) for table in runs_tables]
            plan_fields = {"title": "", **content, "groups": groups}
            plan = cls(name=path.stem, file=None if is_built_in else path, **plan_fields)
            plan._check_tables()
            datasets = {name for run in plan.runs() for name in (run.dataset, *run.other)}
            if not datasets:
                raise InputError("it has no runs", hint="add a [[runs]] table")
            for dataset in datasets if not is_built_in else ():
                sources.check_dataset(dataset)  # built-in plans name corpora that may be missing
        return plan

    def _check_tables(self) -> None:
        """Check the types of title, about, measures and pairs. `tables` checks the rows."""
        is_list = isinstance(self.pairs, list | tuple)
        has_pairs = is_list and all(
            _is_list_of_names(pair) and len(pair) == 2 for pair in self.pairs
        )
        for name, expected, is_valid in [
            ("title", "a text", isinstance(self.title, str)),
            ("about", "a text", isinstance(self.about, str)),
            ("measures", "a list of names", _is_list_of_names(self.measures)),
            ("pairs", "a list of pairs of rows", has_pairs),
        ]:
            if not is_valid:
                raise InputError(f"{name} is {getattr(self, name)!r}", expected=expected)
        for measure in self.measures:
            if measure not in MEASURES:
                raise unknown_name_error("measure", measure, MEASURES)

    def runs(self, only: Mapping[str, Sequence[str]] | None = None) -> list[Run]:
        """Return the runs, without duplicates.

        Parameters
        ----------
        only : dict of lists, optional
            Keep runs whose attribute (dataset, learner, variant, seed, protocol, vectors) has one
            of these values, and the runs that they need.

        Raises
        ------
        InputError
            No run has one of the values, or no run has all of them together.
        """
        every = [run for group in self.groups for run in group.runs()]
        chosen = every
        for name, values in (only or {}).items():
            known = {str(getattr(run, name)) for run in every}
            for value in values:
                if value not in known:
                    raise unknown_name_error(f"{name} of the plan {self.name}", value, known)
            chosen = [run for run in chosen if str(getattr(run, name)) in values]
        if only and not chosen:
            conditions = ", ".join(f"{name}={'|'.join(values)}" for name, values in only.items())
            raise InputError(
                f"no run of the plan {self.name} has all of {conditions}",
                hint="leave one of them out",
            )
        with_needs = (needed for run in chosen for needed in (*run.needs, run))
        return list({run.identity: run for run in with_needs}.values())


def names() -> list[str]:
    """List the built-in plans."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@cache
def presets() -> dict[str, Any]:
    """Return the content of presets.toml: the settings of the paper's authors."""
    return tomllib.loads(_PRESETS.read_text(encoding="utf-8"))


def missing_sources(run: Run) -> list[str]:
    """Return the data and vectors of a run that cannot be had here, in any data folder."""
    known = presets()["unavailable"]
    return [known[name] for name in (run.dataset, run.vectors) if name in known]


def preset(dataset: str, learner: str, variant: str) -> dict[str, Any]:
    """Return the options that the paper's authors chose, as far as they are known."""
    known = presets()
    options = dict[str, Any]()
    sizes = known["sizes"].get(dataset, {}).get(learner)
    if sizes is not None and variant in known["variants"]:
        options[known["size_of"][learner]] = sizes[known["variants"].index(variant)]
    for rule in known["options"]:
        names = {"datasets": dataset, "learners": learner, "variants": variant}
        if all(value in rule[name] for name, value in names.items()):
            options |= rule["options"]
    return options


def grid(
    dataset: str, learner: str, variant: str, fixed: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return all settings of the paper's search for one data set, learner and variant.

    Parameters
    ----------
    dataset, learner, variant : str
        As in `Run`.
    fixed : dict, optional
        Options with a fixed value, which the search does not vary.

    Raises
    ------
    InputError
        The paper did not search settings of this learner.
    """
    if learner not in ("fasttext", *NETWORKS[:3]):
        raise InputError(
            f"the paper's search has no grid for {learner!r}",
            expected="fasttext, cnn, lstm or attention",
        )
    values: dict[str, Sequence[Any]] = dict(catalogue.entry("classifiers", learner).GRID)
    if "+wce" not in variant:
        values.pop("supervised_dropout", None)
    if variant == "random":
        values["random_dims"] = presets()["grid"]["random_dims"]
    if learner == "fasttext" and dataset in presets()["grid"]["large"]:
        values["epochs"] = presets()["grid"]["epochs"]
    values |= {name: [value] for name, value in (fixed or {}).items() if name in values}
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]
