"""Chapter, reference and exam become a notebook, the same bytes on every run, or it is told where they do not fit."""

import ast
import re
import shutil

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator
from test_kit import answers_of, without_spaces
from typer.testing import CliRunner

from autograder import compile as compiler
from autograder.cli import app
from autograder.compile import NOTEBOOKS, as_json, compile_chapter, filename, write_notebooks
from autograder.exercises import chapters, exercises, questions
from autograder.solved import write_solved

NUMPY = "attention_weights"


@pytest.fixture(params=chapters())
def chapter(request):
    return request.param


def code_cell(code, tags=""):
    return f"```{{code-cell}} ipython3\n{f':tags: [{tags}]' if tags else ''}\n{code}\n```\n"


def exercise_cell(name, chapter=NUMPY):
    return code_cell(f"from solutions.{chapter} import {name}", "exercise")


def question(name):
    return f":::{{admonition}} Question: {name}\n:class: question\n:name: {name}\nWhy?\n:::\n"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A copy of the chapters, in which one is cut down to its exercises and questions; a test may spoil it."""
    shutil.copytree(compiler.BOOK, tmp_path / "en")
    head = (compiler.BOOK / f"{NUMPY}.md").read_text("utf-8").partition("\n# ")[0]
    imports = "import math\n\nimport numpy as np"
    parts = ["# Attention weights\n", code_cell(imports), *(exercise_cell(each.name) for each in exercises(NUMPY))]
    parts += [question(each.name) for each in questions(NUMPY)]
    parts += [
        "## Summary\n",
        "The end, {cite:t}`bahdanau2015`.\n",
        "```{bibliography}\n:filter: docname in docnames\n```\n",
    ]
    (tmp_path / "en" / f"{NUMPY}.md").write_text("\n".join([head, *parts]), "utf-8")
    monkeypatch.setattr(compiler, "BOOK", tmp_path / "en")
    return tmp_path / "en"


def changed(book, old, new):
    """Replace a passage of the chapter, which must be there."""
    path = book / f"{NUMPY}.md"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def text_of(notebook, *kinds):
    return "\n\n".join(cell.source for cell in notebook.cells if not kinds or cell.cell_type in kinds)


def test_the_committed_notebook_is_up_to_date(chapter):
    committed = (NOTEBOOKS / filename(chapter)).read_text("utf-8")
    assert committed == as_json(compile_chapter(chapter)), "run make notebooks"


def test_it_comes_out_the_same_on_every_run(chapter):
    assert as_json(compile_chapter(chapter)) == as_json(compile_chapter(chapter))


def test_notebooks_are_numbered_by_the_book_and_strays_go(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "NOTEBOOKS", tmp_path)
    (tmp_path / "07_gone.ipynb").write_text("{}")
    written = write_notebooks()
    assert [path.name for path in written] == [f"{n:02d}_{name}.ipynb" for n, name in enumerate(chapters(), start=1)]
    assert sorted(tmp_path.iterdir()) == written
    before = [path.stat().st_mtime_ns for path in written]
    assert [path.stat().st_mtime_ns for path in write_notebooks()] == before  # what is up to date is left alone


def test_it_is_a_valid_notebook_without_outputs(chapter):
    notebook = compile_chapter(chapter)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert not [cell for cell in notebook.cells if not cell.source.strip()]


def test_nbgrader_finds_every_exercise_and_question(chapter):
    cells = [cell for cell in compile_chapter(chapter).cells if "nbgrader" in cell.metadata]
    graded = {cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader for cell in cells}
    assert len(graded) == len(cells)
    for exercise in exercises(chapter):
        answer, check = graded[exercise.name], graded[f"check-{exercise.name}"]
        assert (answer.solution, answer.grade, answer.locked) == (True, False, False)
        assert (check.solution, check.grade, check.locked, check.points) == (False, True, True, exercise.points)
    for question in questions(chapter):
        own = graded[f"question-{question.name}"]
        assert (own.solution, own.grade, own.points) == (True, True, question.points)


def test_an_exercise_is_its_stub_and_a_check(chapter):
    cells = {cell.id: cell.source for cell in compile_chapter(chapter).cells}
    for exercise in exercises(chapter):
        assert cells[exercise.name] == exercise.stub.rstrip("\n")
        assert cells[f"check-{exercise.name}"].startswith(f"check({exercise.name})")
    assert not re.search(r"from solutions\.\w+ import", "\n".join(cells.values()))


def test_no_answer_stands_in_it(chapter):
    notebook = compile_chapter(chapter)
    text = without_spaces(text_of(notebook))
    assert not [code for code in answers_of(chapter) if code in text]
    for question in questions(chapter):
        assert without_spaces(question.answer)[:60] not in text and without_spaces(question.rubric)[:60] not in text


def test_its_text_is_plain_markdown(chapter):
    text = text_of(compile_chapter(chapter), "markdown")
    assert not re.search(r":::|^`{3,}\{|\{[\w:]+\}`|^\(\S+\)=|^\+\+\+", text, re.MULTILINE)
    assert not re.search(r"\\['\"`^]|\{\\", re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.DOTALL)), (
        "LaTeX outside of maths"
    )
    assert text.count("$$") % 2 == 0
    for cited in ("Bahdanau et al. (2015)", "Vaswani et al. (2017)"):
        assert cited in text
    references = text.split("**References**")[1]
    assert re.search(
        r"^- Bahdanau, Cho, Bengio \(2015\)\. \*Neural Machine Translation by .*\*\.", references, re.MULTILINE
    )
    prose = text.split("**References**")[0]
    years = set(re.findall(r"[A-Z]\w+(?: et al\.| and \w+)? \((\d{4})\)", prose))
    assert years <= set(re.findall(r"\((\d{4})\)", references))


def test_where_the_book_draws_a_recorded_run_the_notebook_says_so(book):
    drawn = code_cell("import json\nprint(json.loads('1'))", "book-only, hide-input")
    changed(book, "## Summary\n", f"{drawn}\n{drawn}\nSome words.\n\n{drawn}\n## Summary\n")
    notebook = compile_chapter(NUMPY)
    assert text_of(notebook, "markdown").count("The book shows a figure here") == 2
    assert "json" not in text_of(notebook, "code")


def test_code_that_only_draws_is_folded(book):
    changed(book, "## Summary\n", f"{code_cell('plot = 1', 'hide-input')}\n{code_cell('shown = 1')}\n## Summary\n")
    folded = {cell.source: cell.metadata.get("jupyter", {}) for cell in compile_chapter(NUMPY).cells}
    assert folded["plot = 1"] == {"source_hidden": True} and folded["shown = 1"] == {}


def test_ids_stay_when_another_paragraph_changes(book):
    before = compile_chapter(NUMPY)
    changed(book, "The end,", "It ends,")
    after = compile_chapter(NUMPY)
    different = [(one.id, other.id) for one, other in zip(before.cells, after.cells, strict=True) if one.id != other.id]
    assert different == [(before.cells[-1].id, after.cells[-1].id)]


def test_code_in_the_text_is_copied_as_it_is(book):
    code = "```python\n![not a picture](x.png) {cite:t}`nobody`\n:::{note}\n```"
    rich = ":::{tip}\nSee {cite:p}`elman1990` and {doc}`self_attention`.\n:::\n\n![A boat](../_static/boat.svg)\n"
    changed(book, "## Summary\n", f"## Summary\n\n{code}\n\n{rich}")
    text = text_of(compile_chapter(NUMPY), "markdown")
    assert code in text
    assert "> **Tip**\n>\n> See (Elman, 1990) and *Self-attention*." in text
    assert "*(In the book: A boat.)*" in text


UNFIT = {
    "an unknown directive": (
        *("## Summary\n", ":::{figure} x.svg\nA caption.\n:::\n\n## Summary\n"),
        "cannot use the directive 'figure': it has no plain form",
    ),
    "an unknown directive within another": (
        *("## Summary\n", "::::{note}\n:::{grid} 2\nx\n:::\n::::\n\n## Summary\n"),
        "cannot use the directive 'grid'",
    ),
    "a directive in a list": (
        "## Summary\n",
        "- a\n\n  :::{note}\n  x\n  :::\n\n## Summary\n",
        "cannot use ':::{note}'",
    ),
    "a label": ("## Summary\n", "(a-label)=\n## Summary\n", r"cannot use '(a-label)='"),
    "an unknown role": ("## Summary\n", "See {numref}`x`.\n\n## Summary\n", "cannot use the role 'numref'"),
    "an unclosed fence": ("## Summary\n", ":::{note}\nNever closed.\n\n## Summary\n", "':::{note}' is never closed"),
    "unclosed code": ("## Summary\n", "- a\n\n````\nx\n```\n\n## Summary\n", "'````' is never closed"),
    "an unknown citation": ("{cite:t}`bahdanau2015`", "{cite:t}`nobody1900`", "no reference has the key 'nobody1900'"),
    "an unknown page": ("## Summary\n", "See {doc}`nowhere`.\n\n## Summary\n", "no page is called 'nowhere'"),
    "an exercise that the exam lacks": (
        *("## Summary\n", exercise_cell("hard_attention") + "\n## Summary\n"),
        "there is no exercise 'hard_attention'; there are: dot_scores, ",
    ),
    "an exercise that the chapter lacks": (
        *(exercise_cell("scaled_dot_scores"), ""),
        "the exercises scaled_dot_scores of the exam are missing in the chapter",
    ),
    "an exercise that comes twice": (
        *("## Summary\n", exercise_cell("dot_scores") + "\n## Summary\n"),
        "one of the exercises comes twice",
    ),
    "an exercise of another chapter": (
        *(exercise_cell("dot_scores"), exercise_cell("causal_mask", "self_attention")),
        "'from solutions.self_attention import causal_mask' imports from another chapter",
    ),
    "an exercise cell with more": (
        *("import dot_scores\n", "import dot_scores\nprint(1)\n"),
        "an exercise cell holds one line `from solutions.attention_weights import NAME`",
    ),
    "code that is no Python": ("import numpy as np\n", "import numpy as\n", "invalid syntax"),
    "an import that is missing": (
        "import numpy as np\n",
        "",
        "the solution imports np; a code cell of the chapter must",
    ),
    "a question that the exam lacks": (
        *(":name: linear_score_blind", ":name: linear_score_deaf"),
        "the exam has no question 'linear_score_deaf'",
    ),
    "a question without a name": (":name: linear_score_blind\n", "", "the exam has no question ''"),
}


@pytest.mark.parametrize("label", UNFIT)
def test_what_does_not_fit_is_told_in_a_sentence(book, label):
    old, new, sentence = UNFIT[label]
    changed(book, old, new)
    with pytest.raises(ValueError, match=re.escape(sentence)) as told:
        compile_chapter(NUMPY)
    assert str(told.value).startswith("book/en/attention_weights.md: ")


def test_another_order_than_the_exams_is_told(book):
    first, second = exercise_cell("dot_scores"), exercise_cell("scaled_dot_scores")
    changed(book, first, "HERE\n")
    changed(book, second, first)
    changed(book, "HERE\n", second)
    with pytest.raises(
        ValueError, match=r"another order than in the exam. In the chapter: scaled_dot_scores, dot_scores"
    ):
        compile_chapter(NUMPY)


def test_a_whole_chapter_compiles_before_it_is_spoilt(book):
    assert len(compile_chapter(NUMPY).cells) > 2 * len(exercises(NUMPY))


def test_a_question_of_the_exam_must_stand_in_the_chapter(book):
    changed(book, question("linear_score_blind"), "")
    with pytest.raises(ValueError, match="the questions linear_score_blind of the exam are missing in the chapter"):
        compile_chapter(NUMPY)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The folder that `course notebooks --solved` made."""
    folder = tmp_path_factory.mktemp("after") / "the" / "deadline"
    done = CliRunner().invoke(app, ["notebooks", "--solved", str(folder)])
    assert done.exit_code == 0 and f"Solved notebooks: {folder}" in done.stdout.replace("\n", "")
    return folder


def test_a_solved_notebook_holds_every_answer_and_runs(chapter, solved):
    path = solved / filename(chapter)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = {cell.id: cell for cell in notebook.cells}
    for exercise in exercises(chapter):
        assert ast.dump(ast.parse(cells[exercise.name].source)) == ast.dump(ast.parse(exercise.answer_source))
        [result] = [each for each in cells[f"check-{exercise.name}"].outputs if each.output_type == "execute_result"]
        assert float(result.data["text/plain"]) == exercise.points
    for question in questions(chapter):
        answer = cells[f"question-{question.name}"].source
        assert question.answer in answer and question.rubric in answer
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert "This notebook is solved" in text_of(notebook) and "YOUR" not in text_of(notebook)


def test_solved_notebooks_never_replace_the_students():
    with pytest.raises(ValueError, match="holds the student notebooks"):
        write_solved(NUMPY, NOTEBOOKS)
