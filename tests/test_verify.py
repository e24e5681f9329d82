"""Every exam holds its invariants which `verify` checks; here each is broken once, to see that it notices."""

import contextlib
import time
from typing import ClassVar

import numpy as np
import pytest
import sample_solutions
from cosmic_ray.mutating import mutate_code

from autograder import verify
from autograder.draw import array
from autograder.exercise import Case, Exercise, Mistake
from autograder.exercises import chapters, exercises, find
from autograder.mutants import OURS, mutants
from autograder.verify import examine, examine_all

EVERY = [exercise.name for chapter in chapters() for exercise in exercises(chapter)]


@pytest.mark.parametrize("name", EVERY)
def test_exam_holds(name):
    report = examine(find(name))
    assert report.ok, "\n".join(report.faults)
    assert report.cases and report.alternatives and report.mutants


class Centre(Exercise):
    """An exam without a fault, which the tests spoil."""

    of = sample_solutions.centre
    points = 2
    returns = ("centred", "mean")

    def cases(self, rng):
        yield Case("one mean a column", points=array(rng, 4, 3))
        yield Case("one mean a row", points=array(rng, 4, 3), axis=1)
        yield Case("a single column", points=array(rng, 4, 1))

    mistakes: ClassVar = [
        Mistake("The mean is taken over everything.", "mean(axis=axis, keepdims=True)", "mean(keepdims=True)"),
        Mistake("The mean is added.", "points - mean", "points + mean"),
    ]


class Halvings(Exercise):
    of = sample_solutions.halvings

    def cases(self, rng):
        yield Case("one, two, many", number=int(rng.integers(9, 16)))
        yield Case("one", number=1)
        yield Case("two", number=2)

    equivalent: ClassVar = {"while number != 1:": "The number is at least one, and halving does not skip one."}


def centre_by_loop(points, axis=0):
    turned = np.moveaxis(points, axis, 0)
    mean = sum(turned) / len(turned)
    return np.moveaxis(np.stack([row - mean for row in turned]), 0, axis), mean


def halvings_by_bits(number):
    return number.bit_length() - 1


@pytest.fixture(autouse=True)
def other_answers(monkeypatch):
    """The alternatives of the exercises of this file."""
    others = {"centre": {"centre_by_loop": centre_by_loop}, "halvings": {"halvings_by_bits": halvings_by_bits}}
    registered = verify.alternatives
    monkeypatch.setattr(verify, "alternatives", lambda exam: others.get(exam.name) or registered(exam))
    return others


def test_report_of_a_sound_exam():
    report = examine(Centre())
    assert report.ok, report.faults
    counts = report.as_dict()
    assert counts.pop("mutants") == counts.pop("mutants_killed") > 10
    assert counts == {
        "chapter": "sample_solutions",
        "name": "centre",
        "points": 2,
        "cases": 3,
        "mistakes": 2,
        "mistakes_diagnosed": 2,
        "alternatives": 1,
        "alternatives_accepted": 1,
        "mutants_equivalent": 0,
        "faults": [],
    }


def test_cases_that_are_too_weak_let_a_mutant_pass():
    class Weak(Centre):
        mistakes = ()

        def cases(self, rng):
            yield Case("one mean a column", points=array(rng, 4, 3))

    report = examine(Weak())
    assert "A mutant passes every case: `return (points - mean, mean.squeeze())`." in report.faults
    assert report.mutants_killed == report.mutants - len(report.faults)


def test_fragment_that_is_gone_is_a_fault():
    class Rotten(Centre):
        mistakes: ClassVar = [*Centre.mistakes, Mistake("The sum is taken.", "points.average", "points.sum")]

    report = examine(Rotten())
    [fault] = report.faults
    assert fault.startswith("The mistake 'The sum is taken.' cannot be made") and "'points.average'" in fault
    assert (report.mistakes, report.mistakes_diagnosed) == (3, 2)


def test_mistake_that_does_not_run_is_a_fault():
    class Broken(Centre):
        mistakes: ClassVar = [Mistake("The bracket is open.", "keepdims=True)", "keepdims=True")]

    [fault] = examine(Broken()).faults
    assert fault.startswith("The mistake 'The bracket is open.' cannot be made")


def test_mistake_that_is_taken_for_another_is_a_fault():
    class Doubled(Centre):
        mistakes: ClassVar = [*Centre.mistakes, Mistake("The sign is wrong.", "points - mean", "mean + points")]

    [fault] = examine(Doubled()).faults
    assert fault.startswith("The mistake 'The sign is wrong.' is taken for 'The mean is added.'")


def test_mistake_that_loses_no_marks_is_a_fault():
    class Harmless(Centre):
        mistakes: ClassVar = [Mistake("The order is odd.", "points - mean", "-mean + points")]

    [fault] = examine(Harmless()).faults
    assert fault.startswith("The mistake 'The order is odd.' loses no marks")


def test_mistake_that_only_some_seeds_show_is_a_fault():
    class Lucky(Centre):
        def cases(self, rng):
            yield from super().cases(rng)
            if self.draws.pop():
                yield Case("a negative axis", points=array(rng, 4, 3), axis=-1)

        mistakes: ClassVar = [Mistake("The axis is counted from the front.", "squeeze(axis)", "squeeze(max(axis, 0))")]

    exam = Lucky()
    exam.draws = [False, False, False, True, True]  # popped from the end, once a seed
    [fault] = [fault for fault in examine(exam).faults if "counted from the front" in fault]
    assert "loses no marks on the seed 2019" in fault


def test_wrong_alternative_is_a_fault(other_answers):
    other_answers["centre"] = {"by_eye": lambda points, axis=0: (points, points.mean(axis)), "by_loop": centre_by_loop}
    report = examine(Centre())
    [fault] = report.faults
    assert fault.startswith(
        "The right answer by_eye fails 'one mean a column', 'one mean a row', 'a single column' on the seed 2017"
    )
    assert (report.alternatives, report.alternatives_accepted) == (2, 1)


def test_exam_without_alternatives_is_a_fault(other_answers, monkeypatch):
    monkeypatch.setattr(verify, "alternatives", lambda exam: {})
    [fault] = examine(Centre()).faults
    assert fault.startswith("No other right answer is tried")


def test_stale_equivalent_is_a_fault():
    class Stale(Centre):
        equivalent: ClassVar = {"return (points + mean, mean.squeeze(axis))": "Nobody looks at signs."}

    report = examine(Stale())
    [fault] = report.faults
    assert "`return (points + mean, mean.squeeze(axis))`" in fault
    assert report.mutants_equivalent == 0


def test_equivalent_without_a_reason_is_a_fault(monkeypatch):
    monkeypatch.setattr(verify, "PATIENCE", 0.1)
    monkeypatch.setattr(Halvings, "equivalent", {"while number != 1:": ""})
    assert examine(Halvings()).faults == ["A mutant passes every case: `while number != 1:`."]


def test_endless_mutants_are_killed(monkeypatch):
    monkeypatch.setattr(verify, "PATIENCE", 0.1)
    endless = [mutant for mutant in mutants(Halvings()) if mutant.line == "pass  # number //= 2"]
    assert len(endless) == 1
    started = time.perf_counter()
    report = examine(Halvings())
    assert report.ok, report.faults
    assert report.mutants_equivalent == 1
    assert report.mutants == report.mutants_killed + 1
    assert time.perf_counter() - started < 10


def test_answer_cannot_swallow_the_alarm():
    with pytest.raises(verify.OutOfTime), verify._alarm(0.1):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)


def test_wrong_reference_is_a_fault():
    class Unwritten(Centre):
        @staticmethod
        def of(points, axis=0):
            """Take the mean away."""
            raise ValueError("not today")

    assert any("The reference does not get full marks" in fault for fault in examine(Unwritten()).faults)


def test_exam_that_crashes_is_a_fault():
    class Crashing(Centre):
        def cases(self, rng):
            yield Case("never drawn", points=rng.no_such_distribution())

    [fault] = examine(Crashing()).faults
    assert fault.startswith("The exam cannot be examined: AttributeError")


def test_mutants_leave_alone_what_is_given():
    class Codec(Exercise):
        of = sample_solutions.Codec
        write = ("encode",)

    lines = [mutant.line for mutant in mutants(Codec())]
    assert "pass  # unknown = len(self.ids)" in lines
    assert not any("enumerate" in line or "+ 1" in line for line in lines)


def test_mutants_are_distinct_and_compile():
    sources = [mutant.source for mutant in mutants(Centre())]
    assert len(set(sources)) == len(sources)
    assert Centre().answer_source not in sources
    for source in sources:
        compile(source, "mutant", "exec")


@pytest.mark.parametrize("operator", OURS)
def test_operators_do_as_their_examples_say(operator):
    for example in operator.examples():
        mutated = mutate_code(example.pre_mutation_code, operator(), example.occurrence)
        assert mutated == example.post_mutation_code


def test_all_chapters_are_walked(monkeypatch):
    monkeypatch.setattr(verify, "examine", lambda exercise, seed: exercise.name)
    assert list(examine_all()) == EVERY
    assert list(examine_all(chapters()[:1])) == EVERY[: len(exercises(chapters()[0]))]
