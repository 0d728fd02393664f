from itertools import islice

import numpy as np
import pytest

from wordclass.corpus.labels import encode_labels
from wordclass.linear.search import Documents, Search, Trial

VALUES = {"a": [0, 1, 2], "b": ["x", "y"], "c": [1.0, 2.0]}
START = {"a": 0, "b": "x", "c": 1.0}


def test_a_part_of_documents_has_their_labels_and_weights():
    whole = Documents(["a", "b", "c"], encode_labels(["x", "y", "x"]), np.array([1.0, 2.0, 3.0]))
    part = whole.part(np.array([2, 1]))
    assert part.texts == ["c", "b"]
    assert part.labels.codeframe is whole.labels.codeframe
    assert part.labels.Y.toarray().tolist() == [[1, 0], [0, 1]]
    assert part.weights.tolist() == [3.0, 2.0]
    assert Documents(["a"], encode_labels(["x"])).part(np.array([0])).weights is None


# --- trials -------------------------------------------------------------------------------------


def test_the_target_says_which_score_counts():
    trial = Trial({}, 0.0, macro_f1=0.2, micro_f1=0.6, accuracy=0.9)
    targets = ("macro_f1", "micro_f1", "accuracy", "both")
    assert [trial.score(target) for target in targets] == [0.2, 0.6, 0.9, 0.4]
    assert Trial({}, 1.0, macro_f1=0.5, message="no room").score("macro_f1") == -np.inf


@pytest.mark.parametrize(("target", "best"), [("macro_f1", 1), ("micro_f1", 2), ("both", 3)])
def test_the_best_trial_is_the_first_of_the_highest_by_the_target(target, best):
    scores = [(0.1, 0.1), (0.9, 0.0), (0.0, 0.9), (0.8, 0.8), (0.9, 0.0), (0.0, 0.9), (0.8, 0.8)]
    trials = [Trial({"a": k}, 0.0, *pair) for k, pair in enumerate(scores)]
    assert Search({}, {}, target, trials=trials).best.settings == {"a": best}


def test_what_is_kept_of_a_trial_is_what_is_read():
    done = Trial({"ngrams": (1, 2)}, 1.23456, 0.5, 0.6, 0.7, chosen={"ngrams": [1, 1]})
    kept = done.to_dict()
    assert kept == {
        "settings": {"ngrams": [1, 2]}, "status": "done", "macro_f1": 0.5, "micro_f1": 0.6,
        "accuracy": 0.7, "seconds": 1.235, "chosen": {"ngrams": [1, 1]},
    }  # fmt: skip
    again = Trial.resumed(done.settings, kept)
    assert again.is_resumed
    assert again.is_done
    assert again.to_dict() == kept
    failed = Trial({"C": 1}, 2.0, message="InputError: no")
    assert failed.to_dict() == {
        "settings": {"C": 1}, "status": "failed", "message": "InputError: no", "seconds": 2.0,
    }  # fmt: skip
    assert not Trial.resumed({"C": 1}, failed.to_dict()).is_done


def test_what_was_chosen_takes_the_place_of_what_was_left_open():
    trial = Trial({"ngrams": "auto", "C": 1.0}, chosen={"ngrams": [1, 2], "other": 5})
    assert trial.resolved == {"ngrams": (1, 2), "C": 1.0}
    assert Trial({"C": 1.0}).resolved == {"C": 1.0}


# --- what to try next ------------------------------------------------------------------------


def search(goodness, seed=0, n=None):
    """Return what is proposed, where the best is known at once."""
    made = Search(VALUES, START, "macro_f1", seed)
    for settings in islice(made.proposals(), n):
        made.trials.append(Trial(settings, macro_f1=goodness(settings)))
    return [trial.settings for trial in made.trials]


def test_everything_comes_once():
    tried = search(lambda _: 0)
    assert len(tried) == 12
    assert len({tuple(each.values()) for each in tried}) == 12
    assert tried[0] == START


def test_what_differs_in_one_value_from_the_best_comes_next():
    tried = search(lambda each: each["a"], n=5)
    assert tried[1:3] == [{**START, "a": 1}, {**START, "a": 2}]
    # the best is now at a = 2, and all others of a were tried
    assert tried[3:5] == [{**START, "a": 2, "b": "y"}, {**START, "a": 2, "c": 2.0}]


def test_a_good_value_of_each_setting_is_found_before_most_of_the_grid_was_tried():
    tried = search(lambda each: each["a"] + (each["b"] == "y") + each["c"])
    # the start, two more of a, one of b, one of c
    assert tried[4] == {"a": 2, "b": "y", "c": 2.0}


def test_the_order_of_the_settings_makes_no_difference():
    made = Search(VALUES, dict(reversed(START.items())), "macro_f1", 0)
    for settings in made.proposals():
        made.trials.append(Trial(settings, macro_f1=0.0))
    assert len(made.trials) == 12


@pytest.mark.parametrize("seed", range(5))
def test_around_a_better_one_found_at_random_the_first_setting_is_varied_first(seed):
    def goodness(settings):
        return sum(settings[name] != START[name] for name in START) > 1

    tried = search(goodness, seed)
    assert [goodness(each) for each in tried[:6]] == [False] * 5 + [True]
    assert tried[6] == {**tried[5], "a": tried[6]["a"]}


def test_the_order_depends_on_the_seed_alone():
    assert search(lambda _: 0, seed=1) == search(lambda _: 0, seed=1)
    assert search(lambda _: 0, seed=1) != search(lambda _: 0, seed=2)


def test_without_a_seed_each_setting_is_varied_once_around_the_best():
    tried = search(lambda each: -each["a"] + (each["b"] == "y"), seed=None)
    assert tried == [
        START, {**START, "a": 1}, {**START, "a": 2}, {**START, "b": "y"},
        {**START, "b": "y", "c": 2.0},
    ]  # fmt: skip


def test_a_huge_grid_is_no_trouble():
    names = [f"s{k}" for k in range(12)]
    huge = Search({name: list(range(10)) for name in names}, dict.fromkeys(names, 0), "macro_f1", 0)
    huge.trials.append(Trial(huge.start, macro_f1=1.0))
    assert len(list(islice(huge.proposals(), 300))) == 300


def test_a_trial_has_no_scores_until_they_are_told():
    trial = Trial({"a": 1})
    assert (trial.seconds, trial.message, trial.chosen, trial.is_resumed) == (0.0, "", {}, False)
    assert trial.is_done
    assert np.isnan([trial.macro_f1, trial.micro_f1, trial.accuracy]).all()


def test_the_best_that_was_never_proposed_is_where_the_search_goes_on():
    made = Search({"a": [0, 1], "b": [0, 1]}, {"a": "auto", "b": 0}, "macro_f1", 0)
    tried = []
    for settings in made.proposals():
        tried.append(settings)
        chosen = {"a": 1} if settings["a"] == "auto" else {}
        made.trials.append(Trial(settings, macro_f1=float(len(tried) == 1), chosen=chosen))
    # a = 1 and b = 0 is what the classifier chose in the first trial
    assert tried[:3] == [{"a": "auto", "b": 0}, {"a": 0, "b": 0}, {"a": 1, "b": 1}]
    assert tried[3:] == [{"a": 0, "b": 1}]
