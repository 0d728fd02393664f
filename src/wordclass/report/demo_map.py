"""The term map of some labelled texts: which terms are on it, and the panels it has."""

from pathlib import Path

from wordclass.corpus import LabelledCorpus
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.labels import encode
from wordclass.report.telling_terms import gains, round_robin
from wordclass.report.term_map import TermMap, lay_out
from wordclass.report.word_spaces import ClassBlindVectors, find_vectors, word_spaces
from wordclass.text.vectorizer import DocumentVectorizer

_N_PER_CLASS = 40


def draw_map(
    corpus: LabelledCorpus,
    embeddings: WordClassEmbeddings,
    vectors: Path | None,
    seed: int,
    n_jobs: int,
) -> TermMap:
    """Choose the most telling terms of each class, and lay them out in three spaces.

    All panels show the same terms: those that also the vectors without classes know.
    """
    vectorizer = DocumentVectorizer(n_jobs=n_jobs).with_vocabulary(embeddings.learned_.vocabulary)
    X = vectorizer.transform(corpus.texts)
    Y = encode(corpus.labels, embeddings.classes_).Y
    path = find_vectors(vectors)
    if path is None:
        blind = ClassBlindVectors.learn(X, seed)
    else:
        blind = ClassBlindVectors.read(path, embeddings.terms_)
    rows, class_of = round_robin(gains(X, Y), _N_PER_CLASS, blind.known)
    titles = [
        ("Without the classes", blind.source),
        ("Word-class embeddings", "One dimension a class"),
        ("Both, side by side", "Both vectors of a term, at equal length"),
    ]
    spaces = word_spaces(blind, embeddings.class_vectors_, rows)
    return TermMap(
        terms=[embeddings.terms_[row] for row in rows.tolist()],
        classes=[str(name) for name in embeddings.classes_],
        class_of=class_of,
        panels=lay_out(spaces, titles, class_of, seed),
    )
