"""How many requests `wordclass serve` answers, with wrk (Debian's package) on the same two cores.

Texts of 100 words, 20 classes: 20 Newsgroups where it is in WORDCLASS_DATA, else made-up texts.
Prints requests per second with two workers; latencies at a lower, steady rate; texts per second in
batches of 200, beside `wordclass predict` on a file; and with --minutes N, mixed load that long:
errors, and how much memory the processes took in the end more than in the beginning.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import measuring
import numpy as np

import wordclass as wc

N_WORDS, N_BATCH = 100, 200
FASTEST = """
wrk.method, wrk.body = "POST", io.open("%s"):read("*a")
wrk.headers["Content-Type"] = "application/json"
"""
# wrk has no rate: each of its connections waits between two requests
STEADY = FASTEST + "function delay() return %d end\n"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--minutes", type=float, default=0.0, help="of mixed load")
    parser.add_argument("--rate", type=int, default=750, help="requests per second for latencies")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("there is no wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = prepare(folder)
        with serving(folder / "news", workers=2) as (address, process):
            measured = fastest(folder, address, arguments.seconds)
            measured |= steady(folder, address, arguments.seconds, arguments.rate)
        with serving(folder / "news", workers=1) as (address, process):
            measured |= batches(folder, address, texts, arguments.seconds)
        if arguments.minutes:
            with serving(folder / "news", workers=2) as (address, process):
                measured |= mixed(address, process, texts, 60 * arguments.minutes)
        measuring.print_result("service", n_words=N_WORDS, n_classes=20, **measured)


def prepare(folder: Path) -> list[str]:
    """Write a model of 20 classes and a body of one text; return texts of 100 words."""
    corpus = measuring.DATA / "20ng_bydate_stripped.jsonl.zst"
    if corpus.exists():
        train = wc.read_corpus(corpus, split="train")
        texts, labels = train.texts, train.labels
    else:
        rng = np.random.default_rng(0)
        words = np.array([f"word{k}" for k in range(30_000)])
        chosen = np.minimum(rng.zipf(1.3, (4000, 150)), len(words)) - 1
        texts = [" ".join(words[row]) for row in chosen]
        labels = [f"class{k % 20}" for k in range(4000)]
    model = wc.classifier("linear", ngrams=(1, 1), characters=None, C=0.3, block_weight=0.1)
    model.set_params(shrinkage=5.0, vector_weight=0.0, encoder_weight=0.0)
    model.fit(texts, labels).save(folder / "news")
    words = re.findall(r"\w+", " ".join(texts[:6000]))
    cut = [" ".join(words[k : k + N_WORDS]) for k in range(0, 20_000 * N_WORDS, N_WORDS)]
    cut = [text for text in cut if text.count(" ") == N_WORDS - 1]
    (folder / "body.json").write_text(json.dumps({"texts": cut[:1], "k": 3}))
    return cut


@contextmanager
def serving(model: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a model on a free port."""
    command = [sys.executable, "-m", "wordclass", "serve", str(model), "--port", "0", "--json"]
    process = subprocess.Popen(
        [*command, "--workers", str(workers), "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101
        yield json.loads(process.stdout.readline())["address"], process
    finally:
        process.terminate()
        process.wait(30)


def wrk(script: Path, address: str, seconds: int, connections: int) -> dict[str, float]:
    """Run wrk, and read what it prints."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    shown = subprocess.run(
        [*command, f"{address}models/news/predict"], capture_output=True, text=True, check=True
    ).stdout
    found = {"requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", shown)[1])}
    for percent in (50, 99):
        value, unit = re.search(rf"{percent}%\s+([\d.]+)(us|ms|s)", shown).groups()
        found[f"p{percent}_ms"] = float(value) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]
    found["errors"] = sum(
        map(int, re.findall(r"(?:Non-2xx[^:]*:|connect|read|write|timeout) (\d+)", shown))
    )
    return found


def fastest(folder: Path, address: str, seconds: int) -> dict[str, object]:
    """Ask as fast as answers come, by 32 connections."""
    script = folder / "fastest.lua"
    script.write_text(FASTEST % (folder / "body.json"))
    wrk(script, address, 2, 32)
    return {"fastest": wrk(script, address, seconds, 32)}


def steady(folder: Path, address: str, seconds: int, rate: int) -> dict[str, object]:
    """Ask so many times per second."""
    script, connections = folder / "steady.lua", 32
    script.write_text(STEADY % (folder / "body.json", 1000 * connections // rate))
    return {"steady": wrk(script, address, seconds, connections)}


def batches(folder: Path, address: str, texts: list[str], seconds: int) -> dict[str, object]:
    """Predict texts in batches by one worker, two at a time; and by the command on a file."""
    (folder / "batch.json").write_text(json.dumps({"texts": texts[:N_BATCH], "k": 3}))
    script = folder / "batches.lua"
    script.write_text(FASTEST % (folder / "batch.json"))
    found = wrk(script, address, seconds, 2)
    by_service = N_BATCH * found["requests_per_second"]
    taken = []
    for n_texts in (1_000, 101_000):  # the difference is without the start of the command
        lines = [json.dumps({"text": texts[k % len(texts)]}) for k in range(n_texts)]
        path = folder / f"{n_texts}.jsonl"
        path.write_text("\n".join(lines))
        command = [sys.executable, "-m", "wordclass", "predict", str(folder / "news"), str(path)]
        start = time.perf_counter()
        out = ["-k", "3", "-o", str(folder / "out.jsonl"), "--quiet", "--force"]
        subprocess.run([*command, *out], check=True)
        taken.append(time.perf_counter() - start)
    by_file = 100_000 / (taken[1] - taken[0])
    return {
        "texts_per_second": {"batches": by_service, "predict_on_a_file": by_file},
        "batches_vs_file": by_service / by_file,
    }


def mixed(
    address: str, process: "subprocess.Popen[str]", texts: list[str], seconds: float
) -> dict[str, object]:
    """Ask all kinds of things for a long time."""
    errors, n_asked, deadline = [], [0], time.monotonic() + seconds

    def ask(number: int) -> None:
        rng = np.random.default_rng(number)
        with httpx.Client(base_url=address, timeout=60) as client:
            while time.monotonic() < deadline:
                text = texts[int(rng.integers(len(texts)))]
                kind = int(rng.integers(6))
                answer = asked(client, kind, text, texts[:50])
                n_asked[0] += 1
                if answer.status_code not in (200, 404) or (
                    answer.status_code == 404 and kind != 4
                ):
                    errors.append(answer.status_code)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    time.sleep(min(20.0, seconds / 4))  # until everything was asked for once
    before = memory(process.pid)
    for each in threads:
        each.join()
    growth = memory(process.pid) / before - 1
    return {
        "mixed": {
            "seconds": seconds, "requests": n_asked[0], "errors": len(errors), "growth": growth,
        }
    }  # fmt: skip


def asked(client: httpx.Client, kind: int, text: str, texts: list[str]) -> httpx.Response:
    """Ask one of six kinds of things."""
    if kind == 0:
        return client.post("models/news/predict", json={"texts": [text]})
    if kind == 1:
        return client.post("models/news/predict", json={"texts": texts})
    if kind == 2:
        return client.post("models/news/explain", json={"text": text})
    if kind == 3:
        return client.post("v1/projects/news/suggest", data={"text": text})
    return client.get(f"models/news/words/{text.split()[0]}" if kind == 4 else "metrics")


def memory(parent: int) -> int:
    """Return how many kilobytes a process and its children hold, each shared page counted once."""
    children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True).stdout
    total = 0
    for process in (str(parent), *children.split()):
        told = Path(f"/proc/{process}/smaps_rollup").read_text()
        total += int(re.search(r"^Pss:\s+(\d+)", told, re.MULTILINE)[1])
    return total


if __name__ == "__main__":
    main()
