"""What becomes of a notebook on its way: ways to hand in the same right answers in a damaged file.

Each function of DAMAGED takes a class's folder and the student's name, and hands in.
"""

import copy
import json
import os

import nbformat
from classwork import NOTEBOOK, RIGHT, answered, as_bytes, cell_of, desk, hand_in
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.exercises import find

DAMAGED = {}
WORDS = "My own words: naïve states fade, é, and attention keeps them all."
QUESTION, OTHER_QUESTION = "question-why_rnn_forgets", "question-linear_score_blind"


def damage(function):
    DAMAGED[function.__name__.replace("_", "-")] = function
    return function


def changed(change):
    """A way to hand in that changes the notebook with the right answers."""

    def handing_in(folder, student):
        notebook = answered(folder, RIGHT)
        cell_of(notebook, QUESTION).source = WORDS
        damaged = change(notebook)
        hand_in(folder, student, notebook if damaged is None else damaged)

    handing_in.__name__ = change.__name__
    return damage(handing_in)


def ids(notebook):
    return [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]


def at(notebook, grade_id):
    return ids(notebook).index(grade_id)


@changed
def latin_1(notebook):
    return json.dumps(notebook, ensure_ascii=False).encode("latin-1", "replace")


@changed
def utf_16(notebook):
    return json.dumps(notebook, ensure_ascii=False).encode("utf-16")


@changed
def cut_off(notebook):
    """The file ends inside the answer of masked_softmax: what stands before is whole."""
    whole = as_bytes(notebook)
    return whole[: whole.index(b"def masked_softmax") + 60]


@changed
def merge_conflict(notebook):
    """Two versions of one cell, as git leaves them: the file is no JSON there."""
    whole = as_bytes(notebook)
    here = whole.index(b"def context_vector")
    return whole[:here] + b"\n<<<<<<< HEAD\n=======\n>>>>>>> mine\n" + whole[here:]


@changed
def empty(notebook):
    return b""


@changed
def no_notebook(notebook):
    return b"PK\x03\x04" + bytes(range(256))


@changed
def third_format(notebook):
    cells = []
    for cell in notebook.cells:
        plain = {"cell_type": cell.cell_type, "metadata": cell.metadata}
        text = "input" if cell.cell_type == "code" else "source"
        cells.append({**plain, text: cell.source.splitlines(keepends=True)})
    return json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}).encode()


@changed
def no_metadata(notebook):
    """As Colab and others leave it: cells without ids and without metadata."""
    notebook.metadata = {}
    for cell in notebook.cells:
        del cell["id"]
        cell.metadata = {}


@damage
def renamed(folder, student):
    path = hand_in(folder, student, answered(folder, RIGHT))
    path.rename(path.with_name("attention weights (final) (2).ipynb"))


@damage
def extra_notebooks(folder, student):
    hand_in(folder, student, answered(folder, RIGHT))
    for name in ("Untitled.ipynb", "00_scratch.ipynb", "01_attention_weights-Copy1.ipynb"):
        (desk(folder, student) / name).write_bytes(b"scratch")


@damage
def link_to_another(folder, student):
    hand_in(folder, "its-owner", answered(folder, RIGHT))
    (desk(folder, student) / NOTEBOOK).symlink_to(desk(folder, "its-owner") / NOTEBOOK)


@damage
def a_folder(folder, student):
    (desk(folder, student) / NOTEBOOK).mkdir()


@damage
def strange_neighbours(folder, student):
    """Beside the notebook: links to nowhere, to a device and to the gradebook, a pipe, and a time that is none."""
    hand_in(folder, student, answered(folder, RIGHT))
    beside = desk(folder, student)
    (beside / "nowhere.txt").symlink_to("nothing")
    (beside / "endless.txt").symlink_to("/dev/zero")
    (beside / "gradebook.txt").symlink_to(folder / "gradebook.db")
    os.mkfifo(beside / "pipe.txt")
    (beside / "autograder").write_text("not a folder")
    (beside / "pathlib.py").write_text("raise SystemExit('not the library')")
    (beside / "timestamp.txt").write_text("half past nine")


@changed
def backwards(notebook):
    notebook.cells.reverse()


@changed
def other_cell_types(notebook):
    for number, kind in (("softmax", "markdown"), ("check-attend", "raw"), ("dot_scores", "raw"), (QUESTION, "code")):
        cell_of(notebook, number).cell_type = kind


@changed
def answer_in_a_new_cell(notebook):
    """Below the check, above the stub, at the end, and in a copy of the cell; each stub is left where it was."""
    stubs = {name: cell_of(notebook, name) for name in ("softmax", "linear_scores", "dot_scores")}
    written = {name: new_code_cell(stub.source) for name, stub in stubs.items()}
    for name, stub in stubs.items():
        stub.source = find(name).stub
    notebook.cells.insert(at(notebook, "check-softmax") + 1, written["softmax"])
    notebook.cells.insert(at(notebook, "linear_scores"), written["linear_scores"])
    notebook.cells.append(written["dot_scores"])
    copied = copy.deepcopy(cell_of(notebook, "output_step"))
    cell_of(notebook, "output_step").source = find("output_step").stub
    notebook.cells.insert(at(notebook, "output_step") + 1, copied)
    words = cell_of(notebook, QUESTION)
    words.source = "YOUR ANSWER HERE"
    notebook.cells.insert(at(notebook, QUESTION) + 1, new_markdown_cell(WORDS))


@changed
def magics(notebook):
    """Only the answers use numpy, and each cell begins with something that is not Python."""
    for name in RIGHT:
        cell_of(notebook, name).source = f"%%time\n{RIGHT[name]}\n%timeit -n1 -r1 np.zeros(3)\n!true"


@changed
def strange_types(notebook):
    """Metadata that is none, sources that are no text, cells that are no cells, and half a character."""
    notebook.cells.append(new_code_cell("print('\\ud83d', 'and in the file: \ud83d')"))
    raw = json.loads(as_bytes(notebook).decode("utf-8", "surrogatepass"))
    raw["metadata"] = None
    raw["cells"][0].update(metadata=5, source=None)
    raw["cells"][1].update(metadata={"tags": 7, "nbgrader": "no"}, source={"a": 1})
    raw["cells"] += [None, 5, "text", {}, {"cell_type": []}]
    return json.dumps(raw).encode()


@changed
def heavy_file(notebook):
    """A byte order mark, no cell ids, tags for tools, widgets and megabytes of outputs that were saved in the file."""
    notebook.nbformat_minor = 4
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"a": "x" * 1_000_000}}}
    for cell in notebook.cells:
        del cell["id"]
        cell.metadata.setdefault("tags", []).extend(["skip-execution", "raises-exception", "remove-cell"])
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", text="99.0\n" * 100_000)]
    return b"\xef\xbb\xbf" + as_bytes(notebook)


@changed
def mixed_up_checks(notebook):
    """One check is there twice, one is missing, one comes before its answer, two are exchanged, one is doctored."""
    notebook.cells.insert(2, copy.deepcopy(cell_of(notebook, "check-softmax")))
    notebook.cells.pop(at(notebook, "check-masked_softmax"))
    notebook.cells.insert(3, notebook.cells.pop(at(notebook, "check-attend")))
    one, other = cell_of(notebook, "check-additive_scores"), cell_of(notebook, "check-linear_scores")
    one.metadata.nbgrader.grade_id, other.metadata.nbgrader.grade_id = "check-linear_scores", "check-additive_scores"
    one.source, other.source = other.source, one.source
    doctored = cell_of(notebook, "check-dot_scores")
    doctored.source = "99.0"
    doctored.metadata.nbgrader.update(points=100, locked=False, grade=False, solution=True, checksum="0")


@changed
def deleted_cells(notebook):
    """All of the course's own cells are gone, the imports too, and one answer."""
    named = zip(notebook.cells, ids(notebook), strict=True)
    notebook.cells = [cell for cell, name in named if name not in (None, "setup", "linear_scores")]
