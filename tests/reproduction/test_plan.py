"""Built-in plans, the paper's settings in them, and invalid plans."""

import itertools
from pathlib import Path

import pytest

import wordclass as wc
from wordclass.errors import FormatError
from wordclass.reproduction import plan as plans
from wordclass.reproduction.plan import PEER, VARIANTS, Plan, grid, preset
from wordclass.reproduction.runs import Results
from wordclass.reproduction.sources import parse_dataset_name

ROOT = Path(__file__).parents[2]

NAMES = [
    "ablations", "binary", "class_frequency", "correlations", "cross_fitting", "datasets",
    "dropout", "embedding_times", "encoders", "f1", "fasttext_settings", "large_codeframes",
    "learning_curves", "network_search", "prior_shift", "rivals", "run_times", "several_tasks",
    "shrinkage", "smoke", "text_lengths", "training_sizes", "unlabelled", "unseen_terms", "vectors",
    "visualization", "word_class_features",
]  # fmt: skip
SIX = ["newsgroups20", "reuters21578", "ohsumed", "rcv1", "jrc_acquis", "wipo_gamma"]
DATASETS = [
    *SIX, "docstrings", "ohsumed20k", "ohsumed_single23_7400", "banking77", "goemotions",
    "eurlex_triples_eurovoc_1504", "arxiv_abstracts_120k", "arxiv_categories",
    "goemotions_sentiment", "goemotions_emotions",
]  # fmt: skip
NETWORK_VARIANTS = [
    "random", "vectors", "vectors-trainable", "vectors+random", "vectors+wce",
    "vectors+wce-trainable",
]  # fmt: skip
PAPER_VARIANTS = {
    "svm": ["tfidf", "vectors", "vectors+wce"],
    "fasttext": ["random", "vectors-trainable", "vectors+random", "vectors+wce-trainable"],
    **dict.fromkeys(["cnn", "lstm", "attention"], NETWORK_VARIANTS),
}


def test_all_built_in_plans_are_listed():
    assert plans.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_plan_makes_runs_that_a_classifier_can_do(name, data):
    plan = Plan.read(name)
    runs = plan.runs()
    assert plan.name == name
    assert plan.title
    assert len({run.identity for run in runs}) == len(runs) > 0
    for run in runs:
        assert {parse_dataset_name(name).base for name in (run.dataset, *run.other)} <= {*DATASETS}
        assert run.variant in VARIANTS[run.learner]
        has_vectors = run.variant.startswith("vectors") or run.learner in ("map", "unseen_terms")
        assert (run.vectors is not None) == has_vectors


def test_all_cells_of_the_papers_tables_are_in_the_plan():
    cells = {(run.learner, run.variant, run.dataset) for run in Plan.read("f1").runs()}
    expected = {
        (learner, variant, dataset)
        for learner, variants in PAPER_VARIANTS.items()
        for variant, dataset in itertools.product(variants, SIX)
        if (learner, dataset) != ("svm", "wipo_gamma")
    }
    assert len(expected) == 147
    assert expected <= cells


def test_the_smoke_plan_has_every_learner_and_variant():
    runs = Plan.read("smoke").runs()
    assert {(run.learner, run.variant) for run in runs} == {
        (learner, variant)
        for learner, variants in VARIANTS.items()
        for variant in variants
        if learner != PEER and variant != "context" and "encoder" not in variant  # more packages
    }
    assert {run.vectors for run in runs} == {None, "corpus"}
    assert {parse_dataset_name(run.dataset).base for run in runs} == {"docstrings"}


def test_runs_without_other_tasks_belong_to_other_plans():
    known = {run.identity for name in ("f1", "encoders") for run in Plan.read(name).runs()}
    alone = [run for run in Plan.read("several_tasks").runs() if not run.other]
    alone = [run for run in alone if "sentiment" not in run.dataset and run.variant != "wce"]
    shared = [run for run in alone if run.identity in known]
    assert len(shared) >= len(alone) - 3  # the CNN is run on one of the four there


@pytest.mark.parametrize("name", ["run_times", "learning_curves", "unseen_terms", "cross_fitting"])
def test_plans_share_runs_with_the_table_of_results(name):
    shared = {run.identity for run in Plan.read("f1").runs()}
    here = [run for run in Plan.read(name).runs() if run.dataset in SIX[:2]]
    trained = [run for run in here if run.learner != "unseen_terms"]
    assert sum(run.identity in shared for run in trained) >= len(trained) / 2


def test_the_presets_are_what_the_authors_chose():
    assert preset("newsgroups20", "cnn", "random") == {"channels": 256, "random_dims": 200}
    assert preset("newsgroups20", "lstm", "vectors+wce") == {"hidden": 2048}
    assert preset("jrc_acquis", "lstm", "random") == {"hidden": 1024, "random_dims": 50}
    assert preset("rcv1", "attention", "vectors+wce") == {"hidden": 512, "supervised_dropout": 0.2}
    assert preset("rcv1", "attention", "vectors+wce-trainable") == {"hidden": 512}
    assert preset("wipo_gamma", "cnn", "vectors+wce")["supervised_dropout"] == 0.2
    assert preset("newsgroups20", "fasttext", "vectors+wce-trainable") == {"lr": 0.1, "epochs": 5}
    assert preset("rcv1", "fasttext", "random") == {"epochs": 10}
    assert preset("tiny", "cnn", "vectors") == preset("newsgroups20", "svm", "tfidf") == {}
    for dataset, (learner, variants) in itertools.product(SIX, PAPER_VARIANTS.items()):
        for variant in variants:
            wc.classifier(learner, **preset(dataset, learner, variant))


def test_the_grids_are_the_papers():
    def values(dataset, learner, variant):
        settings = grid(dataset, learner, variant)
        by_name = {name: sorted({trial[name] for trial in settings}) for name in settings[0]}
        return by_name, len(settings)

    channels = [64, 128, 256, 512]
    hidden = [256, 512, 1024, 2048]
    assert values("rcv1", "cnn", "random") == (
        {"channels": channels, "random_dims": [50, 200, 300]}, 12,
    )  # fmt: skip
    assert values("rcv1", "lstm", "vectors") == ({"hidden": hidden}, 4)
    assert values("rcv1", "attention", "vectors+random") == ({"hidden": hidden}, 4)
    assert values("rcv1", "cnn", "vectors+wce") == (
        {"channels": channels, "supervised_dropout": [0.2, 0.5]}, 8,
    )  # fmt: skip
    rates = [0.05, 0.1, 0.25, 0.5]
    assert values("rcv1", "fasttext", "vectors-trainable") == ({"lr": rates, "epochs": [5, 10]}, 8)
    assert values("ohsumed", "fasttext", "random") == (
        {"lr": rates, "epochs": [5, 50, 100, 200], "random_dims": [50, 200, 300]}, 48,
    )  # fmt: skip
    with pytest.raises(wc.InputError, match="no grid for 'svm'"):
        grid("rcv1", "svm", "tfidf")


def plan_of(tmp_path, **changes):
    table = {"datasets": ["docstrings"], "learners": ["svm"], "variants": ["tfidf"], **changes}
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in table.items())
    path = tmp_path / "mine.toml"
    path.write_text(f"[[runs]]\n{lines}\n")
    return str(path)


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def test_a_plan_of_the_user_combines_all_values_and_overrides_presets(tmp_path):
    path = plan_of(
        tmp_path, datasets=["newsgroups20", "rcv1"], learners=["cnn"], seeds=[1, 2],
        variants=["random", "vectors"], vectors=["one", "two"],
        options={"lr": 0.01, "channels": 4, "random_dims": 9}, sweep={"patience": [1, 2]},
    )  # fmt: skip
    runs = Plan.read(path).runs()
    assert len(runs) == 2 * 2 * (1 + 2) * 2
    assert runs[0].options == {"channels": 4, "random_dims": 9, "lr": 0.01, "patience": 1}
    assert runs[2].options == {"channels": 4, "lr": 0.01, "patience": 1}
    assert [run.vectors for run in runs[:4]] == [None, None, "one", "two"]
    only = {"dataset": ["rcv1"], "seed": ["2"], "variant": ["vectors"]}
    assert {run.identity for run in Plan.read(path).runs(only)} == {
        run.identity
        for run in runs
        if (run.dataset, run.seed, run.variant) == ("rcv1", 2, "vectors")
    }
    with pytest.raises(wc.InputError, match="unknown seed of the plan mine '3'"):
        Plan.read(path).runs({"seed": ["3"]})


def test_trials_come_before_the_runs_that_need_them(tmp_path):
    path = plan_of(
        tmp_path, learners=["lstm"], variants=["vectors"], seeds=[1, 2], settings="search"
    )
    runs = Plan.read(path).runs()
    assert len(runs) == 4 + 2
    assert all(not run.needs and run.seed == 0 for run in runs[:4])
    assert [len(run.needs) for run in runs[4:]] == [4, 4]
    only = Plan.read(path).runs({"seed": ["2"]})
    assert [run.seed for run in only] == [0, 0, 0, 0, 2]


def test_a_search_keeps_the_options_of_the_plan(tmp_path):
    path = plan_of(
        tmp_path, learners=["cnn"], variants=["vectors+wce"], settings="search",
        options={"channels": 7, "lr": 0.01},
    )  # fmt: skip
    *trials, last = Plan.read(path).runs()
    assert [run.options for run in trials] == [
        {"channels": 7, "lr": 0.01, "supervised_dropout": rate} for rate in (0.5, 0.2)
    ]
    assert len(last.needs) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["tinny"]}, r"unknown data set 'tinny' \(did you mean 'tiny'\?\)"),
        ({"datasets": ["docstrings:"]}, "the data set 'docstrings:' lacks a class; expected docst"),
        ({"datasets": ["tiny:music+"]}, r"the data set 'tiny:music\+' lacks a class"),
        ({"datasets": ["tiny@"]}, r"the data set 'tiny@' has '' documents per class; expected a n"),
        (
            {"datasets": ["tiny@few"]},
            "has 'few' documents per class; expected a number above 0, as",
        ),
        ({"datasets": ["tiny@0"]}, "has '0' documents per class"),
        ({"learners": ["peer"]}, "unknown variant of peer 'tfidf'"),
        ({"learners": ["smv"]}, r"unknown learner 'smv' \(did you mean 'svm'\?\)"),
        ({"variants": ["tf-idf"]}, r"unknown variant of svm 'tf-idf' \(did you mean 'tfidf'\?\)"),
        ({"protocols": ["papers"]}, r"unknown protocol 'papers' \(did you mean 'paper'\?\)"),
        ({"seed": [1]}, r"unknown field 'seed' \(did you mean 'seeds'\?\)"),
        ({"seeds": 1}, "seeds is 1; expected a list"),
        ({"seeds": ["1"]}, r"seeds is \['1'\]; expected a list of integers"),
        ({"datasets": [1]}, r"datasets is \[1\]; expected a list of names"),
        ({"sweep": {"C": 1}}, "sweep is {'C': 1}; expected a table of lists"),
        ({"sweep": [1]}, "expected a table of lists"),
        ({"settings": ["best"]}, "expected a name"),
        ({"options": {"C": float("inf")}}, "C is inf; expected a finite number"),
        ({"sweep": {"C": [1.0, float("nan")]}}, "C is nan; expected a finite number"),
        ({"options": {"other": "tiny"}}, "other is 'tiny'; expected a list of data sets"),
        ({"options": {"other": []}}, r"other is \[\]; expected a list of data sets"),
        ({"sweep": {"other": [["many"], [1]]}}, r"other is \[1\]; expected a list of data sets"),
        ({"options": {"other": ["tinny"]}}, "unknown data set 'tinny'"),
        ({"settings": "best"}, "unknown kind of settings 'best'"),
        ({"options": [1]}, r"options is \[1\]; expected a table"),
        ({"learners": ["linear"], "variants": ["default"], "settings": "search"}, "no grid for"),
        (
            {
                "learners": ["cnn"],
                "variants": ["vectors+wce", "vectors"],
                "options": {"shrinkage": 1.0},
            },
            "shrinkage is an option of word-class vectors, which the variant vectors of cnn does",
        ),
        (
            {"learners": ["fasttext"], "variants": ["random"], "sweep": {"correlation": ["dot"]}},
            "correlation is an option of word-class vectors, which the variant random of fasttext",
        ),
        (
            {"learners": ["fasttext"], "variants": ["random"], "settings": "search"},
            "a search needs validation scores; fasttext has some in the protocol 'paper'",
        ),
        ({"options": {"shrinkage": 3.0}}, "which the variant tfidf of svm does not have"),
        ({"options": {"features": "wce"}}, "features cannot be an option of svm: the run itself"),
        ({"options": {"probabilities": True}}, "probabilities cannot be an option of svm"),
        ({"sweep": {"seed": [1]}}, "seed cannot be an option of svm"),
        (
            {"learners": ["cnn"], "variants": ["wce"], "options": {"trainable": True}},
            "trainable cannot be an option of cnn",
        ),
        (
            {"learners": ["map"], "variants": ["default"], "options": {"n_term": 10}},
            r"unknown option of map 'n_term' \(did you mean 'n_terms'\?\)",
        ),
        (
            {"learners": ["counts"], "variants": ["default"], "options": {"min_dcos": 3}},
            r"unknown option of counts 'min_dcos' \(did you mean 'min_docs'\?\)",
        ),
    ],
)
def test_a_wrong_plan_is_refused_before_any_work(tmp_path, data, changes, message):
    with pytest.raises(FormatError, match=rf"mine\.toml: not a plan: .*{message}"):
        Plan.read(plan_of(tmp_path, **changes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[runs]]\nlearners = ['svm']\n", "datasets are missing"),
        ("runs = [", "not a plan"),
        ("title = 'x'\n", "not a plan: it has no runs"),
        ("", "not a plan: it has no runs"),
        ("runs = []\n", "not a plan: it has no runs"),
        ("[[runs]]\ndatasets = []\nlearners = ['nearest']\n", "not a plan: it has no runs"),
        ("runs = 5\n", r"runs is no list of tables; write \[\[runs\]\] above each"),
        ("runs = ['svm']\n", "runs is no list of tables"),
        ("[runs]\ndatasets = ['tiny']\nlearners = ['svm']\n", r"write \[\[runs\]\] above each"),
        ("title = 5\n", "title is 5; expected a text"),
        ("measures = 'accuracy'\n", "measures is 'accuracy'; expected a list of names"),
        ("measures = ['acuracy']\n", r"unknown measure 'acuracy' \(did you mean 'accuracy'\?\)"),
        ("pairs = [['svm tfidf']]\n", "expected a list of pairs of rows"),
        ("pairs = 'svm'\n", "expected a list of pairs of rows"),
        ("\x00", "not a plan: "),
        ("[[run]]\n", r"unknown field 'run' \(did you mean 'runs'\?\)"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        Plan.read(str(path))


def test_a_missing_plan_is_refused():
    with pytest.raises(wc.InputError, match=r"unknown plan 'smok' \(did you mean 'smoke'\?\)"):
        Plan.read("smok")
    with pytest.raises(wc.MissingDataError, match=r"nowhere\.toml"):
        Plan.read("nowhere.toml")


# learning rate and epochs that the classifier has if a preset has none
FASTTEXT_DEFAULTS = {
    "random": (0.5, 200),
    "vectors-trainable": (0.05, 200),
    "vectors+random": (0.05, 200),
    "vectors+wce-trainable": (0.5, 50),
}


@pytest.mark.parametrize("variant", FASTTEXT_DEFAULTS)
def test_settings_of_fasttext_on_reuters_are_the_best_by_validation(variant):
    only = {"dataset": ["reuters21578"], "variant": [variant]}
    trials = {run.identity: run for run in Plan.read("fasttext_settings").runs(only)}
    scores = {
        result.identity: result.scores["validation_macro_f1"]
        for result in Results(ROOT / "results").runs()
        if result.identity in trials
    }
    if len(scores) < len(trials):
        pytest.skip("wordclass experiment run fasttext_settings has not finished")
    best = trials[max(scores, key=lambda identity: scores[identity])].options
    options = plans.preset("reuters21578", "fasttext", variant)
    lr, epochs = FASTTEXT_DEFAULTS[variant]
    assert (options.get("lr", lr), options.get("epochs", epochs)) == (best["lr"], best["epochs"])


@pytest.mark.parametrize("name", ["correlations", "learning_curves", "vectors", "dropout"])
def test_figures_of_the_paper_have_its_fixed_sizes_and_supervised_dropout(name):
    fixed = {"cnn": ("channels", 250), "lstm": ("hidden", 512), "attention": ("hidden", 512)}
    shared = {run.identity for run in Plan.read("f1").runs()}  # smaller networks for two cores
    on_two_cores = SIX[:2] if name in ("dropout", "learning_curves") else []
    runs = [run for run in Plan.read(name).runs() if run.learner in fixed]
    checked = [run for run in runs if run.dataset not in on_two_cores]
    assert checked
    for run in checked:
        option, size = fixed[run.learner]
        assert run.identity not in shared
        assert run.options[option] == size
        if run.variant == "vectors+wce" and name != "dropout":
            assert run.options["supervised_dropout"] == 0.5


def test_every_experiment_of_the_audit_has_runs():
    def has(name, learner, *variants, **options):
        return all(
            any(
                (run.learner, run.variant) == (learner, variant)
                and options.items() <= run.options.items()
                for run in Plan.read(name).runs()
            )
            for variant in variants
        )

    assert has("correlations", "svm", "vectors+wce", correlation="fisher")
    assert has("f1", "leam", "vectors", "vectors+wce")
    assert has("cross_fitting", "cnn", "vectors+wce", supervised_dropout=0.0)
    assert has("network_search", "cnn", "vectors", "vectors+wce")
    assert has("unseen_terms", "fasttext", "vectors+wce-trainable", unseen="network")
    assert has("word_class_features", "linear", "default", block_weight=0.0)
    for learner, variants in [
        ("svm", ["tfidf", "vectors", "vectors+wce"]),
        ("linear", ["default"]),
    ]:
        assert has("training_sizes", learner, *variants)
    sizes = {run.dataset for run in Plan.read("training_sizes").runs()}
    assert {f"newsgroups20@{n}" for n in (5, 15, 50, 150)} | {"newsgroups20"} <= sizes
    vectors = {run.vectors for run in Plan.read("ablations").runs()}
    assert {"glove.6B.100d+wce_without_z_scores", "glove.6B.100d+wce_without_l1"} <= vectors
    many = {run.dataset for run in Plan.read("large_codeframes").runs() if run.learner == "cnn"}
    assert many == {"eurlex_triples_eurovoc_1504", "arxiv_abstracts_120k", "arxiv_categories"}
    assert len({run.seed for run in Plan.read("f1").runs({"learner": ["fasttext"]})}) == 10


def test_results_stay_small():
    size = sum(path.stat().st_size for path in (ROOT / "results").rglob("*") if path.is_file())
    assert size < 60e6
