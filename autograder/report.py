"""Show a verdict: rich HTML for a notebook, plain text for a terminal. What came from a student is escaped."""

from html import escape

import numpy as np

from autograder.probe import decode, numbers

WIDEST = 12  # rows and columns of a matrix that are shown
GREEN, RED, BLUE = "#2e7d4f", "#b3402a", "59,110,168"
BOX = "border-left:4px solid {};padding:.6em .9em;margin:.4em 0;line-height:1.5;overflow-x:auto;max-width:60em"
CELL = (
    "padding:.15em .4em;text-align:right;font-family:monospace;font-size:.85em;border:1px solid rgba(128,128,128,.25)"
)


def marks_line(verdict):
    return f"{verdict.marks:g} of {verdict.points:g} marks"


def call_line(name, case):
    """The call that a case makes, with shapes: softmax(scores: float64 (3, 5), axis=0)."""
    made = ", ".join(_argument(key, form) for key, form in case.get("make", {}).items())
    given = ", ".join(_argument(key, form) for key, form in case["arguments"].items())
    if "make" not in case:
        return f"{name}({given})"
    method = f".{case['method']}" if case["method"] else ""
    return f"{name}({made}){method}({given})"


def _argument(name, form):
    if "array" in form:
        return f"{name}: {form['dtype']} {tuple(form['shape'])}"
    if "code" in form:
        return f"{name}={form['code']}"
    if "seed" in form:
        return f"{name}=<{form['library']} generator, seed {form['seed']}>"
    return f"{name}={form['dtype']}" if "dtype" in form else f"{name}={decode(form)!r}"


def matrices(difference):
    """(what it is, wanted, came): the matrix around the largest difference; None where there is nothing to show."""
    if difference is None or difference.want is None or difference.got is None:
        return None
    if difference.got["shape"] != difference.want["shape"] or "array" not in difference.want:
        return None
    want, got = numbers(difference.want), numbers(difference.got)
    if want.size == 0 or "c" in (want.dtype.kind, got.dtype.kind):
        return None
    depth = max(want.ndim - 2, 0)
    leading = (*difference.index, *[0] * depth)[:depth]  # a wrong dtype has no place: the first matrix shows it
    if leading:
        want, got = want[leading], got[leading]
    want, got = np.atleast_2d(want), np.atleast_2d(got)
    if want.shape[0] > WIDEST or want.shape[1] > WIDEST:
        return None
    part = difference.part + (f"[{', '.join(map(str, leading))}]" if leading else "")
    return part, want, got


def as_text(verdict):
    """The verdict for a terminal."""
    if verdict.right:
        tried = "".join(f"\n  + {shows}" for shows in verdict.passed)
        note = "".join(f"\n{line}" for line in (verdict.note, verdict.remark) if line)
        return f"{verdict.name}: right, {marks_line(verdict)}. Tried:{tried}{note}"
    lines = [f"{verdict.name}: not right yet, {marks_line(verdict)}.", verdict.sentence]
    lines += [verdict.note] if verdict.note else []
    if verdict.case is not None and _ran(verdict):
        lines.append(f"  in the call  {call_line(verdict.name, verdict.case)}")
        if verdict.difference.sentence != verdict.sentence:
            lines.append(f"  {verdict.difference.sentence}")
        if shown := matrices(verdict.difference):
            for title, matrix in zip((f"{shown[0]}, wanted", f"{shown[0]}, yours"), shown[1:], strict=True):
                lines.append(f"  {title}:")
                lines += [f"    {line}" for line in _as_lines(matrix)]
        lines += [f"  - {shows}" for shows in verdict.failed] + [f"  + {shows}" for shows in verdict.passed]
    if verdict.printed:
        lines.append(f"  your code printed: {verdict.printed.strip()[:200]}")
    return "\n".join(lines)


def _as_lines(matrix):
    return np.array2string(matrix, max_line_width=200, precision=3, suppress_small=True).split("\n")


def as_html(verdict):
    """The verdict for a notebook or a feedback page."""
    name = f"<code>{escape(verdict.name)}</code>"
    if verdict.right:
        tried = escape(" · ".join(verdict.passed))
        note = "".join(f"<div>{_with_code(line)}</div>" for line in (verdict.note, verdict.remark) if line)
        head = f"<b style='color:{GREEN}'>✓ {name} is right</b> — {marks_line(verdict)}"
        return f"<div style='{BOX.format(GREEN)}'>{head}<div style='opacity:.75'>Tried: {tried}</div>{note}</div>"
    parts = [
        f"<b style='color:{RED}'>✗ {name} is not right yet</b> — {marks_line(verdict)}",
        f"<div style='font-size:1.08em;margin:.3em 0'>{_with_code(verdict.sentence)}</div>",
    ]
    if verdict.note:
        parts.append(f"<div>{_with_code(verdict.note)}</div>")
    if verdict.case is not None and _ran(verdict):
        parts.append(f"<div>In the call <code>{escape(call_line(verdict.name, verdict.case))}</code></div>")
        if verdict.difference.sentence != verdict.sentence:
            parts.append(f"<div>{_with_code(verdict.difference.sentence)}</div>")
        if shown := matrices(verdict.difference):
            parts.append(_heat_maps(*shown))
        cases = "".join(f"<li style='color:{RED}'>✗ {escape(shows)}</li>" for shows in verdict.failed)
        cases += "".join(f"<li style='color:{GREEN}'>✓ {escape(shows)}</li>" for shows in verdict.passed)
        parts.append(f"<ul style='list-style:none;padding-left:.2em;margin:.3em 0'>{cases}</ul>")
    if verdict.printed:
        printed = f"<pre style='white-space:pre-wrap'>{escape(verdict.printed)}</pre>"
        parts.append(f"<details><summary>What your code printed in this call</summary>{printed}</details>")
    return f"<div style='{BOX.format(RED)}'>{''.join(parts)}</div>"


def _ran(verdict):
    """Whether there is a call to tell of: not when nothing was written or nothing could be called."""
    return verdict.difference is not None and verdict.difference.kind not in ("unwritten", "missing", "malformed")


def _with_code(sentence):
    """Escape a sentence and set what stands between backticks as code."""
    pieces = escape(sentence).split("`")
    if len(pieces) % 2 == 0:
        return escape(sentence)
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))


def _heat_maps(part, want, got):
    both = np.concatenate([want.ravel(), got.ravel()]).astype(float)
    finite = both[np.isfinite(both)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    tables = [_heat_map(matrix, low, high, differs) for matrix, differs in ((want, None), (got, _differs(want, got)))]
    titles = (f"{part}: wanted", f"{part}: yours")
    figures = "".join(
        f"<figure style='margin:.3em 1.2em .3em 0'><figcaption>{_with_code(title)}</figcaption>{table}</figure>"
        for title, table in zip(titles, tables, strict=True)
    )
    return f"<div style='display:flex;flex-wrap:wrap'>{figures}</div>"


def _differs(want, got):
    return ~np.isclose(want.astype(float), got.astype(float), rtol=1e-4, atol=1e-6, equal_nan=True)


def _heat_map(matrix, low, high, differs):
    rows = []
    for i, row in enumerate(matrix):
        cells = []
        for j, value in enumerate(row):
            number = float(value)
            strength = (number - low) / (high - low) if high > low and np.isfinite(number) else 0.0
            edge = f";outline:2px solid {RED}" if differs is not None and differs[i, j] else ""
            text = (
                str(bool(value))
                if matrix.dtype.kind == "b"
                else f"{number:.2f}"
                if abs(number) < 1e4
                else f"{number:.1e}"
            )
            cells.append(f"<td style='{CELL};background:rgba({BLUE},{0.75 * strength:.2f}){edge}'>{text}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table style='border-collapse:collapse;margin:0'>{''.join(rows)}</table>"
