"""`make bench`: what our side costs, as ratios of two things measured in turn in one run.

Ratios hold when a machine's speed drifts; seconds do not, and are printed only for orientation.
"""

import statistics
import tempfile
import time

from nbclient import NotebookClient

from autograder.compile import compile_chapter
from autograder.exercises import chapters, exercises, find
from autograder.grading.kernel import StudentKernel
from autograder.grading.needed import needed_cells
from autograder.grading.restore import CHECK
from autograder.grading.session import Session
from autograder.judge import judge
from autograder.key import PUBLIC_SEED, key_of, outcomes_of
from autograder.probe import decode

RUNS = 5


def ratio(ours, other, runs=RUNS):
    """The median ratio of two functions' times, run in turn; and the medians in seconds."""
    pairs = [(_seconds(ours), _seconds(other)) for _ in range(runs)]
    mine, theirs = zip(*pairs, strict=True)
    return statistics.median(a / b for a, b in pairs), statistics.median(mine), statistics.median(theirs)


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def check_against_calls(exercise):
    """Judging a right answer on its cases, against only calling it on them."""
    key = key_of(exercise, PUBLIC_SEED)

    def ours():
        assert judge(key, outcomes_of(exercise, exercise.of, key.request)).right

    def calls():
        for case in key.request["cases"]:
            arguments = {name: decode(form, vars(exercise.module)) for name, form in case["arguments"].items()}
            exercise.of(**arguments)

    return ratio(ours, calls)


def explain_against_check(exercise):
    """Judging an answer with a known mistake, for the first time, against judging a right one."""
    wrong = exercise.run_source(exercise.source_with(exercise.mistakes[:1]))
    right = key_of(exercise, PUBLIC_SEED)

    def ours():
        fresh = key_of(exercise, PUBLIC_SEED)
        assert judge(fresh, outcomes_of(exercise, wrong, fresh.request)).hints

    return ratio(ours, lambda: judge(right, outcomes_of(exercise, exercise.of, right.request)))


def grading_against_executing(chapter):
    """Grading a solved notebook in a kernel, against executing all of it with nbclient."""
    notebook = compile_chapter(chapter, solved=True)

    def ours():
        with tempfile.TemporaryDirectory() as folder, Session(StudentKernel("python3", folder), PUBLIC_SEED) as session:
            for number in sorted(needed_cells(notebook.cells)):
                cell = notebook.cells[number]
                name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
                if name.startswith(CHECK):
                    assert session.grade(name.removeprefix(CHECK)).right
                else:
                    session.run(cell.source)

    def execute():
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(compile_chapter(chapter, solved=True), resources={"metadata": {"path": folder}}).execute()

    return ratio(ours, execute, runs=3)


def main():
    print(f"{'what':58} {'ratio':>7} {'ours s':>8} {'other s':>8}")
    rows = [(f"check {name} / call it", lambda name=name: check_against_calls(find(name))) for name in LIGHT]
    rows += [
        (f"explain a wrong {name} / check a right one", lambda n=name: explain_against_check(find(n))) for name in LIGHT
    ]
    rows += [
        (f"grade {chapter} / execute it", lambda c=chapter: grading_against_executing(c)) for chapter in chapters()
    ]
    for what, measure in rows:
        value, mine, theirs = measure()
        print(f"{what:58} {value:7.2f} {mine:8.3f} {theirs:8.3f}", flush=True)


LIGHT = [exercises(chapter)[number].name for chapter in chapters() for number in (1, -2)]

if __name__ == "__main__":
    main()
