"""The command `tune`; `run` is in conftest."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.classifiers import nearest
from wordclass.cli.arguments import beside, named_choices, seconds

GRID = ("--grid", "shrinkage=0,5,20", "--grid", "ngrams=1,1-2", "--set", "min_docs=2")
USUAL = ("--classifier", "nearest", *GRID)


def write(path, texts, labels):
    lines = [
        json.dumps({"text": text, "labels": given if isinstance(given, list) else [given]})
        for text, given in zip(texts, labels, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "docs.jsonl", *corpus(90))


def trials_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def n_lines(path):
    return path.read_bytes().count(b"\n")


def without_times(trials):
    return [{k: v for k, v in each.items() if k not in ("seconds", "key")} for each in trials]


def test_the_chosen_settings_are_printed_and_stored(run, data, tmp_path):
    output = tmp_path / "model"
    status, out, err = run("tune", data, "-o", output, *USUAL)
    assert status == 0
    assert sorted(os.listdir(tmp_path)) == ["model", "model.trials.jsonl"]
    model = wc.load(output)
    chosen = f"shrinkage={model.shrinkage} ngrams=1,{model.ngrams[1]}"
    assert f"chosen      {chosen}" in out
    assert "everything in the grid was tried" in out
    assert err.startswith("trial 1: macro F1 ")
    assert err.count("trial ") == 6
    assert model.min_docs == 2
    facts = json.loads(run("info", output, "--json")[1])
    assert facts["score tuning n_trials"] == 6
    assert facts["score tuning best settings shrinkage"] == model.shrinkage
    assert len(facts["score tuning next_best"]) == 4
    assert len(trials_in(tmp_path / "model.trials.jsonl")) == 6


def test_programs_are_told_by_json(run, data, tmp_path):
    command = ("tune", data, "-o", tmp_path / "model", *USUAL, "--json", "--quiet")
    status, out, err = run(*command, "--target", "macro_f1", "--budget", "none")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert (found["n_docs"], found["n_validation"], found["n_failed"]) == (90, 18, 0)
    assert len(found["trials"]) == found["n_trials"] == 6
    assert found["best"]["macro_f1"] == max(each["macro_f1"] for each in found["trials"])
    assert found["trials_file"] == str(tmp_path / "model.trials.jsonl")
    settings = wc.load(tmp_path / "model").get_params()
    assert settings["shrinkage"] == found["best"]["settings"]["shrinkage"]


def test_a_search_that_was_killed_goes_on_where_it_was(run, data, tmp_path):
    many = ("--grid", "shrinkage=" + ",".join(map(str, range(400))))
    options = ("--classifier", "nearest", *many, "--set", "min_docs=2", "--json")
    arguments = [str(each) for each in ("tune", data, "-o", tmp_path / "model", *options)]
    journal = tmp_path / "model.trials.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "wordclass", *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and not (journal.exists() and n_lines(journal) >= 3):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "model").exists()
    n_done = n_lines(journal)
    with journal.open("ab") as file:  # as if it had been killed while it wrote
        file.write(b'{"key": "abc", "sett')
    _, out, err = run(*arguments)
    assert err.count("from the journal") == n_done
    resumed = json.loads(out)
    whole = json.loads(run("tune", data, "-o", tmp_path / "other", *options, "--quiet")[1])
    assert without_times(resumed["trials"]) == without_times(whole["trials"])
    assert without_times(trials_in(journal)) == without_times(
        trials_in(tmp_path / "other.trials.jsonl")
    )
    arrays = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "other")]
    assert arrays[0] == arrays[1]


def test_ctrl_c_says_how_to_go_on(run, data, tmp_path, monkeypatch):
    fit = nearest.NearestClassifier.fit

    def fit_or_stop(self, *given, **options):
        if self.shrinkage == 20:
            raise KeyboardInterrupt
        return fit(self, *given, **options)

    command = ("tune", data, "-o", tmp_path / "my model", *USUAL)
    with monkeypatch.context() as patched:
        patched.setattr(nearest.NearestClassifier, "fit", fit_or_stop)
        status, out, err = run(*command)
    assert (status, out) == (130, "")
    n_done = len(trials_in(tmp_path / "my model.trials.jsonl"))
    assert f"{n_done} finished trials are kept in {tmp_path}/my model.trials.jsonl" in err
    assert f"wordclass tune {data} -o '{tmp_path}/my model' --classifier nearest" in err
    assert os.listdir(tmp_path) == ["my model.trials.jsonl"]
    status, out, err = run(*command, "--budget", "0s")
    assert status == 0
    assert f"trials      {n_done}, kept in" in out


def test_several_labels_a_text(run, tmp_path):
    data = write(tmp_path / "docs.jsonl", *multilabel_corpus(90))
    status, out, _ = run("tune", data, "-o", tmp_path / "model", *USUAL, "--json")
    assert status == 0
    assert json.loads(out)["n_classes"] == 3
    assert wc.load(tmp_path / "model").thresholds_ is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--classifier", "farthest"), "unknown classifier 'farthest'"),
        (("--grid", "depth=1,2"), "has no option 'depth'"),
        (("--set", "depth=1"), "has no option 'depth'"),
        (("--set", "shrinkage=1"), "'shrinkage' is both fixed and in the grid"),
        (("--target", "best"), "target is 'best'; expected one of"),
        (("--validation", "2"), "expected a share between 0 and 1"),
    ],
)
def test_a_mistake_is_one_line(run, data, tmp_path, options, message):
    status, out, err = run("tune", data, "-o", tmp_path / "model", *USUAL, *options)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_nothing_is_overwritten_unasked(run, data, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").touch()
    command = ("tune", data, "-o", tmp_path / "model", *USUAL)
    assert "exists; --force overwrites it" in run(*command)[2]
    assert "is no model (it holds thesis.txt)" in run(*command, "--force")[2]
    (tmp_path / "new.trials.jsonl").write_text("precious\n")
    status, _, err = run("tune", data, "-o", tmp_path / "new", *USUAL)
    assert (status, "new.trials.jsonl, line 1: no trial" in err) == (1, True)
    assert (tmp_path / "new.trials.jsonl").read_text() == "precious\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("1.5m", 90), ("45", 45),
     ("None", None), ("0s", 0)],
)  # fmt: skip
def test_a_budget_is_a_time(given, expected):
    assert seconds(given) == expected


@pytest.mark.parametrize("given", ["", "soon", "10 minutes", "-1s", "1d", "s", "1..5s"])
def test_what_is_no_time_is_wrong_usage(run, data, tmp_path, given):
    with pytest.raises(typer.BadParameter, match="such as 90s, 10m or 1h"):
        seconds(given)
    assert run("tune", data, "-o", tmp_path / "model", f"--budget={given}")[0] == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x=1,2.5", {"x": [1, 2.5]}),
        ("x=none,english", {"x": [None, "english"]}),
        ("x=true", {"x": [True]}),
        ("ngrams=1,1-2", {"ngrams": [(1, 1), (1, 2)]}),
        ("ngrams=[[1,1],[1,2]]", {"ngrams": [(1, 1), (1, 2)]}),
        ("x=[1, null]", {"x": [1, None]}),
    ],
)
def test_choices_are_values_with_commas_between_or_json(given, expected):
    assert named_choices([given]) == expected


def test_choices_need_a_name():
    assert named_choices([]) is None
    with pytest.raises(typer.BadParameter, match="expected name=value,value"):
        named_choices(["1,2"])


def test_the_trials_of_a_model_in_this_very_folder_are_kept_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert beside(Path("model"), "trials.jsonl") == Path("model.trials.jsonl")
    assert beside(Path(), "trials.jsonl") == tmp_path.with_name(f"{tmp_path.name}.trials.jsonl")
