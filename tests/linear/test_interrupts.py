"""Ctrl-C is heard long before the work is done, also by work in several threads."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from wordclass.linear.newton import DenseOneVsRest
from wordclass.linear.problem import Costs, Features, Problem

GENERATOR = np.random.default_rng(0)


def products():
    X = sparse.random(600, 2_000, density=0.5, format="csr", random_state=GENERATOR)
    return lambda: Features.of(X).products()


def newton(n_threads):
    Y = sparse.csr_matrix(GENERATOR.integers(0, 2, size=(20_000, 8)).astype(float))
    costs = Costs.balanced(Y, None, is_multilabel=True)
    machines = DenseOneVsRest(Problem(GENERATOR.normal(size=(Y.shape[0], 60)), Y, costs), n_threads)
    rows = np.arange(Y.shape[0])
    return lambda: machines.validate(np.logspace(-3, 3, 7), rows, rows[:10])


@pytest.mark.parametrize("make", [products, lambda: newton(1), lambda: newton(2)])
def test_ctrl_c_ends_the_work_before_it_is_done(make):
    work, handler = make(), signal.signal(signal.SIGINT, signal.default_int_handler)
    begun, start = time.process_time(), time.perf_counter()
    work()
    whole, seconds, sent, shares = time.process_time() - begun, time.perf_counter() - start, [], []

    def send():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def work_until_sent():
        timer = threading.Timer(seconds / 3, send)
        timer.start()
        work()
        timer.join()  # where the work was over sooner

    try:
        for _ in range(3):  # the machine may be busy: the best counts
            with pytest.raises(KeyboardInterrupt):
                work_until_sent()
            shares.append((time.process_time() - sent[-1]) / whole)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert min(shares) < 1 / 4
