"""A class is a folder of its own: an nbgrader course whose configuration takes everything from the course's."""

import re
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import PyFileConfigLoader

from autograder.exercises import ROOT, exercises, questions
from autograder.grading.restore import CHECK
from autograder.kit import write_kit

CONFIG = '''\
"""nbgrader's settings of this class. They come from the course; what you add below wins."""

from pathlib import Path

from autograder import nbgrader_config

c = get_config()  # noqa: F821
nbgrader_config.configure(c)
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.course_id = {course_id!r}
'''


def make_class(folder):
    """Make a class in a folder; what is there already stays. Returns the folder.

    Raises ValueError for a folder among the course's own files, or one that holds another nbgrader course.
    """
    folder = Path(folder).resolve()
    if folder == ROOT or (ROOT in folder.parents and ROOT / "build" not in folder.parents):
        raise ValueError(f"{folder} is among the course's own files; give a class a folder outside {ROOT}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; a class is a folder")
    config = folder / "nbgrader_config.py"
    if config.exists() and "autograder" not in config.read_text("utf-8"):
        raise ValueError(f"{config} belongs to another nbgrader course; give this class an empty folder")
    for part in ("source", "submitted"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    if not config.exists():
        config.write_text(CONFIG.format(course_id=folder.name), "utf-8")
    return folder


class Classroom:
    """The class in a folder, through nbgrader's own API.

    Raises ValueError when the folder is no class.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        if not (self.folder / "nbgrader_config.py").is_file():
            raise ValueError(f"{self.folder} is no class: it has no nbgrader_config.py; `course init DIR` makes one")
        config = PyFileConfigLoader("nbgrader_config.py", path=str(self.folder)).load_config()
        self.api = NbGraderAPI(CourseDirectory(config=config), config=config)

    def release(self, chapter):
        """Compile a chapter's kit and release it; returns the folder to give to students."""
        write_kit(chapter, self.folder / "source" / chapter)
        _succeed(self.api.generate_assignment(chapter, force=True), f"{chapter} could not be released")
        return self.folder / "release" / chapter

    def students(self, chapter):
        """Who handed in something for a chapter."""
        return sorted(path.parent.name for path in (self.folder / "submitted").glob(f"*/{chapter}") if path.is_dir())

    def grade(self, chapter, student, again=False):
        """Autograde one submission; returns "" or what went wrong. Graded ones are left alone unless `again`."""
        return _problem(self.api.autograde(chapter, student, force=again))

    def give_feedback(self, chapter, student):
        """Write one student's feedback page; returns its path."""
        _succeed(self.api.generate_feedback(chapter, student, force=True), f"no feedback for {student}")
        return self.folder / "feedback" / student / chapter

    def results(self, chapter):
        """A Result for each student who handed in, from nbgrader's gradebook."""
        with Gradebook(self.api.coursedir.db_url) as gradebook:
            return [_result(gradebook, chapter, student) for student in self.students(chapter)]


@dataclass(frozen=True)
class Result:
    """One student's marks in one chapter, by exercise, with the diagnosis of each that is not right."""

    student: str
    marks: dict  # {exercise: marks}; None where nothing was graded
    diagnoses: dict  # {exercise: one line}
    to_read: tuple  # the written questions that wait for a person

    @property
    def total(self):
        return sum(marks or 0 for marks in self.marks.values())

    @property
    def diagnosis(self):
        """The first diagnosis, and how many more there are."""
        lines = [line if line.startswith(name) else f"{name}: {line}" for name, line in self.diagnoses.items()]
        if not lines:
            return "all right" if all(marks is not None for marks in self.marks.values()) else "not graded"
        return lines[0] + (f" (+{len(lines) - 1} more)" if len(lines) > 1 else "")


def _result(gradebook, chapter, student):
    marks = {exercise.name: None for exercise in exercises(chapter)}
    diagnoses, to_read = {}, []
    try:
        submission = gradebook.find_submission(chapter, student)
    except MissingEntry:
        return Result(student, marks, diagnoses, ())
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            name = grade.cell.name.removeprefix(CHECK)
            if name in marks:
                marks[name] = grade.score
        for comment in notebook.comments:
            if comment.name in marks and comment.auto_comment:
                diagnoses[comment.name] = comment.auto_comment
        waiting = {f"question-{question.name}" for question in questions(chapter)}
        to_read += [
            grade.cell.name for grade in notebook.grades if grade.cell.name in waiting and grade.needs_manual_grade
        ]
    in_order = {name: diagnoses[name] for name in marks if name in diagnoses}
    return Result(student, marks, in_order, tuple(to_read))


def _problem(outcome):
    """What nbgrader said went wrong: the last lines of its log, which name the cause; "" when nothing did."""
    if outcome["success"]:
        return ""
    lines = (outcome.get("log") or outcome.get("error") or "it failed, without a word").strip().splitlines()
    causes = [line.strip() for line in lines if re.match(r"\s*[\w.]*(Error|Exception)\b", line)]
    return causes[0] if causes else lines[-1]


def _succeed(outcome, what):
    if not outcome["success"]:
        raise RuntimeError(f"{what}: {_problem(outcome)}")
