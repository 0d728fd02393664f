"""Word-class features in a scikit-learn pipeline: cross-fitted in training, plain afterwards."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wordclass as wc

dataset = wc.load_dataset("docstrings")
# Pipeline.fit calls fit_transform, so that no training document sees its own label
pipeline = make_pipeline(wc.WordClassEmbeddings(shrinkage=20), LogisticRegression(max_iter=2000))
pipeline.fit(dataset.train.texts, dataset.train.labels)
print(f"accuracy {pipeline.score(dataset.test.texts, dataset.test.labels):.3f}")
