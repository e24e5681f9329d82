"""Fixtures that several modules share."""

import resource
import shutil

import classwork
import pytest
from classwork import RIGHT, answered, cell_of, hand_in, nbgrader
from damaged_files import DAMAGED
from hostile_answers import (
    ANSWER_WITH_IT,
    CALLABLES,
    CATCH_THE_REFERENCE,
    DEATHS,
    EXITS,
    FLOODS,
    FORGERIES,
    GIANTS,
    LIARS,
    LOOPS,
    VANDALS,
    WRONG,
)
from nbformat.v4 import new_code_cell
from ordinary_answers import AGAIN, RAISES_A_SCRIPT, students, with_scripts

from autograder.grading.classroom import Classroom

ANSWERS = {
    "loops": LOOPS,
    "deaths": DEATHS,
    "exits": EXITS,
    "floods": FLOODS,
    "giants": GIANTS,
    "callables": CALLABLES,
    "liars": LIARS,
}
SHOWN = ["empty", "no-notebook", "link-to-another", "a-folder", "floods", "liars", "forger-messages", "forger-json"]


@pytest.fixture(scope="session")
def fresh_class(tmp_path_factory):
    """A class with one chapter released and nothing handed in. It is copied, never used."""
    folder = tmp_path_factory.mktemp("fresh") / "class"
    for arguments in (("init", folder), ("release", classwork.CHAPTER, "--class", folder)):
        done = classwork.run("course", *arguments, folder=folder.parent)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def new_class(fresh_class, tmp_path_factory):
    """Make a class of one's own, whose limits are short, so that what never ends is stopped soon."""

    def make():
        folder = tmp_path_factory.mktemp("classroom") / "class"
        shutil.copytree(fresh_class, folder)
        with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
            config.write("\nc.GradeAnswers.cell_seconds = 5\nc.GradeAnswers.probe_seconds = 3\n")
        return folder

    return make


@pytest.fixture(scope="session")
def hostile_class(new_class):
    """A class of hostile and unlucky students, all graded by one command; its folder."""
    folder = new_class()
    for student, answers in ANSWERS.items():
        hand_in(folder, student, answered(folder, RIGHT | answers))
    for kind, cell in FORGERIES.items():
        notebook = answered(folder, {name: WRONG.format(name=name) for name in RIGHT})
        notebook.cells.insert(3, new_code_cell(cell))
        hand_in(folder, f"forger-{kind}", notebook)
    for kind, cell in VANDALS.items():
        notebook = answered(folder, RIGHT)
        notebook.cells.insert(3, new_code_cell(cell))
        hand_in(folder, f"vandal-{kind}", notebook)
    hand_in(folder, "reference-catcher", _catcher(folder))
    for name, way in DAMAGED.items():
        way(folder, name)
    before = handed_in(folder)
    said = nbgrader(folder, "autograde", classwork.CHAPTER)
    (folder / "log.txt").write_text(said)
    (folder / "memory.txt").write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
    assert handed_in(folder) == before, "grading changed what was handed in"
    for student in SHOWN:
        Classroom(folder).give_feedback(classwork.CHAPTER, student)
    return folder


def _catcher(folder):
    """masked_softmax and what calls it come first, so that softmax is not yet graded when they are tried."""
    notebook = answered(
        folder, RIGHT | {"masked_softmax": WRONG.format(name="masked_softmax"), "softmax": ANSWER_WITH_IT}
    )
    early = ["masked_softmax", "check-masked_softmax", "context_vector", "attend", "check-attend"]
    first = [cell_of(notebook, name) for name in early]
    rest = [cell for cell in notebook.cells if not any(cell is each for each in first)]
    notebook.cells = [*rest[:3], new_code_cell("import numpy as np\n" + CATCH_THE_REFERENCE), *first, *rest[3:]]
    return notebook


def handed_in(folder):
    """Everything under submitted/: what it is, and what it holds."""
    paths = sorted((folder / "submitted").rglob("*"))
    return {
        path: path.read_bytes() if path.is_file() and not path.is_symlink() else path.lstat().st_mode for path in paths
    }


@pytest.fixture(scope="session")
def graded_class(new_class):
    """A class in which students do what students do, graded and given feedback by nbgrader's commands; its folder."""
    folder = new_class()
    for student, answers in (students() | {student: students()[like] for student, like in AGAIN.items()}).items():
        notebook = answered(folder, answers)
        cell_of(notebook, "question-why_rnn_forgets").source = f"The state is rewritten at each step, says {student}."
        hand_in(folder, student, notebook)
    hand_in(folder, "untouched", answered(folder, {}))
    hand_in(folder, "scripts", with_scripts(answered(folder, RIGHT | {"softmax": RAISES_A_SCRIPT})))
    nbgrader(folder, "autograde", classwork.CHAPTER)
    nbgrader(folder, "generate_feedback", classwork.CHAPTER)
    return folder
