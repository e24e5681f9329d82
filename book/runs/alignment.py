"""Copy a sequence through one fixed vector, or through attention: what happens as sequences grow?

Two encoder-decoders that differ in one thing only. Both hand the decoder a context c_t at every step. In the "fixed
vector" one it is always the last encoder state (Cho et al. 2014); in the "attention" one it is Bahdanau's weighted
mixture of all. Training uses sequences of 1 to 12 random symbols; tests go on to 30. Then we measure, at length 12, how
strongly each output step depends on each source position.

Run from anywhere: python book/runs/alignment.py
"""

import torch
from record import record
from torch import nn
from torch.nn import functional as F

SEEDS = [0, 1, 2]
LONGER_TRAINING = 4  # the fixed vector is also trained this many times longer, from the first seed: is it only slow?
SYMBOLS = 20
START = SYMBOLS  # the decoder's first input
EMBEDDING, HIDDEN = 32, 96
LONGEST, BATCH, STEPS = 12, 64, 1500
TEST_LENGTHS = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 30]
TEST_SEQUENCES = 200


class Copier(nn.Module):
    """A GRU encoder and a GRU decoder, with additive attention or with one fixed vector between them."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention
        self.embedding = nn.Embedding(SYMBOLS + 1, EMBEDDING)
        self.encoder = nn.GRU(EMBEDDING, HIDDEN, batch_first=True)
        self.decoder = nn.GRUCell(EMBEDDING + HIDDEN, HIDDEN)
        self.output = nn.Linear(2 * HIDDEN, SYMBOLS)
        if attention:
            self.W = nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.U = nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.v = nn.Linear(HIDDEN, 1, bias=False)

    def context(self, state, memory, projected):
        """The context c_t (B, HIDDEN) and the weights (B, T), None without attention."""
        if not self.attention:
            return memory[:, -1], None
        scores = self.v(torch.tanh(self.W(state)[:, None] + projected)).squeeze(-1)  # (B, T)
        weights = torch.softmax(scores, dim=-1)
        return torch.einsum("bt,bth->bh", weights, memory), weights

    def forward(self, embedded, steps, forced=None):
        """Logits (B, steps, SYMBOLS) and weights; the decoder reads `forced` symbols, else its own choices."""
        memory, last = self.encoder(embedded)  # (B, T, HIDDEN), (1, B, HIDDEN)
        projected = self.U(memory) if self.attention else None
        state = last[0]
        previous = torch.full((len(embedded),), START)
        logits, all_weights = [], []
        for t in range(steps):
            context, weights = self.context(state, memory, projected)
            state = self.decoder(torch.cat([self.embedding(previous), context], dim=-1), state)
            logits.append(self.output(torch.cat([context, state], dim=-1)))
            all_weights.append(weights)
            previous = logits[-1].argmax(-1) if forced is None else forced[:, t]
        weights = torch.stack(all_weights, dim=1) if self.attention else None
        return torch.stack(logits, dim=1), weights


def draw(count, length, generator):
    """Random symbols: (count, length)."""
    return torch.randint(SYMBOLS, (count, length), generator=generator)


def train(model, generator, steps):
    """Adam; each batch has one length, drawn from 1 to LONGEST."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        length = int(torch.randint(1, LONGEST + 1, (1,), generator=generator))
        source = draw(BATCH, length, generator)
        logits, _ = model(model.embedding(source), length, forced=source)
        loss = F.cross_entropy(logits.flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def accuracy(model, length):
    """Share of right symbols and of wholly right sequences, the decoder reading its own choices."""
    source = draw(TEST_SEQUENCES, length, torch.Generator().manual_seed(1000 + length))
    logits, _ = model(model.embedding(source), length)
    right = logits.argmax(-1) == source
    return right.float().mean().item(), right.all(dim=1).float().mean().item()


def dependence(model):
    """How much output step t depends on source position i: Jacobian norms, each row divided by its sum."""
    source = draw(32, LONGEST, torch.Generator().manual_seed(2000))
    embedded = model.embedding(source).detach().requires_grad_()
    logits, weights = model(embedded, LONGEST, forced=source)
    rows = []
    for t in range(LONGEST):
        squares = 0
        for symbol in range(SYMBOLS):
            (gradient,) = torch.autograd.grad(logits[:, t, symbol].sum(), embedded, retain_graph=True)
            squares = squares + gradient.square().sum(-1)  # (B, T)
        norms = squares.sqrt()
        rows.append((norms / norms.sum(-1, keepdim=True)).mean(0))
    return torch.stack(rows), None if weights is None else weights.detach().mean(0)


def rounded(values):
    """Nested lists of numbers with four decimals."""
    return [rounded(v) for v in values] if isinstance(values, list) else round(values, 4)


def trained(attention, seed, steps=STEPS):
    """A model trained from this seed."""
    torch.manual_seed(seed)
    model = Copier(attention)
    train(model, torch.Generator().manual_seed(seed), steps)
    return model


def measure(models):
    """Everything that the chapter plots, one list entry for each model."""
    entry = {"symbol_accuracy": [], "sequence_accuracy": [], "dependence": [], "weights": []}
    for model in models:
        by_length = [accuracy(model, length) for length in TEST_LENGTHS]
        entry["symbol_accuracy"].append(rounded([symbol for symbol, _ in by_length]))
        entry["sequence_accuracy"].append(rounded([whole for _, whole in by_length]))
        matrix, weights = dependence(model)
        entry["dependence"].append(rounded(matrix.tolist()))
        if weights is not None:
            entry["weights"].append(rounded(weights.tolist()))
        entry["parameters"] = sum(p.numel() for p in model.parameters())
    return entry


def main():
    torch.set_num_threads(1)
    models = {
        "fixed vector": measure([trained(False, seed) for seed in SEEDS]),
        "attention": measure([trained(True, seed) for seed in SEEDS]),
        "fixed vector, longer": measure([trained(False, SEEDS[0], LONGER_TRAINING * STEPS)]),
    }
    for name, entry in models.items():
        print(name, entry["sequence_accuracy"])
    results = {
        "symbols": SYMBOLS,
        "longest_trained": LONGEST,
        "steps": STEPS,
        "longer_training": LONGER_TRAINING,
        "batch": BATCH,
        "hidden": HIDDEN,
        "embedding": EMBEDDING,
        "test_sequences": TEST_SEQUENCES,
        "lengths": TEST_LENGTHS,
        "models": models,
    }
    record("alignment", SEEDS, results)


if __name__ == "__main__":
    main()
