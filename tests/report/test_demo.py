import json

import pytest

from wordclass import naming, progress
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingDataError, MissingExtraError
from wordclass.report import demo
from wordclass.word_vectors import WordVectors


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def without_times(path):
    facts = json.loads(path.read_text(encoding="utf-8"))
    del facts["seconds"]
    return facts


def test_the_folder_holds_the_whole_report(report_on, tmp_path, dataset):
    pytest.importorskip("matplotlib")
    result = report_on(tmp_path / "report")
    assert names_in(tmp_path / "report") == ["demo.wce", "index.html", "result.json", "terms.png"]
    assert names_in(tmp_path) == ["report"]
    facts = result.to_dict()
    assert facts["report"] == str(tmp_path / "report" / "index.html")
    kept = json.loads((tmp_path / "report" / "result.json").read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps({k: v for k, v in facts.items() if k != "report"}))
    assert facts["sizes"]["train_docs"] == 90
    assert facts["classifiers"][0]["accuracy"] > 0.9
    loaded = WordClassEmbeddings.load(tmp_path / "report" / "demo.wce")
    assert loaded.classes_ == dataset.classes
    assert facts["top_terms"]["space"] == loaded.top_terms("space", 10)


def test_three_classifiers_are_compared_and_the_default_one_explains_itself(report_on, tmp_path):
    result = report_on(tmp_path / "report")
    facts = result.to_dict()
    names = ["linear", "svm on tf-idf", "nearest, shrinkage 20"]
    assert [each["name"] for each in facts["classifiers"]] == names
    assert {f"classifying ({name})" for name in names} <= set(facts["seconds"])
    assert {"ngrams", "shrinkage", "block_weight", "C"} <= set(facts["settings"])
    assert facts["explained"][0]["kind"] == "right"
    text = result.to_text()
    assert "linear chose: ngrams (1, " in text
    assert "Why linear said so" in text
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<article") > 2
    assert '<mark class="for"' in page
    assert "What linear chose: ngrams" in page


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
    def refuse(package, purpose):
        raise MissingExtraError(f"{package} is needed {purpose}: pip install it")

    monkeypatch.setattr(naming, "extra", refuse)
    result = report_on(tmp_path / "report")
    assert names_in(tmp_path / "report") == ["demo.wce", "index.html", "result.json"]
    note = "terms.png was left out: matplotlib is needed to draw the map of the demo"
    assert note in result.to_text()
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert note in page
    assert 'href="terms.png"' not in page
    assert "<svg" in page


def test_nothing_is_left_behind_where_writing_fails(report_on, tmp_path, monkeypatch):
    from wordclass.report import report_files

    def fail(*_):
        raise RuntimeError("out of ink")

    monkeypatch.setattr(report_files, "page", fail)
    with pytest.raises(RuntimeError, match="ink"):
        report_on(tmp_path / "report")
    assert names_in(tmp_path) == []


def test_given_vectors_take_the_place_of_learned_ones(report_on, tmp_path):
    path = tmp_path / "own.npz"
    known = ["orbit", "moon", "rose", "soil", "chord", "piano"]
    WordVectors.of(known, [[k, 1.0, k % 2] for k in range(6)]).save(path)
    result = report_on(tmp_path / "report", vectors=path)
    assert result.findings.panels[0].caption == "Pretrained vectors (own.npz)"
    assert "6 terms" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_the_text_shows_all_that_was_asked_for(report_on, tmp_path):
    text = report_on(tmp_path / "report").to_text()
    for part in ("90 to learn from, 30 to test", "space", "orbit", "macro F1", "shrinkage 20"):
        assert part in text
    assert text.splitlines()[-1] == f"The report: {tmp_path / 'report' / 'index.html'}"
    shown = text.splitlines()[:-1]  # a path may be of any length
    assert max(map(len, shown)) <= 100
    assert not any(line != line.rstrip() for line in shown)


def test_every_step_is_reported_as_progress(report_on, tmp_path):
    told = []
    with progress.told_to(lambda step, *_: told.append(step)):
        result = report_on(tmp_path / "report")
    assert set(result.findings.seconds) <= set(told)


def test_mistakes_are_found_before_any_work_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "load_dataset", lambda _: pytest.fail("work was done"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="no report of the demo"):
        demo.run(tmp_path / "mine")
    with pytest.raises(MissingDataError, match="no such file"):
        demo.run(tmp_path / "new", vectors=tmp_path / "nowhere.npz")


def test_the_demo_itself_in_small(tmp_path, monkeypatch, data_home):
    from wordclass.report import demo_map

    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    monkeypatch.setattr(demo_map, "_N_PER_CLASS", 5)  # t-SNE takes nearly all of the time
    result = demo.run(tmp_path / "report")
    facts = result.to_dict()
    assert facts["sizes"]["classes"] == 36
    linear, svm, nearest = (each["macro_f1"] for each in facts["classifiers"])
    assert linear > svm - 0.01
    assert linear > nearest > 0.65
    assert [each["kind"] for each in facts["explained"]] == ["right", "mistaken"]
    without, by_class, _ = (panel["neighbor_share"] for panel in facts["panels"])
    assert by_class > without
    assert len(result.findings.profiles) == 9
    assert max(map(len, result.to_text().splitlines()[:-1])) <= 100


@pytest.mark.slow
def test_the_demo_itself_at_full_size(tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    result = demo.run(tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<circle") == 40 * 36
    assert result.findings.panels[1].neighbor_share > 0.8
