"""A fitted model on whole corpora: files of predictions, evaluation, Dask and Spark."""
