"""Whatever becomes of a file on its way, its student is graded for what is there, and everybody else is graded too."""

import os

import pytest
from classwork import CHAPTER, EVERY, autograded, cell_of, comments, desk, lost, marks, page
from damaged_files import DAMAGED, OTHER_QUESTION, QUESTION, WORDS
from nbgrader.api import Gradebook

from autograder.grading.reading import MOST_BYTES, read_notebook

UNREADABLE = {
    "empty": "it is no notebook",
    "no-notebook": "it is no notebook",
    "link-to-another": "it is a link, not a file",
    "a-folder": "it is not a file",
}
PARTLY = {
    "cut-off": ["masked_softmax", "context_vector", "attend", "output_step"],
    "merge-conflict": ["context_vector"],
    "deleted-cells": ["linear_scores"],
}
WITHOUT_WORDS = {*UNREADABLE, "renamed", "extra-notebooks", "strange-neighbours"}


def grade_ids(notebook):
    named = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return [name for name in named if name]


def test_everybody_is_graded_by_one_command(hostile_class):
    handed_in = {path.name for path in (hostile_class / "submitted").iterdir()}
    with Gradebook(f"sqlite:///{hostile_class / 'gradebook.db'}") as gradebook:
        graded = {submission.student.id for submission in gradebook.assignment_submissions(CHAPTER)}
    assert graded == handed_in >= set(DAMAGED)
    assert {path.parent.parent.name for path in hostile_class.glob(f"autograded/*/{CHAPTER}/*.ipynb")} == handed_in


@pytest.mark.parametrize("student", sorted(DAMAGED.keys() - UNREADABLE.keys() - PARTLY.keys()))
def test_right_answers_get_full_marks_from_a_damaged_file(hostile_class, student):
    assert lost(hostile_class, student) == {}


@pytest.mark.parametrize("student", PARTLY)
def test_what_a_damaged_file_still_holds_is_graded(hostile_class, student):
    assert set(lost(hostile_class, student)) >= {PARTLY[student][0]}
    assert set(lost(hostile_class, student)) <= {*PARTLY[student], "attend"}
    assert "is not written yet" in comments(hostile_class, student)[PARTLY[student][0]]


@pytest.mark.parametrize("student", UNREADABLE)
def test_a_file_that_cannot_be_read_says_why_and_gets_no_marks(hostile_class, student):
    got = marks(hostile_class, student)
    assert {name: got[name] for name in EVERY} == dict.fromkeys(EVERY, 0.0)
    assert f"could not be read: {UNREADABLE[student]}" in page(hostile_class, student).get_text()


@pytest.mark.parametrize("student", sorted(DAMAGED.keys() - WITHOUT_WORDS))
def test_a_written_answer_is_found_and_waits_for_a_person(hostile_class, student):
    assert marks(hostile_class, student)[QUESTION] is None
    words = cell_of(autograded(hostile_class, student), QUESTION).source
    assert words.encode("ascii", "ignore") == WORDS.encode("ascii", "ignore")
    assert marks(hostile_class, student)[OTHER_QUESTION] == 0
    assert comments(hostile_class, student)[OTHER_QUESTION] == "No response."


@pytest.mark.parametrize("student", DAMAGED)
def test_every_graded_cell_is_there_once_with_its_own_text_and_marks(hostile_class, student):
    notebook = autograded(hostile_class, student)
    right = autograded(hostile_class, "its-owner")
    assert sorted(grade_ids(notebook)) == sorted(grade_ids(right))
    for grade_id in grade_ids(right):
        came, wanted = cell_of(notebook, grade_id), cell_of(right, grade_id)
        assert (came.metadata.nbgrader, came.cell_type) == (wanted.metadata.nbgrader, wanted.cell_type)
        if wanted.metadata.nbgrader.locked:
            assert came.source == wanted.source


def test_tags_decide_nothing_and_stored_outputs_are_not_kept(hostile_class):
    notebook = autograded(hostile_class, "heavy-file")
    assert not any("skip-execution" in cell.metadata.get("tags", []) for cell in notebook.cells)
    assert "widgets" not in notebook.metadata
    assert "99.0" not in str([cell.get("outputs") for cell in notebook.cells])


def test_links_and_pipes_beside_a_notebook_are_not_followed(hostile_class):
    graded = hostile_class / "autograded" / "strange-neighbours" / CHAPTER
    assert sorted(path.name for path in graded.iterdir() if path.suffix == ".txt") == ["timestamp.txt"]
    assert (graded / "autograder").is_dir()
    assert "There is no time in" in (hostile_class / "log.txt").read_text()


def test_a_renamed_notebook_is_graded_without_a_copy_among_what_was_handed_in(hostile_class):
    assert [path.name for path in desk(hostile_class, "renamed").iterdir()] == ["attention weights (final) (2).ipynb"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'[{"cells": 5}, null]', "it is no notebook"),
        (b'{"cells": {"a": 1}}', "it is no notebook"),
        (b"7", "it is no notebook"),
        (b"[" * 100_000, "it is no notebook"),
        (b'{"a":' * 100_000, "it is no notebook"),
    ],
)
def test_no_file_at_all_stops_the_reader(tmp_path, data, why):
    path = tmp_path / "x.ipynb"
    path.write_bytes(data)
    assert why in read_notebook(path).cells[0].source


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "link.ipynb").symlink_to("nowhere")
    with (tmp_path / "huge.ipynb").open("wb") as huge:
        huge.truncate(MOST_BYTES + 1)
    said = {
        name: read_notebook(tmp_path / f"{name}.ipynb").cells[0].source for name in ("pipe", "link", "huge", "none")
    }
    assert "not a file" in said["pipe"] and "a link" in said["link"] and "larger than" in said["huge"]
    assert "not a file" in said["none"]
