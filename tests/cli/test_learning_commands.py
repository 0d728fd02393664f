"""Tests of the commands that train models; the fixture `run` is in conftest."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from command_corpora import write
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.classifiers import nearest
from wordclass.cli.arguments import parse_grid, parse_seconds, path_beside

GRID = ("--grid", "shrinkage=0,5,20", "--grid", "ngrams=1,1-2", "--set", "min_docs=2")
USUAL = ("--classifier", "nearest", *GRID)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "docs.jsonl", *corpus(90))


@pytest.fixture(scope="module")
def splits(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "split.jsonl"
    return write(path, *corpus(90), split=lambda k: "test" if k >= 60 else "train")


# --- train ----------------------------------------------------------------------------------


def test_train_learns_from_the_training_split_and_reports_it(run, splits, tmp_path):
    output = tmp_path / "deep" / "model"
    status, out, err = run(
        "train", splits, "-o", output, "--classifier", "nearest", "--set", "min_docs=2",
        "--set", "ngrams=1,2", "--set", "stop_words=english", "--seed", "3",
    )  # fmt: skip
    assert (status, out) == (0, "")
    assert "nearest, from 60 documents (single-label, 3 classes)" in err
    options = wc.load(output).get_params()
    assert (options["min_docs"], options["ngrams"], options["seed"]) == (2, (1, 2), 3)
    assert options["stop_words"] == "english"


def test_train_uses_embeddings_of_other_tasks(run, splits, tmp_path):
    for name, folder in (("news", "a"), ("shop", "a"), ("news", "b")):
        path = tmp_path / folder / f"{name}.wce"
        path.parent.mkdir(exist_ok=True)
        wc.WordClassEmbeddings(min_docs=2).fit(*corpus(30, seed=len(name))).save(path)
    news = tmp_path / "a" / "news.wce"
    shop = tmp_path / "a" / "shop.wce"
    command = ("train", splits, "-o", tmp_path / "model", "--force", "--quiet")
    status, out, err = run(*command, "--also", news, "--also", f"other={shop}")
    assert (status, out, err) == (0, "", "")
    model = wc.load(tmp_path / "model")
    assert model.get_params()["other"] == {"news": None, "other": None}
    assert {trial["other_weight"] for trial in model.trials_} == {0.0, 0.5}
    status, out, _ = run("info", tmp_path / "model", "--json")
    assert "terms by 3 dimensions" in json.loads(out)["option other"]["news"]
    for also, message in [
        ((news, tmp_path / "b" / "news.wce"), "--also has two files with the name 'news'"),
        ((f"random={news}",), "other has a block named 'random'; expected"),
        ((f"={news}",), "other has a block named ''; expected"),
        ((tmp_path / "no.wce",), "no.wce"),
        ((splits,), "split.jsonl"),
    ]:
        options = [word for file in also for word in ("--also", file)]
        status, _, err = run(*command, *options)
        assert (status, len(err.splitlines())) == (1, 1)
        assert message in err
    for name, options, message in [
        (
            "nearest",
            ("--also", news),
            "'nearest' does not read embeddings of other tasks; use --classifier",
        ),
        ("svm", ("--also", news), "use features='vectors', 'vectors+wce' or 'wce'"),
        ("linear", ("--set", f"other={news}"), "use --also FILE instead"),
        ("linear", ("--set", f"other.news={news}"), "use --also FILE instead"),
        ("liner", ("--also", news), "did you mean 'linear'?"),
    ]:
        status, _, err = run(*command, "--classifier", name, *options)
        assert (status, len(err.splitlines())) == (1, 1)
        assert message in err


def test_tune_uses_embeddings_of_other_tasks(run, data, tmp_path):
    path = tmp_path / "news.wce"
    command = ("tune", data, "-o", tmp_path / "model", "--force", "--budget", "none", "--json")
    command = (*command, "--grid", "C=0.1,1", "--set", "min_docs=2", "--also", path)
    keys = []
    for seed in (1, 1, 2):
        wc.WordClassEmbeddings(min_docs=2).fit(*corpus(30, seed=seed)).save(path)
        status, out, _ = run(*command)
        assert status == 0
        keys.append(json.loads(out)["trials_file"])
    journal = [json.loads(line)["key"] for line in Path(keys[0]).read_text().splitlines()]
    # the trials of the second search were those of the first, as its task was the same
    assert len(journal) == len({*journal}) > 2
    assert wc.load(tmp_path / "model").get_params()["other"] == {"news": None}


def test_classes_are_a_tree_or_a_hierarchy_from_a_file(run, splits, tmp_path):
    hierarchy = tmp_path / "classes.json"
    command = ("train", splits, "-o", tmp_path / "model", "--set", f"classes={hierarchy}")
    hierarchy.write_text('{"space": "sky", "garden": "life", "music": "life"}')
    for trained in (command, (*command[:-1], "classes=tree")):
        assert run(*trained, "--force")[0] == 0
        assert wc.load(tmp_path / "model").scorer_.model.tree.n_nodes == 2
    for content, message in [
        ('{"space": "sky", "space": "life"}', "'space' has two parents"),
        ('{"space": "sky", "sky": "space"}', "has a cycle"),
        ('{"space": "sky"}', "is not in the hierarchy"),
        ("[1]", "a list; expected an object"),
        ("{", "not a hierarchy of classes in JSON"),
    ]:
        hierarchy.write_text(content)
        status, _, err = run(*command, "--force")
        assert status != 0
        assert message in err
        assert len(err.splitlines()) == 1


def test_options_of_the_embeddings_are_set_by_their_names(run, splits, tmp_path):
    options = (
        "--classifier",
        "svm",
        "--set",
        "features=wce",
        "--set",
        "min_docs=2",
        "--set",
        "C=1",
    )
    nested = ("--set", "wce.correlation=chi_square", "--set", "wce.ngrams=1,2")
    assert run("train", splits, "-o", tmp_path / "model", *options, *nested)[0] == 0
    model = wc.load(tmp_path / "model")
    assert model.wce == {"correlation": "chi_square", "ngrams": (1, 2)}
    assert any(" " in term for term in model.scorer_.weigher.terms)
    for wrong, message in (
        (("--set", "wce.corelation=dot"), "WordClassEmbeddings has no option 'corelation'"),
        (
            ("--set", "wce=true", *nested),
            "--set wce.correlation: wce is already True; set either wce or",
        ),
        (("--set", "stop_words=5"), "stop_words is 5; expected"),
    ):
        status, _, err = run("train", splits, "-o", tmp_path / "other", *options, *wrong)
        assert status == 1
        assert message in err
        assert err.count("\n") == 1


def test_train_holds_out_documents_that_evaluate_finds_again(run, data, tmp_path):
    output = tmp_path / "model"
    command = ("train", data, "-o", output, "--classifier", "nearest", "--set", "min_docs=2")
    result = json.loads(run(*command, "--holdout", "0.3", "--json")[1])
    n_held_out = result["holdout"]["n_docs"]
    assert 10 < n_held_out < 45
    assert result["n_docs"] == 90 - n_held_out
    status, out, err = run("evaluate", output, data, "--holdout", "--json")
    assert (status, err) == (0, "")
    evaluation = json.loads(out)
    assert evaluation["n_docs"] == n_held_out
    assert evaluation["macro_f1"] == result["holdout"]["macro_f1"]
    status, _, err = run("evaluate", output, data)
    assert f"warning: the model was trained on {90 - n_held_out} of these 90 documents" in err
    description = json.loads(run("info", output, "--json")[1])
    assert description["score holdout n_docs"] == n_held_out
    assert run(*command, "--force", "--quiet") == (0, "", "")
    status, _, err = run("evaluate", output, data, "--holdout")
    assert (status, "trained without --holdout" in err) == (1, True)


def test_force_replaces_a_model_and_no_other_folder(run, splits, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    command = ("train", splits, "-o", tmp_path, "--classifier", "nearest")
    assert "exists; use --force to overwrite it" in run(*command)[2]
    status, _, err = run(*command, "--force")
    assert (status, "is not a model (it holds thesis.txt)" in err) == (1, True)
    assert os.listdir(tmp_path) == ["thesis.txt"]


# --- train: networks ------------------------------------------------------------------------


class Killed(BaseException):
    """Kills a command, as SIGKILL would."""


@pytest.fixture
def stop(monkeypatch):
    """Return a function that makes the n-th write of a checkpoint raise an error."""
    checkpoint = pytest.importorskip("wordclass.network.checkpoint").Checkpoint
    write = checkpoint.write

    def stop_after(n_writes, error):
        remaining = iter(range(n_writes - 1))

        def write_and_raise(self, *arguments):
            write(self, *arguments)
            if next(remaining, None) is None:
                raise error

        monkeypatch.setattr(checkpoint, "write", write_and_raise)

    yield stop_after
    monkeypatch.setattr(checkpoint, "write", write)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("moon 1 0.5 0\nrose 0 1 0.5\nsong 0.5 0 1\ncomet 1 0 0\n")
    return path


def network(splits, output, **options):
    options = {"channels": 4, "max_epochs": 3, "min_docs": 2, "batch_size": 8, **options}
    words = [word for name in options for word in ("--set", f"{name}={options[name]}")]
    return ["train", splits, "-o", output, "--classifier", "cnn", *words]


def arrays_of(model):
    return (model / "model.safetensors").read_bytes()


def test_train_makes_a_network_and_info_describes_its_training(run, splits, vectors, tmp_path):
    output = tmp_path / "deep" / "model"
    command = [*network(splits, output, channels=16, max_epochs=2), "--vectors", vectors]
    status, out, err = run(*command)
    assert (status, out) == (0, "")
    assert err.startswith(f"{output}: cnn, from 60 documents (single-label, 3 classes), in ")
    assert os.listdir(output.parent) == ["model"]
    loaded = wc.load(output)
    assert (loaded.channels, len(loaded.history_)) == (16, 2)
    assert "comet" in loaded.embedding_
    assert run("evaluate", output, splits)[0] == 0
    assert run("explain", output, "the moon")[0] == 0
    description = json.loads(run("info", output, "--json")[1])
    assert (description["epochs"], description["best epoch"]) == (2, loaded.best_epoch_)
    assert description["option windows"] == [3, 5, 7]
    assert "torch 2." in description["made by"]
    shown = run("info", output)[1].splitlines()
    assert any(line.split() == ["best", "epoch", str(loaded.best_epoch_)] for line in shown)
    assert any(line.split() == ["epochs", "2"] for line in shown)


@pytest.mark.parametrize(
    "n_writes", [1, 3, 4]
)  # one of three epochs is saved, all are, and the end is
def test_a_killed_training_resumes_and_reports_it(run, splits, tmp_path, stop, n_writes):
    assert run(*network(splits, tmp_path / "undisturbed"))[0] == 0
    output = tmp_path / "model"
    stop(n_writes, Killed)
    with pytest.raises(Killed):
        run(*network(splits, output))
    assert sorted(os.listdir(tmp_path)) == ["model.checkpoint", "undisturbed"]
    stop(100, Killed)
    status, _, err = run(*network(splits, output))
    assert status == 0
    assert f"{output}.checkpoint: state of an interrupted training; resuming" in err
    assert sorted(os.listdir(tmp_path)) == ["model", "undisturbed"]
    assert arrays_of(output) == arrays_of(tmp_path / "undisturbed")


def test_ctrl_c_shows_how_to_resume_a_training(run, splits, tmp_path, stop):
    output = tmp_path / "model"
    stop(2, KeyboardInterrupt)
    status, out, err = run(*network(splits, output))
    assert (status, out) == (130, "")
    assert f"{output}.checkpoint contains the training up to its last epoch" in err
    assert f"  wordclass train {splits} -o {output} --classifier cnn --set channels=4" in err
    assert err.endswith("\nwordclass: stopped\n")
    stop(100, Killed)
    status, _, err = run(*network(splits, output), "--quiet")
    assert (status, err) == (0, "")
    assert output.exists()


def test_without_a_checkpoint_resuming_is_not_offered(run, splits, tmp_path, monkeypatch):
    checkpoint = pytest.importorskip("wordclass.network.checkpoint").Checkpoint

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write", interrupt)
    status, _, err = run(*network(splits, tmp_path / "model"))
    assert (status, "resume" in err) == (130, False)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["another training", "damaged"])
def test_a_foreign_or_damaged_checkpoint_is_refused_and_replaced_by_force(
    run, splits, tmp_path, stop, kind
):
    output = tmp_path / "model"
    checkpoint = tmp_path / "model.checkpoint"
    stop(2, Killed)
    with pytest.raises(Killed):
        run(*network(splits, output))
    stop(100, Killed)
    if kind == "damaged":
        checkpoint.write_bytes(checkpoint.read_bytes()[:-10])
    options = {"channels": 5} if kind == "another training" else {}
    before = checkpoint.read_bytes()
    status, _, err = run(*network(splits, output, **options))
    assert status == 1
    assert kind in err
    assert err.endswith("; use --force to start again\n")
    assert err.count("\n") == 2  # the state, and the error
    assert checkpoint.read_bytes() == before
    status, _, err = run(*network(splits, output, **options), "--force")
    assert status == 0
    assert f"{checkpoint}: from another training, or damaged; starting again" in err
    assert os.listdir(tmp_path) == ["model"]
    assert run(*network(splits, tmp_path / "fresh", **options))[0] == 0
    assert arrays_of(output) == arrays_of(tmp_path / "fresh")


def test_force_still_resumes_a_training_that_fits(run, splits, tmp_path, stop):
    output = tmp_path / "model"
    assert run(*network(splits, output, channels=2))[0] == 0
    stop(2, Killed)
    with pytest.raises(Killed):
        run(*network(splits, output), "--force")
    assert wc.load(output).channels == 2  # the old model stays until the new one is complete
    stop(100, Killed)
    assert "exists; use --force to overwrite it" in run(*network(splits, output))[2]
    status, _, err = run(*network(splits, output), "--force")
    assert (status, "resuming" in err, "starting again" in err) == (0, True, False)
    assert wc.load(output).channels == 4


def test_a_checkpoint_may_be_elsewhere_or_nowhere(run, splits, tmp_path, stop):
    checkpoint = tmp_path / "elsewhere" / "state"
    stop(1, Killed)
    with pytest.raises(Killed):
        run(*network(splits, tmp_path / "model", checkpoint=checkpoint))
    stop(100, Killed)
    assert os.listdir(tmp_path) == ["elsewhere"]
    assert run(*network(splits, tmp_path / "model", checkpoint="none"))[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "model"]
    status, _, err = run(*network(splits, tmp_path / "other", checkpoint=checkpoint))
    assert (
        status,
        f"{checkpoint}: state of an interrupted training" in err,
        checkpoint.exists(),
    ) == (0, True, False)


# --- tune -----------------------------------------------------------------------------------


def trials_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def n_lines(path):
    return path.read_bytes().count(b"\n")


def without_times(trials):
    return [{k: v for k, v in trial.items() if k not in ("seconds", "key")} for trial in trials]


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
    description = json.loads(run("info", output, "--json")[1])
    assert description["score tuning n_trials"] == 6
    assert description["score tuning best settings shrinkage"] == model.shrinkage
    assert len(description["score tuning next_best"]) == 4
    assert len(trials_in(tmp_path / "model.trials.jsonl")) == 6


def test_tune_reports_json(run, data, tmp_path):
    command = ("tune", data, "-o", tmp_path / "model", *USUAL, "--json", "--quiet")
    status, out, err = run(*command, "--target", "macro_f1", "--budget", "none")
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["n_docs"], result["n_validation"], result["n_failed"]) == (90, 18, 0)
    assert len(result["trials"]) == result["n_trials"] == 6
    assert result["best"]["macro_f1"] == max(trial["macro_f1"] for trial in result["trials"])
    assert result["trials_file"] == str(tmp_path / "model.trials.jsonl")
    settings = wc.load(tmp_path / "model").get_params()
    assert settings["shrinkage"] == result["best"]["settings"]["shrinkage"]


def test_a_killed_search_resumes(run, data, tmp_path):
    many = ("--grid", "shrinkage=" + ",".join(map(str, range(400))))
    options = ("--classifier", "nearest", *many, "--set", "min_docs=2", "--json")
    arguments = [str(word) for word in ("tune", data, "-o", tmp_path / "model", *options)]
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
    n_finished = n_lines(journal)
    with journal.open("ab") as file:  # as if it was killed while writing
        file.write(b'{"key": "abc", "sett')
    _, out, err = run(*arguments)
    assert err.count("from the journal") == n_finished
    resumed = json.loads(out)
    undisturbed = json.loads(run("tune", data, "-o", tmp_path / "other", *options, "--quiet")[1])
    assert without_times(resumed["trials"]) == without_times(undisturbed["trials"])
    assert without_times(trials_in(journal)) == without_times(
        trials_in(tmp_path / "other.trials.jsonl")
    )
    arrays = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "other")]
    assert arrays[0] == arrays[1]


def test_ctrl_c_before_the_end_of_the_first_trial_offers_nothing(run, data, tmp_path, monkeypatch):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(nearest.NearestClassifier, "fit", stop)
    status, out, err = run("tune", data, "-o", tmp_path / "model", *USUAL)
    assert (status, out) == (130, "")
    assert err.endswith("wordclass: stopped\n")
    assert "resume" not in err
    assert os.listdir(tmp_path) == []


def test_ctrl_c_shows_how_to_resume_a_search(run, data, tmp_path, monkeypatch):
    fit = nearest.NearestClassifier.fit

    def fit_or_stop(self, *arguments, **options):
        if self.shrinkage == 20:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    command = ("tune", data, "-o", tmp_path / "my model", *USUAL)
    with monkeypatch.context() as patched:
        patched.setattr(nearest.NearestClassifier, "fit", fit_or_stop)
        status, out, err = run(*command)
    assert (status, out) == (130, "")
    n_finished = len(trials_in(tmp_path / "my model.trials.jsonl"))
    assert f"{tmp_path}/my model.trials.jsonl contains {n_finished} finished trials" in err
    assert f"wordclass tune {data} -o '{tmp_path}/my model' --classifier nearest" in err
    assert os.listdir(tmp_path) == ["my model.trials.jsonl"]
    status, out, err = run(*command, "--budget", "0s")
    assert status == 0
    assert f"trials      {n_finished}, saved in" in out


def test_tune_accepts_multilabel_corpora(run, tmp_path):
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
        (("--target", "best"), "target is 'best'; expected 'both'"),
        (("--validation", "2"), "above 0 and below 1"),
    ],
)
def test_an_error_is_one_line(run, data, tmp_path, options, message):
    status, out, err = run("tune", data, "-o", tmp_path / "model", *USUAL, *options)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_nothing_is_overwritten_without_force(run, data, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").touch()
    command = ("tune", data, "-o", tmp_path / "model", *USUAL)
    assert "exists; use --force to overwrite it" in run(*command)[2]
    assert "is not a model (it holds thesis.txt)" in run(*command, "--force")[2]
    (tmp_path / "new.trials.jsonl").write_text("precious\n")
    status, _, err = run("tune", data, "-o", tmp_path / "new", *USUAL)
    assert (status, "new.trials.jsonl, line 1: no trial" in err) == (1, True)
    assert (tmp_path / "new.trials.jsonl").read_text() == "precious\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("1.5m", 90), ("45", 45),
     ("None", None), ("0s", 0)],
)  # fmt: skip
def test_a_budget_is_a_time(text, expected):
    assert parse_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "10 minutes", "-1s", "1d", "s", "1..5s"])
def test_an_invalid_time_is_wrong_usage(run, data, tmp_path, text):
    with pytest.raises(typer.BadParameter, match="such as 90s, 10m or 1h"):
        parse_seconds(text)
    assert run("tune", data, "-o", tmp_path / "model", f"--budget={text}")[0] == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1,2.5", {"x": [1, 2.5]}),
        ("x=none,english", {"x": [None, "english"]}),
        ("x=true", {"x": [True]}),
        ("ngrams=1,1-2", {"ngrams": [(1, 1), (1, 2)]}),
        ("ngrams=[[1,1],[1,2]]", {"ngrams": [(1, 1), (1, 2)]}),
        ("x=[1, null]", {"x": [1, None]}),
    ],
)
def test_choices_are_separated_by_commas_or_json(text, expected):
    assert parse_grid([text]) == expected


def test_choices_need_a_name():
    assert parse_grid([]) is None
    with pytest.raises(typer.BadParameter, match="expected name=value,value"):
        parse_grid(["1,2"])


def test_the_trials_of_a_model_in_the_current_folder_are_saved_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert path_beside(Path("model"), "trials.jsonl") == Path("model.trials.jsonl")
    assert path_beside(Path(), "trials.jsonl") == tmp_path.with_name(
        f"{tmp_path.name}.trials.jsonl"
    )
