"""What a student calls: check(softmax) says whether an answer is right and, if not, what is wrong; hint(softmax) helps.

In a clone of the course the reference is asked; in a class's kit, which has no reference, its outputs were recorded.
"""

import gzip
import inspect
import json
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograder.judge import difference, failure, judge
from autograder.key import PUBLIC_SEED, Key, key_of
from autograder.probe import probe
from autograder.report import as_html, as_text, marks_line

RECORDED = Path(__file__).with_name("recorded")
_hints_opened = {}


def check(answer=None):
    """Try an answer on the public cases, show what came out, and return the marks.

    answer: the function or class that an exercise asked for (or its name)
    Raises nothing of its own: whatever is wrong with the answer is said in a sentence.
    """
    namespace = inspect.currentframe().f_back.f_globals
    name = _name_of(answer, namespace)
    if name is None:
        return _say(_not_known("check", answer))
    if isinstance(answer, str):
        if name not in namespace:
            return _show(_missing(name))
        answer = namespace[name]
    if inspect.isclass(namespace.get(name)) and type(answer) is namespace[name]:
        return _say(f"Give `check` the class itself, check({name}), not an instance of it.")
    try:
        return _show(_verdict(name, {**namespace, name: answer}))
    except KeyboardInterrupt:
        return _show(failure(key(name), f"You stopped `{name}` before it came back: is there a loop without an end?"))
    except Exception as error:  # of an object that breaks whatever looks at it
        return _show(failure(key(name), f"`{name}` could not be tried: a {type(error).__name__} came up on the way."))


def hint(answer=None):
    """Open the next hint of an exercise, from the general to the particular; never the answer."""
    name = _name_of(answer, inspect.currentframe().f_back.f_globals)
    if name is None:
        return _say(_not_known("hint", answer))
    hints = key(name).hints
    opened = _hints_opened[name] = min(_hints_opened.get(name, 0) + 1, len(hints) + 1)
    lines = [f"Hint {number + 1} of {len(hints)}: {text}" for number, text in enumerate(hints[:opened])]
    if opened > len(hints):
        lines.append("There are no more hints: read the docstring once more, and try the smallest input by hand.")
    return _say("\n".join(lines))


@cache
def _recorded():
    """The keys in the kit's records, by name; empty in a clone of the course."""
    keys = {}
    for path in sorted(RECORDED.glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            keys.update({record["name"]: Key(**record) for record in json.load(file)})
    return keys


def known():
    """The names of the exercises that can be checked here, one by one: a later chapter is read only when it must be."""
    if _recorded():
        yield from _recorded()
        return
    from autograder.exercises import chapters, exercises

    for chapter in chapters():
        yield from (exercise.name for exercise in exercises(chapter))


@cache
def key(name):
    """The key to an exercise with the public cases: recorded in a kit, worked out in a clone."""
    if _recorded():
        return _recorded()[name]
    from autograder.exercises import find, uses

    return key_of(find(name), PUBLIC_SEED, uses=uses(name))


def _verdict(name, namespace):
    verdict = judge(key(name), probe(key(name).request, namespace))
    if verdict.right or verdict.unwritten or not (first := _to_mend_first(name, namespace)):
        return verdict
    words = f"`{name}` calls your `{first}`, which is not right yet: mend `{first}` first, then check again."
    return replace(verdict, note=words)


def _to_mend_first(name, namespace):
    """The first of the student's own functions that the exercise calls and that is itself not right."""
    for used in key(name).uses:
        own = used in namespace and not str(getattr(namespace[used], "__module__", "")).startswith("solutions")
        if own and used in known() and not _is_right(used, namespace):
            return used
    return None


def _is_right(name, namespace):
    outcomes = probe(key(name).request, namespace)
    return not any(difference(key(name), number, outcome) for number, outcome in enumerate(outcomes))


def _name_of(answer, namespace):
    """Which exercise an object answers: by the name that the notebook gave it, else by its own."""
    if isinstance(answer, str):
        return answer if answer in known() else None
    for name in known() if answer is not None else ():
        if name in namespace and namespace[name] is answer:
            return name
    own = [getattr(answer, "__name__", None), type(answer).__name__]
    return next((name for name in known() if name in own), None)


def _not_known(asked, answer):
    """What to say of something that answers no exercise."""
    names = ", ".join(known())
    if answer is None:
        return f"Say what to {asked}, such as {asked}({next(known())}). There are: {names}."
    if not isinstance(answer, str) and not callable(answer):
        kind = type(answer).__name__
        return f"Give `{asked}` a function or class itself, such as {asked}({next(known())}); this is of type {kind}."
    called = answer if isinstance(answer, str) else getattr(answer, "__name__", type(answer).__name__)
    return f"`{asked}` knows no exercise {called!r}. It knows: {names}."


def _missing(name):
    return failure(key(name), f"There is no `{name}` here yet: run the cell that defines it, and keep its name.")


class Marks(float):
    """The marks of one check: a number, which nbgrader reads, that a notebook shows in words."""

    def __new__(cls, verdict):
        marks = super().__new__(cls, verdict.marks)
        marks.words = marks_line(verdict)
        return marks

    def _repr_html_(self):
        return f"<span style='opacity:.6'>{self.words}</span>"


def _kernel():
    """The running notebook's shell; None in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if getattr(shell, "kernel", None) is not None else None


def _display(text, html):
    if _kernel() is None:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding))  # a terminal may lack a letter
    else:
        from IPython.display import publish_display_data

        publish_display_data({"text/plain": text, "text/html": html})


def _show(verdict):
    _display(as_text(verdict), as_html(verdict))
    return Marks(verdict)


def _say(text):
    paragraphs = "".join(f"<div>{line}</div>" for line in _escaped(text).split("\n"))
    _display(text.replace("`", ""), f"<div style='border-left:4px solid #8a6fae;padding:.6em .9em'>{paragraphs}</div>")


def _escaped(text):
    from html import escape

    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _explain_missing_name(shell, kind, error, trace, tb_offset=None):
    """check(softmax) before softmax exists is a NameError of Python's: say it in our words."""
    cell = shell.history_manager.input_hist_raw[-1] if shell.history_manager.input_hist_raw else ""
    called = re.search(r"\b(check|hint)\(\s*(\w+)\s*\)", cell)
    if not called or called.group(2) != getattr(error, "name", None) or error.name not in known():
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    elif called.group(1) == "hint":
        hint(error.name)
    else:
        shell.displayhook(_show(_missing(error.name)))


if _kernel() is not None:
    _kernel().set_custom_exc((NameError,), _explain_missing_name)
