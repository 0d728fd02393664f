# ruff: noqa: ANN401 - options have values of all kinds
"""Construction of a classifier by its name in the catalogue."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from wordclass import catalogue
from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.classifiers.attention import AttentionClassifier
    from wordclass.classifiers.cnn import CnnClassifier
    from wordclass.classifiers.fasttext import FastTextClassifier
    from wordclass.classifiers.leam import LeamClassifier
    from wordclass.classifiers.linear import LinearClassifier
    from wordclass.classifiers.lstm import LstmClassifier
    from wordclass.classifiers.nearest import NearestClassifier
    from wordclass.classifiers.svm import SvmClassifier
    from wordclass.classifiers.tree import TreeClassifier


@overload
def classifier(name: Literal["attention"], **options: Any) -> "AttentionClassifier": ...
@overload
def classifier(name: Literal["cnn"], **options: Any) -> "CnnClassifier": ...
@overload
def classifier(name: Literal["fasttext"], **options: Any) -> "FastTextClassifier": ...
@overload
def classifier(name: Literal["leam"], **options: Any) -> "LeamClassifier": ...
@overload
def classifier(name: Literal["linear"], **options: Any) -> "LinearClassifier": ...
@overload
def classifier(name: Literal["lstm"], **options: Any) -> "LstmClassifier": ...
@overload
def classifier(name: Literal["nearest"], **options: Any) -> "NearestClassifier": ...
@overload
def classifier(name: Literal["svm"], **options: Any) -> "SvmClassifier": ...
@overload
def classifier(name: Literal["tree"], **options: Any) -> "TreeClassifier": ...
@overload
def classifier(name: str, **options: Any) -> Any: ...


def classifier(name: str, **options: Any) -> Any:
    """Return an unfitted classifier of texts.

    `help(wc.classifier("cnn"))` lists the options of a classifier. The classes themselves are
    `wc.LinearClassifier`, `wc.NearestClassifier` and so on.

    Parameters
    ----------
    name : str
        "linear", the default of the commands: one linear model per class, on words, characters and
        word-class scores. "nearest": the class whose word vectors fit best, without training.
        "tree": for thousands of classes. "svm" and "fasttext": the baselines of the paper. "cnn",
        "lstm", "attention" and "leam": neural networks, which need PyTorch.
    **options : dict
        The options of this classifier.

    Returns
    -------
    TextClassifier
        An estimator that follows the scikit-learn API.

    Raises
    ------
    InputError
        There is no classifier of this name. Values of options are checked by `fit`.
    MissingExtraError
        The classifier needs a package that is not installed.

    See Also
    --------
    wordclass.tune : Choose the options on held-out texts.
    wordclass.load : Read a fitted classifier.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.classifier("nearest", min_docs=1, shrinkage=20.0)
    >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
    >>> model.predict(["an apple"]).tolist()
    ['food']
    """
    return catalogue.entry("classifiers", name).make(**options)


def check_options(
    name: str, options: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options for a classifier, or raise an InputError if it lacks one.

    Parameters
    ----------
    name : str
        The name of the classifier.
    options : dict
        Options that the classifier must have.
    shared : dict
        Further options, such as a seed. Those that the classifier lacks are left out.
    """
    known = classifier(name).get_params(deep=False)
    if unknown := sorted(set(options) - set(known)):
        raise InputError(
            f"the classifier {name!r} has no option {unknown[0]!r}",
            expected=f"one of {', '.join(known)}",
        )
    return {option: value for option, value in shared.items() if option in known} | {**options}
