"""Predictions and features as lazy columns of Dask dataframes, for `wordclass.dask`.

To learn from a bag or dataframe, use `fit_parts` with the engine "dask".
"""

from typing import Any

from wordclass import catalogue
from wordclass.errors import InputError, list_some

__all__ = ["predict", "transform"]


def predict(
    model: Any,  # noqa: ANN401 - a fitted classifier
    frame: Any,  # noqa: ANN401 - a dataframe of Dask
    *,
    text_field: str = "text",
    prediction: str = "prediction",
    probability: str | None = None,
) -> Any:  # noqa: ANN401
    """Add a column of predicted labels to a dataframe lazily.

    Parameters
    ----------
    model : classifier
        A fitted classifier. It is sent to the workers once.
    frame : dask.dataframe.DataFrame
        The texts.
    text_field : str, default="text"
        Column of texts. A missing text is read as an empty one.
    prediction : str, default="prediction"
        Name of the new column of labels, or tuples of labels in a multilabel task.
    probability : str, optional
        First word of the names of new columns with the probability of each class. By default no
        such columns are added.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns of the frame and the new ones.

    See Also
    --------
    transform : Add the features of texts.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import wordclass as wc
    >>> from wordclass import dask
    >>> frame = dd.from_pandas(pd.DataFrame({"text": ["an apple"]}), npartitions=1)
    >>> model = wc.classifier("nearest", min_docs=1)
    >>> _ = model.fit(["red apple", "blue sky"], ["food", "air"])
    >>> print(*dask.predict(model, frame).compute()["prediction"])
    food
    """
    names = [prediction]
    if probability is not None:
        names += [f"{probability} {label}" for label in model.classes_]
    return _map_partitions(frame, _add_predictions, model, text_field, names)


def transform(
    embeddings: Any,  # noqa: ANN401 - fitted WordClassEmbeddings
    frame: Any,  # noqa: ANN401 - a dataframe of Dask
    *,
    text_field: str = "text",
) -> Any:  # noqa: ANN401
    """Add the features of texts to a dataframe lazily, with one column per dimension.

    Parameters
    ----------
    embeddings : WordClassEmbeddings
        Fitted embeddings. They are sent to the workers once.
    frame : dask.dataframe.DataFrame
        The texts.
    text_field : str, default="text"
        Column of texts. A missing text is read as an empty one.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns of the frame and the new ones.

    See Also
    --------
    predict : Add a column of predicted labels.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import wordclass as wc
    >>> from wordclass import dask
    >>> frame = dd.from_pandas(pd.DataFrame({"text": ["an apple"]}), npartitions=1)
    >>> embeddings = wc.WordClassEmbeddings(min_docs=1)
    >>> _ = embeddings.fit(["red apple", "blue sky"], ["food", "air"])
    >>> dask.transform(embeddings, frame).compute().shape
    (1, 3)
    """
    names = [*map(str, embeddings.get_feature_names_out())]
    return _map_partitions(frame, _add_features, embeddings, text_field, names)


def _map_partitions(
    frame: Any,  # noqa: ANN401
    function: Any,  # noqa: ANN401
    model: Any,  # noqa: ANN401
    text_field: str,
    names: list[str],
) -> Any:  # noqa: ANN401
    """Apply a function to all partitions that adds columns with these names."""
    columns = [*frame.columns]
    if text_field not in columns:
        raise InputError(
            f"no column {text_field!r}; there are: {list_some([*map(str, columns)])}",
            hint="use text_field= to name the column of texts",
        )
    if repeated := sorted({*names} & {*map(str, columns)}):
        raise InputError(
            f"the dataframe already has a column {repeated[0]!r}",
            hint="choose another name for the new column",
        )
    delayed: Any = catalogue.import_extra("dask", "for wordclass.dask").delayed
    # the result for no rows shows Dask the columns of all partitions
    meta = function(frame._meta.iloc[:0], model, text_field, names)
    return frame.map_partitions(function, delayed(model), text_field, names, meta=meta)


def _add_predictions(partition: Any, model: Any, text_field: str, names: list[str]) -> Any:  # noqa: ANN401
    texts = _texts(partition, text_field)
    pandas: Any = catalogue.import_extra("pandas", "for wordclass.dask", "dask")
    predictions = model.predictions(texts)
    labels = [*predictions.labels]
    is_text = isinstance(model.classes_.tolist()[0], str)
    kind = object if model.codeframe_.is_multilabel or is_text else "int64"
    columns = pandas.DataFrame({names[0]: pandas.Series(labels, partition.index, dtype=kind)})
    if len(names) > 1:
        probabilities = predictions.probabilities
        probability_columns = pandas.DataFrame(
            probabilities, partition.index, names[1:], dtype="float64"
        )
        columns = pandas.concat([columns, probability_columns], axis=1)
    return pandas.concat([partition, columns], axis=1)


def _add_features(partition: Any, embeddings: Any, text_field: str, names: list[str]) -> Any:  # noqa: ANN401
    texts = _texts(partition, text_field)
    pandas: Any = catalogue.import_extra("pandas", "for wordclass.dask", "dask")
    values = embeddings.transform(texts) if texts else []
    columns = pandas.DataFrame(values, partition.index, names, dtype="float32")
    return pandas.concat([partition, columns], axis=1)


def _texts(partition: Any, text_field: str) -> list[str]:  # noqa: ANN401
    return [text if isinstance(text, str) else "" for text in partition[text_field].tolist()]
