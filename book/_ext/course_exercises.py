"""Sphinx extension of the book: exercise boxes that hold no answer.

In a chapter an exercise is a cell tagged `exercise` that imports one function from the reference. The reader sees its
stub, the page runs the import: neither the page nor any other file of the built site holds the answer.
"""

import hashlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

CELL = re.compile(r"(?ms)^(?P<fence>`{3,})\{code-cell\}[^\n]*\n(?P<cell>.*?)^(?P=fence)[ \t]*$")
TAGGED = re.compile(r"(?m)^:?tags:.*\bexercise\b")
OPTION = (":", "tags:", "---")
IMPORT = re.compile(r"from solutions\.\w+ import (\w+)")

EXERCISE_BOX = """\
::::{{admonition}} Exercise: `{name}` {{exercise-points}}`{points}`
:class: exercise
:name: exercise-{name}

```{{code-block}} python
{stub}
```
::::
"""
IMPORT_CELL = """
```{{code-cell}} ipython3
:tags: [exercise, remove-cell]

# {fingerprint}
{line}
```
"""
ANSWER = """
:::{{dropdown}} One way to write it
:class-container: answer

```{{code-block}} python
{answer}
```
:::
"""


def box_exercises(app, docname, source):
    """Turn every exercise cell into its box, the hidden import and, where the book is built so, the folded answer."""
    if not any(TAGGED.search(match["cell"]) for match in CELL.finditer(source[0])):
        return
    from autograder.exercises import find  # here, so that a build that reads no chapter does not load torch

    fingerprint = fingerprint_of_inputs(app)

    def box(match):
        if not TAGGED.search(match["cell"]):
            return match[0]
        code = [line for line in match["cell"].splitlines() if line.strip() and not line.startswith(OPTION)]
        found = IMPORT.fullmatch(code[0]) if len(code) == 1 else None
        if not found:
            logger.warning("an exercise cell holds 'from solutions.X import f' alone, not %r", code, location=docname)
            return match[0]
        try:
            exercise = find(found[1])
        except KeyError as unknown:
            logger.warning("%s", unknown.args[0], location=docname)
            return match[0]
        app.env.note_dependency(inspect.getfile(type(exercise)))
        text = EXERCISE_BOX.format(name=found[1], points=exercise.points, stub=exercise.stub.strip("\n"))
        text += IMPORT_CELL.format(fingerprint=fingerprint, line=code[0])
        if app.config.show_answers:
            text += ANSWER.format(answer=exercise.answer_source.strip("\n"))
        return text

    source[0] = CELL.sub(box, source[0])


def fingerprint_of_inputs(app):
    """Name the state of all that a chapter runs on: the cache of executed chapters compares nothing but their cells."""
    import solutions

    inputs = sorted(Path(solutions.__file__).parent.rglob("*.py")) + sorted(Path(app.srcdir, "runs").glob("*.json"))
    for path in inputs:
        app.env.note_dependency(str(path))
    return hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]


def points_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Write the points of an exercise, and keep the number for the sum under the chapter's title."""
    words = "1 point" if text == "1" else f"{text} points"
    return [nodes.inline(rawtext, words, classes=["points"], points=int(text))], []


def setup(app):
    """Register the boxes and the switch for the answers."""
    app.add_config_value("show_answers", False, "env", [bool])
    app.add_role("exercise-points", points_role)
    app.connect("source-read", box_exercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
