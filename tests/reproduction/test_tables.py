import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from reproduction.made_results import add

from wordclass.cli.experiment_commands import parse_filter
from wordclass.errors import InputError
from wordclass.reproduction import comparisons, paper
from wordclass.reproduction import plan as plans
from wordclass.reproduction.cells import Cell, Table
from wordclass.reproduction.outlook import Outlook
from wordclass.reproduction.paper import Published
from wordclass.reproduction.plan import Group, Plan
from wordclass.reproduction.runs import Results
from wordclass.reproduction.statistics import Summary, holm, randomization_test
from wordclass.reproduction.table_formats import format_tables
from wordclass.reproduction.tables import make

NEWS = "newsgroups20"
REUTERS = "reuters21578"


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def plan_of(*groups, name="f1", **plan_fields):
    return Plan(name, "a plan", [Group(**group) for group in groups], **plan_fields)


TIMES = {"name": "run_times", "measures": ["run_times"]}


NETS = {
    "datasets": [NEWS, REUTERS], "learners": ["cnn"], "seeds": [1, 2],
    "variants": ["vectors+wce", "vectors"],
}  # fmt: skip
SMALL = {"datasets": ["docstrings"], "learners": ["svm"], "variants": ["tfidf"]}
SVM = {"datasets": [NEWS, REUTERS], "learners": ["svm"], "variants": ["tfidf"]}


def fill(results, plan, score):
    """Add a result for each run that has a score."""
    for run in plan.runs():
        value = score(run)
        if value is not None:
            add(results, run, **(value if isinstance(value, dict) else {"macro": value}))


def cell_of(table, *names):
    return table.cells[names[:-1], names[-1]]


def test_a_cell_has_the_mean_of_its_seeds_beside_the_papers_number(results):
    plan = plan_of(NETS, SVM)
    fill(results, plan, lambda run: 0.6 + 0.02 * run.seed if run.dataset == NEWS else None)
    macro, micro, *_ = make(plan, results, tests=False)
    assert (macro.title, micro.title) == ("Macro F1", "Micro F1")
    cell = cell_of(macro, "cnn", "vectors+wce", NEWS)
    assert cell.measured.mean == pytest.approx(0.63)
    assert cell.measured.deviation == pytest.approx(0.02 / 2**0.5)
    assert cell.published == Published(0.703, 0.003, "dd")
    assert cell.difference == pytest.approx(0.63 - 0.703)
    assert cell_of(micro, "cnn", "vectors+wce", NEWS).published.value == 0.715
    assert cell_of(macro, "svm", "tfidf", NEWS).measured.n_runs == 1


def test_rows_are_in_the_order_of_the_paper_and_columns_in_that_of_the_plan(results):
    table = make(plan_of(NETS, SVM), results)[0]
    assert table.rows == [("svm", "tfidf"), ("cnn", "vectors"), ("cnn", "vectors+wce")]
    assert table.columns == (NEWS, REUTERS)


def test_missing_runs_come_with_a_command_that_executes_them(results):
    plan = plan_of(NETS)
    fill(results, plan, lambda run: 0.5 if run.variant == "vectors" and run.seed == 1 else None)
    table = make(plan, results)[0]
    # nothing at all, and one of two seeds
    for variant in ("vectors+wce", "vectors"):
        missing = cell_of(table, "cnn", variant, NEWS).missing
        cell_runs = [run for run in plan.runs() if (run.variant, run.dataset) == (variant, NEWS)]
        unfinished = [run for run in cell_runs if run.variant != "vectors" or run.seed > 1]
        assert list(missing) == unfinished
        words = shlex.split(table.command(missing))
        assert words[:4] == ["wordclass", "experiment", "run", "f1"]
        assert words[words.index("-o") + 1] == str(results.folder)
        assert plan.runs(parse_filter(words[-1])) == cell_runs
    assert cell_of(table, "cnn", "vectors+wce", NEWS).measured is None
    assert cell_of(table, "cnn", "vectors", NEWS).measured.n_runs == 1


def test_the_command_of_a_user_plan_names_its_file(results, tmp_path):
    # even if its name is that of a built-in plan
    (tmp_path / "run_times.toml").write_text(
        '[[runs]]\ndatasets = ["docstrings"]\nlearners = ["nearest"]\n'
    )
    macro, _ = make(Plan.read(f"{tmp_path}/run_times.toml"), results)
    assert macro.title == "Macro F1"
    assert macro.run_command.startswith(f"wordclass experiment run {tmp_path}/run_times.toml -o ")


def test_nothing_missing_needs_no_command(results):
    plan = plan_of(SVM)
    fill(results, plan, lambda run: 0.5)
    table = make(plan, results)[0]
    assert table.missing == []
    assert not any(cell["command"] for cell in table.to_dicts())


def test_the_best_of_a_column_and_of_each_learner_are_marked(results):
    plan = plan_of(NETS, SVM)
    scores = {"tfidf": 0.5, "vectors": 0.4, "vectors+wce": 0.6}
    fill(results, plan, lambda run: scores[run.variant])
    table = make(plan, results)[0]
    marks = {
        row: (cell.is_best, cell.is_best_of_learner)
        for (row, column), cell in table.cells.items()
        if column == NEWS
    }
    assert marks == {
        ("svm", "tfidf"): (False, False),  # the only one of its learner
        ("cnn", "vectors"): (False, False),
        ("cnn", "vectors+wce"): (True, True),
    }


def test_a_single_cell_is_not_marked_as_best(results):
    plan = plan_of({**NETS, "datasets": [NEWS]})
    fill(results, plan, lambda run: 0.5 if run.variant == "vectors" else None)
    cell = cell_of(make(plan, results)[0], "cnn", "vectors", NEWS)
    assert (cell.is_best, cell.is_best_of_learner, cell.n_daggers) == (False, False, 0)


def test_daggers_compare_neural_cells_with_the_best_one(results):
    plan = plan_of(
        {**NETS, "seeds": [1, 2, 3, 4], "variants": ["vectors+wce", "vectors", "random"]}, SVM
    )
    middle = {"vectors+wce": 0.70, "vectors": 0.70, "random": 0.50, "tfidf": 0.9}
    noise = [0.0, 0.002, -0.002, 0.001, 0.0]
    fill(results, plan, lambda run: middle[run.variant] + noise[run.seed] * (1 + len(run.variant)))
    table = make(plan, results, tests=False)[0]
    daggers = {
        row[1]: cell.n_daggers for (row, column), cell in table.cells.items() if column == NEWS
    }
    assert daggers["random"] == daggers["tfidf"] == 0
    assert sorted([daggers["vectors"], daggers["vectors+wce"]]) == [0, 2]


def test_cells_are_not_tested_against_a_single_run(results):
    one = {"variants": ["vectors"], "protocols": ["paper"], "seeds": [1]}
    plan = plan_of({**NETS, "datasets": [NEWS]}, {**NETS, "datasets": [NEWS], **one})
    fill(results, plan, lambda run: 0.6 if run.protocol == "paper" else 0.5 + run.seed / 1000)
    table = make(plan, results, tests=False)[0]
    assert cell_of(table, "cnn", "vectors", "paper", NEWS).is_best
    marks = [
        cell_of(table, "cnn", variant, "clean", NEWS).n_daggers for variant in NETS["variants"]
    ]
    assert sorted(marks) == [0, 2]  # one of the two is the best of several runs


def test_the_paired_test_is_that_of_the_predictions_corrected_within_the_column(results):
    plan = plan_of({**SVM, "variants": ["tfidf", "vectors", "vectors+wce"]})
    n_wrong = {"tfidf": 2, "vectors": 30, "vectors+wce": 0}
    fill(
        results,
        plan,
        lambda run: {"macro": 1 - n_wrong[run.variant] / 60, "n_wrong": n_wrong[run.variant]},
    )
    table = make(plan, results)[0]
    best = cell_of(table, "svm", "vectors+wce", NEWS)
    assert best.is_best
    assert best.p is None
    raw = []
    for variant in ("tfidf", "vectors"):
        first, second = (
            results.predictions(cell_of(table, "svm", name, NEWS).results[0].key)
            for name in (variant, "vectors+wce")
        )
        truth = results.truth(best.results[0].key)
        raw.append(randomization_test(truth, [first], [second], is_multilabel=False)["macro_f1"])
    tested = [cell_of(table, "svm", variant, NEWS) for variant in ("tfidf", "vectors")]
    assert [cell.p for cell in tested] == pytest.approx(holm(raw))
    assert [cell.is_equal for cell in tested] == [True, False]
    untested = make(plan, results, tests=False)[0]
    assert all(cell.p is None for cell in untested.cells.values())


def test_results_of_other_data_are_not_paired(results):
    plan = plan_of({**SVM, "variants": ["tfidf", "vectors"]})
    for k, run in enumerate(plan.runs()):
        add(results, run, 0.5 + k / 10, data={"fingerprint": f"{k}", "multilabel": False})
    assert all(cell.p is None for cell in make(plan, results)[0].cells.values())


def test_options_that_differ_make_rows_and_others_do_not(results):
    swept = {**NETS, "options": {"channels": 7}, "sweep": {"supervised_dropout": [0.0, 0.5]}}
    table = make(plan_of(swept, name="dropout"), results)[0]
    assert table.heads == ("learner", "variant", "settings")
    assert ("cnn", "vectors+wce", "supervised_dropout=0.5") in table.rows
    assert not any("channels" in part for row in table.rows for part in row)
    # the paper's numbers are for its own settings
    assert not any(cell.published for cell in table.cells.values())


def test_other_tasks_make_separate_rows(results):
    helped = {**SVM, "variants": ["wce"], "sweep": {"other": [["one"], ["one", "two"]]}}
    plan = plan_of({**SVM, "variants": ["wce"]}, helped)
    table = make(plan, results)[0]
    assert [row[-1] for row in table.rows] == ["", "other=one", "other=one+two"]


def test_protocols_and_vectors_that_differ_make_rows(results):
    both = {**NETS, "protocols": ["clean", "paper"], "vectors": ["small", "large"]}
    table = make(plan_of(both), results)[0]
    assert table.heads == ("learner", "variant", "protocol", "settings")
    assert ("cnn", "vectors", "paper", "vectors=large") in table.rows


def test_trials_of_a_search_are_no_rows(results):
    searched = {**NETS, "protocols": ["paper"], "settings": "search"}
    table = make(plan_of(searched), results)[0]
    assert table.rows == [("cnn", "vectors"), ("cnn", "vectors+wce")]


def test_seeds_with_other_options_make_separate_rows(results):
    one, two = ({**NETS, "options": {"channels": n}, "seeds": [k]} for n, k in ((8, 1), (64, 2)))
    table = make(plan_of(one, two), results)[0]
    assert len(table.rows) == 4
    assert ("cnn", "vectors", "channels=8") in table.rows
    assert {len(cell.missing) for cell in table.cells.values()} == {1}


def test_runs_of_a_search_and_of_presets_make_separate_rows(results):
    preset = {**NETS, "protocols": ["paper"], "variants": ["vectors"]}
    table = make(plan_of(preset, {**preset, "settings": "search"}), results)[0]
    assert table.rows == [("cnn", "vectors", ""), ("cnn", "vectors", "search")]
    assert {len(cell.missing) for cell in table.cells.values()} == {2}
    assert all(cell.published for cell in table.cells.values())


def test_measurements_with_other_settings_make_separate_rows(results):
    plan = plan_of({"datasets": [NEWS], "learners": ["counts"], "sweep": {"min_docs": [1, 5]}})
    fill(
        results,
        plan,
        lambda run: {"extra": {"vocabulary": 10 // run.options["min_docs"]}, "scores": {}},
    )
    (table,) = make(plan, results)
    assert table.heads == ("what", "settings")
    means = {row: table.cells[row, NEWS].measured.mean for row in table.rows}
    assert means == {("vocabulary", "min_docs=1"): 10, ("vocabulary", "min_docs=5"): 2}
    assert not any(cell.published for cell in table.cells.values())


def test_a_cell_without_predictions_is_not_tested(results):
    plan = plan_of({**SVM, "variants": ["tfidf", "vectors", "vectors+wce"]})
    scores = {"tfidf": 0.5, "vectors": 0.6, "vectors+wce": 0.7}
    fill(results, plan, lambda run: scores[run.variant])
    removed_key = cell_of(make(plan, results)[0], "svm", "tfidf", NEWS).results[0].key
    (results.folder / "predictions" / f"{removed_key}.npz").unlink()
    table = make(plan, results)[0]
    assert cell_of(table, "svm", "tfidf", NEWS).p is None
    assert cell_of(table, "svm", "vectors", NEWS).p is not None


def test_run_times_exclude_the_choice_of_settings(results):
    plan = plan_of(SVM, **TIMES)
    fill(results, plan, lambda run: 0.5)
    (table,) = make(plan, results)
    assert table.kind == "seconds"
    cell = cell_of(table, "svm", "tfidf", NEWS)
    assert cell.measured.mean == 62  # fit and predict, not select
    assert cell.published.value == 2


def test_the_best_run_times_are_the_shortest_and_are_not_tested(results):
    plan = plan_of({**NETS, "variants": ["vectors", "random"]}, **TIMES)
    seconds = {"vectors": 10.0, "random": 20.0}

    def score(run):
        times = {"fit_cpu": seconds[run.variant] + run.seed, "predict_cpu": 0.0, "total": 1.0}
        return {"macro": 0.5, "times": times}

    fill(results, plan, score)
    (table,) = make(plan, results)
    assert cell_of(table, "cnn", "vectors", NEWS).is_best
    assert not cell_of(table, "cnn", "random", NEWS).is_best
    assert not any(cell.n_daggers for cell in table.cells.values())


def test_all_times_include_the_steps_before_training(results):
    plan = plan_of(SVM, measures=["macro_f1", "accuracy", "all_times"])
    spent = {"encode_cpu": 5.0, "select_cpu": 100.0, "fit_cpu": 9.0, "predict_cpu": 2.0, "total": 1}
    scores = {"macro_f1": 0.5, "micro_f1": 0.6, "accuracy": 0.7}
    fill(results, plan, lambda run: {"times": spent, "scores": scores})
    macro, accuracy, seconds = make(plan, results, tests=False)
    assert [table.title for table in (macro, accuracy)] == ["Macro F1", "Accuracy"]
    assert cell_of(accuracy, "svm", "tfidf", NEWS).measured.mean == 0.7
    assert seconds.kind == "seconds"
    assert cell_of(seconds, "svm", "tfidf", NEWS).measured.mean == 107  # with one training, not two
    assert cell_of(seconds, "svm", "tfidf", NEWS).published is None


def test_all_times_include_learning_vectors_but_not_reading_them(results):
    vectors = ["glove.6B.100d", "pte", "glove.6B.100d+pte"]
    group = {**SVM, "variants": ["vectors"], "vectors": vectors}
    plan = plan_of(group, name="mine", measures=["all_times"])
    spent = {"vectors_cpu": 50.0, "fit_cpu": 9.0, "predict_cpu": 2.0, "total": 1}
    fill(results, plan, lambda run: {"times": spent})
    (seconds,) = make(plan, results, tests=False)
    means = {row[-1]: seconds.cells[row, NEWS].measured.mean for row in seconds.rows}
    assert means == {
        "vectors=glove.6B.100d": 11, "vectors=pte": 61, "vectors=glove.6B.100d+pte": 61,
    }  # fmt: skip


PAIRS = {"pairs": [["svm vectors+wce", "svm vectors"], ["svm tfidf", "svm vectors"]]}


def test_pairs_of_rows_are_compared_over_documents_and_corrected_together(results):
    variants = ["tfidf", "vectors", "vectors+wce"]
    plan = plan_of({**SVM, "variants": variants}, name="mine", **PAIRS)
    n_wrong = {"tfidf": 28, "vectors": 30, "vectors+wce": 0}
    fill(
        results,
        plan,
        lambda run: {"macro": 1 - n_wrong[run.variant] / 60, "n_wrong": n_wrong[run.variant]},
    )
    macro, _, table = make(plan, results)
    assert (table.kind, table.columns) == ("difference", (NEWS, REUTERS))
    assert table.rows[0] == ("Macro F1", "svm vectors+wce", "svm vectors")
    assert len(table.rows) == 4
    more, same = (table.cells[("Macro F1", *pair), NEWS] for pair in plan.pairs)
    assert more.measured.mean == pytest.approx(0.5)
    assert same.measured.mean == pytest.approx(2 / 60)
    assert more.p < 0.01
    assert same.is_equal
    keys = [cell_of(macro, "svm", variant, NEWS).results[0].key for variant in variants]
    one, two = (
        randomization_test(
            results.truth(keys[0]), [results.predictions(keys[k])], [results.predictions(keys[1])],
            is_multilabel=False,
        )["macro_f1"]
        for k in (2, 0)
    )  # fmt: skip
    assert [more.p, same.p] == pytest.approx([holm([one, two, one, two])[k] for k in (0, 1)])
    # of selected runs, the existing pairs
    last = make(plan, results, {"variant": ["vectors", "vectors+wce"]})[-1]
    assert {row[1] for row in last.rows} == {"svm vectors+wce"}
    assert len(make(plan, results, tests=False)) == 2


@pytest.mark.parametrize(
    ("n_wrong", "n_helped"),
    [
        ({0: 40, 20: 30, 100: 0}, 100),
        ({0: 40, 20: 0, 100: 0}, 20),  # the smallest of equal numbers
        ({0: 30, 20: 29, 100: 28}, 0),  # better by chance
        ({0: 0, 20: 30, 100: 40}, 0),
    ],
)
def test_structural_columns_helped_if_the_best_number_is_significant(n_wrong, n_helped, results):
    swept = {**SVM, "sweep": {"structural_problems": [0, 20, 100]}}
    plan = plan_of(swept, {**NETS, "seeds": [1]}, name="mine")

    def score(run):
        wrong = n_wrong[run.options["structural_problems"]] if run.learner == "svm" else 0
        return {"macro": 1 - wrong / 60, "n_wrong": wrong} if run.dataset == NEWS else None

    fill(results, plan, score)
    table = make(plan, results)[-1]
    assert (table.title, table.kind) == (comparisons.HELPFUL_COLUMNS, "count")
    assert table.heads == ("learner", "variant")
    assert list(table.cells) == [(("svm", "tfidf"), NEWS)]
    assert cell_of(table, "svm", "tfidf", NEWS).measured == Summary(n_helped, None, 1)
    assert [table.title for table in make(plan, results, tests=False)] == ["Macro F1", "Micro F1"]


def test_the_helpful_number_of_columns_is_unknown_without_runs_without_columns(results):
    swept = {**SVM, "sweep": {"structural_problems": [0, 20]}}
    plan = plan_of(swept, name="mine")
    fill(results, plan, lambda run: 0.5 if run.options["structural_problems"] else None)
    assert len(make(plan, results)) == 2


def test_a_record_of_an_older_version_is_marked_and_not_missing(results):
    plan = plan_of({**SVM, "sweep": {"structural_problems": [0, 20]}}, name="mine")
    fill(results, plan, lambda run: 0.5 if run.dataset == NEWS else None)
    table = make(plan, results, tests=False)[0]
    assert [run.options["structural_problems"] for run in table.missing] == [0]
    for column in (NEWS, REUTERS):
        assert not cell_of(table, "svm", "tfidf", "structural_problems=0", column).is_record
        assert cell_of(table, "svm", "tfidf", "structural_problems=20", column).is_record
    assert [cell["record"] for cell in table.to_dicts()].count(1) == 2
    for format_name in ("text", "markdown", "html"):
        shown = format_tables([table], format_name)
        assert shown.count(".500°") == 1
        assert "°: made by wordclass 0.1, and cannot be repeated by this version" in shown


def test_a_missing_record_cannot_be_executed(results):
    plan = plan_of({**SMALL, "sweep": {"structural_problems": [0, 20]}}, name="mine")
    outlook = Outlook.of(plan, results)
    assert [run.options["structural_problems"] for run in outlook.unfinished] == [0]
    assert outlook.missing == {"made by wordclass 0.1, and cannot be repeated by this version": 1}


def test_a_pair_of_unknown_rows_is_an_error(results):
    plan = plan_of(SVM, name="mine", pairs=[["svm tfidf", "svm tf-idf"]])
    with pytest.raises(InputError, match=r"unknown row 'svm tf-idf' .did you mean 'svm tfidf'"):
        make(plan, results)


def test_pairs_of_built_in_plans_are_known_rows(results):
    for name in plans.names():
        make(Plan.read(name), results)


def test_draws_of_few_labels_share_a_cell_and_are_paired(results):
    group = {"datasets": ["banking77@8"], "learners": ["nearest", "linear"], "seeds": [0, 1, 2]}
    plan = plan_of(group, name="mine")
    wrong = {"nearest": 30, "linear": 0}
    fill(
        results,
        plan,
        lambda run: {"macro": 1 - wrong[run.learner] / 60, "n_wrong": wrong[run.learner]},
    )
    table = make(plan, results)[0]
    cell = cell_of(table, "nearest", "default", "banking77@8")
    assert cell.measured.n_runs == 3
    assert cell.p < 0.01


def test_improvements_cover_pairs_with_both_cells(results):
    plan = plan_of(NETS)
    scores = {(NEWS, "vectors"): 0.5, (NEWS, "vectors+wce"): 0.6, (REUTERS, "vectors"): 0.1}
    fill(results, plan, lambda run: scores.get((run.dataset, run.variant)))
    *_, table = make(plan, results)
    assert table.rows == [("vectors+wce over vectors", "1 pairs")]
    cell = table.cells[table.rows[0], "Macro F1"]
    assert cell.measured.mean == pytest.approx(0.2)
    assert cell.published.value == pytest.approx(0.0742)
    assert cell.p is None  # of one pair
    # only the plan of the paper's main tables has them
    titles = {table.title for table in make(replace(plan, name="dropout"), results)}
    assert titles == {"Macro F1", "Micro F1"}


def test_the_papers_own_cells_give_the_improvements_of_test_paper():
    published = {
        measure: Table(title, "share", ("learner", "variant"), (), {
            ((learner, variant), dataset): Cell(Summary(cell.value, None, 1))
            for (dataset, learner, variant), cell in paper.cells(measure).items()
        })
        for measure, title in comparisons.MEASURES.items()
    }  # fmt: skip
    (table,) = comparisons.average_improvements(published)
    improvements = {
        row[0]: round(100 * table.cells[row, "Macro F1"].measured.mean, 2) for row in table.rows
    }
    assert improvements["vectors+wce over vectors"] == 7.71
    assert {row[1] for row in table.rows} == {"18 pairs"}
    assert {cell.is_equal for cell in table.cells.values()} == {False}


MEASURED = {
    "counts": {"n_train": 11314, "vocabulary": 17184},
    "embedding_times": {"X": 1.5, "S": 0.5, "by_correlation": {"dot": 0.5, "ppmi": 0.7}},
    "unseen_terms": {"n_terms": 7, "share": 0.02},
    "map": {"panels": [{"title": "Both", "neighbor_share": 0.75}]},
}


@pytest.mark.parametrize(
    ("kind", "row", "value", "published"),
    [
        ("counts", "vocabulary", 17184, 17184),
        ("embedding_times", "X", 1.5, 2.1),
        ("embedding_times", "total", 2.0, 2.12),
        ("embedding_times", "S (ppmi)", 0.7, None),
        ("unseen_terms", "share", 0.02, None),
        ("map", "Both", 0.75, None),
    ],
)
def test_measurements_have_tables(results, kind, row, value, published):
    plan = plan_of({"datasets": [NEWS, "rcv1"], "learners": [kind]}, name="mine")
    fill(
        results,
        plan,
        lambda run: {"extra": MEASURED[kind], "scores": {}} if run.dataset == NEWS else None,
    )
    (table,) = make(plan, results)
    cell = cell_of(table, row, NEWS)
    assert cell.measured.mean == value
    assert (cell.published and cell.published.value) == published
    assert [run.dataset for run in cell_of(table, row, "rcv1").missing] == ["rcv1"]
    assert ("S (dot)",) not in table.rows  # it is S


def test_published_measurements_have_the_names_of_results(results):
    plan = plan_of({"datasets": ["rcv1"], "learners": ["unseen_terms"]}, name="mine")
    numbers = {"n_terms": 1, "occurrences": 2, "share": 0.02}
    fill(results, plan, lambda run: {"extra": numbers, "scores": {}})
    published = [cell.published.value for cell in make(plan, results)[0].cells.values()]
    assert published == [384327, 2073278, 0.0216]


def test_rows_and_columns_without_a_measured_cell_are_not_shown(results):
    plan = plan_of(NETS, SVM)
    fill(results, plan, lambda run: 0.5 if (run.dataset, run.variant) == (NEWS, "tfidf") else None)
    table = make(plan, results)[0]
    assert len(table.cells) == 6
    assert table.select_measured().columns == (NEWS,)
    assert table.select_measured().rows == [("svm", "tfidf")]
    assert table.select_measured([REUTERS]).cells == {}


def test_the_plan_of_the_docs_makes_tables(results, tmp_path):
    docs = Path(__file__).parents[2] / "docs" / "experiments.md"
    after_fence = docs.read_text(encoding="utf-8").partition("```toml\n")[2]
    (tmp_path / "mine.toml").write_text(after_fence.partition("```")[0], encoding="utf-8")
    table = make(Plan.read(f"{tmp_path}/mine.toml"), results)[0]
    assert table.rows == [
        ("svm", "tfidf", ""),
        ("cnn", "vectors", "search"),
        *(("cnn", "vectors+wce", f"supervised_dropout={p}") for p in (0.0, 0.2, 0.5)),
    ]


def test_a_plan_without_such_runs_is_an_error(results):
    with pytest.raises(InputError, match=r"unknown learner .* 'cnm' .did you mean 'cnn'"):
        make(plan_of(NETS), results, {"learner": ["cnm"]})


def test_a_table_can_be_cut_to_measured_rows_and_columns():
    done = Cell(Summary(0.5, None, 1))
    missing = Cell(None)
    cells = {
        (("svm",), "a"): done, (("svm",), "b"): missing, (("svm",), "c"): missing,
        (("cnn",), "a"): missing, (("cnn",), "b"): missing, (("cnn",), "c"): done,
        (("lstm",), "a"): missing, (("lstm",), "b"): missing, (("lstm",), "c"): missing,
    }  # fmt: skip
    table = Table("Macro F1", "share", ("learner",), ("a", "b", "c"), cells)
    measured = table.select_measured()
    assert (measured.rows, measured.columns) == ([("svm",), ("cnn",)], ("a", "c"))
    assert measured.cells[("svm",), "c"] is missing
    selected = table.select_measured(("b", "c"))
    assert (selected.rows, selected.columns) == ([("cnn",)], ("c",))


def test_classes_are_grouped_by_their_test_documents(results):
    measures = ["rare_f1", "medium_f1", "frequent_f1"]
    pairs = [["svm tfidf", "svm vectors"]]
    group = {"datasets": [NEWS], "learners": ["svm"], "variants": ["tfidf", "vectors"]}
    plan = plan_of(group, name="mine", measures=measures, pairs=pairs)
    tp = {"tfidf": [4, 0, 150], "vectors": [2, 0, 150]}
    fill(
        results,
        plan,
        # 4 and 300 test documents, and a class without any, which is left out
        lambda run: {
            "classes": {
                "names": ["a", "b", "c"],
                "tp": tp[run.variant],
                "fp": [0, 3, 0],
                "fn": [4 - tp[run.variant][0], 0, 150],
            }
        },
    )
    rare, medium, frequent, gains = make(plan, results)
    assert rare.title == "Macro F1 of rare classes, with 1 to 9 test documents"
    assert cell_of(rare, "svm", "vectors", NEWS).measured.mean == pytest.approx(4 / 6)
    assert cell_of(medium, "svm", "vectors", NEWS).measured is None
    assert cell_of(frequent, "svm", "vectors", NEWS).measured.mean == pytest.approx(300 / 450)
    assert [row[0] for row in gains.rows] == [rare.title, frequent.title]
    gain = cell_of(gains, rare.title, "svm tfidf", "svm vectors", NEWS)
    assert gain.measured.mean == pytest.approx(1 / 3)
    assert gain.p is None
