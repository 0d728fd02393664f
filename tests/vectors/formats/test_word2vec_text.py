import numpy as np
import pytest

from wordclass.errors import FormatError, InputError
from wordclass.vectors.formats import word2vec_text
from wordclass.vectors.word_vectors import WordVectors

VECTORS = WordVectors.of(["moon", "caf\u00e9", "a\u0085b"], [[0.1, -2.5], [1e-30, 3], [7, 8]])


def write_file(folder, content):
    path = folder / "vectors.vec"
    path.write_bytes(content.encode())
    return path


def test_the_header_has_the_sizes(tmp_path):
    word2vec_text.write(tmp_path / "out.vec", WordVectors.of(["a", "b"], np.eye(2)))
    assert (tmp_path / "out.vec").read_text() == "2 2\na 1.0 0.0\nb 0.0 1.0\n"


def test_files_of_fasttext_are_read(tmp_path):
    vectors = word2vec_text.read(write_file(tmp_path, "2 2\n</s> 1 2 \nnew york 3 4 \n"))
    assert vectors.terms == ["</s>", "new york"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


def test_empty_vectors_keep_their_number_of_dimensions(tmp_path):
    word2vec_text.write(tmp_path / "out.vec", WordVectors.of([], np.zeros((0, 3))))
    assert word2vec_text.read(tmp_path / "out.vec").matrix.shape == (0, 3)


def test_spaces_become_underscores(tmp_path):
    word2vec_text.write(tmp_path / "out.vec", WordVectors.of(["new york"], [[1.0]]))
    assert word2vec_text.read(tmp_path / "out.vec").terms == ["new_york"]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["new york", "rome", "new_york"], "'new york' and 'new_york' would both"),
        (["a", "", "b"], "empty"),
        (["a", "b\n", "c"], "newline"),
    ],
)
def test_terms_that_cannot_be_written_are_refused(tmp_path, terms, message):
    with pytest.raises(InputError, match=message):
        word2vec_text.write(tmp_path / "out.vec", WordVectors.of(terms, np.eye(3)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("3 1\na 1\nb 2\n", None, "3 vectors, but the file ends after 2"),
        ("1 1\na 1\nb 2\n", 3, "1 vectors, but there are more lines"),
        ("2 2\na 1 2\nb 3\n", 3, r"too few fields \(2\)"),
        ("2 2\na 1 2\nb 3 x\n", 3, "not a number"),
        ("1 1\na nan\n", 2, "NaN"),
        ("1 1\na x\nb 2\n", 2, "not a number"),  # reported before the surplus line
        ("0 1\na 1\n", 2, "0 vectors, but there are more lines"),
        (f"1 {'9' * 30}\na 1\n", 1, "n_vectors"),
        ("1 999999999999999\na 1\n", 1, "expected 1 to 100,000"),
        ("a 1 2\n", 1, "the header is 'a 1 2'; expected a line `n_vectors n_dimensions`"),
        ("2 0\na\nb\n", 1, "0 dimensions; expected 1 to 100,000"),
        ("-1 2\n", 1, "n_vectors"),
        ("0 2", 1, "n_vectors"),
        ("", 1, "n_vectors"),
    ],
)
def test_the_error_of_an_invalid_line_has_its_number(tmp_path, content, line, reason):
    with pytest.raises(FormatError, match=reason) as caught:
        word2vec_text.read(write_file(tmp_path, content))
    assert caught.value.line == line


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_can_be_exchanged_with_gensim(tmp_path):
    models = pytest.importorskip("gensim.models")
    word2vec_text.write(tmp_path / "ours.vec", VECTORS)
    theirs = models.KeyedVectors.load_word2vec_format(tmp_path / "ours.vec", binary=False)
    assert theirs.index_to_key == VECTORS.terms
    assert theirs.vectors.tolist() == VECTORS.matrix.tolist()
    theirs.save_word2vec_format(str(tmp_path / "theirs.vec"), binary=False)
    again = word2vec_text.read(tmp_path / "theirs.vec")
    assert again.terms == VECTORS.terms
    np.testing.assert_allclose(again.matrix, VECTORS.matrix, rtol=1e-6)
