"""Learn from a corpus that is in many files, on all cores; nothing is held but sums."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import wordclass as wc

if __name__ == "__main__":  # the processes import this file
    corpus = wc.load_dataset("docstrings").train
    with TemporaryDirectory() as folder:
        for part in range(4):
            rows = list(zip(corpus.texts, corpus.labels, strict=True))[part::4]
            lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
            Path(folder, f"part-{part}.jsonl").write_text("\n".join([*lines, "not a record"]))
        parts = wc.ShardedCorpus.of(f"{folder}/part-*.jsonl", on_bad_record="skip")
        wce = wc.WordClassEmbeddings(shrinkage=20).fit_parts(parts, engine="processes")
    print(f"{wce.seen_.n_docs:,} documents, {wce.seen_.n_skipped} records that cannot be read")
    print(*(term for term, _ in wce.top_terms(wce.classes_[0])))
