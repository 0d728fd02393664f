"""Small corpora for tests of commands."""

import json


def write(path, texts, labels, split=lambda k: None):
    """Write documents as JSON lines and return the path. `split(k)` is the split of document k."""
    with path.open("w") as file:
        for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
            record = {"text": text, "labels": label if isinstance(label, list) else [label]}
            if split(k):
                record["split"] = split(k)
            file.write(json.dumps(record) + "\n")
    return path
