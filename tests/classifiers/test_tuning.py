import json
import math
import re
import time
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass import catalogue, progress
from wordclass.classifiers import nearest
from wordclass.classifiers.tuning import Journal, _Trials, digest_of, expected_seconds, split
from wordclass.corpus.labels import encode_labels
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.linear.search import Documents, Trial

TEXTS, LABELS = corpus(90)
GRID = {"shrinkage": [0.0, 5.0, 20.0], "min_docs": [1, 2]}
TRIAL = {
    "settings": {"C": 1}, "status": "done", "seconds": 1.0,
    "macro_f1": 0.5, "micro_f1": 0.5, "accuracy": 0.5,
}  # fmt: skip


class Clock:
    """Stands still unless it is told otherwise."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def spy(monkeypatch, clock):
    """Take the place of `nearest`: remembers what it learned from, takes 10 s, fails if told."""

    class Spy(nearest.NearestClassifier):
        learned_from = []  # noqa: RUF012 - shared by all instances, on purpose
        failing = {}  # noqa: RUF012

        def fit(self, texts, labels, **options):
            texts = list(texts)
            Spy.learned_from.append((self.get_params(), texts))
            clock.now += 10.0
            for name, values in Spy.failing.items():
                if getattr(self, name) in values:
                    raise MemoryError("no room")
            return super().fit(texts, labels, **options)

    monkeypatch.setattr(nearest, "make", Spy)
    return Spy


def tune(**options):
    return wc.tune(TEXTS, LABELS, "nearest", **{"grid": GRID, **options})


def settings_of(tuned):
    return [tuned_trial.settings for tuned_trial in tuned.trials]


def test_the_best_settings_are_fitted_on_all_documents():
    tuned = tune(options={"ngrams": (1, 2)}, seed=3)
    best = max(tuned.trials, key=lambda trial: trial.macro_f1 + trial.micro_f1)
    assert tuned.best == best.settings
    options = tuned.model.get_params()
    assert {name: options[name] for name in GRID} == tuned.best
    assert (options["ngrams"], options["seed"], options["probabilities"]) == ((1, 2), 3, True)
    assert tuned.model.training_.n_docs == 90
    again = wc.classifier("nearest", **options).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        again.decision_function(TEXTS), tuned.model.decision_function(TEXTS)
    )
    assert (tuned.n_train, tuned.n_validation) == (72, 18)
    assert tuned.ended == "everything in the grid was tried"


def test_no_trial_learns_from_the_documents_that_decide(spy):
    tuned = tune()
    *trials, (_, last) = spy.learned_from
    assert sorted(last) == sorted(TEXTS)
    (seen,) = {tuple(texts) for _, texts in trials}
    unseen = [k for k, text in enumerate(TEXTS) if text not in set(seen)]
    assert len(unseen) == tuned.n_validation == 18
    assert {name: [LABELS[k] for k in unseen].count(name) for name in set(LABELS)} == {
        "space": 6, "garden": 6, "music": 6,
    }  # fmt: skip
    for (options, _), trial in zip(trials, tuned.trials, strict=True):
        assert not options["probabilities"]  # they change no prediction
        model = nearest.NearestClassifier(**options)
        model.fit(list(seen), [LABELS[TEXTS.index(text)] for text in seen])
        asked = [TEXTS[k] for k in unseen]
        scores = wc.evaluate([LABELS[k] for k in unseen], model.predict(asked))
        assert trial.macro_f1 == pytest.approx(scores.macro_f1)
        assert trial.accuracy == pytest.approx(scores.accuracy)


def test_the_default_comes_first_and_nothing_twice():
    tuned = tune(options={"seed": 1})
    assert tuned.trials[0].settings == {"shrinkage": 0.0, "min_docs": 5}
    shown = [json.dumps(each) for each in settings_of(tuned)]
    assert len(set(shown)) == len(shown)
    # every combination of the grid, and what was around the default that is in no grid
    assert {(each["shrinkage"], each["min_docs"]) for each in settings_of(tuned)} >= {
        (shrinkage, n) for shrinkage in GRID["shrinkage"] for n in GRID["min_docs"]
    }


def test_another_start_takes_the_place_of_the_default():
    tuned = tune(grid={"shrinkage": [5.0, 20.0]}, start={"shrinkage": 5.0})
    assert settings_of(tuned) == [{"shrinkage": 5.0}, {"shrinkage": 20.0}]


def test_a_trial_that_fails_is_recorded_and_the_search_goes_on(spy, clock):
    spy.failing = {"shrinkage": {5.0}}
    tuned = tune(clock=clock)
    assert {trial.seconds for trial in tuned.trials} == {10.0}
    failed = [trial for trial in tuned.trials if not trial.is_done]
    assert {trial.settings["shrinkage"] for trial in failed} == {5.0}
    assert {trial.message for trial in failed} == {"MemoryError: no room"}
    assert tuned.best["shrinkage"] != 5.0
    assert tuned.to_dict()["n_failed"] == len(failed) > 0
    spy.failing = {"shrinkage": set(GRID["shrinkage"])}
    with pytest.raises(wc.InputError, match=r"not one of .* trials .*MemoryError: no room"):
        tune()


@pytest.mark.parametrize("error", [TypeError, RuntimeError, ZeroDivisionError, KeyError])
def test_a_mistake_of_ours_is_no_trial_that_failed(monkeypatch, error):
    def fit(*_args, **_options):
        raise error("a mistake")

    monkeypatch.setattr(nearest.NearestClassifier, "fit", fit)
    with pytest.raises(error, match="a mistake"):
        tune()


def test_where_all_trials_fail_there_are_no_more():
    foreign = wc.WordClassEmbeddings(min_docs=1).fit(["quark boson", "gluon"] * 9, ["a", "b"] * 9)
    told = r"not one of 20 trials .* 'foreign' know none of"
    with pytest.raises(wc.InputError, match=told):
        wc.tune(*corpus(60), "linear", options={"other": {"foreign": foreign}})


def test_settings_that_a_classifier_refuses_are_a_trial_that_failed():
    tuned = tune(grid={"shrinkage": [-1.0, 5.0]})
    refused = [trial for trial in tuned.trials if not trial.is_done]
    assert [trial.settings for trial in refused] == [{"shrinkage": -1.0}]
    assert refused[0].message.startswith("InputError: shrinkage is -1.0")


def test_a_package_that_is_missing_is_no_fault_of_the_settings(monkeypatch):
    def fit(*_args, **_options):
        raise wc.MissingExtraError("pip install it")

    monkeypatch.setattr(nearest.NearestClassifier, "fit", fit)
    with pytest.raises(wc.MissingExtraError):
        tune()


@pytest.mark.parametrize(
    ("budget", "n_trials"),
    # 10 s a trial, and 12.5 s are set aside for the last fit, on all documents
    [(0, 1), (5, 1), (32, 1), (32.5, 2), (33, 2), (45, 3), (52, 3), (53, 4), (1000, 9), (None, 9)],
)
def test_the_budget_is_kept(spy, clock, budget, n_trials):
    tuned = tune(budget=budget, clock=clock)
    assert len(tuned.trials) == n_trials
    assert len(spy.learned_from) == n_trials + 1
    if n_trials < 9:
        assert "budget" in tuned.ended


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (9, "the budget of 9 s is spent"),
        (10, "the budget of 10 s is spent"),
        (
            11,
            "1 s of the budget are left: too few for one more trial .about 10 s. and the last fit",
        ),
    ],
)
def test_why_the_search_ended_is_told(spy, clock, budget, reason):
    assert re.match(reason, tune(budget=budget, clock=clock).ended)


def test_progress_is_told_by_trial():
    told = []
    with progress.on_progress(lambda *what: told.append(what)):
        tuned = tune(grid={"shrinkage": [0.0, 5.0]})
    own = [each for each in told if each[0] == "tuning"]
    assert own == [("tuning", k, None) for k in range(len(tuned.trials))]


def test_trials_of_other_vectors_or_options_have_another_key():
    def key(vectors, **settings):
        documents = Documents(["moon", "rose"], encode_labels(["space", "garden"]))
        trials = _Trials("linear", {"vectors": vectors}, documents, documents, time.monotonic)
        return trials.key(settings)

    first = key(wc.WordVectors.of(["a", "b"], [[1.0], [2.0]]), C=1.0)
    assert key(wc.WordVectors.of(["a", "b"], [[1.0], [2.0]]), C=1.0) == first
    assert key(wc.WordVectors.of(["a", "c"], [[1.0], [2.0]]), C=1.0) != first
    assert key(wc.WordVectors.of(["a", "b"], [[1.0], [3.0]]), C=1.0) != first
    assert key(wc.WordVectors.of(["a", "b"], [[1.0], [2.0]]), C=2.0) != first
    assert key(None, C=1.0) != first


def test_trials_of_the_journal_count_but_are_not_made_again(spy, clock, tmp_path):
    journal = tmp_path / "deep" / "trials.jsonl"
    first = tune(budget=45, clock=clock, journal=journal)
    kept = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [each["classifier"] for each in kept] == ["nearest"] * 3
    spy.learned_from.clear()
    again = tune(budget=45, clock=clock, journal=journal)
    assert len(spy.learned_from) == 1  # the best, on all documents
    assert again.best == first.best
    assert all(trial.is_resumed for trial in again.trials)
    longer = tune(budget=55, clock=clock, journal=journal)
    assert [trial.is_resumed for trial in longer.trials] == [True] * 3 + [False]
    whole = tune(journal=journal)
    alone = tune()
    assert settings_of(whole) == settings_of(alone)
    assert [each.macro_f1 for each in whole.trials] == [each.macro_f1 for each in alone.trials]
    least = tune(budget=0, journal=journal)
    assert len(least.trials) == len(whole.trials)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"validation": 0.5},
        {"options": {"mask_numbers": False}},
        {"texts": [*TEXTS[:-1], "another text"]},
        {"labels": [*LABELS[:-1], "space"]},
    ],
)
def test_trials_of_another_task_are_left_alone(spy, tmp_path, change):
    journal = tmp_path / "trials.jsonl"
    tune(journal=journal)
    n_before = len(journal.read_text().splitlines())
    options = {"texts": TEXTS, "labels": LABELS, "grid": GRID, "journal": journal, **change}
    tuned = wc.tune(classifier="nearest", **options)
    assert not any(trial.is_resumed for trial in tuned.trials)
    assert len(journal.read_text().splitlines()) == n_before + len(tuned.trials)


def test_another_grid_makes_use_of_the_same_trials(tmp_path):
    journal = tmp_path / "trials.jsonl"
    tune(journal=journal)
    tuned = tune(journal=journal, grid={"shrinkage": [20.0, 50.0]})
    assert [trial.is_resumed for trial in tuned.trials] == [True, True, False]


def test_several_labels_a_text_and_matrices_are_tuned_too():
    texts, labels = multilabel_corpus(90)
    tuned = wc.tune(texts, labels, "nearest", grid=GRID)
    assert tuned.model.predict(["moon orbit rocket star lunar"]) == [("space",)]
    classes = ["space", "garden", "music"]
    Y = np.array([[name in given for name in classes] for given in labels]).astype(int)
    from_matrix = wc.tune(texts, Y, "nearest", grid=GRID, class_names=classes)
    assert from_matrix.model.predict(["moon orbit rocket star lunar"]).tolist() == [[1, 0, 0]]
    for one, other in zip(tuned.trials, from_matrix.trials, strict=True):
        assert (one.settings, one.macro_f1) == (other.settings, other.macro_f1)


def test_what_is_best_is_for_the_user_to_say(monkeypatch):
    tuned = {target: tune(target=target) for target in ("macro_f1", "micro_f1", "accuracy")}
    for target, found in tuned.items():
        best = max(getattr(trial, target) for trial in found.trials)
        assert getattr(found.ranked[0], target) == best
        assert found.target == target
    assert tune(target="macro").target == "macro_f1"
    with pytest.raises(wc.InputError, match="target is 'best'; expected 'both', 'macro_f1'"):
        tune(target="best")


class Choosing(nearest.NearestClassifier):
    """Chooses the shrinkage by itself if it is "auto"."""

    options = MappingProxyType(
        {
            **nearest.NearestClassifier.options,
            "shrinkage": replace(nearest.NearestClassifier.options["shrinkage"], also=("auto",)),
        }
    )

    def __init__(self, *, target="both", shrinkage="auto", ngrams=(1, 1), n_fits=None):
        super().__init__(shrinkage=shrinkage, ngrams=ngrams, min_docs=1)
        self.target, self.n_fits = target, n_fits

    def _new_embeddings(self):
        return wc.WordClassEmbeddings(
            shrinkage=self.settings_["shrinkage"], ngrams=self.ngrams, min_docs=1
        )

    def fit(self, *given, **options):
        chosen = np.float32(0.5) if self.shrinkage == "auto" else self.shrinkage
        self.settings_ = {"shrinkage": chosen, "ngrams": self.ngrams, "other": 1}
        return super().fit(*given, **options)

    probabilities = False


def test_a_classifier_that_chooses_by_itself_chooses_by_the_same_target(monkeypatch):
    monkeypatch.setattr(nearest, "make", Choosing)
    tuned = tune(grid={"shrinkage": [5.0]}, target="micro_f1")
    assert tuned.model.target == "micro_f1"
    assert tune(grid={"shrinkage": [5.0]}, target="accuracy").model.target == "accuracy"


def test_what_a_classifier_chose_by_itself_is_where_the_search_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(nearest, "make", Choosing)
    grid = {"shrinkage": [0.5, 50.0], "ngrams": [(1, 1), (1, 2)]}
    for _ in range(2):  # the second time from the journal
        tuned = tune(grid=grid, journal=tmp_path / "trials.jsonl")
        first, *others = tuned.trials
        assert first.settings == {"shrinkage": "auto", "ngrams": (1, 1)}
        assert first.chosen == {"shrinkage": 0.5, "ngrams": [1, 1], "other": 1}
        assert first.resolved == {"shrinkage": 0.5, "ngrams": (1, 1)}
        # what it chose is known already, and nothing more is left to it
        assert len(others) == 3
        assert all(trial.settings["shrinkage"] != "auto" for trial in others)
        assert tuned.best == tuned.ranked[0].resolved
        assert tuned.model.shrinkage == tuned.best["shrinkage"]


def test_every_trial_is_told():
    told = []
    assert tune(tell=told.append).trials == told


def test_a_search_that_is_interrupted_keeps_its_trials(spy, tmp_path):
    journal = tmp_path / "trials.jsonl"

    def interrupt(trial):
        if trial.settings["shrinkage"] == 20.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(journal=journal, tell=interrupt)
    n_done = len(journal.read_text().splitlines())
    spy.learned_from.clear()
    tuned = tune(journal=journal)
    assert len(spy.learned_from) == len(tuned.trials) - n_done + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {}}, "'nearest' has no grid to search"),
        ({"grid": {"shrinkage": []}}, "expected a list of values"),
        ({"grid": {"correlation": "dot"}}, "expected a list of values"),
        ({"grid": {"depth": [1]}}, "has no option 'depth'; expected one of "),
        ({"options": {"depth": 1}}, "has no option 'depth'; expected one of "),
        ({"options": {"shrinkage": 1.0}}, "'shrinkage' is both fixed and in the grid"),
        ({"vectors": wc.WordVectors.of(["a"], [[1.0]])}, "has no option 'vectors'"),
        ({"validation": 0.0}, "validation is 0.0; expected .* above 0 and below 1"),
        ({"validation": "half"}, "above 0 and below 1"),
        ({"validation": 1.0}, "above 0 and below 1"),
    ],
)
def test_what_cannot_be_searched_is_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        tune(**options)


def test_without_a_grid_the_own_one_of_the_classifier_is_searched(monkeypatch):
    tuned = tune(grid=None, options={"min_docs": 1}, budget=0)
    assert set(tuned.best) == set(nearest.GRID) - {"min_docs"}
    monkeypatch.delattr(nearest, "GRID")
    with pytest.raises(wc.InputError, match="no grid"):
        tune(grid=None)


@pytest.mark.parametrize("name", catalogue.names("classifiers"))
def test_the_grid_of_a_classifier_has_options_that_it_has(name):
    grid = getattr(catalogue.entry("classifiers", name), "GRID", {})
    for option, values in grid.items():
        for value in values:
            wc.classifier(name, **{option: value})
        assert option in wc.classifier(name).get_params()
        assert len(values) > 1


@pytest.mark.parametrize("budget", ["10m", -1, math.nan, True])
def test_a_budget_is_a_number_of_seconds(budget):
    with pytest.raises(
        wc.InputError, match=r"budget is .*; expected a number from 0 up \(seconds\)"
    ):
        wc.tune(*corpus(), "nearest", budget=budget)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"a": 9, "b": 0}, 7.0),  # as the longest of the two with the same b
        ({"a": 0, "b": 9}, 3.0),
        ({"a": 8, "b": 8}, 7.0),  # all differ in both
    ],
)
def test_a_trial_is_expected_to_take_as_long_as_those_like_it(settings, seconds):
    trials = [
        Trial({"a": 0, "b": 0}, 3.0),
        Trial({"a": 1, "b": 0}, 7.0),
        Trial({"a": 1, "b": 1}, 5.0),
        Trial({"a": 9, "b": 0}, 100.0, message="no room"),
    ]
    assert expected_seconds(settings, trials) == seconds
    assert expected_seconds(settings, []) == 0.0


# --- the documents that decide -----------------------------------------------------------------


def documents(texts, labels):
    return Documents(list(texts), encode_labels(labels))


def share_of_each_class(part, whole):
    counts = [np.asarray(each.labels.Y.sum(axis=0)).ravel() for each in (part, whole)]
    return counts[0] / counts[1]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
def test_about_that_share_of_every_class_is_kept_to_validate(make, share):
    whole = documents(*make(600))
    train, validation = split(whole, share, seed=1)
    assert len(train.texts) + len(validation.texts) == 600
    assert len(validation.texts) / 600 == pytest.approx(share, abs=0.01)
    assert share_of_each_class(validation, whole) == pytest.approx(share, abs=0.05)


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), min_size=3),
    st.floats(0.01, 0.99),
)
def test_equal_texts_are_on_one_side_and_no_class_is_lost(pairs, share):
    whole = documents([text for text, _ in pairs], [label for _, label in pairs])
    try:
        train, validation = split(whole, share, seed=0)
    except InputError:  # too few documents
        return
    assert not set(train.texts) & set(validation.texts)
    assert len(train.texts) + len(validation.texts) == len(pairs)
    assert (np.asarray(train.labels.Y.sum(axis=0)) > 0).all()


def test_the_checksum_tells_documents_apart():
    texts, labels = corpus()
    own = digest_of(documents(texts, labels))
    assert digest_of(documents(texts, labels)) == own
    assert digest_of(documents(texts[::-1], labels[::-1])) != own
    assert digest_of(documents(["moon", *texts[1:]], labels)) != own
    assert digest_of(documents(texts, [[label] for label in labels])) != own
    assert digest_of(documents(["a", "b"], ["\ud800", "x"]))


def test_documents_of_which_none_can_be_spared_are_refused():
    with pytest.raises(InputError, match="2 documents are too few"):
        split(documents(["moon", "rose"], ["space", "garden"]), 0.5, seed=0)


@pytest.mark.parametrize(("share", "expected"), [(0.001, 0.05), (0.02, 0.05), (0.999, 0.95)])
def test_a_share_near_0_or_1_is_made_the_nearest_there_is(share, expected):
    _, validation = split(documents(*corpus(600)), share, seed=1)
    assert len(validation.texts) / 600 == pytest.approx(expected, abs=0.01)


# --- trials on disk ----------------------------------------------------------------------------


def test_what_was_added_is_found_again_by_its_key(tmp_path):
    path = tmp_path / "new" / "trials.jsonl"
    journal = Journal.open(path)
    assert not path.exists()
    journal.add("a", TRIAL)
    journal.add("b", {**TRIAL, "seconds": 2.0})
    assert Journal.open(path).trials["b"] == {"key": "b", **TRIAL, "seconds": 2.0}
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_a_trial_that_does_not_fit_on_the_disk_is_an_error_and_forgotten(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "trials.jsonl"
    journal = Journal.open(path)
    journal.add("a", TRIAL)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
    try:
        with pytest.raises(StorageError, match="cannot be written: File too large"):
            journal.add("b", TRIAL)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set(Journal.open(path).trials) == {"a"}
    journal.add("c", TRIAL)
    assert set(Journal.open(path).trials) == {"a", "c"}


@pytest.mark.parametrize("n_cut", [1, 2, 30])
def test_a_last_line_that_was_never_finished_is_forgotten(tmp_path, n_cut):
    path = tmp_path / "trials.jsonl"
    for key in ("a", "b"):
        Journal.open(path).add(key, TRIAL)
    path.write_bytes(path.read_bytes()[:-n_cut])
    journal = Journal.open(path)
    assert set(journal.trials) == {"a"}
    journal.add("c", TRIAL)
    assert set(Journal.open(path).trials) == {"a", "c"}


@pytest.mark.parametrize(
    "line", ["a thesis", "{}", "[1]", '{"text": "moon", "labels": []}', "\xff"]
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path, line):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(f"{line}\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"docs.jsonl, line 1: no trial"):
        Journal.open(path)
    assert path.read_bytes() == f"{line}\n".encode("latin-1")


def test_without_a_file_nothing_is_kept(tmp_path):
    Journal.open(None).add("a", TRIAL)
    assert Journal.open(None).trials == {}
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        Journal.open(tmp_path / "file" / "trials.jsonl").add("a", TRIAL)


def test_a_whole_number_is_the_float_it_stands_for():
    tuned = tune(grid={"shrinkage": [0, 5, np.float64(5.0)], "min_docs": [1, 1.0]})
    tried = [(each["shrinkage"], each["min_docs"]) for each in settings_of(tuned)]
    assert tried[:2] == [(0.0, 5), (5.0, 5)]
    assert sorted(set(map(str, tried))) == sorted(map(str, tried))
    assert {str(n_docs) for _, n_docs in tried} == {"5", "1", "1.0"}
    assert all(type(shrinkage) is float for shrinkage, _ in tried)


def test_a_whole_number_is_a_float_also_where_the_default_is_none():
    tuned = wc.tune(TEXTS, LABELS, "linear", grid={"C": [1, 1.0, 2]}, start={"C": 1})
    assert [str(each["C"]) for each in settings_of(tuned)] == ["1.0", "2.0"]


def test_a_budget_without_an_end_is_none_at_all():
    endless = tune(budget=math.inf)
    assert [trial.status for trial in endless.trials] == ["done"] * len(endless.trials)
    assert settings_of(endless) == settings_of(tune())


def test_values_that_are_stored_alike_are_tried_once():
    tried = settings_of(tune(grid={"ngrams": [[1, 1], (1, 2)]}, start={"ngrams": (1, 1)}))
    assert [tuple(settings["ngrams"]) for settings in tried] == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("error", "is_a_trial"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("shapes do not fit"), False),
        (StorageError("the disk is full"), False),
    ],
    ids=str,
)
def test_memory_of_torch_that_runs_out_is_a_failed_trial_and_a_full_disk_is_none(
    monkeypatch, error, is_a_trial
):
    class Failing(nearest.NearestClassifier):
        def fit(self, texts, labels, **options):
            if self.shrinkage == 20.0:
                raise error
            return super().fit(texts, labels, **options)

    monkeypatch.setattr(nearest, "make", Failing)
    if is_a_trial:
        failed = [trial for trial in tune().trials if trial.status == "failed"]
        assert failed
        assert all(trial.settings["shrinkage"] == 20.0 for trial in failed)
    else:
        with pytest.raises(type(error), match=str(error)):
            tune()
