"""Options of `WordClassEmbeddings`, some of which classifiers share."""

from collections.abc import Mapping
from types import MappingProxyType

from wordclass.embedding.vectors import accepts_correlation, accepts_projector
from wordclass.options import FLAG, Kind, Option, integer, number
from wordclass.text.vectorizer_options import TEXT_OPTIONS

EMBEDDING_OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "correlation": Option(
            "Measure of association between a term and a class: the name of a correlation, or a "
            "function from `WordClassCounts` to an array (v, m).",
            Kind(
                "str or callable", "the name of a correlation, or a function", accepts_correlation
            ),
        ),
        "shrinkage": Option(
            "Pseudo-count, which pulls the vectors of rare terms toward the average. 0 is the "
            "method of the paper; 20 is a good value if there are many rare terms.",
            number(),
        ),
        "projector": Option(
            "Method that reduces the number of dimensions if there are more than `max_dims`: "
            '"pca", "truncated_svd" or "random", or an object with `fit_transform` and '
            "`transform`.",
            Kind(
                "str or object",
                "the name of a projector, or an object with fit_transform and transform",
                accepts_projector,
            ),
        ),
        "max_dims": Option(
            "Maximum number of dimensions. More classes are projected to this number. None means "
            "that they never are.",
            integer(1),
            also=(None,),
        ),
        **TEXT_OPTIONS,
        "folds": Option("Number of folds for cross-fitting.", integer(2, 10_000)),
        "seed": Option("Seed of the folds and of the random projector.", integer()),
        "keep_documents": Option(
            "Keep the counted documents, so that the results of `partial_fit`, `merge` and "
            "`remove` equal those of a new fit. By default, the vocabulary and the document "
            "frequencies of the first fit are kept, and the results equal those of a fit with "
            "these.",
            FLAG,
        ),
    }
)
