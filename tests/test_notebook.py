"""The student's door: a compiled notebook, run cell by cell, in a clone of the course and in a class's kit."""

import re

import pytest
from cells import executed, install_student_python, kernel_of, says
from test_kit import kit_of

from autograder.compile import NOTEBOOKS, filename
from autograder.exercises import chapters, exercises, find, uses
from autograder.key import PUBLIC_SEED, key_of

EVERY = [exercise.name for chapter in chapters() for exercise in exercises(chapter)]
NUMPY, TORCH = "attention_weights", "self_attention"


@pytest.fixture(scope="module", autouse=True)
def student_python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    install_student_python(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        yield


@pytest.fixture(scope="module")
def numpy_kernel(tmp_path_factory):
    yield from kernel_of(
        kit_of(tmp_path_factory, NUMPY), "import numpy as np\nfrom autograder.check import check, hint"
    )


@pytest.fixture(scope="module")
def torch_kernel(tmp_path_factory):
    setup = "import math, torch\nfrom torch import nn\nfrom autograder.check import check, hint"
    yield from kernel_of(kit_of(tmp_path_factory, TORCH), setup)


@pytest.fixture
def cell(numpy_kernel):
    """Run a cell in the first chapter's kit; what earlier tests defined is gone."""
    numpy_kernel(f"for _name in {EVERY}:\n    globals().pop(_name, None)")
    return numpy_kernel


@pytest.fixture
def torch_cell(torch_kernel):
    torch_kernel(f"for _name in {EVERY}:\n    globals().pop(_name, None)")
    return torch_kernel


def checked(run, answer, name):
    """Define an answer, check it, and make sure that nothing of ours fell over."""
    assert not run(answer).errors
    shown = run(f"check({name})")
    assert not shown.errors and "Traceback" not in shown.text
    return shown


def test_a_kit_stands_alone(cell):
    lines = "import autograder, sys\nprint(autograder.__file__)\n'torch' in sys.modules"
    assert cell("import solutions.attention_weights").errors[0]["ename"] == "ModuleNotFoundError"
    assert cell("import autograder.exercises").errors[0]["ename"] == "ModuleNotFoundError"
    checked(cell, find("dot_scores").answer_source, "dot_scores")
    assert cell(lines).results == ["False"]  # a chapter without torch does not wait for it


def test_a_right_answer_is_green_and_lists_what_was_tried(cell):
    shown = checked(cell, find("softmax").answer_source, "softmax")
    assert shown.marks == find("softmax").points
    assert says(shown, "3 of 3 marks") and "✓ softmax is right" in shown.words
    for case in key_of(find("softmax"), PUBLIC_SEED).shows:
        assert says(shown, case)
    assert "✗" not in shown.words and not shown.page("table")


def test_a_known_mistake_is_named_and_shown(cell):
    exercise = find("softmax")
    [mistake] = [each for each in exercise.mistakes if each.hint.startswith("The sum runs over the whole array")]
    shown = checked(cell, exercise.source_with([mistake]), "softmax")
    assert "✗ softmax is not right yet" in shown.words
    assert says(shown, mistake.hint)
    assert says(shown, "softmax(scores: float64 (3, 5))")
    largest = r"The largest difference in the output is [\d.]+ at \[\d, \d\]: [\d.]+ was wanted, [\d.]+ came\."
    assert re.search(largest, shown.text) and re.search(largest, shown.words)
    wanted, yours = shown.page("table")
    assert [len(row("td")) for row in wanted("tr")] == [len(row("td")) for row in yours("tr")] == [5, 5, 5]
    assert all("background:rgba(" in entry["style"] for entry in wanted("td"))
    assert "outline" in str(yours) and "outline" not in str(wanted)
    assert "the output, wanted:" in shown.text and "the output, yours:" in shown.text
    assert says(shown, "a single row of scores")  # a case that this mistake passes


def test_marks_are_in_proportion_to_the_cases(cell):
    overflows = "e = np.exp(scores)\n    return e / e.sum(axis, keepdims=True)"
    shown = checked(cell, DEFINE + overflows, "softmax")
    assert shown.marks == 2.33  # seven of nine cases, three marks, rounded down
    assert says(shown, "2.33 of 3 marks") and says(shown, "Large scores overflow")


def test_two_mistakes_at_once_give_both_hints(cell):
    exercise = find("linear_scores")
    both = [exercise.mistakes[0], exercise.mistakes[2]]
    shown = checked(cell, exercise.source_with(both), "linear_scores")
    assert says(shown, f"{both[0].hint} {both[1].hint}")


DEFINE = "def softmax(scores, axis=-1):\n    "
RIGHT = "e = np.exp(scores - scores.max(axis, keepdims=True))\n    w = e / e.sum(axis, keepdims=True)\n    "
WRONG = {
    "no return": (DEFINE + RIGHT + "w", "The output is None: is there a `return`?"),
    "nan": (DEFINE + RIGHT + "return w * np.nan", r"The output is NaN at \[0, 0\], where 0\.\d+ was wanted\."),
    "list": (DEFINE + RIGHT + "return w.tolist()", r"The output is a list; a numpy array was wanted\."),
    "shape": (DEFINE + RIGHT + "return w.sum(axis)", r"The output has shape \(3,\); \(3, 5\) was wanted\."),
    "dtype": (DEFINE + RIGHT + "return w.astype(np.int64)", "The output is int64: float64 was wanted."),
    "complex": (DEFINE + RIGHT + "return w + 0j", "The output is complex128: float64 was wanted."),
    "precision": (
        DEFINE + RIGHT + "return w.astype(np.float32)",
        "The output is float32: precision was lost, since float64 came in.",
    ),
    "changed input": (
        DEFINE + "scores -= scores.max(axis, keepdims=True)\n    " + RIGHT + "return w",
        "It changed `scores`, which belongs to the caller: work on a copy.",
    ),
    "raises": (
        DEFINE + "return scores / (1 // 0)",
        r"`softmax` raised ZeroDivisionError: .*by zero, in line 2: return scores / \(1 // 0\)\.",
    ),
    "raises one call deeper": (
        "def helper(x):\n    return x['<b>']\n\n\n" + DEFINE + "return helper({})",
        r"`softmax` raised KeyError: '<b>', in line 2: return x\['<b>'\]\.",
    ),
    "leaves": (DEFINE + "raise SystemExit", "`softmax` raised SystemExit, in line 2: raise SystemExit."),
    "misses an argument": (
        "def softmax(scores):\n    axis = -1\n    " + RIGHT + "return w",
        r"`softmax` raised TypeError: .*takes 1 positional argument",
    ),
    "unwritten": (find("softmax").stub, "`softmax` is not written yet."),
    "no function": ("softmax = 7", "`softmax` raised TypeError: it is an object of type int, not a function."),
    "an object that can be called": (
        "class Double:\n    def __call__(self, scores, axis=-1):\n        return 2 * scores\n\n\nsoftmax = Double()",
        "The largest difference in the output is",
    ),
    "unlike anything": (DEFINE + RIGHT + "return 1.3 * w - 0.1", "The largest difference in the output is"),
}


@pytest.mark.parametrize("label", WRONG)
def test_each_kind_of_fault_has_its_sentence(cell, label):
    answer, sentence = WRONG[label]
    shown = checked(cell, answer, "softmax")
    assert re.search(sentence.replace("`", ""), shown.text.replace("`", "")), shown.text
    assert re.search(sentence.replace("`", ""), shown.words), shown.words
    assert shown.marks < find("softmax").points
    assert "autograder" not in shown.text + shown.words


def test_what_an_answer_prints_is_kept_apart_and_escaped(cell):
    shown = checked(cell, DEFINE + "print('<script>alert(1)</script>')\n    return scores", "softmax")
    assert not shown.page("script") and "<script>alert(1)</script>" in shown.words
    assert "your code printed: <script>" in shown.text


def test_check_says_what_to_mend_first(cell):
    for name in ("masked_softmax", "context_vector"):
        assert not cell(find(name).answer_source).errors
    assert not cell(DEFINE + "return scores").errors
    mend = "`attend` calls your `softmax`, which is not right yet: mend `softmax` first, then check again."
    assert says(checked(cell, find("attend").answer_source, "attend"), mend)
    assert not says(checked(cell, find("attend").stub, "attend"), mend)
    assert not cell("class Odd:\n    __module__ = None\n\n\nsoftmax = Odd()").errors
    assert says(checked(cell, find("attend").answer_source, "attend"), mend)
    assert not cell(find("softmax").answer_source).errors
    shown = checked(cell, find("attend").answer_source, "attend")
    assert shown.marks == find("attend").points and not says(shown, mend)


def test_a_name_that_is_not_there_yet_is_told_in_words(cell):
    shown = cell("check(dot_scores)")
    assert not shown.errors and shown.marks == 0
    assert says(shown, "There is no `dot_scores` here yet: run the cell that defines it, and keep its name.")
    assert says(cell("check('dot_scores')"), "There is no `dot_scores` here yet")
    assert says(cell("hint(scaled_dot_scores)"), f"Hint 1 of 2: {find('scaled_dot_scores').hints[0]}")
    other = cell("check(dot_scors)")
    assert other.errors[0]["ename"] == "NameError"  # a slip of the pen stays Python's own


def test_what_answers_no_exercise_is_told_in_words(cell):
    names = ", ".join(exercise.name for exercise in exercises(NUMPY))
    other = checked(cell, "def other():\n    pass", "other")
    assert says(other, f"`check` knows no exercise 'other'. It knows: {names}.")
    assert says(cell("check()"), f"Say what to check, such as check(dot_scores). There are: {names}.")
    assert says(cell("hint(None)"), "Say what to hint, such as hint(dot_scores).")
    called = "Give `check` a function or class itself, such as check(dot_scores); this is of type ndarray."
    assert says(cell("check(np.ones(3))"), called)


def test_hints_open_one_by_one(cell):
    exercise = find("output_step")
    assert not cell(exercise.stub).errors
    first, second, third = (cell("hint(output_step)") for _ in range(3))
    assert says(first, f"Hint 1 of 2: {exercise.hints[0]}") and exercise.hints[1] not in first.text
    assert says(second, f"Hint 2 of 2: {exercise.hints[1]}") and says(second, exercise.hints[0])
    assert says(third, "There are no more hints") and "no more hints" not in second.text
    assert "return" not in third.text


def test_an_endless_loop_can_be_stopped(cell):
    assert not cell(DEFINE + "while True:\n        pass").errors
    shown = cell("check(softmax)", patience=2)
    assert says(shown, "You stopped `softmax` before it came back: is there a loop without an end?")
    assert not shown.errors and shown.marks == 0


def test_a_class_is_checked_and_not_an_instance(torch_cell):
    for name in ("scaled_dot_product_attention", "SelfAttention"):
        shown = checked(torch_cell, find(name).answer_source, name)
        assert shown.marks == find(name).points, shown.text
    told = torch_cell("check(SelfAttention(4, 3, 2))")
    assert says(told, "Give `check` the class itself, check(SelfAttention), not an instance of it.")


def test_a_module_with_other_parameters_or_without_gradient_is_told(torch_cell):
    assert not torch_cell(find("scaled_dot_product_attention").answer_source).errors
    source = find("SelfAttention").answer_source
    shown = checked(torch_cell, source.replace("self.query", "self.asks"), "SelfAttention")
    assert says(shown, "`SelfAttention` does not have the parameters that its docstring names")
    assert "missing: query.weight (2, 3)" in shown.text and "not wanted: asks.weight (2, 3)" in shown.text
    shown = checked(torch_cell, source.replace("self.value(x)", "self.value(x).detach()"), "SelfAttention")
    assert says(shown, "No gradient reaches `value.weight`")


@pytest.mark.parametrize("chapter", chapters())
def test_a_kit_with_right_answers_runs_from_top_to_bottom(chapter, tmp_path_factory):
    folder = kit_of(tmp_path_factory, chapter)
    right = {exercise.name: exercise.answer_source for exercise in exercises(chapter)}
    shown, failed = executed(folder / filename(chapter), folder, "student", right)
    assert failed == []
    for exercise in exercises(chapter):
        assert shown[f"check-{exercise.name}"].marks == exercise.points, shown[f"check-{exercise.name}"].text


@pytest.mark.parametrize("chapter", chapters())
def test_a_clone_with_wrong_answers_names_each_mistake(chapter):
    wrong = {exercise.name: exercise.source_with(exercise.mistakes[:1]) for exercise in exercises(chapter)}
    shown, _ = executed(NOTEBOOKS / filename(chapter), NOTEBOOKS, "python3", wrong)
    for exercise in exercises(chapter):
        told = shown[f"check-{exercise.name}"]
        assert told.marks < exercise.points and not told.errors
        if not uses(exercise.name):  # what it calls is wrong too
            assert says(told, exercise.mistakes[0].hint), told.text


def test_an_untouched_notebook_is_told_that_nothing_is_written(tmp_path_factory):
    folder = kit_of(tmp_path_factory, NUMPY)
    shown, failed = executed(folder / filename(NUMPY), folder, "student", {})
    for exercise in exercises(NUMPY):
        told = shown[f"check-{exercise.name}"]
        assert says(told, f"`{exercise.name}` is not written yet.") and told.marks == 0
    assert not [source for source in failed if "check(" in source]
