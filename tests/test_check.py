"""`check` and `hint` outside a notebook: plain text in any terminal, on any system, with nothing but numpy."""

import ast
import subprocess
import sys

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from test_kit import OTHERS_ONLY, PYTHON_WITHOUT_THE_COURSE, kit_of

from autograder.check import check
from autograder.exercises import ROOT, chapters, exercises, find
from autograder.judge import judge
from autograder.key import PUBLIC_SEED, key_of
from autograder.kit import STUDENT_SIDE
from autograder.report import as_html, as_text

NUMPY, TORCH = "attention_weights", "self_attention"
START = "import math\nimport numpy as np\nfrom autograder.check import check, hint\n"
TRANSPOSED = "def dot_scores(queries, keys):\n    return keys @ queries.T\n"
ONLY_IN_A_NOTEBOOK = {"IPython.display"}
ONLY_IN_A_CLONE = {"autograder.exercises"}


def terminal(code, folder, **environment):
    """What a script prints that is run in a folder, on a machine that has not installed the course."""
    command = [*PYTHON_WITHOUT_THE_COURSE, "-c", START + code]
    environment = {**OTHERS_ONLY, "PYTHONIOENCODING": "utf-8", **environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode(environment["PYTHONIOENCODING"].partition(":")[0])


def in_clone(code):
    """Run code as in a clone of the course; returns its names."""
    namespace = {"__name__": "__main__"}
    exec(START + code, namespace)
    return namespace


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    return kit_of(tmp_path_factory, NUMPY)


def test_a_right_answer_in_a_terminal(kit):
    source = find("dot_scores").answer_source
    out = terminal(
        f"{source}\nmarks = check(dot_scores)\nprint(float(marks), isinstance(marks, float), marks + 1)", kit
    )
    assert out.splitlines()[0] == "dot_scores: right, 1 of 1 marks. Tried:"
    assert "  + one query keeps its axis" in out
    assert out.splitlines()[-1] == "1.0 True 2.0"
    assert "<" not in out


def test_a_wrong_answer_in_a_terminal(kit):
    out = terminal(f"{TRANSPOSED}\nmarks = check(dot_scores)\nprint(float(marks) < 1)", kit)
    lines = out.splitlines()
    assert lines[0].startswith("dot_scores: not right yet, 0")
    assert lines[1] == "Rows are to belong to queries; yours belong to keys."
    assert "  in the call  dot_scores(queries: float64 (3, 4), keys: float64 (5, 4))" in lines
    assert "  The output has shape (5, 3); (3, 5) was wanted." in lines
    assert lines[-1] == "True"


def test_kit_and_clone_say_the_same(kit, capsys):
    marks = in_clone(f"{TRANSPOSED}\nmarks = check(dot_scores)")["marks"]
    assert terminal(f"{TRANSPOSED}\ncheck(dot_scores)", kit) == capsys.readouterr().out
    assert 0 <= marks < 1


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_a_terminal_that_lacks_a_letter_shows_the_rest(kit, encoding):
    odd = "def softmax(scores, axis=-1):\n    raise ValueError('\\u2211 exp \\u2713 \\U0001f642')\n\n\n"
    out = terminal(f"{odd}check(softmax)\nhint(softmax)", kit, PYTHONIOENCODING=f"{encoding}:strict", PYTHONUTF8="0")
    assert "`softmax` raised ValueError: " in out and " exp " in out and "Hint 1 of 2" in out


@pytest.mark.parametrize("chapter", chapters())
def test_what_the_exam_says_can_be_read_on_windows(chapter):
    for exercise in exercises(chapter):
        said = [*exercise.hints, *(mistake.hint for mistake in exercise.mistakes), *key_of(exercise, PUBLIC_SEED).shows]
        for text in said:
            text.encode("cp1252")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [exercise.name for chapter in chapters() for exercise in exercises(chapter)])
def test_every_known_mistake_can_be_shown(name):
    exercise = find(name)
    key = key_of(exercise, PUBLIC_SEED, pairs=False)
    for mistake, (_, outcomes) in zip(exercise.mistakes, key.known, strict=True):
        verdict = judge(key, list(outcomes))
        assert mistake.hint in as_text(verdict)
        page = BeautifulSoup(as_html(verdict), "html.parser")
        assert "".join(mistake.hint.replace("`", "").split()) in "".join(page.get_text().split())


class Hostile(Exception):
    """Breaks whatever looks at it."""

    def __eq__(self, other):
        raise RuntimeError("eq")

    __hash__ = __len__ = __repr__ = __str__ = __iter__ = __eq__

    def __getattr__(self, name):
        raise RuntimeError(name)


ENDLESS = []
ENDLESS.append(ENDLESS)
ODD = {
    "text": "weights",
    "bytes": b"weights",
    "a dict": {"weights": 1},
    "a set": {1},
    "a large number": 10**400,
    "a complex array": np.ones((3, 5)) * 1j,
    "an array of objects": np.array([object()]),
    "an empty array": np.zeros((3, 0)),
    "a huge array": np.zeros((2000, 2000)),
    "a masked array": np.ma.masked_array(np.ones((3, 5)), mask=True),
    "a structure": np.zeros(3, dtype=[("a", float)]),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "a long float": np.ones((3, 5), np.longdouble),
    "infinities": np.full((3, 5), np.inf),
    "a tensor that learns": torch.ones(3, 5, requires_grad=True),
    "a tensor without values": torch.ones(3, 5, device="meta"),
    "a sparse tensor": torch.eye(3).to_sparse(),
    "a tensor of float8": torch.ones(3, 5).to(torch.float8_e4m3fn),
    "a tuple in a tuple": ((1, (2, (3,))), 4),
    "an endless list": ENDLESS,
    "a hostile object": Hostile(),
    "a module": np,
}


@pytest.mark.parametrize("name", ["dot_scores", "attend", "softmax_backward"])
@pytest.mark.parametrize("label", ODD)
def test_whatever_an_answer_gives_is_told_in_a_sentence(name, label, capsys):
    def returns(*given, **named):
        return ODD[label]

    def raises(*given, **named):
        raise Hostile()

    for answer in (returns, lambda *given, **named: (ODD[label], ODD[label]), raises, ODD[label]):
        marks = eval(f"check({name})", {"check": check, name: answer})
        said = capsys.readouterr().out
        assert said.startswith((f"{name}: not right yet, 0 of ", "Give check a function", "check knows no exercise"))
        assert marks in (0, None) and "is right" not in said


def imports(module):
    """The modules that a file of ours imports, at its top and within its functions."""
    tree = ast.parse((ROOT / "autograder" / f"{module}.py").read_text("utf-8"))
    top, inside = set(), set()
    for node in ast.walk(tree):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else names
        (top if node in tree.body else inside).update(names)
    return top, inside


@pytest.mark.parametrize("module", STUDENT_SIDE)
def test_the_student_side_needs_python_and_numpy_alone(module):
    own = {f"autograder.{name}" for name in STUDENT_SIDE}
    top, inside = imports(module)
    for name in top | (inside - ONLY_IN_A_NOTEBOOK - ONLY_IN_A_CLONE):
        assert name in own or name.partition(".")[0] in {"numpy", *sys.stdlib_module_names}, f"{module} imports {name}"
    assert not {"os", "signal", "subprocess", "multiprocessing", "resource", "fcntl", "pwd"} & (top | inside)


def test_it_works_without_anything_that_windows_lacks(kit):
    lacking = """
import os, signal, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "pty", "tty"):
    sys.modules[name] = None
for module, names in ((os, "fork killpg setsid getuid uname"), (signal, "SIGALRM SIGKILL setitimer alarm")):
    for name in names.split():
        delattr(module, name)
"""
    out = terminal(f"{lacking}\n{TRANSPOSED}\ncheck(dot_scores)\nhint(dot_scores)\ncheck('softmax')", kit)
    assert "dot_scores: not right yet" in out and "Hint 1 of 2" in out and "There is no `softmax` here yet" in out


def test_a_kit_needs_neither_torch_nor_ipython_unless_the_chapter_does(kit, tmp_path_factory):
    absent = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "IPython", "yaml", "nbgrader", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""
    out = terminal(f"{absent}{TRANSPOSED}\ncheck(dot_scores)", kit)
    assert "Rows are to belong to queries" in out
    source = find("causal_mask").answer_source
    code = f"import torch\n{source}\ncheck(causal_mask)"
    assert "causal_mask: right, 1 of 1 marks" in terminal(code, kit_of(tmp_path_factory, TORCH))


def test_a_clone_does_not_read_torch_for_a_chapter_without_it():
    code = f"import sys\n{START}{TRANSPOSED}\ncheck(dot_scores)\nhint(dot_scores)\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_checking_leaves_random_numbers_and_threads_as_they_were():
    threads = torch.get_num_threads()
    np.random.seed(5)
    torch.manual_seed(5)
    wanted = np.random.random(), torch.rand(1).item()
    np.random.seed(5)
    torch.manual_seed(5)
    in_clone(f"{TRANSPOSED}\ncheck(dot_scores)\n{find('attend').stub}\ncheck(attend)")
    assert (np.random.random(), torch.rand(1).item()) == wanted
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("check('cooking')", "check knows no exercise 'cooking'. It knows: dot_scores, "),
        ("check(len)", "check knows no exercise 'len'. It knows: dot_scores, "),
        ("check()", "Say what to check, such as check(dot_scores). There are: dot_scores, "),
        ("hint(3)", "Give hint a function or class itself, such as hint(dot_scores); this is of type int."),
    ],
)
def test_what_answers_no_exercise_has_no_marks(code, words, capsys):
    assert in_clone(f"returned = {code}")["returned"] is None
    assert capsys.readouterr().out.startswith(words)


def test_an_answer_is_known_by_the_name_it_was_given(capsys):
    source = find("dot_scores").answer_source
    by_name = in_clone(f"{source}\nmarks = check('dot_scores')\ndot_scores.__name__ = 'f'\nagain = check(dot_scores)")
    assert by_name["marks"] == by_name["again"] == 1
    assert in_clone("dot_scores = lambda queries, keys: queries @ keys.T\nmarks = check(dot_scores)")["marks"] == 1
    assert in_clone(f"{source}\nother = dot_scores\ndel dot_scores\nmarks = check(other)")["marks"] == 1
    assert in_clone("from solutions.attention_weights import attend\nmarks = check(attend)")["marks"] == 3
    assert "not right" not in capsys.readouterr().out
