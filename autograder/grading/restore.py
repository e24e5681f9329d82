"""Bring a submitted notebook back into the shape in which it was released, whatever happened to its cells.

Cells arrive moved, doubled, without metadata, or not at all. None of that may cost a student more than the answer that
is really missing.
"""

from itertools import pairwise
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.exercises import chapters, exercises, uses
from autograder.grading.needed import DEMO, bound_names, import_lines
from autograder.grading.reading import read_notebook

CHECK = "check-"  # the id of a check is that of its answer with this in front


class RestoreCells(NbGraderPreprocessor):
    """Give every released cell its place and its metadata again, once; everything else stays as the student's own."""

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            released = _released_cells(gradebook.find_notebook(where["notebook"], where["assignment"]))
        source = Path("source", where["assignment"], f"{where['notebook']}.ipynb")
        nb.cells = restore(nb.cells, released, read_notebook(source).cells if source.exists() else [])
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


def restore(cells, released, whole=()):
    """The submitted cells with every released cell among them exactly once.

    released: the cells with an id of nbgrader's
    whole:    all the cells of the notebook as it was given out

    A released cell is known by its id; an answer whose id went is known by the name that it defines, or by the text
    that it follows. A check comes after all that it needs. What is missing is put back.
    """
    by_id = {cell.metadata.nbgrader["grade_id"]: cell for cell in released}
    handed_out = {_text(cell) for cell in [*released, *whole]}
    claimed = {id(cell): name for name, cell in _found(cells, by_id, whole, handed_out).items()}
    demos = {_text(cell) for cell in whole if DEMO in cell.metadata.get("tags", [])}
    stubs = {_text(cell) for cell in released if cell.metadata.nbgrader["solution"]}
    restored = []
    for cell in cells:
        cell.metadata.pop("nbgrader", None)
        if name := claimed.get(id(cell)):
            restored.append(_as_released(cell, by_id[name]))
        elif cell.source.strip() and _text(cell) not in stubs:  # a stub beside its answer would undo it
            cell.metadata.update({"tags": [DEMO]} if cell.cell_type == "code" and _text(cell) in demos else {})
            restored.append(cell)
    _put_back(restored, by_id, whole)
    for name, original in by_id.items():
        if checked := _checked(name, by_id):
            _check_after(restored, name, original, checked)
    return restored


def _text(cell):
    return cell.cell_type, cell.source.strip()


def _id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _empty(cell, original):
    return cell.source.strip() in ("", original.source.strip())


def _found(cells, by_id, whole, handed_out):
    """{id: the submitted cell that is the released one}: the first that says so, but an answer before a stub.

    What lost its id is known by its text; an answer that is still a stub may stand in a cell that says nothing.
    """
    found = {}
    for cell in cells:
        name = _id(cell)
        better = name in found and _empty(found[name], by_id[name]) and not _empty(cell, by_id[name])
        if name in by_id and (name not in found or better):
            found[name] = cell
    taken = {id(cell) for cell in found.values()}
    for name in [name for name in by_id if name not in found]:
        same = _same(cells, by_id[name], by_id, whole, taken)
        found.update({name: same[0]} if same else {})
        taken.update(id(cell) for cell in same[:1])
    for name, original in by_id.items():
        if not original.metadata.nbgrader["solution"] or (name in found and not _empty(found[name], original)):
            continue
        free = [cell for cell in cells if id(cell) not in taken and not _empty(cell, original)]
        own = [cell for cell in free if cell.cell_type == "code" and name in bound_names(cell.source)]
        if not own and (original.cell_type == "markdown" or name not in found):
            own = _in_its_place(cells, original, found.get(name), whole, handed_out, taken)
        if own:
            found[name] = own[-1]
            taken.update(id(cell) for cell in own)
    return found


def _same(cells, original, by_id, whole, taken):
    """The cells with the text of a released one; where several were released with that text, those in its place."""
    same = [cell for cell in cells if id(cell) not in taken and _text(cell) == _text(original)]
    if sum(_text(other) == _text(original) for other in by_id.values()) == 1:
        return same
    before = _before(whole, _id(original))
    here = {id(cell) for previous, cell in pairwise(cells) if before and _text(previous) == _text(before)}
    return [cell for cell in same if id(cell) in here]


def _before(whole, name):
    """The cell that was given out before a released one; None where that is not known."""
    return next((cell for cell, after in pairwise(whole) if _id(after) == name), None)


def _in_its_place(cells, original, stub, whole, handed_out, taken):
    """The student's own cell beside the stub of an answer, or after the cell that stood before it; texts are joined."""
    before = _before(whole, _id(original))
    anchors = [stub] if stub is not None else [cell for cell in cells if before and _text(cell) == _text(before)]
    if not anchors:
        return []
    at = next(number for number, cell in enumerate(cells) if cell is anchors[0])

    def own(number):
        free = id(cells[number]) not in taken and cells[number].cell_type == original.cell_type
        return free and _text(cells[number]) not in handed_out

    first, last = at, at + 1
    while last < len(cells) and own(last):
        last += 1
    while stub is not None and first > 0 and own(first - 1):
        first -= 1
    found = [*cells[first:at], *cells[at + 1 : last]]
    if original.cell_type == "markdown" and found:
        found[0].source = "\n\n".join(cell.source for cell in found)
        for cell in found[1:]:
            cell.source = ""
    return found[:1]


def _as_released(cell, original):
    """The submitted cell with the released cell's metadata and, where it is locked, its text."""
    ours = original.metadata.nbgrader
    locked = ours["locked"] or (ours["grade"] and not ours["solution"])
    source = original.source if locked or not cell.source.strip() else cell.source
    made = new_code_cell(source) if original.cell_type == "code" else new_markdown_cell(source)
    made.metadata["nbgrader"] = dict(ours)
    return made


def _put_back(restored, by_id, whole):
    """Add the released cells that are missing, and the chapter's imports of what nothing binds before the first."""
    present = {_id(cell) for cell in restored}
    for name, original in by_id.items():
        if name not in present and not _checked(name, by_id):
            restored.insert(0 if name == "setup" else len(restored), _as_released(original, original))
    graded = (number for number, cell in enumerate(restored) if _id(cell) not in (None, "setup"))
    first = next(graded, len(restored))
    bound = {name for cell in restored[:first] if cell.cell_type == "code" for name in bound_names(cell.source)}
    lines = [line for cell in whole if DEMO in cell.metadata.get("tags", []) for line in import_lines(cell.source)]
    if missing := [line for line in dict.fromkeys(lines) if not bound_names(line) & bound]:
        restored.insert(0, new_code_cell("\n".join(missing), metadata={"tags": [DEMO]}))


def _checked(name, by_id):
    """The answer that a released cell checks; None for another cell."""
    answer = name.removeprefix(CHECK)
    return answer if answer != name and answer in by_id else None


def _check_after(restored, name, original, answer):
    """Move or put back a check: behind its answer, what the student added there, and the exercises that it calls."""
    ids = [_id(cell) for cell in restored]
    known = any(answer == each.name for chapter in chapters() for each in exercises(chapter))
    needed = [answer, *(each for used in (uses(answer) if known else ()) for each in (used, CHECK + used))]
    after = max(ids.index(each) for each in needed if each in ids)
    if name in ids and ids.index(name) > after:
        return
    if name in ids:
        restored.pop(ids.index(name))
        after -= 1
    end = next((number for number in range(after + 1, len(restored)) if _id(restored[number])), len(restored))
    restored.insert(end, _as_released(original, original))
