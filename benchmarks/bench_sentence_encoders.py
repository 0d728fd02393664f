"""Texts to vectors by the two packaged encoders, with the cache: texts per second of the processor.

`bench_sentence_encoders.py banking77.jsonl.zst` takes the texts of a file, else the docstrings.
"""

import os
import tempfile
import time

import measuring

from wordclass.sentence import cache
from wordclass.sentence.encoder import SentenceEncoder

N_TEXTS = {"wordllama": 10_000, "minilm": 1_000}


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    texts = [*dict.fromkeys(measuring.training_corpus(arguments.corpus).texts)]
    for name, n_texts in N_TEXTS.items():
        some, encoder = texts[:n_texts], SentenceEncoder.of(name)
        encoder.vectors(["read the model"])
        per_second = {"made": 0.0, "cached": 0.0}
        for _ in range(min(arguments.repeats, 2)):
            cache.clear()
            for what, best in per_second.items():
                start = time.process_time()
                encoder.vectors(some)
                per_second[what] = max(best, len(some) / (time.process_time() - start))
        n_words = sum(len(text.split()) for text in some) / len(some)
        measuring.print_result(
            "sentence_encoders",
            encoder=name,
            n_texts=len(some),
            words_per_text=n_words,
            texts_per_second=per_second,
            cache_bytes_per_text=sum(each["n_bytes"] for each in cache.describe_files())
            / len(some),
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["WORDCLASS_HOME"] = home
        main()
