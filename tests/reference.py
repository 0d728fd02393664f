"""The method once more, in slow loops written from its definitions alone.

What the package computes fast is compared with this file, so nothing here imports the package.
Matrices come in as lists of lists or numpy arrays (a sparse one as ``X.toarray()``) and go out as
lists of lists. X is (n, v) weights, Y (n, m) zeros and ones, A and S (v, m).
"""

import math
import re
from fractions import Fraction

import numpy as np

NUMBER = re.compile(r"\b[0-9][0-9.,-]*\b")
TOKEN = re.compile(r"(?u)\b\w\w+\b")
SMALLEST_DEVIATION = 1e-5
Z_95 = 1.96


# Text ---------------------------------------------------------------------------------------


def tokens(text, mask_numbers=True, ngrams=(1, 1), stop_words=()):
    """Cut one text into its n-grams: all of the shortest first, each kind in reading order.

    Stop words are compared in lower case and leave before n-grams are made, so that the words
    around a stop word become neighbors.
    """
    if mask_numbers:
        text = NUMBER.sub("numbermask", text)
    words = [word for word in TOKEN.findall(text.lower()) if word not in stop_words]
    shortest, longest = ngrams
    found = []
    for size in range(shortest, longest + 1):
        for start in range(len(words) - size + 1):
            found.append(" ".join(words[start : start + size]))
    return found


def document_frequency(texts, term, **analysis):
    """Count the texts that have the term."""
    return sum(1 for text in texts if term in tokens(text, **analysis))


def vocabulary(texts, min_docs, **analysis):
    """List the terms that occur in at least `min_docs` texts, sorted by code point."""
    n_docs_with = {}
    for text in texts:
        for term in set(tokens(text, **analysis)):
            n_docs_with[term] = n_docs_with.get(term, 0) + 1
    return sorted(term for term, n_docs in n_docs_with.items() if n_docs >= min_docs)


def tfidf(texts, terms, training_texts=None, **analysis):
    """Weigh terms by (1 + ln tf)(ln((1 + n)/(1 + df)) + 1), then give every row length 1 (L2).

    n and df are those of `training_texts`, or of `texts` where there are none. A text without
    any of the terms keeps a row of zeros.
    """
    known_texts = texts if training_texts is None else training_texts
    idf = []
    for term in terms:
        df = document_frequency(known_texts, term, **analysis)
        idf.append(math.log((1 + len(known_texts)) / (1 + df)) + 1)
    X = []
    for text in texts:
        found = tokens(text, **analysis)
        row = []
        for j, term in enumerate(terms):
            tf = found.count(term)
            row.append((1 + math.log(tf)) * idf[j] if tf > 0 else 0.0)
        length = math.sqrt(math.fsum(weight**2 for weight in row))
        X.append([weight / length if length > 0 else 0.0 for weight in row])
    return X


def bm25(texts, terms, k1=1.5, b=0.75, training_texts=None, **analysis):
    """Weigh terms by Okapi BM25 with an idf that is never negative.

    A text's length is the number of its tokens that are terms; n, df and the average length are
    those of `training_texts`, or of `texts` where there are none.
    """
    known_texts = texts if training_texts is None else training_texts
    n = len(known_texts)
    idf = []
    for term in terms:
        df = document_frequency(known_texts, term, **analysis)
        idf.append(math.log(1 + (n - df + 0.5) / (df + 0.5)))
    known_lengths = [_length_in_terms(text, terms, **analysis) for text in known_texts]
    average_length = sum(known_lengths) / n
    X = []
    for text in texts:
        found = tokens(text, **analysis)
        length = _length_in_terms(text, terms, **analysis)
        row = []
        for j, term in enumerate(terms):
            tf = found.count(term)
            if tf == 0:
                row.append(0.0)
            else:
                damping = k1 * (1 - b + b * length / average_length)
                row.append(idf[j] * tf * (k1 + 1) / (tf + damping))
        X.append(row)
    return X


def supervised(texts, terms, Y, correlation, over_classes=max, training_texts=None):
    """Weigh terms by (1 + ln tf) f, then give every row length 1 (L2); a row of zeros stays.

    f is the largest of a term's correlations with the classes, or their sum, among the training
    texts, labelled by Y.
    """
    known_texts = texts if training_texts is None else training_texts
    presence = [[float(term in tokens(text)) for term in terms] for text in known_texts]
    factors = [over_classes(row) for row in correlation(presence, Y)]
    X = []
    for text in texts:
        row = []
        for j, term in enumerate(terms):
            tf = tokens(text).count(term)
            row.append((1 + math.log(tf)) * factors[j] if tf > 0 else 0.0)
        length = math.sqrt(math.fsum(weight**2 for weight in row))
        X.append([weight / length if length > 0 else 0.0 for weight in row])
    return X


def _length_in_terms(text, terms, **analysis):
    return sum(1 for token in tokens(text, **analysis) if token in terms)


# Correlations of a term and a class ---------------------------------------------------------


def dot(X, Y):
    """Share of a term's weight that falls in each class (eq. 2); zeros for a weightless term."""
    n, v, m = _sizes(X, Y)
    A = []
    for t in range(v):
        total = math.fsum(X[k][t] for k in range(n))
        row = []
        for c in range(m):
            joint = math.fsum(X[k][t] * Y[k][c] for k in range(n))
            row.append(joint / total if total > 0 else 0.0)
        A.append(row)
    return A


def shrunken_dot(X, Y, m):
    """Dot after every term got `m` more weights of mean size, spread as the classes share all.

    A term without weight of its own gets just that share, unless m is 0: then zeros, as in `dot`.
    """
    n, v, n_classes = _sizes(X, Y)
    nonzero = [X[k][t] for k in range(n) for t in range(v) if X[k][t] != 0]
    mean_weight = math.fsum(nonzero) / len(nonzero) if nonzero else 0.0
    total = [math.fsum(X[k][t] for k in range(n)) for t in range(v)]
    joint = [
        [math.fsum(X[k][t] * Y[k][c] for k in range(n)) for c in range(n_classes)] for t in range(v)
    ]
    all_weight = math.fsum(total)
    share = []
    for c in range(n_classes):
        in_class = math.fsum(joint[t][c] for t in range(v))
        share.append(in_class / all_weight if all_weight > 0 else 0.0)
    A = []
    for t in range(v):
        below = total[t] + m * mean_weight
        row = []
        for c in range(n_classes):
            above = joint[t][c] + m * mean_weight * share[c]
            row.append(above / below if below > 0 else 0.0)
        A.append(row)
    return A


def pmi(X, Y):
    """ln p(t, c) / (p(t) p(c)); a pair that never meets: as for half a document, at most 0."""

    def score(tp, fp, fn, tn):
        n, t, c = tp + fp + fn + tn, tp + fp, tp + fn
        if t == 0 or c == 0:
            return 0.0
        if tp == 0:
            return min(0.0, math.log((0.5 / n) / ((t / n) * (c / n))))
        return math.log((tp / n) / ((t / n) * (c / n)))

    return _score_cells(X, Y, score)


def ppmi(X, Y):
    """Positive part of ln p(t, c) / (p(t) p(c)); 0 for a pair that never meets."""

    def score(tp, fp, fn, tn):
        n, t, c = tp + fp + fn + tn, tp + fp, tp + fn
        return max(0.0, math.log((tp / n) / ((t / n) * (c / n)))) if tp > 0 else 0.0

    return _score_cells(X, Y, score)


def information_gain(X, Y):
    """Bits that the presence of the term and membership in the class tell of each other."""
    return _score_cells(X, Y, _gain)


def gain_ratio(X, Y):
    """Information gain as a share of the bits there are to know about the class."""

    def score(tp, fp, fn, tn):
        n, c = tp + fp + fn + tn, tp + fn
        entropy = 0.0
        for n_docs in (c, n - c):
            if n_docs > 0:
                entropy -= n_docs / n * math.log2(n_docs / n)
        return _gain(tp, fp, fn, tn) / entropy if entropy > 0 else 0.0

    return _score_cells(X, Y, score)


def _gain(tp, fp, fn, tn):
    n, t, c = tp + fp + fn + tn, tp + fp, tp + fn
    gain = 0.0
    for cell, row, column in ((tp, t, c), (fp, t, n - c), (fn, n - t, c), (tn, n - t, n - c)):
        if cell > 0:
            gain += cell / n * math.log2((cell / n) / ((row / n) * (column / n)))
    return gain


def chi_square(X, Y):
    """Squared covariance over both variances: the chi-square statistic of the table over n.

    Shares and counts give the same number (both sides have n to the fourth), so integers are used.
    """

    def score(tp, fp, fn, tn):
        n, t, c = tp + fp + fn + tn, tp + fp, tp + fn
        below = t * (n - t) * c * (n - c)
        return (tp * tn - fp * fn) ** 2 / below if below > 0 else 0.0

    return _score_cells(X, Y, score)


def gss(X, Y):
    """p(tp) p(tn) - p(fp) p(fn): the chi-square numerator with its sign, not squared."""

    def score(tp, fp, fn, tn):
        n = tp + fp + fn + tn
        return (tp * tn - fp * fn) / n**2

    return _score_cells(X, Y, score)


def odds_ratio(X, Y):
    """Natural log of the odds ratio, half a document added to each cell (Haldane-Anscombe)."""

    def score(tp, fp, fn, tn):
        return math.log((tp + 0.5) * (tn + 0.5) / ((fp + 0.5) * (fn + 0.5)))

    return _score_cells(X, Y, score)


def relevance_frequency(X, Y):
    """log2(2 + tp / max(1, fp)), in documents."""

    def score(tp, fp, fn, tn):
        return math.log2(2 + tp / max(1, fp))

    return _score_cells(X, Y, score)


def conf_weight(X, Y):
    """ConfWeight (Soucy and Mineau, 2005) of one class: is the term surely commoner inside it?

    Compares the lowest credible share of the class's documents with the highest credible share
    of the others; 0 where the intervals overlap.
    """

    def score(tp, fp, fn, tn):
        lowest_inside, _ = _interval(tp, tp + fn)
        _, highest_outside = _interval(fp, fp + tn)
        if lowest_inside <= highest_outside:
            return 0.0
        return math.log2(2 * lowest_inside / (lowest_inside + highest_outside)) ** 2

    return _score_cells(X, Y, score)


def _interval(x, n):
    """Agresti-Coull interval, at 95 %, of a rate seen x times among n."""
    rate = (x + Z_95**2 / 2) / (n + Z_95**2)
    half_width = Z_95 * math.sqrt(rate * (1 - rate) / (n + Z_95**2))
    return rate - half_width, rate + half_width


def fisher(X, Y):
    """Fisher score of the weights: variance between class and rest over variance within them.

    Where nothing varies within the two groups, the mean square of the weights (over all documents)
    stands in for the variance within; zero where a group is empty. Computed in fractions, because
    rounding would turn a variance of zero into a tiny one, and the score into a huge one.
    """
    n, v, m = _sizes(X, Y)
    A = []
    for t in range(v):
        weights = [Fraction(float(X[k][t])) for k in range(n)]
        row = []
        for c in range(m):
            inside = [weights[k] for k in range(n) if Y[k][c]]
            outside = [weights[k] for k in range(n) if not Y[k][c]]
            row.append(_fisher_of(inside, outside))
        A.append(row)
    return A


def _fisher_of(inside, outside):
    if not inside or not outside:
        return 0.0
    mean = sum(inside + outside) / (len(inside) + len(outside))
    between = within = Fraction(0)
    for group in (inside, outside):
        group_mean = sum(group) / len(group)
        between += len(group) * (group_mean - mean) ** 2
        within += sum((weight - group_mean) ** 2 for weight in group)  # n_g times the variance
    if within == 0:
        everything = inside + outside
        within = sum(weight**2 for weight in everything) / len(everything)
    return float(between / within) if within > 0 else 0.0


def _score_cells(X, Y, score):
    """Apply score(tp, fp, fn, tn) to the document counts of every term and class."""
    n, v, m = _sizes(X, Y)
    A = []
    for t in range(v):
        row = []
        for c in range(m):
            tp = fp = fn = tn = 0
            for k in range(n):
                if X[k][t] != 0 and Y[k][c]:
                    tp += 1
                elif X[k][t] != 0:
                    fp += 1
                elif Y[k][c]:
                    fn += 1
                else:
                    tn += 1
            row.append(score(tp, fp, fn, tn))
        A.append(row)
    return A


def _sizes(X, Y):
    """n, v, m of at least one document."""
    if len(X) != len(Y):
        raise ValueError(f"X has {len(X)} rows, Y has {len(Y)}")
    return len(X), len(X[0]), len(Y[0])


# Embeddings ---------------------------------------------------------------------------------


def standardize(A, known=None):
    """Make z-scores of every column (eq. 3), with the deviation that divides by v - 1.

    Only rows that `known` says true to count and are standardized; the others become zeros. A
    deviation below 1e-5 is taken for 1e-5, so a constant column becomes zeros.
    """
    v = len(A)
    m = len(A[0]) if v else 0
    rows = [i for i in range(v) if known is None or known[i]]
    S = [[0.0] * m for _ in range(v)]
    for j in range(m):
        if not rows:
            continue
        mean = math.fsum(A[i][j] for i in rows) / len(rows)
        squares = math.fsum((A[i][j] - mean) ** 2 for i in rows)
        deviation = math.sqrt(squares / (len(rows) - 1)) if len(rows) > 1 else 0.0
        for i in rows:
            S[i][j] = (A[i][j] - mean) / max(deviation, SMALLEST_DEVIATION)
    return S


def multiply(X, S):
    """Document scores X S, of shape (n, m)."""
    n_columns = len(S[0])
    return [
        [math.fsum(row[t] * S[t][j] for t in range(len(S))) for j in range(n_columns)] for row in X
    ]


def cross_fitted_scores(X, Y, fold_of_document, shrinkage=0.0):
    """Score every document with an S (dot, standardized) made without the documents of its fold.

    X is made once, with the vocabulary and idf of all documents. A term without weight outside the
    fold has a row of zeros and stays out of mean and deviation, whatever the shrinkage; what
    shrinkage needs (the classes' shares, the mean weight) comes from outside the fold, too.
    """
    n, v, m = _sizes(X, Y)
    scores = []
    for k in range(n):
        others = [i for i in range(n) if fold_of_document[i] != fold_of_document[k]]
        if not others:
            scores.append([0.0] * m)
            continue
        X_others, Y_others = [X[i] for i in others], [Y[i] for i in others]
        known = [any(row[t] != 0 for row in X_others) for t in range(v)]
        S = standardize(shrunken_dot(X_others, Y_others, shrinkage), known)
        scores.append(multiply([X[k]], S)[0])
    return scores


def pca(S, r):
    """Project S on its r directions of largest variance, as an array of shape (v, r).

    A direction's largest loading in magnitude (the first of equals) is made positive.
    """
    S = np.asarray(S, dtype=float)
    centered = S - S.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)  # rows: largest variance first
    directions = directions[:r].copy()
    for direction in directions:
        if direction[np.argmax(np.abs(direction))] < 0:
            direction *= -1
    return centered @ directions.T


# PTE ----------------------------------------------------------------------------------------


def pte_networks(documents, label_sets, n_terms, n_classes, window):
    """Count what joins words: each other within a window, documents, and labels of documents.

    A document is a list of terms by number; -1 is none of them, and leaves before windows are cut.

    Returns
    -------
    arrays (v, v), (v, n), (v, m)
    """
    by_word = np.zeros((n_terms, n_terms))
    by_document = np.zeros((n_terms, len(documents)))
    by_label = np.zeros((n_terms, n_classes))
    for k, given in enumerate(documents):
        words = [word for word in given if word >= 0]
        for i, word in enumerate(words):
            by_document[word, k] += 1
            for label in label_sets[k]:
                by_label[word, label] += 1
            for j, other in enumerate(words):
                if i != j and abs(i - j) <= window:
                    by_word[word, other] += 1
    return by_word, by_document, by_label


def pte_objective(words, contexts, weights, n_negatives):
    """Expect the log-likelihood of an edge drawn by its weight (v, c), and of noise beside it."""
    degrees = [sum(row) ** 0.75 for row in weights.tolist()]
    noise = [degree / sum(degrees) for degree in degrees]
    total, expected = weights.sum(), 0.0
    for i, u in enumerate(words):
        for j, c in enumerate(contexts):
            likelihood = -math.log1p(math.exp(-(u @ c)))
            for share, other in zip(noise, words, strict=True):
                likelihood -= n_negatives * share * math.log1p(math.exp(other @ c))
            expected += weights[i, j] / total * likelihood
    return expected


def pte_gradient(words, contexts, weights, n_negatives):
    """Differentiate that objective with respect to all vectors, by small differences."""
    step, both = 1e-5, [words.astype(float), contexts.astype(float)]
    gradients = []
    for moved in both:
        gradient = np.zeros_like(moved)
        for place in np.ndindex(*moved.shape):
            before, values = moved[place], []
            for sign in (1, -1):
                moved[place] = before + sign * step
                values.append(pte_objective(*both, weights, n_negatives))
            moved[place] = before
            gradient[place] = (values[0] - values[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


# Quality ------------------------------------------------------------------------------------


def f1_scores(true_sets, predicted_sets, classes, multilabel):
    """F1 of every class, macro- and micro-averaged, and the share of exactly right label sets.

    F1 without any true, false or missed positive is 1 if `multilabel`, else 0; so is micro-F1. True
    labels outside `classes` are dropped.

    Returns
    -------
    dict with the keys "per_class" (a dict), "macro_f1", "micro_f1", "accuracy"
    """
    true_sets = [{label for label in labels if label in classes} for labels in true_sets]
    predicted_sets = [set(labels) for labels in predicted_sets]
    pairs = list(zip(true_sets, predicted_sets, strict=True))
    per_class = {}
    all_tp = all_fp = all_fn = 0
    for name in classes:
        tp = sum(1 for true, predicted in pairs if name in true and name in predicted)
        fp = sum(1 for true, predicted in pairs if name not in true and name in predicted)
        fn = sum(1 for true, predicted in pairs if name in true and name not in predicted)
        per_class[name] = _f1(tp, fp, fn, multilabel)
        all_tp, all_fp, all_fn = all_tp + tp, all_fp + fp, all_fn + fn
    return {
        "per_class": per_class,
        "macro_f1": math.fsum(per_class.values()) / len(classes),
        "micro_f1": _f1(all_tp, all_fp, all_fn, multilabel),
        "accuracy": sum(1 for true, predicted in pairs if true == predicted) / len(pairs),
    }


def _f1(tp, fp, fn, multilabel):
    if tp + fp + fn == 0:
        return 1.0 if multilabel else 0.0
    return 2 * tp / (2 * tp + fp + fn)
