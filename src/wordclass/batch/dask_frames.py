"""Predictions and features as lazy columns of Dask dataframes: `wordclass.dask`; needs the extra.

Learning from a bag or dataframe is `fit_parts` with the engine "dask".
"""

from typing import Any

from wordclass import catalogue
from wordclass.errors import InputError

__all__ = ["predict", "transform"]


def predict(
    model: Any,  # noqa: ANN401 - a fitted classifier
    frame: Any,  # noqa: ANN401 - a dataframe of Dask
    *,
    text_field: str = "text",
    prediction: str = "prediction",
    probability: str | None = None,
) -> Any:  # noqa: ANN401
    """Add a column of predicted labels to a dataframe, lazily, by `map_partitions`.

    Parameters
    ----------
    model : classifier
        Fitted; it is sent to the workers once.
    frame : dask.dataframe.DataFrame
    text_field : str, default="text"
        Column of texts; a missing text is an empty one.
    prediction : str, default="prediction"
        Column of labels that is added; tuples of labels in a multilabel task.
    probability : str, optional
        What the names of further columns begin with, one per class: how probable it is. By
        default there are none.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns of the frame, then those that were added.
    """
    named = [] if probability is None else [f"{probability} {each}" for each in model.classes_]
    return _mapped(frame, _predicted, model, text_field, [prediction, *named])


def transform(
    embeddings: Any,  # noqa: ANN401 - fitted WordClassEmbeddings
    frame: Any,  # noqa: ANN401 - a dataframe of Dask
    *,
    text_field: str = "text",
) -> Any:  # noqa: ANN401
    """Add the features of texts to a dataframe, lazily, one column per dimension.

    Parameters
    ----------
    embeddings : WordClassEmbeddings
        Fitted; they are sent to the workers once.
    frame : dask.dataframe.DataFrame
    text_field : str, default="text"
        Column of texts; a missing text is an empty one.
    """
    names = [str(each) for each in embeddings.get_feature_names_out()]
    return _mapped(frame, _features, embeddings, text_field, names)


def _mapped(frame: Any, work: Any, model: Any, text_field: str, names: list[str]) -> Any:  # noqa: ANN401
    """Apply a function to all partitions, which adds columns of these names."""
    columns = [*frame.columns]
    if text_field not in columns:
        raise InputError(f"no column {text_field!r}; there are: {', '.join(map(str, columns))}")
    if taken := sorted({*names} & {*map(str, columns)}):
        raise InputError(f"the dataframe has a column {taken[0]!r} already; name another one")
    delayed: Any = catalogue.import_extra("dask", "for wordclass.dask").delayed
    # what it makes of no rows is what all partitions look like
    meta = work(frame._meta.iloc[:0], model, text_field, names)
    return frame.map_partitions(work, delayed(model), text_field, names, meta=meta)


def _predicted(part: Any, model: Any, text_field: str, names: list[str]) -> Any:  # noqa: ANN401
    texts = _texts(part, text_field)
    pandas: Any = catalogue.import_extra("pandas", "for wordclass.dask", "dask")
    predictions = model.predictions(texts)
    labels = [*predictions.labels]
    is_text = isinstance(model.classes_.tolist()[0], str)
    kind = object if model.codeframe_.is_multilabel or is_text else "int64"
    added = pandas.DataFrame({names[0]: pandas.Series(labels, part.index, dtype=kind)})
    if len(names) > 1:
        probabilities = predictions.probabilities
        more = pandas.DataFrame(probabilities, part.index, names[1:], dtype="float64")
        added = pandas.concat([added, more], axis=1)
    return pandas.concat([part, added], axis=1)


def _features(part: Any, embeddings: Any, text_field: str, names: list[str]) -> Any:  # noqa: ANN401
    texts = _texts(part, text_field)
    pandas: Any = catalogue.import_extra("pandas", "for wordclass.dask", "dask")
    values = embeddings.transform(texts) if texts else []
    added = pandas.DataFrame(values, part.index, names, dtype="float32")
    return pandas.concat([part, added], axis=1)


def _texts(part: Any, text_field: str) -> list[str]:  # noqa: ANN401
    return [each if isinstance(each, str) else "" for each in part[text_field].tolist()]
