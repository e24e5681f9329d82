"""What students hand in on an ordinary day: right, right in another way, mistaken, half done; and one with scripts."""

from functools import cache

from classwork import CHAPTER, RIGHT
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.exercises import exercises, find
from autograder.grading.example_class import answers_of

FIRST_MISTAKES = {exercise.name: exercise.mistakes[0] for exercise in exercises(CHAPTER)}
# Large scores overflow, and the sum runs along the last axis whichever is asked for.
TWO_MISTAKES = """\
def softmax(scores, axis=-1):
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)
"""
ALERT = "<script>alert('{}')</script>"


@cache
def students():
    """{student: {exercise: source}}."""
    return {
        "right": RIGHT,
        "in-other-ways": answers_of(CHAPTER)["ben-in-other-ways"],
        "mistaken": {name: find(name).source_with([mistake]) for name, mistake in FIRST_MISTAKES.items()},
        "wrong-softmax": RIGHT | {"softmax": find("softmax").source_with([FIRST_MISTAKES["softmax"]])},
        "two-at-once": RIGHT | {"softmax": TWO_MISTAKES},
        "syntax-error": RIGHT | {"linear_scores": "def linear_scores(queries, keys, W, b:\n    return 0"},
    }


# Graded once more by a test of its own.
AGAIN = {"regraded": "two-at-once", "graded-by-api": "wrong-softmax", "graded-by-the-button": "syntax-error"}
RAISES_A_SCRIPT = f"""\
def softmax(*arguments, **more):
    print({ALERT.format("printed in a call")!r})
    raise ValueError({ALERT.format("raised")!r} + "<img src=x onerror=alert(5)>")
"""
SHOWS_SCRIPTS = f"""\
from IPython.display import HTML, SVG, Javascript, Markdown, display
print({ALERT.format("printed")!r})
display(HTML({ALERT.format("html")!r} + "<b id='softmax' class='score' onclick='alert(1)'>bold</b>"))
display(HTML("<a href='javascript:alert(1)'>link</a><iframe src='https://example.org'></iframe>"))
display(Markdown({ALERT.format("markdown")!r}))
display(Javascript("alert('javascript')"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(2)'><script>alert(3)</script></svg>"))
display({{"image/png": '"><script>alert(4)</script>', "text/plain": "a picture"}}, raw=True, metadata={{"a": 1}})
display({{"text/latex": {ALERT.format("latex")!r}}}, raw=True)
display({{"application/vnd.jupyter.widget-view+json": {{"a": "</script><script>alert(6)"}}}}, raw=True)
raise RuntimeError({ALERT.format("trace")!r})
"""


def with_scripts(notebook):
    """The notebook with scripts in text, answers, outputs and metadata."""
    words = f"{ALERT.format('words')} [link](javascript:alert(7)) <img src=x onerror=alert(8)>\n\nIf $x<y$, so."
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("question-"):
            cell.source = words
    notebook.cells += [new_markdown_cell(words), new_code_cell(SHOWS_SCRIPTS)]
    notebook.metadata["title"] = notebook.metadata.kernelspec["display_name"] = ALERT.format("title")
    return notebook
