import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from wordclass import progress
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.vectors.formats import _text, glove_text
from wordclass.vectors.word_vectors import WordVectors


def write_file(folder, content):
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_terms_may_contain_spaces(tmp_path):
    path = write_file(tmp_path, "moon 1 2\n. . . 3 4\nat name@domain.com 5 6\nroute 66 7 8\n")
    vectors = glove_text.read(path)
    assert vectors.terms == ["moon", ". . .", "at name@domain.com", "route 66"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_terms_with_spaces_are_written_unchanged(tmp_path):
    vectors = WordVectors.of(["moon", ". . .", " x ", "new york"], np.eye(4))
    glove_text.write(tmp_path / "out.txt", vectors)
    assert (tmp_path / "out.txt").read_bytes().startswith(b"moon 1.0 0.0 0.0 0.0\n. . . 0.0 1.0")
    assert glove_text.read(tmp_path / "out.txt").terms == vectors.terms


def test_a_term_may_itself_be_a_number(tmp_path):
    assert glove_text.read(write_file(tmp_path, "7 1 2\n8.5 3 4\nnan 5 6\n")).terms == [
        "7",
        "8.5",
        "nan",
    ]


def test_numbers_are_written_with_few_digits(tmp_path):
    glove_text.write(tmp_path / "out.txt", WordVectors.of(["a"], [[0.1, -2, 1e-7]]))
    assert (tmp_path / "out.txt").read_text() == "a 0.1 -2.0 1e-7\n"


@pytest.mark.parametrize("end", [b" \n", b"\r\n", b" \r\n", b"\n"])
def test_spaces_and_carriage_returns_at_the_end_of_a_line_are_ignored(tmp_path, end):
    path = write_file(tmp_path, b"a 1 2" + end + b"b 3 4" + end.removesuffix(b"\n"))
    assert glove_text.read(path).matrix.tolist() == [[1, 2], [3, 4]]


def test_only_newlines_end_a_line(tmp_path):
    terms = ["a\u0085b", "\u2028", "\x0b", "\x1c", "a\rb", "\u00a0"]
    path = write_file(tmp_path, "".join(f"{term} 1 2\n" for term in terms))
    assert glove_text.read(path).terms == terms


def test_the_first_vector_of_a_repeated_term_is_used(tmp_path):
    vectors = glove_text.read(write_file(tmp_path, "a 1\nb 2\na 3\n"))
    assert vectors.terms == ["a", "b"]
    assert vectors.matrix.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("a 1 2 3\nb 4 5\n", 2, r"too few fields \(3\); expected a term and 3 numbers"),
        ("a 1 2\nb x 4\n", 2, "not a number.*b'x'"),
        ("a 1 2\nb 3 x\n", 2, "not a number.*b'x'"),
        ("a 1 2\nb 3 4\nc 1_0 2\n", 3, "not a number.*1_0"),
        ("a 1 2\nb 3 4\nc 1 \u0665\n", 3, "not a number"),
        ("a 1 2\nb 3 4\nc 1  2\n", None, None),  # the term `c 1`, an empty field
        ("a 1 2\nb nan 4\n", 2, "'b' holds a NaN"),
        ("a 1 2\nb 3 inf\n", 2, "'b' holds a NaN"),
        ("a 1 2\nb 3 1e39\n", 2, "too large"),
        ("a 1 2\n\nb 3 4\n", 2, r"too few fields \(1\)"),
        (b"a 1 2\n\xff\xfe 3 4\n", 2, "not UTF-8"),
        ("", 1, "expected a term"),
        ("a\tb\n", 1, "expected a term"),
        ("just some words\nand more of them\n", 1, "expected a term"),
    ],
)
def test_the_error_of_an_invalid_line_has_its_number(tmp_path, content, line, reason):
    with pytest.raises(FormatError, match=reason) as caught:
        glove_text.read(write_file(tmp_path, content))
    assert line is None or caught.value.line == line


def test_the_error_of_a_late_invalid_line_has_its_number(tmp_path):
    lines = [f"t{k} {k}.5 1\n" for k in range(5000)]
    lines[3210] = "t3210 1 oops\n"
    with pytest.raises(FormatError, match="oops") as caught:
        glove_text.read(write_file(tmp_path, "".join(lines)))
    assert caught.value.line == 3211


def test_numbers_of_other_terms_are_counted_but_not_parsed(tmp_path):
    path = write_file(tmp_path, "a 1 2\nb 3 4\nc x y\nd 5 6\ne 7\n")
    with pytest.raises(FormatError, match=r"too few fields \(2\)"):
        glove_text.read(path, frozenset("d"))
    path = write_file(tmp_path, "a 1 2\nb 3 4\nc x y\nd 5 6\n")
    assert glove_text.read(path, frozenset("d")).matrix.tolist() == [[5, 6]]
    assert glove_text.read(path, frozenset("z")).matrix.shape == (0, 2)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["route 66"], "no header"),
        (["a\nb"], "newline"),
        ([""], "empty"),
        (["\ud800"], "surrogate"),
    ],
)
def test_terms_that_could_not_be_read_back_are_refused(tmp_path, terms, message):
    with pytest.raises(InputError, match=message):
        glove_text.write(tmp_path / "out.txt", WordVectors.of(terms, [[1.0]]))
    assert list(tmp_path.iterdir()) == []


def test_empty_vectors_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="no header"):
        glove_text.write(tmp_path / "out.txt", WordVectors.of([], np.zeros((0, 3))))


def test_dimension_names_are_written_to_a_separate_file(tmp_path):
    glove_text.write(tmp_path / "out.txt", WordVectors.of(["a"], [[1.0, 2.0]], ["x", 3]))
    assert json.loads((tmp_path / "out.txt.classes.json").read_text()) == ["x", 3]


def test_an_error_is_raised_if_stale_dimension_names_cannot_be_removed(tmp_path):
    (tmp_path / "out.txt.classes.json").mkdir()
    with pytest.raises(StorageError, match=r"cannot be removed.*names other vectors"):
        glove_text.write(tmp_path / "out.txt", WordVectors.of(["a"], [[1.0, 2.0]]))


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ('["x"]', "1 dimension names for 2"),
        ("[1.5, 2]", "JSON list"),
        ("{", "not a JSON list"),
        ('"xy"', "JSON list"),
        ('{"x": 1, "y": 2}', "JSON list"),
    ],
)
def test_invalid_dimension_names_are_refused(tmp_path, names, reason):
    path = write_file(tmp_path, "a 1 2\n")
    (tmp_path / "vectors.txt.classes.json").write_text(names)
    with pytest.raises(FormatError, match=reason) as caught:
        glove_text.read(path)
    assert caught.value.path == tmp_path / "vectors.txt.classes.json"


def test_progress_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK_BYTES", 1 << 16)
    reports = []
    path = write_file(tmp_path, "".join(f"t{k} 1\n" for k in range(20_000)))
    with progress.on_progress(lambda *report: reports.append(report)):
        glove_text.read(path)
    done = [n_lines for _, n_lines, _ in reports]
    assert {(step, total) for step, _, total in reports} == {("reading vectors.txt", None)}
    assert done == sorted(set(done))
    assert len(done) > 2
    assert done[-1] == 20_000


@pytest.mark.slow
def test_real_vectors_are_read_in_seconds(shared_data, tmp_path):
    script = shared_data("glove_text.py")
    path = tmp_path / "glove.txt"
    subprocess.run([sys.executable, script, path], check=True)
    start = time.process_time()
    vectors = WordVectors.load(path, cache=False)
    assert time.process_time() - start < 8  # 1.5 on a quiet machine
    assert vectors.matrix.shape == (341_479, 100)
    expected = WordVectors.load(shared_data("glove.6B.100d.npz"))
    assert vectors.terms == expected.terms
    np.testing.assert_allclose(vectors.matrix, expected.matrix, atol=6e-6)
    WordVectors.load(path)
    start = time.process_time()
    again = WordVectors.load(path)
    assert time.process_time() - start < 0.5  # .04 on a quiet machine
    assert again.terms == vectors.terms
    assert again.matrix.tobytes() == vectors.matrix.tobytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_dimension_names_are_not_written_beside_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    contents = []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: contents.append(pipe.read_bytes()), daemon=True)
    reader.start()
    glove_text.write(pipe, WordVectors.of(["a"], [[1.0, 2.0]], ["x", "y"]))
    reader.join(60)
    assert contents == [b"a 1.0 2.0\n"]
    assert os.listdir(tmp_path) == ["pipe"]
    with pytest.raises(FormatError, match="a pipe or a device"):
        WordVectors.load(pipe)
