"""`course verify`: hold an exam to its invariants, one exercise at a time.

The reference gets full marks and the untouched stub none; every known mistake loses marks and is named as itself; every
other right answer gets full marks; every mutant of the reference loses marks, or is listed with the reason why it is
equivalent. (That the reference is right, its oracles say, in the tests.)
"""

import copy
import signal
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import torch

from autograder.alternatives import alternatives
from autograder.exercises import chapters as all_chapters
from autograder.exercises import exercises
from autograder.judge import difference, judge
from autograder.key import PUBLIC_SEED, key_of, outcomes_of
from autograder.mutants import mutants

SEEDS = 5  # on each of which the reference, the mistakes and the alternatives are tried; the mutants on the first alone
PATIENCE = 1.0  # seconds that a mutant has beyond twenty times what the reference needs


@dataclass
class Report:
    """What `examine` found."""

    chapter: str
    name: str
    points: float
    cases: int = 0
    mistakes: int = 0
    mistakes_diagnosed: int = 0
    alternatives: int = 0
    alternatives_accepted: int = 0
    mutants: int = 0
    mutants_killed: int = 0
    mutants_equivalent: int = 0
    faults: list = field(default_factory=list)  # a sentence for each thing that fails

    @property
    def ok(self):
        return not self.faults

    def as_dict(self):
        return asdict(self)


def examine_all(chapters=None, seed=PUBLIC_SEED):
    """Yield the Report of every exercise of these chapters, or of all."""
    for chapter in all_chapters() if chapters is None else chapters:
        for exercise in exercises(chapter):
            yield examine(exercise, seed)


def examine(exercise, seed=PUBLIC_SEED):
    """The Report of one exercise. Runs on the main thread only, since it sets an alarm for mutants that never end."""
    torch.set_num_threads(1)  # the arrays are tiny
    report = Report(exercise.chapter, exercise.name, exercise.points)
    try:
        exam = _with_mistakes_that_apply(exercise, report)
        key = key_of(exam, seed, hidden=True)
        more = range(seed + 1, seed + SEEDS)
        keys = {seed: key} | {other: key_of(exam, other, hidden=True, pairs=False) for other in more}
        report.cases = len(key.shows)
        _examine_reference(exam, keys, report)
        _examine_mistakes(exam, keys, report)
        _examine_alternatives(exam, keys, report)
        _examine_mutants(exam, key, report)
    except Exception as error:  # one broken exam must not hide the state of the others
        report.faults.append(f"The exam cannot be examined: {type(error).__name__}: {error}.")
    return report


def _with_mistakes_that_apply(exercise, report):
    """The exercise without the mistakes that cannot be made, each of which is a fault."""
    sound = []
    for mistake in exercise.mistakes:
        try:
            exercise.run_source(exercise.source_with([mistake]))
            sound.append(mistake)
        except Exception as error:
            report.faults.append(f"The mistake {mistake.hint!r} cannot be made: {error}.")
    report.mistakes = len(exercise.mistakes)
    exam = copy.copy(exercise)
    exam.mistakes = sound
    return exam


def _examine_reference(exam, keys, report):
    for seed, key in keys.items():
        verdict = judge(key, outcomes_of(exam, exam.of, key.request))
        if not verdict.right or verdict.marks != exam.points:
            why = verdict.sentence or "there is no case"
            report.faults.append(f"The reference does not get full marks on the seed {seed}: {why}")
            break
    verdict = judge(key, outcomes_of(exam, exam.run_source(exam.stub), key.request))
    if verdict.marks or "is not written yet" not in verdict.sentence:
        report.faults.append(f"The untouched stub gets {verdict.marks:g} points, and is told: {verdict.sentence!r}.")


def _examine_mistakes(exam, keys, report):
    for number, mistake in enumerate(exam.mistakes):
        if fault := _fault_of_mistake(exam, number, keys):
            report.faults.append(f"The mistake {mistake.hint!r} {fault}.")
        else:
            report.mistakes_diagnosed += 1


def _fault_of_mistake(exam, number, keys):
    """What is wrong with a mistake. A key knows what each one gives, in the exam's order."""
    for seed, key in keys.items():
        verdict = judge(key, list(key.known[number][1]))
        if verdict.right or verdict.marks >= exam.points:
            return f"loses no marks on the seed {seed}"
        if verdict.hints != (exam.mistakes[number].hint,):
            other = " ".join(verdict.hints)
            return f"is taken for {other!r} on the seed {seed}" if other else f"is not recognised on the seed {seed}"
    return ""


def _examine_alternatives(exam, keys, report):
    try:
        others = alternatives(exam)
    except ModuleNotFoundError as error:
        if error.name != f"autograder.alternatives.{exam.chapter}":
            raise
        others = {}
    report.alternatives = len(others)
    if not others:
        report.faults.append("No other right answer is tried: write some in autograder/alternatives.")
    for label, answer in others.items():
        for seed, key in keys.items():
            verdict = judge(key, outcomes_of(exam, answer, key.request))
            if not verdict.right:
                failed = ", ".join(map(repr, verdict.failed))
                fault = f"The right answer {label} fails {failed} on the seed {seed}: {verdict.sentence}"
                report.faults.append(fault)
                break
        else:
            report.alternatives_accepted += 1


def _examine_mutants(exam, key, report):
    started = time.perf_counter()
    outcomes_of(exam, exam.of, key.request)
    patience = PATIENCE + 20 * (time.perf_counter() - started)
    survivors = set()
    for mutant in mutants(exam):
        report.mutants += 1
        if _is_killed(exam, key, mutant.source, patience):
            report.mutants_killed += 1
            continue
        survivors.add(mutant.line)
        if exam.equivalent.get(mutant.line):
            report.mutants_equivalent += 1
        else:
            report.faults.append(f"A mutant passes every case: `{mutant.line}`.")
    for line in exam.equivalent:
        if line not in survivors:
            report.faults.append(f"`equivalent` lists `{line}`, but no mutant of that line passes every case.")


def _is_killed(exam, key, source, seconds):
    """Whether a mutant loses marks. It is asked case by case, since most fail the first."""
    try:
        with _alarm(seconds):
            answer = _defined(exam, source)
            for number, case in enumerate(key.request["cases"]):
                [outcome] = outcomes_of(exam, answer, {**key.request, "cases": [case]})
                if difference(key, number, outcome):
                    return True
    except OutOfTime:
        return True
    return False


def _defined(exam, source):
    """What a mutant's source defines; None, which no case accepts, where running it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return exam.run_source(source)
        except Exception:
            return None


class OutOfTime(BaseException):
    """The alarm rang. No Exception, so that neither the probe nor an answer takes it for an error of the answer."""


@contextmanager
def _alarm(seconds):
    """Raise OutOfTime inside the block once it has run that long.

    An alarm clock, since a count of lines by sys.settrace slows down every mutant. Neither stops one long call to C; a
    process for each mutant would, but costs a start of torch for each.
    """

    def ring(signum, frame):
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again, should a mutant swallow the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
