"""The vocabulary expresses every kind of exercise, and the judge says in plain words what is wrong."""

import re

import numpy as np
import pytest
import sample_solutions
import torch
from torch import nn

from autograder.draw import array, tensor, weights_of
from autograder.exercise import Case, Code, Exercise, Mistake, ModuleCase, Seeded
from autograder.exercises import find
from autograder.judge import judge
from autograder.key import PUBLIC_SEED, key_of, outcomes_of
from autograder.probe import probe


class Centre(Exercise):
    of = sample_solutions.centre
    returns = ("centred", "mean")

    def cases(self, rng):
        yield Case("one mean a column", points=array(rng, 4, 3))
        yield Case("one mean a row", points=array(rng, 4, 3), axis=1)
        yield Case("three axes", points=array(rng, 2, 3, 4), axis=2)

    mistakes = [
        Mistake("The mean is taken over everything.", "mean(axis=axis, keepdims=True)", "mean(keepdims=True)"),
        Mistake("The mean is added.", "points - mean", "points + mean"),
    ]


class Gate(Exercise):
    of = sample_solutions.gate

    def cases(self, rng):
        yield Case("values", x=tensor(rng, 2, 3), weight=tensor(rng, 3))
        yield Case("gradients", x=tensor(rng, 2, 3), weight=tensor(rng, 3)).with_gradients()


class Affine(Exercise):
    of = sample_solutions.Affine
    points = 2

    def cases(self, rng):
        make = {"d_in": 3, "d_out": 2}
        for shows, dtype in (("float32", torch.float32), ("float64", torch.float64)):
            weights = weights_of(rng, sample_solutions.Affine(**make), dtype)
            yield ModuleCase(shows, make, weights, {"x": tensor(rng, 4, 3, dtype=dtype)})


class Codec(Exercise):
    of = sample_solutions.Codec
    write = ("encode",)

    def cases(self, rng):
        words = [str(word) for word in rng.permutation(["red", "green", "blue"])]
        for shows, text in (("known words", " ".join(words[1:])), ("an unknown word", f"{words[0]} mauve")):
            yield ModuleCase(shows, {"words": words}, call={"text": text}, method="encode")

    mistakes = [
        Mistake("An unknown word is left out.", "word in text.split()", "word in text.split() if word in self.ids")
    ]


def frequencies_agree(output, probabilities, rng):
    """Each frequency lies within 0.07 of its probability.

    A right answer fails with probability at most 2 V exp(-2 n 0.07^2) = 2.5e-8 for V = 4 and n = 2000 (Hoeffding).
    """
    came = np.bincount(output, minlength=len(probabilities)) / len(output)
    worst = int(np.abs(came - probabilities).argmax())
    if abs(came[worst] - probabilities[worst]) < 0.07:
        return ""
    return f"Index {worst} came {came[worst]:.0%} of the time; {probabilities[worst]:.0%} was wanted."


class Draw(Exercise):
    of = sample_solutions.draw

    def cases(self, rng):
        shares, seed = rng.permutation([0.55, 0.25, 0.15, 0.05]), int(rng.integers(1000))
        case = Case("frequencies of 2000 draws", probabilities=shares, rng=Seeded("numpy", seed))
        yield case.judged_by(frequencies_agree, repeat=2000)


def rows_are_orthonormal(output, size, rng):
    products = output @ output.T
    wrong = np.abs(products - np.eye(size)).max()
    return "" if wrong < 1e-6 else f"Two rows have a dot product that is {wrong:.2g} off."


class Rotation(Exercise):
    of = sample_solutions.rotation

    def cases(self, rng):
        for size in (2, 5):
            case = Case(f"{size} rows", size=size, rng=Seeded("numpy", int(rng.integers(1000))))
            yield case.judged_by(rows_are_orthonormal)


def verdict_on(kind, answer, seed=0):
    exercise = kind()
    key = key_of(exercise, seed)
    return judge(key, outcomes_of(exercise, answer, key.request))


@pytest.mark.parametrize("kind", [Centre, Gate, Affine, Codec, Draw, Rotation])
def test_reference_is_right_and_stub_unwritten(kind):
    exercise = kind()
    right = verdict_on(kind, exercise.of)
    assert right.right and right.marks == exercise.points
    unwritten = verdict_on(kind, exercise.run_source(exercise.stub))
    assert unwritten.marks == 0
    assert unwritten.sentence == f"`{exercise.name}` is not written yet."


def test_stub_of_a_function_is_signature_and_docstring():
    lines = Centre().stub.splitlines()
    assert lines[0] == "def centre(points, axis=0):"
    assert lines[-3:] == ['    """', "    # YOUR CODE HERE", "    raise NotImplementedError"]
    assert "keepdims" not in Centre().stub


def test_stub_of_a_module_keeps_every_signature():
    stub = Affine().stub
    assert stub.count("raise NotImplementedError") == 2
    assert "def __init__(self, d_in, d_out):" in stub and "def forward(self, x):" in stub
    assert "nn.Parameter" not in stub and "@" not in stub


def test_stub_of_one_method_gives_the_rest_of_the_class():
    stub = Codec().stub
    assert stub.count("raise NotImplementedError") == 1
    assert "enumerate(words)" in stub and "return len(self.ids) + 1" in stub
    assert "unknown = " not in stub


def test_a_method_that_is_not_there_cannot_be_asked_for():
    class Wrong(Codec):
        write = ("decode",)

    with pytest.raises(ValueError, match="decode"):
        _ = Wrong().stub


def test_module_gets_weights_and_its_gradients_are_compared():
    class Detached(sample_solutions.Affine):
        def forward(self, x):
            return x @ self.weight + self.bias.detach()

    class ByHand(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.bias = nn.Parameter(torch.randn(d_out))
            self.weight = nn.Parameter(torch.randn(d_in, d_out))

        def forward(self, x):
            return torch.einsum("...i,io->...o", x, self.weight).add(self.bias)

    assert verdict_on(Affine, ByHand).right
    verdict = verdict_on(Affine, Detached)
    assert verdict.sentence == (
        "No gradient reaches `bias`: something cuts the graph, such as detach, .data, .item or numpy."
    )
    assert verdict.marks == 0


def test_wrong_gradient_of_right_values_is_seen():
    def clipped(x, weight):
        value = x * torch.sigmoid(weight)
        return x * 0.5 + (value - x * 0.5).detach()

    verdict = verdict_on(Gate, clipped)
    assert verdict.failed == ("gradients",)
    assert "the gradient of `x`" in verdict.sentence


def test_method_of_a_class_is_judged():
    class Looped(sample_solutions.Codec):
        def encode(self, text):
            found = []
            for word in text.split():
                found.append(self.ids[word] if word in self.ids else len(self.ids))
            return found

    class Crashing(sample_solutions.Codec):
        def encode(self, text):
            return [self.ids[word] for word in text.split()]

    assert verdict_on(Codec, Looped).right
    verdict = verdict_on(Codec, Crashing)
    assert verdict.passed == ("known words",)
    assert verdict.sentence.startswith("`Codec` raised KeyError: 'mauve'")
    exercise = Codec()
    wrong = verdict_on(Codec, exercise.run_source(exercise.source_with(exercise.mistakes)))
    assert wrong.hints == ("An unknown word is left out.",)


@pytest.mark.parametrize("seed", range(5))
def test_distribution_is_judged(seed):
    def by_inversion(probabilities, rng):
        return int(np.searchsorted(np.cumsum(probabilities), rng.random()))

    assert verdict_on(Draw, by_inversion, seed).right
    for wrong in (
        lambda probabilities, rng: rng.integers(len(probabilities)),
        lambda probabilities, rng: int(np.argmax(probabilities)),
        lambda probabilities, rng: rng.choice(len(probabilities), p=probabilities**2 / (probabilities**2).sum()),
    ):
        verdict = verdict_on(Draw, wrong, seed)
        assert not verdict.right and verdict.sentence.startswith("Index ")


def test_invariant_is_judged():
    def by_svd(size, rng):
        return np.linalg.svd(rng.normal(size=(size, size)))[0]

    assert verdict_on(Rotation, by_svd).right
    assert "dot product" in verdict_on(Rotation, lambda size, rng: rng.normal(size=(size, size))).sentence
    assert "does not fit" in verdict_on(Rotation, lambda size, rng: np.eye(size + 1)).sentence
    assert "an array was wanted" in verdict_on(Rotation, lambda size, rng: None).sentence


def test_function_argument_travels_as_source():
    class Applied(Exercise):
        of = sample_solutions.apply

        def cases(self, rng):
            yield Case("twice", function=Code("lambda x: 3 * x + 1"), x=array(rng, 3))

    assert verdict_on(Applied, lambda function, x: function(function(x))).right
    assert not verdict_on(Applied, lambda function, x: function(x)).right


def copied(points):
    return points - points.mean(axis=0), points.mean(axis=0)


def in_place(points, axis=0):
    mean = points.mean(axis=axis, keepdims=True)
    points -= mean
    return points, mean.squeeze(axis)


def stopped(points, axis=0):
    raise ValueError("too hard.")


WRONG = {
    "none": (lambda points, axis=0: None, "The output is None: is there a `return`?"),
    "nan": (
        lambda points, axis=0: (points * np.nan, points.mean(axis)),
        r"`centred` is NaN at \[0, 0\], where -?[\d.]+ was wanted.",
    ),
    "type": (
        lambda points, axis=0: (list(points), points.mean(axis)),
        "`centred` is a list; a numpy array was wanted.",
    ),
    "library": (
        lambda points, axis=0: (torch.from_numpy(points), points.mean(axis)),
        "`centred` is a torch tensor; a numpy array was wanted.",
    ),
    "shape": (
        lambda points, axis=0: (points - points.mean(axis, keepdims=True), points.mean(axis, keepdims=True)),
        r"`mean` has shape \(1, 3\); \(3,\) was wanted.",
    ),
    "dtype": (
        lambda points, axis=0: (points.astype(int), points.mean(axis)),
        "`centred` is int64: float64 was wanted.",
    ),
    "precision": (
        lambda points, axis=0: (points.astype("float32") - points.mean(axis, keepdims=True).astype("float32"), 0),
        "`centred` is float32: precision was lost, since float64 came in.",
    ),
    "changed": (in_place, "It changed `points`, which belongs to the caller: work on a copy."),
    "raises": (stopped, "`centre` raised ValueError: too hard."),
    "argument": (copied, r"`centre` raised TypeError: .*takes 1 positional argument but 2 were given"),
    "alone": (
        lambda points, axis=0: points - points.mean(axis, keepdims=True),
        r"2 values were wanted \(centred, mean\); a numpy array came alone.",
    ),
    "three": (lambda points, axis=0: (points, points, points), r"2 values were wanted \(centred, mean\); 3 came."),
    "values": (
        lambda points, axis=0: (points, points.mean(axis)),
        r"The largest difference in `centred` is [\d.]+ at \[\d, \d\]: -?[\d.]+ was wanted, -?[\d.]+ came.",
    ),
    "not a function": (7, "`centre` raised TypeError: it is an object of type int, not a function."),
}


@pytest.mark.parametrize("label", WRONG)
def test_judge_says_what_is_wrong(label):
    answer, sentence = WRONG[label]
    verdict = verdict_on(Centre, answer)
    assert verdict.marks < verdict.points and not verdict.hints
    assert re.match(sentence, verdict.sentence), verdict.sentence


def test_missing_name_is_told():
    key = key_of(Centre(), 0)
    verdict = judge(key, probe(key.request, {}))
    assert verdict.sentence == "There is no `centre` here: run the cell that defines it, and keep its name."
    assert verdict.marks == 0


def test_wrong_parameter_names_are_told():
    class Renamed(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.linear = nn.Linear(d_in, d_out)

        def forward(self, x):
            return self.linear(x)

    sentence = verdict_on(Affine, Renamed).sentence
    assert sentence == (
        "`Affine` does not have the parameters that its docstring names; missing: weight (3, 2), bias (2,); "
        "not wanted: linear.weight (2, 3), linear.bias (2,)."
    )


def test_two_mistakes_at_once_give_both_hints():
    exercise = Centre()
    for mistakes in ([0], [1], [0, 1]):
        made = [exercise.mistakes[number] for number in mistakes]
        verdict = verdict_on(Centre, exercise.run_source(exercise.source_with(made)))
        assert verdict.hints == tuple(mistake.hint for mistake in made)
        assert verdict.sentence == " ".join(verdict.hints)
        assert not verdict.right


def test_marks_are_in_proportion_to_the_cases():
    def columns_only(points, axis=0):
        return points - points.mean(0), points.mean(0)

    verdict = verdict_on(Centre, columns_only)
    assert verdict.passed == ("one mean a column",)
    assert verdict.marks == 0.33


def test_of_what_an_answer_prints_or_yields_without_end_only_the_beginning_is_kept():
    def chatty(queries, keys):
        for _ in range(10_000):
            print("x" * 1000)
        return queries

    def endless(queries, keys):
        while True:
            yield 1

    key = key_of(find("dot_scores"), PUBLIC_SEED)
    assert len(judge(key, outcomes_of(find("dot_scores"), chatty, key.request)).printed) == 400
    said = judge(key, outcomes_of(find("dot_scores"), endless, key.request)).sentence
    assert said == "The output is a list; a numpy array was wanted."
