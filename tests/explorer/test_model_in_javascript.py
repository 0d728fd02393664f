"""The model that a page carries, run by Node, against Python: the same terms, labels and scores."""

import json
import random
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import defaultdict
from functools import cache

import nasty_documents
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.explorer import page
from wordclass.explorer.character_tables import character_tables
from wordclass.explorer.views import Exploration
from wordclass.text.analyzer import Analyzer, CharacterAnalyzer

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="there is no node, which runs the page's model"
)

DRIVER = """
import { readFileSync } from "node:fs";
import { Characters, LocalModel, characterTerms, wordTerms, words } from "./model.mjs";
const asked = JSON.parse(readFileSync(0, "utf-8"));
const characters = new Characters(asked.tables);
const model = asked.model && new LocalModel(asked.model, asked.classes, asked.tables);
const read = ([term, places]) => [term, places[0][0], places.at(-1)[1]];
const answer = (text) => {
  if (model) {
    const scores = model.scores(text);
    return { scores: [...scores], labels: model.predicted(scores) };
  }
  const tokens = words(text, asked.options, characters);
  return {
    lower: characters.lower(text),
    tokens: tokens.map(({ token, start, end }) => [token, start, end]),
    terms: [...wordTerms(tokens, [1, 2])].map(([term]) => term),
    ngrams: [...characterTerms(text, asked.options.characters, characters)].map(read),
  };
};
process.stdout.write(JSON.stringify(asked.texts.map(answer)));
"""


def ask_node(folder, **asked):
    """Return the answers of the page's code to texts."""
    (folder / "model.mjs").write_bytes((page._STATIC / "model.js").read_bytes())
    (folder / "driver.mjs").write_text(DRIVER)
    run = subprocess.run(
        [NODE, folder / "driver.mjs"],
        input=json.dumps({"tables": character_tables(), **asked}).encode(),
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    return json.loads(run.stdout)


def as_in_a_browser(text):
    """Return a text in which surrogates that make a pair are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@cache
def characters_by_kind():
    """Return characters by category and by what Python says of them."""
    kinds = defaultdict(list)
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        kind = (
            unicodedata.category(char), char.isalnum(), char.isspace(), char.lower() != char,
            char.upper() != char, len(char.lower()), (char + "\u03a3").lower()[-1],
            ("a" + char + "\u03a3").lower()[-1],
        )  # fmt: skip
        kinds[kind].append(char)
    return [*kinds.values()]


def hostile_texts(n_mixtures, seed):
    """Make texts of every kind of character, next to all that its neighbors may depend on."""
    chance = random.Random(seed)
    kinds = characters_by_kind()
    texts = nasty_documents.documents(400, seed) + nasty_documents.spliced_with_numbers()[:12]
    for characters in kinds:
        some = {characters[0], characters[-1], *chance.sample(characters, min(4, len(characters)))}
        for char in sorted(some):
            texts.append(f"moon{char}rose a{char}b 1{char}2 {char} x{char}{char}y {char}7 7{char}")
            texts.append(f"A\u03a3{char} {char}\u03a3 A{char}\u03a3 a\u03a3{char}B {char * 3}")
    for _ in range(n_mixtures):
        pieces = [chance.choice(chance.choice(kinds)) for _ in range(chance.randint(1, 30))]
        pieces += chance.choices(["moon", "Rose", "12.5", "\u03a3", " ", "numbermask"], k=4)
        chance.shuffle(pieces)
        texts.append("".join(pieces))
    return [as_in_a_browser(text) for text in texts]


@pytest.mark.parametrize("masks", [True, False])
def test_every_text_is_cut_as_python_cuts_it(tmp_path, masks):
    texts = hostile_texts(1000, seed=int(masks))
    stop_words = ["ab", "the"]
    options = {"mask_numbers": masks, "stop_words": stop_words, "characters": [2, 4]}
    answers = ask_node(tmp_path, texts=texts, options=options)
    analyze = Analyzer(mask_numbers=masks, stop_words=frozenset(stop_words), ngrams=(1, 2))
    ngrams = CharacterAnalyzer(ngrams=(2, 4))
    for text, found in zip(texts, answers, strict=True):
        assert found["lower"] == as_in_a_browser(text.lower()), ascii(text)
        assert found["tokens"] == [[*token] for token in analyze.tokens(text)], ascii(text)
        assert found["terms"] == analyze(text), ascii(text)
        assert found["ngrams"] == [[*place] for place in ngrams.spans(text)], ascii(text)


def test_every_single_character_is_read_as_python_reads_it(tmp_path):
    codes = [*range(0x40000), *range(0xE0000, 0xE1000), sys.maxunicode]  # others are not assigned
    every = [chr(code) for code in codes]
    blocks = [every[first : first + 4096] for first in range(0, len(every), 4096)]
    texts = [as_in_a_browser("".join(f"a{char}b " for char in block)) for block in blocks]
    options = {"mask_numbers": True, "stop_words": [], "characters": [1, 1]}
    answers = ask_node(tmp_path, texts=texts, options=options)
    analyze = Analyzer()
    ngrams = CharacterAnalyzer(ngrams=(1, 1))
    for text, found in zip(texts, answers, strict=True):
        assert found["lower"] == text.lower()
        assert found["tokens"] == [[*token] for token in analyze.tokens(text)]
        assert found["ngrams"] == [[*place] for place in ngrams.spans(text)]


FIXED = {"C": 1.0, "block_weight": 0.0, "vector_weight": 0.0, "min_docs": 1}  # without a search
WORDY = FIXED | {"characters": None, "ngrams": (1, 1)}
MODELS = {
    "words": ("linear", False, WORDY),
    "pairs of words": ("linear", False, WORDY | {"ngrams": (1, 2)}),
    "words and characters": ("linear", False, WORDY | {"characters": (2, 4)}),
    "several labels": ("linear", True, WORDY | {"characters": (1, 3)}),
    "characters": ("linear", False, FIXED | {"analyzer": "characters", "ngrams": (1, 3)}),
    "nearest": ("nearest", False, {"min_docs": 1, "mask_numbers": False}),
}


@pytest.mark.parametrize("name", MODELS)
def test_labels_and_scores_are_those_of_python(tmp_path, name):
    kind, is_multilabel, options = MODELS[name]
    texts, labels = (multilabel_corpus if is_multilabel else corpus)(90, seed=0)
    odd = hostile_texts(100, seed=2)
    # the model knows odd words, too, so that whoever finds other ones has other scores
    texts = [f"{text} {' '.join(odd[number::90])[:3000]}" for number, text in enumerate(texts)]
    model = wc.classifier(kind, **options).fit(texts, labels)
    facts, reason = page._model(Exploration(model), 1 << 28, ())
    assert reason is None
    asked = [*odd[::2], *hostile_texts(100, seed=3)[::2]]
    classes = [str(label) for label in model.classes_]
    answers = ask_node(tmp_path, texts=asked, model=facts, classes=classes)
    scores = model.class_scores(asked)
    decisions = model.decide(scores)
    for text, found, own, decided in zip(asked, answers, scores, decisions, strict=True):
        assert found["scores"] == pytest.approx(own.tolist(), abs=1e-5), ascii(text)
        labels = [label for label, is_given in zip(classes, decided, strict=True) if is_given]
        assert found["labels"] == labels, ascii(text)


def test_no_code_of_the_page_relies_on_what_a_browser_takes_for_a_letter():
    for name in ("model.js", "source.js"):
        source = (page._STATIC / name).read_text()
        code = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
        assert not re.search(r"\\[swpdbSWPDB]|toLowerCase|toUpperCase|\.trim|toLocale", code)
