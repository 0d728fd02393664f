"""Reference implementations of the networks in numpy, written from the papers' formulas alone.

A text is a list of vectors without padding. Weights are numpy arrays in torch's layout. Nothing
here imports the package or torch.
"""

import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def supervised_dropout(u, s, mask, p):
    """Return D of one row [u, s], where d keeps the elements of s where `mask` is true."""
    q = len(u)
    r = len(s)
    d = [x / (1 - p) if keep else 0.0 for x, keep in zip(s, mask, strict=True)]
    row = [*u, *((1 - p) * x for x in d)]
    return [x / (1 - p * r / (q + r)) for x in row]


def cnn(text, filters):
    """Return the output of filters, which are pairs of weights (channels, d, width) and biases."""
    output = []
    for weight, bias in filters:
        n_channels, n_dims, width = weight.shape
        words = [*text, *[np.zeros(n_dims)] * (width - len(text))]
        for channel in range(n_channels):
            strongest = 0.0  # ReLU
            for start in range(len(words) - width + 1):
                response = bias[channel]
                for offset in range(width):
                    response += weight[channel, :, offset] @ words[start + offset]
                strongest = max(strongest, response)
            output.append(strongest)
    return np.array(output)


def lstm_states(text, input_weight, state_weight, input_bias, state_bias):
    """Return all states of a text. The order of the gates is input, forget, cell, output."""
    hidden = state_weight.shape[1]
    state = np.zeros(hidden)
    cell = np.zeros(hidden)
    states = []
    for word in text:
        gates = input_weight @ word + input_bias + state_weight @ state + state_bias
        input_gate, forget_gate, new_cell, output_gate = np.split(gates, 4)
        cell = sigmoid(forget_gate) * cell + sigmoid(input_gate) * np.tanh(new_cell)
        state = sigmoid(output_gate) * np.tanh(cell)
        states.append(state)
    return states


def lstm(text, *weights):
    hidden = weights[1].shape[1]
    return lstm_states(text, *weights)[-1] if len(text) else np.zeros(hidden)


def attention(text, *weights):
    states = lstm_states(text, *weights)
    output = np.zeros(weights[1].shape[1])
    if states:
        exponentials = [math.exp(states[-1] @ state) for state in states]
        for exponential, state in zip(exponentials, states, strict=True):
            output += exponential / sum(exponentials) * state
    return output


def mean(text, n_dims):
    return sum(text, np.zeros(n_dims)) / max(1, len(text))


def cosine(a, b):
    lengths = math.sqrt(a @ a) * math.sqrt(b @ b)
    return a @ b / lengths if lengths else 0.0


def leam(text, labels, window, bias):
    """Return the weighted sum of words. The labels share `window` (2r + 1,) but not `bias` (m,)."""
    r = len(window) // 2
    logits = []
    for position in range(len(text)):
        compatibilities = []
        for k, label in enumerate(labels):
            total = bias[k]
            for offset in range(-r, r + 1):
                if 0 <= position + offset < len(text):
                    total += window[r + offset] * cosine(text[position + offset], label)
            compatibilities.append(max(0.0, total))
        logits.append(max(compatibilities))
    output = np.zeros(labels.shape[1])
    exponentials = [math.exp(logit) for logit in logits]
    for exponential, word in zip(exponentials, text, strict=True):
        output += exponential / sum(exponentials) * word
    return output


def xavier_width(fan_in, fan_out):
    return math.sqrt(6 / (fan_in + fan_out))
