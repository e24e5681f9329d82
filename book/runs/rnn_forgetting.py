"""How strongly does a token still touch the last state of an RNN? Measured after training, against its distance.

Three recurrent networks of one size learn to predict the next character of the Python manual's text that every Python
carries (pydoc_data.topics). Then, on text kept aside, we take the Jacobian of the last state with respect to the
embedding of the character d steps before the last one, and average its Frobenius norm over the sequences.

Run from anywhere: python book/runs/rnn_forgetting.py
"""

import re
from pydoc_data.topics import topics

import torch
from record import record
from torch import nn
from torch.nn import functional as F

SEEDS = [0, 1, 2]
KINDS = {"tanh RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}
EMBEDDING, HIDDEN = 32, 96
LENGTH, BATCH, STEPS = 50, 32, 400
MEASURED = 32  # sequences over which the norm is averaged
WARM_UP = 30  # characters read before the first measured one: the all-zero initial state is a special place


class Predictor(nn.Module):
    """Embedding, one recurrent layer, a linear layer to the vocabulary."""

    def __init__(self, kind, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, EMBEDDING)
        self.recurrent = KINDS[kind](EMBEDDING, HIDDEN, batch_first=True)
        self.output = nn.Linear(HIDDEN, vocabulary)

    def forward(self, tokens):
        states, _ = self.recurrent(self.embedding(tokens))  # (B, T, HIDDEN)
        return self.output(states)  # (B, T, V)


def load_text():
    """The manual as one tensor of character numbers, its last tenth kept aside."""
    text = " ".join(topics[key] for key in sorted(topics))
    text = re.sub(r"[^\x20-\x7e]+", " ", text)  # printable ASCII only; line breaks become spaces
    text = re.sub(r"(.)\1{3,}", r"\1", text)  # no rulers of asterisks, no indentation
    characters = sorted(set(text))
    numbers = torch.tensor([characters.index(c) for c in text])
    cut = len(numbers) * 9 // 10
    return numbers[:cut], numbers[cut:], len(characters)


def windows(text, count, length, generator):
    """Random stretches of text: (count, length)."""
    starts = torch.randint(len(text) - length, (count, 1), generator=generator)
    return text[starts + torch.arange(length)]


def train(model, text, generator):
    """Adam with clipped gradients; returns nothing, changes the model."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        tokens = windows(text, BATCH, LENGTH + 1, generator)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def validation_loss(model, tokens):
    """Mean cross-entropy of the next character, in nats."""
    with torch.no_grad():
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).item()


def influence(model, tokens):
    """Mean over sequences of || d h_T / d x_t ||, by distance T - t = 0, 1, ..., LENGTH - 1."""
    embedded = model.embedding(tokens).detach().requires_grad_()  # (B, T, EMBEDDING)
    states, _ = model.recurrent(embedded)
    last = states[:, -1].sum(0)  # (HIDDEN,); sequences do not touch one another, so the sum keeps them apart
    squares = torch.zeros(embedded.shape[:2])  # (B, T)
    for unit in last:
        (gradient,) = torch.autograd.grad(unit, embedded, retain_graph=True)
        squares += gradient.square().sum(-1)
    return squares.sqrt().mean(0).flip(0)[:LENGTH]  # (LENGTH,)


def main():
    torch.set_num_threads(1)
    text, kept_aside, vocabulary = load_text()
    results = {
        "characters": len(text),
        "vocabulary": vocabulary,
        "steps": STEPS,
        "batch": BATCH,
        "length": LENGTH,
        "warm_up": WARM_UP,
        "embedding": EMBEDDING,
        "hidden": HIDDEN,
        "sequences_measured": MEASURED,
        "influence": {},
        "influence_untrained": {},
        "validation_loss": {},
    }
    fixed = windows(kept_aside, MEASURED, WARM_UP + LENGTH + 1, torch.Generator().manual_seed(1234))
    for kind in KINDS:
        curves, before, losses = [], [], []
        for seed in SEEDS:
            torch.manual_seed(seed)
            model = Predictor(kind, vocabulary)
            before.append(influence(model, fixed[:, :-1]).tolist())
            train(model, text, torch.Generator().manual_seed(seed))
            losses.append(round(validation_loss(model, fixed), 4))
            curves.append(influence(model, fixed[:, :-1]).tolist())
            print(kind, seed, losses[-1], [f"{curves[-1][d] / curves[-1][0]:.1e}" for d in (1, 5, 10, 20, 30, 49)])
        results["influence"][kind] = [[float(f"{x:.4g}") for x in curve] for curve in curves]
        results["influence_untrained"][kind] = [[float(f"{x:.4g}") for x in curve] for curve in before]
        results["validation_loss"][kind] = losses
    record("rnn_forgetting", SEEDS, results)


if __name__ == "__main__":
    main()
