"""The vocabulary of an exam: an Exercise has Cases that show a difference and Mistakes that explain one.

Knows no notebook, no nbgrader and no screen.
"""

import ast
import inspect
import sys
import textwrap
from dataclasses import dataclass
from functools import cached_property

NOT_WRITTEN = "raise NotImplementedError"


@dataclass(frozen=True)
class Code:
    """An argument that is a function, written as source, so that it can travel: Code("lambda x: 2 * x")."""

    source: str

    def travels(self):
        return {"code": self.source}

    def __str__(self):
        return self.source


@dataclass(frozen=True)
class Seeded:
    """An argument that is a random generator of the library, "numpy" or "torch", made afresh from the seed."""

    library: str
    seed: int

    def travels(self):
        return {"library": self.library, "seed": self.seed}

    def __str__(self):
        return f"a generator of {self.library} with seed {self.seed}"


class Case:
    """One call: what it shows, and the arguments by name. Arguments are given by position where they can be."""

    make = weights = method = None
    training = False

    def __init__(self, shows, **arguments):
        self.shows, self.arguments = shows, arguments
        self.gradients, self.repeat, self.holds = False, 1, None

    def with_gradients(self):
        """Compare the gradients of the inputs (and of a module's parameters) too."""
        self.gradients = True
        return self

    def judged_by(self, holds, repeat=1):
        """Judge the output by a property instead of by equality; call `repeat` times and stack what came.

        holds: a function of (output, **arguments) of numpy arrays that returns "" where the property holds, else one
               sentence. It travels by its source, so it may use `np` and nothing else from outside itself.
        """
        self.holds, self.repeat = holds, repeat
        return self


class ModuleCase(Case):
    """One call of an instance: `make` builds it, `weights` (a state dict) go into it, then `method` is called.

    Compared are the outputs and, unless switched off, the gradients of inputs and parameters. The module is in
    evaluation mode, unless `training`.
    """

    def __init__(self, shows, make, weights=None, call=None, method="", gradients=True, training=False):
        super().__init__(shows, **(call or {}))
        self.make, self.weights, self.method = make, weights or {}, method
        self.gradients, self.training = gradients and bool(weights), training


class Mistake:
    """The reference with a fragment replaced (or several: more pairs), and what to tell the student who wrote it."""

    def __init__(self, hint, replace, by, *more):
        pairs = (replace, by, *more)
        self.hint = hint
        self.replacements = tuple(zip(pairs[::2], pairs[1::2], strict=True))


@dataclass(frozen=True)
class Question:
    """A written question, graded by hand. Its text stands in the chapter, under the same name."""

    name: str
    points: float
    answer: str
    rubric: str


class Exercise:
    """One stub that a student completes. Subclass it; the class attributes say all there is."""

    of = None  # the reference: a function or a class of `solutions`
    write = None  # of a class: the methods to be written; all of them when None
    points = 1
    hints = ()  # from the general to the particular; never the answer
    mistakes = ()
    returns = ()  # names for the parts of a returned tuple
    equivalent = {}  # a mutated line, as `course verify` prints it: why it changes nothing
    tolerance = None  # {dtype: (relative, absolute)} where the usual one will not do

    def __init_subclass__(cls):
        if inspect.isfunction(cls.__dict__.get("of")):
            cls.of = staticmethod(cls.of)

    def cases(self, rng):
        """Yield the Cases, drawn from `rng`, a numpy Generator."""
        raise NotImplementedError(f"{type(self).__name__} has no cases")

    def hidden_cases(self, rng):
        """Yield more Cases, which only the grader sees."""
        return ()

    @property
    def name(self):
        return self.of.__name__

    @property
    def module(self):
        return sys.modules[self.of.__module__]

    @property
    def chapter(self):
        return self.of.__module__.rpartition(".")[2]

    @cached_property
    def answer_source(self):
        """The source of the reference."""
        return textwrap.dedent(inspect.getsource(self.of))

    @cached_property
    def stub(self):
        """The signature and the docstring; the rest is the student's."""
        top = ast.parse(self.answer_source).body[0]
        to_write = [top]
        if isinstance(top, ast.ClassDef):
            functions = [node for node in top.body if isinstance(node, ast.FunctionDef)]
            to_write = [node for node in functions if self.write is None or node.name in self.write]
            if self.write and set(self.write) - {node.name for node in to_write}:
                raise ValueError(f"{self.name} has no such method: {self.write}")
        lines = self.answer_source.splitlines()
        for function in reversed(to_write):
            if ast.get_docstring(function) is None:
                raise ValueError(f"{self.name}: {function.name} needs a docstring, which is the exercise's statement")
            indent = " " * function.body[0].col_offset
            rest = [f"{indent}# YOUR CODE HERE", f"{indent}{NOT_WRITTEN}"]
            lines[function.body[0].end_lineno : function.end_lineno] = rest
        return "\n".join(lines) + "\n"

    def source_with(self, mistakes):
        """The reference's source as somebody who makes these mistakes would write it."""
        source = self.answer_source
        for old, new in (pair for mistake in mistakes for pair in mistake.replacements):
            if source.count(old) != 1:
                raise ValueError(
                    f"{self.name}: {old!r} must occur exactly once in the reference, not {source.count(old)} times"
                )
            source = source.replace(old, new)
        return source

    def run_source(self, source):
        """The object that a changed source of the reference defines, beside the module's other names."""
        namespace = dict(vars(self.module))
        exec(compile(source, f"<answer {self.name}>", "exec"), namespace)
        return namespace[self.name]

    @cached_property
    def names_used(self):
        """Every name that the reference's code mentions. Which of them are exercises, the registry knows."""
        return {node.id for node in ast.walk(ast.parse(self.answer_source)) if isinstance(node, ast.Name)} - {self.name}

    def arguments_in_order(self, case):
        """Which of a case's arguments can be given by position: those before the first gap."""
        function = (
            self.of if inspect.isfunction(self.of) else getattr(self.of, case.method or "forward", self.of.__call__)
        )
        positional = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == "self":
                continue
            if parameter.name not in case.arguments or parameter.kind is parameter.KEYWORD_ONLY:
                break
            positional.append(parameter.name)
        return positional


def imports_of(module):
    """The import lines of a module of `solutions`, as source: what its code needs from outside the course."""
    tree = ast.parse(inspect.getsource(module))
    return [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
