from collections import Counter
from dataclasses import replace

import pytest
from reproduction.made_results import add

from wordclass.reproduction import paper
from wordclass.reproduction.cells import Cell
from wordclass.reproduction.claims import CLAIMS, Claim, Evidence, Vote, published_evidence
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runs import Results
from wordclass.reproduction.statistics import Summary
from wordclass.reproduction.tables import make

NOTHING = Evidence({})


def verdict_of(part, evidence):
    (claim,) = (claim for claim in CLAIMS if part in claim.text)
    return claim.verdict(evidence).name


def evidence_of(tmp_path, plan, score, only=None):
    """The tables of one of our plans, with a result for each run that `score` has one for."""
    results = Results(tmp_path / "out")
    plan = Plan.read(plan)
    for run in plan.runs(only):
        result_fields = score(run)
        if result_fields is not None:
            add(results, run, **result_fields)
    return Evidence({plan.name: make(plan, results, only, tests=False)})


def test_without_results_no_claim_is_decided():
    names = Counter(claim.verdict(NOTHING).name for claim in CLAIMS)
    # the authors' choices decide about sizes, and no run decides two claims
    assert (names["holds"], names["cannot be run here"]) == (1, 2)
    assert names["not run yet"] == len(CLAIMS) - 3


def test_every_section_of_the_experiments_has_claims():
    assert {claim.section for claim in CLAIMS} == {f"4.{k}" for k in range(4, 12)}
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    ("votes", "share", "expected"),
    [
        ([], 1.0, "not run yet"), ([True], 1.0, "holds"), ([False], 1.0, "does not hold"),
        ([True] * 4 + [False], 0.8, "holds"), ([True] * 3 + [False] * 2, 0.8, "does not hold"),
        ([False] * 3 + [True], 1e-9, "holds"), ([False] * 3, 1e-9, "does not hold"),
    ],
)  # fmt: skip
def test_a_claim_holds_if_enough_cells_support_it(votes, share, expected):
    claim = Claim("4.4", "text", lambda _: [Vote("cell", vote) for vote in votes], share)
    assert claim.verdict(NOTHING).name == expected


@pytest.mark.parametrize(
    ("text", "votes", "expected"),
    [
        ("faster in some cases", [True] * 3, "holds"),
        ("faster in some cases", [False, True], "holds"),
        ("slower in other cases", [False] * 3, "does not hold"),
    ],
)  # fmt: skip
def test_a_claim_about_some_cases_needs_one_of_them(text, votes, expected):
    (claim,) = (claim for claim in CLAIMS if text in claim.text)
    judged = replace(claim, votes=lambda _: [Vote("cell", vote) for vote in votes])
    assert judged.verdict(NOTHING).name == expected


def test_the_sizes_that_the_authors_chose_decide_about_larger_networks():
    assert verdict_of("validation chose networks of equal size", NOTHING) == "holds"


def test_missing_sources_decide_between_not_run_yet_and_cannot_be_run(tmp_path):
    evidence = evidence_of(tmp_path, "correlations", lambda run: None)
    (weak,) = (claim for claim in CLAIMS if "PPMI is weak on Reuters" in claim.text)
    assert weak.verdict(evidence).name == "not run yet"
    assert weak.verdict(evidence).hours > 0
    (on_jrc,) = (claim for claim in CLAIMS if "PPMI is weak on JRC" in claim.text)
    assert on_jrc.verdict(evidence).name == "cannot be run here"
    assert on_jrc.verdict(evidence).missing == ["JRC-Acquis"]
    (by_eye,) = (claim for claim in CLAIMS if "judged by eye" in claim.text)
    assert by_eye.verdict(evidence).missing == ["a reader's judgment"]


def test_selected_evidence_has_the_chosen_data_sets_only(tmp_path):
    evidence = evidence_of(tmp_path, "shrinkage", lambda run: {"macro": 0.5})
    datasets = {names["dataset"] for names, _ in evidence.select({"reuters21578"}).cells()}
    assert datasets == {"reuters21578"}


# verdicts on the paper's claims by its own tables
IN_THE_PAPER = {
    "SVM with tf-idf is hard to beat": "holds",
    "WCEs raise SVM above tf-idf on 20 Newsgroups": "holds",
    "not raise SVM above tf-idf on Reuters": "holds",
    "The best neural method has": "holds",
    "beside static pretrained vectors": "holds",
    "beside trainable pretrained vectors": "holds",
    "The average improvements are significant": "holds",
    "random columns help less": "holds",
    "helps the CNN (GloVe)": "holds",
    "helps the CNN (GloVe+WCEs)": "holds",
    "always help LSTM and ATTN (GloVe)": "holds",
    "always help LSTM and ATTN (GloVe+WCEs)": "holds",
    "SVM with tf-idf is typically": "holds",
    "SVM is slower with dense": "holds",
    "twice as long on JRC-Acquis": "holds",
    "fastText is the fastest": "holds",
    "faster in some cases": "holds",
    "slower in other cases": "holds",
    "Making S typically": "holds",
    "Information gain and chi-square": "holds",
    "takes less time than any training": "does not hold",  # SVM with tf-idf on 20 Newsgroups: 2 s
}


@pytest.mark.parametrize("part", IN_THE_PAPER)
def test_the_papers_own_tables_decide_its_claims(part):
    assert verdict_of(part, published_evidence()) == IN_THE_PAPER[part]


def test_improvements_of_other_plans_decide_nothing():
    evidence = published_evidence()
    other = Evidence({"smoke": evidence.tables["f1"]})
    assert verdict_of("The average improvements are significant", other) == "not run yet"


def test_the_paper_just_reaches_the_share_of_almost_always():
    (claim,) = (claim for claim in CLAIMS if "beside static" in claim.text)
    votes = claim.verdict(published_evidence()).votes
    assert (sum(vote.is_yes for vote in votes), len(votes)) == (37, 46)


def test_daggers_show_a_tie_with_the_best_neural_method():
    evidence = published_evidence()
    (claim,) = (claim for claim in CLAIMS if "The best neural method" in claim.text)
    votes = {vote.text: vote.is_yes for vote in claim.verdict(evidence).votes}
    # attention with trained GloVe is best; with word-class embeddings it is not different
    (text,) = (text for text in votes if text.startswith("Micro F1 wipo_gamma"))
    assert "against attention vectors-trainable 0.707" in text
    assert votes[text]


def test_learners_that_the_paper_lacks_do_not_decide_about_times():
    evidence = published_evidence()
    (times,) = evidence.tables["run_times"]
    for dataset in paper.numbers()["counts"]:
        times.cells[("nearest", "default"), dataset] = Cell(Summary(0.001, None, 1))
    for part in ("SVM with tf-idf is typically", "fastText is the fastest"):
        assert verdict_of(part, evidence) == "holds"
    (claim,) = (claim for claim in CLAIMS if "less time than any training" in claim.text)
    assert sum(vote.is_yes for vote in claim.verdict(evidence).votes) == 5


def epochs(**values):
    """Return a history in which each measure has the values, epoch by epoch."""
    return [
        {"epoch": k + 1, **dict(zip(values, epoch, strict=True))}
        for k, epoch in enumerate(zip(*values.values(), strict=True))
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
    expected = "does not hold" if is_other_way else "holds"
    assert verdict_of("the training loss falls faster", evidence) == expected
    assert verdict_of("the validation loss ends higher", evidence) == expected
    assert verdict_of("fewer epochs are needed", evidence) == expected


@pytest.mark.parametrize(
    ("scores", "any_p", "half", "close"),
    [
        ([0.5, 0.6, 0.7, 0.6], "holds", "holds", "holds"),
        ([0.5, 0.605, 0.6, 0.6], "holds", "does not hold", "holds"),
        ([0.5, 0.6, 0.5, 0.4], "does not hold", "does not hold", "does not hold"),
        ([0.9, 0.6, 0.5, 0.4], "does not hold", "does not hold", "does not hold"),
    ],
)
def test_dropout_decides_by_the_best_p(tmp_path, scores, any_p, half, close):
    by_p = dict(zip([0.0, 0.2, 0.5, 0.8], scores, strict=True))

    def score(run):
        p = run.options["supervised_dropout"]
        return {"macro": by_p[p], "history": epochs(loss=[2.0, 1.0 + p])}

    evidence = evidence_of(tmp_path, "dropout", score, {"dataset": ["newsgroups20"]})
    assert verdict_of("the training loss falls fastest", evidence) == "holds"
    assert verdict_of("new documents are classified worst", evidence) == any_p
    assert verdict_of("p = .5 is the best", evidence) == half
    assert verdict_of("p = .5 is a good choice", evidence) == close


@pytest.mark.parametrize(
    ("ppmi", "dot", "weak"),
    [
        (0.5, "holds", "holds"),
        (0.605, "holds", "does not hold"),
        (0.7, "does not hold", "does not hold"),
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
        ({"information_gain": 0.6, "chi_square": 0.7}, "holds"),
        ({"information_gain": 0.06, "chi_square": 0.7}, "does not hold"),
        ({}, "not run yet"),
    ],
)
def test_correlations_that_were_not_timed_decide_nothing(tmp_path, by_name, expected):
    def score(run):
        return {"extra": {"X": 2.0, "S": 0.05, "by_correlation": by_name}, "scores": {}}

    evidence = evidence_of(tmp_path, "embedding_times", score)
    assert verdict_of("Information gain and chi-square", evidence) == expected


@pytest.mark.parametrize(
    ("shares", "nearly_all", "both"),
    [((0.3, 0.95, 0.8), "holds", "holds"), ((0.3, 0.8, 0.5), "does not hold", "does not hold")],
)
def test_maps_decide_by_the_neighbors(tmp_path, shares, nearly_all, both):
    titles = ("Without the classes", "Word-class embeddings", "Both, side by side")
    panels = [{"title": t, "neighbor_share": s} for t, s in zip(titles, shares, strict=True)]
    evidence = evidence_of(tmp_path, "visualization", lambda run: {"extra": {"panels": panels}})
    assert verdict_of("group nearly all terms", evidence) == nearly_all
    assert verdict_of("closer to WCEs than to pretrained", evidence) == both


@pytest.mark.parametrize("change", [0.005, 0.02])
def test_predictions_for_unseen_terms_decide_by_their_effect(tmp_path, change):
    def score(run):
        if run.learner == "unseen_terms":
            return {"extra": {"share": 0.1 if run.dataset == "rcv1" else 0.02}, "scores": {}}
        return {"macro": 0.6 + change * ("unseen" in run.options)}

    evidence = evidence_of(tmp_path, "unseen_terms", score)
    expected = "holds" if change < 0.01 else "does not hold"
    assert verdict_of("changes macro F1 by less", evidence) == expected
    assert verdict_of("Few words of test texts", evidence) == "does not hold"


def test_other_vectors_are_not_glove(tmp_path):
    def score(run):
        is_glove = run.vectors.startswith("glove")
        return {"macro": 0.5 + 0.1 * (run.variant == "vectors+wce") * (1 if is_glove else -1)}

    evidence = evidence_of(tmp_path, "vectors", score, {"learner": ["svm"]})
    assert verdict_of("beside other pretrained vectors", evidence) == "does not hold"
