import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from reproduction.made_results import add

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg

from wordclass.reproduction.cells import Cell, Table
from wordclass.reproduction.figure_style import save
from wordclass.reproduction.figures import draw_curves, draw_dots, figures_of, write
from wordclass.reproduction.map_figures import draw_map, write_projector_files
from wordclass.reproduction.plan import Group, Plan
from wordclass.reproduction.runs import Results
from wordclass.reproduction.statistics import Summary
from wordclass.reproduction.tables import make

HISTORY = [
    {"epoch": k, "loss": 3.0 / k, "validation_loss": 2.0 / k, "validation_macro_f1": 0.2 * k}
    | ({"test_macro_f1": 0.1 * k} if k != 2 else {})
    for k in (1, 2, 3)
]
NETS = Group(
    datasets=["newsgroups20"], learners=["cnn"], variants=["vectors", "vectors+wce"], seeds=[1, 2]
)
SWEPT = Group(
    datasets=["newsgroups20"],
    learners=["cnn"],
    variants=["vectors+wce"],
    seeds=[1],
    sweep={"supervised_dropout": [0.0, 0.5]},
)


@pytest.fixture
def drawn(tmp_path):
    def draw(*groups, **result_fields):
        results = Results(tmp_path / "out")
        plan = Plan("mine", "title", groups)
        for run in plan.runs():
            add(results, run, 0.4 + 0.1 * run.seed, **{"history": HISTORY, **result_fields})
        return dict(figures_of(plan, results, make(plan, results, tests=False)))

    return draw


def lines_of(axes):
    return {line.get_color(): line.get_xydata().tolist() for line in axes.get_lines()}


def assert_nothing_overlaps(figure):
    """Assert that no title, legend or label covers another or leaves the figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    texts = [figure._suptitle, *figure.legends]
    texts += [axes.title for axes in figure.axes] + [axes.xaxis.label for axes in figure.axes]
    for axes in figure.axes:
        low, high = sorted(axes.get_ylim())
        ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
        texts += [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
    boxes = [
        text.get_window_extent(renderer)
        for text in texts
        if text is not None and text.get_visible() and getattr(text, "get_text", lambda: "x")()
    ]
    for one, other in itertools.combinations(boxes, 2):
        width = min(one.x1, other.x1) - max(one.x0, other.x0)
        height = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert width <= 1 or height <= 1, (one, other)
    for box in boxes:
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1


def test_a_plan_with_networks_has_curves_and_dots(drawn):
    figures = drawn(NETS, SWEPT)
    assert list(figures) == [
        "mine-newsgroups20-clean-curves",
        "mine-newsgroups20-clean-supervised_dropout",
        "mine-macro-f1",
        "mine-micro-f1",
    ]


def test_curves_are_means_over_seeds_of_the_epochs_that_were_measured(drawn):
    figure = drawn(NETS)["mine-newsgroups20-clean-curves"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["epoch"] * 4
    names = [axes.get_ylabel() for axes in figure.axes]
    assert names == ["training loss", "validation loss", "validation macro F1", "test macro F1"]
    loss, *_, test = (list(lines_of(axes).values()) for axes in figure.axes)
    assert len(loss) == 2
    assert loss[0] == [[1, 3], [2, 1.5], [3, 1]]
    assert [x for x, _ in test[0]] == [1, 3]
    assert figure.axes[0].get_yscale() == "log"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "vectors",
        "vectors+WCEs",
    ]


def test_several_learners_stand_side_by_side_as_in_the_paper(drawn):
    both = replace(NETS, learners=["cnn", "lstm"])
    axes = drawn(both)["mine-newsgroups20-clean-curves"].axes
    assert [panel.get_title() for panel in axes] == ["CNN", "LSTM", *[""] * 6]
    names = ["training loss", "validation loss", "validation macro F1", "test macro F1"]
    assert [panel.get_ylabel() for panel in axes[::2]] == names
    assert axes[0].get_ylim() == axes[1].get_ylim()


def test_lines_differ_in_more_than_color(drawn):
    figure = drawn(NETS)["mine-newsgroups20-clean-curves"]
    styles = {(line.get_linestyle(), line.get_marker()) for line in figure.axes[0].get_lines()}
    assert len(styles) == 2


@pytest.mark.parametrize("groups", [(NETS,), (SWEPT,), (NETS, SWEPT)])
def test_no_text_covers_another(drawn, groups):
    for figure in drawn(*groups).values():
        assert_nothing_overlaps(figure)


def test_long_names_and_many_rows_have_room():
    rows = [
        ("attention", f"vectors+wce-trainable {k}", "paper", "correlation=information_gain")
        for k in range(20)
    ]
    columns = ("newsgroups20:comp.sys.ibm.pc.hardware+comp.sys.mac.hardware", "b")
    cells = {(row, column): Cell(Summary(0.5, 0.1, 2)) for row in rows for column in columns}
    heads = ("learner", "variant", "protocol", "settings")
    assert_nothing_overlaps(draw_dots(Table("Macro F1", "share", heads, columns, cells)))


def test_columns_that_do_not_fit_continue_below_with_their_rows():
    rows = [("svm", f"{k}") for k in range(8)]
    columns = ("a", "b", "c", "d")
    cells = {(row, column): Cell(Summary(0.5, 0.1, 2)) for row in rows for column in columns[:3]}
    cells |= {(row, "d"): Cell(Summary(0.5, None, 1) if row == rows[3] else None) for row in rows}
    figure = draw_dots(Table("Macro F1", "share", ("learner", "variant"), columns, cells))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == ["a", "b", "c", "d"]
    assert len(shown[0].get_yticks()) == 8
    assert [label.get_text() for label in shown[3].get_yticklabels()] == ["SVM 3"]
    assert_nothing_overlaps(figure)


def test_figures_are_as_wide_as_a_page(drawn, term_map):
    figures = [*drawn(NETS, SWEPT).values(), draw_map(term_map, term_map.panels[0], "made up")]
    assert {figure.get_figwidth() for figure in figures} == {7.0}


def test_dots_show_measured_cells_and_the_papers_numbers(drawn):
    figure = drawn(NETS)["mine-macro-f1"]
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "CNN vectors",
        "CNN vectors+WCEs",
    ]
    by_marker = {"^": [], "|": []}
    for line in axes.get_lines():
        by_marker[line.get_marker()] += line.get_xdata().tolist()
    assert by_marker["^"] == pytest.approx([0.55, 0.55])
    assert by_marker["|"] == [0.670, 0.703]


def test_dollars_in_names_are_no_formulas(tmp_path):
    cells = {(("$x^2$",), "$y$"): Cell(Summary(0.5, None, 1))}
    figure = draw_dots(Table("$z$", "seconds", ("what",), ("$y$",), cells))
    assert len(save(figure, tmp_path, "a/b $c$")) == 3


def test_figures_are_written_in_three_formats_the_same_each_time(tmp_path, drawn):
    for (name, figure), same in zip(drawn(NETS).items(), drawn(NETS).values(), strict=True):
        first = {path.suffix: path.read_bytes() for path in save(figure, tmp_path, name)}
        again = {path.suffix: path.read_bytes() for path in save(same, tmp_path, name)}
        assert first.keys() == {".png", ".pdf", ".svg"}
        assert first == again
        assert first[".png"].startswith(b"\x89PNG")
        assert first[".pdf"].startswith(b"%PDF")
        assert b"<svg" in first[".svg"]


def test_runs_without_history_have_dots_only(drawn):
    figures = drawn(Group(datasets=["newsgroups20"], learners=["nearest"]), history=None)
    assert list(figures) == ["mine-macro-f1", "mine-micro-f1"]


def test_maps_with_other_settings_have_separate_names(tmp_path, term_map):
    maps = Group(
        datasets=["newsgroups20"], learners=["map"], vectors=["a", "b/c"], seeds=[1, 2],
        options={"n_terms": 5},
    )  # fmt: skip
    results = Results(tmp_path / "out")
    plan = Plan("mine", "title", [maps])
    extra, arrays = term_map.to_parts()
    for run in plan.runs():
        results.save_arrays(add(results, run, extra=extra, scores={}).key, **arrays)
    written = [path.name for path in write(plan, results, [], tmp_path / "to", endings=["svg"])]
    assert len(written) == len(set(written)) == 4 * (len(term_map.panels) + 2)
    assert "mine-newsgroups20-vectors=b-c-seed=1-vectors.tsv" in written
    assert sorted(written) == sorted(path.name for path in (tmp_path / "to").iterdir())


def test_a_map_shows_every_term_once_and_a_part_of_them_enlarged(term_map):
    figure = draw_map(term_map, term_map.panels[1], "made up")
    overview, square = figure.axes
    n_points = sum(len(points.get_offsets()) for points in overview.collections)
    assert n_points == len(term_map.terms)
    assert {text.get_text() for text in square.texts} < set(term_map.terms)
    markers = {handle.get_marker() for handle in figure.legends[0].legend_handles}
    assert len(markers) == len(term_map.classes)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == term_map.classes
    assert_nothing_overlaps(figure)


def test_a_map_of_terms_in_one_place_is_drawn(term_map):
    panel = replace(term_map.panels[0], places=np.full((60, 2), 0.5))
    draw_map(replace(term_map, panels=[panel]), panel, "made up")


def test_projector_files_have_a_line_per_term(term_map, tmp_path):
    vectors, metadata = write_projector_files(term_map, tmp_path, "map")
    rows = [line.split("\t") for line in vectors.read_text().splitlines()]
    assert np.allclose(np.array(rows, float), term_map.vectors, rtol=1e-4)
    head, *named = (line.split("\t") for line in metadata.read_text().splitlines())
    assert head == ["term", "class"]
    assert [term for term, _ in named] == term_map.terms


def test_a_low_outlier_does_not_stretch_the_axis():
    scores = [0.9, 0.91, 0.92, 0.93, 0.94, 0.95]
    rows = [(f"row {k}",) for k in range(7)]
    values = [0.05, *scores]
    cells = {(row, "d"): Cell(Summary(v, None, 1)) for row, v in zip(rows, values, strict=True)}
    figure = draw_dots(Table("Macro F1", "share", ("what",), ("d",), cells))
    low, high = figure.axes[0].get_xlim()
    assert low > 0.85
    assert high < 1.0
    assert [text.get_text() for text in figure.axes[0].texts] == [".050"]


def test_a_color_means_the_same_vectors_in_curves_and_dots():
    rows = [("cnn", "vectors"), ("svm", "vectors"), ("svm", "vectors+wce")]
    cells = {(row, "d"): Cell(Summary(0.5, None, 1)) for row in rows}
    dots = draw_dots(Table("Macro F1", "share", ("learner", "variant"), ("d",), cells))
    drawn_colors = [line.get_color() for line in dots.axes[0].get_lines()]
    assert drawn_colors[0] == drawn_colors[1] != drawn_colors[2]
    history = [{"epoch": 1, "loss": 1.0}]
    names = ("random", "vectors+wce", "vectors")
    lines = {"cnn": {name: [SimpleNamespace(history=history)] for name in names}}
    curves = draw_curves("title", lines)
    colors = [line.get_color() for line in curves.axes[0].get_lines()]
    assert colors[1:] == [drawn_colors[2], drawn_colors[0]]


def test_several_sizes_of_a_data_set_make_a_curve_and_other_columns_dots(tmp_path):
    group = Group(
        datasets=["newsgroups20@5", "newsgroups20@50", "newsgroups20", "banking77"],
        learners=["svm"],
        variants=["tfidf", "vectors"],
        seeds=[1, 2],
    )
    results = Results(tmp_path / "out")
    plan = Plan("mine", "title", [group])
    sizes = {"newsgroups20@5": 100, "newsgroups20@50": 1000, "newsgroups20": 11314, "banking77": 9}
    for run in plan.runs():
        data = {"fingerprint": run.dataset, "multilabel": False, "n_train": sizes[run.dataset]}
        score = 0.3 + sizes[run.dataset] / 50_000 + run.seed / 100
        add(results, run, score, data=data, history=None)
    figures = dict(figures_of(plan, results, make(plan, results, tests=False)[:1]))
    assert list(figures) == ["mine-macro-f1-by-documents", "mine-macro-f1"]
    (panel,) = figures["mine-macro-f1-by-documents"].axes
    curve = panel.get_lines()[0].get_xydata()
    assert curve[:, 0].tolist() == [100, 1000, 11314]
    assert curve[0, 1] == pytest.approx(0.317)
    assert panel.get_xlabel() == "training documents"
    assert panel.get_xscale() == "log"
    assert [axes.get_title() for axes in figures["mine-macro-f1"].axes] == ["Banking77"]
    for figure in figures.values():
        assert_nothing_overlaps(figure)


def test_a_learner_has_the_same_mark_in_every_figure():
    def mark(rows):
        cells = {(row, "d"): Cell(Summary(0.5, None, 1)) for row in rows}
        figure = draw_dots(Table("Macro F1", "share", ("learner", "variant"), ("d",), cells))
        return figure.axes[0].get_lines()[-1].get_marker()

    cnn = ("cnn", "vectors")
    assert mark([("svm", "tfidf"), ("fasttext", "random"), cnn]) == mark([cnn])


def test_ratios_do_not_share_an_axis_with_scores(tmp_path):
    results = Results(tmp_path / "out")
    group = Group(datasets=["newsgroups20"], learners=["prior_shift"])
    plan = Plan("mine", "title", [group])
    extra = {"as it is: macro F1": 0.7, "all draws: error ratio of shares": 1.3}
    for run in plan.runs():
        add(results, run, scores={}, extra=extra)
    (figure,) = dict(figures_of(plan, results, make(plan, results))).values()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["as it is: macro F1"]


def test_pretrained_and_word_class_vectors_have_one_color_however_they_are_combined():
    rows = [("svm", "vectors+wce", ""), ("svm", "vectors", "vectors=glove.6B.100d+wce_without_l1")]
    cells = {(row, "d"): Cell(Summary(0.5, None, 1)) for row in rows}
    heads = ("learner", "variant", "settings")
    figure = draw_dots(Table("Macro F1", "share", heads, ("d",), cells))
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == 1
