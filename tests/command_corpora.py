"""Writes the small corpora that commands read."""

import json


def write(path, texts, labels, split=lambda k: None):
    """Write documents as JSON lines and return the path; `split(k)` is the split of number k."""
    with path.open("w") as file:
        for k, (text, given) in enumerate(zip(texts, labels, strict=True)):
            record = {"text": text, "labels": given if isinstance(given, list) else [given]}
            if split(k):
                record["split"] = split(k)
            file.write(json.dumps(record) + "\n")
    return path
