"""Work on whole corpora with a fitted model: predictions to files, evaluation, Dask and Spark."""
