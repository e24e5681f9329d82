"""What an instructor adds to a released chapter, and nbgrader's other habits, work as nbgrader users know them."""

import datetime

import nbformat
import pytest
from classwork import (
    CHAPTER,
    NOTEBOOK,
    POINTS,
    RIGHT,
    answered,
    autograded,
    cell_of,
    desk,
    hand_in,
    lost,
    marks,
    nbgrader,
    released,
)
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook

DUE = "2030-01-01 12:00:00"
OWN_STUB = """\
def total(numbers):
    ### BEGIN SOLUTION
    return sum(numbers)
    ### END SOLUTION
"""
OWN_TEST = """\
assert total([1, 2]) == 3
### BEGIN HIDDEN TESTS
assert total([]) == 0
### END HIDDEN TESTS
"""
PARTIAL = "0.5 * (total([1]) == 1) + (softmax(np.zeros(2)).sum() == 1)"
NO_MARK = "total([10**6])"  # shows a number that is more than the cell's marks


def own(cell, grade_id, points=None, solution=False, locked=True, task=False):
    cell.metadata["nbgrader"] = {
        "grade": points is not None and not task,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": task,
        **({} if points is None else {"points": points}),
    }
    return cell


@pytest.fixture(scope="module")
def own_class(new_class):
    """A class whose instructor added exercises of their own to the chapter, graded; its folder."""
    folder = new_class()
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write("c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    path = folder / "source" / CHAPTER / NOTEBOOK
    notebook = nbformat.read(path, 4)
    notebook.cells += [
        own(new_code_cell(OWN_STUB), "own-answer", solution=True, locked=False),
        own(new_code_cell(OWN_TEST), "own-test", points=2),
        own(new_code_cell(PARTIAL), "own-partial", points=1.5),
        own(new_code_cell(NO_MARK), "own-nonsense", points=1),
        own(new_markdown_cell("Draw the weights."), "own-task", points=4, task=True),
    ]
    nbformat.write(notebook, path)
    nbgrader(folder, "generate_assignment", CHAPTER, "--force")
    total = "def total(numbers):\n    return {}\n"
    for student, code in {"right": "sum(numbers)", "hidden-wrong": "sum(numbers) or 1", "late": "sum(numbers)"}.items():
        hand_in(folder, student, answered(folder, RIGHT | {"own-answer": total.format(code)}))
    hand_in(folder, "untouched", released(folder))
    stripped = answered(folder, RIGHT | {"own-answer": total.format("sum(numbers)")})
    for cell in stripped.cells:
        cell.metadata = {}
    hand_in(folder, "stripped", stripped)
    for student, time in {"right": "2029-12-31 10:00:00 UTC", "late": "2030-01-02 10:00:00 UTC"}.items():
        (desk(folder, student) / "timestamp.txt").write_text(time)
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        due = datetime.datetime.fromisoformat(DUE)
        gradebook.update_or_create_assignment(CHAPTER, duedate=due)
    nbgrader(folder, "autograde", CHAPTER)
    return folder


def test_marked_solutions_and_hidden_tests_are_not_released(own_class):
    notebook = released(own_class)
    assert "return sum(numbers)" not in str(notebook) and "SOLUTION" not in str(notebook)
    assert "total([]) == 0" not in str(notebook)
    assert "raise NotImplementedError" in cell_of(notebook, "own-answer").source
    assert cell_of(notebook, "softmax").source.startswith("def softmax")


def test_an_assertion_of_the_instructors_is_graded_as_nbgrader_does(own_class):
    assert marks(own_class, "right")["own-test"] == 2
    assert marks(own_class, "hidden-wrong")["own-test"] == 0
    assert marks(own_class, "untouched")["own-test"] == 0
    assert "total([]) == 0" in cell_of(autograded(own_class, "hidden-wrong"), "own-test").source


def test_a_number_that_a_test_shows_is_its_mark(own_class):
    assert marks(own_class, "right")["own-partial"] == 1.5
    assert marks(own_class, "untouched")["own-partial"] == 0


def test_a_test_that_shows_no_mark_asks_for_a_person_and_stops_nobody(own_class):
    assert marks(own_class, "right")["own-nonsense"] is None
    assert marks(own_class, "untouched")["own-nonsense"] == 0


def test_a_task_waits_for_a_person(own_class):
    assert marks(own_class, "right")["own-task"] is None


def test_the_chapters_exercises_are_graded_beside_them(own_class):
    for student in ("right", "hidden-wrong", "late", "stripped"):
        assert lost(own_class, student) == {}


def test_an_answer_of_the_instructors_is_found_without_metadata(own_class):
    assert marks(own_class, "stripped")["own-test"] == 2


def test_a_late_submission_is_penalised_as_configured(own_class):
    with Gradebook(f"sqlite:///{own_class / 'gradebook.db'}") as gradebook:
        late, right = (gradebook.find_submission(CHAPTER, student) for student in ("late", "right"))
        assert late.total_seconds_late == 22 * 3600
        assert late.late_submission_penalty == late.score >= sum(POINTS.values())
        assert not right.late_submission_penalty
