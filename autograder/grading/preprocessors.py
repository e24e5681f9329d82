"""nbgrader's converters call these; `nbgrader_config.py` says which and in which order."""

import secrets

from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from traitlets import Float, Unicode

from autograder.exercises import chapters, exercises, questions
from autograder.grading.kernel import StudentKernel
from autograder.grading.needed import needed_cells
from autograder.grading.restore import CHECK, read_notebook
from autograder.grading.session import Session
from autograder.report import as_html, as_text

SEED = secrets.randbits(63)  # drawn once a run: a class is judged on the same cases, and nobody knows them before
RUBRIC = "rubric"  # the tag of cells that only instructors see


class ForgivingExporter(NotebookExporter):
    """Reads whatever a student handed in; see `read_notebook`."""

    def from_file(self, file_stream, resources=None, **kw):
        return super().from_notebook_node(read_notebook(file_stream.name), resources=resources, **kw)


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
        with Session(kernel, SEED, **limits) as session:
            for number in sorted(needed_cells(nb.cells)):
                nb.cells[number].outputs = self._outputs(nb.cells[number], session)
        resources["verdicts"] = session.verdicts
        nb.metadata["course"] = {"seed": SEED}
        nb.cells = [with_rubric for cell in nb.cells for with_rubric in _with_rubric(cell)]
        return nb, resources

    def _outputs(self, cell, session):
        name = checked_exercise(cell)
        if name is not None:
            return verdict_outputs(session.grade(name))
        return session.run(cell.source, answer=utils.is_solution(cell))


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
