"""Compile a chapter, its reference and its exam into the notebook that a student opens: the same bytes on every run."""

import ast
import hashlib
from functools import cache

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.database import parse_file
from pybtex.richtext import Text

from autograder.exercise import imports_of
from autograder.exercises import ROOT, chapters, exercises, find, known_chapter, questions
from autograder.grading.needed import DEMO
from autograder.markdown import Plain, blocks

BOOK = ROOT / "book" / "en"
NOTEBOOKS = ROOT / "notebooks"
SETUP = "from autograder.check import check, hint"
WELCOME = """\
**How this notebook works.** Read, and run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, write
your answer in place of the line below it, run the cell, then run the check under it. The check says what is right or
what is wrong and why; run it as often as you like. Stuck? Write `hint(name)` in a cell of your own."""
SOLVED = """\
**This notebook is solved.** Each exercise holds the course's own answer, and each written question a model answer with
the rubric by which it is read. There are other right answers."""
ANSWER_HERE = "YOUR ANSWER HERE"
IN_THE_BOOK = "*(The book shows a figure here, drawn from a recorded run.)*"


def filename(chapter):
    """The notebook's file name, numbered by the book's table of contents."""
    return f"{chapters().index(known_chapter(chapter)) + 1:02d}_{chapter}.ipynb"


def compile_chapter(chapter, solved=False):
    """The notebook of a chapter: for a student, or solved, with the reference and the model answers in place.

    Raises ValueError where chapter, reference and exam do not fit together.
    """
    try:
        return _compile(known_chapter(chapter), solved)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"book/en/{chapter}.md: {error}") from error


def as_json(notebook):
    """The notebook's text, as it is written to a file."""
    return nbformat.writes(notebook) + "\n"


def write_notebooks():
    """Write every chapter's student notebook into notebooks/; returns the paths. Strays are removed."""
    NOTEBOOKS.mkdir(exist_ok=True)
    written = []
    for chapter in chapters():
        path = NOTEBOOKS / filename(chapter)
        text = as_json(compile_chapter(chapter))
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8", newline="\n")
        written.append(path)
    for stray in set(NOTEBOOKS.glob("*.ipynb")) - set(written):
        stray.unlink()
    return written


def _compile(chapter, solved):
    source = jupytext.read(BOOK / f"{chapter}.md", fmt="md:myst")
    plain = Plain(_citations(), _titles())
    cells, asked, answered = [], [], []
    for cell in source.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            cells += _markdown_cells(cell.source, plain, asked, chapter, solved)
        elif "exercise" in tags:
            exercise = _imported_exercise(cell.source, chapter)
            answered.append(exercise.name)
            cells += _exercise_cells(exercise, solved)
        elif "book-only" in tags:
            if not cells or cells[-1].source != IN_THE_BOOK:
                cells.append(new_markdown_cell(IN_THE_BOOK))
        elif cell.cell_type == "code":
            hidden = {"jupyter": {"source_hidden": True}} if "hide-input" in tags else {}
            cells.append(new_code_cell(cell.source, metadata={**hidden, "tags": [DEMO]}))
    _agree("exercises", [exercise.name for exercise in exercises(chapter)], answered)
    _agree("questions", [question.name for question in questions(chapter)], asked)
    _imports_are_there(chapter, cells)
    cells[1:1] = [new_markdown_cell(SOLVED if solved else WELCOME), _graded(new_code_cell(SETUP), "setup", locked=True)]
    for cell, name in zip(cells, _ids(cells), strict=True):
        cell.id = name
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return new_notebook(cells=cells, metadata=metadata)


def _markdown_cells(text, plain, asked, chapter, solved):
    cells, passage = [], []

    def flush():
        if passage:
            cells.append(new_markdown_cell("\n\n".join(passage)))
            passage.clear()

    for name, title, options, lines in blocks(text):
        if options.get("class") == "question":
            flush()
            asked.append(options.get("name", ""))
            cells += _question_cells(_question(chapter, options.get("name", "")), title, plain, lines, solved)
        elif converted := plain.block(name, title, options, lines):
            passage.append(converted)
    flush()
    return cells


def _question(chapter, name):
    for question in questions(chapter):
        if question.name == name:
            return question
    raise ValueError(f"the exam has no question {name!r}")


def _question_cells(question, title, plain, lines, solved):
    text = plain.passage("\n".join(lines))
    marks = f"{question.points:g} marks, read by a person"
    answer = f"**Model answer.** {question.answer}\n\n**Rubric.**\n\n{question.rubric}" if solved else ANSWER_HERE
    return [
        new_markdown_cell(f"### {plain.inline(title)} ({marks})\n\n{text}"),
        _graded(new_markdown_cell(answer), f"question-{question.name}", points=question.points, solution=True),
    ]


def _imported_exercise(source, chapter):
    tree = ast.parse(source)
    imported = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(imported, ast.ImportFrom) or len(imported.names) != 1:
        raise ValueError(f"an exercise cell holds one line `from solutions.{chapter} import NAME`, not {source!r}")
    if imported.module != f"solutions.{chapter}":
        raise ValueError(f"{source!r} imports from another chapter")
    try:
        return find(imported.names[0].name)
    except KeyError as error:
        raise ValueError(error.args[0]) from error


def _exercise_cells(exercise, solved):
    marks = f"{exercise.points:g} mark{'s' if exercise.points != 1 else ''}"
    source = exercise.answer_source if solved else exercise.stub
    check = f"check({exercise.name})  # stuck? hint({exercise.name})"
    return [
        new_markdown_cell(f"### Exercise: `{exercise.name}` ({marks})"),
        _graded(new_code_cell(source.rstrip("\n")), exercise.name, solution=True),
        _graded(new_code_cell(check), f"check-{exercise.name}", points=exercise.points, locked=True),
    ]


def _graded(cell, grade_id, points=None, solution=False, locked=False):
    """The cell with nbgrader's metadata."""
    cell.metadata["nbgrader"] = {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
        **({"points": points} if points is not None else {}),
    }
    if locked:
        cell.metadata["editable"] = False
    if locked or solution:
        cell.metadata["deletable"] = False
    return cell


def _agree(what, in_exam, in_chapter):
    if missing := [name for name in in_exam if name not in in_chapter]:
        raise ValueError(f"the {what} {', '.join(missing)} of the exam are missing in the chapter")
    if len(set(in_chapter)) < len(in_chapter):
        raise ValueError(f"one of the {what} comes twice: {', '.join(in_chapter)}")
    if in_exam != in_chapter:
        orders = f"{', '.join(in_chapter)}; in the exam: {', '.join(in_exam)}"
        raise ValueError(f"the {what} have another order than in the exam. In the chapter: {orders}")


def _imports_are_there(chapter, cells):
    """A stub must find every module that the reference imports."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code" and "nbgrader" not in cell.metadata)
    bound = _imported_names(code)
    wanted = _imported_names("\n".join(imports_of(exercises(chapter)[0].module)))
    if missing := sorted(wanted - bound):
        raise ValueError(f"the solution imports {', '.join(missing)}; a code cell of the chapter must import it too")


def _imported_names(code):
    lines = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith(("%", "!")))
    nodes = [node for node in ast.walk(ast.parse(lines)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {(alias.asname or alias.name).split(".")[0] for node in nodes for alias in node.names}


def _ids(cells):
    """Ids that stay when other cells change: the exercise's name, or a digest of the text."""
    seen = {}
    for cell in cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        name = cell.metadata.get("nbgrader", {}).get("grade_id", digest)
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


@cache
def _citations():
    """{key: (authors in short, year, the full reference)} from the book's bibliography."""
    return {key: _citation(entry) for key, entry in parse_file(str(ROOT / "book" / "references.bib")).entries.items()}


def _citation(entry):
    people = [" ".join([*person.prelast_names, *person.last_names]) for person in entry.persons["author"]]
    names = [_without_latex(name) for name in people]
    short = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
    fields = {key: _without_latex(value) for key, value in entry.fields.items()}
    places = [fields[key] for key in ("journal", "booktitle", "institution", "howpublished", "note") if key in fields]
    full = " ".join([f"{', '.join(names)} ({fields['year']}).", f"*{fields['title']}*.", *(f"{p}." for p in places)])
    return short, fields["year"], full


def _without_latex(text):
    return str(Text.from_latex(text))


@cache
def _titles():
    """{page: its first heading}."""
    titles = {}
    for page in sorted(BOOK.glob("*.md")):
        heading = next((line for line in page.read_text("utf-8").splitlines() if line.startswith("# ")), "")
        titles[page.stem] = heading.removeprefix("# ").strip()
    return titles
