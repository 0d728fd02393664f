"""`wordclass experiment list` and `run`, through the same `main` that the script calls."""

import json

import pytest

from wordclass.experiment.plans import Plan
from wordclass.experiment.runs import Results

pytest_plugins = ("experiment.conftest",)

PLAN = """
[[runs]]
datasets = ["tiny", "many", "rcv1"]
learners = ["nearest"]
[[runs]]
datasets = ["tiny"]
learners = ["svm"]
variants = ["vectors+wce"]
protocols = ["paper"]
vectors = ["corpus"]
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PLAN)
    return path


def test_a_plan_is_run_and_not_run_again(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    status, out, err = run("experiment", "run", plan, "-o", folder)
    assert (status, out) == (0, "")
    missing, first, own, *finished, last = err.splitlines()
    assert missing.startswith("1 runs cannot be done here: the data set rcv1 is not here")
    assert first.startswith("mine: 3 runs, 0 done; the other 3 take about")
    assert "learned here from the corpus itself" in own
    assert len(finished) == 3
    assert finished[0].startswith("tiny nearest default clean seed 0: ")
    assert last == f"3 of 3 runs are in {folder / 'runs.jsonl'}"
    status, out, err = run("experiment", "run", plan, "-o", folder, "--json", "--quiet")
    assert json.loads(out) == {"plan": "mine", "runs": 3, "done": 3, "failed": []}
    assert (status, err) == (0, "")
    assert len(Results(folder).runs()) == 3


def test_only_some_runs_are_done(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    only = "dataset=tiny,dataset=many,learner=nearest"
    assert run("experiment", "run", plan, "-o", folder, "--only", only)[0] == 0
    found = [(result.dataset, result.learner) for result in Results(folder).runs()]
    assert found == [("tiny", "nearest"), ("many", "nearest")]


def test_a_cut_line_is_told_and_its_run_done_again(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder)
    path = folder / "runs.jsonl"
    before = Results(folder).runs()
    path.write_bytes(path.read_bytes()[:-9])
    status, _, err = run("experiment", "run", plan, "-o", folder)
    assert status == 0
    assert f"{path}, line 3: cut, and skipped; its run is done again" in err
    assert "3 runs, 2 done; the other 1 take" in err
    after = Results(folder).runs()
    assert [each.scores for each in after] == [each.scores for each in before]


def test_runs_that_fail_are_told_and_make_the_status_1(run, data, plan, tmp_path):
    plan.write_text(PLAN + "[[runs]]\ndatasets = ['tiny:sky+space']\nlearners = ['nearest']\n")
    status, _, err = run("experiment", "run", plan, "-o", tmp_path / "out", "-j", 2)
    assert status == 1
    last = err.splitlines()[-1]
    assert last.startswith("wordclass: 1 runs failed; the first: tiny:sky+space nearest")
    assert "unknown class of tiny 'sky'" in last
    assert len(Results(tmp_path / "out").runs()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smokee",), "unknown plan 'smokee' (did you mean 'smoke'?)"),
        (("smoke", "--only", "learner=svn"), "unknown learner of the plan smoke 'svn' (did you"),
        (("smoke", "--only", "svm"), "--only has 'svm'; expected NAME=VALUE"),
        (("f1", "--only", "dataset=rcv1"), "the data set rcv1 is not here"),
    ],
)
def test_mistakes_are_told_in_one_line(run, data, tmp_path, arguments, message):
    status, out, err = run("experiment", "run", *arguments, "-o", tmp_path / "out", "--quiet")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err
    assert not (tmp_path / "out").exists()


def test_two_results_of_one_run_that_differ_are_refused(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder)
    path = folder / "runs.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    line["scores"]["macro_f1"] += 0.1
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    for command in (["run", plan], ["list"]):
        status, _, err = run("experiment", *command, "-o", folder)
        assert status == 1
        assert "line 4: another line has the same key" in err


def test_the_list_tells_what_is_done(run, data, tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))  # where the docstrings are built already
    only = "learner=counts,learner=nearest"
    assert run("experiment", "run", "smoke", "-o", tmp_path / "out", "--only", only)[0] == 0
    status, out, _ = run("experiment", "list", "-o", tmp_path / "out", "--json")
    assert status == 0
    found = {each["plan"]: each for each in json.loads(out)["plans"]}
    assert (found["smoke"]["runs"], found["smoke"]["done"]) == (len(Plan.read("smoke").runs()), 7)
    assert found["datasets"]["done"] == 1
    assert found["f1"]["not_here"] == found["f1"]["runs"]
    status, out, _ = run("experiment", "list", "-o", tmp_path / "out")
    assert next(line for line in out.splitlines() if line.startswith("smoke")).split()[2] == "7"
