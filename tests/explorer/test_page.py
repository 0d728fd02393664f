"""The page in Chromium, which Playwright controls. It may send no request to other hosts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from explored_models import documents, model
from made_up import corpus
from pages_in_browser import EMPTY_MAP, opened, show
from running_service import running

import wordclass as wc
from wordclass.corpus.documents import LabelledCorpus
from wordclass.explorer.page import MAX_PAGE_BYTES, Page, export_page
from wordclass.explorer.views import Exploration

axe = pytest.importorskip("axe_playwright_python")
pytest.importorskip("openTSNE")

pytestmark = pytest.mark.xdist_group("page")  # so that its fixtures are created once

TEXT = "The moon and 42 rockets in orbit, a rose; Piano music 3.x \U0001f600 <i>song</i> unheard"
VIEWS = [
    "text",
    "class/space",
    "word/moon",
    "mistakes",
    "mistakes/space/garden",
    "map",
    "rest/music",
]


KINDS = [
    pytest.param(kind, is_multilabel, id=f"{kind}{'-multilabel' * is_multilabel}")
    for kind in ("linear", "nearest", "svm", "cnn")
    for is_multilabel in (False, True)
]


@pytest.mark.parametrize(("kind", "is_multilabel"), KINDS)
def test_every_view_of_the_file_opens(browser, files, kind, is_multilabel):
    with opened(browser, files(kind, is_multilabel)) as page:
        for view in VIEWS:
            text = show(page, view)
            if kind == "cnn" and view in ("text", "word/moon", "rest/music"):
                assert "use wordclass serve or wordclass explore" in text
            else:
                assert page.locator("main [role=alert]").count() == 0 or "not in the file" in text
        assert "moon" in show(page, "class/space")


def shown_predictions(page):
    """Return the labels in order, the sentence with the predicted ones, and the sum."""
    labels = [text.removesuffix(" ✓") for text in page.locator(".bars .link").all_inner_texts()]
    return labels, page.inner_text("#said"), page.inner_text("#sum")


def as_number(text):
    return float(text.replace("\u2212", "-"))


@pytest.mark.parametrize(("kind", "is_multilabel"), KINDS[:4])
def test_the_file_predicts_the_same_as_the_model(browser, files, kind, is_multilabel):
    views = Exploration(model(kind, is_multilabel), documents(is_multilabel))
    texts = [
        TEXT,
        "",
        *documents(is_multilabel).texts[:10],
        "İstanbul ΣΑΣ 3.5,7 x-12 moon's",
        "\x00 moon",
    ]
    with opened(browser, files(kind, is_multilabel)) as page:
        for text in texts:
            expected = views.explain(text)
            page.fill("#text", text)
            score = f"{expected['score']:.3f}".replace("-0.000", "0.000").replace("-", "\u2212")
            page.wait_for_function(
                """([text, score]) => document.querySelector("#colored")?.textContent === text
                    && document.querySelector("#sum").innerText.includes(score)""",
                arg=[text or "The text is empty.", score],
            )
            labels, sentence, _ = shown_predictions(page)
            best = [str(prediction["label"]) for prediction in views.predict([text], 3)[0]]
            assert labels[0] == best[0] or views.is_multilabel
            for label in expected["predicted"]:
                assert str(label) in sentence


def browser_numbers(page, texts):
    """Return the predictions and explanations of the script inside the page."""
    return page.evaluate(
        """async (texts) => {
            const source = document.querySelector("script[type=module]").textContent;
            const data = JSON.parse(document.getElementById("data").textContent);
            const run = new Function("texts", "data", source.replace(/\\nstart\\(\\);\\s*$/, "") + `
                return load(Uint8Array.from(atob(data.model), (letter) => letter.charCodeAt(0))).then((model) =>
                    texts.map((text) => ({
                        classes: model.best(text, 99), explanation: model.explain(text, data.about.classes[0]),
                    })));`);
            return run(texts, data);
        }""",
        texts,
    )


NASTY = [
    TEXT, "", " ", "moon", "Moon MOON moon", "İstanbul ΣΑΣ Σ", "3.5,7 x-12 3.x 1,000-2 -5 5- 7abc",
    "the moon's orbit; rose/soil\tpiano\nsong", "\U0001f680 moon\U0001f680orbit", "ﬁne ß ẞ ŉ",
    "a_b __ _moon_ ٣٤ 12٣ ²³ ½", "moon \u200b orbit \u00a0 rose \u2028 song", "e\u0301clair moon",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "is_multilabel", "options"),
    [
        ("linear", False, {"characters": None, "ngrams": (1, 2)}),
        ("linear", False, {"characters": (2, 4)}),
        ("linear", True, {"characters": (1, 3), "mask_numbers": False}),
        ("nearest", True, {"min_docs": 1, "stop_words": "english"}),
        ("nearest", False, {"min_docs": 1, "analyzer": "characters", "ngrams": (2, 4)}),
    ],
)
def test_scores_in_the_browser_equal_those_of_the_model(
    browser, tmp_path, kind, is_multilabel, options
):
    from made_up import multilabel_corpus

    texts, labels = (multilabel_corpus if is_multilabel else corpus)(60)
    texts = [text + f" {k}.5 x{k} İx ΣΑΣ" for k, text in enumerate(texts)]
    clf = wc.classifier(kind, **options).fit(texts, labels)
    views = Exploration(clf)
    path = tmp_path / "page.html"
    path.write_bytes(export_page("page", views, map_facts=EMPTY_MAP))
    texts = [*NASTY, *texts[:10]]
    context = browser.new_context(bypass_csp=True)  # so that the test can run code of the module
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("main h1")
    answers = browser_numbers(page, texts)
    context.close()
    scores = clf.class_scores(texts)
    names = clf.classes_.tolist()
    probabilities = clf.predict_proba(texts)
    for k, answer in enumerate(answers):
        classes = {prediction["label"]: prediction for prediction in answer["classes"]}
        np.testing.assert_allclose(
            [classes[name]["score"] for name in names], scores[k], atol=1e-5, err_msg=repr(texts[k])
        )
        np.testing.assert_allclose(
            [classes[name]["probability"] for name in names], probabilities[k], atol=1e-5
        )
        explanation = answer["explanation"]
        expected = views.explain(texts[k], names[0])
        for key in ("score", "intercept", "sum"):
            assert explanation[key] == pytest.approx(expected[key], abs=2e-5), (key, texts[k])
        total = sum(contribution for *_, contribution in explanation["words"])
        assert total == pytest.approx(explanation["sum"], abs=1e-5)
        for word, start, end, _ in explanation["words"]:
            assert texts[k][start:end] == word
        if clf.name == "linear" and options["characters"] is None:
            by_span = {(start, end): value for _, start, end, value in expected["words"]}
            for _, start, end, contribution in explanation["words"]:
                assert by_span[start, end] == pytest.approx(contribution, abs=2e-5)


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """The served page of a multilabel network, which cannot be exported."""
    folder = tmp_path_factory.mktemp("explored")
    model("cnn", True).save(folder / "net")
    lines = [
        json.dumps({"text": text, "labels": labels})
        for text, labels in zip(documents(True).texts, documents(True).labels, strict=True)
    ]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    options = ["--data", folder / "docs.jsonl", "--quiet"]
    with running(folder, folder / "net", *options, command="explore") as service:
        yield service


def test_the_served_page_shows_what_the_model_says(browser, explored):
    views = Exploration(model("cnn", True), documents(True))
    with opened(browser, explored.address) as page:
        page.fill("#text", TEXT)
        expected = views.explain(TEXT)
        page.wait_for_function(
            "wanted => document.querySelector('#sum')?.innerText.includes(wanted)",
            arg=f"{expected['score']:.3f}".replace("-", "\u2212"),
        )
        _, sentence, _ = shown_predictions(page)
        assert all(str(label) in sentence for label in expected["predicted"])
        page.select_option("#choose-Explainthisclass", "garden")
        page.select_option("#choose-Comparewith", "music")
        page.wait_for_function(
            "() => document.querySelector('#sum').innerText.includes('garden minus score of music')"
        )
        both = views.explain(TEXT, "garden", "music")
        assert f"{abs(both['score']):.3f}" in page.inner_text("#sum")
        for view in VIEWS:
            show(page, view)
            assert page.locator("main [role=alert]").count() == 0
    answer = explored.get("/")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert explored.get("/static/..%2fpage.py").status_code == 404
    assert explored.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_a_cell_shows_exact_sums(browser, files):
    views = Exploration(model("linear"), documents())
    (true, predicted, n), *_ = views.mistakes()["cells"]
    names = (views.classes[true], views.classes[predicted])
    with opened(browser, files("linear", False)) as page:
        show(page, "mistakes")
        page.click(f"a[href='#mistakes/{names[0]}/{names[1]}'] >> nth=0")
        page.wait_for_selector("#total")
        expected = views.cell(*names)
        assert f"{n} documents" in page.inner_text("main")
        assert as_number(page.inner_text("#total strong")) == pytest.approx(
            expected["total"], abs=0.006
        )
        rows = page.locator("#cell tbody tr").all_inner_texts()
        word, contribution, n_docs = rows[0].split("\t")
        assert (word, int(n_docs)) == (expected["words"][0][0], expected["words"][0][2])
        assert as_number(contribution) == pytest.approx(expected["words"][0][1], abs=6e-4)


def test_the_map_is_searched_filtered_and_moved(browser, files):
    with opened(browser, files("linear", False)) as page:
        show(page, "map")
        first = page.locator("canvas").screenshot()
        page.fill("#find", "moon")
        page.wait_for_function(
            "() => document.querySelector('#said').innerText.startsWith('moon: space')"
        )
        assert page.locator("#found li").first.inner_text() == "moon (space)"
        assert page.locator("canvas").screenshot() != first
        page.fill("#find", "zzz")
        assert "No term on the map begins" in page.inner_text("#said")
        page.fill("#find", "")
        page.click(".chips button >> text=garden")
        assert "garden: " in page.inner_text("#said")
        page.focus("canvas")
        before = page.locator("canvas").screenshot()
        for key in ("+", "ArrowLeft"):
            page.keyboard.press(key)
        page.wait_for_timeout(100)
        assert page.locator("canvas").screenshot() != before
        page.keyboard.press("0")
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + 10, box["y"] + 10)
        messages = set()
        for k in range(0, 100, 4):
            page.mouse.move(box["x"] + box["width"] * k / 100, box["y"] + box["height"] * k / 100)
            messages.add(page.inner_text("#said"))
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(50)


def test_everything_can_be_reached_by_keyboard(browser, files):
    with opened(browser, files("linear", False)) as page:
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    "(document.activeElement.getAttribute('href') || '') + '|' + document.activeElement.tagName"
                )
            )
        for view in ("text", "class", "word", "mistakes", "map", "rest"):
            assert f"#{view}|A" in reached
        assert {"|TEXTAREA", "|SELECT", "|BUTTON"} <= reached
        for view in VIEWS:
            show(page, view)
            unreachable = page.evaluate(
                """() => [...document.querySelectorAll("main a, main button, main input, main select, main canvas")]
                    .filter((each) => each.tabIndex < 0).length"""
            )
            assert unreachable == 0
        show(page, "class/space")
        page.focus("nav a[href='#map']")
        page.keyboard.press("Enter")
        page.wait_for_selector("main[data-view=map]")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_axe_finds_nothing_serious(browser, files, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(files("linear", False))
    page.wait_for_selector("main h1")
    page.fill("#text", TEXT)
    page.wait_for_selector("mark")
    serious = []
    for view in VIEWS:
        if view != "text":
            show(page, view)
        violations = Axe().run(page).response["violations"]
        serious += [
            (view, violation["id"], [node["html"][:100] for node in violation["nodes"]][:3])
            for violation in violations
            if violation["impact"] in ("serious", "critical")
        ]
    context.close()
    assert not serious


def test_nothing_is_wider_than_a_phone(browser, files):
    with opened(browser, files("linear", False), viewport={"width": 360, "height": 740}) as page:
        page.fill("#text", TEXT)
        for view in VIEWS:
            show(page, view)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, view


ATTACKS = [
    "</script><script>window.hacked=1</script>", "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>", "\"><svg onload=window.hacked=1>", "<!--<script>",
    "]]><script>window.hacked=1</script>", "javascript:window.hacked=1", "'-window.hacked=1-'",
    "${window.hacked=1}", "{{constructor.constructor('window.hacked=1')()}}", "</textarea><b>x",
    "</title><script>window.hacked=1</script>", "<iframe srcdoc='<script>parent.hacked=1</script>'>",
    "<a href=javascript:window.hacked=1>x</a>", "\\u003cscript\\u003ewindow.hacked=1", "</style><b>",
    "<base href=http://evil.example/>", "<form action=http://evil.example>", "<meta http-equiv=refresh>",
    "__proto__", "\u2028window.hacked=1\u2029", "<link rel=stylesheet href=http://evil.example/x.css>",
]  # fmt: skip


def spaced(text):
    return text.split()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """A model and documents whose classes and words are attacks."""
    plain = [attack.replace(" ", "_") for attack in ATTACKS]
    texts = [f"{attack} {attack} word{k}" for k, attack in enumerate(plain)] * 2
    labels = [*ATTACKS] * 2
    labels[0] = ATTACKS[1]  # a mistake
    clf = wc.classifier("nearest", min_docs=1, analyzer=spaced).fit(texts, labels)
    return clf, LabelledCorpus(texts, [*ATTACKS] * 2, is_multilabel=False)


def test_attacks_are_shown_as_text(browser, attacked, tmp_path):
    assert len(ATTACKS) >= 20
    clf, corpus_ = attacked
    path = tmp_path / "page.html"
    path.write_bytes(export_page(ATTACKS[0], Exploration(clf, corpus_)))
    with opened(browser, path.as_uri()) as page:
        n_scripts = page.locator("script").count()
        for name in ATTACKS:
            assert (
                page.evaluate(
                    "name => { location.hash = `class/${encodeURIComponent(name)}` }", name
                )
                is None
            )
            page.wait_for_function(
                "name => document.querySelector('main h1')?.textContent === name", arg=name
            )
            assert name.split()[0][:8] in page.inner_text("main")
        for view in ("text", "mistakes", "map"):
            show(page, view)
        for k in range(4):
            show(page, f"mistakes/{k}")
        assert page.evaluate("window.hacked") is None
        assert page.locator("script").count() == n_scripts
        assert (
            page.locator("main img, main svg, main iframe, main b, main form[action], base").count()
            == 0
        )


def test_attacks_on_the_words_and_texts_of_a_file_that_predicts(browser, tmp_path):
    """Attacks in typed texts and in labels, with the default analyzer."""
    labels = [*ATTACKS] * 3
    texts = [f"term{k % len(ATTACKS)} {ATTACKS[k % len(ATTACKS)]}" for k in range(len(labels))]
    clf = wc.classifier("nearest", min_docs=1).fit(texts, labels)
    path = tmp_path / "page.html"
    corpus_ = LabelledCorpus(texts, labels, is_multilabel=False)
    path.write_bytes(export_page("x", Exploration(clf, corpus_), map_facts=EMPTY_MAP))
    with opened(browser, path.as_uri()) as page:
        for attack in ATTACKS:
            page.fill("#text", attack)
            page.wait_for_function(
                "wanted => document.querySelector('#colored')?.textContent === wanted", arg=attack
            )
            show(page, f"word/{re.sub('%', '', attack).replace('/', ' ')}")
            show(page, "text")
        assert page.evaluate("window.hacked") is None


def test_two_thousand_classes_stay_readable_and_small(browser, tmp_path):
    names = [f"class number {k}" for k in range(2000)]
    texts = [f"word{k} word{k + 1} shared" for k in range(2000)] * 2
    clf = wc.classifier("nearest", min_docs=1, probabilities=False).fit(texts, names * 2)
    views = Exploration(clf, LabelledCorpus(texts[:300], names[1:301], is_multilabel=False))
    content = export_page("many", views, map_facts=EMPTY_MAP)
    assert len(content) < 3_000_000
    path = tmp_path / "many.html"
    path.write_bytes(content)
    with opened(browser, path.as_uri()) as page:
        page.fill("#text", "word7 shared")
        page.wait_for_selector("#carried")
        assert "of the model's 2,002 terms" in page.inner_text("#carried")
        assert page.locator(".bars .link").count() == 8
        text = show(page, "mistakes")
        assert "The 24 classes with most mistakes, of 2,000" in text
        assert page.locator(".confusion tbody tr").count() <= 25
        show(page, "class/class number 7")
        assert page.locator("#main select").count() == 0  # 2,000 names are too many for a menu


def test_a_large_model_paints_within_a_second_and_fits_into_three_megabytes(browser, tmp_path):
    """The model has 20 classes and 20,000 terms."""
    rng = np.random.default_rng(0)
    words = [f"term{k:05}" for k in range(20_000)]
    texts = [" ".join(words[k::400]) for k in range(400)]
    labels = [f"class.{k % 20}" for k in range(400)]
    clf = wc.classifier("nearest", min_docs=1).fit(texts, labels)
    views = Exploration(clf, LabelledCorpus(texts[:100], labels[:100], is_multilabel=False))
    assert len(views.terms) == 20_000
    places = rng.random((5000, 2)).tolist()
    map_facts = {"terms": words[:5000], "class_of": [k % 20 for k in range(5000)], "profiles": [],
                 "panels": [{"title": "t", "caption": "", "neighbor_share": 0.5, "places": places}]}  # fmt: skip
    content = export_page("large", views, map_facts=map_facts)
    assert len(content) <= MAX_PAGE_BYTES + 20_000 < 3_000_000
    path = tmp_path / "large.html"
    path.write_bytes(content)
    with opened(browser, path.as_uri()) as page:
        (paint,) = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint').map((each) => each.startTime)"
        )
        assert paint < 1000
        show(page, "map")


def test_the_page_names_no_other_host():
    """The scripts have no address of another host, and every file has a media type."""
    for name, (content, _) in Page().files.items():
        assert not re.search(
            rb"https?://|//cdn|@import|eval\(|innerHTML|insertAdjacentHTML", content
        ), name
    names = {path.name for path in (Path(wc.__file__).parent / "explorer" / "static").iterdir()}
    assert names == {*Page().files}
