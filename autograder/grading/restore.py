"""Bring a submitted notebook back into the shape in which it was released, whatever happened to it on the way.

Files arrive with a byte order mark, in latin-1, cut off or renamed; cells arrive moved, doubled, or without metadata.
None of that may cost a student more than the answer that is really missing, and none of it may stop a class.
"""

import json
import shutil
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from rapidfuzz import fuzz

from autograder.grading.needed import DEMO, bound_names

MOST_BYTES = 50 << 20
CHECK = "check-"  # the id of a check is that of its answer with this in front
UNREADABLE = "**The file that was handed in could not be read: {problem}.** What could be graded without it follows."


def read_notebook(path):
    """A notebook with the cells of a submitted file: their kind, text and nbgrader metadata, and nothing else.

    Never raises for what a student sent: a file that cannot be read gives one cell that says why.
    """
    try:
        raw = json.loads(_text(Path(path)))
        cells = raw["cells"] if "cells" in raw else [cell for sheet in raw["worksheets"] for cell in sheet["cells"]]
        return new_notebook(cells=[_clean(cell) for cell in cells if isinstance(cell, dict)], metadata=_kernel_of(raw))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        problem = "it is not a whole notebook" if not str(error).startswith("it ") else str(error)
        return new_notebook(cells=[new_markdown_cell(UNREADABLE.format(problem=problem))])


def _text(path):
    if path.is_symlink():
        raise ValueError("it is a link, not a file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MB")
    data = path.read_bytes()
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        if encoding == "utf-16" and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError("its characters are in no encoding that we know")


def _clean(cell):
    source = cell.get("source", cell.get("input", ""))
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    made = new_code_cell(source) if cell.get("cell_type") == "code" else new_markdown_cell(source)
    metadata = cell.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(ours, dict) and isinstance(ours.get("grade_id"), str):
        made.metadata["nbgrader"] = ours
    elif isinstance(metadata, dict) and DEMO in (metadata.get("tags") or []):
        made.metadata["tags"] = [DEMO]
    return made


def _kernel_of(raw):
    """The kernelspec; other metadata of the notebook is of no use here."""
    spec = raw.get("metadata", {}).get("kernelspec")
    return {"kernelspec": spec} if isinstance(spec, dict) else {}


class RestoreCells(NbGraderPreprocessor):
    """Give every released cell its place and its metadata again, once; everything else stays as the student's own."""

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            released = _released_cells(gradebook.find_notebook(where["notebook"], where["assignment"]))
        nb.cells = restore(nb.cells, released)
        return nb, resources


def _released_cells(notebook):
    graded = {cell.name: cell for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name: cell for cell in notebook.task_cells}
    released = []
    for source in notebook.source_cells:
        cell = new_code_cell(source.source) if source.cell_type == "code" else new_markdown_cell(source.source)
        cell.metadata["nbgrader"] = {
            "grade": source.name in graded,
            "grade_id": source.name,
            "locked": bool(source.locked),
            "schema_version": 3,
            "solution": source.name in solutions,
            "task": source.name in tasks,
            "cell_type": source.cell_type,
            "checksum": source.checksum,
        }
        if points := graded.get(source.name) or tasks.get(source.name):
            cell.metadata["nbgrader"]["points"] = points.max_score
        released.append(cell)
    return released


def restore(cells, released):
    """The submitted cells with every released cell among them exactly once.

    A released cell is known by its id; an answer whose id went is known by the name that it defines. A check comes
    after the answer that it checks. What is missing is put back.
    """
    by_id = {cell.metadata.nbgrader["grade_id"]: cell for cell in released}
    claimed = {id(cell): name for name, cell in _found(cells, by_id).items()}
    restored = []
    for cell in cells:
        cell.metadata.pop("nbgrader", None)
        name = claimed.get(id(cell))
        restored.append(cell if name is None else _as_released(cell, by_id[name]))
    for name in by_id.keys() - claimed.values():  # in any order: each finds its own place
        if not name.startswith(CHECK):
            at = 0 if name == "setup" else len(restored)
            restored.insert(at, _as_released(by_id[name], by_id[name]))
    for name, original in by_id.items():
        if name.startswith(CHECK):
            _check_after_answer(restored, name, original)
    return restored


def _found(cells, by_id):
    """{id: the submitted cell that is the released one}: the first that says so, or that defines what it should."""
    found = {}
    for cell in cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in by_id and name not in found:
            found[name] = cell
    taken = {id(cell) for cell in found.values()}
    for name, original in by_id.items():
        if original.cell_type != "code" or not original.metadata.nbgrader["solution"]:
            continue
        empty = name not in found or found[name].source.strip() in ("", original.source.strip())
        defining = [
            cell
            for cell in cells
            if id(cell) not in taken and cell.cell_type == "code" and name in bound_names(cell.source)
        ]
        if empty and defining:
            found[name] = defining[-1]
            taken.add(id(defining[-1]))
    return found


def _as_released(cell, original):
    """The submitted cell with the released cell's metadata and, where it is locked, its text."""
    ours = original.metadata.nbgrader
    locked = ours["locked"] or (ours["grade"] and not ours["solution"])
    source = original.source if locked else cell.source
    made = new_code_cell(source) if original.cell_type == "code" else new_markdown_cell(source)
    made.metadata["nbgrader"] = dict(ours)
    return made


def _ids(cells):
    return [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]


def _check_after_answer(restored, name, original):
    """Move or put back a check: behind its answer and what the student added there, before the next released cell."""
    ids = _ids(restored)
    answer = name.removeprefix(CHECK)
    after = ids.index(answer) if answer in ids else len(ids) - 1
    if name in ids:
        if ids.index(name) > after:
            return
        restored.pop(ids.index(name))
        after -= 1
    ids = _ids(restored)
    end = next((number for number in range(after + 1, len(ids)) if ids[number]), len(ids))
    restored.insert(end, _as_released(original, original))


def adopt_renamed(assignment, student, notebooks):
    """A hook before grading: a notebook under another name is graded as the one that is missing, from a copy beside it.

    notebooks: the paths in one submission's folder; what is adopted is added to the list
    """
    folder = Path(notebooks[0]).parent
    expected = {path.name for path in Path("source", folder.name).glob("*.ipynb")}
    strangers = [path for path in map(Path, notebooks) if path.name not in expected]
    for name in sorted(expected - {Path(path).name for path in notebooks}):
        if strangers:
            best = max(strangers, key=lambda path: fuzz.ratio(path.name, name))
            strangers.remove(best)
            shutil.copyfile(best, folder / name, follow_symlinks=False)
            notebooks.append(str(folder / name))
