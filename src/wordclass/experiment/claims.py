"""The claims of the paper's sections 4.4 to 4.11, and whether they hold in results of ours.

A claim is decided by cells of tables: each says yes or no, and a claim holds where enough say yes.
What "almost always" or "weak" means is not in the paper: such limits are ours, and stand in the
text of the claim.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordclass.experiment.paper import NETWORKS, NEURAL
from wordclass.experiment.tables import Cell, Table

Votes = Iterator[tuple[str, bool]]
_CLOSE = 0.01  # F1 that differs by less is comparable
_MOSTLY = 0.8  # the share of cells that "almost always" means
_EARLY = 3  # epochs
_SOME = 1e-9  # one cell is enough
_STATIC, _TRAINED = ("vectors", "vectors+wce"), ("vectors-trainable", "vectors+wce-trainable")


@dataclass(frozen=True)
class Key:
    """What a cell is about; parts that all rows of its table share are empty."""

    dataset: str
    learner: str
    variant: str = ""
    protocol: str = ""
    settings: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, vars(self).values()))


@dataclass(frozen=True)
class Evidence:
    """The tables of each plan, by its name."""

    tables: Mapping[str, Sequence[Table]]

    def cells(self, plan: str, title: str) -> dict[Key, Cell]:
        """Return the cells of a table that were measured."""
        return {
            _key(table, row, column): cell
            for table in self.tables.get(plan, ())
            if table.title.startswith(title)
            for (row, column), cell in table.cells.items()
            if cell.measured is not None
        }

    def pairs(
        self, plan: str, title: str, new: str, old: str, learners: Sequence[str]
    ) -> Iterator[tuple[Key, float, float]]:
        """Give what two variants reached, wherever both are measured."""
        cells = self.cells(plan, title)
        for key, cell in cells.items():
            other = cells.get(Key(**{**vars(key), "variant": old}))
            if key.variant == new and key.learner in learners and other is not None:
                yield key, _mean(cell), _mean(other)

    def settings(self, plan: str, option: str) -> dict[Key, dict[str, Cell]]:
        """Return the cells of macro F1 that differ in one option, by its value."""
        found: dict[Key, dict[str, Cell]] = {}
        for key, cell in self.cells(plan, "Macro F1").items():
            name, _, value = key.settings.partition("=")
            if name == option:
                same = Key(**{**vars(key), "settings": ""})
                found.setdefault(same, {})[value] = cell
        return found


def _key(table: Table, row: tuple[str, ...], column: str) -> Key:
    if table.heads[0] == "learner":
        return Key(column, **dict(zip(table.heads, row, strict=True)))
    dataset, what = (row[0], column) if table.heads[0] == "data set" else (column, row[0])
    return Key(dataset, what)


def _mean(cell: Cell) -> float:
    return cell.measured.mean if cell.measured is not None else float("nan")


@dataclass(frozen=True)
class Claim:
    """A claim in words of ours, what decides it, and how many of its cells must say yes."""

    section: str
    text: str
    votes: Callable[[Evidence], Votes]
    share: float = 1.0

    def verdict(self, evidence: Evidence) -> tuple[str, list[tuple[str, bool]]]:
        """Return "holds here", "does not" or "could not be run", and what each cell says."""
        votes = list(self.votes(evidence))
        if not votes:
            return "could not be run", votes
        n_yes = sum(is_so for _, is_so in votes)
        return "holds here" if n_yes >= self.share * len(votes) else "does not", votes


def _better(new: str, old: str, learners: Sequence[str], plan: str = "f1") -> Any:  # noqa: ANN401
    """Vote for each pair of cells whether the new variant is above the old one."""

    def votes(evidence: Evidence) -> Votes:
        for measure in ("Macro F1", "Micro F1"):
            for key, first, second in evidence.pairs(plan, measure, new, old, learners):
                yield f"{key}, {measure.lower()}: {first:.3f} against {second:.3f}", first > second

    return votes


def _by_dataset(cells: Mapping[Key, Cell]) -> dict[str, dict[Key, Cell]]:
    found: dict[str, dict[Key, Cell]] = {}
    for key, cell in cells.items():
        found.setdefault(key.dataset, {})[key] = cell
    return found


def _svm_is_hard_to_beat(evidence: Evidence) -> Votes:
    for dataset, cells in _by_dataset(evidence.cells("f1", "Macro F1")).items():
        svm = [_mean(cell) for key, cell in cells.items() if key.variant == "tfidf"]
        neural = [_mean(cell) for key, cell in cells.items() if key.learner in NEURAL]
        if svm and neural:
            told = f"{dataset}: svm tfidf {svm[0]:.3f}, best neural {max(neural):.3f}"
            yield told, svm[0] > max(neural) - _CLOSE


def _svm_gains_on_newsgroups_only(evidence: Evidence) -> Votes:
    for measure in ("Macro F1", "Micro F1"):
        pairs = {
            key.dataset: (new, old)
            for key, new, old in evidence.pairs("f1", measure, "vectors+wce", "tfidf", ["svm"])
        }
        if {"newsgroups20", "reuters21578"} <= pairs.keys():  # one of the two decides nothing
            for dataset, gains in (("newsgroups20", True), ("reuters21578", False)):
                new, old = pairs[dataset]
                told = f"{dataset}, {measure.lower()}: {new:.3f}, tfidf {old:.3f}"
                yield told, (new > old) == gains


def _best_neural_has_word_classes(evidence: Evidence) -> Votes:
    for measure in ("Macro F1", "Micro F1"):
        for dataset, cells in _by_dataset(evidence.cells("f1", measure)).items():
            neural = {key: cell for key, cell in cells.items() if key.learner in NEURAL}
            if {"wce" in key.variant for key in neural} == {True, False}:
                best = max(neural, key=lambda key: _mean(neural[key]))
                alike = any("wce" in key.variant and neural[key].n_daggers for key in neural)
                told = f"{dataset}, {measure.lower()}: best is {best.learner} {best.variant}"
                yield told, "wce" in best.variant or alike


def _static_is_as_good(evidence: Evidence) -> Votes:
    for trained, static in zip(_TRAINED, _STATIC, strict=True):
        for key, new, old in evidence.pairs("f1", "Macro F1", trained, static, NETWORKS[1:]):
            yield f"{key}: {new:.3f}, static {old:.3f}", old >= new


def _at(cell: Cell, key: str, epoch: int) -> float | None:
    """Return the mean of a measure over seeds at an epoch, where all have it."""
    found = [
        each[key]
        for result in cell.results
        for each in result.history or ()
        if each["epoch"] == epoch and each.get(key) is not None
    ]
    return sum(found) / len(found) if found and len(found) == len(cell.results) else None


def _last_epoch(*cells: Cell) -> int:
    lengths = [len(result.history or ()) for cell in cells for result in cell.results]
    return min(lengths, default=0)


def _curves(measure: str, low: str, high: str, epoch: int | None = None) -> Any:  # noqa: ANN401
    """Vote whether one variant is below another, at an epoch or the last that both have."""

    def votes(evidence: Evidence) -> Votes:
        cells = evidence.cells("learning_curves", "Macro F1")
        for key, cell in cells.items():
            other = cells.get(Key(**{**vars(key), "variant": high}))
            if key.variant != low or other is None:
                continue
            at = epoch or _last_epoch(cell, other)
            first, second = _at(cell, measure, at), _at(other, measure, at)
            if first is not None and second is not None:
                yield f"{key}, epoch {at}: {first:.3f}, {high} {second:.3f}", first < second

    return votes


def _undropped_learns_fastest(evidence: Evidence) -> Votes:
    for key, cells in evidence.settings("dropout", "supervised_dropout").items():
        last = _last_epoch(*cells.values())
        losses = {p: _at(cell, "loss", last) for p, cell in cells.items()}
        known = {p: loss for p, loss in losses.items() if loss is not None}
        if "0.0" in known and len(known) > 1:
            told = ", ".join(f"p={p} {loss:.3f}" for p, loss in known.items())
            yield f"{key}, loss at epoch {last}: {told}", known["0.0"] == min(known.values())


def _dropout(is_right: Callable[[dict[str, float]], bool]) -> Any:  # noqa: ANN401
    def votes(evidence: Evidence) -> Votes:
        for key, cells in evidence.settings("dropout", "supervised_dropout").items():
            scores = {p: _mean(cell) for p, cell in cells.items()}
            if {"0.0", "0.5"} <= scores.keys():
                told = ", ".join(f"p={p} {score:.3f}" for p, score in scores.items())
                yield f"{key}: {told}", is_right(scores)

    return votes


def _fastest(first: Callable[[Key], bool], others: Callable[[Key], bool]) -> Any:  # noqa: ANN401
    """Vote for each data set whether one kind of run takes less time than all others."""

    def votes(evidence: Evidence) -> Votes:
        for dataset, cells in _by_dataset(evidence.cells("run_times", "Seconds")).items():
            own = [_mean(cell) for key, cell in cells.items() if first(key)]
            rest = [_mean(cell) for key, cell in cells.items() if others(key) and not first(key)]
            if own and rest:
                told = f"{dataset}: {min(own):.1f} s, the fastest other {min(rest):.1f} s"
                yield told, min(own) < min(rest)

    return votes


def _no_pattern_in_times(evidence: Evidence) -> Votes:
    pairs = [
        (key, new < old)
        for new_name, old_name in ((_TRAINED[1], _TRAINED[0]), (_STATIC[1], _STATIC[0]))
        for key, new, old in evidence.pairs("run_times", "Seconds", new_name, old_name, NEURAL)
    ]
    faster = sum(is_faster for _, is_faster in pairs)
    if len(pairs) > 1:
        yield f"faster with WCE in {faster} of {len(pairs)} pairs", 0 < faster < len(pairs)


def _embedding_times(names: Sequence[str], is_right: Callable[..., bool]) -> Any:  # noqa: ANN401
    """Vote for each data set by some of its times, where all of them are there."""

    def votes(evidence: Evidence) -> Votes:
        cells = evidence.cells("embedding_times", "Seconds")
        for dataset, own in _by_dataset(cells).items():
            seconds = {key.learner: _mean(cell) for key, cell in own.items()}
            if seconds.keys() >= set(names):
                told = ", ".join(f"{name} {seconds[name]:.3f} s" for name in names)
                yield f"{dataset}: {told}", is_right(*(seconds[name] for name in names))

    return votes


def _embeddings_take_less_than_runs(evidence: Evidence) -> Votes:
    totals = {
        key.dataset: _mean(cell)
        for key, cell in evidence.cells("embedding_times", "Seconds").items()
        if key.learner == "total"
    }
    for dataset, cells in _by_dataset(evidence.cells("run_times", "Seconds")).items():
        if dataset in totals:
            least = min(cells, key=lambda key: _mean(cells[key]))
            told = f"{totals[dataset]:.2f} s, {least.learner} {_mean(cells[least]):.2f} s"
            yield f"{dataset}: {told}", totals[dataset] < _mean(cells[least])


def _correlations(is_right: Callable[[Key, dict[str, float]], bool | None]) -> Any:  # noqa: ANN401
    def votes(evidence: Evidence) -> Votes:
        for key, cells in evidence.settings("correlations", "correlation").items():
            scores = {name: _mean(cell) for name, cell in cells.items()}
            verdict = is_right(key, scores) if {"dot", "ppmi"} <= scores.keys() else None
            if verdict is not None:
                told = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
                yield f"{key}: {told}", verdict

    return votes


def _other_vectors(evidence: Evidence) -> Votes:
    for key, new, old in evidence.pairs(
        "vectors", "Macro F1", "vectors+wce", "vectors", (*NETWORKS, "svm")
    ):
        if "glove" not in key.settings.lower() and key.settings:
            yield f"{key}: {new:.3f} against {old:.3f}", new > old


def _map(is_right: Callable[[float, float, float], bool]) -> Any:  # noqa: ANN401
    def votes(evidence: Evidence) -> Votes:
        cells = evidence.cells("visualization", "Share of")
        for dataset, panels in _by_dataset(cells).items():
            without, by_class, both = (_mean(cell) for cell in panels.values())
            told = f"without {without:.0%}, word-class {by_class:.0%}, both {both:.0%}"
            yield (
                f"{dataset}, neighbors of the own class: {told}",
                is_right(without, by_class, both),
            )

    return votes


def _few_unseen(evidence: Evidence) -> Votes:
    for key, cell in evidence.cells("unseen_terms", "Terms").items():
        if key.learner == "share":
            yield f"{key.dataset}: {_mean(cell):.1%} of test words", _mean(cell) < 0.05


def _predicted_changes_little(evidence: Evidence) -> Votes:
    cells = evidence.cells("unseen_terms", "Macro F1")
    for key, cell in cells.items():
        other = cells.get(Key(**{**vars(key), "settings": ""}))
        if key.settings.startswith("unseen=") and other is not None:
            told = f"{key}: {_mean(cell):.3f}, zeros {_mean(other):.3f}"
            yield told, abs(_mean(cell) - _mean(other)) < _CLOSE


_PAPERS = ("svm", *NEURAL)
CLAIMS = (
    Claim("4.4", "SVM with tf-idf is hard to beat in macro F1 (by .01, on half of the data sets)",
          _svm_is_hard_to_beat, 0.5),
    Claim("4.4", "Word-class features raise SVM above tf-idf on 20 Newsgroups, not on Reuters",
          _svm_gains_on_newsgroups_only),
    Claim("4.4", "The best neural method has word-class embeddings, or is not different from one",
          _best_neural_has_word_classes),
    Claim("4.4", "Word-class embeddings beside static pretrained ones almost always help",
          _better("vectors+wce", "vectors", ("svm", *NETWORKS)), _MOSTLY),
    Claim("4.4", "Word-class embeddings beside trainable pretrained ones almost always help",
          _better("vectors+wce-trainable", "vectors-trainable", NEURAL), _MOSTLY),
    Claim("4.4", "Not because there are more parameters: random columns help less",
          _better("vectors+wce-trainable", "vectors+random", NEURAL), _MOSTLY),
    Claim("4.4", "Training the embeddings always helps the CNN (pretrained)",
          _better("vectors-trainable", "vectors", ["cnn"])),
    Claim("4.4", "Training the embeddings always helps the CNN (with word-class embeddings)",
          _better("vectors+wce-trainable", "vectors+wce", ["cnn"])),
    Claim("4.4", "It does not always help LSTM and attention", _static_is_as_good, _SOME),
    Claim("4.5", "Random embeddings lower the training loss faster than static pretrained ones",
          _curves("loss", "random", "vectors")),
    Claim("4.5", "but their validation loss ends higher",
          _curves("validation_loss", "vectors", "random")),
    Claim("4.5", "With word-class embeddings fewer epochs are needed (validation macro F1 after 3)",
          _curves("validation_macro_f1", "vectors", "vectors+wce", _EARLY)),
    Claim("4.6", "Without supervised dropout the training loss falls fastest",
          _undropped_learns_fastest),
    Claim("4.6", "and unseen data are classified worse than with some",
          _dropout(lambda scores: scores["0.0"] < max(scores.values()))),
    Claim("4.6", "p = .5 is the best",
          _dropout(lambda scores: scores["0.5"] == max(scores.values()))),
    Claim("4.7", "SVM with tf-idf is typically (half of the data sets) the fastest",
          _fastest(lambda key: key.variant == "tfidf", lambda key: key.learner in _PAPERS), 0.5),
    Claim("4.7", "fastText is the fastest neural method",
          _fastest(lambda key: key.learner == "fasttext", lambda key: key.learner in NETWORKS)),
    Claim("4.7", "Word-class embeddings make training neither faster nor slower",
          _no_pattern_in_times),
    Claim("4.7", "Making S typically (half of the data sets) takes below a tenth of making X and S",
          _embedding_times(("S", "total"), lambda own, total: own < 0.1 * total), 0.5),
    Claim("4.7", "Making word-class embeddings takes less time than any training",
          _embeddings_take_less_than_runs),
    Claim("4.8", "The dot product is almost always the best correlation, or within .01 of it",
          _correlations(lambda _, scores: scores["dot"] > max(scores.values()) - _CLOSE), _MOSTLY),
    Claim("4.8", "PPMI is weak on Reuters (.01 below the dot product)",
          _correlations(lambda key, scores: scores["ppmi"] < scores["dot"] - _CLOSE
                        if key.dataset == "reuters21578" else None)),
    Claim("4.8", "Information gain and chi-square take ten times as long as the dot product",
          _embedding_times(("S", "S (information_gain)", "S (chi_square)"),
                           lambda dot, *others: min(others) > 10 * dot)),
    Claim("4.9", "Word-class embeddings help beside other pretrained vectors as well",
          _other_vectors),
    Claim("4.10", "Word-class vectors gather nearly all terms by class (nine of ten neighbors)",
          _map(lambda without, by_class, both: by_class >= 0.9)),
    Claim("4.10", "Both vectors together are closer to that than to pretrained ones alone",
          _map(lambda without, by_class, both: both > (without + by_class) / 2)),
    Claim("4.11", "Few words of test texts were never seen in training (below a twentieth)",
          _few_unseen),
    Claim("4.11", "Predicted word-class vectors for them change macro F1 by less than .01",
          _predicted_changes_little),
    Claim("4.11", "Predicted word-class vectors look meaningful (a judgement: `wordclass unseen`)",
          lambda _: iter(())),
)  # fmt: skip
