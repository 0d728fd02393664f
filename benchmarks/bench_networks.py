"""Training and prediction with the CNN, word by word: against a convolution over padded texts.

The peer is what one writes first: `nn.Conv2d` over (b, 1, l, d), random batches padded to their
longest text, Adam, gradients clipped, dropout. All contestants are the same function of the same
batches, and the paper's: 128 filters of 3, 5 and 7 words, 300 columns of vectors and one a class,
supervised dropout on the latter, texts cut at 500 words, padding on the left and read as text.
Every word has a vector, so every word counts as distinct. The documents are those of 20 Newsgroups
in WORDCLASS_DATA, or made up where that is missing.
"""

import argparse
import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import measuring
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.network import word_by_word
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.encoders.cnn import CnnEncoder

N_DIMS = 300
CHANNELS, WINDOWS = 128, (3, 5, 7)
BATCH, MAX_LENGTH = 100, 500
LEARNING_RATE, CLIP, DROPOUT = 1e-3, 0.1, 0.5
_CORPUS = measuring.DATA / "20ng_bydate_stripped.jsonl.zst"
_MADE_UP = {"n_docs": 2_000, "n_classes": 20, "tokens": 126, "spread": 1.1, "exponent": 1.25}


@dataclass(frozen=True)
class Batch:
    """Ids (b, l), lengths (b,) and classes (b,)."""

    ids: Tensor
    lengths: Tensor
    truth: Tensor


class Network(nn.Module):
    """Vectors, one vector a text, dropout, a linear layer."""

    def __init__(self, E: wc.EmbeddingMatrix, n_classes: int) -> None:
        super().__init__()
        self.layer = EmbeddingLayer(E)
        self.encoder = CnnEncoder(E.n_dims, channels=CHANNELS, windows=WINDOWS, masked=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.head = nn.Linear(self.encoder.output_dim, n_classes)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits."""
        return self.head(self.dropout(self.encoded(batch)))

    def encoded(self, batch: Batch) -> Tensor:
        """Read padded arrays, by a convolution over one dimension."""
        return self.encoder(self.layer(batch.ids), batch.lengths)


class WordByWord(Network):
    """The same, the quick way."""

    def encoded(self, batch: Batch) -> Tensor:
        """Read distinct words."""
        if not word_by_word.can_encode(self.layer, self.encoder):
            raise SystemExit("the native convolution was not built")
        return word_by_word.encode(self.layer, self.encoder, batch.ids, batch.lengths)


class Straightforward(Network):
    """The same, where a text is an image."""

    def __init__(self, E: wc.EmbeddingMatrix, n_classes: int) -> None:
        super().__init__(E, n_classes)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(1, CHANNELS, (window, E.n_dims)) for window in WINDOWS
        )
        with torch.no_grad():
            for image, filters in zip(self.convolutions, self.encoder.filters, strict=True):
                image.weight.copy_(filters.weight.transpose(1, 2)[:, None])
                image.bias.copy_(filters.bias)
        del self.encoder

    def encoded(self, batch: Batch) -> Tensor:
        """Read images."""
        images = self.layer(batch.ids)[:, None]  # (b, 1, l, d)
        missing = max(0, max(WINDOWS) - images.shape[2])
        images = functional.pad(images, (0, 0, missing, 0))
        responses = [convolve(images).relu().squeeze(3) for convolve in self.convolutions]
        strongest = [functional.max_pool1d(each, each.shape[2]) for each in responses]
        return torch.cat(strongest, dim=1).squeeze(2)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=3, help="of 100 texts; an epoch has 114")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="more: elapsed time, not CPU time")
    parser.add_argument("--made-up", action="store_true", help="even if the corpus is there")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    is_made_up = arguments.made_up or not _CORPUS.exists()
    corpus = made_up() if is_made_up else real()
    E = matrix_of(corpus)
    batches = batches_of(E, corpus, arguments.batches)
    networks = networks_of(E, encode_labels(corpus.labels).Y.shape[1])
    difference = greatest_difference(networks, batches)
    training = measuring.best_seconds(
        {name: training_of(network, batches) for name, network in networks.items()},
        arguments.repeats,
        clock,
    )
    prediction = compare_prediction(networks, E, corpus, arguments, clock)
    measuring.print_result(
        "networks",
        corpus="made up" if is_made_up else _CORPUS.name,
        **sizes(batches),
        threads=arguments.threads,
        training={name: 1000 * each / n_texts(batches) for name, each in training.items()},
        prediction=prediction,
        vs_conv2d={
            "training": training["conv2d"] / training["wordclass"],
            "prediction": prediction["conv2d"] / prediction["wordclass"],
            "prediction_at_once": prediction["conv2d"] / prediction["wordclass_at_once"],
        },
        greatest_difference_of_losses=difference,
    )
    if difference > 1e-4:
        raise SystemExit("the losses differ")


# --- documents --------------------------------------------------------------------------------


def real() -> wc.LabelledCorpus:
    """Return the training documents of 20 Newsgroups."""
    return wc.read_corpus(_CORPUS, split="train")


def made_up() -> wc.LabelledCorpus:
    """Return documents of about the same lengths, with words as rare as words are."""
    generator = np.random.default_rng(0)
    n_docs, spread = _MADE_UP["n_docs"], _MADE_UP["spread"]
    mean = np.log(_MADE_UP["tokens"]) - spread**2 / 2
    lengths = generator.lognormal(mean, spread, n_docs).astype(int)
    texts = []
    for length in lengths:
        ranks = np.minimum(generator.zipf(_MADE_UP["exponent"], length), 100_000)
        texts.append(" ".join(f"w{rank}" for rank in ranks))
    labels = generator.integers(_MADE_UP["n_classes"], size=n_docs).tolist()
    return wc.LabelledCorpus(texts, labels, is_multilabel=False)


def matrix_of(corpus: wc.LabelledCorpus) -> wc.EmbeddingMatrix:
    """Return E: a random vector for every word, and a column a class."""
    terms = wc.DocumentVectorizer(min_docs=1).fit(corpus.texts).vocabulary_.terms
    generator = np.random.default_rng(0)
    U = wc.WordVectors.of(terms, generator.normal(0, 0.3, (len(terms), N_DIMS)))
    return wc.EmbeddingMatrix.of(U, wc.WordClassEmbeddings().fit(corpus.texts, corpus.labels))


def batches_of(
    E: wc.EmbeddingMatrix, corpus: wc.LabelledCorpus, n_batches: int, size: int = BATCH
) -> list[Batch]:
    """Return random batches, each padded to its longest text."""
    classes = encode_labels(corpus.labels).Y.indices
    order = np.random.default_rng(0).permutation(len(corpus.texts))
    made = []
    for start in range(0, min(n_batches * size, len(order)), size):
        rows = order[start : start + size]
        texts = [corpus.texts[row] for row in rows]
        ids = E.index(texts, max_length=MAX_LENGTH, pad="left")
        truth = torch.from_numpy(classes[rows]).long()
        made.append(Batch(torch.from_numpy(ids.ids), torch.from_numpy(ids.lengths), truth))
    return made


def n_texts(batches: Iterable[Batch]) -> int:
    """Return how many texts there are."""
    return sum(len(batch.lengths) for batch in batches)


def sizes(batches: list[Batch]) -> dict[str, float]:
    """Return what decides the costs, a batch on average."""
    distinct = [len(batch.ids.unique()) for batch in batches]
    return {
        "n_texts": n_texts(batches),
        "tokens_a_text": float(np.mean([batch.lengths.float().mean() for batch in batches])),
        "places_a_text": float(np.mean([batch.ids.shape[1] for batch in batches])),
        "distinct_words_a_batch": float(np.mean(distinct)),
    }


# --- contestants ------------------------------------------------------------------------------


def networks_of(E: wc.EmbeddingMatrix, n_classes: int) -> dict[str, Network]:
    """Return the contestants, all with the same weights."""
    kinds = {"conv2d": Straightforward, "conv1d": Network, "wordclass": WordByWord}
    networks = {name: kind(E, n_classes) for name, kind in kinds.items()}
    for network in networks.values():
        network.head.load_state_dict(networks["conv2d"].head.state_dict())
    return networks


def training_of(network: Network, batches: list[Batch]) -> Callable[[], list[float]]:
    """Return what trains a copy of a network further and further, and returns the losses."""
    trained = copy.deepcopy(network)
    weights = list(trained.parameters())

    def train() -> list[float]:
        optimizer = torch.optim.Adam(weights, lr=LEARNING_RATE)
        losses = []
        for batch in batches:
            optimizer.zero_grad()
            loss = functional.cross_entropy(trained(batch), batch.truth)
            loss.backward()
            nn.utils.clip_grad_value_(weights, CLIP)
            optimizer.step()
            losses.append(loss.item())
        return losses

    return train


def greatest_difference(networks: dict[str, Network], batches: list[Batch]) -> float:
    """Return how far the losses are apart where nothing is dropped."""
    losses = {name: training_of(each.eval(), batches)() for name, each in networks.items()}
    for network in networks.values():
        network.train()
    ours = np.array(losses["wordclass"])
    return max(float(np.abs(ours - each).max()) for each in losses.values())


def compare_prediction(
    networks: dict[str, Network],
    E: wc.EmbeddingMatrix,
    corpus: wc.LabelledCorpus,
    arguments: argparse.Namespace,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Return milliseconds a text; ours also with all texts at once."""

    def predict(network: Network, batches: list[Batch]) -> list[Tensor]:
        with torch.inference_mode():
            return [network(batch).argmax(dim=1) for batch in batches]

    batches = batches_of(E, corpus, arguments.batches)
    large = batches_of(E, corpus, 1, arguments.batches * BATCH)
    runs: dict[str, Callable[[], object]] = {}
    for name, network in networks.items():
        network.eval()
        runs[name] = partial(predict, network, batches)
    runs["wordclass_at_once"] = partial(predict, networks["wordclass"], large)
    seconds = measuring.best_seconds(runs, arguments.repeats, clock)
    return {name: 1000 * each / n_texts(batches) for name, each in seconds.items()}


if __name__ == "__main__":
    main()
