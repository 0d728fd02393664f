"""A network of one's own: word-class embeddings as its first layer, with supervised dropout."""

import numpy as np
import torch
from torch import nn

import wordclass as wc

dataset = wc.load_dataset("docstrings")
train, test = dataset.train, dataset.test
wce = wc.WordClassEmbeddings(shrinkage=20).fit(train.texts, train.labels)
E = wc.EmbeddingMatrix.of(wce=wce)

torch.manual_seed(0)
layer = wc.torch.EmbeddingLayer(E, dropout={"word_class": 0.5})
mean = wc.torch.encoder("mean", layer.embedding_dim)
network = nn.Linear(layer.embedding_dim, len(wce.classes_))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)


def scores(texts: list[str]) -> torch.Tensor:
    """Return the scores of texts by the mean of their words' vectors."""
    batch = E.index(texts, max_length=200)
    return network(mean(layer(batch.ids), batch.lengths))


truth = torch.tensor([wce.classes_.index(label) for label in train.labels])
for epoch in range(5):
    for rows in np.array_split(np.random.default_rng(epoch).permutation(len(train)), 40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(scores([train.texts[k] for k in rows]), truth[rows])
        loss.backward()
        optimizer.step()

layer.eval()
network.eval()
with torch.no_grad():
    predicted = [wce.classes_[j] for j in scores(test.texts).argmax(dim=1)]
found = wc.evaluate(test.labels, predicted, classes=wce.classes_)
print(f"macro F1 {found.macro_f1:.3f}, micro F1 {found.micro_f1:.3f}")
