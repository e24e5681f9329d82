"""Read what a student handed in, whatever became of the file on its way.

Files arrive with a byte order mark, in latin-1, cut off, in an old format, as a link or under another name. None of
that may cost more than what is really missing, and none of it may stop a class.
"""

import json
import os
from pathlib import Path

from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.converters import base
from nbgrader.coursedir import CourseDirectory
from rapidfuzz import fuzz

from autograder.grading.needed import DEMO
from autograder.grading.outputs import printable

MOST_BYTES = 50 << 20
UNREADABLE = "**The file that was handed in could not be read: {problem}.** What could be graded without it follows."
CUT_OFF = "**The file that was handed in is damaged.** What could be read of it follows."
MOST_FRAGMENTS = 2000  # of a damaged file that are tried
OF_THE_KIT = ("autograder", "solutions")  # folders that come from the course alone
_find_all_files, _get_existing_timestamp = base.find_all_files, CourseDirectory.get_existing_timestamp
_received = set()  # the folders of submissions
_adopted = {}  # {the path of a missing notebook: that of the one that is graded in its place}


class ForgivingExporter(NotebookExporter):
    """Reads whatever a student handed in; see `read_notebook`."""

    def from_filename(self, filename, resources=None, **kw):
        folder, name = os.path.split(filename)
        resources = resources or {}
        resources["metadata"] = {"name": os.path.splitext(name)[0], "path": folder}
        path = _adopted.get(os.path.abspath(filename), filename)
        return self.from_notebook_node(read_notebook(path), resources=resources, **kw)


def receive(assignment, student, notebooks):
    """A hook before grading: a notebook under another name is graded as the one that is missing.

    notebooks: the paths in one submission's folder; the name of what is adopted is added to the list
    """
    folder = Path(notebooks[0]).parent
    _received.add(os.path.abspath(folder))
    expected = {path.name for path in Path("source", folder.name).glob("*.ipynb")}
    strangers = [path for path in map(Path, notebooks) if path.name not in expected]
    for name in sorted(expected - {Path(path).name for path in notebooks}):
        if strangers:
            best = max(strangers, key=lambda path: fuzz.ratio(path.name, name))
            strangers.remove(best)
            _adopted[os.path.abspath(folder / name)] = best
            notebooks.append(str(folder / name))


def files_to_copy(path, exclude=None):
    """The files that nbgrader copies along with a notebook: of a submission, neither links nor pipes nor a kit.

    A link may lead to another's work or to the reference, and a pipe has no end.
    """
    names = _find_all_files(path, exclude)
    if os.path.abspath(path) not in _received:
        return names
    own = [name for name in names if os.path.relpath(name, path).split(os.sep)[0] not in OF_THE_KIT]
    return [name for name in own if os.path.isfile(name) and not os.path.islink(name)]


def timestamp_or_none(course, folder):
    """When a submission was handed in; None where its timestamp.txt holds no time, which must not stop a class."""
    try:
        return _get_existing_timestamp(course, folder)
    except (Exception, SystemExit):
        course.log.warning("There is no time in %s", os.path.join(folder, "timestamp.txt"))
        return None


def read_notebook(path):
    """A notebook with the cells of a submitted file: their kind, text and nbgrader metadata, and nothing else.

    Never raises for what a student sent: a file that cannot be read gives one cell that says why.
    """
    try:
        text = _text(Path(path))
    except OSError:
        return new_notebook(cells=[new_markdown_cell(UNREADABLE.format(problem="it could not be opened"))])
    except ValueError as error:
        return new_notebook(cells=[new_markdown_cell(UNREADABLE.format(problem=error))])
    cells, spec = _whole(text)
    if cells is None:
        first = CUT_OFF if (rest := _cells_that_are_whole(text)) else UNREADABLE.format(problem="it is no notebook")
        cells = [{"cell_type": "markdown", "source": first}, *rest]
    return new_notebook(cells=[_clean(cell) for cell in cells if isinstance(cell, dict)], metadata=spec)


def _text(path):
    if path.is_symlink():
        raise ValueError("it is a link, not a file")
    if not path.is_file():
        raise ValueError("it is not a file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MB")
    data = path.read_bytes()
    for encoding in (json.detect_encoding(data), "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError("every byte is a character of latin-1")


def _whole(text):
    """The cells of a file that is whole, of the present format or an older one, and its kernel; else None and {}."""
    try:
        raw = json.loads(text)
        cells = raw["cells"] if "cells" in raw else [cell for sheet in raw["worksheets"] for cell in sheet["cells"]]
        if not isinstance(cells, list):
            return None, {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, {}
    metadata = raw.get("metadata")
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    return cells, {"kernelspec": spec} if isinstance(spec, dict) else {}


def _cells_that_are_whole(text):
    """The cells that a damaged file still has from end to end."""
    decoder, cells, failed = json.JSONDecoder(), [], 0
    at = text.find("{", text.find('"cells"') + 1)
    while at >= 0 and failed < MOST_FRAGMENTS:
        try:
            cell, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end, failed = at + 1, failed + 1
        else:
            cells += [cell] if "cell_type" in cell and ("source" in cell or "input" in cell) else []
        at = text.find("{", end)
    return cells


def _clean(cell):
    source = cell.get("source", cell.get("input")) or ""
    source = printable("".join(map(str, source)) if isinstance(source, list) else source)
    made = new_code_cell(source) if cell.get("cell_type") == "code" else new_markdown_cell(source)
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    ours, tags = metadata.get("nbgrader"), metadata.get("tags")
    if isinstance(ours, dict) and isinstance(ours.get("grade_id"), str):
        made.metadata["nbgrader"] = ours
    elif isinstance(tags, list) and DEMO in tags:
        made.metadata["tags"] = [DEMO]
    return made
