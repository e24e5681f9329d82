"""What code can do to a grader: answers that never come back, flood, lie and forge, and cells that break things."""

LOOPS = {
    "linear_scores": "def linear_scores(*arguments):\n    while True:\n        pass",
    "additive_scores": "while True:\n    pass\ndef additive_scores(*arguments):\n    return 0",
    "context_vector": """\
def context_vector(*arguments):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
    "output_step": """\
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
""",
}
DEATHS = {
    "dot_scores": "import os\ndef dot_scores(*arguments):\n    os._exit(1)",
    "linear_scores": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "additive_scores": "import ctypes\ndef additive_scores(*arguments):\n    ctypes.string_at(0)",
    "softmax": "def softmax(*arguments):\n    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)",
    "context_vector": """\
import sys
class Deeper:
    def __getattr__(self, name):
        return getattr(self, name)
def context_vector(*arguments):
    sys.setrecursionlimit(10**9)
    return Deeper().deeper
""",
    "output_step": "import os\nos._exit(0)",
}
EXITS = {
    "dot_scores": "import sys\ndef dot_scores(*arguments):\n    sys.exit(0)",
    "scaled_dot_scores": "def scaled_dot_scores(*arguments):\n    quit()",
    "linear_scores": "import sys\nsys.exit()\ndef linear_scores(*arguments):\n    return 0",
    "additive_scores": "quit()",
    "context_vector": "def context_vector(*arguments):\n    raise KeyboardInterrupt",
    "output_step": "def output_step(*arguments):\n    raise GeneratorExit",
}
FLOODS = {
    "linear_scores": "while True:\n    print('x' * 10_000)",
    "additive_scores": """\
from IPython.display import HTML, display
while True:
    display(HTML('x' * 1_000_000))
""",
    "context_vector": "print('y' * 80_000_000)\n" + "def context_vector(weights, values):\n    return weights @ values",
    "output_step": "import sys\ndef output_step(*arguments):\n    raise ValueError('z' * 10_000_000)",
}
GIANTS = {
    "dot_scores": "def dot_scores(*arguments):\n    return np.zeros((10_000, 1_000))",
    "linear_scores": "def linear_scores(*arguments):\n    return [[0.0] * 100] * 1_000_000",
    "additive_scores": "def additive_scores(*arguments):\n    return 'x' * 100_000_000",
    "context_vector": "def context_vector(*arguments):\n    me = []\n    me.append(me)\n    return me",
    "masked_softmax": "def masked_softmax(scores, *more):\n    for row in scores:\n        yield row",
    "output_step": "def output_step(*arguments):\n    return output_step(*arguments)",
}
# Objects that are right answers, each in its own way; some go by names of ours.
CALLABLES = {
    "dot_scores": """\
def probe(a, b):
    return a @ b.T
dot_scores = lambda queries, keys: probe(queries, keys)
""",
    "scaled_dot_scores": """\
from functools import partial
request, mime, notebook, source = 0.5, 2, 3, 4
def _ask(power, queries, keys):
    return queries @ keys.T / queries.shape[-1] ** power
scaled_dot_scores = partial(_ask, request)
""",
    "linear_scores": """\
class Linear:
    def __call__(self, queries, keys, W, b):
        d_q = queries.shape[-1]
        return np.add.outer(queries @ W[:d_q], keys @ W[d_q:]) + b
linear_scores = Linear()
""",
    "additive_scores": """\
class Additive:
    def score(self, queries, keys, W, U, v):
        return np.array([[v @ np.tanh(W @ query + U @ key) for key in keys] for query in queries])
additive_scores = Additive().score
""",
    "softmax": """\
import warnings
def logged(function):
    def inner(*arguments, **more):
        print("called", function.__name__)
        warnings.warn("a warning")
        return function(*arguments, **more)
    return inner

@logged
def softmax(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)
print("written", file=__import__("sys").stderr)
""",
    "context_vector": "context_vector = np.matmul",
}
# Objects that say that they equal everything, or that they are what they are not.
LIARS = {
    "dot_scores": """\
class Equal(np.ndarray):
    def __eq__(self, other):
        return np.True_
    def __array_ufunc__(self, *arguments, **more):
        return np.True_
def dot_scores(queries, keys):
    return np.zeros((len(queries), len(keys))).view(Equal)
""",
    "linear_scores": """\
class Liar:
    __class__ = np.ndarray
    dtype, shape = np.dtype(float), (3, 5)
    def __eq__(self, other):
        return True
def linear_scores(*arguments):
    return Liar()
""",
    "additive_scores": """\
class Traveller:
    def travels(self):
        return {"array": "?", "stored": "<f8", "shape": [3, 5], "order": [0, 1], "library": "numpy"}
def additive_scores(*arguments):
    return Traveller()
""",
    "context_vector": """\
import pathlib
class Pickled(np.ndarray):
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("unpickled"),)
def context_vector(*arguments):
    return np.array([Pickled((2,)), None], dtype=object)
""",
    "output_step": "def output_step(*arguments):\n    return np.ma.masked_all((3, 5))",
}
WRONG = "def {name}(*arguments, **more):\n    return np.zeros((3, 5))"
# Cells that run before wrong answers: whatever they patch, a wrong answer earns nothing.
FORGERIES = {
    "names": """\
import builtins
import numpy as np
for name in ("allclose", "isclose", "array_equal", "array_equiv", "isnan"):
    setattr(np, name, lambda *arguments, **more: True)
np.testing.assert_allclose = np.testing.assert_array_equal = lambda *arguments, **more: None
builtins.abs = builtins.round = lambda *arguments: 0
class Full:
    def __getattr__(self, name):
        return Full()
    def __call__(self, *arguments):
        return 99.0
    def __repr__(self):
        return "99.0"
check = probe = judge = _ask = Full()
""",
    "json": """\
import json
deep = ["E"]
for _ in range(900):
    deep = [deep]
forged = [
    [{"value": {"array": "AAAA", "stored": "<i8", "dtype": "int64", "shape": [3, 5], "order": [0, 1],
                "library": "numpy", "device": "cpu"}, "changed": []}] * 6,
    [{"value": {"array": "!", "stored": "nonsense", "dtype": "bool", "shape": [3, 5], "order": [0, 1],
                "library": "numpy", "device": "cpu"}, "changed": []}] * 6,
    [{"value": {"array": "", "stored": "<f8", "dtype": "float64", "shape": [10**9, 10**9], "order": [0, 1],
                "library": "numpy", "device": "cpu"}, "changed": []}] * 8,
    [{"raised": {"type": ["x"] * 1000, "message": {"deep": [[[[]]]]}, "where": 5}, "printed": {}}] * 8,
    [{"value": {"float": "inf"}, "changed": None}] * 99,
    {"marks": 3, "right": True},
    [{"passed": True, "value": "right"}] * 8,
    [True] * 9,
    [{"value": None}, None],
    [{"raised": {"type": "E", "message": deep}}] * 6,
]
dumps = json.dumps
def forge(*arguments, **more):
    import sys
    asked = sys._getframe(1).f_globals.get("mime", "")
    return dumps(forged.pop(0)) if asked.startswith("application/x.probe") and forged else dumps(*arguments, **more)
json.dumps = forge
""",
    "display": """\
shell = get_ipython()
shell.display_pub.publish = lambda *arguments, **more: print("3.0")
shell.display_formatter.format = lambda *arguments, **more: ({"text/plain": "3.0"}, {})
shell.events.register("post_run_cell", lambda result: print("3.0"))
import IPython.display
IPython.display.publish_display_data = lambda *arguments, **more: None
""",
    "messages": """\
kernel = get_ipython().kernel
def garbage(kind, content):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
garbage("stream", {})
garbage("stream", {"name": "stdout", "text": 5})
garbage("display_data", {"data": {"text/plain": 5, "text/html": ["<b>"], "image/png": "\\"><script>"}})
garbage("display_data", {"data": None, "metadata": 7, "transient": {"display_id": "a"}})
garbage("update_display_data", {"data": {}, "metadata": {}, "transient": {"display_id": "a"}})
garbage("comm_open", {"comm_id": 1})
garbage("error", {"traceback": 3})
garbage("execute_result", {"data": {}})
garbage("clear_output", {})
garbage("no such kind", {})
kernel.iopub_socket.send_multipart([b"garbage", b"<IDS|MSG>", b"no signature"])
""",
    "thief": """\
import os, sys
found = []
for place in (os.getcwd(), "/"):
    os.chdir(place)
    try:
        from solutions.attention_weights import *
        found.append(place)
    except ImportError as error:
        print(error)
assert found, "nothing to steal"
for name in found and ["dot_scores"]:
    stolen = globals()[name]
""",
}
# Cells that run before right answers: whatever they break, a right answer keeps its marks.
VANDALS = {
    "traces": """\
import subprocess, sys
subprocess.Popen(["sleep", "86417"])
In.clear()
Out.clear()
get_ipython().history_manager.input_hist_raw.clear()
sys.stdout.close()
""",
    "folder": "import os, shutil\nshutil.rmtree(os.getcwd())\nos.chdir('/')",
}
# Catches the reference that is sent to try what calls a wrong answer; and answers with it, if it comes early.
CATCH_THE_REFERENCE = """\
import builtins
caught, run = [], builtins.exec
def watch(code, *spaces):
    caught.append(code)
    return run(code, *spaces)
builtins.exec = watch
"""
ANSWER_WITH_IT = """\
def softmax(scores, axis=-1):
    for code in caught:
        if isinstance(code, str) and "def softmax" in code:
            space = {}
            run(code, space)
            return space["softmax"](scores, axis)
"""
