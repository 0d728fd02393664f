"""Texts to X, with single words and with bigrams: ours and scikit-learn's."""

import measuring

import wordclass as wc

NGRAMS = {"words": (1, 1), "bigrams": (1, 2)}


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    texts = measuring.training_corpus(arguments.corpus).texts
    seconds, n_terms, ratios, differences = {}, {}, {}, []
    for name, ngrams in NGRAMS.items():
        ours, theirs = wc.DocumentVectorizer(ngrams=ngrams), measuring.peer(ngram_range=ngrams)
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
        largest_difference=max(differences),
    )


if __name__ == "__main__":
    main()
