"""What the tests of grading share: hand in notebooks, run nbgrader's own commands, and read what came out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder.compile import filename
from autograder.exercises import exercises

CHAPTER = "attention_weights"
NOTEBOOK = filename(CHAPTER)
EVERY = [exercise.name for exercise in exercises(CHAPTER)]
POINTS = {exercise.name: exercise.points for exercise in exercises(CHAPTER)}
RIGHT = {exercise.name: exercise.answer_source for exercise in exercises(CHAPTER)}
BIN = Path(sys.executable).parent
# As somebody has it who never activated the environment: its scripts are not found by name.
OUTSIDE = {**os.environ, "PATH": "/usr/bin:/bin"}


def run(program, *arguments, folder):
    """A command of the project, called by its path in a folder; returns the finished process."""
    command = [str(BIN / program), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=OUTSIDE, capture_output=True, text=True, timeout=600)


def nbgrader(folder, *arguments):
    """An nbgrader command that succeeds in a class's folder; returns what it said."""
    done = run("nbgrader", *arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def released(folder):
    """The notebook that a class's students get."""
    return nbformat.read(folder / "release" / CHAPTER / NOTEBOOK, 4)


def cell_of(notebook, grade_id):
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def answered(folder, answers):
    """A released notebook with these sources in place of its stubs."""
    notebook = released(folder)
    for name, source in answers.items():
        cell_of(notebook, name).source = source
    return notebook


def desk(folder, student):
    """The folder in which a student hands in."""
    path = folder / "submitted" / student / CHAPTER
    path.mkdir(parents=True, exist_ok=True)
    return path


def hand_in(folder, student, notebook):
    """Hand in a notebook: a node, or the bytes of a file."""
    path = desk(folder, student) / NOTEBOOK
    path.write_bytes(notebook if isinstance(notebook, bytes) else as_bytes(notebook))
    return path


def as_bytes(notebook):
    """As a file, also where it is not quite what nbformat would write."""
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")


def marks(folder, student):
    """{exercise or question: marks}, from nbgrader's gradebook. A question waits for a person: None."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(CHAPTER, student)
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        return {grade.name.removeprefix("check-"): None if _waits(grade) else grade.score for grade in grades}


def _waits(grade):
    return grade.needs_manual_grade and grade.manual_score is None


def comments(folder, student):
    """{answer: the comment that its student reads}."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(CHAPTER, student)
        every = [comment for notebook in submission.notebooks for comment in notebook.comments]
        return {comment.name: comment.comment or "" for comment in every}


def lost(folder, student):
    """The exercises in which a student did not get every mark: {name: marks}."""
    got = marks(folder, student)
    return {name: got[name] for name in EVERY if got[name] != POINTS[name]}


def autograded(folder, student):
    return nbformat.read(folder / "autograded" / student / CHAPTER / NOTEBOOK, 4)


def page(folder, student):
    """A student's feedback page."""
    path = folder / "feedback" / student / CHAPTER / NOTEBOOK.replace(".ipynb", ".html")
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")
