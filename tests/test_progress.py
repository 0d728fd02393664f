from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from made_up import corpus

import wordclass as wc
from wordclass import progress


def test_progress_is_told_to_the_listener_of_the_block_and_to_nobody_after_it():
    told = []
    progress.report("before", 1)
    with progress.on_progress(lambda *what: told.append(what)):
        progress.report("inside", 2, 3)
    progress.report("after", 4)
    assert told == [("inside", 2, 3)]


def test_users_are_told_of_a_fit():
    told = []
    with wc.on_progress(lambda *what: told.append(what)):
        wc.classifier("linear", min_docs=1, loss="squared_hinge").fit(*corpus(30))
    assert ("counting words", 1, 1) in told
    last = {step: (done, total) for step, done, total in told}
    assert last["choosing settings"] == (7, 7)


def test_an_inner_listener_takes_over_and_hands_back_even_after_an_error():
    outer, inner = [], []
    with progress.on_progress(lambda *what: outer.append(what)):
        with suppress(KeyError), progress.on_progress(lambda *what: inner.append(what)):
            progress.report("inner", 1)
            raise KeyError
        progress.report("outer", 2)
    assert inner == [("inner", 1, None)]
    assert outer == [("outer", 2, None)]


def test_iterating_reports_what_is_done_and_passes_the_items_on():
    told = []
    with progress.on_progress(lambda *what: told.append(what)):
        assert list(progress.over("ab", "step")) == ["a", "b"]
    assert told == [("step", 0, 2), ("step", 1, 2), ("step", 2, 2)]


def test_an_item_counts_as_done_only_when_the_next_is_asked_for():
    told = []
    with progress.on_progress(lambda _step, done, _total: told.append(done)):
        items = progress.over("ab", "step")
        next(items)
        assert told == [0]
        next(items)
        assert told == [0, 1]


def test_the_listener_of_one_thread_does_not_hear_another():
    told = []
    with progress.on_progress(lambda *what: told.append(what)), ThreadPoolExecutor(1) as threads:
        threads.submit(progress.report, "elsewhere", 1).result()
    assert told == []
