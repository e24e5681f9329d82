"""The command `course`: it does what it says, and of a mistake in its use it tells in one line."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from autograder.cli import COUNTED, app
from autograder.compile import NOTEBOOKS, filename
from autograder.exercises import ROOT, chapters, exercises, find

NUMPY = "attention_weights"
COMMAND = Path(sys.executable).with_name("course")


def course(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """A class to which the first chapter is released."""
    folder = tmp_path_factory.mktemp("class") / "autumn"
    assert course("init", folder).exit_code == 0
    released = course("release", NUMPY, "--class", folder)
    assert released.exit_code == 0, released.output
    assert f"Give your students this folder: {folder / 'release' / NUMPY}" in released.stdout
    return folder


def test_list_shows_every_exercise():
    shown = course("list")
    assert shown.exit_code == 0
    for chapter in chapters():
        for exercise in exercises(chapter):
            assert exercise.name[:12] in shown.stdout


def test_list_as_json():
    rows = json.loads(course("list", "--json").stdout)
    wanted = [(chapter, exercise.name) for chapter in chapters() for exercise in exercises(chapter)]
    assert [(row["chapter"], row["name"]) for row in rows] == wanted
    assert len({row["name"] for row in rows}) == len(rows)
    [attend] = [row for row in rows if row["name"] == "attend"]
    assert attend["points"] == find("attend").points
    assert attend["uses"] == ["softmax", "masked_softmax", "context_vector"]


WRONG_USES = [
    (("release", "cooking", "--class", "CLASS"), "there is no chapter 'cooking'; there are: attention_weights, "),
    (("grade", "cooking", "--class", "CLASS"), "there is no chapter 'cooking'"),
    (("grade", NUMPY, "--class", "CLASS"), f"nobody has handed in {NUMPY}: "),
    (
        ("release", NUMPY, "--class", "EMPTY"),
        "is no class: it has no nbgrader_config.py; `course init DIR` makes one",
    ),
    (("grade", NUMPY, "--class", "EMPTY/nowhere"), "is no class: it has no nbgrader_config.py"),
    (("grade", NUMPY, "--class", "FILE"), "is no class: it has no nbgrader_config.py"),
    (("init", "FILE"), "is a file; a class is a folder"),
    (("init", "FILE/class"), "Not a directory"),
    (("init", "REPOSITORY/tests/class"), "is among the course's own files; give a class a folder outside"),
    (("init", "REPOSITORY"), "is among the course's own files"),
    (("init", "OTHER"), "belongs to another nbgrader course; give this class an empty folder"),
    (("example", "FILE"), "is a file; a class is a folder"),
    (("verify", "cooking"), "there is no chapter 'cooking'"),
    (("notebooks", "--solved", "FILE"), "is a file; solved notebooks go into a folder"),
    (("notebooks", "--solved", "REPOSITORY/notebooks"), "holds the student notebooks"),
    (("check", "EMPTY/nowhere.ipynb"), "there is no file"),
    (("check", "EMPTY"), "there is no file"),
    (("check", "REPOSITORY/README.md"), "README.md is no notebook (.ipynb) and no Python file (.py)"),
    (("check", "FILE"), "notes[red].py defines none of the exercises; it should have one of: dot_scores, "),
    (("check", "TORN"), "torn.ipynb"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG_USES, ids=[" ".join(used) for used, _ in WRONG_USES])
def test_a_wrong_use_is_told_in_one_line(arguments, sentence, classroom, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "nbgrader_config.py").write_text("c = get_config()\n")
    (tmp_path / "notes[red].py").write_text("x = 1\n")  # a name that rich would take for markup
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    places = {"CLASS": classroom, "EMPTY": tmp_path / "empty", "OTHER": tmp_path / "other", "REPOSITORY": ROOT}
    places |= {"FILE": tmp_path / "notes[red].py", "TORN": tmp_path / "torn.ipynb"}
    for name, place in places.items():
        arguments = [each.replace(name, str(place)) for each in arguments]
    done = course(*arguments)
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    [line] = done.stderr.strip().splitlines()
    assert line.startswith("course: ") and sentence in line
    assert not done.stdout.strip()


@pytest.mark.parametrize("arguments", [["frobnicate"], ["check"], ["release"], ["list", "--jsn"]])
def test_a_wrong_command_line_is_told_without_a_traceback(arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: course" in done.stderr and "Traceback" not in done.stderr


def test_help_names_every_command():
    done = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True)
    for command in ("notebooks", "release", "check", "grade", "verify", "list", "init"):
        assert f" {command} " in done.stdout


def test_a_class_is_made_once_and_keeps_what_is_in_it(tmp_path):
    folder = tmp_path / "new" / "spring"
    first = course("init", folder)
    assert first.exit_code == 0 and str(folder) in first.stdout
    config = folder / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8") + "c.Exchange.timezone = 'UTC'\n", "utf-8")
    (folder / "submitted" / "ada").mkdir()
    before = config.read_bytes()
    assert course("init", folder).exit_code == 0
    assert config.read_bytes() == before and (folder / "submitted" / "ada").is_dir()


def test_a_release_holds_what_a_student_needs(classroom):
    released = classroom / "release" / NUMPY
    names = {path.relative_to(released).as_posix() for path in released.rglob("*") if path.is_file()}
    assert {filename(NUMPY), "autograder/check.py", f"autograder/recorded/{NUMPY}.json.gz"} <= names
    assert not {f"solutions/{NUMPY}.py", "autograder/exercises/__init__.py"} & names
    notebook = nbformat.read(released / filename(NUMPY), as_version=4)
    assert [cell for cell in notebook.cells if cell.source == find("softmax").stub.rstrip("\n")]


def answers_in(path, changed):
    """Write the notebook of the first chapter with answers, by name."""
    notebook = nbformat.read(NOTEBOOKS / filename(NUMPY), as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = changed.get(name, cell.source)
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def right():
    return {exercise.name: exercise.answer_source for exercise in exercises(NUMPY)}


def test_a_right_notebook_is_checked(tmp_path, right):
    done = course("check", answers_in(tmp_path / "right.ipynb", right))
    points = sum(exercise.points for exercise in exercises(NUMPY))
    assert done.exit_code == 0, done.output
    assert done.stdout.strip().splitlines()[-1] == f"{len(right)} of {len(right)} right, {points} of {points} marks."


def test_a_wrong_notebook_is_told_what_is_wrong(tmp_path, right):
    mistake = find("softmax").mistakes[2]
    wrong = {**right, "softmax": find("softmax").source_with([mistake]), "attend": find("attend").stub}
    done = course("check", answers_in(tmp_path / "wrong.ipynb", wrong))
    assert done.exit_code == 1
    assert mistake.hint in done.stdout and "`attend` is not written yet." in done.stdout
    assert "Traceback" not in done.output


def test_a_python_file_is_checked(tmp_path):
    path = tmp_path / "mine.py"
    imports = "import math\nimport numpy as np\n\n\n"
    path.write_text(imports + find("dot_scores").answer_source, "utf-8")
    done = course("check", path)
    assert done.exit_code == 0 and "1 of 1 right, 1 of 1 marks." in done.stdout
    path.write_text(imports + find("dot_scores").stub, "utf-8")
    done = course("check", path)
    assert done.exit_code == 1 and "`dot_scores` is not written yet." in done.stdout


def test_notebooks_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.compile.NOTEBOOKS", tmp_path)
    done = course("notebooks")
    assert done.exit_code == 0 and done.stdout.split() == [f"notebooks/{filename(chapter)}" for chapter in chapters()]
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (NOTEBOOKS / path.name).read_bytes()


def test_verify_as_json_counts_everything():
    done = course("verify", NUMPY, "--json")
    reports = json.loads(done.stdout)
    assert done.exit_code == 0 and [report["name"] for report in reports] == [each.name for each in exercises(NUMPY)]
    for report in reports:
        assert {"chapter", "name", "points", *COUNTED} <= set(report)
        assert report["chapter"] == NUMPY and report["points"] == find(report["name"]).points
        assert report["mistakes_diagnosed"] == report["mistakes"] >= 4
        assert report["alternatives_accepted"] == report["alternatives"] >= 3
        assert report["mutants_killed"] + report["mutants_equivalent"] == report["mutants"] > 0
        assert report["cases"] > 0
