"""An example class: ten students who do what students do, so that an instructor sees the whole loop first."""

import hashlib
import inspect
import shutil

import nbformat

from autograder.alternatives import alternatives
from autograder.compile import filename
from autograder.exercises import ROOT, exercises, uses

SYNTAX_ERROR = "def {name}(:\n    return"
ENDLESS_LOOP = "def {name}(*arguments, **more):\n    while True:\n        pass"
DEADLY = "import os\n\n\ndef {name}(*arguments, **more):\n    os._exit(1)"
CHATTY = """

import warnings as _warnings

_quiet_{name} = {name}


def {name}(*arguments, **more):
    print("now in {name}")
    _warnings.warn("a warning that costs nothing")
    return _quiet_{name}(*arguments, **more)
"""


def answers_of(chapter):
    """{student: {exercise: source}}: what each student writes; what is absent stays the stub."""
    every = exercises(chapter)
    right = {each.name: each.answer_source for each in every}
    often = max(every, key=lambda each: sum(each.name in uses(other.name) for other in every))
    middle, last = every[len(every) // 2], every[-1]
    return {
        "ada-all-right": right,
        "ben-in-other-ways": {each.name: _another_way(each) for each in every},
        "chen-one-mistake": right | {often.name: _mistaken(often, 1)},
        "dora-another-mistake": right | {last.name: _mistaken(last, 1, start=1)},
        "emil-two-at-once": right | {middle.name: _mistaken(middle, 2)},
        "fay-half-done": dict(list(right.items())[: len(right) // 2]),
        "gus-untouched": {},
        "hana-syntax-error": right | {middle.name: SYNTAX_ERROR.format(name=middle.name)},
        "igor-endless-loop": right | {often.name: ENDLESS_LOOP.format(name=often.name)},
        "june-kernel-dies": right | {middle.name: DEADLY.format(name=middle.name)},
    }


def _another_way(exercise):
    """A right answer that is not the reference; a function prints and warns besides."""
    answer = next(iter(alternatives(exercise).values()))
    source = inspect.getsource(answer)
    source = source[source.index("\ndef " if inspect.isfunction(answer) else "\nclass ") + 1 :]
    renamed = source.replace(answer.__name__, exercise.name)
    return renamed + (CHATTY.format(name=exercise.name) if inspect.isfunction(answer) else "")


def _mistaken(exercise, count, start=0):
    """The reference with `count` of its known mistakes, of which each can be made beside the others."""
    made = []
    for mistake in exercise.mistakes[start:]:
        try:
            compile(exercise.source_with([*made, mistake]), "<answer>", "exec")
        except (ValueError, SyntaxError):
            continue
        made.append(mistake)
        if len(made) == count:
            break
    return exercise.source_with(made)


def hand_in(classroom, chapter):
    """Release a chapter and hand in every student's notebook. Returns whether anything is new since the last time."""
    mark, digest = classroom.folder / f".{chapter}", _digest()
    if mark.exists() and mark.read_text() == digest:
        return False
    kit = classroom.release(chapter)
    for student, answers in answers_of(chapter).items():
        folder = classroom.folder / "submitted" / student / chapter
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        notebook = nbformat.read(kit / filename(chapter), 4)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in answers:
                cell.source = answers[name]
        nbformat.write(notebook, folder / filename(chapter))
    mark.write_text(digest)
    return True


def _digest():
    """Of everything that the example class's marks depend on."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("autograder/**/*.py"), *ROOT.glob("solutions/**/*.py"), *ROOT.glob("book/en/*.md")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
