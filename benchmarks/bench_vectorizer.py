"""Texts to X, with single words, bigrams and characters: ours and scikit-learn's."""

import measuring
from sklearn.feature_extraction.text import TfidfVectorizer

import wordclass as wc

CONTESTANTS = {
    "words": (wc.DocumentVectorizer(), measuring.peer()),
    "bigrams": (wc.DocumentVectorizer(ngrams=(1, 2)), measuring.peer(ngram_range=(1, 2))),
    "characters": (
        wc.DocumentVectorizer(analyzer="characters", ngrams=(2, 5), min_docs=1),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    ),
}


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    texts = measuring.training_corpus(arguments.corpus).texts
    seconds, n_terms, ratios, differences = {}, {}, {}, []
    for name, (ours, theirs) in CONTESTANTS.items():
        X, peers_X = ours.fit_transform(texts), theirs.fit_transform(texts)
        differences.append(float(abs(X - peers_X).max()))
        n_terms[name] = X.shape[1]
        del X, peers_X
        contestants = {
            "wordclass": lambda ours=ours: ours.fit_transform(texts),
            "scikit_learn": lambda theirs=theirs: theirs.fit_transform(texts),
        }
        seconds[name] = measuring.best_seconds(contestants, arguments.repeats)
        ratios[name] = seconds[name]["scikit_learn"] / seconds[name]["wordclass"]
    measuring.print_result(
        "vectorizer",
        **measuring.sizes(texts),
        n_terms=n_terms,
        seconds=seconds,
        vs_scikit_learn=ratios["words"],
        vs_scikit_learn_bigrams=ratios["bigrams"],
        vs_scikit_learn_characters=ratios["characters"],
        largest_difference=max(differences),
    )


if __name__ == "__main__":
    main()
