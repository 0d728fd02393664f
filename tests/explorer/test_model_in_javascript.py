"""Portable models in Node compared with Python: equal terms, labels, scores and explanations."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from made_up import corpus
from portable_models import MODELS, fit, hostile_texts, merge_surrogates

import wordclass as wc
from wordclass.explorer import page
from wordclass.explorer.portable import MODEL_FILE, MODULE_FILE, PortableModel, export_web
from wordclass.text.analyzer import Analyzer, CharacterAnalyzer

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")

DRIVER = """
import { readFileSync } from "node:fs";
import { characterTerms, load, tokenize, wordTerms } from "./wordclass.mjs";
const { texts, options } = JSON.parse(readFileSync(0, "utf-8"));
const model = await load(readFileSync(new URL("model.bin", import.meta.url)));
const spanOf = ([term, spans]) => [term, spans[0][0], spans.at(-1)[1]];
const read = (text) => {
  const tokens = tokenize(text, options, model.characters);
  return {
    lower: model.characters.lower(text),
    tokens: tokens.map(({ token, start, end }) => [token, start, end]),
    terms: [...wordTerms(tokens, [1, 2])].map(([term]) => term),
    ngrams: [...characterTerms(text, options.characters, model.characters)].map(spanOf),
  };
};
const classify = (text) => {
  const scores = model.scores(text);
  return {
    scores: [...scores],
    probabilities: model.probabilities(scores),
    labels: model.predict([text])[0],
    best: model.best(text, 2),
    explanation: model.explain(text),
  };
};
process.stdout.write(JSON.stringify(texts.map(options ? read : classify)));
"""


def run_node(folder, texts, options=None):
    """Return the answers of the module in an exported folder for texts."""
    (folder / "driver.mjs").write_text(DRIVER)
    run = subprocess.run(
        [NODE, folder / "driver.mjs"],
        input=json.dumps({"texts": texts, "options": options}).encode(),
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    return json.loads(run.stdout)


@pytest.fixture
def small_model(tmp_path):
    """A folder with an exported model of two words."""
    model = wc.classifier("nearest", min_docs=1).fit(["moon", "rose"], ["sky", "garden"])
    export_web(model, tmp_path / "small")
    return tmp_path / "small"


@pytest.mark.parametrize("masks", [True, False])
def test_texts_are_analyzed_as_in_python(small_model, masks):
    texts = hostile_texts(1000, seed=int(masks))
    stop_words = ["ab", "the"]
    options = {"masksNumbers": masks, "stopWords": stop_words, "characters": [2, 4]}
    answers = run_node(small_model, texts, options)
    analyze = Analyzer(mask_numbers=masks, stop_words=frozenset(stop_words), ngrams=(1, 2))
    ngrams = CharacterAnalyzer(ngrams=(2, 4))
    for text, answer in zip(texts, answers, strict=True):
        assert answer["lower"] == merge_surrogates(text.lower()), ascii(text)
        assert answer["tokens"] == [[*token] for token in analyze.tokens(text)], ascii(text)
        assert answer["terms"] == analyze(text), ascii(text)
        assert answer["ngrams"] == [[*span] for span in ngrams.spans(text)], ascii(text)


def test_every_character_is_analyzed_as_in_python(small_model):
    # other code points are not assigned
    codes = [*range(0x40000), *range(0xE0000, 0xE1000), sys.maxunicode]
    characters = [chr(code) for code in codes]
    blocks = [characters[first : first + 4096] for first in range(0, len(characters), 4096)]
    texts = [merge_surrogates("".join(f"a{char}b " for char in block)) for block in blocks]
    options = {"masksNumbers": True, "stopWords": [], "characters": [1, 1]}
    answers = run_node(small_model, texts, options)
    analyze = Analyzer()
    ngrams = CharacterAnalyzer(ngrams=(1, 1))
    for text, answer in zip(texts, answers, strict=True):
        assert answer["lower"] == text.lower()
        assert answer["tokens"] == [[*token] for token in analyze.tokens(text)]
        assert answer["ngrams"] == [[*span] for span in ngrams.spans(text)]


@pytest.mark.parametrize("name", MODELS)
def test_labels_scores_and_probabilities_are_those_of_python(tmp_path, name):
    model, texts = fit(name)
    export_web(model, tmp_path / "web")
    answers = run_node(tmp_path / "web", texts)
    classes = [str(label) for label in model.classes_]
    predictions = model.predictions(texts)
    decisions = predictions.decisions
    for k, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        assert answer["scores"] == pytest.approx(predictions.scores[k].tolist(), abs=1e-5), ascii(
            text
        )
        labels = [label for label, is_given in zip(classes, decisions[k], strict=True) if is_given]
        assert sorted(row["label"] for row in answer["labels"]) == sorted(labels), ascii(text)
        if predictions.has_probabilities:
            expected = predictions.probabilities[k].tolist()
            assert answer["probabilities"] == pytest.approx(expected, abs=1e-5), ascii(text)
        for row in [*answer["labels"], *answer["best"]]:
            column = classes.index(row["label"])
            assert row["score"] == answer["scores"][column]


@pytest.mark.parametrize("name", MODELS)
def test_explanations_are_those_of_python(tmp_path, name):
    model, texts = fit(name)
    export_web(model, tmp_path / "web")
    texts = texts[::3]
    for text, answer in zip(texts, run_node(tmp_path / "web", texts), strict=True):
        explanation = answer["explanation"]
        total = explanation["intercept"] + explanation["sum"]
        assert total == pytest.approx(explanation["score"], abs=1e-5), ascii(text)
        if len(model.scorer_.linear_scorers) > 1:
            continue  # Python assigns n-grams of characters to words in another way
        words = model.explanation(text).per_word(explanation["label"])
        expected = {(word.start, word.end): word.contribution for word in words}
        for _, start, end, contribution in explanation["words"]:
            assert contribution == pytest.approx(expected.pop((start, end), 0.0), abs=1e-5)
        assert all(abs(contribution) < 1e-5 for contribution in expected.values()), ascii(text)


def test_half_precision_changes_scores_only_slightly(tmp_path):
    model, texts = fit("words and characters")
    export_web(model, tmp_path / "web")
    content = PortableModel.of(model).to_bytes(dtype="float16")
    n_bytes = (tmp_path / "web" / MODEL_FILE).stat().st_size
    assert len(content) < n_bytes
    (tmp_path / "web" / MODEL_FILE).write_bytes(content)
    scores = model.class_scores(texts).tolist()
    for answer, expected in zip(run_node(tmp_path / "web", texts), scores, strict=True):
        assert answer["scores"] == pytest.approx(expected, abs=1e-3)


def test_classes_of_any_characters_are_exported(tmp_path):
    names = ["x\ud800", "\U0001f600 b", "3"]
    model = wc.classifier("nearest", min_docs=1).fit(["moon", "rose", "song"], names)
    export_web(model, tmp_path / "web")
    answers = run_node(tmp_path / "web", ["moon", "rose", "song"])
    assert [answer["labels"][0]["label"] for answer in answers] == names


def test_a_damaged_file_is_refused(small_model):
    content = (small_model / MODEL_FILE).read_bytes()
    newer = content[:8] + (99).to_bytes(4, "little") + content[12:]
    for damaged, message in (
        (b"nothing of use" * 9, "not a portable model"),
        (content[: len(content) // 2], "damaged or cut short"),
        (newer, "version 99 of the format"),
    ):
        (small_model / MODEL_FILE).write_bytes(damaged)
        with pytest.raises(AssertionError, match=message):
            run_node(small_model, ["moon"])


def test_other_models_are_refused(tmp_path):
    texts, labels = corpus(30, seed=0)
    own = wc.classifier("nearest", min_docs=1, analyzer=str.split).fit(texts, labels)
    weighted = wc.classifier("nearest", min_docs=1, weighting="binary").fit(texts, labels)
    for model, message in (
        (own, "a model with its own analyzer cannot be exported"),
        (weighted, "another weighting than tf-idf"),
    ):
        with pytest.raises(wc.InputError, match=message):
            export_web(model, tmp_path / "web")
        assert not (tmp_path / "web").exists()


def test_an_export_replaces_only_an_earlier_export(small_model):
    model = wc.classifier("nearest", min_docs=1).fit(["moon", "rose"], ["a", "b"])
    export_web(model, small_model)
    assert {path.name for path in small_model.iterdir()} == {MODEL_FILE, MODULE_FILE}
    (small_model / "thesis.txt").touch()
    with pytest.raises(wc.InputError, match=r"it holds thesis\.txt; choose another folder"):
        export_web(model, small_model)


def test_the_scripts_do_not_rely_on_character_classes_of_browsers():
    for name in (MODULE_FILE, "source.js"):
        source = (page._STATIC / name).read_text()
        code = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
        assert not re.search(r"\\[swpdbSWPDB]|toLowerCase|toUpperCase|\.trim|toLocale", code)
