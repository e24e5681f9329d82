"""Whatever becomes of a file on its way, its student is graded for what is there, and everybody else is graded too."""

import pytest
from classwork import CHAPTER, EVERY, autograded, cell_of, comments, desk, lost, marks, page
from damaged_files import DAMAGED, OTHER_QUESTION, QUESTION, WORDS
from nbgrader.api import Gradebook

UNREADABLE = {
    "empty": "it is no notebook",
    "no-notebook": "it is no notebook",
    "other-json": "it is no notebook",
    "link-to-another": "it is a link, not a file",
    "broken-link": "it is a link, not a file",
    "a-folder": "it is not a file",
}
PARTLY = {
    "cut-off": ["masked_softmax", "context_vector", "attend", "output_step"],
    "merge-conflict": ["context_vector"],
    "deleted-answer": ["linear_scores"],
}
WITHOUT_WORDS = {*UNREADABLE, "renamed", "extra-notebooks", "strange-neighbours"}


def grade_ids(notebook):
    return [
        cell.metadata.nbgrader.grade_id for cell in notebook.cells if "grade_id" in cell.metadata.get("nbgrader", {})
    ]


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
        same = ("grade", "locked", "points", "solution", "cell_type", "checksum")
        assert [came.metadata.nbgrader.get(name) for name in same] == [
            wanted.metadata.nbgrader.get(name) for name in same
        ]
        assert came.cell_type == wanted.cell_type
        if wanted.metadata.nbgrader.locked:
            assert came.source == wanted.source


def test_tags_decide_nothing_and_stored_outputs_are_not_kept(hostile_class):
    assert not any(cell.metadata.get("tags") == ["skip-execution"] for cell in autograded(hostile_class, "tags").cells)
    notebook = autograded(hostile_class, "stored-outputs")
    assert "widgets" not in notebook.metadata
    assert "99.0" not in str([cell.get("outputs") for cell in notebook.cells])


def test_links_and_pipes_beside_a_notebook_are_not_followed(hostile_class):
    graded = hostile_class / "autograded" / "strange-neighbours" / CHAPTER
    assert sorted(path.name for path in graded.iterdir() if path.suffix == ".txt") == ["timestamp.txt"]
    assert (graded / "autograder").is_dir()
    assert "There is no time in" in (hostile_class / "log.txt").read_text()


def test_a_renamed_notebook_is_graded_without_a_copy_among_what_was_handed_in(hostile_class):
    assert [path.name for path in desk(hostile_class, "renamed").iterdir()] == ["attention weights (final) (2).ipynb"]
