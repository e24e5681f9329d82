"""Compare two encoded values: the first Difference, in words. Knows the forms of `probe.encode` and nothing else."""

from dataclasses import dataclass

import numpy as np

from autograder.probe import decode, numbers

# Relative to each expected value, and to the largest one; by the coarser of the two dtypes.
TOLERANCE = {
    "bfloat16": (2e-2, 2e-3),
    "float16": (1e-2, 1e-3),
    "float32": (1e-4, 1e-5),
    "float64": (1e-6, 1e-8),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-6, 1e-8),
}
PRECISION = ["bfloat16", "float16", "float32", "float64", "float128"]
SMALL = 0.01  # the least that counts as "the largest expected value"
WORDS = {"numpy": "a numpy array", "torch": "a torch tensor", "scalar": "a number", "float": "a number"}


@dataclass(frozen=True)
class Difference:
    """How one output differs from what was wanted."""

    kind: str
    sentence: str
    part: str = "the output"
    got: dict | None = None  # the encoded arrays, where there are two to show
    want: dict | None = None
    index: tuple = ()


def compare(got, want, part="the output", names=(), tolerance=None):
    """The first Difference between two encoded values; None when they agree.

    part:      what to call the value
    names:     what to call the parts of a tuple
    tolerance: {dtype: (relative, absolute)}, in place of TOLERANCE
    Raises ValueError, KeyError or TypeError when `got` is malformed.
    """
    if got == {"plain": None} != want:
        return Difference("none", f"{capital(part)} is None: is there a `return`?", part)
    for several in ("tuple", "list"):
        if several in want:
            return _compare_several(got, want[several], part, names, tolerance)
    if (wanted := _number(want)) is not None:
        return _compare_plain_numbers(got, wanted, part, want)
    if "array" in want:
        return _compare_arrays(got, want, part, tolerance or TOLERANCE)
    if got == want:
        return None
    if kind_of(got) != kind_of(want):
        return _wrong_type(got, want, part)
    return Difference("values", f"{capital(part)} is {_short(got)}; {_short(want)} was wanted.", part)


def _wrong_type(got, want, part):
    return Difference("type", f"{capital(part)} is {kind_of(got)}; {kind_of(want)} was wanted.", part)


def _compare_several(got, wanted, part, names, tolerance):
    came = got.get("tuple", got.get("list"))
    listed = f" ({', '.join(names)})" if names else ""
    if came is None:
        return Difference("type", f"{len(wanted)} values were wanted{listed}; {kind_of(got)} came alone.", part)
    if len(came) != len(wanted):
        return Difference("length", f"{len(wanted)} values were wanted{listed}; {len(came)} came.", part)
    for number, (one, other) in enumerate(zip(came, wanted, strict=True)):
        inner = f"`{names[number]}`" if number < len(names) else f"item {number} of {part}"
        if found := compare(one, other, inner, (), tolerance):
            return found
    return None


def _number(form):
    """The float of an encoded Python or numpy number; None for anything else (a tensor is not one)."""
    if "float" in form:
        return float(form["float"])
    if form.get("library") == "scalar" or (form.get("library") == "numpy" and form["shape"] == []):
        value = numbers(form)[()]
        return None if value.dtype.kind in "bc" else float(value)
    return None


def _compare_plain_numbers(got, wanted, part, want):
    came = _number(got)
    if came is None and type(got.get("plain")) is int:
        came = float(got["plain"])
    if came is None:
        return _wrong_type(got, want, part)
    if np.isclose(came, wanted, rtol=1e-6, atol=1e-9, equal_nan=True):
        return None
    return Difference("values", f"{capital(part)} is {came:.6g}; {wanted:.6g} was wanted.", part)


def _compare_arrays(got, want, part, tolerance):
    if "array" not in got or kind_of(got) != kind_of(want):
        return _wrong_type(got, want, part)
    if got["shape"] != want["shape"]:
        sentence = f"{capital(part)} has shape {tuple(got['shape'])}; {tuple(want['shape'])} was wanted."
        return Difference("shape", sentence, part, got, want)
    if problem := _dtype_problem(got["dtype"], want["dtype"]):
        return Difference("dtype", f"{capital(part)} is {got['dtype']}: {problem}.", part, got, want)
    if got["device"] != want["device"]:
        sentence = f"{capital(part)} is on the device {got['device']}; its inputs are on {want['device']}."
        return Difference("device", sentence, part)
    came, wanted = numbers(got), numbers(want)
    stray = np.isnan(came) & ~np.isnan(wanted)
    if stray.any():
        index = tuple(int(i) for i in np.argwhere(stray)[0])
        sentence = f"{capital(part)} is NaN{_at(index)}, where {wanted[index]:.4g} was wanted."
        return Difference("nan", sentence, part, got, want, index)
    coarser = min(got["dtype"], want["dtype"], key=lambda name: PRECISION.index(name) if name in PRECISION else 9)
    close = _close(came, wanted, *tolerance.get(coarser, (0, 0)))
    return None if close.all() else _values_differ(came, wanted, close, part, got, want)


def _close(came, wanted, rtol, atol):
    if wanted.dtype.kind not in "fc":
        return np.asarray(came == wanted)
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(float(finite.max(initial=0.0)), SMALL)
    return np.asarray(np.isclose(came, wanted, rtol=rtol, atol=atol * scale, equal_nan=True))


def _values_differ(came, wanted, close, part, got, want):
    with np.errstate(invalid="ignore"):
        gap = np.abs(came.astype(complex) - wanted.astype(complex))
    gap = np.where(close, -1.0, np.nan_to_num(gap, nan=np.inf))
    index = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
    if wanted.dtype.kind == "b":
        count = f"{int((~close).sum())} of {close.size} entries of {part} are wrong, the first{_at(index)}"
        sentence = f"{count}: {wanted[index]} was wanted, {came[index]} came."
    else:
        values = f"{wanted[index]:.4g} was wanted, {came[index]:.4g} came"
        sentence = f"The largest difference in {part} is {gap.max():.3g}{_at(index)}: {values}."
    return Difference("values", sentence, part, got, want, index)


def _at(index):
    return f" at {list(index)}" if index else ""


def _dtype_problem(got, want):
    families = {family_of(got), family_of(want)}
    if len(families) > 1:
        return f"{want} was wanted"
    if families == {"float"} and PRECISION.index(got) < PRECISION.index(want):
        return f"precision was lost, since {want} came in"
    return ""


def family_of(dtype):
    """bool, int, float or complex."""
    return "float" if dtype in PRECISION else "complex" if "complex" in dtype else "bool" if dtype == "bool" else "int"


def kind_of(form):
    """What an encoded value is, in words."""
    if "array" in form:
        return WORDS.get(form["library"], "an array")
    if "plain" in form:
        return "None" if form["plain"] is None else _with_article(type(form["plain"]).__name__)
    if "opaque" in form:
        return _with_article(str(form["opaque"])[:80])
    first = next(iter(form), "nothing")
    return WORDS.get(first, _with_article(first))


def _with_article(noun):
    if noun.startswith(("a ", "an ")):
        return noun
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def _short(form):
    return repr(decode(form))[:60] if "plain" in form else kind_of(form)


def capital(text):
    return text if text.startswith("`") else text[:1].upper() + text[1:]
