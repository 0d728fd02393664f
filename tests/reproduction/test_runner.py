"""The runner: all learners, results, interruptions, searches, and several runners at once."""

import json
import subprocess
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus
from reproduction.conftest import write_corpus
from reproduction.kills import command, kill_repeatedly, leftovers, read_outcomes

import wordclass as wc
from wordclass.classifiers.base import make_embeddings
from wordclass.explorer.term_map import TermMap
from wordclass.reproduction import learners, sources
from wordclass.reproduction.outlook import Outlook, Times
from wordclass.reproduction.plan import NETWORKS, VARIANTS, Plan
from wordclass.reproduction.runner import execute, run_all
from wordclass.reproduction.runs import Results, Run

pytest.importorskip("torch")

SMALL = {
    "cnn": {"channels": 4}, "lstm": {"hidden": 4}, "attention": {"hidden": 4},
    "leam": {"window": 3}, "fasttext": {"epochs": 3},
}  # fmt: skip
NETWORK = {"max_epochs": 2, "batch_size": 8, "min_docs": 2}


def run_of(learner, variant="default", dataset="tiny", **changes):
    options = {**SMALL.get(learner, {}), **(NETWORK if learner in NETWORKS else {})}
    protocol = "paper" if learner in ("svm", "fasttext") else "clean"
    vectors = "small" if variant.startswith("vectors") else None
    return replace(Run(dataset, learner, variant, 1, protocol, vectors, options), **changes)


ALL = [(learner, variant) for learner in SMALL for variant in VARIANTS[learner]]
# "context" needs the word vectors of a language model
ALL = [(learner, variant) for learner, variant in ALL if variant != "context"]
ALL += [(learner, variant) for learner in ("svm", "linear", "nearest")
        for variant in VARIANTS[learner] if "encoder" not in variant]  # fmt: skip


@pytest.mark.parametrize(
    ("learner", "variant", "dataset"),
    [
        *((learner, variant, "tiny") for learner, variant in ALL),
        *((learner, next(iter(VARIANTS[learner])), "many") for learner in dict(ALL)),
    ],
)
def test_every_learner_and_variant_can_be_run(data, tmp_path, learner, variant, dataset):
    if learner == "fasttext":
        pytest.importorskip("fasttext")
    results = Results(tmp_path / "out")
    run = run_of(learner, variant, dataset)
    result = execute(run, results, "mine")
    results.add(result)
    assert results.runs() == [result]
    assert result.identity == run.identity
    assert (result.key, result.plan) == (run.key, "mine")
    assert (result.data["n_train"], result.data["n_test"]) == (60, 30)
    assert result.data["multilabel"] == (dataset == "many")
    assert {"read", "fit", "predict", "total", "fit_cpu", "predict_cpu"} <= result.times.keys()
    assert ("select" in result.times) == (learner in ("svm", "linear"))
    assert result.memory > 1e7
    assert result.versions["wordclass"] == wc.__version__
    is_network = learner in NETWORKS
    assert (result.history is not None) == is_network == (result.best_epoch is not None)
    predicted = results.predictions(result.key)
    truth = results.truth(result.key)
    labels = [[str(result.classes["names"][j]) for j in row.indices] for row in predicted]
    true = [[str(result.classes["names"][j]) for j in row.indices] for row in truth]
    scores = wc.evaluate(true, labels, result.classes["names"])
    if dataset == "many":
        assert scores.macro_f1 == result.scores["macro_f1"]
    assert scores.micro_f1 == result.scores["micro_f1"]
    assert result.classes["tp"] == scores.true_positives.tolist()
    assert (scores.n_true - scores.true_positives).tolist() == result.classes["fn"]


def test_the_history_has_scores_of_training_and_test_texts(data, tmp_path):
    options = {**SMALL["cnn"], **NETWORK, "max_epochs": 6}
    result = execute(run_of("cnn", "wce", options=options), Results(tmp_path / "out"))
    watched = [epoch["epoch"] for epoch in result.history if "test_macro_f1" in epoch]
    assert watched == [1, 2, 3, 5]
    assert result.history[0].keys() >= {
        "loss", "seconds", "validation_loss", "validation_macro_f1", "validation_micro_f1",
        "train_macro_f1", "train_micro_f1", "test_micro_f1",
    }  # fmt: skip
    best = result.history[result.best_epoch - 1]
    assert result.scores["validation_macro_f1"] == best["validation_macro_f1"]


def test_options_of_embeddings_reach_every_learner(data, tmp_path):
    results = Results(tmp_path / "out")
    for learner, variant in [("nearest", "default"), ("svm", "wce"), ("cnn", "wce")]:
        run = run_of(learner, variant, "many")
        usual, other = (
            execute(replace(run, options={**run.options, "correlation": name}), results)
            for name in ("dot", "ppmi")
        )
        assert usual.classes == execute(run, results).classes
        if learner != "cnn":
            with pytest.raises(wc.InputError, match="unknown correlation 'pppmi'"):
                execute(replace(run, options={**run.options, "correlation": "pppmi"}), results)
        assert usual.classes != other.classes


def test_the_embeddings_have_the_words_of_their_classifier(data):
    dataset = sources.load("tiny")
    for run, words in [
        (run_of("svm", "wce", options={"shrinkage": 5.0, "mask_numbers": False, "ngrams": [1, 2],
                                       "weighting": "bm25"}),
         {"mask_numbers": False, "ngrams": (1, 2), "weighting": "bm25"}),
        (run_of("cnn", "wce", options={"shrinkage": 5.0, "mask_numbers": False, "min_docs": 2}),
         {"mask_numbers": False, "min_docs": 2}),
    ]:  # fmt: skip
        model = wc.classifier(run.learner, **learners._all_options(run, run.options, dataset))
        embeddings = make_embeddings(model)
        assert embeddings.get_params() == embeddings.get_params() | words | {
            "shrinkage": 5.0, "seed": 1,
        }  # fmt: skip


def test_labels_that_training_never_saw_are_dropped_and_counted(data, tmp_path):
    texts, labels = corpus(90)
    write_corpus(data / "strange.jsonl", texts, [*labels[:-2], "unheard", "of"], 60)
    result = execute(run_of("nearest", dataset="strange"), Results(tmp_path / "out"))
    assert result.scores["n_dropped"] == 2
    assert result.classes["names"] == ["garden", "music", "space"]


def test_the_measurements_are_those_of_the_corpus(data, tmp_path):
    results = Results(tmp_path / "out")
    run = Run("tiny", "counts", options={"min_docs": 2})
    counts = execute(run, results).extra
    texts = corpus(90)[0]
    words = [word for text in texts for word in text.split()]
    assert counts["words"] == len(words)
    assert counts["vocabulary"] + counts["unseen"] == len(set(words))
    assert (counts["n_train"], counts["n_test"], counts["n_docs"]) == (60, 30, 90)
    assert (counts["prevalence_mean"], counts["prevalence_std"]) == (20, 0)
    times = execute(Run("tiny", "embedding_times"), results).extra
    assert times["S"] == times["by_correlation"]["dot"]
    assert times["by_correlation"].keys() == {"dot", "ppmi", "information_gain", "chi_square"}
    unseen = execute(Run("tiny", "unseen_terms", vectors="small", options={"min_docs": 2}), results)
    rare = sum(word.startswith("rare") for text in texts[60:] for word in text.split())
    assert unseen.extra["occurrences"] == unseen.extra["n_terms"] == rare == 30
    assert unseen.extra["n_predicted"] == 0


def test_vectors_learned_by_pte_see_the_documents_of_the_run_only(data, tmp_path):
    results = Results(tmp_path / "out")
    result = execute(run_of("svm", "vectors", vectors="pte"), results)
    assert result.vectors == {"name": "pte", "dims": 100, "digest": ""}
    assert "vectors_cpu" in result.times
    assert result.scores["macro_f1"] > 0.9
    draw = sources.draw_documents(sources.load("tiny"), "tiny@8", 0).train
    vectors = sources.load_vectors("pte", "tiny@8", draw)
    expected = wc.pte(draw.texts, draw.labels)
    assert list(vectors.terms) == list(expected.terms)
    np.testing.assert_array_equal(vectors.matrix, expected.matrix)


def test_vectors_may_be_a_folder_as_spacy_has_it(data):
    folder = data / "spacy-small"
    folder.mkdir()
    (folder / "vectors").touch()
    assert sources.vectors_file("spacy-small") == folder / "vectors"


def test_learned_vectors_stand_beside_pretrained_ones(data, tmp_path):
    train = sources.load("tiny").train
    small = wc.WordVectors.load(data / "small.txt")
    pte = wc.pte(train.texts, train.labels)
    small = wc.WordVectors.of(["odd", *small.terms[1:]], small.matrix)
    small.save(data / "other.txt")
    both = sources.load_vectors("other+pte", "tiny", train)
    assert {*both.terms} == {*small.terms, *pte.terms}
    for term in both.terms:
        for half, vectors in ((both[term][:4], small), (both[term][4:], pte)):
            np.testing.assert_allclose(half, vectors.get(term, np.zeros(vectors.n_dims)), atol=1e-6)
    assert not both["odd"][4:].any()
    result = execute(run_of("svm", "vectors+wce", vectors="small+pte"), Results(tmp_path / "out"))
    assert result.vectors["dims"] == 104
    assert result.vectors["digest"] == sources.vectors_digest("small")
    keys = {run_of("svm", "vectors", vectors=name).key for name in ("small", "pte", "small+pte")}
    assert len(keys) == 3
    with pytest.raises(wc.MissingDataError, match="the vectors nowhere are missing"):
        sources.load_vectors("nowhere+pte", "tiny", train)


def test_a_map_is_stored_with_its_arrays(data, tmp_path):
    pytest.importorskip("openTSNE")
    results = Results(tmp_path / "out")
    run = Run("tiny", "map", vectors="corpus", options={"n_terms": 9})
    result = execute(run, results)
    term_map = TermMap.of_parts(result.extra, results.arrays(result.key))
    assert sorted(term_map.classes[k] for k in term_map.class_of) == sorted(3 * [*WORDS])
    assert all(
        term in WORDS[term_map.classes[k]] or term in COMMON
        for term, k in zip(term_map.terms, term_map.class_of, strict=True)
    )
    assert [panel.places.shape for panel in term_map.panels] == [(9, 2)] * 3
    other = execute(replace(run, seed=1), results)
    moved = TermMap.of_parts(other.extra, results.arrays(other.key))
    assert moved.terms == term_map.terms
    assert (moved.panels[1].places != term_map.panels[1].places).any()


@pytest.mark.slow
def test_newsgroups_have_the_papers_row(shared_data, tmp_path):
    shared_data("raw/20news-bydate.tar.gz")
    counts = execute(Run("newsgroups20", "counts"), Results(tmp_path)).extra
    assert counts == counts | {
        "multilabel": False, "n_classes": 20, "n_train": 11_314, "n_test": 7_532,
        "n_docs": 18_846, "vocabulary": 17_184, "unseen": 112_594, "prevalence_min": 377,
        "prevalence_max": 600,
    }  # fmt: skip
    assert round(counts["words"] / 1e6, 1) == 3.5
    assert (round(counts["prevalence_mean"], 1), round(counts["prevalence_std"], 1)) == (
        565.7,
        56.8,
    )


def test_some_classes_of_a_data_set_are_a_data_set(data, tmp_path):
    results = Results(tmp_path / "out")
    result = execute(run_of("nearest", dataset="tiny:music+space"), results)
    assert result.classes["names"] == ["music", "space"]
    assert (result.data["n_train"], result.data["n_test"]) == (40, 20)
    with pytest.raises(wc.InputError, match=r"unknown class of tiny 'spaces' \(did you mean 'spac"):
        execute(run_of("nearest", dataset="tiny:music+spaces"), results)
    with pytest.raises(wc.InputError, match="many is multilabel; only single-label data sets"):
        execute(run_of("nearest", dataset="many:music+space"), results)


def test_the_seed_draws_documents_per_class(data, tmp_path):
    results = Results(tmp_path / "out")
    runs = [run_of("nearest", dataset="tiny@4", seed=seed) for seed in (1, 2)]
    first, second = (execute(run, results) for run in runs)
    assert first.key != second.key
    for result in (first, second):
        assert (result.data["n_train"], result.data["n_test"]) == (12, 30)
    # all draws have the same test documents
    complete = execute(run_of("nearest"), results)
    assert {result.data["fingerprint"] for result in (first, second, complete)} == {
        sources.fingerprint(sources.load("tiny"))
    }
    assert execute(runs[0], results).classes == first.classes


def test_a_draw_has_enough_documents_of_each_class_and_follows_the_seed(data):
    def drawn(name, seed):
        return sources.draw_documents(sources.load(name), name, seed).train

    labels = drawn("tiny@4", 0).labels
    assert sorted(labels) == sorted([*WORDS] * 4)
    texts = drawn("tiny@4", 0).texts
    assert texts == drawn("tiny@4", 0).texts
    assert texts != drawn("tiny@4", 1).texts
    assert texts == [text for text in sources.load("tiny").train.texts if text in texts]
    assert len(drawn("tiny@1000", 0)) == 60
    assert sorted({*drawn("tiny:music+space@2", 0).labels}) == ["music", "space"]
    several = drawn("many@3", 0)
    counts = Counter(label for labels in several.labels for label in labels)
    assert min(counts.values()) >= 3
    assert len(several) < 12


@pytest.mark.parametrize(
    ("learner", "variant"),
    [("svm", "wce"), ("svm", "vectors+wce"), ("linear", "fixed"), ("linear", "default"),
     ("cnn", "vectors+wce")],
)  # fmt: skip
def test_other_tasks_are_learned_from_the_training_parts_of_their_data_sets(
    data, tmp_path, monkeypatch, learner, variant
):
    write_corpus(data / "news.jsonl", *corpus(80, seed=5, classes=("space", "garden")), 50)
    other_options = []

    def make(name, **options):
        other_options.append(options.get("other"))
        return wc.classifier(name, **options)

    monkeypatch.setattr(learners, "make_classifier", make)
    results = Results(tmp_path / "out")
    plain = run_of(learner, variant)
    extended = replace(plain, options={**plain.options, "other": ["tiny", "news", "many"]})
    result = execute(extended, results)
    results.add(result)
    assert (result.identity, result.key) == (extended.identity, extended.key)
    assert result.options["other"] == ["tiny", "news", "many"]
    assert "vectors_cpu" in result.times
    # the data set itself is skipped
    assert list(other_options[0]) == ["news", "many"]
    train = sources.load("news").train
    expected = wc.WordClassEmbeddings().fit(train.texts, train.labels)
    assert other_options[0]["news"].terms_ == expected.terms_
    assert (other_options[0]["news"].vectors_ == expected.vectors_).all()
    assert len(train) == 50
    assert extended.key != plain.key
    execute(plain, results)
    assert other_options[-1] is None


def test_a_data_set_can_read_its_labels_from_another_field(data):
    records = [
        {"text": f"moon {k}", "labels": ["one"], "categories": ["one", "two"][: k % 2 + 1],
         "split": "test" if k > 7 else "train"}
        for k in range(10)
    ]  # fmt: skip
    content = "\n".join(map(json.dumps, records))
    (data / "arxiv_abstracts_120k.jsonl").write_text(content, encoding="utf-8")
    one_label = sources.load("arxiv_abstracts_120k")
    all_categories = sources.load("arxiv_categories")
    assert not one_label.is_multilabel
    assert all_categories.is_multilabel
    assert all_categories.train.labels[:2] == [["one"], ["one", "two"]]
    assert all_categories.train.texts == one_label.train.texts
    sources.check_dataset("arxiv_categories")
    digests = map(sources.dataset_digest, ("arxiv_abstracts_120k", "arxiv_categories"))
    assert len({*digests}) == 2


def test_a_data_set_alone_cannot_be_its_other_task(data, tmp_path):
    run = run_of("svm", "wce", "tiny@8", options={"other": ["tiny"]})
    with pytest.raises(wc.InputError, match="other names no data set but tiny itself"):
        execute(run, Results(tmp_path / "out"))


def test_sentence_vectors_are_timed_even_if_they_are_cached(data, tmp_path, encoder):
    results = Results(tmp_path / "out")
    run = run_of("linear", options={"encoder": encoder})
    first = execute(run, results)
    again = execute(replace(run, seed=2), results)
    plain = execute(run_of("linear"), results)
    assert first.times["encode_cpu"] > 0
    assert again.times["encode_cpu"] > 0
    assert "encode_cpu" not in plain.times


@pytest.mark.parametrize("variant", [name for name in VARIANTS["svm"] if "encoder" in name])
def test_features_of_an_encoder_can_be_run(data, tmp_path, encoder, variant):
    run = run_of("svm", variant, options={"encoder": encoder})
    result = execute(run, Results(tmp_path / "out"))
    assert result.scores["accuracy"] > 0.9
    assert result.times["encode_cpu"] > 0


# --- the paper's search -------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_gives_its_best_settings_to_all_seeds(data, tmp_path, n_jobs):
    pytest.importorskip("fasttext")
    trials = tuple(
        run_of("fasttext", "random", seed=0, options={"epochs": 3, "ngrams": sizes})
        for sizes in ([3, 3], [1, 1])
    )
    last = [run_of("fasttext", "random", seed=k, needs=trials, options={}) for k in (1, 2)]
    folder = tmp_path / "out"
    # runs are executed after the trials that they need, in any order of the list
    assert run_all(folder, [last[0], *trials, last[1]], "mine", n_jobs=n_jobs) == []
    results = Results(folder)
    assert len(results.runs()) == 4
    by_identity = {result.identity: result for result in results.runs()}
    triples, words = (by_identity[run.identity].scores["validation_macro_f1"] for run in trials)
    assert triples < words
    assert [by_identity[run.identity].settings for run in last] == [trials[1].options] * 2


def test_the_validation_score_of_a_network_is_that_of_its_best_epoch(data, tmp_path):
    trial = run_of("cnn", "wce", protocol="paper", seed=0)
    last = run_of("cnn", "wce", protocol="paper", needs=(trial,), options={})
    assert run_all(tmp_path / "out", [trial, last], "mine") == []
    result = Results(tmp_path / "out").runs()[-1]
    assert result.identity == last.identity
    assert result.settings == trial.options
    assert len(result.history) == trial.options["max_epochs"]


def test_a_search_without_validation_scores_is_refused(data, tmp_path):
    pytest.importorskip("fasttext")
    trial = run_of("fasttext", "random", protocol="clean")
    runs = [trial, replace(trial, seed=2, needs=(trial,))]
    (failure,) = run_all(tmp_path / "out", runs, "mine")
    assert "a search needs validation scores; protocol 'paper' has some" in failure


def test_a_run_fails_if_a_run_that_it_needs_fails(data, tmp_path):
    broken = run_of("cnn", "wce", options={"lr": 1000.0})
    failures = run_all(tmp_path / "out", [replace(broken, seed=2, needs=(broken,)), broken], "mine")
    assert len(failures) == 2
    assert "lr is 1000.0" in failures[0]
    assert failures[1].endswith("a run of its search failed")


# --- interruption and resuming ------------------------------------------------------------------


def test_a_finished_run_is_not_repeated_and_a_failure_does_not_stop_other_runs(data, tmp_path):
    folder = tmp_path / "out"
    log = []
    runs = [
        run_of("nearest"), run_of("cnn", "wce", options={"lr": 1000.0}), run_of("svm", "tfidf")
    ]  # fmt: skip
    (failure,) = run_all(folder, runs, "mine", log=log.append)
    assert failure.startswith("tiny cnn wce clean seed 1 (lr=1000.0): lr is 1000.0")
    assert [line.split()[1] for line in log] == ["nearest", "tiny", "svm"]
    assert log[1] == f"failed: {failure}"
    before = Results(folder).path.read_bytes()
    assert run_all(folder, [runs[0], runs[2]], "mine", log=log.append) == []
    assert Results(folder).path.read_bytes() == before
    assert len(log) == 3
    assert not list((folder / "claims").iterdir())


def test_options_that_a_classifier_does_not_have_are_refused_before_any_work(data, tmp_path):
    runs = [run_of("nearest"), run_of("svm", "tfidf", options={"chanels": 3})]
    with pytest.raises(wc.InputError, match="'svm' has no option 'chanels'"):
        run_all(tmp_path / "out", runs, "mine")
    assert not (tmp_path / "out").exists()


def test_a_network_resumes_from_its_checkpoint(data, tmp_path, monkeypatch):
    run = run_of("cnn", "wce")
    folder = tmp_path / "out"
    calls = []
    watch = learners._EpochWatch.__call__

    def stop(self, epoch):
        calls.append(epoch.epoch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return watch(self, epoch)

    monkeypatch.setattr(learners._EpochWatch, "__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        run_all(folder, [run], "mine")
    assert [path.name for path in (folder / "checkpoints").iterdir()] == [run.key]
    assert run_all(folder, [run], "mine") == []
    assert calls == [1, 2, 2]
    assert not list((folder / "checkpoints").iterdir())
    alone = execute(run, Results(tmp_path / "other"))
    (result,) = Results(folder).runs()
    assert result.scores == alone.scores
    # epochs before the interruption count
    assert result.times["fit_cpu"] >= sum(epoch["cpu_seconds"] for epoch in result.history)


QUICK = """
[[runs]]
datasets = ["tiny", "many"]
learners = ["nearest"]
sweep = {shrinkage = [0.0, 5.0]}
[[runs]]
datasets = ["tiny", "many"]
learners = ["svm"]
variants = ["tfidf", "vectors+wce"]
protocols = ["paper"]
vectors = ["corpus"]
"""


def run_undisturbed(tmp_path, content):
    """Write a plan, execute it, and return its path and the results."""
    plan = tmp_path / "mine.toml"
    plan.write_text(content)
    runs = Plan.read(str(plan)).runs()
    assert run_all(tmp_path / "alone", runs, "mine") == []
    expected = read_outcomes(tmp_path / "alone")
    assert len(expected) == len(runs)
    return plan, expected


def test_a_killed_and_resumed_runner_has_the_same_results(data, tmp_path):
    plan, expected = run_undisturbed(tmp_path, QUICK)
    kill_repeatedly(plan, tmp_path / "out", 2, 4)
    assert read_outcomes(tmp_path / "out") == expected
    assert leftovers(tmp_path / "out") == []


@pytest.mark.slow
def test_the_smoke_plan_killed_twenty_times_has_the_same_results(tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))  # the docstrings are already built there
    alone = tmp_path / "alone"
    disturbed = tmp_path / "out"
    start = time.perf_counter()
    subprocess.run(command("smoke", alone, "-j", "2"), check=True, capture_output=True)
    seconds = time.perf_counter() - start
    kill_repeatedly("smoke", disturbed, 20, seconds / 10)
    expected = read_outcomes(alone)
    assert len(expected) == len(Plan.read("smoke").runs())
    assert read_outcomes(disturbed) == expected
    assert leftovers(disturbed) == []


def test_two_runners_execute_every_run_once(data, tmp_path):
    plan, expected = run_undisturbed(tmp_path, QUICK)
    folder = tmp_path / "out"
    both = [subprocess.Popen(command(plan, folder, "--quiet")) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert len(lines) == len({line["key"] for line in lines}) == len(expected)
    assert read_outcomes(folder) == expected


# --- the outlook ---------------------------------------------------------------------------


def test_the_outlook_has_finished_and_missing_runs(data, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        "[[runs]]\ndatasets = ['tiny', 'wipo_gamma']\nlearners = ['nearest', 'counts']\n"
    )
    plan = Plan.read(str(path))
    results = Results(tmp_path / "out")
    before = Outlook.of(plan, results)
    assert len(before.runs) == 2
    assert before.unfinished == before.runs
    assert [*before.missing.values()] == [2]
    assert "wipo_gamma is missing" in next(iter(before.missing))
    assert run_all(results.folder, before.runs[:1], "mine") == []
    after = Outlook.of(plan, results)
    assert after.unfinished == before.runs[1:]
    assert after.seconds < before.seconds


def test_the_expected_time_of_a_run_is_that_of_similar_finished_runs(data, tmp_path):
    run = run_of("nearest")
    finished = execute(run, Results(tmp_path))
    known = [
        replace(finished, times={"total": 10.0}),
        replace(finished, seed=2, times={"total": 20.0}),
        replace(finished, options={"shrinkage": 1.0}, times={"total": 70.0}),
        replace(finished, dataset="many", times={"total": 900.0, "total_cpu": 500.0}),
        replace(finished, learner="counts"),
    ]

    def expected(run, finished=()):
        return pytest.approx(Times(finished).expected(run))

    assert expected(replace(run, seed=3), known) == 15
    assert expected(replace(run, options={"folds": 3}), known[2:]) == 70
    assert expected(run, known[3:]) == 500  # another corpus of the same size
    svm = run_of("svm", "tfidf")  # none is finished, but the size of the corpus is known
    assert Times(known).expected(svm) < Times([]).expected(svm)


def test_without_finished_runs_times_grow_with_the_data_and_the_network(data):
    expected = Times([]).expected
    lstm = Run("newsgroups20", "lstm", "vectors")
    assert expected(replace(lstm, options={"hidden": 512})) > 1.9 * expected(lstm)
    strange = {"hidden": "many", "max_length": [], "max_epochs": {}}
    assert expected(replace(lstm, options=strange)) == expected(lstm)
    two_classes = replace(lstm, dataset="newsgroups20:sci.med+sci.space")
    assert expected(two_classes) == pytest.approx(expected(lstm) / 10, rel=0.03)
    svm = Run("newsgroups20", "svm", "vectors")
    assert expected(replace(svm, dataset="reuters21578")) > 2 * expected(svm)  # more classes


@pytest.mark.parametrize(
    ("learner", "variant", "dataset", "seconds"),
    [
        ("svm", "tfidf", "newsgroups20", 160), ("svm", "tfidf", "reuters21578", 94),
        ("svm", "vectors", "newsgroups20", 10), ("svm", "vectors", "reuters21578", 48),
        ("svm", "vectors+wce", "newsgroups20", 11), ("svm", "vectors+wce", "reuters21578", 114),
        ("linear", "default", "newsgroups20", 14), ("linear", "default", "reuters21578", 54),
        ("cnn", "vectors", "newsgroups20", 175), ("cnn", "vectors", "reuters21578", 241),
        ("cnn", "vectors+wce", "newsgroups20", 284), ("cnn", "vectors+wce", "reuters21578", 509),
    ],
)  # fmt: skip
def test_estimates_are_within_a_factor_of_two_of_measured_times(learner, variant, dataset, seconds):
    options = {"channels": 128} if learner == "cnn" else {}
    run = Run(dataset, learner, variant, options=options)
    assert seconds / 2 < Times([]).expected(run) < 2 * seconds
