from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from made_up import corpus

import wordclass as wc
from wordclass import progress


def test_only_the_listener_of_the_block_receives_progress():
    reports = []
    progress.report("before", 1)
    with progress.on_progress(lambda *report: reports.append(report)):
        progress.report("inside", 2, 3)
    progress.report("after", 4)
    assert reports == [("inside", 2, 3)]


def test_fit_reports_progress():
    reports = []
    with wc.on_progress(lambda *report: reports.append(report)):
        wc.classifier("linear", min_docs=1, loss="squared_hinge").fit(*corpus(30))
    assert ("counting words", 1, 1) in reports
    last_report = {step: (done, total) for step, done, total in reports}
    assert last_report["choosing settings"] == (7, 7)


def test_an_inner_listener_replaces_the_outer_one_until_its_block_ends_by_an_error():
    outer, inner = [], []
    with progress.on_progress(lambda *report: outer.append(report)):
        with suppress(KeyError), progress.on_progress(lambda *report: inner.append(report)):
            progress.report("inner", 1)
            raise KeyError
        progress.report("outer", 2)
    assert inner == [("inner", 1, None)]
    assert outer == [("outer", 2, None)]


def test_track_yields_the_items_and_reports_after_each():
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        assert list(progress.track("ab", "step")) == ["a", "b"]
    assert reports == [("step", 0, 2), ("step", 1, 2), ("step", 2, 2)]


def test_an_item_counts_as_done_when_the_next_one_is_requested():
    reports = []
    with progress.on_progress(lambda _step, done, _total: reports.append(done)):
        items = progress.track("ab", "step")
        next(items)
        assert reports == [0]
        next(items)
        assert reports == [0, 1]


def test_a_listener_does_not_receive_reports_of_another_thread():
    reports = []
    with (
        progress.on_progress(lambda *report: reports.append(report)),
        ThreadPoolExecutor(1) as threads,
    ):
        threads.submit(progress.report, "elsewhere", 1).result()
    assert reports == []
