"""A class is graded through nbgrader's own commands: marks, diagnoses, feedback pages, exports."""

import csv
import shutil

import pytest
from classwork import (
    CHAPTER,
    EVERY,
    NOTEBOOK,
    OUTSIDE,
    POINTS,
    RIGHT,
    answered,
    as_bytes,
    autograded,
    cell_of,
    comments,
    lost,
    marks,
    nbgrader,
    page,
    released,
    run,
)
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from ordinary_answers import FIRST_MISTAKES, students
from traitlets.config import PyFileConfigLoader

from autograder.exercises import exercises, questions, uses

QUESTIONS = [f"question-{question.name}" for question in questions(CHAPTER)]


def plain(text):
    return " ".join(text.replace("`", "").split())


def test_grading_needs_no_activated_environment():
    assert shutil.which("nbgrader", path=OUTSIDE["PATH"]) is None
    assert shutil.which("alembic", path=OUTSIDE["PATH"]) is None


@pytest.mark.parametrize("student", ["right", "in-other-ways"])
def test_a_right_answer_gets_full_marks_however_it_is_written(graded_class, student):
    assert lost(graded_class, student) == {}
    assert not any(comments(graded_class, student)[name] for name in EVERY)
    assert f"softmax is right — {POINTS['softmax']} of {POINTS['softmax']} marks" in plain(
        page(graded_class, student).text
    )


def test_alternatives_that_print_and_warn_do_so_in_their_cells(graded_class):
    assert 'print("now in softmax")' in students()["in-other-ways"]["softmax"]
    assert "warn(" in students()["in-other-ways"]["softmax"]


@pytest.mark.parametrize("name", EVERY)
def test_a_known_mistake_loses_marks_and_is_named(graded_class, name):
    hint = plain(FIRST_MISTAKES[name].hint)
    assert marks(graded_class, "mistaken")[name] < POINTS[name]
    assert hint in plain(comments(graded_class, "mistaken")[name])
    assert hint in plain(page(graded_class, "mistaken").text)


def test_of_two_mistakes_at_once_both_are_named(graded_class):
    for place in (comments(graded_class, "two-at-once")["softmax"], page(graded_class, "two-at-once").text):
        assert "Large scores overflow" in place and "always runs along the last axis" in plain(place)


def test_a_mistake_costs_its_marks_once(graded_class):
    callers = [name for name in EVERY if "softmax" in uses(name)]
    assert {"masked_softmax", "attend", "output_step"} <= set(callers)
    assert set(lost(graded_class, "wrong-softmax")) == {"softmax"}
    for name in callers:
        note = "Right, given a right softmax; mend softmax first."
        assert comments(graded_class, "wrong-softmax")[name] == note
    assert plain(page(graded_class, "wrong-softmax").text).count(note) >= len(callers)


def test_an_untouched_notebook_gets_nothing_and_a_friendly_word(graded_class):
    assert marks(graded_class, "untouched") == dict.fromkeys([*EVERY, *QUESTIONS], 0)
    for name in EVERY:
        assert comments(graded_class, "untouched")[name] == f"{name} is not written yet."
    for question in QUESTIONS:
        assert comments(graded_class, "untouched")[question] == "No response."
    assert "(Score: 0.0 / 25.0)" in page(graded_class, "untouched").text


def test_a_syntax_error_costs_one_exercise(graded_class):
    assert lost(graded_class, "syntax-error") == {"linear_scores": 0}
    said = "The cell of linear_scores stopped with SyntaxError: '(' was never closed (line 1)."
    assert comments(graded_class, "syntax-error")["linear_scores"] == said
    assert said in plain(page(graded_class, "syntax-error").text)


def test_a_written_answer_waits_for_a_person(graded_class):
    got = marks(graded_class, "right")
    assert [got[question] for question in QUESTIONS] == [None, 0]


def test_the_marker_sees_the_rubric_and_the_student_does_not(graded_class):
    cells = autograded(graded_class, "right").cells
    for question in questions(CHAPTER):
        shown = [cell for cell in cells if question.rubric in cell.source and question.answer in cell.source]
        assert [cell.metadata.tags for cell in shown] == [["rubric"]]
        text = plain(page(graded_class, "right").text)
        assert "For the marker" not in text and "Model answer" not in text
        assert plain(question.answer)[:60] not in text
    assert "The state is rewritten at each step, says right." in plain(page(graded_class, "right").text)


def test_a_feedback_page_shows_no_code_of_the_reference(graded_class):
    text = plain(page(graded_class, "untouched").text)
    for exercise in exercises(CHAPTER):
        written = set(exercise.answer_source.splitlines()) - set(exercise.stub.splitlines())
        telling = [plain(line.split("  #")[0]) for line in written if len(line.split("  #")[0].strip()) > 20]
        assert telling and not [line for line in telling if line in text]


def test_no_script_of_a_student_is_live_on_a_feedback_page(graded_class):
    shown = page(graded_class, "scripts")
    assert_harmless(shown)
    for word in ("printed in a call", "raised", "printed", "html", "markdown", "words", "trace"):
        assert f"<script>alert('{word}')</script>" in shown.text, word
    assert "$x<y$" in shown.text


def assert_harmless(shown):
    """Nothing on a page does anything but what nbconvert and nbgrader put there."""
    for script in shown("script"):
        assert "alert" not in script.text
    for tag in shown.find_all(True):
        assert not [name for name, value in tag.attrs.items() if name.startswith("on") and "alert" in value], tag
        assert not str(tag.get("href", "")).strip().lower().startswith("javascript"), tag
        assert tag.name not in ("iframe", "object", "embed")


def test_a_verdict_keeps_its_colours_on_a_feedback_page(graded_class):
    shown = page(graded_class, "mistaken")
    heads = [tag for tag in shown("b") if "is not right yet" in tag.text]
    assert len(heads) == len(EVERY) and all("color" in tag["style"] for tag in heads)
    cells = [tag for tag in shown("td") if "background" in tag.get("style", "")]
    assert cells and shown("figcaption") and "&lt;figure" not in str(shown)


def test_the_export_has_everybody_with_their_marks(graded_class):
    nbgrader(graded_class, "export")
    with (graded_class / "grades.csv").open(encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(file)}
    assert scores["right"] == scores["in-other-ways"] == sum(POINTS.values())
    assert scores["untouched"] == 0
    assert scores["syntax-error"] == sum(POINTS.values()) - POINTS["linear_scores"]
    assert 0 < scores["mistaken"] < scores["two-at-once"] <= scores["wrong-softmax"] < scores["right"]


def seed(folder, student):
    return autograded(folder, student).metadata["course"]["seed"]


def test_a_class_is_judged_on_one_seed_and_a_second_run_on_another(graded_class):
    first = {seed(graded_class, student) for student in students()}
    assert len(first) == 1
    with Gradebook(f"sqlite:///{graded_class / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade(QUESTIONS[0], NOTEBOOK.removesuffix(".ipynb"), CHAPTER, "regraded")
        grade.manual_score, grade.needs_manual_grade = 2.5, False
        where = ("softmax", NOTEBOOK.removesuffix(".ipynb"), CHAPTER, "regraded")
        gradebook.find_comment(*where).manual_comment = "Come and see me."
        gradebook.db.commit()
    before = marks(graded_class, "regraded")
    nbgrader(graded_class, "autograde", CHAPTER, "--student", "regraded", "--force")
    assert seed(graded_class, "regraded") not in first
    # What a person wrote stays, and what the autograder says stays the same.
    assert marks(graded_class, "regraded") == before
    assert before[QUESTIONS[0]] == 2.5
    assert comments(graded_class, "regraded")["softmax"] == "Come and see me."


def test_the_api_behind_formgraders_button_grades_a_student(graded_class):
    config = PyFileConfigLoader("nbgrader_config.py", path=str(graded_class)).load_config()
    outcome = NbGraderAPI(CourseDirectory(config=config), config=config).autograde(CHAPTER, "graded-by-api")
    assert outcome["success"], outcome
    assert set(lost(graded_class, "graded-by-api")) == {"softmax"}


@pytest.fixture
def kit(graded_class, tmp_path):
    return shutil.copytree(graded_class / "release" / CHAPTER, tmp_path / "kit")


def validated(kit, notebook):
    """What the Validate button says of a notebook in a kit."""
    (kit / NOTEBOOK).write_bytes(as_bytes(notebook))
    done = run("nbgrader", "validate", NOTEBOOK, folder=kit)
    return done.stdout + done.stderr


def test_the_validate_button_says_that_a_wrong_answer_fails(graded_class, kit):
    said = validated(kit, answered(graded_class, RIGHT | {"softmax": students()["wrong-softmax"]["softmax"]}))
    assert "VALIDATION FAILED ON" in said and "check(softmax)" in said
    assert "check(dot_scores)" not in said


def test_the_validate_button_says_that_right_answers_pass(graded_class, kit):
    notebook = answered(graded_class, RIGHT | dict.fromkeys(QUESTIONS, "My own words."))
    assert "Success! Your notebook passes all the tests." in validated(kit, notebook)


def test_what_is_released_is_not_the_solution(graded_class):
    for exercise in exercises(CHAPTER):
        assert cell_of(released(graded_class), exercise.name).source.strip() == exercise.stub.strip()
