"""Judge the outcomes of a probe against a key, and name the mistake. Knows no notebook, no nbgrader and no screen."""

import math
from dataclasses import dataclass

import numpy as np

from autograder.compare import Difference, compare, kind_of
from autograder.probe import decode, numbers

UNREADABLE = "No answer came back that could be read."


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one answer."""

    name: str
    points: float
    passed: tuple = ()  # what the passed cases show
    failed: tuple = ()
    sentence: str = ""  # the one that matters
    hints: tuple = ()  # of the known mistakes that explain the failures
    difference: Difference | None = None  # in the first case that failed
    case: dict | None = None  # that case's request
    printed: str = ""
    note: str = ""  # what the marks owe to other exercises
    remark: str = ""  # worth saying of a right answer

    @property
    def right(self):
        return bool(self.passed) and not self.failed

    @property
    def unwritten(self):
        """Whether there is nothing to judge yet."""
        return self.difference is not None and self.difference.kind in ("unwritten", "missing")

    @property
    def marks(self):
        """Points in proportion to the cases passed, rounded down to hundredths: nothing wrong rounds up to right."""
        cases = len(self.passed) + len(self.failed)
        return math.floor(100 * self.points * len(self.passed) / cases + 1e-9) / 100 if cases else 0.0


def judge(key, outcomes):
    """The Verdict on what a probe brought back, a list with one outcome for each case of the key."""
    if not isinstance(outcomes, list) or len(outcomes) != len(key.expected):
        return failure(key, UNREADABLE)
    differences = [difference(key, number, outcome) for number, outcome in enumerate(outcomes)]
    wrong = [number for number, found in enumerate(differences) if found]
    passed = tuple(shows for shows, found in zip(key.shows, differences, strict=True) if not found)
    if not wrong:
        return Verdict(key.name, key.points, passed, remark=_remark(key, outcomes))
    first, failed = wrong[0], tuple(key.shows[number] for number in wrong)
    hints, reach = _explanation(key, outcomes, wrong)
    sentence = " ".join(hints) + reach or differences[first].sentence
    printed = outcomes[first].get("printed", "") if isinstance(outcomes[first], dict) else ""
    case = key.request["cases"][first]
    return Verdict(
        key.name, key.points, passed, failed, sentence, tuple(hints), differences[first], case, str(printed)[:400]
    )


def failure(key, sentence):
    """The verdict on an answer that could not be asked."""
    return Verdict(key.name, key.points, (), tuple(key.shows), sentence)


def difference(key, number, outcome):
    """The Difference between an outcome and what case `number` of the key expects; None when it is right."""
    if not isinstance(outcome, dict):
        return Difference("malformed", UNREADABLE)
    if problem := _no_value(key.name, outcome):
        return problem
    try:
        if key.holds[number]:
            return _broken_property(key, number, outcome)
        return _compare_outcomes(key, outcome, key.expected[number])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return Difference("malformed", UNREADABLE)


def _no_value(name, outcome):
    if "missing" in outcome:
        return Difference("missing", f"There is no `{name}` here: run the cell that defines it, and keep its name.")
    if "unwritten" in outcome:
        return Difference("unwritten", f"`{name}` is not written yet.")
    if "parameters" in outcome:
        sentence = f"`{name}` does not have the parameters that its docstring names; {outcome['parameters']}."
        return Difference("parameters", str(sentence)[:600])
    if "raised" in outcome:
        raised = outcome["raised"] if isinstance(outcome["raised"], dict) else {}
        message = f": {str(raised['message']).rstrip('.')}" if raised.get("message") else ""
        where = f", in {raised['where']}" if raised.get("where") else ""
        return Difference("raised", f"`{name}` raised {raised.get('type', 'an error')}{message}{where}."[:800])
    return None


def _broken_property(key, number, outcome):
    form = outcome["value"]
    if "array" not in form:
        return Difference("type", f"The output is {kind_of(form)}; an array was wanted.")
    namespace = {"np": np}
    exec(key.holds[number], namespace)
    holds = next(value for name, value in namespace.items() if name not in ("np", "__builtins__") and callable(value))
    arguments = key.request["cases"][number]["arguments"]
    output, inputs = numbers(form), {name: _as_plain(value) for name, value in arguments.items()}
    try:
        sentence = holds(output, **inputs)
    except (ValueError, IndexError, TypeError):
        sentence = f"The output has shape {tuple(form['shape'])}, which does not fit its inputs."
    return Difference("property", sentence, got=form) if sentence else None


def _as_plain(form):
    if "array" in form:
        return numbers(form)
    return None if {"code", "seed"} & set(form) else decode(form)


def _compare_outcomes(key, got, want):
    found = compare(got["value"], want["value"], names=key.returns, tolerance=key.tolerance)
    if found:
        return found
    if set(got["changed"]) != set(want["changed"]):
        changed = ", ".join(f"`{name}`" for name in got["changed"]) or "nothing"
        return Difference("changed", f"It changed {changed}, which belongs to the caller: work on a copy.")
    for name, wanted in want.get("gradients", {}).items():
        came = got["gradients"].get(name, {"plain": None})
        if came == {"plain": None} != wanted:
            sentence = f"No gradient reaches `{name}`: something cuts the graph, such as detach, .data, .item or numpy."
            return Difference("gradient", sentence)
        if wanted != came and (found := compare(came, wanted, f"the gradient of `{name}`", tolerance=key.tolerance)):
            return found
    return None


def _explanation(key, outcomes, wrong):
    """The hints of the known mistake that gives these outcomes to the digit, or of one that explains most failures."""
    best, explained = [], 0
    telling_first = wrong + [number for number in range(len(outcomes)) if number not in wrong]
    for hints, known in key.known:
        if all(_same(key, outcomes[number], known[number]) for number in telling_first):
            return hints, ""
        if len(hints) == 1:
            same = [n for n in wrong if "value" in known[n] and _same(key, outcomes[n], known[n])]
            telling = sum(difference(key, n, known[n]) is not None for n in same)
            fails_more = telling > explained and any(
                difference(key, n, known[n]) for n in range(len(outcomes)) if n not in wrong
            )
            if telling > explained and not fails_more:  # who made it would have failed those cases too
                best, explained = hints, telling
    if explained >= 2 and explained > len(wrong) / 2:
        return best, f" This explains {explained} of the {len(wrong)} cases that fail."
    return [], ""


def _same(key, got, want):
    """Whether two outcomes are one, also when both raised the same error."""
    if not isinstance(got, dict):
        return False
    for telling in ("missing", "unwritten", "parameters", "raised"):
        if telling in got or telling in want:
            return _without_place(got.get(telling)) == _without_place(want.get(telling))
    try:
        return _compare_outcomes(key, got, want) is None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False


def _without_place(raised):
    return (raised.get("type"), raised.get("message")) if isinstance(raised, dict) else raised


def _remark(key, outcomes):
    """What is worth saying of a right answer."""
    for came, want in zip(outcomes, key.expected, strict=True):
        dtypes = [outcome.get("value", {}).get("dtype") for outcome in (came, want)]
        if dtypes == ["float64", "float32"]:
            return "Your answer returns float64 where float32 came in: right, at twice the memory."
    return ""
