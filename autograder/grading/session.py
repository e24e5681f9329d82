"""Grade one notebook: its cells run in a kernel in their order, and each answer is probed when its check's turn comes.

It fails closed, exercise by exercise: a dead kernel, a loop without end or an unreadable answer costs that exercise.
"""

import inspect
import logging
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import monotonic

from nbformat.v4 import new_output

from autograder.exercise import imports_of
from autograder.exercises import find, uses
from autograder.grading.kernel import Lost, TooSlow
from autograder.grading.needed import used_names
from autograder.judge import UNREADABLE, failure, judge
from autograder.key import key_of
from autograder.report import as_html, as_text

MOST_RESTARTS = 20


@lru_cache(maxsize=256)
def key(name, seed, hidden=True):
    """The key to an exercise for one seed, worked out once for a class; with the hidden cases, unless told."""
    return key_of(find(name), seed, hidden=hidden, uses=uses(name))


def judged(wanted, outcomes):
    """The verdict on what a student's process sent. A reply that was made to break the judge costs its exercise."""
    try:
        verdict = judge(wanted, outcomes)
        as_text(verdict), as_html(verdict)
    except Exception:
        logging.getLogger("traitlets").warning("The reply of %s could not be judged.", wanted.name, exc_info=True)
        return failure(wanted, UNREADABLE)
    return verdict


@dataclass
class Session:
    """One student's notebook in one kernel.

    kernel:           a StudentKernel
    seed:             of the cases; secret until the marks are given
    cell_seconds:     how long one cell may run
    probe_seconds:    how long one exercise's cases may take together
    notebook_seconds: how long everything may take together
    hidden:           whether the hidden cases count too
    """

    kernel: object
    seed: int
    cell_seconds: float = 30
    probe_seconds: float = 10
    notebook_seconds: float = 180
    hidden: bool = True
    verdicts: dict = field(default_factory=dict)
    _ran: list = field(default_factory=list)  # the cells to run again in a new kernel
    _blocked: set = field(default_factory=set)  # exercises that stopped or killed the kernel
    _stopped: dict = field(default_factory=dict)  # {answer: how its cell came to an early end}
    _restarts: int = 0
    _deadline: float = 0.0

    def __enter__(self):
        self._deadline = monotonic() + self.notebook_seconds
        return self

    def __exit__(self, *_):
        self.kernel.stop()

    def run(self, source, answer=None):
        """Run a student's cell; returns its outputs. What went wrong with the kernel is among them, in words.

        answer: the id of the answer that the cell holds; others are not run when they use what is known not to end
        """
        if self._over():
            return [_problem("NotRun", "not run: the time for this notebook was used up, or its kernel died too often")]
        if answer is None and (deadly := sorted(self._not_to_call() & (used_names(source) or set()))):
            return [_problem("NotRun", f"not run: it uses {deadly[0]}, which did not come back when it was tried")]
        try:
            outputs = self.kernel.run(source, self._seconds(self.cell_seconds))
        except TooSlow as slow:
            self._stopped[answer] = f"did not finish: {slow}"
            return [*slow.outputs, _problem("TooSlow", str(slow))]
        except Lost as lost:
            self._stopped[answer] = f"did not finish: {lost}"
            self._restart()
            return [*lost.outputs, _problem("KernelDied", f"{lost}; the cells before it were run again without it")]
        self._ran.append(source)
        errors = [f"stopped with {each.ename}: {each.evalue}" for each in outputs if "ename" in each]
        self._stopped[answer] = re.sub(r"\(\S+\.py, line", "(line", errors[0]) if errors else ""
        return outputs

    def grade(self, name):
        """Probe an answer and judge it; what the exercise calls and got wrong earlier is not held against it twice."""
        failed = [used for used in uses(name) if used in self.verdicts and not self.verdicts[used].right]
        # A reference brings along those that it calls: none enters the kernel before its own exercise is graded.
        failed = [used for used in failed if set(uses(used)) <= set(self.verdicts)]
        verdict = None
        if not self._blocked & set(failed):
            verdict = self._judged(name)
        if failed and (verdict is None or not (verdict.right or verdict.unwritten)):
            verdict = _credited(verdict, self._judged(name, failed), failed)
        self.verdicts[name] = verdict
        return verdict

    def _judged(self, name, replaced=()):
        wanted = key(name, self.seed, self.hidden)
        if self._over():
            return failure(
                wanted, "It was not tried: the time for this notebook was used up, or its kernel died too often."
            )
        request = {**wanted.request, "substitutes": {used: standalone_source(find(used)) for used in replaced}}
        try:
            outcomes = self.kernel.ask(request, self._seconds(self.probe_seconds))
        except TooSlow:
            self._blocked.add(name)
            sentence = f"`{name}` did not finish in {self.probe_seconds:g} seconds: is there a loop without an end?"
            return failure(wanted, sentence)
        except Lost as lost:
            self._blocked.add(name)
            self._restart()
            return failure(wanted, f"`{name}` could not be tried: {lost}.")
        verdict = judged(wanted, outcomes)
        if self._stopped.get(name) and verdict.difference is not None and verdict.difference.kind == "missing":
            return replace(verdict, sentence=f"The cell of `{name}` {self._stopped[name].rstrip('.')}.")
        return verdict

    def _not_to_call(self):
        """The exercises that did not come back, and those that call them."""
        return self._blocked | {name for name in self.verdicts if self._blocked & set(uses(name))}

    def _seconds(self, most):
        return max(1, min(most, self._deadline - monotonic()))

    def _over(self):
        return self._restarts > MOST_RESTARTS or monotonic() > self._deadline

    def _restart(self):
        """A new kernel in the state of the old one, without the cell that ended it."""
        self.kernel.stop()
        self._restarts += 1
        if self._over():
            return
        again, self._ran = self._ran, []
        for source in again:
            self.run(source, answer="")


def standalone_source(exercise):
    """The reference of an exercise with all that it calls, as one text that runs anywhere."""
    every = [find(used) for used in uses(exercise.name)] + [exercise]
    modules = dict.fromkeys(each.module for each in every)
    imports = dict.fromkeys(line for module in modules for line in imports_of(module))
    return "\n".join([*imports, *(inspect.getsource(each.of) for each in every)])


def _credited(alone, given, failed):
    """The verdict on an answer that calls another that failed: what is due, given right ones of those."""
    names = " and ".join(f"`{used}`" for used in failed)
    if given.right:
        note = f"Right, given a right {names}; mend {names} first."
        return replace(given, note=note)
    if alone is not None and alone.marks > given.marks:
        return replace(alone, note=f"It calls {names}, not right either: mend {names} first.")
    return replace(given, note=f"Tried with a right {names}, so that a mistake there costs its marks once.")


def _problem(name, sentence):
    return new_output("error", ename=name, evalue=sentence, traceback=[f"{name}: {sentence}"])
