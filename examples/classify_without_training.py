"""A classifier in one pass over the texts: argmax of X times S."""

import wordclass as wc

dataset = wc.load_dataset("docstrings")
classifier = wc.classifier("nearest", shrinkage=20.0)
classifier.fit(dataset.train.texts, dataset.train.labels)

predicted = classifier.predict(dataset.test.texts)
scores = wc.evaluate(dataset.test.labels, predicted, classes=classifier.classes_)
print(f"macro F1 {scores.macro_f1:.3f}, micro F1 {scores.micro_f1:.3f}")
