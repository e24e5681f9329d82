"""Call an answer on cases and bring back plain data.

This file runs where the student's code runs. Its source is sent there as text, so it imports nothing of ours, and what
comes back is JSON: scalars, containers and arrays of numbers, never a pickle. The other side believes nothing but the
values. `encode` and `decode` are the one form that inputs and outputs have on the way.
"""

import base64
import contextlib
import inspect
import io
import itertools
import linecache
import random
import sys
import traceback
import warnings

import numpy as np

MAX_BYTES = 4 << 20  # of one array
MAX_ITEMS = 2000
MAX_DEPTH = 8
MAX_PRINTED = 400  # characters of what one call prints
NUMBERS = "biufc"  # the kinds of dtype that may travel


def encode(value, depth=0):
    """The JSON form of a value. Anything that is not plain becomes {"opaque": its type}."""
    kind = type(value)
    torch = sys.modules.get("torch")
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple is a tuple
        value, kind = tuple(value), tuple
    if value is None or kind in (bool, int, str):
        return {"plain": value} if kind is not str or len(value) < MAX_BYTES else {"opaque": "a very long str"}
    if kind is float:
        return {"float": repr(value)}
    if kind in (list, tuple, dict) and depth < MAX_DEPTH and len(value) <= MAX_ITEMS:
        if kind is dict:
            return {"dict": [[encode(k, depth + 1), encode(v, depth + 1)] for k, v in value.items()]}
        return {kind.__name__: [encode(item, depth + 1) for item in value]}
    if torch is not None and kind is torch.dtype:
        return {"dtype": str(value).removeprefix("torch.")}
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        if value.layout != torch.strided or value.device.type == "meta":
            return {"opaque": f"a tensor without dense values ({value.layout}, {value.device})"}
        dense = value.detach().cpu().resolve_conj().resolve_neg()
        wide = dense.float() if dense.dtype == torch.bfloat16 else dense
        return _array(wide.numpy(), "torch", dtype=str(value.dtype).removeprefix("torch."), device=value.device.type)
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, np.ma.MaskedArray):
        return _array(np.asarray(value), "numpy" if isinstance(value, np.ndarray) else "scalar")
    if hasattr(value, "travels"):  # a stand-in that an exam puts among the arguments
        return value.travels()
    return {"opaque": kind.__name__[:80]}


def _array(array, library, dtype=None, device="cpu"):
    if array.dtype.kind not in NUMBERS:
        return {"opaque": f"array of {array.dtype}"}
    if array.nbytes > MAX_BYTES:
        return {"opaque": f"array of shape {array.shape}, far too large"}
    # A transposed view arrives as one: some wrong answers only show on views.
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    dense = np.ascontiguousarray(array.transpose(order))
    return {
        "array": base64.b64encode(dense.tobytes()).decode(),
        "stored": dense.dtype.str,
        "dtype": dtype or str(array.dtype),
        "shape": list(array.shape),
        "order": order,
        "library": library,
        "device": device,
    }


def decode(form, namespace=None, depth=0):
    """The value of a JSON form. Raises ValueError on anything that `encode` does not write."""
    if not isinstance(form, dict) or depth > MAX_DEPTH + 1:
        raise ValueError("not the form of a value")
    if "plain" in form:
        if form["plain"] is not None and type(form["plain"]) not in (bool, int, str):
            raise ValueError("not a plain value")
        return form["plain"]
    if "float" in form:
        return float(form["float"])
    for kind in (list, tuple):
        if kind.__name__ in form:
            return kind(decode(item, namespace, depth + 1) for item in form[kind.__name__])
    if "dict" in form:
        return {decode(k, namespace, depth + 1): decode(v, namespace, depth + 1) for k, v in form["dict"]}
    if "array" in form:
        return _from_array(form)
    if "dtype" in form:
        return getattr(__import__("torch"), form["dtype"])
    if "code" in form and namespace is not None:
        return eval(form["code"], namespace)  # written in an exam; never decoded from an answer, which has no namespace
    if "seed" in form and namespace is not None:
        if form["library"] == "numpy":
            return np.random.default_rng(form["seed"])
        return __import__("torch").Generator().manual_seed(form["seed"])
    raise ValueError("not the form of a value")


def numbers(form):
    """The numpy array of an encoded array, whichever library it came from. Raises ValueError when malformed."""
    stored, shape, order = np.dtype(str(form["stored"])), [int(n) for n in form["shape"]], form["order"]
    if stored.kind not in NUMBERS or sorted(order) != list(range(len(shape))) or min(shape, default=0) < 0:
        raise ValueError("not the form of an array")
    flat = np.frombuffer(base64.b64decode(form["array"], validate=True), stored).copy()
    return flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order).astype(int))


def _from_array(form):
    array = numbers(form)
    if form["library"] == "torch":
        torch = __import__("torch")
        return torch.from_numpy(array).to(getattr(torch, form["dtype"]))
    return array[()] if form["library"] == "scalar" else array


def probe(request, namespace):
    """Run every case of a request on the object that the namespace has under request["name"].

    Under request["substitutes"] may stand {name: source}: these names are replaced while the cases run.
    Returns a list of outcomes, one a case, each a dict of plain data: "value" (and "gradients", "changed", "printed"),
    or one of "missing", "unwritten", "raised", "parameters".
    """
    if request["name"] not in namespace:
        return [{"missing": True} for _ in request["cases"]]
    states, own, torch = _random_states(), dict(namespace), sys.modules.get("torch")
    threads = torch and torch.get_num_threads()
    try:
        if torch:
            torch.set_num_threads(1)  # the arrays are tiny: more threads only wait for one another
        for name, source in request.get("substitutes", {}).items():
            module = {"__name__": "substitute"}
            exec(source, module)
            namespace[name] = module[name]
        return [_quietly(namespace[request["name"]], case, namespace) for case in request["cases"]]
    finally:
        for name in request.get("substitutes", {}):
            namespace.pop(name, None)
            namespace.update({name: own[name]} if name in own else {})
        _random_states(states)
        if torch:
            torch.set_num_threads(threads)


def _random_states(new=None):
    torch = sys.modules.get("torch")
    if new is None:
        return random.getstate(), np.random.get_state(), torch and torch.get_rng_state()
    random.setstate(new[0])
    np.random.set_state(new[1])
    if torch is not None and new[2] is not None:
        torch.set_rng_state(new[2])


def _seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)


class Kept(io.StringIO):
    """Keeps the beginning of what is printed: a loop that prints must not fill the memory."""

    def write(self, text):
        super().write(text[: max(0, MAX_PRINTED - self.tell())])
        return len(text)


def _quietly(answer, case, namespace):
    """One outcome; what the answer prints or warns is kept aside, what it raises is told."""
    printed = Kept()
    _seed(case.get("seed", 0))
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        warnings.simplefilter("ignore")
        try:
            outcome = _outcome(answer, case, namespace)
        except NotImplementedError:
            outcome = {"unwritten": True}
        except (Exception, SystemExit) as error:
            outcome = {"raised": _raised(error)}
    if printed.getvalue():
        outcome["printed"] = printed.getvalue()
    return outcome


def _raised(error):
    """What an exception says, and the last line of the student's own code that led to it."""
    where = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        own = "ipykernel" in frame.filename or frame.filename.startswith(("<ipython", "<stdin", "<answer"))
        if own or frame.filename.endswith("answer.py"):
            line = linecache.getline(frame.filename, frame.lineno).strip() or (frame.line or "")
            where = f"line {frame.lineno}: {line}"[:200] if line else f"line {frame.lineno}"
            break
    return {"type": type(error).__name__[:80], "message": str(error)[:400], "where": where}


def _outcome(answer, case, namespace):
    arguments = {name: decode(form, namespace) for name, form in case["arguments"].items()}
    originals = {name: decode(form, namespace) for name, form in case["arguments"].items()}
    function, leaves = answer, {}
    if "make" in case:
        answer, problem = _built(answer, case, namespace)
        if problem:
            return {"parameters": problem}
        function = getattr(answer, case["method"]) if case["method"] else answer
        if case["gradients"]:
            leaves = dict(answer.named_parameters())
    elif not callable(answer):
        return {
            "raised": {
                "type": "TypeError",
                "message": f"it is an object of type {type(answer).__name__}, not a function",
                "where": "",
            }
        }
    if case["gradients"]:
        for name, value in arguments.items():
            if _is_float_tensor(value):
                leaves[name] = value.requires_grad_()
    positional = [arguments[name] for name in case["positional"]]
    named = {name: value for name, value in arguments.items() if name not in case["positional"]}
    if case["repeat"] > 1:
        value = np.stack([np.asarray(function(*positional, **named)) for _ in range(case["repeat"])])
    else:
        value = function(*positional, **named)
    if inspect.isgenerator(value) or isinstance(value, (map, zip)):
        value = list(itertools.islice(value, MAX_ITEMS + 1))  # it may have no end
    changed = [name for name, before in originals.items() if not _equal(before, arguments[name])]
    outcome = {"value": encode(value), "changed": changed}
    if case["gradients"]:
        outcome["gradients"] = _gradients(value, leaves)
    return outcome


def _built(answer, case, namespace):
    """An instance with the case's weights in it, or a sentence that says why they do not fit."""
    instance = answer(**{name: decode(form, namespace) for name, form in case["make"].items()})
    if not case["weights"]:
        return instance, ""
    torch = sys.modules["torch"]
    if not isinstance(instance, torch.nn.Module):
        return instance, f"a {type(instance).__name__} is not an nn.Module"
    weights = {name: decode(form) for name, form in case["weights"].items()}
    own = instance.state_dict()
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    own_shapes = {name: tuple(value.shape) for name, value in own.items()}
    if shapes != own_shapes:
        missing = [f"{name} {shape}" for name, shape in shapes.items() if own_shapes.get(name) != shape]
        extra = [f"{name} {shape}" for name, shape in own_shapes.items() if shapes.get(name) != shape]
        sentences = [f"missing: {', '.join(missing)}"] if missing else []
        sentences += [f"not wanted: {', '.join(extra)}"] if extra else []
        return instance, "; ".join(sentences)
    instance.to(next(iter(weights.values())).dtype).train(case["training"])
    instance.load_state_dict(weights)
    return instance, ""


def _is_float_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and value.is_floating_point()


def _equal(before, after):
    """Whether an argument still is what it was, arrays by value. What cannot be compared counts as unchanged."""
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(_equal, before, after))
    if _is_float_tensor(before) or hasattr(before, "dtype"):
        a, b = encode(before), encode(after)
        return all(a[key] == b.get(key) for key in ("array", "shape") if key in a)
    return before == after if isinstance(before, (int, float, str, dict, type(None))) else True


def _gradients(value, leaves):
    """d(sum of outputs times a fixed ramp)/d(leaf) for each leaf; None where no gradient arrives."""
    torch = sys.modules["torch"]
    outputs = [v for v in (value if isinstance(value, (tuple, list)) else [value]) if _is_float_tensor(v)]
    ramps = [torch.linspace(-1.0, 2.0, max(v.numel(), 1), dtype=v.dtype)[: v.numel()].reshape(v.shape) for v in outputs]
    total = sum((v * ramp).sum() for v, ramp in zip(outputs, ramps, strict=True))
    if not torch.is_tensor(total) or not total.requires_grad:
        return {name: encode(None) for name in leaves}
    arrived = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {name: encode(gradient) for name, gradient in zip(leaves, arrived, strict=True)}
