"""What a student's cell shows, in a form that notebooks, nbgrader and pages can rely on: a kernel may send anything."""

import re

from nbformat.v4 import new_output

TEXTS = ("text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml")
IMAGES = ("image/png", "image/jpeg")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


def printable(text):
    """The text, without halves of characters, which no file can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def shown(outputs):
    """The outputs that are well formed, with what a page can show of them; scripts and widgets are left out."""
    makers = {"stream": _stream, "error": _error, "display_data": _rich, "execute_result": _rich}
    return [makers[each.output_type](each) for each in outputs if each.get("output_type") in makers]


def _stream(output):
    name = output.get("name")
    return new_output(
        "stream", name=name if name in ("stdout", "stderr") else "stdout", text=printable(output.get("text", ""))
    )


def _error(output):
    trace = output.get("traceback")
    lines = [printable(line) for line in trace] if isinstance(trace, list) else []
    return new_output(
        "error", ename=printable(output.get("ename")), evalue=printable(output.get("evalue")), traceback=lines
    )


def _rich(output):
    data = output.get("data")
    kept = {}
    for mime, value in data.items() if isinstance(data, dict) else ():
        if isinstance(value, str) and (mime in TEXTS or (mime in IMAGES and BASE64.fullmatch(value))):
            kept[mime] = printable(value)
    return new_output(output.output_type, data=kept)
