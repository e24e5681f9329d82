"""Run cells of notebooks as a student's Jupyter would, and read what they show. For the tests."""

import json
import re

import nbformat
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from test_kit import OTHERS_ONLY, PYTHON_WITHOUT_THE_COURSE


def install_student_python(folder):
    """Put the kernel "student" into a folder of Jupyter's: Python as on a machine that has not installed the course."""
    spec = {
        "argv": [*PYTHON_WITHOUT_THE_COURSE, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Student",
        "language": "python",
        "env": {"PYTHONPATH": OTHERS_ONLY["PYTHONPATH"], "MPLBACKEND": "agg"},
    }
    (folder / "kernels" / "student").mkdir(parents=True)
    (folder / "kernels" / "student" / "kernel.json").write_text(json.dumps(spec))


def client(notebook, folder, kernel):
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, kernel_name=kernel, allow_errors=True, timeout=120, resources=resources)


class Shown:
    """What a cell shows, as a reader of a notebook and as a reader of plain text see it."""

    def __init__(self, outputs):
        self.errors = [output for output in outputs if output["output_type"] == "error"]
        data = [output["data"] for output in outputs if "data" in output]
        self.text = "\n".join(each.get("text/plain", "") for each in data)
        self.html = "\n".join(each.get("text/html", "") for each in data)
        self.page = BeautifulSoup(self.html, "html.parser")
        self.words = re.sub(r"\s+([,.:;])", r"\1", " ".join(self.page.get_text(" ").split()))
        self.results = [output["data"]["text/plain"] for output in outputs if output["output_type"] == "execute_result"]

    @property
    def marks(self):
        """The number that nbgrader reads from the cell's result."""
        [result] = self.results
        return float(result)


def says(shown, sentence):
    """Whether a sentence stands in both forms of an output; the backticks are marks of code."""
    plain = " ".join(sentence.replace("`", "").split())
    return plain in " ".join(shown.text.replace("`", "").split()) and without_spaces(plain) in without_spaces(
        shown.words
    )


def without_spaces(text):
    return re.sub(r"\s+", "", text)


def kernel_of(folder, setup):
    """Yield a function that runs a cell in a kernel in a kit and tells what it shows."""
    running = client(new_notebook(), folder, "student")
    with running.setup_kernel():

        def run(source, patience=60):
            cell = new_code_cell(source)
            running.nb.cells = [cell]
            running.timeout, running.interrupt_on_timeout = patience, True
            running.execute_cell(cell, 0)
            return Shown(cell.outputs)

        assert not run(setup).errors
        yield run


def executed(path, folder, kernel, answers):
    """{a graded cell: what it shows} of a notebook that was run from top to bottom; and its cells that failed."""
    notebook = nbformat.read(path, as_version=4)
    named = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    for name, source in answers.items():
        named[name].source = source
    client(notebook, folder, kernel).execute()
    shown = {name: Shown(cell.outputs) for name, cell in named.items() if cell.cell_type == "code"}
    failed = [cell.source for cell in notebook.cells if Shown(cell.get("outputs", [])).errors]
    return shown, failed
