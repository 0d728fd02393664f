"""Add documents as they come, and take some out again, without starting over."""

import wordclass as wc

corpus = wc.load_dataset("docstrings").train
first, later = slice(0, 2000), slice(2000, None)

embeddings = wc.WordClassEmbeddings(keep_documents=True)
embeddings.fit(corpus.texts[first], corpus.labels[first])
print(f"{len(embeddings)} terms, {len(embeddings.classes_)} classes")

embeddings.partial_fit(corpus.texts[later], corpus.labels[later])
print(f"{len(embeddings)} terms, {len(embeddings.classes_)} classes")

embeddings.remove(corpus.texts[later], corpus.labels[later])
print(f"{len(embeddings)} terms, {len(embeddings.classes_)} classes again")
