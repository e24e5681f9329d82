"""The command `course`."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

app = typer.Typer(help="The Transformer course: its notebooks, classes and checks.", no_args_is_help=True)
console = Console()
COUNTED = (
    "cases",
    "mistakes",
    "mistakes_diagnosed",
    "alternatives",
    "alternatives_accepted",
    "mutants",
    "mutants_killed",
    "mutants_equivalent",
)
CLASS = Annotated[Path, typer.Option("--class", help="The class's folder, made by `course init`.")]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
SOLVED = Annotated[Path | None, typer.Option(help="Write solved, executed notebooks into this folder.")]
ONE_CHAPTER = Annotated[str | None, typer.Argument(help="One chapter; all of them if absent.")]
CHAPTER = Annotated[str, typer.Argument(help="A chapter's name; `course list` shows them.")]


@contextmanager
def plain_errors():
    """What a person did wrong is said in one line, not with a traceback."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        named = isinstance(error, OSError) and error.filename
        words = f"{error.filename}: {error.strerror}" if named else " ".join(str(error).split())
        Console(stderr=True).print(f"course: {words}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from error


@contextmanager
def progress(total, what):
    """A bar on the screen; in a log, one line for each step."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def step(done):
            bar.update(task, advance=1, description=f"{what}: {done}")
            if not bar.console.is_terminal:
                print(f"  {what}: {done}", file=sys.stderr, flush=True)

        yield step


@app.command("list")
def list_exercises(as_json: AS_JSON = False):
    """Show the chapters, their exercises and the marks."""
    from autograder.exercises import chapters, exercises, questions, uses

    rows = [
        {"chapter": chapter, "name": each.name, "points": each.points, "uses": list(uses(each.name))}
        for chapter in chapters()
        for each in exercises(chapter)
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("chapter", "exercise", "marks", "calls")
    for row in rows:
        table.add_row(row["chapter"], row["name"], f"{row['points']:g}", ", ".join(row["uses"]))
    for chapter in chapters():
        for question in questions(chapter):
            table.add_row(chapter, f"question: {question.name}", f"{question.points:g}", "")
    console.print(table)


@app.command()
def notebooks(solved: SOLVED = None):
    """Compile the student notebooks into notebooks/, or solved ones elsewhere."""
    from autograder.compile import write_notebooks
    from autograder.exercises import chapters
    from autograder.solved import write_solved

    with plain_errors():
        if solved is None:
            for path in write_notebooks():
                console.print(f"notebooks/{path.name}")
            return
        with progress(len(chapters()), "solved") as step:
            for chapter in chapters():
                step(write_solved(chapter, solved).name)
        console.print(f"Solved notebooks: {solved.resolve()}", soft_wrap=True)


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="Where the class shall live, outside the course.")]):
    """Make a class: an nbgrader course folder with its own submissions and gradebook."""
    from autograder.grading.classroom import make_class

    with plain_errors():
        made = make_class(folder)
    console.print(f"The class is {made}. Next: course release CHAPTER --class {folder}", soft_wrap=True)


@app.command()
def release(chapter: CHAPTER, folder: CLASS = Path()):
    """Release a chapter to a class: the notebook and all that its checks need."""
    from autograder.grading.classroom import Classroom

    with plain_errors():
        kit = Classroom(folder).release(chapter)
    console.print(f"Give your students this folder: {kit}", soft_wrap=True)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="A notebook (.ipynb) or a Python file with answers.")]):
    """Check the answers in a file, as its own `check` cells would."""
    from autograder.grading.check_file import check_file
    from autograder.report import as_text

    with plain_errors():
        verdicts = check_file(file)
    for verdict in verdicts:
        style = "green" if verdict.right else ""
        console.print(as_text(verdict), markup=False, highlight=False, soft_wrap=True, style=style)
        console.print()
    right = sum(verdict.right for verdict in verdicts)
    marks, points = (sum(getattr(each, what) for each in verdicts) for what in ("marks", "points"))
    console.print(f"{right} of {len(verdicts)} right, {marks:g} of {points:g} marks.")
    raise typer.Exit(0 if right == len(verdicts) else 1)


@app.command()
def grade(
    chapter: CHAPTER,
    folder: CLASS = Path(),
    again: Annotated[bool, typer.Option(help="Grade also those that are graded already.")] = False,
):
    """Autograde what a class handed in for a chapter, write the feedback pages, and show the marks."""
    from autograder.grading.classroom import Classroom

    with plain_errors():
        classroom = Classroom(folder)
        problems = grade_all(classroom, chapter, again)
        show_results(classroom, chapter)
    show_places(classroom)
    for student, problem in problems.items():
        Console(stderr=True).print(f"{student} could not be graded: {problem}", style="red", markup=False)
    raise typer.Exit(1 if problems else 0)


def grade_all(classroom, chapter, again):
    """Grade every submission; {student: what went wrong} for those that could not be graded."""
    from autograder.exercises import known_chapter

    students = classroom.students(known_chapter(chapter))
    if not students:
        raise ValueError(f"nobody has handed in {chapter}: {classroom.folder / 'submitted'} has no */{chapter}")
    problems = {}
    with progress(len(students), f"grading {chapter}") as step:
        for student in students:
            if problem := classroom.grade(chapter, student, again):
                problems[student] = problem
            else:
                classroom.give_feedback(chapter, student)
            step(student)
    return problems


def show_results(classroom, chapter):
    """The table of a class: a line a student, a numbered column an exercise."""
    from autograder.exercises import exercises

    every = exercises(chapter)
    table = Table(title=chapter, title_justify="left", caption=_legend(every), caption_justify="left")
    table.add_column("student", no_wrap=True)
    for number in range(1, len(every) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    table.add_column("total", justify="right", no_wrap=True)
    table.add_column("diagnosis", no_wrap=True, overflow="ellipsis")
    results = classroom.results(chapter)
    for result in results:
        marks = ["-" if marks is None else f"{marks:g}" for marks in result.marks.values()]
        table.add_row(result.student, *marks, f"{result.total:g}", result.diagnosis)
    # In a log there is no edge to fit in: each diagnosis stays one whole line.
    (console if console.is_terminal else Console(width=400)).print(table)
    if waiting := sum(len(result.to_read) for result in results):
        console.print(f"{waiting} written answers wait to be read in formgrader.")


def _legend(every):
    return ", ".join(f"{number} {each.name} ({each.points:g})" for number, each in enumerate(every, start=1))


def show_places(classroom):
    console.print(f"feedback:  {classroom.folder / 'feedback'}", soft_wrap=True)
    console.print(f"gradebook: {classroom.folder / 'gradebook.db'}", soft_wrap=True)


@app.command()
def example(folder: Annotated[Path, typer.Argument(help="A class's folder; made if absent.")]):
    """Show the whole loop on an example class that makes the mistakes that students make."""
    from autograder.exercises import chapters
    from autograder.grading.classroom import Classroom, make_class
    from autograder.grading.example_class import hand_in

    with plain_errors():
        classroom = Classroom(make_class(folder))
        for chapter in chapters():
            changed = hand_in(classroom, chapter)
            problems = grade_all(classroom, chapter, again=changed)
            show_results(classroom, chapter)
            if problems:
                raise RuntimeError(f"these could not be graded: {problems}")
    show_places(classroom)


@app.command()
def verify(chapter: ONE_CHAPTER = None, as_json: AS_JSON = False):
    """Hold every exercise to its invariants: reference, stub, mistakes, other right answers, mutants."""
    from autograder.exercises import chapters, exercises, known_chapter
    from autograder.verify import examine

    with plain_errors():
        every = [each for name in ([known_chapter(chapter)] if chapter else chapters()) for each in exercises(name)]
    reports = []
    with progress(len(every), "verify") as step:
        for exercise in every:
            reports.append(examine(exercise))
            step(exercise.name)
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], indent=2))
    else:
        _show_reports(reports)
    raise typer.Exit(0 if all(report.ok for report in reports) else 1)


def _show_reports(reports):
    table = Table()
    for heading in ("exercise", "cases", "mistakes", "others", "mutants", ""):
        table.add_column(heading, no_wrap=True)
    for report in reports:
        table.add_row(
            report.name,
            str(report.cases),
            f"{report.mistakes_diagnosed}/{report.mistakes}",
            f"{report.alternatives_accepted}/{report.alternatives}",
            f"{report.mutants_killed}+{report.mutants_equivalent}/{report.mutants}",
            "ok" if report.ok else "FAULT",
        )
    console.print(table)
    total = {name: sum(report.as_dict()[name] for report in reports) for name in COUNTED}
    console.print(
        f"{len(reports)} exercises, {total['cases']} cases. "
        f"Mistakes diagnosed: {total['mistakes_diagnosed']} of {total['mistakes']}. "
        f"Alternatives accepted: {total['alternatives_accepted']} of {total['alternatives']}. "
        f"Mutants killed: {total['mutants_killed']}, equivalent: {total['mutants_equivalent']}, of {total['mutants']}."
    )
    for report in reports:
        for fault in report.faults:
            console.print(f"{report.name}: {fault}", style="red", markup=False)
