"""nbgrader's converters call these; `nbgrader_config.py` says which and in which order."""

import secrets
import shutil
from pathlib import Path
from weakref import WeakKeyDictionary

from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, SaveAutoGrades
from traitlets import Float, Unicode

from autograder.exercises import chapters, exercises, questions
from autograder.grading.kernel import StudentKernel
from autograder.grading.needed import needed_code
from autograder.grading.restore import CHECK
from autograder.grading.session import Session
from autograder.report import as_html, as_text

RUBRIC = "rubric"  # the tag of cells that only instructors see
_seeds = WeakKeyDictionary()


def secret_seed(preprocessor):
    """Of the cases: drawn once a run, so that a class is judged on the same cases, and nobody knows them before."""
    converter = preprocessor.parent.parent
    return _seeds.setdefault(converter.parent, secrets.randbits(63))


class ClearMarkedSolutions(ClearSolutions):
    """Clear what an instructor put between ### BEGIN SOLUTION and ### END SOLUTION; our stubs stay as they are."""

    def preprocess_cell(self, cell, resources, cell_index):
        if self._replace_solution_region(cell, resources["language"]) and not utils.is_solution(cell):
            raise RuntimeError(f"a solution stands outside an answer cell: {cell.source[:80]!r}")
        return cell, resources


class GradeAnswers(NbGraderPreprocessor):
    """Run the student's cells in a kernel; judge each answer here, when its check's turn comes.

    The check's outputs are written here: what the student's code prints, patches or forges is not among them. A graded
    cell that is no check of ours (an instructor's own test) runs in the kernel, as nbgrader does it.
    """

    kernel_name = Unicode("python3", help="The kernelspec of the kernels that run students' code.").tag(config=True)
    cell_seconds = Float(30, help="How long one cell of a student's may run.").tag(config=True)
    probe_seconds = Float(10, help="How long the cases of one exercise may take.").tag(config=True)
    notebook_seconds = Float(180, help="How long one notebook may take.").tag(config=True)

    def preprocess(self, nb, resources):
        kernel = StudentKernel(self.kernel_name, resources["metadata"]["path"])
        limits = {name: getattr(self, name) for name in ("cell_seconds", "probe_seconds", "notebook_seconds")}
        seed = secret_seed(self)
        with Session(kernel, seed, **limits) as session:
            for number, code in needed_code(nb.cells).items():
                nb.cells[number].outputs = self._outputs(nb.cells[number], code, session)
        _keep_a_place(Path(resources["metadata"]["path"]), f"{resources['metadata']['name']}.ipynb")
        resources["verdicts"] = session.verdicts
        nb.metadata["course"] = {"seed": seed}
        nb.cells = [with_rubric for cell in nb.cells for with_rubric in _with_rubric(cell)]
        return nb, resources

    def _outputs(self, cell, code, session):
        name = checked_exercise(cell)
        if name is not None:
            return verdict_outputs(session.grade(name))
        answer = cell.metadata.nbgrader["grade_id"] if utils.is_solution(cell) else None
        return session.run(code, answer)


def _keep_a_place(folder, name):
    """The graded notebook is written where the cells ran: put right what they made of the place."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        folder.mkdir(parents=True)
    if (folder / name).is_symlink():
        (folder / name).unlink()
    elif (folder / name).is_dir():
        shutil.rmtree(folder / name)


def checked_exercise(cell):
    """The name of the exercise that a cell checks; None when it is no check of ours."""
    if not utils.is_grade(cell) or utils.is_solution(cell):
        return None
    name = cell.metadata.nbgrader["grade_id"].removeprefix(CHECK)
    return name if any(name == each.name for chapter in chapters() for each in exercises(chapter)) else None


def verdict_outputs(verdict):
    """A check's outputs: the verdict for people, and the marks for nbgrader."""
    shown = {"text/plain": as_text(verdict), "text/html": as_html(verdict)}
    return [
        new_output("display_data", data=shown),
        new_output("execute_result", data={"text/plain": f"{verdict.marks}"}, execution_count=None),
    ]


def _with_rubric(cell):
    """A written answer is followed by its rubric and model answer, for the person who marks it."""
    name = cell.metadata.get("nbgrader", {}).get("grade_id", "").removeprefix("question-")
    for question in (question for chapter in chapters() for question in questions(chapter)):
        if question.name == name and utils.is_grade(cell):
            text = f"**For the marker.**\n\n{question.rubric}\n\n**Model answer.** {question.answer}"
            return [cell, new_markdown_cell(text, metadata={"tags": [RUBRIC]})]
    return [cell]


class HideRubrics(NbGraderPreprocessor):
    """Take out of a feedback page what only instructors see."""

    def preprocess(self, nb, resources):
        nb.cells = [cell for cell in nb.cells if RUBRIC not in cell.metadata.get("tags", [])]
        return nb, resources


class SaveMarks(SaveAutoGrades):
    """Save the marks and, as the answer's comment, the diagnosis in one line."""

    def _add_score(self, cell, resources):
        try:
            super()._add_score(cell, resources)
        except (KeyError, TypeError, ValueError):  # an instructor's own test showed what is no mark: let a person look
            where = (cell.metadata.nbgrader["grade_id"], self.notebook_id, self.assignment_id, self.student_id)
            grade = self.gradebook.find_grade(*where)
            grade.auto_score, grade.needs_manual_grade = 0, True
            self.gradebook.db.commit()

    def _add_comment(self, cell, resources):
        super()._add_comment(cell, resources)
        verdict = resources.get("verdicts", {}).get(cell.metadata.nbgrader["grade_id"])
        if verdict is None or (verdict.right and not verdict.note):
            return
        where = (cell.metadata.nbgrader["grade_id"], self.notebook_id, self.assignment_id, self.student_id)
        self.gradebook.find_comment(*where).auto_comment = one_line(verdict)
        self.gradebook.db.commit()


def one_line(verdict):
    """The diagnosis for a table."""
    sentence = verdict.note if verdict.right else " ".join(filter(None, (verdict.sentence, verdict.note)))
    return " ".join(sentence.replace("`", "").split())
