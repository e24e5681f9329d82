"""Whatever a student's code does, its exercise alone pays, nothing is gained by it, and everybody is graded."""

import subprocess

import pytest
from classwork import EVERY, POINTS, autograded, cell_of, comments, lost, marks, page
from hostile_answers import DEATHS, EXITS, FLOODS, FORGERIES, GIANTS, LIARS, LOOPS, VANDALS

NO_MARKS = {"loops": LOOPS, "deaths": DEATHS, "exits": EXITS, "giants": GIANTS, "liars": LIARS}
DIAGNOSES = [
    ("loops", "linear_scores", "did not finish in 3 seconds: is there a loop without an end?"),
    ("loops", "additive_scores", "The cell of additive_scores did not finish: the code was stopped after 5 seconds"),
    ("loops", "output_step", "The cell of output_step did not finish: the code did not stop when it was interrupted"),
    ("loops", "context_vector", "did not stop when it was interrupted"),
    ("deaths", "dot_scores", "could not be tried: the code ended the kernel"),
    ("deaths", "additive_scores", "could not be tried: the code ended the kernel"),
    ("deaths", "linear_scores", "The cell of linear_scores did not finish: the code ended the kernel"),
    ("exits", "dot_scores", "raised SystemExit"),
    ("exits", "scaled_dot_scores", "could not be tried: the code ended the kernel"),
    ("exits", "context_vector", "No answer came back that could be read"),
    ("floods", "linear_scores", "The cell of linear_scores did not finish"),
    ("exits", "linear_scores", "The cell of linear_scores stopped with SystemExit"),
    ("exits", "additive_scores", "The cell of additive_scores did not finish: the code ended the kernel"),
    ("giants", "dot_scores", "far too large"),
    ("giants", "additive_scores", "a very long str"),
    ("giants", "context_vector", "is a list; a numpy array was wanted"),
    ("giants", "output_step", "RecursionError"),
    ("giants", "masked_softmax", "is a list; a numpy array was wanted"),
    ("liars", "linear_scores", "an array of object"),
    ("liars", "additive_scores", "No answer came back that could be read"),
    ("liars", "output_step", "MaskedArray"),
]


def text_of(cell):
    return "".join(str(output.get("text", "")) + output.get("evalue", "") for output in cell.outputs)


@pytest.mark.parametrize("student", NO_MARKS)
def test_only_the_exercises_that_went_wrong_lose_their_marks(hostile_class, student):
    assert lost(hostile_class, student) == dict.fromkeys(NO_MARKS[student], 0.0)


@pytest.mark.parametrize(("student", "exercise", "words"), DIAGNOSES)
def test_the_student_reads_what_went_wrong(hostile_class, student, exercise, words):
    assert words in comments(hostile_class, student)[exercise]


def test_what_stopped_a_cell_is_shown_below_it(hostile_class):
    loops, deaths = autograded(hostile_class, "loops"), autograded(hostile_class, "deaths")
    assert "the code was stopped after 5 seconds" in text_of(cell_of(loops, "additive_scores"))
    assert "did not stop when it was interrupted" in text_of(cell_of(loops, "output_step"))
    assert "the code ended the kernel" in text_of(cell_of(deaths, "linear_scores"))


@pytest.mark.parametrize("student", ["loops", "deaths", "exits", "giants"])
def test_an_answer_that_calls_one_that_went_wrong_keeps_its_marks(hostile_class, student):
    assert marks(hostile_class, student)["attend"] == POINTS["attend"]
    assert "Right, given a right" in comments(hostile_class, student)["attend"]


def test_any_object_that_answers_rightly_gets_full_marks(hostile_class):
    assert lost(hostile_class, "callables") == {}


def test_a_flood_costs_no_memory_and_no_other_exercise(hostile_class):
    without_answer = {name for name in FLOODS if name != "context_vector"}  # which prints much, and is right
    assert set(lost(hostile_class, "floods")) == without_answer
    path = hostile_class / "autograded" / "floods" / "attention_weights" / "01_attention_weights.ipynb"
    assert path.stat().st_size < 10_000_000
    kilobytes = int((hostile_class / "memory.txt").read_text())  # the most that the grader or a kernel used
    assert kilobytes < 2_000_000


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forgery_earns_nothing_for_wrong_answers(hostile_class, kind):
    got = marks(hostile_class, f"forger-{kind}")
    assert {name: got[name] for name in EVERY} == dict.fromkeys(EVERY, 0.0)


def test_the_forged_cells_ran(hostile_class):
    """Each of them ends as it was meant to: the thief finds nothing, and the last message breaks the connection."""
    broken = "the code broke the kernel's connection; the cells before it were run again without it"
    ends = {"thief": ["nothing to steal"], "messages": [broken]}
    for kind, source in FORGERIES.items():
        cells = autograded(hostile_class, f"forger-{kind}").cells
        ran = next(cell for cell in cells if cell.source == source.rstrip("\n") or cell.source == source)
        errors = [output.evalue for output in ran.outputs if output.output_type == "error"]
        assert errors == ends.get(kind, []) or (kind == "messages" and not errors), (
            kind
        )  # how it breaks is zmq's affair


def test_the_reference_cannot_be_imported_where_answers_are_graded(hostile_class):
    code = [cell for cell in autograded(hostile_class, "forger-thief").cells if cell.cell_type == "code"]
    said = "".join(text_of(cell) for cell in code)
    assert said.count("No module named 'solutions.attention_weights'") == 2


def test_a_reference_is_sent_only_when_its_own_exercise_is_graded(hostile_class):
    assert lost(hostile_class, "reference-catcher") == {"softmax": 0.0, "masked_softmax": 0.0}
    assert marks(hostile_class, "reference-catcher")["attend"] == POINTS["attend"]


@pytest.mark.parametrize("kind", VANDALS)
def test_what_a_cell_breaks_costs_a_right_answer_nothing(hostile_class, kind):
    assert lost(hostile_class, f"vandal-{kind}") == {}


def test_nothing_that_a_student_started_goes_on_running(hostile_class):
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 86417" not in running


def test_no_pickle_of_a_student_is_loaded(hostile_class):
    assert not list(hostile_class.rglob("unpickled"))
    assert "__reduce__" in cell_of(autograded(hostile_class, "liars"), "context_vector").source


@pytest.mark.parametrize("student", ["floods", "liars", "forger-messages", "forger-json"])
def test_what_a_kernel_sent_leaves_the_feedback_page_whole(hostile_class, student):
    assert "Score: " in page(hostile_class, student).get_text()
    assert not [tag for tag in page(hostile_class, student)("script") if "alert" in tag.get_text()]
