"""Scores of texts by a network, without training anything."""

import numpy as np
import torch
from torch import nn

from wordclass import progress
from wordclass.arrays import Floats32
from wordclass.network.batches import in_order
from wordclass.text.sequences import Sequences, Side

_TOKENS = 32_768  # places of a batch at most, padding counted: what fits a CPU's memory well
_MOST_TEXTS = 512
PAPER_BATCH = 250  # texts that the paper's runs read together when testing


def scores(
    network: nn.Module,
    texts: Sequences,
    n_classes: int,
    *,
    padding: int,
    pad: Side = "right",
) -> Floats32:
    """Return logits (n, m); in batches of similar length, which leave no trace in the scores.

    Padding on the left is read as text, as in the paper's runs; so there the texts are read in
    their order, 250 at a time.
    """
    made = np.zeros((len(texts), n_classes), np.float32)
    was_training = network.training
    device = next(network.parameters()).device
    network.eval()
    try:
        with torch.inference_mode():
            for rows in progress.over(_batches(texts, pad), "scoring texts"):
                batch = texts.part(rows).padded(padding, pad)
                ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
                made[rows] = network(ids.to(device), lengths.to(device)).float().cpu().numpy()
    finally:
        network.train(was_training)
    return made


def _batches(texts: Sequences, pad: Side) -> list[np.ndarray]:
    if pad == "left":
        return in_order(np.arange(len(texts)), PAPER_BATCH)
    order = np.argsort(-texts.lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(texts.lengths[order[start]]))
        stop = start + int(np.clip(_TOKENS // longest, 1, _MOST_TEXTS))
        batches.append(order[start:stop])
        start = stop
    return batches
