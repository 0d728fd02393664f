"""Details of the page in Chromium: examples, colors, numbers and probabilities."""

import pytest
from explored_models import documents, model
from made_up import corpus
from pages_in_browser import EMPTY_MAP, opened, show

import wordclass as wc
from wordclass.corpus.documents import LabelledCorpus
from wordclass.explorer.page import MAX_PAGE_BYTES, export_page
from wordclass.explorer.views import Exploration

pytest.importorskip("openTSNE")

pytestmark = pytest.mark.xdist_group("page")  # so that its fixtures are created once


def open_file(browser, tmp_path, views, **options):
    path = tmp_path / "page.html"
    path.write_bytes(export_page("page", views, map_facts=EMPTY_MAP, **options))
    return opened(browser, path.as_uri())


def test_the_page_opens_with_an_example_text_and_word(browser, files, tmp_path):
    with opened(browser, files("linear", False)) as page:
        text = page.input_value("#text")
        assert text in documents().texts
        page.wait_for_selector("#colored mark")
        show(page, "word")
        word = page.inner_text("main h1")
        assert word in text.lower()
        assert page.locator("main .bars li").count() == 3
    with open_file(browser, tmp_path, Exploration(model("nearest"))) as page:
        assert page.input_value("#text")
        page.wait_for_selector("#colored mark")


def test_mistakes_are_not_green(browser, files):
    with opened(browser, files("linear", False)) as page:
        for view in ("mistakes", "class/garden"):
            show(page, view)
            for link in page.locator("main .bars a[href^='#mistakes/']").all():
                bar = link.locator("xpath=ancestor::li").locator(".bar i")
                assert bar.get_attribute("class") == "wrong"
        show(page, "class/garden")
        cards = page.locator(".card").all()
        texts = [card.inner_text() for card in cards]
        for card, text in zip(cards, texts, strict=True):
            assert ("mistake" in card.get_attribute("class")) == ("mistake:" in text)
            assert ("mistake:" in text) != ("correctly predicted" in text)
        assert any("mistake:" in text for text in texts)


def test_numbers_are_shown_as_they_are_written(browser, tmp_path):
    texts = ["moon in 1969 and 1972", "moon of 2024", "rose is red", "rose and soil"] * 5
    labels = ["sky", "sky", "garden", "garden"] * 5
    options = {"characters": None, "ngrams": (1, 2), "C": 1.0, "block_weight": 0.0}
    clf = wc.classifier("linear", vector_weight=0.0, min_docs=1, **options).fit(texts, labels)
    assert "numbermask" in clf.scorer_.terms
    corpus_ = LabelledCorpus(texts, labels, is_multilabel=False)
    path = tmp_path / "page.html"
    path.write_bytes(export_page("page", Exploration(clf, corpus_)))
    with opened(browser, path.as_uri()) as page:
        page.fill("#text", "moon in 1969")
        page.wait_for_function(
            "() => document.querySelector('#colored')?.textContent === 'moon in 1969'"
        )
        assert "in 1969" in page.inner_text("main")
        for view in ("text", "class/sky", "word/numbermask", "word/1969", "word/moon", "mistakes",
                     "mistakes/sky/sky", "map", "rest/sky"):  # fmt: skip
            shown = show(page, view)
            assert "numbermask" not in shown + page.content().partition("<script")[0], view
        assert "1969" in show(page, "word/1969")
        assert "treats all numbers alike" in page.inner_text("main")


def test_a_shown_probability_is_that_of_the_model(browser, tmp_path, monkeypatch):
    clf = model("linear")
    text = documents().texts[0]
    expected = f"{100 * clf.predict_proba([text]).max():.1f}%"
    for max_bytes in (MAX_PAGE_BYTES, 0):  # the second page has weights of half precision
        monkeypatch.setattr("wordclass.explorer.page.MAX_PAGE_BYTES", max_bytes)
        with open_file(browser, tmp_path, Exploration(clf)) as page:
            page.fill("#text", text)
            page.wait_for_function(
                "text => document.querySelector('#colored')?.textContent === text", arg=text
            )
            assert page.locator(".bars .number").first.inner_text() == expected
    monkeypatch.setattr("wordclass.explorer.page.MAX_PAGE_BYTES", 60_000)
    monkeypatch.setattr("wordclass.explorer.page.MAX_COMPLETE_PAGE_BYTES", 0)
    with open_file(browser, tmp_path, Exploration(clf)) as page:
        page.wait_for_selector("#carried")
        assert "shows no probabilities" in page.inner_text("#carried")
        assert "%" not in page.locator(".bars").first.inner_text()


def test_there_is_one_number_of_terms(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("wordclass.explorer.page.MAX_PAGE_BYTES", 60_000)
    monkeypatch.setattr("wordclass.explorer.page.MAX_COMPLETE_PAGE_BYTES", 0)
    texts, labels = corpus(90, seed=0)
    options = {"C": 1.0, "block_weight": 0.0, "vector_weight": 0.0, "characters": (2, 4)}
    views = Exploration(wc.classifier("linear", **options).fit(texts, labels))
    n_terms = sum(len(part.weights) for part in views.model.scorer_.linear_scorers)
    with open_file(browser, tmp_path, views) as page:
        page.wait_for_selector("#carried")
        assert f"{n_terms:,} terms" in page.inner_text("#facts")
        assert f"of the model's {n_terms:,} terms" in page.inner_text("#carried")


def test_texts_in_tables_are_aligned_left_and_numbers_right(browser, tmp_path):
    table = {
        "caption": "c", "heads": ["name", "text", "number"],
        "rows": [["a", "words", "1,234"], ["b", "3 words", "0.5%"]],
    }  # fmt: skip
    overview = {"title": "t", "paragraphs": [], "numbers": [], "tables": [table], "files": []}
    with open_file(browser, tmp_path, Exploration(model("nearest")), overview=overview) as page:
        alignments = page.eval_on_selector_all(
            "tbody tr:first-child > *",
            "cells => cells.map((cell) => getComputedStyle(cell).textAlign)",
        )
        assert alignments == ["left", "left", "right"]
