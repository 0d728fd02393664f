import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from experiment.made_results import add

from wordclass.errors import InputError
from wordclass.experiment import paper, tables
from wordclass.experiment.paper import Published
from wordclass.experiment.plans import Group, Plan
from wordclass.experiment.runs import Results
from wordclass.experiment.statistics import Summary, holm, randomization_test
from wordclass.experiment.tables import Cell, Table, make

NEWS, REUTERS = "newsgroups20", "reuters21578"


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def plan_of(*groups, name="f1"):
    return Plan(name, "a plan", [Group(**group) for group in groups])


NETS = {
    "datasets": [NEWS, REUTERS], "learners": ["cnn"], "seeds": [1, 2],
    "variants": ["vectors+wce", "vectors"],
}  # fmt: skip
SVM = {"datasets": [NEWS, REUTERS], "learners": ["svm"], "variants": ["tfidf"]}


def fill(results, plan, score):
    """Add a result for each run for which `score` has one."""
    for run in plan.runs():
        found = score(run)
        if found is not None:
            add(results, run, **(found if isinstance(found, dict) else {"macro": found}))


def cell_of(table, *place):
    return table.cells[place[:-1], place[-1]]


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


def test_what_is_missing_comes_with_a_command_that_runs_it_all(results):
    plan = plan_of(NETS)
    fill(results, plan, lambda run: 0.5 if run.variant == "vectors" and run.seed == 1 else None)
    table = make(plan, results)[0]
    # nothing at all, and one of two seeds
    for variant in ("vectors+wce", "vectors"):
        command = cell_of(table, "cnn", variant, NEWS).command
        words = command.split()
        assert words[:4] == ["wordclass", "experiment", "run", "f1"]
        assert words[words.index("-o") + 1] == str(results.folder)
        told = [pair.split("=") for pair in words[-1].split(",")]
        only = {name: [value for key, value in told if key == name] for name, _ in told}
        wanted = [run for run in plan.runs() if run.variant == variant]
        assert plan.runs(only) == wanted
    assert cell_of(table, "cnn", "vectors+wce", NEWS).measured is None
    assert cell_of(table, "cnn", "vectors", NEWS).measured.n_runs == 1


def test_nothing_missing_needs_no_command(results):
    plan = plan_of(SVM)
    fill(results, plan, lambda run: 0.5)
    assert not any(cell.command for cell in make(plan, results)[0].cells.values())


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
        ("svm", "tfidf"): (False, True),
        ("cnn", "vectors"): (False, False),
        ("cnn", "vectors+wce"): (True, True),
    }


def test_daggers_are_against_the_best_neural_cell_and_not_for_svm(results):
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
            results.predictions(cell_of(table, "svm", each, NEWS).results[0].key)
            for each in (variant, "vectors+wce")
        )
        truth = results.truth(best.results[0].key)
        raw.append(randomization_test(truth, [first], [second], is_multilabel=False)["macro_f1"])
    found = [cell_of(table, "svm", variant, NEWS) for variant in ("tfidf", "vectors")]
    assert [cell.p for cell in found] == pytest.approx(holm(raw))
    assert [cell.is_equal for cell in found] == [True, False]
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


def test_protocols_and_vectors_that_differ_make_rows(results):
    both = {**NETS, "protocols": ["clean", "paper"], "vectors": ["small", "large"]}
    table = make(plan_of(both), results)[0]
    assert table.heads == ("learner", "variant", "protocol", "settings")
    assert ("cnn", "vectors", "paper", "vectors=large") in table.rows


def test_trials_of_a_search_are_no_rows(results):
    searched = {**NETS, "protocols": ["paper"], "settings": "search"}
    table = make(plan_of(searched), results)[0]
    assert table.rows == [("cnn", "vectors"), ("cnn", "vectors+wce")]


def test_run_times_leave_the_choice_of_settings_out(results):
    plan = plan_of(SVM, name="run_times")
    fill(results, plan, lambda run: 0.5)
    (table,) = make(plan, results)
    assert (table.kind, table.best) == ("seconds", "lowest")
    cell = cell_of(table, "svm", "tfidf", NEWS)
    assert cell.measured.mean == 62  # fit and predict, not select
    assert cell.published.value == 2


def test_improvements_are_those_of_pairs_that_are_both_there(results):
    plan = plan_of(NETS)
    scores = {(NEWS, "vectors"): 0.5, (NEWS, "vectors+wce"): 0.6, (REUTERS, "vectors"): 0.1}
    fill(results, plan, lambda run: scores.get((run.dataset, run.variant)))
    *_, table = make(plan, results)
    assert table.rows == [("vectors+wce over vectors", "1 pairs")]
    cell = table.cells[table.rows[0], "Macro F1"]
    assert cell.measured.mean == pytest.approx(0.2)
    assert cell.published.value == pytest.approx(0.0742)


def test_the_papers_own_cells_give_the_improvements_that_test_paper_has():
    made = [
        Table(title, "share", ("learner", "variant"), (), {
            ((learner, variant), dataset): Cell(Summary(cell.value, None, 1))
            for (dataset, learner, variant), cell in paper.cells(measure).items()
        })
        for measure, title in tables.MEASURES.items()
    ]  # fmt: skip
    (table,) = tables.improvements(*made)
    found = {
        row[0]: round(100 * table.cells[row, "Macro F1"].measured.mean, 2) for row in table.rows
    }
    assert found["vectors+wce over vectors"] == 7.71
    assert {row[1] for row in table.rows} == {"18 pairs"}


MEASURED = {
    "counts": {"n_train": 11314, "vocabulary": 17184},
    "embedding_times": {"X": 1.5, "S": 0.5, "by_correlation": {"dot": 0.5}},
    "unseen_terms": {"n_terms": 7, "share": 0.02},
    "map": {"panels": [{"title": "Both", "neighbor_share": 0.75}]},
}


@pytest.mark.parametrize(
    ("kind", "row", "column", "value", "published"),
    [
        ("counts", NEWS, "vocabulary", 17184, 17184),
        ("embedding_times", "X", NEWS, 1.5, 2.1),
        ("embedding_times", "total", NEWS, 2.0, 2.12),
        ("embedding_times", "S (dot)", NEWS, 0.5, None),
        ("unseen_terms", "share", NEWS, 0.02, None),
        ("map", "Both", NEWS, 0.75, None),
    ],
)
def test_measurements_have_tables(results, kind, row, column, value, published):
    plan = plan_of({"datasets": [NEWS, "rcv1"], "learners": [kind]}, name="mine")
    fill(
        results,
        plan,
        lambda run: {"extra": MEASURED[kind], "scores": {}} if run.dataset == NEWS else None,
    )
    (table,) = make(plan, results)
    cell = cell_of(table, row, column)
    assert cell.measured.mean == value
    assert (cell.published and cell.published.value) == published
    missing = ("rcv1", column) if kind == "counts" else (row, "rcv1")
    assert "dataset=rcv1" in cell_of(table, *missing).command


def test_a_plan_without_such_runs_is_an_error(results):
    with pytest.raises(InputError, match=r"unknown learner .* 'cnm' .did you mean 'cnn'"):
        make(plan_of(NETS), results, {"learner": ["cnm"]})


# --- formats ------------------------------------------------------------------------------------

HOSTILE = 'a|b_*<script>&"\\$%#{}~^\n=1'


def hostile_table():
    best = Cell(Summary(0.7064, 0.004, 3), Published(0.703), True, True, 0)
    alike = Cell(Summary(0.7, 0.01, 3), None, False, False, 2, 0.3)
    missing = Cell(None, Published(0.5), command=f"wordclass {HOSTILE}")
    cells = {
        ((HOSTILE, "x"), "one"): best,
        (("svm", "y"), "one"): alike,
        (("svm", "y"), HOSTILE): missing,
    }
    return Table(HOSTILE, "share", ("learner", "variant"), ("one", HOSTILE), cells, "highest")


def test_text_has_everything_on_lines_of_their_own():
    lines = hostile_table().written("text").splitlines()
    # a heading, two rows, each column under its head
    assert {line.index(".7") for line in lines[3:5]} == {lines[2].index("one")}
    assert any(".706±.004*' (.703 +.003)" in line for line in lines)
    assert any(".700±.010††≈" in line and "-[1] (.500)" in line for line in lines)
    assert sum("wordclass" in line for line in lines) == 1


def test_markdown_has_as_many_cells_in_every_row():
    written = hostile_table().written("markdown")
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert "***.706±.004*** (.703 +.003)" in written
    assert "<script>" not in written


def test_latex_escapes_every_sign_that_means_something():
    written = hostile_table().written("latex")
    assert r"\cellcolor{gray!30}\textbf{.706$\pm$.004}" in written
    assert r"$^\dagger$$^\dagger$$^\approx$" in written
    escaped = (
        r"a\textbar{}b\_*\textless{}script\textgreater{}\&" + '"' + r"\textbackslash{}\$\%\#\{\}"
    )
    assert escaped in written
    assert written.count(r"\begin") == written.count(r"\end") == 2


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_closed_and_escaped():
    parser = Elements()
    parser.feed(hostile_table().written("html"))
    assert parser.open == []
    assert "script" not in {tag for tag, _ in parser.seen}
    assert ("td", {"class": "shaded"}) in parser.seen
    assert any('<script>&"' in text for text in parser.texts)


def test_csv_has_measured_published_and_difference_in_columns_of_their_own():
    lines = list(csv.DictReader(io.StringIO(hostile_table().written("csv"))))
    assert [line["column"] for line in lines] == ["one", "one", HOSTILE]
    assert lines[0]["learner"] == HOSTILE
    assert (float(lines[0]["measured"]), float(lines[0]["published"])) == (0.7064, 0.703)
    assert float(lines[0]["difference"]) == pytest.approx(0.0034)
    assert (lines[2]["measured"], lines[2]["runs"], lines[2]["difference"]) == ("", "0", "")
    assert lines[2]["command"] == f"wordclass {HOSTILE}"
    assert lines[1]["daggers"] == "2"


def test_tables_with_other_rows_share_one_csv():
    counts = Table(
        "Counts",
        "count",
        ("data set",),
        ("terms",),
        {(("one",), "terms"): Cell(Summary(3.0, None, 1))},
    )
    lines = list(csv.DictReader(io.StringIO(tables.written([hostile_table(), counts], "csv"))))
    assert [line["table"] for line in lines] == [HOSTILE] * 3 + ["Counts"]
    assert (lines[3]["data set"], lines[3]["learner"]) == ("one", "")


def test_the_facts_of_a_table_are_json():
    facts = json.loads(json.dumps(hostile_table().facts()))
    assert facts["cells"][0]["measured"] == 0.7064


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"unknown format 'latx' .did you mean 'latex'"):
        hostile_table().written("latx")


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("share", 0.70649, ".706"), ("share", 1.0, "1.000"), ("share", -0.0034, "-.003"),
        ("seconds", 0.147, "0.15s"), ("seconds", 42.4, "42s"), ("seconds", 358, "5m 58s"),
        ("seconds", 59.9, "1m 0s"), ("seconds", 15093, "4h 11m 33s"), ("count", 17184, "17,184"),
        ("count", 565.7, "565.7"), ("count", 0.07109, "0.0711"), ("count", 3, "3"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_in_the_paper(kind, value, written):
    cells = {(("row",), "column"): Cell(Summary(value, None, 1))}
    table = Table("title", kind, ("what",), ("column",), cells)
    assert table.written("text").splitlines()[3] == f"row   {written}"


def test_what_was_not_measured_can_be_left_out():
    done, missing = Cell(Summary(0.5, None, 1)), Cell(None, command="run")
    cells = {
        (("svm",), "a"): done, (("svm",), "b"): missing, (("svm",), "c"): missing,
        (("cnn",), "a"): missing, (("cnn",), "b"): missing, (("cnn",), "c"): done,
        (("lstm",), "a"): missing, (("lstm",), "b"): missing, (("lstm",), "c"): missing,
    }  # fmt: skip
    table = Table("Macro F1", "share", ("learner",), ("a", "b", "c"), cells)
    measured = table.measured()
    assert (measured.rows, measured.columns) == ([("svm",), ("cnn",)], ("a", "c"))
    assert measured.cells[("svm",), "c"] is missing
    part = table.measured(("b", "c"))
    assert (part.rows, part.columns) == ([("cnn",)], ("c",))
