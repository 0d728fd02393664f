"""The C++ reader of portable models compared with Python."""

import shutil
import subprocess
from pathlib import Path

import pytest
from portable_models import MODELS, fit

import wordclass as wc
from wordclass.explorer.portable import MODEL_FILE, PortableModel

COMPILER = shutil.which("c++") or shutil.which("g++")
EXAMPLES = Path(__file__).parents[2] / "examples" / "cpp"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


@pytest.fixture(scope="module")
def classify(tmp_path_factory):
    """A function that returns the labels and scores of the C++ program for texts."""
    program = tmp_path_factory.mktemp("cpp") / "classify"
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
    subprocess.run([COMPILER, *flags, EXAMPLES / "classify.cpp", "-o", program], check=True)

    def run(content, folder, texts):
        (folder / MODEL_FILE).write_bytes(content)
        # a null character separates texts here; like a blank, it belongs to no word
        joined = "".join(text.replace("\0", " ") + "\0" for text in texts)
        result = subprocess.run(
            [program, "-0", folder / MODEL_FILE],
            input=joined.encode("utf-8", "surrogatepass"),
            capture_output=True,
        )
        assert result.returncode == 0, result.stderr.decode()
        lines = [line.split("\t") for line in result.stdout.decode().split("\n")[:-1]]
        return [
            {label: float(score) for label, score in zip(line[::2], line[1::2], strict=False)}
            for line in lines
        ]

    return run


@pytest.mark.parametrize("name", MODELS)
def test_labels_and_scores_are_those_of_python(classify, tmp_path, name):
    model, texts = fit(name)
    answers = classify(PortableModel.of(model).to_bytes(), tmp_path, texts)
    assert len(answers) == len(texts)
    classes = [str(label) for label in model.classes_]
    predictions = model.predictions(texts)
    for text, answer, scores, decisions in zip(
        texts, answers, predictions.scores, predictions.decisions, strict=True
    ):
        expected = {
            label: pytest.approx(float(score), abs=1e-5)
            for label, score, is_predicted in zip(classes, scores, decisions, strict=True)
            if is_predicted
        }
        assert answer == expected, ascii(text)


def test_weights_of_half_precision_are_read(classify, tmp_path):
    model, texts = fit("words")
    answers = classify(PortableModel.of(model).to_bytes(dtype="float16"), tmp_path, texts)
    scores = model.class_scores(texts).max(axis=1)
    for answer, score in zip(answers, scores.tolist(), strict=True):
        assert [*answer.values()] == [pytest.approx(score, abs=1e-3)]


def test_a_damaged_file_is_refused(classify, tmp_path):
    model = wc.classifier("nearest", min_docs=1).fit(["moon", "rose"], ["sky", "garden"])
    content = PortableModel.of(model).to_bytes()
    for damaged, message in (
        (b"nothing of use" * 9, "not a portable model"),
        (content[: len(content) // 2], "damaged or cut short|is missing"),
        (content[:8] + b"\x63" + content[9:], "too new"),
    ):
        with pytest.raises(AssertionError, match=message):
            classify(damaged, tmp_path, ["moon"])
