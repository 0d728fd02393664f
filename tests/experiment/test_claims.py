from dataclasses import replace

import pytest
from experiment.made_results import add

from wordclass.experiment import paper
from wordclass.experiment.claims import CLAIMS, Claim, Evidence
from wordclass.experiment.plans import Plan
from wordclass.experiment.runs import Results
from wordclass.experiment.statistics import Summary
from wordclass.experiment.tables import MEASURES, Cell, Table, improvements, make

NOTHING = Evidence({})


def verdict_of(part, evidence):
    (claim,) = (claim for claim in CLAIMS if part in claim.text)
    return claim.verdict(evidence)[0]


def evidence_of(tmp_path, plan, score, only=None):
    """The tables of one of our plans, with a result for each run that `score` has one for."""
    results, plan = Results(tmp_path / "out"), Plan.read(plan)
    for run in plan.runs(only):
        facts = score(run)
        if facts is not None:
            add(results, run, **facts)
    return Evidence({plan.name: make(plan, results, only, tests=False)})


def test_without_results_no_claim_is_decided():
    assert {claim.verdict(NOTHING)[0] for claim in CLAIMS} == {"could not be run"}


def test_every_section_of_the_experiments_has_claims():
    assert {claim.section for claim in CLAIMS} == {f"4.{k}" for k in range(4, 12)}
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    ("votes", "share", "expected"),
    [
        ([], 1.0, "could not be run"), ([True], 1.0, "holds here"), ([False], 1.0, "does not"),
        ([True] * 4 + [False], 0.8, "holds here"), ([True] * 3 + [False] * 2, 0.8, "does not"),
        ([False] * 3 + [True], 1e-9, "holds here"), ([False] * 3, 1e-9, "does not"),
    ],
)  # fmt: skip
def test_a_claim_holds_where_enough_cells_say_so(votes, share, expected):
    claim = Claim("4.4", "text", lambda _: [("cell", vote) for vote in votes], share)
    assert claim.verdict(NOTHING)[0] == expected


@pytest.mark.parametrize("votes", [[True] * 2, [False] * 2, [True, False]])
def test_a_claim_of_no_pattern_holds_where_cells_disagree(votes):
    (claim,) = (claim for claim in CLAIMS if "faster in some cases" in claim.text)
    found = replace(claim, votes=lambda _: [("cell", vote) for vote in votes]).verdict(NOTHING)[0]
    assert found == ("holds here" if len(set(votes)) == 2 else "does not")


def papers_evidence():
    """The paper's own tables, as if they had been measured."""
    f1 = [
        Table(MEASURES[measure], "share", ("learner", "variant"), (), {
            ((learner, variant), dataset): Cell(
                Summary(cell.value, cell.deviation, 10), n_daggers=cell.marks.count("d"))
            for (dataset, learner, variant), cell in paper.cells(measure).items()
        })
        for measure in MEASURES
    ]  # fmt: skip
    times = {
        ((learner, variant), dataset): Cell(Summary(cell.value, None, 10))
        for (dataset, learner, variant), cell in paper.cells("run_times").items()
    }
    embedding = {
        ((name,), dataset): Cell(Summary(float(seconds), None, 1))
        for dataset, own in paper.numbers()["embedding_times"].items()
        for name, seconds in own.items()
    }
    return Evidence({
        "f1": [*f1, *improvements(dict(zip(MEASURES, f1, strict=True)))],
        "run_times": [Table("Seconds of training", "seconds", ("learner", "variant"), (), times)],
        "embedding_times": [Table("Seconds to make", "seconds", ("what",), (), embedding)],
    })  # fmt: skip


# what the paper says of its own tables, judged by them
IN_THE_PAPER = {
    "SVM with tf-idf is hard to beat": "holds here",
    "raise SVM above tf-idf on 20 Newsgroups": "holds here",
    "not raise SVM above tf-idf on Reuters": "holds here",
    "The best neural method has": "holds here",
    "beside static pretrained ones": "holds here",
    "beside trainable pretrained ones": "holds here",
    "The average improvements are significant": "holds here",
    "random columns help less": "holds here",
    "helps the CNN (pretrained)": "holds here",
    "helps the CNN (with word-class": "holds here",
    "always help LSTM and attention (pretrained)": "holds here",
    "always help LSTM and attention (with word-class": "holds here",
    "SVM with tf-idf is typically": "holds here",
    "SVM is slower with dense": "holds here",
    "far longer (twice any other) on JRC-Acquis": "holds here",
    "fastText is the fastest": "holds here",
    "faster in some cases": "holds here",
    "Making S typically": "holds here",
    "Information gain and chi-square": "holds here",
    "takes less time than any training": "does not",  # SVM with tf-idf on 20 Newsgroups: 2 s
}


@pytest.mark.parametrize("part", IN_THE_PAPER)
def test_the_papers_own_tables_decide_its_claims(part):
    assert verdict_of(part, papers_evidence()) == IN_THE_PAPER[part]


def test_improvements_of_other_plans_decide_nothing():
    evidence = papers_evidence()
    other = Evidence({"smoke": evidence.tables["f1"]})
    assert verdict_of("The average improvements are significant", other) == "could not be run"


def test_the_share_of_almost_always_is_just_reached_by_the_paper():
    (claim,) = (claim for claim in CLAIMS if "beside static" in claim.text)
    votes = claim.verdict(papers_evidence())[1]
    assert (sum(vote for _, vote in votes), len(votes)) == (37, 46)


def test_a_tie_with_the_best_neural_method_is_told_by_daggers():
    evidence = papers_evidence()
    (claim,) = (claim for claim in CLAIMS if "The best neural method" in claim.text)
    votes = dict(claim.verdict(evidence)[1])
    # attention with trained GloVe is best; with word-class embeddings it is not different
    (told,) = (each for each in votes if each.startswith("Micro F1 wipo_gamma"))
    assert "against attention vectors-trainable 0.707" in told
    assert votes[told]


def test_learners_that_the_paper_does_not_have_decide_nothing_of_times():
    evidence = papers_evidence()
    (times,) = evidence.tables["run_times"]
    for dataset in paper.numbers()["counts"]:
        times.cells[("nearest", "default"), dataset] = Cell(Summary(0.001, None, 1))
    for part in ("SVM with tf-idf is typically", "fastText is the fastest"):
        assert verdict_of(part, evidence) == "holds here"
    (claim,) = (claim for claim in CLAIMS if "less time than any training" in claim.text)
    assert sum(vote for _, vote in claim.verdict(evidence)[1]) == 5


def epochs(**values):
    """A history in which each measure has the given values, epoch by epoch."""
    return [
        {"epoch": k + 1, **dict(zip(values, each, strict=True))}
        for k, each in enumerate(zip(*values.values(), strict=True))
    ]


HISTORIES = {
    "random": epochs(
        loss=[3, 2, 0.5], validation_loss=[3, 3, 3], validation_macro_f1=[0, 0.1, 0.2]
    ),
    "vectors": epochs(loss=[3, 2, 1], validation_loss=[3, 2, 2], validation_macro_f1=[0, 0.1, 0.3]),
    "vectors+wce": epochs(
        loss=[2, 1, 1], validation_loss=[2, 2, 1], validation_macro_f1=[0.3, 0.4, 0.5]
    ),
}


@pytest.mark.parametrize("is_other_way", [False, True])
def test_curves_decide_by_their_epochs(tmp_path, is_other_way):
    names = dict(zip(HISTORIES, reversed(HISTORIES), strict=True)) if is_other_way else {}

    def score(run):
        return {"history": HISTORIES[names.get(run.variant, run.variant)]}

    evidence = evidence_of(
        tmp_path, "learning_curves", score, {"dataset": ["newsgroups20"], "learner": ["cnn"]}
    )
    expected = "does not" if is_other_way else "holds here"
    assert verdict_of("lower the training loss faster", evidence) == expected
    assert verdict_of("their validation loss ends higher", evidence) == expected
    assert verdict_of("fewer epochs are needed", evidence) == expected


@pytest.mark.parametrize(
    ("scores", "any_p", "half", "close"),
    [
        ([0.5, 0.6, 0.7, 0.6], "holds here", "holds here", "holds here"),
        ([0.5, 0.605, 0.6, 0.6], "holds here", "does not", "holds here"),
        ([0.5, 0.6, 0.5, 0.4], "does not", "does not", "does not"),
        ([0.9, 0.6, 0.5, 0.4], "does not", "does not", "does not"),
    ],
)
def test_dropout_decides_by_the_best_p(tmp_path, scores, any_p, half, close):
    by_p = dict(zip([0.0, 0.2, 0.5, 0.8], scores, strict=True))

    def score(run):
        p = run.options["supervised_dropout"]
        return {"macro": by_p[p], "history": epochs(loss=[2.0, 1.0 + p])}

    evidence = evidence_of(tmp_path, "dropout", score, {"dataset": ["newsgroups20"]})
    assert verdict_of("Without supervised dropout", evidence) == "holds here"
    assert verdict_of("unseen data are classified worse", evidence) == any_p
    assert verdict_of("p = .5 is the best", evidence) == half
    assert verdict_of("p = .5 is a good choice", evidence) == close


@pytest.mark.parametrize(
    ("ppmi", "dot", "weak"),
    [
        (0.5, "holds here", "holds here"),
        (0.605, "holds here", "does not"),
        (0.7, "does not", "does not"),
    ],
)
def test_correlations_decide_by_the_distance_from_the_best(tmp_path, ppmi, dot, weak):
    scores = {"dot": 0.6, "ppmi": ppmi}

    def score(run):
        return {"macro": scores.get(run.options["correlation"], 0.4)}

    only = {"dataset": ["reuters21578"], "learner": ["nearest", "svm"]}
    evidence = evidence_of(tmp_path, "correlations", score, only)
    assert verdict_of("The dot product is almost always", evidence) == dot
    assert verdict_of("PPMI is weak on Reuters", evidence) == weak


@pytest.mark.parametrize(
    ("by_name", "expected"),
    [
        ({"information_gain": 0.6, "chi_square": 0.7}, "holds here"),
        ({"information_gain": 0.06, "chi_square": 0.7}, "does not"),
        ({}, "could not be run"),
    ],
)
def test_correlations_that_were_not_timed_decide_nothing(tmp_path, by_name, expected):
    def score(run):
        return {"extra": {"X": 2.0, "S": 0.05, "by_correlation": by_name}, "scores": {}}

    evidence = evidence_of(tmp_path, "embedding_times", score)
    assert verdict_of("Information gain and chi-square", evidence) == expected


@pytest.mark.parametrize(
    ("shares", "nearly_all", "both"),
    [((0.3, 0.95, 0.8), "holds here", "holds here"), ((0.3, 0.8, 0.5), "does not", "does not")],
)
def test_maps_decide_by_the_neighbors(tmp_path, shares, nearly_all, both):
    titles = ("Without the classes", "Word-class embeddings", "Both, side by side")
    panels = [{"title": t, "neighbor_share": s} for t, s in zip(titles, shares, strict=True)]
    evidence = evidence_of(tmp_path, "visualization", lambda run: {"extra": {"panels": panels}})
    assert verdict_of("gather nearly all terms", evidence) == nearly_all
    assert verdict_of("closer to that than to pretrained", evidence) == both


@pytest.mark.parametrize("change", [0.005, 0.02])
def test_predictions_for_unseen_terms_decide_by_what_they_change(tmp_path, change):
    def score(run):
        if run.learner == "unseen_terms":
            return {"extra": {"share": 0.1 if run.dataset == "rcv1" else 0.02}, "scores": {}}
        return {"macro": 0.6 + change * ("unseen" in run.options)}

    evidence = evidence_of(tmp_path, "unseen_terms", score)
    expected = "holds here" if change < 0.01 else "does not"
    assert verdict_of("change macro F1 by less", evidence) == expected
    assert verdict_of("Few words of test texts", evidence) == "does not"


def test_other_vectors_are_those_that_are_not_of_glove(tmp_path):
    def score(run):
        is_glove = run.vectors.startswith("glove")
        return {"macro": 0.5 + 0.1 * (run.variant == "vectors+wce") * (1 if is_glove else -1)}

    evidence = evidence_of(tmp_path, "vectors", score, {"learner": ["svm"]})
    assert verdict_of("beside other pretrained vectors", evidence) == "does not"
