"""The training of LSTM and attention, against a plain PyTorch loop over packed sequences."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from network.small_trainings import E, documents, honest, torch
from torch import nn
from torch.nn.utils import rnn

from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.modules import encoder
from wordclass.network.text_network import TextNetwork
from wordclass.network.training import Schedule, Training, shuffle_into_batches

N_EPOCHS = 3
SCHEDULE = Schedule(lr=0.01, batch_size=8, max_epochs=N_EPOCHS)
SEED = 5


class PlainNetwork(nn.Module):
    """nn.Embedding, nn.LSTM over packed sequences and nn.Linear, with the same first weights."""

    def __init__(self, name, ours):
        super().__init__()
        self.is_attention = name == "attention"
        self.vectors = nn.Embedding.from_pretrained(torch.tensor(E.matrix), freeze=True)
        lstm = ours.encoder.states.lstm
        self.lstm = nn.LSTM(lstm.input_size, lstm.hidden_size, batch_first=True)
        self.lstm.load_state_dict(lstm.state_dict())
        self.head = nn.Linear(lstm.hidden_size, 3)
        self.head.load_state_dict(ours.head.state_dict())

    def forward(self, texts):
        lengths = torch.tensor([len(text) for text in texts])
        ids = rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        packed = rnn.pack_padded_sequence(
            self.vectors(ids), lengths, batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.lstm(packed)
        if not self.is_attention:
            return self.head(last[0])
        states, _ = rnn.pad_packed_sequence(states, batch_first=True)
        sums = []
        for text_states, final, length in zip(states, last[0], lengths, strict=True):
            weights = (text_states[:length] @ final).softmax(dim=0)
            sums.append(weights @ text_states[:length])
        return self.head(torch.stack(sums))


@pytest.mark.parametrize("name", ["lstm", "attention"])
def test_the_trained_weights_equal_those_of_plain_pytorch(name):
    texts = documents()
    layer = EmbeddingLayer(E, False, None)
    network = TextNetwork(layer, encoder(name, E.n_dims, hidden=6, seed=1), 3, dropout=0.0, seed=2)
    plain = PlainNetwork(name, network)
    first = network.head.weight.detach().clone()

    Training(network, texts, None, SCHEDULE, honest, SEED).run()

    rows = np.split(texts.texts.ids, np.cumsum(texts.texts.lengths)[:-1])
    labels = torch.tensor(texts.Y.toarray().argmax(axis=1))
    weights = [weight for weight in plain.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=SCHEDULE.lr)
    for epoch in range(N_EPOCHS):
        for batch in shuffle_into_batches(texts.texts.lengths, SCHEDULE.batch_size, SEED, epoch):
            optimizer.zero_grad()
            logits = plain([rows[k] for k in batch])
            nn.functional.cross_entropy(logits, labels[torch.from_numpy(batch)]).backward()
            nn.utils.clip_grad_value_(weights, SCHEDULE.clip)
            optimizer.step()
    trained = {**network.encoder.states.lstm.state_dict(), **network.head.state_dict()}
    expected = {**plain.lstm.state_dict(), **plain.head.state_dict()}
    assert trained.keys() == expected.keys()
    for name_of_weight, weight in expected.items():
        torch.testing.assert_close(trained[name_of_weight], weight, atol=1e-4, rtol=0)
    assert (trained["weight"] - first).abs().max() > 1e-2  # the weights did move


def test_frozen_rows_have_no_gradient():
    layer = EmbeddingLayer(E, False, None)
    network = TextNetwork(layer, encoder("lstm", E.n_dims, hidden=4), 3)
    assert not any(name.startswith("layer.") for name, _ in network.named_parameters())
    assert not layer(E.index(["moon the rose"]).ids).requires_grad


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_large_freed_blocks_stay_with_the_process_inside_the_block_only():
    # in a process of its own: the heap of this one holds blocks of earlier tests
    script = """
import os, pathlib, resource, torch
from wordclass.network.machine import keep_freed_memory

def resident_bytes():
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()

def grow_by_400_mb():
    before = resident_bytes()
    torch.ones(100_000_000)  # freed at once
    return resident_bytes() - before > 200e6

print(grow_by_400_mb())
with keep_freed_memory():
    print(grow_by_400_mb())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(100_000_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 10_000)
    inside = resident_bytes()
print(inside - resident_bytes() > 200e6)
"""
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    # freed blocks return to the system outside, are kept and reused inside, and return at the end
    assert child.stdout.split() == ["False", "True", "True", "True"]
