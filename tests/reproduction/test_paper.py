"""The arithmetic of the paper, recomputed from its tables, and its inconsistencies."""

import pytest
from scipy import stats

from wordclass.reproduction import paper
from wordclass.reproduction.statistics import Summary, daggers, relative_improvement, t_test

MEASURES = ("macro_f1", "micro_f1")
DATASETS = sorted(paper.numbers()["counts"])
F1 = {measure: paper.cells(measure) for measure in MEASURES}
# cells printed with the same three digits as the best; the paper marks one, by digits it omits
TIES = {
    ("macro_f1", "rcv1", "fasttext"), ("micro_f1", "rcv1", "fasttext"),
    ("micro_f1", "wipo_gamma", "attention"), ("micro_f1", "wipo_gamma", "lstm"),
}  # fmt: skip


def column(measure, dataset, learners=("svm", *paper.NEURAL)):
    return {
        key[1:]: cell
        for key, cell in F1[measure].items()
        if key[0] == dataset and key[1] in learners
    }


def best_of(cells):
    top = max(cell.value for cell in cells.values())
    return {key for key, cell in cells.items() if cell.value == top}


@pytest.mark.parametrize("measure", MEASURES)
def test_every_cell_of_a_results_table_is_there(measure):
    n_variants = {"svm": 3, "fasttext": 4, "cnn": 6, "lstm": 6, "attention": 6}
    for learner, n in n_variants.items():
        n_datasets = 5 if learner == "svm" else 6  # no SVM on WIPO-gamma
        assert sum(key[1] == learner for key in F1[measure]) == n * n_datasets
    assert len(F1[measure]) == 147
    assert all((cell.deviation is None) == (key[1] == "svm") for key, cell in F1[measure].items())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dataset", DATASETS)
def test_bold_cells_are_the_best_of_their_data_set(measure, dataset):
    cells = column(measure, dataset)
    bold = {key for key, cell in cells.items() if "b" in cell.marks}
    # a tie of attention on WIPO-gamma
    assert len(bold) == 1
    assert bold <= best_of(cells)
    assert bold == best_of(cells) or (measure, dataset, "attention") in TIES


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("learner", paper.NEURAL)
@pytest.mark.parametrize("dataset", DATASETS)
def test_shaded_cells_are_the_best_of_their_learner(measure, learner, dataset):
    cells = column(measure, dataset, [learner])
    shaded = {key for key, cell in cells.items() if "s" in cell.marks}
    assert len(shaded) == 1
    assert shaded <= best_of(cells)
    assert (shaded != best_of(cells)) == ((measure, dataset, learner) in TIES)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_daggers_are_those_of_students_t_test_over_ten_runs(measure, dataset):
    """Two daggers mean p > .05, one means p > .005. The caption of the paper has it reversed."""
    neural = column(measure, dataset, paper.NEURAL)
    runs = {key: Summary(cell.value, cell.deviation, 10) for key, cell in neural.items()}
    best = max(neural, key=lambda key: (neural[key].value, "b" in neural[key].marks))
    for key, cell in neural.items():
        n_daggers = 0 if key == best else daggers(t_test(runs[key], runs[best]))
        assert cell.marks.count("d") == n_daggers, (key, cell)


def test_welchs_test_would_give_another_dagger():
    attention = F1["micro_f1"]["wipo_gamma", "attention", "vectors-trainable"]
    lstm = F1["micro_f1"]["wipo_gamma", "lstm", "vectors"]
    summaries = (attention.value, attention.deviation, 10, lstm.value, lstm.deviation, 10)
    assert lstm.marks == "d"
    assert daggers(stats.ttest_ind_from_stats(*summaries, equal_var=False).pvalue) == 2


def test_twenty_cells_do_not_differ_from_the_best():
    marks = [cell.marks.count("d") for cells in F1.values() for cell in cells.values()]
    assert (marks.count(1), marks.count(2)) == (8, 12)


# computed here: (macro, micro); the text says 7.42 / 3.30, 6.66 / 4.42 and 6.19 / 4.40
IMPROVEMENTS = {
    "vectors+wce over vectors": (7.71, 3.40),
    "vectors+wce-trainable over vectors-trainable": (6.90, 4.60),
    "vectors+wce-trainable over vectors+random": (6.30, 4.54),
}


@pytest.mark.parametrize("comparison", IMPROVEMENTS)
@pytest.mark.parametrize("measure", MEASURES)
def test_the_average_improvements_of_the_text_are_near_those_of_the_tables(comparison, measure):
    """No average over the tables gives exactly the numbers of the text.

    Ratios of means over the three networks and six data sets are at most .3 points higher, and
    closer than means of ratios.
    """
    new, old = (
        [F1[measure][dataset, net, variant].value for net in paper.NETWORKS for dataset in DATASETS]
        for variant in comparison.split(" over ")
    )
    improvement = 100 * relative_improvement(new, old)
    published = paper.numbers()["improvements"][comparison][measure]
    assert improvement == pytest.approx(
        IMPROVEMENTS[comparison][MEASURES.index(measure)], abs=0.005
    )
    assert 0.05 < improvement - published < 0.3
    mean_of_ratios = 100 * (sum(a / b for a, b in zip(new, old, strict=True)) / len(new) - 1)
    assert abs(mean_of_ratios - published) > abs(improvement - published)
    # the text finds the first one not significant in micro F1; over the 18 pairs it is
    assert stats.ttest_rel(new, old).pvalue < 0.05


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_neural_method_with_word_class_embeddings_is_best_or_not_different(measure, dataset):
    cells = column(measure, dataset, paper.NEURAL)
    best = best_of(cells)
    assert any(
        "wce" in variant and ((learner, variant) in best or "d" in cell.marks)
        for (learner, variant), cell in cells.items()
    )


@pytest.mark.parametrize("dataset", DATASETS)
def test_sizes_and_times_add_up(dataset):
    published = paper.numbers()
    sizes = published["counts"][dataset]
    assert sizes["n_train"] + sizes["n_test"] == sizes["n_docs"]
    if not sizes["multilabel"]:
        mean = sizes["n_train"] / sizes["n_classes"]
        assert mean == pytest.approx(sizes["prevalence_mean"], abs=0.05)
    x, s, total, x_share, s_share = (
        published["embedding_times"][dataset][name]
        for name in ("X", "S", "total", "X_percent", "S_percent")
    )
    assert x + s == pytest.approx(total, abs=0.25)
    assert x_share + s_share == pytest.approx(100)
    # the paper computed shares from times with more digits: .26 points off for an S of .04 s
    assert 100 * x / total == pytest.approx(x_share, abs=0.3)
    assert (s_share < 10) == (dataset != "jrc_acquis")


@pytest.mark.parametrize("dataset", DATASETS)
def test_bold_run_times_are_the_shortest(dataset):
    times = {key: cell for key, cell in paper.cells("run_times").items() if key[0] == dataset}
    (bold,) = (key for key, cell in times.items() if "b" in cell.marks)
    assert all(cell.value > times[bold].value for key, cell in times.items() if key != bold)
    assert bold[1] == ("fasttext" if dataset == "wipo_gamma" else "svm")


def test_embeddings_take_less_time_than_all_runs_except_one():
    """The text says in all cases. SVM with tf-idf took 2 s on 20 Newsgroups, embeddings 2.12 s."""
    embedding_times = paper.numbers()["embedding_times"]
    times = paper.cells("run_times")
    faster = {key for key, cell in times.items() if cell.value < embedding_times[key[0]]["total"]}
    assert faster == {("newsgroups20", "svm", "tfidf")}
