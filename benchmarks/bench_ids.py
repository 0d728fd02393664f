"""Documents to the ids of their words: ours, and a dict behind scikit-learn's analyzer."""

import measuring
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import wordclass as wc
from wordclass.text import counting
from wordclass.text.analyzer import Analyzer


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    texts = measuring.training_corpus(arguments.corpus).texts
    vocabulary = wc.DocumentVectorizer().fit(texts).vocabulary_
    index = dict(vocabulary.index)
    analyze = CountVectorizer(preprocessor=measuring.mask_and_lower).build_analyzer()

    def ids() -> tuple[np.ndarray, np.ndarray]:
        return counting.index_texts(texts, Analyzer(), vocabulary, None)

    def ids_by_dict() -> list[list[int]]:
        return [[index.get(token, -1) for token in analyze(text)] for text in texts]

    (columns, ends), theirs = ids(), ids_by_dict()
    if [each.tolist() for each in np.split(columns, ends[1:-1])] != theirs:
        raise SystemExit("the ids differ")
    contestants = {"wordclass": ids, "scikit_learn": ids_by_dict}
    seconds = measuring.best_seconds(contestants, arguments.repeats)
    measuring.print_result(
        "ids",
        **measuring.sizes(texts),
        n_terms=len(vocabulary),
        n_tokens=sum(map(len, theirs)),
        seconds=seconds,
        vs_scikit_learn=seconds["scikit_learn"] / seconds["wordclass"],
    )


if __name__ == "__main__":
    main()
