"""Which words speak for a class, and which classes a word speaks for."""

import wordclass as wc

corpus = wc.load_dataset("docstrings").train
embeddings = wc.WordClassEmbeddings(shrinkage=20).fit(corpus.texts, corpus.labels)

print("scipy.stats:", ", ".join(term for term, _ in embeddings.top_terms("scipy.stats")))
for name, score in embeddings.profile("header", n=3):
    print(f"header speaks for {name} ({score:.1f})")
