"""From labelled texts to a saved model that predicts and explains."""

import tempfile
from pathlib import Path

import wordclass as wc

dataset = wc.load_dataset("docstrings")
model = wc.classifier("linear").fit(dataset.train.texts, dataset.train.labels)
print("chosen on held-out documents:", model.settings_)

scores = wc.evaluate(dataset.test.labels, model.predict(dataset.test.texts), model.classes_)
print(f"macro F1 {scores.macro_f1:.3f}, micro F1 {scores.micro_f1:.3f}")

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model")
    model = wc.load(Path(folder) / "model")

text = "Open a file of compressed data and return it as text, decoded line by line."
for label, terms in model.explain(text, n=5).items():
    print(label, *(f"{term} {added:+.2f}" for term, added in terms))
