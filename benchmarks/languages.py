"""Manual pages in other languages: which section a paragraph is from, by words and by characters.

Debian's packages bring the texts: `apt-get install manpages-zh manpages-ja`, then
`python benchmarks/languages.py /usr/share/man/zh_CN /usr/share/man/ja`. A fifth of the pages is
kept for the test; paragraphs of one page are on one side.
"""

import argparse
import gzip
import json
import re
import time
import warnings
from pathlib import Path

import wordclass as wc
from wordclass.corpus.splits import hash_text
from wordclass.text.vectorizer import ScriptWarning

SECTIONS = ("man1", "man2", "man3", "man4", "man5", "man7", "man8")
MARKUP = re.compile(r'\\f.|\\[&-]|\\\(..|^["\']|["\']$|\\')
FEWEST, MOST = 25, 300  # characters of a paragraph that are no ASCII; of a paragraph


def paragraphs(path: Path) -> list[str]:
    """Return the paragraphs of a page, without the commands of its markup."""
    source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    found, lines = [], []
    for line in [*source.splitlines(), "."]:
        if line.startswith((".", "'")):
            text = " ".join(lines)[:MOST]
            if sum(not char.isascii() and char.isalpha() for char in text) >= FEWEST:
                found.append(text)
            lines = []
        else:
            lines.append(MARKUP.sub("", line).strip())
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    warnings.simplefilter("ignore", ScriptWarning)
    for folder in parser.parse_args().folders:
        sides: list[tuple[list[str], list[str]]] = [([], []), ([], [])]
        for section in SECTIONS:
            for page in sorted((folder / section).glob("*.gz")):
                texts, labels = sides[hash_text(page.name) % 5 == 0]
                found = paragraphs(page)
                texts += found
                labels += [section] * len(found)
        (train, truth), (test, expected) = sides
        result = {"folder": folder.name, "n_train": len(train), "n_test": len(test)}
        for name, characters in (("words", None), ("auto", "auto")):
            start = time.process_time()
            model = wc.classifier("linear", characters=characters).fit(train, truth)
            scores = wc.evaluate(expected, model.predict(test), classes=model.classes_)
            result[name] = {
                "characters": model.settings_["characters"],
                "macro_f1": round(scores.macro_f1, 3),
                "micro_f1": round(scores.micro_f1, 3),
                "cpu_seconds": round(time.process_time() - start, 1),
            }
        print(json.dumps(result))


if __name__ == "__main__":
    main()
