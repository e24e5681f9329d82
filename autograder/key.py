"""The key to one exercise, plain data throughout: the calls, what the reference gives and what each mistake gives.

A key is made from an exam and a seed, or read back from the record that a student's kit carries.
"""

import inspect
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from autograder.probe import encode, probe

PUBLIC_SEED = 2017  # of the cases that `check` shows; the grader draws its own


@dataclass
class Key:
    name: str
    chapter: str
    points: float
    uses: list  # names of the exercises that the reference calls
    returns: list
    hints: list
    shows: list  # what each case shows
    holds: list  # the source of each case's property; "" where outputs are compared
    request: dict  # what the probe is asked
    expected: list  # an outcome of the probe for each case
    known: list  # [hints of one or two mistakes, their outcomes] for each
    tolerance: dict | None  # {dtype: (relative, absolute)} where it is not the usual one

    def record(self):
        """The key as JSON-able data. Two mistakes that together show as nothing new are left out."""
        known = []
        for hints, outcomes in self.known:
            outcomes = list(outcomes)
            if len(hints) == 1 or (outcomes != self.expected and outcomes not in [other for _, other in known]):
                known.append([hints, outcomes])
        return {**vars(self), "known": known}


def key_of(exercise, seed, hidden=False, uses=(), pairs=True):
    """Draw an exercise's cases from a seed and work out every expectation.

    uses:  the names of the exercises that its reference calls
    pairs: whether two mistakes made at once are known too
    """
    rng = np.random.default_rng(seed)
    cases = list(exercise.cases(rng)) + (list(exercise.hidden_cases(rng)) if hidden else [])
    request = {"name": exercise.name, "cases": [_request(exercise, case) for case in cases]}
    expected = outcomes_of(exercise, exercise.of, request)
    return Key(
        name=exercise.name,
        chapter=exercise.chapter,
        points=exercise.points,
        uses=list(uses),
        returns=list(exercise.returns),
        hints=list(exercise.hints),
        shows=[case.shows for case in cases],
        holds=["" if case.holds is None else textwrap.dedent(inspect.getsource(case.holds)) for case in cases],
        request=request,
        expected=expected,
        known=_known(exercise, request, pairs),
        tolerance=exercise.tolerance,
    )


def outcomes_of(exercise, answer, request):
    """What an answer in this process gives, in the namespace of the reference."""
    return probe(request, {**vars(exercise.module), exercise.name: answer})


class MadeBy(Sequence):
    """The outcomes of an answer with these mistakes, each worked out when somebody looks at it."""

    def __init__(self, exercise, mistakes, request):
        self.exercise, self.request, self.known = exercise, request, {}
        self.source = exercise.source_with(mistakes)
        compile(self.source, "<answer>", "exec")

    def __len__(self):
        return len(self.request["cases"])

    def __getitem__(self, number):
        if number not in self.known:
            one = {**self.request, "cases": [self.request["cases"][number]]}
            self.known[number] = outcomes_of(self.exercise, self.answer, one)[0]
        return self.known[number]

    @cached_property
    def answer(self):
        return self.exercise.run_source(self.source)


def _known(exercise, request, pairs):
    """The outcomes of every mistake alone, then of every two that can be made at once."""
    known = [[[mistake.hint], MadeBy(exercise, [mistake], request)] for mistake in exercise.mistakes]
    for one, other in combinations(exercise.mistakes, 2) if pairs else ():
        with suppress(ValueError, SyntaxError):  # the two fragments overlap: nobody makes both
            known.append([[one.hint, other.hint], MadeBy(exercise, [one, other], request)])
    return known


def _request(exercise, case):
    method = case.method
    forms = {name: encode(value) for name, value in case.arguments.items()}
    for name, form in forms.items():
        if "opaque" in form:
            raise ValueError(f"{exercise.name}, case {case.shows!r}: {name} cannot travel ({form['opaque']})")
    request = {
        "arguments": forms,
        "positional": exercise.arguments_in_order(case),
        "gradients": case.gradients,
        "repeat": case.repeat,
    }
    if case.make is not None:
        request["make"] = {name: encode(value) for name, value in case.make.items()}
        request["weights"] = {name: encode(value) for name, value in case.weights.items()}
        request["method"], request["training"] = method, case.training
    return request
