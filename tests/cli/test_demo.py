import json
import os
import sys
from functools import partial

import pytest

from wordclass import progress
from wordclass.cli import demo
from wordclass.cli.demo import to_text
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingDataError, MissingExtraError, StorageError
from wordclass.storage import files
from wordclass.vectors.word_vectors import WordVectors


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def data_of(page):
    """Return the data inside a page."""
    written = page.read_text(encoding="utf-8")
    return json.loads(written.split('id="data">')[1].split("</script>")[0])


def without_times(path):
    facts = json.loads(path.read_text(encoding="utf-8"))
    del facts["seconds"]
    return facts


def test_the_folder_contains_the_whole_report(report_on, tmp_path, dataset):
    pytest.importorskip("matplotlib")
    facts = report_on(tmp_path / "report")
    assert names_in(tmp_path / "report") == ["demo.wce", "index.html", "result.json", "terms.png"]
    assert names_in(tmp_path) == ["report"]
    assert facts["report"] == str(tmp_path / "report" / "index.html")
    stored = json.loads((tmp_path / "report" / "result.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps({k: v for k, v in facts.items() if k != "report"}))
    assert facts["sizes"]["train_docs"] == 90
    assert facts["classifiers"][0]["accuracy"] > 0.9
    loaded = WordClassEmbeddings.load(tmp_path / "report" / "demo.wce")
    assert loaded.classes_ == dataset.classes
    assert facts["top_terms"]["space"] == loaded.top_terms("space", 10)


def test_three_classifiers_are_compared_and_the_default_one_explains_itself(report_on, tmp_path):
    facts = report_on(tmp_path / "report")
    names = ["linear", "svm on tf-idf", "nearest, shrinkage 20"]
    assert [result["name"] for result in facts["classifiers"]] == names
    assert {f"classifying ({name})" for name in names} <= set(facts["seconds"])
    assert {"ngrams", "shrinkage", "block_weight", "C"} <= set(facts["settings"])
    text = to_text(facts)
    assert "The settings that linear chose" in text
    assert "ngrams (1, " in text
    shown = data_of(tmp_path / "report" / "index.html")
    assert [row[0] for row in shown["overview"]["tables"][0]["rows"]] == names
    assert shown["about"]["classifier"] == "linear"
    assert shown["about"]["n_docs"] == facts["sizes"]["test_docs"]
    assert [panel["title"] for panel in shown["map"]["panels"]] == [
        panel["title"] for panel in facts["panels"]
    ]


def test_the_same_seed_gives_the_same_files(report_on, tmp_path):
    for name in ("a", "b"):
        report_on(tmp_path / name, seed=5)
    first, second = tmp_path / "a", tmp_path / "b"
    assert without_times(first / "result.json") == without_times(second / "result.json")
    for name in ("demo.wce", "terms.png"):
        if (first / name).exists():
            assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_second_report_replaces_the_first(report_on, tmp_path):
    report_on(tmp_path / "report", seed=1)
    report_on(tmp_path / "report", seed=2)
    assert without_times(tmp_path / "report" / "result.json")["seed"] == 2
    assert names_in(tmp_path) == ["report"]


def test_without_matplotlib_only_the_picture_is_missing(report_on, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    facts = report_on(tmp_path / "report")
    assert names_in(tmp_path / "report") == ["demo.wce", "index.html", "result.json"]
    note = "terms.png is missing: matplotlib is needed to draw the map of the demo"
    assert note in to_text(facts)
    overview = data_of(tmp_path / "report" / "index.html")["overview"]
    assert overview["paragraphs"][-1].startswith(note)
    assert [name for name, _ in overview["files"]] == ["demo.wce", "result.json"]


def test_without_opentsne_there_is_no_demo_and_no_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    monkeypatch.setattr(demo, "load_dataset", lambda _: pytest.fail("work was done"))
    with pytest.raises(MissingExtraError, match=r"pip install 'wordclass\[plots\]'"):
        demo.run(tmp_path / "report")


def test_nothing_is_left_behind_if_writing_fails(report_on, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("out of ink")

    monkeypatch.setattr(demo, "export_page", fail)
    with pytest.raises(RuntimeError, match="ink"):
        report_on(tmp_path / "report")
    assert names_in(tmp_path) == []


def test_pretrained_vectors_replace_learned_ones(report_on, tmp_path):
    path = tmp_path / "own.npz"
    known = ["orbit", "moon", "rose", "soil", "chord", "piano"]
    WordVectors.of(known, [[k, 1.0, k % 2] for k in range(6)]).save(path)
    facts = report_on(tmp_path / "report", vectors=path)
    assert facts["panels"][0]["caption"] == "Pretrained vectors (own.npz)"
    assert sorted(data_of(tmp_path / "report" / "index.html")["map"]["terms"]) == sorted(known)


def test_the_text_shows_sizes_terms_and_scores(report_on, tmp_path):
    text = to_text(report_on(tmp_path / "report"))
    for part in ("90 for training, 30 for testing", "space", "orbit", "macro F1", "shrinkage 20"):
        assert part in text
    assert text.splitlines()[-1] == f"The report: {tmp_path / 'report' / 'index.html'}"
    shown = text.splitlines()[:-1]  # a path may be of any length
    assert max(map(len, shown)) <= 100
    assert not any(line != line.rstrip() for line in shown)


def test_every_step_is_reported_as_progress(report_on, tmp_path):
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        facts = report_on(tmp_path / "report")
    assert set(facts["seconds"]) <= {step for step, *_ in reports}
    panels = [
        n_done for step, n_done, total in reports if step == "laying out the map" and total == 3
    ]
    assert panels == [0, 1, 2, 3]


def test_invalid_arguments_are_errors_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "load_dataset", lambda _: pytest.fail("work was done"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="is not a report of the demo"):
        demo.run(tmp_path / "mine")
    with pytest.raises(MissingDataError, match="no such file"):
        demo.run(tmp_path / "new", vectors=tmp_path / "nowhere.npz")


def test_the_demo_with_a_small_map(tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    monkeypatch.setattr(demo, "_TERMS_PER_CLASS", 5)  # t-SNE takes nearly all of the time
    facts = demo.run(tmp_path / "report")
    assert facts["sizes"]["classes"] == 36
    linear, svm, nearest = (result["macro_f1"] for result in facts["classifiers"])
    assert linear > svm - 0.01
    assert linear > nearest > 0.65
    without, by_class, _ = (panel["neighbor_share"] for panel in facts["panels"])
    assert by_class > without
    assert max(map(len, to_text(facts).splitlines()[:-1])) <= 100


@pytest.mark.slow
def test_the_demo_at_full_size(tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    facts = demo.run(tmp_path / "report")
    assert len(data_of(tmp_path / "report" / "index.html")["map"]["terms"]) == 40 * 36
    assert facts["panels"][1]["neighbor_share"] > 0.8


# --- the folder ------------------------------------------------------------------------------


def replacing(folder):
    return files.replace_folder_atomically(folder, partial(demo.check_report, folder))


def write_report(folder, text):
    with replacing(folder) as temporary:
        for name in ("index.html", "result.json"):
            (temporary / name).write_text(text)


def test_a_new_folder_appears_with_its_parents(tmp_path):
    write_report(tmp_path / "a" / "b", "new")
    assert names_in(tmp_path / "a" / "b") == ["index.html", "result.json"]
    assert names_in(tmp_path / "a") == ["b"]


def test_an_existing_report_is_replaced_completely(tmp_path):
    folder = tmp_path / "report"
    write_report(folder, "old")
    (folder / "terms.png").touch()
    write_report(folder, "new")
    assert names_in(folder) == ["index.html", "result.json"]
    assert (folder / "index.html").read_text() == "new"
    assert names_in(tmp_path) == ["report"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "report").mkdir()
    write_report(tmp_path / "report", "new")
    assert names_in(tmp_path / "report") == ["index.html", "result.json"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_changes_nothing(tmp_path, error):
    folder = tmp_path / "report"
    write_report(folder, "old")

    def fail_half_way():
        with replacing(folder) as temporary:
            (temporary / "index.html").write_text("half")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert (folder / "index.html").read_text() == "old"
    assert names_in(tmp_path) == ["report"]


@pytest.mark.parametrize(
    "names",
    [
        ["thesis.txt"],
        ["index.html"],
        ["result.json"],
        ["index.html", "result.json", "thesis.txt"],
    ],
)
def test_a_folder_that_is_not_a_report_is_never_touched(tmp_path, names):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("precious")
    with pytest.raises(InputError, match="is not a report of the demo"):
        write_report(folder, "new")
    assert names_in(folder) == sorted(names)
    assert names_in(tmp_path) == ["mine"]


def test_files_that_appear_while_the_report_is_written_are_safe(tmp_path):
    folder = tmp_path / "report"

    def write_too_late():
        with replacing(folder):
            folder.mkdir()
            (folder / "thesis.txt").write_text("precious")

    with pytest.raises(InputError, match="thesis"):
        write_too_late()
    assert names_in(tmp_path) == ["report"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        demo.run(tmp_path / "file")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_the_target_of_a_link_is_replaced(tmp_path):
    write_report(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_report(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").read_text() == "new"


def test_a_folder_that_cannot_be_created_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        write_report(tmp_path / "file" / "report", "new")


def test_the_old_report_comes_back_if_the_new_one_cannot_replace_it(tmp_path, monkeypatch):
    folder = tmp_path / "report"
    write_report(folder, "old")
    replace = os.replace

    def fail_for_new(source, target):
        if str(source).endswith(".tmp"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_for_new)
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    with pytest.raises(StorageError):
        write_report(folder, "new")
    assert (folder / "index.html").read_text() == "old"
    assert names_in(tmp_path) == ["report"]
