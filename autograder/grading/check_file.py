"""Check the answers in a file on the public cases: what `course check FILE` does."""

from pathlib import Path

from autograder.exercises import chapters, exercises
from autograder.grading.kernel import StudentKernel
from autograder.grading.needed import bound_names, needed_code
from autograder.grading.reading import read_notebook
from autograder.grading.session import Session
from autograder.key import PUBLIC_SEED


def check_file(path):
    """The verdicts on every exercise that a notebook or a Python file answers, in the course's order.

    Raises ValueError for a file that does not exist, is of another kind or answers no exercise.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if path.suffix not in (".ipynb", ".py"):
        raise ValueError(f"{path.name} is no notebook (.ipynb) and no Python file (.py)")
    cells = [path.read_text("utf-8")] if path.suffix == ".py" else _code(path)
    every = [each.name for chapter in chapters() for each in exercises(chapter)]
    answered = [name for name in every if any(name in bound_names(source) for source in cells)]
    if not answered:
        raise ValueError(f"{path.name} defines none of the exercises; it should have one of: {', '.join(every)}")
    with Session(StudentKernel("python3", str(path.resolve().parent)), PUBLIC_SEED, hidden=False) as session:
        for source in cells:
            session.run(source)
        return [session.grade(name) for name in answered]


def _code(path):
    return list(needed_code(read_notebook(path).cells).values())
